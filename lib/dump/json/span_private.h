/* A walk over JSON text that is known to be valid, by its brackets and quotes: faster than reading
 * its values, which the writers of dumps do not need. */
#ifndef STALLKIT_DUMP_SPAN_PRIVATE_H
#define STALLKIT_DUMP_SPAN_PRIVATE_H

#include <stdbool.h>

#include "base/sink.h"

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
