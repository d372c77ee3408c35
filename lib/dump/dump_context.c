/* Reads the members of "context", whose values the app has set. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dump/dump_context_private.h"

/* Returns a context member's value as text. NULL: it is neither a string nor an integer nor a
 * boolean, or memory ran out. */
static const char *build_entry(struct dump_build *b, const struct tape_value *value) {
    char digits[24];
    if (tape_is(value, VALUE_TRUE) || tape_is(value, VALUE_FALSE)) {
        return tape_is(value, VALUE_TRUE) ? "true" : "false";
    }
    if (!tape_is(value, VALUE_INTEGER)) {
        return build_value(b, value);
    }
    snprintf(digits, sizeof digits, "%" PRId64, value->integer);
    const char *copy = arena_strdup(&b->d->arena, digits, strlen(digits));
    b->no_memory = b->no_memory || !copy;
    return copy;
}

enum st build_context(struct dump_build *b, const struct tape_value *context) {
    struct dump *d = b->d;
    size_t count = tape_is(context, VALUE_OBJECT) ? context->count : 0;
    if (count == 0) {
        return ST_OK;
    }
    struct dump_context *out = build_array(b, count, sizeof *out);
    if (!out) {
        return ST_ERR;
    }
    const struct tape_value *end = tape_end(context);
    for (const struct tape_value *name = tape_first(context); name < end;
         name = tape_next(name + 1)) {
        out[d->context_count].name = build_value(b, name);
        out[d->context_count++].value = build_entry(b, name + 1);
    }
    d->context = out;
    return ST_OK;
}

const char *dump_context(const struct dump *d, const char *name) {
    /* If two members have the same name, the last one counts. */
    for (size_t i = d->context_count; i-- > 0;) {
        if (d->context[i].name && strcmp(d->context[i].name, name) == 0) {
            return d->context[i].value;
        }
    }
    return NULL;
}
