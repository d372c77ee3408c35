/* The debug map of a linked Mach-O file: stabs (<mach-o/stab.h>, N_OSO, N_FUN) that name the object
 * file from which the linker took each function; the functions' DWARF is still in those files. */
#ifndef STALLKIT_DEBUG_DEBUG_MAP_H
#define STALLKIT_DEBUG_DEBUG_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "debug/debug.h"
#include "object/object.h"

struct map_function {
    const char *name; /* without the leading underscore, as object_symbol.name */
    uint64_t address; /* in the linked file */
    uint64_t size;    /* bytes of the function, > 0; address + size does not wrap */
    uint32_t object;  /* index of the function's object file in `objects` */
};

struct map_object {
    struct debug_object_name name;
    enum debug_object_state state;
    size_t first, count; /* part of debug_map.functions that is this object's; count > 0 */
    uint64_t code_bytes; /* bytes of these functions together */
};

/* A debug map. Zero-initialised = empty. Strings are borrowed from the slice. */
struct debug_map {
    VEC(struct map_object) objects; /* in the order of the stabs, each path and time once */
    VEC(struct map_function) functions;
};

/* Reads a slice's debug map; the objects' states become DEBUG_OBJECT_FOUND. A function whose stabs
 * are not a pair is left out. ST_NONE: the slice has no function of an object file; *out is then
 * empty. ST_ERR: the symbol table is damaged, or out of memory; *out is empty then, too. */
enum st debug_map_read(struct debug_map *out, const struct object_slice *s,
                       struct err *e) BASE_MUST_USE;
/* Copies a map to *out. Never ST_NONE. ST_ERR: out of memory. */
enum st debug_map_copy(struct debug_map *out, const struct debug_map *map,
                       struct err *e) BASE_MUST_USE;
/* Frees the arrays of the map. */
void debug_map_release(struct debug_map *map);

#endif
