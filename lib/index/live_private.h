/* The parts of live look-ups that the index build and tests use, too; private to lib/index. */
#ifndef STALLKIT_INDEX_LIVE_PRIVATE_H
#define STALLKIT_INDEX_LIVE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "index/lookup.h"

/* Limit on the claims tried for one address: undamaged files rarely have several, for instance
 * where the linker folded equal functions into one. */
enum { LIVE_CLAIMS_MAX = 8 };

/* Limits the bytes of memory that the units of a source made by lookup_open_live may take together.
 */
void live_limit_memory(struct lookup_source *source, size_t bytes);
/* live_bytes returns the bytes of debug info in all units, live_bytes_read those that were read so
 * far; bytes that are read again count again. */
uint64_t live_bytes(const struct lookup_source *source);
uint64_t live_bytes_read(const struct lookup_source *source);
/* Returns the number of units that the source holds in memory now. */
size_t live_units_held(const struct lookup_source *source);

#endif
