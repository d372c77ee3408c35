/* What the files of lib/dump share about the parser. */
#ifndef STALLKIT_DUMP_PRIVATE_H
#define STALLKIT_DUMP_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "dump/dump.h"
#include "dump/dump_prepass_private.h"

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
    const char *locations, *locations_end; /* text of the array "locations"; NULL = none */
    struct frame_lists frames;
};

/* A copy of a string value in the dump's arena; NULL for any other value. */
const char *build_string(struct build *b, const json_t *value);
/* An integer >= 0, or the digits of one that the pre-pass quoted. */
bool build_u64(const json_t *value, uint64_t *out);
/* An integer -1 <= v <= max. */
bool build_index(const json_t *value, int64_t max, int64_t *out);
/* An integer in 0 … 2^53 - 1 (what every JSON reader holds exactly), else -1. */
int64_t build_number(const json_t *value);
/* Zeroed memory from the dump's arena; NULL with the error set. */
void *build_array(struct build *b, size_t count, size_t size);

/* Finds the array "locations" of a document that passed the pre-pass, and writes the document
 * without it to `rest`. ST_NONE: it has none, nothing is written. ST_ERR: out of memory. Most of
 * the text of a symbolicated dump is this array: to read it through Jansson's tree takes four times
 * as long as all the rest. */
enum st build_cut_locations(struct build *b, const char *text, size_t len,
                            struct strbuf *rest) BASE_MUST_USE;
/* The members that an earlier stallsym has added: "strings", "locations", and in `stack` of the
 * object its "locations". Checked against each other and against the frames. */
enum st build_locations(struct build *b, const json_t *root) BASE_MUST_USE;
enum st build_stack_locations(struct build *b, const json_t *object, struct dump_stack *stack,
                              const char *what, size_t index) BASE_MUST_USE;

#endif
