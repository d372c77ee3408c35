/* Reads and writes speedscope's file format (speedscope.app/file-format-schema.json): JSON with a
 * table of frames and profiles that refer to it. A frame's `file` is its module, as in speedscope's
 * conversions of other profiles; with a `line` it is the source file. Inlined functions keep their
 * mark _[i]. */
#ifndef STALLKIT_FLAME_SPEEDSCOPE_H
#define STALLKIT_FLAME_SPEEDSCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "flame/stacks/stack_tree.h"

struct speedscope_options {
    const char *title; /* NULL = "Flame graph" */
    /* unit of the weights; "ms" is written as milliseconds, "bytes" as bytes, any other and NULL as
     * none */
    const char *unit;
    const char *exporter; /* program that writes the file, "stallflame@0.1.0"; NULL = left out */
};

/* Writes a tree as one profile, with its stacks sorted, or in the order of time for an ordered
 * tree. Equal trees and options give equal bytes. Write errors stick to the sink; ST_ERR:
 * ERR_NOMEM. */
enum st speedscope_write(const struct stack_tree *t, const struct speedscope_options *o,
                         struct sink *out, struct err *e) BASE_MUST_USE;

/* Could these first bytes of an input begin a speedscope file? */
bool speedscope_recognise(const char *bytes, size_t len);

struct speedscope_stats {
    uint64_t profiles; /* profiles added */
    /* Number of profiles left out, because they have another unit than the first. */
    uint64_t left_out;
    uint64_t stacks; /* stacks added: samples, or intervals between events */
    /* unit of the weights added: "ms" for times, "bytes" or "samples"; static text */
    const char *unit;
};

/* Adds to a tree all profiles of a file that have the unit of the first; if the file has several
 * profiles, the name of a profile becomes the outermost frame of its stacks. Times become
 * milliseconds; weights that are no integers are rounded to STACK_DECIMALS_MAX places. name is for
 * messages. ST_ERR: ERR_FORMAT, ERR_LIMIT (more text than SPEEDSCOPE_TEXT_MAX, or weights that pass
 * 64 bits), ERR_NOMEM; a part of the file may have been added then. */
enum { SPEEDSCOPE_TEXT_MAX = 1 << 30 };
enum st speedscope_read(struct stack_tree *t, const char *name, const char *text, size_t len,
                        struct speedscope_stats *stats, struct err *e) BASE_MUST_USE;

#endif
