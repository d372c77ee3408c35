/* A JSON validator (RFC 8259) that is fed bytes as they come. It builds nothing: the stream uses it
 * to find where a document ends, and check_grammar to say what is wrong with one, and where. It
 * does not check UTF-8 or surrogates; the readers repair those. */
#ifndef STALLKIT_DUMP_SCAN_PRIVATE_H
#define STALLKIT_DUMP_SCAN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "dump/dump.h"

/* Values of one document: bounds the memory that readers take for it (Jansson some 40 bytes each,
 * the tape 16 to 32). */
enum { SCAN_VALUES_MAX = 4 * 1024 * 1024 };

/* What every JSON reader holds exactly: 2^53 - 1. */
#define SCAN_NUMBER_MAX UINT64_C(9007199254740991)

enum scan_result {
    SCAN_MORE, /* all bytes were taken, the document goes on */
    SCAN_DONE, /* the document ends before byte *used */
    SCAN_BAD,  /* byte *used cannot stand there */
    SCAN_LIMIT /* too deep or too many values at byte *used */
};

/* Zero-initialised = before the document. Only objects and arrays are documents. */
struct scan {
    uint8_t state;
    uint8_t rest;    /* hex digits of an escape, or letters of a literal, still to come */
    uint8_t literal; /* which literal */
    bool key;        /* the string is a member's name */
    bool done;
    unsigned depth;   /* open containers */
    unsigned deepest; /* most of them so far */
    uint64_t values;  /* values begun */
    uint8_t is_object[DUMP_DEPTH_MAX / 8];
};

/* Takes bytes until the document ends or breaks. *used = how many were taken. */
enum scan_result scan_feed(struct scan *s, const char *p, size_t len, size_t *used);

/* ---- walking text that is known to be valid ---- */

/* The unread rest of a document. Every function here stays inside it, valid or not. */
struct span {
    const char *p, *end;
};

void span_skip_space(struct span *s);
/* Is the text, valid or not, one object or array by its brackets and quotes, and nothing else? Much
 * faster than scan_feed. */
bool span_is_container(struct span text);
/* The next value with nothing around it; an empty span at the end of the text. */
struct span span_value(struct span *s);
/* In an object's or array's text: steps to the next member or element. The first call comes with
 * the whole text of the container in *s. key is NULL for an array. False at its end. */
bool span_next(struct span *s, struct span *key, struct span *value);
/* Writes a value without the white space between its tokens. */
void span_write_compact(struct span value, struct sink *out);
/* Is the string (with its quotes and escapes) the same as this ASCII name? */
bool span_is(struct span string, const char *name);

#endif
