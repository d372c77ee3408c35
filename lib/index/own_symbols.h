/* The symbol table of a slice and the bounds of its symbols, which give the answers where DWARF has
 * none. */
#ifndef STALLKIT_INDEX_OWN_SYMBOLS_H
#define STALLKIT_INDEX_OWN_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug.h"
#include "index/lookup.h"
#include "object/object.h"

/* Symbols and functions of a slice, borrowed from it or its paired binary. Zero-initialised = none.
 */
struct own_symbols {
    const struct object_symbol *symbols; /* sorted by address */
    size_t symbol_count;
    const struct object_alias *aliases; /* sorted by address and name */
    size_t alias_count;
    const uint64_t *starts; /* function starts of the paired binary, sorted */
    size_t start_count;
    const struct object_extent *functions; /* extents of functions, named or not */
    size_t function_count;
    bool hidden;    /* symbols have names that Apple's bitcode compiler hid */
    bool names_cut; /* symbols have hidden names although there is a map of them */
};

/* Reads the slice's symbols or, if it has none, those of `paired` (may be NULL); the function
 * starts of `paired` bound the symbols of either. Reads the extents of functions in the same order.
 * A damaged table of symbols or starts is reported and left out. ST_NONE: no symbols, but there may
 * be functions. ST_ERR: out of memory. */
enum st own_symbols_open(struct own_symbols *out, const struct object_slice *s,
                         const struct object_slice *paired, lookup_complain complain, void *ctx,
                         struct err *e) BASE_MUST_USE;

/* Returns the number of symbols that begin at or below the address. */
size_t own_symbols_below(const struct own_symbols *own, uint64_t address);
/* Returns the end of the addresses that symbol i owns: the lowest of its own end, the address of
 * the next symbol, and the first function start above the symbol's address, since a stripped
 * function may follow. */
uint64_t own_symbols_end(const struct own_symbols *own, size_t i);
/* Returns the symbol that owns the address, or NULL. */
const struct object_symbol *own_symbols_find(const struct own_symbols *own, uint64_t address);

/* Returns the index of the first function that ends above the address; function_count: none. */
size_t own_symbols_function_from(const struct own_symbols *own, uint64_t address);

/* Sets f->entry to the address of the symbol in the function's ranges that has its linkage name, or
 * its name if it has none. The entry does not follow from the ranges alone: for a function whose
 * basic blocks have sections of their own, clang writes no DW_AT_entry_pc, and lists the range of
 * the first block last. *work bounds the search: each symbol that is compared costs 1, and 1 more
 * for every 16 bytes of the function's name; once *work is used up, or if no symbol has the name,
 * the entry stays as it is. */
void own_symbols_enter(const struct own_symbols *own, struct debug_function *f, uint64_t *work);
/* Sets the names of a function: those of DWARF first (stallkit-design(7), ADDRESS RULES, 5). A
 * linkage name that DWARF lacks or has hidden ("__hidden#104_") is that of the symbol at the entry,
 * unless there is none or its name is hidden, too; if DWARF's function name is an alias of that
 * symbol, the alias is the linkage name instead. Where the linkage name is taken from a symbol, a
 * function name that DWARF lacks or has hidden is the symbol's name, too. */
void own_symbols_name(const struct own_symbols *own, const struct debug_function *f,
                      const char **function, const char **linkage);
/* Sets the names of an inlined call, from DWARF alone. */
void inline_name(const struct debug_function *f, const char **function, const char **linkage);

/* Turns the error of a damaged table into ST_NONE, as if there were no table, and reports it to
 * complain. ST_ERR: out of memory. Any other status is returned unchanged. */
enum st tolerate_damage(enum st st, const struct err *why, const char *file,
                        lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;

#endif
