/* Finds the library and function of a code address as dladdr does, but without dladdr's lock, which
 * is held while a library's constructors run. */
#ifndef STALLREC_PLACE_LINUX_H
#define STALLREC_PLACE_LINUX_H

#include <stdbool.h>
#include <stdint.h>

enum { PLACE_TEXT = 256 };

struct code_place {
    uint64_t offset;          /* bytes from the library's load address */
    char library[PLACE_TEXT]; /* file name of the library; "" is the program */
    char symbol[PLACE_TEXT];  /* the dynamic symbol that covers the address; "" if none does */
};

struct dynamic_symbol {
    const char *name;       /* the name to look up */
    uint64_t address, size; /* both 0: the module has no symbol of this name */
};

/* Finds the first module that has a table DT_GNU_HASH and defines symbols[0], and sets the address
 * and size of each of symbols[0 .. count) in it. False: no such module defines symbols[0]. It may
 * be called on any thread. */
bool place_symbols_async(struct dynamic_symbol *symbols, unsigned count);

/* Is `name` a name of the place given by library, symbol and offset? It may be LIB (up to ".so", or
 * the whole file name), SYMBOL, or LIB+0xOFFSET as in stall.loop_at, with or without the symbol
 * after it. */
bool place_is_called(const char *name, const char *library, const char *symbol, uint64_t offset);

/* Sets *out to the library and function of an address. False: no module is loaded there. A name
 * that does not fit becomes "". It may be called on any thread. */
bool place_find_async(uint64_t address, struct code_place *out);

#endif
