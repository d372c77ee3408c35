/* The symbol table of a slice, and the bounds of its symbols: the answer where DWARF has none. */
#ifndef STALLKIT_INDEX_OWN_SYMBOLS_H
#define STALLKIT_INDEX_OWN_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug.h"
#include "index/lookup.h"
#include "object/object.h"

/* Zero-initialised = none. All borrowed from the slices. */
struct own_symbols {
    const struct object_symbol *symbols; /* by address */
    size_t symbol_count;
    const struct object_alias *aliases; /* by address and name */
    size_t alias_count;
    const uint64_t *starts; /* of the paired binary, by address */
    size_t start_count;
    const struct object_extent *functions; /* named or not */
    size_t function_count;
};

/* The slice's symbols, or those of `paired` (may be NULL), whose function starts bound them, and
 * the functions of either. A damaged table is reported and ignored. ST_NONE: no symbol, and perhaps
 * functions. ST_ERR: out of memory. */
enum st own_symbols_open(struct own_symbols *out, const struct object_slice *s,
                         const struct object_slice *paired, lookup_complain complain, void *ctx,
                         struct err *e) BASE_MUST_USE;

/* The number of symbols that begin at or below the address. */
size_t own_symbols_below(const struct own_symbols *own, uint64_t address);
/* The end of the addresses that symbol i owns: its end, the next symbol or the first function start
 * behind it, since a stripped function may follow. */
uint64_t own_symbols_end(const struct own_symbols *own, size_t i);
/* The symbol that owns the address, or NULL. */
const struct object_symbol *own_symbols_find(const struct own_symbols *own, uint64_t address);

/* The first function that ends above the address, by its index; function_count: none. */
size_t own_symbols_function_from(const struct own_symbols *own, uint64_t address);

/* Sets f->entry to the address of the symbol in its ranges that has the function's name. The ranges
 * alone do not tell it: for a function whose basic blocks have sections of their own, clang writes
 * no DW_AT_entry_pc, and lists the range of the first block last. *work bounds the search: each
 * symbol that is compared costs 1, and more if the name is long; once it is used up, the entry
 * stays as it is. */
void own_symbols_enter(const struct own_symbols *own, struct debug_function *f, uint64_t *work);
/* Sets the names of a function: those of DWARF first (stallkit-design(7), ADDRESS RULES, 5). A
 * linkage name that DWARF leaves out or has obfuscated ("__hidden#104_") is that of the symbol at
 * the entry: of several DWARF's own name, if it is one of them, because the others are aliases. */
void own_symbols_name(const struct own_symbols *own, const struct debug_function *f,
                      const char **function, const char **linkage);
/* The name of an inlined call, from DWARF alone. */
void inline_name(const struct debug_function *f, const char **function, const char **linkage);

/* Reports a table's damage, unless memory ran out, and returns ST_NONE, as if there were no table.
 * Any other result is returned unchanged. */
enum st tolerate_damage(enum st st, const struct err *why, const char *file,
                        lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;

#endif
