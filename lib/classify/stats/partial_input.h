/* Reads and merges files and streams of partials. */
#ifndef STALLKIT_CLASSIFY_PARTIAL_INPUT_H
#define STALLKIT_CLASSIFY_PARTIAL_INPUT_H

#include "base/gz.h"
#include "base/strbuf.h"
#include "classify/stats/triage.h"

/* The state of merging. The caller sets merged, fail and ctx, zeroes the rest, and calls
 * partial_input_open, partial_input_read for each input, and partial_input_release. */
struct partial_input {
    /* The caller's triage; NULL: the first partial that is read becomes it. */
    struct triage *merged;
    /* Reports an input or a partial that cannot be read or merged; it is left out. where:
     * "INPUT:LINE" or "INPUT". */
    void (*fail)(void *ctx, const char *where, const struct err *why);
    void *ctx;
    struct partial_reader *reader; /* private, as the members below */
    uint64_t number;               /* number of the current line */
    uint64_t found;                /* number of partials in this input */
};

/* Prepares m for reading. ST_ERR: out of memory. */
enum st partial_input_open(struct partial_input *m, struct err *e) BASE_MUST_USE;
/* Reads an input to its end. It stops at the first line that is malformed, or that completes a
 * partial which cannot be merged; empty lines are skipped. An input that has no partial, or ends
 * inside of one, is reported to `fail`, too. Partials before a fault stay merged. name: name of the
 * input, for messages. The caller closes `in`. */
void partial_input_read(struct partial_input *m, struct gz_input *in, const char *name);
/* Frees m, except for `merged`, which is the caller's. */
void partial_input_release(struct partial_input *m);

#endif
