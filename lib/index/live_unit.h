/* One unit of live debug info, prepared for looking up addresses. */
#ifndef STALLKIT_INDEX_LIVE_UNIT_H
#define STALLKIT_INDEX_LIVE_UNIT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug.h"
#include "index/own_symbols.h"

/* An interval with something behind it. Intervals may overlap: `reach` is the highest end of this
 * one and all before it, which tells a search when to stop looking back. */
struct live_span {
    uint64_t low, high, reach;
    size_t index; /* of the function, or of the sequence's first row */
    size_t end;   /* of the sequence: its last row */
};

struct live_spans {
    struct live_span *data;
    size_t len, cap;
};

struct live_unit {
    struct debug_unit unit;
    struct live_spans functions; /* ranges of unit.functions */
    struct live_spans sequences; /* of unit.rows */
    size_t index;                /* of the unit */
    size_t bytes;                /* memory it holds, about */
    atomic_uint users;           /* this and the links: unit_cache's */
    struct live_unit *newer, *older;
};

/* Reads unit `index` into *out: NULL, or one that was read before, which is forgotten and whose
 * memory is used again. Symbols say where functions begin of which debug info does not. ST_ERR:
 * nothing of it can be read, or no memory; *out is NULL then. */
enum st live_unit_open(struct live_unit **out, struct debug *d, const struct own_symbols *own,
                       size_t index, struct err *e) BASE_MUST_USE;
void live_unit_free(struct live_unit *u);
/* Exchanges the memory of two units but for functions and paths: that is left of one whose lines
 * and addresses are no longer needed, and is most of it. */
void live_unit_exchange(struct live_unit *a, struct live_unit *b);

/* The function that owns the address; *range is the part of it. NULL: none does. */
const struct debug_function *live_unit_function(const struct live_unit *u, uint64_t address,
                                                struct debug_range *range);
/* The function's inline chain at the address: chain[0] is the function itself, chain[n - 1] the
 * innermost call. Returns n <= max (> 0); what is deeper is left out. */
size_t live_unit_chain(const struct debug_function *function, uint64_t address,
                       const struct debug_function **chain, size_t max);
/* The line row that holds the address, or NULL. */
const struct debug_row *live_unit_row(const struct live_unit *u, uint64_t address);
/* The path of a file number of a row or a call site, or NULL. */
static inline const char *live_unit_file(const struct live_unit *u, uint32_t file) {
    return file < u->unit.file_count ? u->unit.files[file] : NULL;
}
/* The path of the file where a function of the unit is declared, or NULL. */
static inline const char *live_unit_decl_file(const struct live_unit *u,
                                              const struct debug_function *f) {
    return f->decl_file == DEBUG_NO_FILE ? NULL : u->unit.files[f->decl_file];
}

#endif
