/* Which colour a frame gets. Depends on its name and nothing else, so it is equal in all graphs and
 * releases. */
#ifndef STALLKIT_FLAME_PALETTE_H
#define STALLKIT_FLAME_PALETTE_H

#include <stdbool.h>

#include "flame/stacks/frame_name.h"

enum palette_kind {
    PALETTE_MODULE, /* the hue is the module's (without one: that of the outermost namespace, class
                       or package that the name begins with), the shade the function's */
    PALETTE_HASH,   /* hue and shade are the function's */
    PALETTE_HUE     /* one hue, the shade is the function's */
};

/* Zero-initialised = by module. */
struct palette {
    enum palette_kind kind;
    char hue; /* of PALETTE_HUE: a letter of flame.css */
};

/* "module", "hash", and flamegraph.pl's words: "hot", "mem", "io", "red", "blue" and so on, of
 * which "java", "js" and "perl" are by module. False for any other word. */
bool palette_parse(const char *word, struct palette *out);

/* The colour as a class of flame.css, of two characters: a letter for the hue and a digit for the
 * shade. 'w' is for names without a module, 'x' for what is not resolved. */
enum { PALETTE_COLOUR_SIZE = 3 };
void palette_colour(const struct palette *p, const struct frame_name *f,
                    char out[PALETTE_COLOUR_SIZE]);

#endif
