/* Characters that web pages, mail and editors write in place of plain ones: spaces other than ASCII
 * blanks, and the entities of HTML. */
#ifndef STALLKIT_DUMP_TEXT_CHARACTERS_H
#define STALLKIT_DUMP_TEXT_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "dump/json/span_private.h"

/* Returns the length in bytes of the space character at p that is not an ASCII blank. Characters
 * without width and the entities of such spaces, as &nbsp;, count as well; 0: there is none. */
size_t text_space_at(const char *p, const char *end);
/* Does the text have a space or entity that text_add_plain replaces? */
bool text_is_changed(struct span text);
/* Appends the text with these spaces and entities replaced by the plain characters; it does not
 * get longer. */
void text_add_plain(struct strbuf *out, struct span text);

#endif
