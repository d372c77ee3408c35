/* For tests of live look-ups. */
#ifndef STALLKIT_INDEX_LIVE_PRIVATE_H
#define STALLKIT_INDEX_LIVE_PRIVATE_H

#include <stddef.h>

#include "index/lookup.h"

/* Memory that the units of a source made by lookup_open_live may hold together, in bytes. */
void live_limit_memory(struct lookup_source *source, size_t bytes);
/* Units that it holds now. */
size_t live_units_held(const struct lookup_source *source);

#endif
