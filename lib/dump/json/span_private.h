/* Walks over JSON text that is known to be valid, by its brackets and quotes alone. This is faster
 * than reading the values, which the writers of dumps do not need. */
#ifndef STALLKIT_DUMP_SPAN_PRIVATE_H
#define STALLKIT_DUMP_SPAN_PRIVATE_H

#include <stdbool.h>

#include "base/sink.h"

/* A part of a text. Every function here reads only bytes of that part, whether the text is valid
 * JSON or not. */
struct span {
    const char *p, *end;
};

void span_skip_space(struct span *s);
/* Judged by its brackets and quotes, is the text one object or array with nothing but white space
 * around it? The text need not be valid JSON. This is much faster than scan_feed. */
bool span_is_container(struct span text);
/* Takes the next value, without white space around it; an empty span if the text ends, or a comma,
 * colon or closing bracket comes next. */
struct span span_value(struct span *s);
/* Steps to the next member or element of an object or array. For the first call *s is the
 * container's whole text. key is NULL for an array. False at the end. */
bool span_next(struct span *s, struct span *key, struct span *value);
/* Writes a value without the white space between its tokens. */
void span_write_compact(struct span value, struct sink *out);
/* Does the string (with its quotes and escapes) equal this ASCII name? */
bool span_is(struct span string, const char *name);

#endif
