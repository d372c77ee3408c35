/* One run of the parser, and the values that it takes from the tape. */
#ifndef STALLKIT_DUMP_BUILD_PRIVATE_H
#define STALLKIT_DUMP_BUILD_PRIVATE_H

#include "dump/dump.h"
#include "dump/json/tape.h"

/* One run of the parser. */
struct dump_build {
    struct dump *d;
    struct err *e;
    bool no_memory; /* the arena gave NULL for a string: checked once, at the end */
    struct tape tape;
};

/* The text of a string value, not always NUL-terminated, until the dump is released or the tape.
 * False for any other value, and without memory. */
bool build_text(struct dump_build *b, const struct tape_value *value, const char **text,
                size_t *len);
/* A copy of a string value in the dump's arena; NULL for any other value, and without memory, which
 * b->no_memory then says. */
const char *build_string(struct dump_build *b, const struct tape_value *value);
/* An integer >= 0, or a string of its digits. */
bool build_u64(struct dump_build *b, const struct tape_value *value, uint64_t *out);
/* An integer -1 <= v <= max. */
bool build_index(const struct tape_value *value, int64_t max, int64_t *out);
/* An integer in 0 … 2^53 - 1 (what every JSON reader holds exactly), else -1. */
int64_t build_number(struct dump_build *b, const struct tape_value *value);
/* Zeroed memory from the dump's arena; NULL with the error set. */
void *build_array(struct dump_build *b, size_t count, size_t size);

/* Members of an object: as the functions above, absent if the object is none. */
const char *build_member_string(struct dump_build *b, const struct tape_value *object,
                                const char *name);
int64_t build_member_number(struct dump_build *b, const struct tape_value *object,
                            const char *name);
bool build_member_true(struct dump_build *b, const struct tape_value *object, const char *name);

/* An optional member that has to be an array of at most `max`: its elements' number. *value becomes
 * NULL if it is absent or null. */
enum st build_check_array(struct dump_build *b, const struct tape_value **value, const char *name,
                          size_t max, size_t *count) BASE_MUST_USE;

#endif
