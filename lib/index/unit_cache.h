/* Keeps units of one file's debug info, shared by threads: each unit is read when it is first
 * needed, by the thread that needs it, and is kept until the units take too much memory and no
 * thread uses it. */
#ifndef STALLKIT_INDEX_UNIT_CACHE_H
#define STALLKIT_INDEX_UNIT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index/flat_unit.h"
#include "index/lookup.h"

struct unit_cache;

/* Opens a cache of a slice's units. All functions but open and close are thread safe. complain (may
 * be NULL) is called, by one thread at a time, once for each damage, even if a unit is read several
 * times; more often only if memory runs out. own (borrowed) must be opened before the first unit is
 * asked for. ST_NONE: there is no DWARF. */
enum st unit_cache_open(struct unit_cache **out, const struct object_slice *s,
                        const struct debug_others *others, const struct own_symbols *own,
                        lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;
/* Closes the cache; no unit may be in use; c may be NULL. */
void unit_cache_close(struct unit_cache *c);

/* Writes the units that claim an address, as debug_find_known_units does; if none is known,
 * debug_scan_units is called, once, and the units are searched for again. */
enum st unit_cache_find(struct unit_cache *c, uint64_t address, size_t *units, size_t max,
                        size_t *count, struct err *e) BASE_MUST_USE;
/* Gives a unit, which stays until unit_cache_put; its paths stay until unit_cache_close. A thread
 * that asks for a unit that another thread is reading waits for that thread. ST_NONE: the unit is
 * damaged, and complain was called. ST_ERR: out of memory, or no struct debug could be opened to
 * read the unit. */
enum st unit_cache_get(struct unit_cache *c, size_t index, struct flat_unit **out,
                       struct err *e) BASE_MUST_USE;
void unit_cache_put(struct unit_cache *c, struct flat_unit *u);

/* Limits the bytes of memory that units may take together: those in use and the last one used are
 * kept, whatever their size. */
void unit_cache_limit(struct unit_cache *c, size_t bytes);
/* unit_cache_bytes returns the bytes of debug info of all units, unit_cache_bytes_read those read
 * so far: a unit that is read again counts again. */
uint64_t unit_cache_bytes(struct unit_cache *c);
uint64_t unit_cache_bytes_read(struct unit_cache *c);
/* Checks whether there are units. ST_NONE: there are none. ST_ERR: there were some, and none can be
 * read, for which complain was called. */
enum st unit_cache_check(const struct unit_cache *c, struct err *e) BASE_MUST_USE;
/* Are functions of some units in files that were not found? */
bool unit_cache_is_split(const struct unit_cache *c);
/* Returns the answer of debug_map_files. */
struct debug_map_files unit_cache_map(const struct unit_cache *c);
/* Returns the answer of debug_is_lineless. */
bool unit_cache_is_lineless(const struct unit_cache *c);
/* Are there units without a DIE? */
bool unit_cache_is_dieless(const struct unit_cache *c);
/* Returns the number of units in memory. */
size_t unit_cache_held(struct unit_cache *c);

#endif
