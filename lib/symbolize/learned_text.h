/* The learned names of one image as text, as a store keeps them (stallsym(1), Learned names):
 *
 *     stall-learned/2<tab>ID
 *     f START LENGTH TOLD NAME   a function, named up to LENGTH bytes from its start
 *     s START TOLD               a function starts there, of which TOLD gave no name
 *     c START                    a function starts there; it has too many names, and none is kept
 *
 * START and LENGTH are hexadecimal. TOLD is the number of the one who told the name, eight
 * hexadecimal digits and not 0, or the two smallest of such numbers, ascending, with a comma
 * between them. Lines ascend by START; of one START the line `s` comes first, and lines `f` ascend
 * by NAME. A text of version 1 has no TOLD, and one line for each START: its names count as told by
 * one, whose number is 1. */
#ifndef STALLKIT_SYMBOLIZE_LEARNED_TEXT_H
#define STALLKIT_SYMBOLIZE_LEARNED_TEXT_H

#include "base/strbuf.h"
#include "symbolize/learned_names.h"

/* Appends the text of an image's functions to `out`, to which a lack of memory sticks. */
void learned_text_print(const struct image_id *id, const struct learned_list *functions,
                        struct strbuf *out);
/* Joins the functions in a text of the image to n. Never ST_NONE. ST_ERR: the text is damaged or of
 * another image (ERR_FORMAT) or of another version (ERR_UNSUPPORTED), and n is unchanged; or memory
 * ran out, and n may have some of the functions. */
enum st learned_text_read(struct learned_names *n, const struct image_id *id, const char *text,
                          size_t len, struct err *e) BASE_MUST_USE;

#endif
