/* Units of one file's debug info, shared by threads: each is read when it is first needed, by the
 * thread that needs it, and kept until too much memory is held and nobody uses it. */
#ifndef STALLKIT_INDEX_UNIT_CACHE_H
#define STALLKIT_INDEX_UNIT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index/flat_unit.h"
#include "index/lookup.h"

struct unit_cache;

/* All functions but open and close are thread safe. complain as for lookup_open_live: it hears of
 * each damage once, whoever reads the unit again; from one thread at a time. own (borrowed) may
 * still be opened before the first unit is asked for. ST_NONE: there is no DWARF. */
enum st unit_cache_open(struct unit_cache **out, const struct object_slice *s,
                        const struct debug_others *others, const struct own_symbols *own,
                        lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;
/* NULL is allowed. No unit may be in use. */
void unit_cache_close(struct unit_cache *c);

/* The units that claim an address as debug_find_known_units tells them, after a scan if none is
 * known. */
enum st unit_cache_find(struct unit_cache *c, uint64_t address, size_t *units, size_t max,
                        size_t *count, struct err *e) BASE_MUST_USE;
/* The unit, which stays until unit_cache_put; its paths stay until unit_cache_close. A thread that
 * wants a unit that another one is reading waits for it. ST_NONE: it is damaged, and complain was
 * told. */
enum st unit_cache_get(struct unit_cache *c, size_t index, struct flat_unit **out,
                       struct err *e) BASE_MUST_USE;
void unit_cache_put(struct unit_cache *c, struct flat_unit *u);

/* Memory that units may hold together, in bytes: those in use and the last one used are kept,
 * whatever their size. */
void unit_cache_limit(struct unit_cache *c, size_t bytes);
/* Bytes of debug info that all units have, and that were read so far: a unit that is read again
 * counts again. */
uint64_t unit_cache_bytes(struct unit_cache *c);
uint64_t unit_cache_bytes_read(struct unit_cache *c);
/* ST_NONE: no unit is there. ST_ERR: some were, and none can be read, of which complain was told.
 */
enum st unit_cache_check(const struct unit_cache *c, struct err *e) BASE_MUST_USE;
/* Are functions of some units in files that were not found? */
bool unit_cache_is_split(const struct unit_cache *c);
/* As debug_map_files. */
struct debug_map_files unit_cache_map(const struct unit_cache *c);
/* As debug_is_lineless. */
bool unit_cache_is_lineless(const struct unit_cache *c);
/* Are there units without a DIE? */
bool unit_cache_is_dieless(const struct unit_cache *c);
/* Units held now. */
size_t unit_cache_held(struct unit_cache *c);

#endif
