/* Finds values in the lines of a text that may hold a whole report: cells of CSV, strings in
 * quotes, JSON objects between other words, text between tags of HTML, and the text of a mail. */
#ifndef STALLKIT_DUMP_LINE_VALUE_H
#define STALLKIT_DUMP_LINE_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "dump/json/span_private.h"

enum line_value_kind {
    LINE_CELL,   /* a cell of CSV (RFC 4180) in quotes: it may hold line feeds, and a quote in it
                    is doubled */
    LINE_STRING, /* a string in quotes, with the escapes of JSON, within one line */
    LINE_OBJECT, /* a JSON object within one line */
    LINE_TAGGED, /* the text behind <pre> or another tag of HTML, up to its end tag; line feeds may
                    be written as <br> */
    LINE_MAILED, /* the text behind the line of a mail's head that says that the text is in
                    quoted-printable (RFC 2045), up to the mail's next part */
};

struct line_value {
    enum line_value_kind kind;
    const char *begin; /* first byte of the value, behind the mark that opens it */
    size_t tag;        /* index of the tag that opened a LINE_TAGGED */
};

/* Finds the first place at or after `from` at which a value may begin in the line; an object that
 * begins the line is not found, because it is a document already. False: there is none. */
bool line_value_find(struct span line, const char *from, struct line_value *out);

enum line_value_end {
    LINE_VALUE_WHOLE, /* the mark that ends the value was taken */
    LINE_VALUE_OPEN,  /* the text ends before the value does */
    LINE_VALUE_NONE,  /* what is there is no value of this kind */
};
/* Appends the decoded value to out, and sets text->p behind the bytes that were taken. On
 * LINE_VALUE_OPEN the function can be called again with more text from text->p on. whole: there is
 * no more text, and all of it is taken. For a string or an object the text has to end with its
 * line. */
enum line_value_end line_value_read(const struct line_value *v, struct span *text, bool whole,
                                    struct strbuf *out);

#endif
