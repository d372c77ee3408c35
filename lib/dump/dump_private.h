/* What the files of lib/dump share about the parser. */
#ifndef STALLKIT_DUMP_PRIVATE_H
#define STALLKIT_DUMP_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "dump/dump.h"
#include "dump/dump_tape_private.h"

/* Images by (load, index), for dump_image_at. */
struct dump_image_order {
    uint64_t load;
    uint32_t index;
};

/* Threads by (id, index), for dump_thread_by_id. */
struct dump_thread_order {
    int64_t id;
    uint32_t index;
};

/* One run of the parser. */
struct build {
    struct dump *d;
    struct err *e;
    bool no_memory; /* the arena gave NULL for a string: checked once, at the end */
    struct tape tape;
};

/* The text of a string value, not always NUL-terminated, until the dump is released or the tape.
 * False for any other value, and without memory. */
bool build_text(struct build *b, const struct tape_value *value, const char **text, size_t *len);
/* A copy of a string value in the dump's arena; NULL for any other value. */
const char *build_string(struct build *b, const struct tape_value *value);
/* An integer >= 0, or a string of its digits. */
bool build_u64(struct build *b, const struct tape_value *value, uint64_t *out);
/* An integer -1 <= v <= max. */
bool build_index(const struct tape_value *value, int64_t max, int64_t *out);
/* An integer in 0 … 2^53 - 1 (what every JSON reader holds exactly), else -1. */
int64_t build_number(struct build *b, const struct tape_value *value);
/* Zeroed memory from the dump's arena; NULL with the error set. */
void *build_array(struct build *b, size_t count, size_t size);

/* The member "context", NULL if there is none. */
enum st build_context(struct build *b, const struct tape_value *context) BASE_MUST_USE;
/* The members that an earlier stallsym has added: "strings" and "locations" of the document, and
 * the "locations" of a stack. NULL: it has none. Checked against each other and against the frames.
 */
enum st build_locations(struct build *b, const struct tape_value *strings,
                        const struct tape_value *locations) BASE_MUST_USE;
enum st build_stack_locations(struct build *b, const struct tape_value *locations,
                              struct dump_stack *stack, const char *what,
                              size_t index) BASE_MUST_USE;

#endif
