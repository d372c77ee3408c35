/* Chooses the colour of a frame by its name and the palette alone, so that a frame has the same
 * colour in all graphs with that palette, whatever release drew them. */
#ifndef STALLKIT_FLAME_PALETTE_H
#define STALLKIT_FLAME_PALETTE_H

#include <stdbool.h>

#include "flame/stacks/frame_name.h"

enum palette_kind {
    PALETTE_MODULE, /* the hue is by the module (or by the outermost namespace, class or package in
                       the name, if there is no module), the shade by the function */
    PALETTE_HASH,   /* hue and shade are by the function */
    PALETTE_HUE     /* the hue is fixed, the shade is by the function */
};

/* The way in which colours are chosen. Zero-initialised = by module. */
struct palette {
    enum palette_kind kind;
    char hue; /* PALETTE_HUE: the hue, a letter of flame_colours.css */
};

/* Parses a palette's name: "module", "hash", or a word of flamegraph.pl, "hot", "mem", "io", "red",
 * "blue" and so on, of which "java", "js" and "perl" mean "module". False for any other word. */
bool palette_parse(const char *word, struct palette *out);

/* Writes the colour as a class of flame_colours.css: a letter for the hue and a digit for the
 * shade. 'w' is for names without a module or group (PALETTE_MODULE) and for the palette "hot", 'x'
 * for unresolved frames in every palette. */
enum { PALETTE_COLOUR_SIZE = 3 };
void palette_colour(const struct palette *p, const struct frame_name *f,
                    char out[PALETTE_COLOUR_SIZE]);

#endif
