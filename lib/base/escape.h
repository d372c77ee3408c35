/* One policy of how text that strangers wrote (names, versions, values of a report) gets into an
 * output. A character may be shown if utf8_is_printable returns true for it: no other is printed
 * unescaped.
 *
 *     output                   a character that may not be shown    further
 *     text, messages           ?
 *     XML, HTML, pprof         U+FFFD                               XML: markup is escaped
 *     CSV                      U+FFFD                               formulas are defused
 *     Markdown                 ?                                    markup and references escaped
 *     JSON (jsonw.h)           \u and its code, which reads back as it was
 *     folded (folded.h)        \x and two digits for each byte, which reads back as it was
 *
 * Code that copies dumps and partials leaves the text of their members unchanged. */
#ifndef STALLKIT_BASE_ESCAPE_H
#define STALLKIT_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "base/strbuf.h"

/* Decodes the first character of text (len > 0) into *c, U+FFFD if it is no UTF-8 or may not be
 * shown, and returns the number of its bytes (1 for a byte that is no UTF-8). */
size_t text_next_shown(const char *text, size_t len, uint32_t *c);
/* Appends text for people: '?' for each character that may not be shown, and for U+FFFD. */
void text_add_shown(struct strbuf *out, const char *text, size_t len);
/* Appends text for programs that show it: U+FFFD for each character that may not be shown. */
void text_add_replaced(struct strbuf *out, const char *text, size_t len);

/* Appends text so that it is safe between tags and inside quotes: < > & " ' are escaped, and a
 * character that may not be shown becomes U+FFFD. */
void xml_text_add(struct strbuf *out, const char *text, size_t len);

/* Appends text as xml_text_add does, but at most `cells` character cells wide (East Asian wide
 * characters take two): longer text is cut and gets an ellipsis. Nothing is appended if fewer than
 * `least` cells of a longer text, or none, fit in front of the ellipsis. */
void xml_text_add_short(struct strbuf *out, const char *text, size_t len, size_t cells,
                        size_t least);

/* Returns the character cells that xml_text_add's output of a text takes. A combining mark
 * counts one: a name of marks only must be cut somewhere. */
size_t xml_text_cells(const char *text, size_t len);
/* Returns the length in bytes of the first character of text (len > 0), and subtracts its cells
 * from *cells. */
size_t xml_text_next(const char *text, size_t len, size_t *cells);

/* Writes a field of CSV by RFC 4180, in double quotes if it needs them. A field that begins with =
 * + - or @ or a wide form of these, behind blanks or none, gets an apostrophe in front, because
 * spreadsheets would run it as a formula; with `plain` it gets none. Write errors stick to the
 * sink. */
void csv_put_field(struct sink *out, const char *s, bool plain);

/* Writes text with the characters escaped that are markup of Markdown or HTML within a line, or of
 * which a viewer would make a link (the colon of "://", the dot of "www."), with '?' for a
 * character that may not be shown, and with an HTML comment inside each text of which GitHub and
 * GitLab would make a reference: @user, #123, GH-123, !123, $123, &1, %1, ~label. Write errors
 * stick to the sink. */
void markdown_put_text(struct sink *out, const char *s);
/* Writes text as markdown_put_text does, between <code> tags, which also work inside a cell of a
 * table. */
void markdown_put_code(struct sink *out, const char *s);

#endif
