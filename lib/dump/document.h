/* Reads a JSON text into Jansson's tree with the grammar, the repairs and the limits that
 * dump_parse has, for readers that need more than one pass over a document. */
#ifndef STALLKIT_DUMP_DOCUMENT_H
#define STALLKIT_DUMP_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The limits and choices of document_load; a limit of 0 is the one that dumps have (DUMP_TEXT_MAX,
 * SCAN_VALUES_MAX, DUMP_DEPTH_MAX). */
struct document_options {
    size_t text_max;     /* maximum length of the text in bytes; at most 4 GiB - 1 */
    uint64_t values_max; /* maximum number of objects, arrays, strings, numbers and words; members'
                            names do not count */
    unsigned depth_max;  /* deepest nesting; at most DUMP_DEPTH_MAX */
    bool unique; /* true: an object in which a name occurs twice is an error; false: the last of its
                    members counts */
    bool long_numbers; /* true: a number becomes a string only if it is an integer outside of
                          int64_t, or has a fraction or an exponent and is too large for a double */
};

/* Reads a text that is one object or array; the caller frees *root with json_decref. Numbers with
 * an exponent or with 19 and more digits become strings of their text (unless long_numbers is set);
 * \u0000, lone surrogates and bytes that are not UTF-8 become U+FFFD, so that no string holds a
 * NUL. options may be NULL. ST_NONE: the text is a number, string or word by itself. ST_ERR:
 * ERR_FORMAT if it is not JSON, ERR_TRUNCATED if it ends too early, ERR_LIMIT if it passes a limit,
 * ERR_NOMEM; the message of an error at a place in the text has the column, and the line if the
 * place is not in the first one. *root is NULL on anything but ST_OK. Thread safe once
 * dump_library_init has run. */
enum st document_load(json_t **root, const char *text, size_t len,
                      const struct document_options *options, struct err *e) BASE_MUST_USE;

#endif
