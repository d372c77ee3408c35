/* The parts of live look-ups that the index build and tests use, too. */
#ifndef STALLKIT_INDEX_LIVE_PRIVATE_H
#define STALLKIT_INDEX_LIVE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "index/lookup.h"

/* Units that claim one address: more than one only in damaged or identically folded code. */
enum { LIVE_CLAIMS_MAX = 8 };

/* Memory that the units of a source made by lookup_open_live may hold together, in bytes. */
void live_limit_memory(struct lookup_source *source, size_t bytes);
/* Bytes of debug info that all units have, and that reading them took so far: rereading counts
 * again. */
uint64_t live_bytes(const struct lookup_source *source);
uint64_t live_bytes_read(const struct lookup_source *source);
/* Units that it holds now. */
size_t live_units_held(const struct lookup_source *source);

#endif
