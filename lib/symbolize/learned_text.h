/* The learned names of one image as text, as a store keeps them (stallsym(1), Learned names):
 *
 *     stall-learned/1<tab>ID
 *     f START LENGTH NAME      a function, named up to LENGTH bytes from its start
 *     s START                  a function starts there; its name is unknown
 *     c START                  a function starts there; reports name it differently
 *
 * START and LENGTH are hexadecimal; lines ascend by START. */
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
