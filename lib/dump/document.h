/* A JSON text as Jansson's tree, read with the grammar, the repairs and the limits of dumps: what
 * passes as a dump passes here. For readers that need more than one pass over a document. */
#ifndef STALLKIT_DUMP_DOCUMENT_H
#define STALLKIT_DUMP_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Zero-initialised = the limits of dump.h, as dumps are read. */
struct document_options {
    size_t text_max;     /* bytes; at most 4 GiB - 1 */
    uint64_t values_max; /* objects, arrays, strings, numbers and words; names are none */
    unsigned depth_max;  /* of nesting; at most DUMP_DEPTH_MAX */
    bool unique;         /* a name that an object has twice is an error; else the last one counts */
    bool long_numbers;   /* a number is a string only if neither 64 bits nor a double hold it */
};

/* Reads a text that is one object or array; json_decref the root. Numbers of 19 and more digits and
 * those with an exponent are strings of their text (but for long_numbers); \u0000, lone surrogates
 * and bytes that are not UTF-8 are U+FFFD, so that no string holds a NUL. options may be NULL.
 * ST_NONE: the text is a number, string or word by itself. ST_ERR: ERR_FORMAT not JSON,
 * ERR_TRUNCATED it ends too early, ERR_LIMIT past a limit, ERR_NOMEM; the message has the column,
 * and the line of the text if it has several. *root is NULL on anything but ST_OK. Thread safe as
 * long as dump_library_init ran. */
enum st document_load(json_t **root, const char *text, size_t len,
                      const struct document_options *options, struct err *e) BASE_MUST_USE;

#endif
