/* Reads and merges files and streams of partials. */
#ifndef STALLKIT_CLASSIFY_PARTIAL_INPUT_H
#define STALLKIT_CLASSIFY_PARTIAL_INPUT_H

#include "base/gz.h"
#include "base/strbuf.h"
#include "classify/stats/triage.h"

/* Set the first members, the rest zero; partial_input_open, partial_input_read for each input,
 * partial_input_release. */
struct partial_input {
    struct triage *merged; /* the caller's; NULL: the first partial becomes it */
    /* Told of what cannot be read or merged, which is left out; where: "INPUT:LINE" or "INPUT". */
    void (*fail)(void *ctx, const char *where, const struct err *why);
    void *ctx;
    struct partial_reader *reader; /* private from here */
    struct strbuf line;
    uint64_t number; /* of the line */
    uint64_t found;  /* partials in this input */
};

/* ST_ERR: out of memory. */
enum st partial_input_open(struct partial_input *m, struct err *e) BASE_MUST_USE;
/* Reads an input to its end or its first bad line; name: for messages. in stays the caller's. */
void partial_input_read(struct partial_input *m, struct gz_input *in, const char *name);
/* Leaves `merged` to the caller. */
void partial_input_release(struct partial_input *m);

#endif
