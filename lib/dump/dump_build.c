/* Converts values of the JSON tape to the types of the dump model. */
#include "dump/dump_build_private.h"

#include "base/parse.h"
#include "dump/json/token_private.h"

void *build_array(struct dump_build *b, size_t count, size_t size) {
    void *p = arena_array(&b->d->arena, count, size);
    if (!p) {
        err_nomem(b->e);
    }
    return p;
}

const char *build_string(struct dump_build *b, const struct tape_value *value) {
    size_t len;
    if (!tape_is_string(value)) {
        return NULL;
    }
    const char *copy = tape_string(&b->tape, value, &b->d->arena, &len);
    b->no_memory = b->no_memory || !copy;
    return copy;
}

/* Returns the length of the longest beginning of the text, of at most DUMP_VALUE_MAX bytes, that
 * ends between two characters. The text must be longer than DUMP_VALUE_MAX. */
static size_t value_length(const char *text) {
    size_t len = DUMP_VALUE_MAX;
    while (len > DUMP_VALUE_MAX - 4 && ((unsigned char)text[len] & 0xC0) == 0x80) {
        len--;
    }
    return len;
}

const char *build_value(struct dump_build *b, const struct tape_value *value) {
    size_t len;
    if (!tape_is_string(value)) {
        return NULL;
    }
    char *copy = tape_string(&b->tape, value, &b->d->arena, &len);
    b->no_memory = b->no_memory || !copy;
    if (copy && len > DUMP_VALUE_MAX) {
        copy[value_length(copy)] = '\0';
        b->d->cut_values++;
    }
    return copy;
}

bool build_text(struct dump_build *b, const struct tape_value *value, const char **text,
                size_t *len) {
    if (tape_is(value, VALUE_STRING) || tape_is(value, VALUE_DIGITS)) {
        *text = b->tape.text + value->at;
        *len = value->len;
        return true;
    }
    if (!tape_is(value, VALUE_ESCAPED)) {
        return false;
    }
    *text = tape_string(&b->tape, value, &b->d->arena, len);
    b->no_memory = b->no_memory || !*text;
    return *text != NULL;
}

bool build_u64_text(struct dump_build *b, const struct tape_value *value, uint64_t *out) {
    const char *text;
    size_t len;
    return build_text(b, value, &text, &len) && parse_u64(text, len, UINT64_MAX, out);
}

int64_t build_number(struct dump_build *b, const struct tape_value *value) {
    uint64_t v;
    return build_u64(b, value, &v) && v <= TOKEN_NUMBER_MAX ? (int64_t)v : -1;
}

const char *build_member_string(struct dump_build *b, const struct tape_value *object,
                                const char *name) {
    return build_value(b, tape_member(&b->tape, object, name));
}

int64_t build_member_number(struct dump_build *b, const struct tape_value *object,
                            const char *name) {
    return build_number(b, tape_member(&b->tape, object, name));
}

bool build_member_true(struct dump_build *b, const struct tape_value *object, const char *name) {
    return tape_is(tape_member(&b->tape, object, name), VALUE_TRUE);
}

enum st build_check_array(struct dump_build *b, const struct tape_value **value, const char *name,
                          size_t max, size_t *count) {
    *count = 0;
    if (!*value || tape_is(*value, VALUE_NULL)) {
        *value = NULL;
        return ST_OK;
    }
    if (!tape_is(*value, VALUE_ARRAY)) {
        return err_set(b->e, ERR_FORMAT, "\"%s\" is not an array", name);
    }
    if ((*value)->count > max) {
        return err_set(b->e, ERR_LIMIT, "%u elements in \"%s\"", (*value)->count, name);
    }
    *count = (*value)->count;
    return ST_OK;
}
