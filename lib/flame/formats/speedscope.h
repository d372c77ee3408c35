/* speedscope's file format (speedscope.app/file-format-schema.json): JSON with a table of frames
 * and profiles that point into it. A frame's `file` is its module, as in what speedscope makes of
 * other profilers' files; with a `line`, it is the source. Inlined functions keep their mark _[i].
 */
#ifndef STALLKIT_FLAME_SPEEDSCOPE_H
#define STALLKIT_FLAME_SPEEDSCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "flame/stacks/stack_tree.h"

struct speedscope_options {
    const char *title;    /* NULL = "Flame graph" */
    const char *unit;     /* what weights count; "ms" is a time, others have no name there */
    const char *exporter; /* who wrote it, "stallflame@0.1.0"; NULL = not said */
};

/* Writes a tree as one profile: its stacks in order, or, of an ordered tree, in the order of time.
 * Equal trees and options give equal bytes. Write errors stick to the sink; ERR_NOMEM. */
enum st speedscope_write(const struct stack_tree *t, const struct speedscope_options *o,
                         struct sink *out, struct err *e) BASE_MUST_USE;

/* Could these first bytes of an input be such a file? */
bool speedscope_recognise(const char *bytes, size_t len);

struct speedscope_stats {
    uint64_t profiles; /* that were added */
    uint64_t left_out; /* profiles that count something else than the first */
    uint64_t stacks;   /* samples, or intervals between events, that were added */
    const char *unit;  /* of what was added: "ms" for any time, "bytes" or "samples"; static */
};

/* Adds all profiles of a file that count what the first does to a tree; of several, each has its
 * name as outermost frame. Times become milliseconds; counts are rounded to STACK_DECIMALS_MAX
 * places. ERR_FORMAT, ERR_LIMIT (more text than SPEEDSCOPE_TEXT_MAX), ERR_NOMEM; some of it may
 * have been added then. name is for the error text. */
enum { SPEEDSCOPE_TEXT_MAX = 1 << 30 };
enum st speedscope_read(struct stack_tree *t, const char *name, const char *text, size_t len,
                        struct speedscope_stats *stats, struct err *e) BASE_MUST_USE;

#endif
