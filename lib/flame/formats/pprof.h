/* pprof's profiles: gzip of one Profile message of profile.proto
 * (github.com/google/pprof/blob/main/proto/profile.proto).
 *
 * A function that was inlined is one more line of its caller's location. A frame's module is its
 * location's mapping; its file and line (frame_place.h) are the function's. */
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
    const char *unit;    /* what weights count: "ms" is written as time, in nanoseconds where they
                            have decimal places. NULL = "samples" */
    const char *comment; /* NULL = none */
    /* The build-id of a module as hex digits, "" if it is not known. NULL = none is. */
    const char *(*build_id)(void *ctx, const char *module, size_t len);
    void *ctx;
};

/* Writes a tree; equal trees and options give equal bytes. `samples`: what else each stack counts,
 * as a value of its own before the tree's; NULL = nothing. pprof's values are integers: counts with
 * decimal places, other than times, are rounded so that their sum stays the nearest integer. Not
 * for two ordered trees. Write errors stick to the sink; ERR_NOMEM, ERR_LIMIT. */
enum st pprof_write(const struct stack_tree *t, const struct stack_tree *samples,
                    const struct pprof_options *o, struct sink *out, struct err *e) BASE_MUST_USE;

/* Could these first bytes of an input, inflated, be a profile? No text begins as one does. */
bool pprof_recognise(const char *bytes, size_t len);

struct pprof_stats {
    uint64_t samples;  /* added to the tree */
    uint64_t negative; /* left out: values below 0, of a difference of two profiles */
    char unit[32]; /* of what was added: "ms" for any time, of counts what is counted ("samples",
                      "stalls"), else their unit */
};

/* Adds an inflated profile to a tree. Of several values a sample may have, the one whose unit is a
 * time or, if `counts`, a count; else the profile's default, else the last. Times become
 * milliseconds. A location without a function is MODULE+0xADDRESS or 0xADDRESS. ERR_TRUNCATED,
 * ERR_FORMAT, ERR_LIMIT (more text than PPROF_TEXT_MAX), ERR_NOMEM; some of it may have been added
 * then. name is for the error text. */
enum { PPROF_TEXT_MAX = 1 << 30 };
enum st pprof_read(struct stack_tree *t, const char *name, const void *bytes, size_t len,
                   bool counts, struct pprof_stats *stats, struct err *e) BASE_MUST_USE;

#endif
