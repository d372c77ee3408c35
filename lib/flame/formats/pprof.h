/* Reads and writes pprof's profiles: a Profile message of profile.proto, compressed with gzip
 * (github.com/google/pprof/blob/main/proto/profile.proto). An inlined function is a further line of
 * its caller's location. A frame's module is its location's mapping; its file and line
 * (frame_place.h) are those of the function. */
#ifndef STALLKIT_FLAME_PPROF_H
#define STALLKIT_FLAME_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "base/strbuf.h"
#include "flame/stacks/stack_tree.h"

struct pprof_options {
    const char *unit;    /* unit of the weights; "ms" is written as time, in nanoseconds if weights
                            have decimal places. NULL = "samples" */
    const char *comment; /* comment of the profile; NULL = none */
    /* Returns the build-id of a module as hex digits, "" if it is not known. NULL = no
     * build-ids. */
    const char *(*build_id)(void *ctx, const char *module, size_t len);
    void *ctx;
};

/* Writes a tree; equal trees and options give equal bytes. `samples`: a second weight for the
 * stacks, written as a value before the tree's; NULL = none. pprof's values are integers: weights
 * with decimal places, other than times, are rounded so that their sum is the tree's total, rounded
 * to the nearest integer. With `samples`, neither tree may be ordered. Write errors stick to the
 * sink; ST_ERR: ERR_NOMEM, ERR_LIMIT. */
enum st pprof_write(const struct stack_tree *t, const struct stack_tree *samples,
                    const struct pprof_options *o, struct sink *out, struct err *e) BASE_MUST_USE;

/* Could these first bytes of an input, after gunzip, begin a profile? No text begins like one. */
bool pprof_recognise(const char *bytes, size_t len);

struct pprof_stats {
    uint64_t samples;  /* samples with a stack, even those of value 0, that were not left out */
    uint64_t negative; /* samples left out because their value is below 0, as in a difference of two
                          profiles */
    char unit[32]; /* unit of the weights added: "ms" for times, the name of the counted things for
                      counts ("samples", "stalls"), else the profile's unit; cut to 31 bytes */
};

/* Adds a profile, after gunzip, to a tree. Of several values per sample it takes the one whose unit
 * is a time or, if `counts`, a count; else the profile's default; else the last. Times become
 * milliseconds. A location without a line is MODULE+0xADDRESS or 0xADDRESS; a line without a
 * function's name is [unknown]. name is for messages. ST_ERR: ERR_TRUNCATED, ERR_FORMAT, ERR_LIMIT
 * (more text than PPROF_TEXT_MAX, or weights that pass 64 bits), ERR_NOMEM; a part of the profile
 * may have been added then. */
enum { PPROF_TEXT_MAX = 1 << 30 };
enum st pprof_read(struct stack_tree *t, const char *name, const void *bytes, size_t len,
                   bool counts, struct pprof_stats *stats, struct err *e) BASE_MUST_USE;

#endif
