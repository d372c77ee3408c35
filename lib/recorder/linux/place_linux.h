/* The library and function of a code address, as dladdr tells, without its lock, which is held
 * while a library's constructors run. */
#ifndef STALLREC_PLACE_LINUX_H
#define STALLREC_PLACE_LINUX_H

#include <stdbool.h>
#include <stdint.h>

enum { PLACE_TEXT = 256 };

struct code_place {
    uint64_t offset;          /* from the library's load address */
    char library[PLACE_TEXT]; /* file name; "" is the program */
    char symbol[PLACE_TEXT];  /* the dynamic symbol that covers the address; "" if none does */
};

struct dynamic_symbol {
    const char *name;       /* asked for */
    uint64_t address, size; /* 0: the module has none of this name */
};

/* Finds the first module that defines symbols[0], and its others. False: none does. Any thread. */
bool place_symbols_async(struct dynamic_symbol *symbols, unsigned count);

/* Is a place what `name` names: LIB (up to ".so", or the whole file name), SYMBOL, or LIB+0xOFFSET
 * as in stall.loop_at, with or without the symbol behind it? */
bool place_is_called(const char *name, const char *library, const char *symbol, uint64_t offset);

/* False: no module is loaded there. A name that does not fit is "". Any thread. */
bool place_find_async(uint64_t address, struct code_place *out);

#endif
