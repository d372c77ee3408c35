/* The state of one run of the dump parser, and conversions of the tape's values to the model's
 * types. */
#ifndef STALLKIT_DUMP_BUILD_PRIVATE_H
#define STALLKIT_DUMP_BUILD_PRIVATE_H

#include "dump/dump.h"
#include "dump/json/tape.h"
#include "dump/written_locations_private.h"

/* The state of one run of the dump parser. */
struct dump_build {
    struct dump *d;
    struct err *e;
    bool no_memory; /* an allocation for a string failed: the parser checks this after it has read
                       "format", and at its end */
    struct tape tape;
    const struct written_locations *written; /* what the tape's reader has read */
};

/* Gives the text of a string value, which is a part of the tape's text or, if it had to be decoded,
 * in the dump's arena; it may lack a NUL. False: the value is no string, or memory ran out (then
 * b->no_memory is set). */
bool build_text(struct dump_build *b, const struct tape_value *value, const char **text,
                size_t *len);
/* Copies a string value into the dump's arena. NULL: the value is no string, or memory ran out
 * (then b->no_memory is set). */
const char *build_string(struct dump_build *b, const struct tape_value *value);
/* Copies a string value as build_string does, but at most its first DUMP_VALUE_MAX bytes, cut
 * between two characters: for all text but names of functions and source files. A text that was cut
 * is counted in cut_values of the dump. */
const char *build_value(struct dump_build *b, const struct tape_value *value);
/* Reads a string of decimal digits whose number fits 64 bits; false: the value is none, or memory
 * ran out (then b->no_memory is set). */
bool build_u64_text(struct dump_build *b, const struct tape_value *value, uint64_t *out);
/* Reads an integer >= 0, or a string as build_u64_text does; false: the value is neither, and *out
 * may have changed. */
static inline bool build_u64(struct dump_build *b, const struct tape_value *value, uint64_t *out) {
    if (tape_is(value, VALUE_INTEGER)) {
        *out = (uint64_t)value->integer;
        return value->integer >= 0;
    }
    return build_u64_text(b, value, out);
}
/* Reads an integer from -1 to max, both included; false: the value is no such integer. */
static inline bool build_index(const struct tape_value *value, int64_t max, int64_t *out) {
    *out = tape_is(value, VALUE_INTEGER) ? value->integer : -2;
    return *out >= -1 && *out <= max;
}
/* Returns an integer from 0 to 2^53 - 1 (which every JSON reader holds exactly), or the number in a
 * string of its digits; -1 for any other value. */
int64_t build_number(struct dump_build *b, const struct tape_value *value);
/* Allocates zeroed memory in the dump's arena; NULL with the error set if there is none. */
void *build_array(struct dump_build *b, size_t count, size_t size);

/* Return the member `name` of an object: as build_value does, as build_number does, and whether
 * it is the value `true`. A value that is not an object has no members. */
const char *build_member_string(struct dump_build *b, const struct tape_value *object,
                                const char *name);
int64_t build_member_number(struct dump_build *b, const struct tape_value *object,
                            const char *name);
bool build_member_true(struct dump_build *b, const struct tape_value *object, const char *name);

/* Checks that an optional member `name` is an array of at most `max` elements, and writes their
 * number to *count. *value becomes NULL if the member is absent or null. */
enum st build_check_array(struct dump_build *b, const struct tape_value **value, const char *name,
                          size_t max, size_t *count) BASE_MUST_USE;

#endif
