/* Text that goes into XML, from names that may hold anything. */
#ifndef STALLKIT_BASE_XML_TEXT_H
#define STALLKIT_BASE_XML_TEXT_H

#include <stddef.h>

#include "base/strbuf.h"

/* Appends text so that it is safe between tags and inside quotes: < > & " ' escaped. Invalid UTF-8,
 * control characters, non-characters (XML 1.0 §2.2) and the characters that reorder or hide what
 * stands around them (Unicode's bidirectional controls, line separators, zero width) become U+FFFD.
 */
void xml_text_add(struct strbuf *out, const char *text, size_t len);

/* As xml_text_add, but at most `cells` character cells wide (East Asian wide characters take two):
 * longer text loses its end and gets an ellipsis. Nothing if not even `least` cells of it fit. */
void xml_text_add_short(struct strbuf *out, const char *text, size_t len, size_t cells,
                        size_t least);

/* Character cells that xml_text_add gives a text. A combining mark counts one: a name of marks only
 * must be cut somewhere. */
size_t xml_text_cells(const char *text, size_t len);
/* Bytes of the first character of len > 0 bytes; takes its cells from *cells. */
size_t xml_text_next(const char *text, size_t len, size_t *cells);

#endif
