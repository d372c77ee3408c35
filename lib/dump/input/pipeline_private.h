/* A document in the pipeline, and the dumps and records that were read from it. */
#ifndef STALLKIT_DUMP_PIPELINE_PRIVATE_H
#define STALLKIT_DUMP_PIPELINE_PRIVATE_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "dump/input/dump_pipeline.h"
#include "dump/input/dump_stream.h"

enum piece_kind {
    PIECE_DUMP,
    PIECE_SESSION, /* a session record */
    PIECE_REFUSED  /* a line that an earlier filter refused, RECORD_REFUSED */
};

/* A dump, session record or refused line that was read from a document. */
struct piece {
    enum piece_kind kind;
    char *own;        /* the text, if the piece has to free it; NULL: the document owns the text */
    const char *text; /* text of a session record or of a refused line */
    size_t len;
    uint64_t replaced; /* bytes of the text that were not UTF-8 */
    struct dump dump;
    void *result;
    enum st st; /* status of the command's work on the dump */
    struct err err;
};

/* A document in the pool, or a retired one whose memory the next document takes. */
struct document {
    struct dump_pipeline *d;
    struct document *next; /* next in the list of retired documents */
    unsigned worker;
    struct strbuf text;
    struct strbuf where; /* "INPUT:LINE" */
    size_t name_len;     /* length of INPUT in where */
    VEC(struct piece *) pieces;
    struct piece *spare; /* an unused piece, kept for the next dump; NULL = none */
    bool unseen;         /* a whole line that the stream has not parsed (dump_stream_line) */
    bool found;    /* the input was found in a folder or an archive rather than named by the user */
    bool answered; /* a line of dump_pipeline_answer: it is not cut into documents yet */
    uint64_t line, offset;
    enum st st;         /* ST_ERR: a part of the document, or all of it, was refused */
    struct err err;     /* the first reason why */
    uint64_t more_errs; /* number of further reasons why parts were refused */
};

/* Takes a retired document or allocates one, and fills in its text and place. NULL: out of
 * memory. */
struct document *document_new(struct dump_pipeline *d, const char *name, size_t name_len,
                              const struct dump_stream_line *from);
/* Retires a document: its memory is kept for the next one, but for a text buffer above 1 MiB. */
void document_retire(struct document *doc);
void document_free(struct document *doc);
/* Parses a document, a struct document, and runs the command's work on its dumps; a pool_work. A
 * document whose st is ST_ERR already, or that ops->wanted refuses, is left as it is. */
void document_work(void *ctx, void *item, unsigned worker);

/* Can data be read from the descriptor without waiting? If not, the dumps in flight are delivered
 * and ops->idle is called, because the next read may wait for a slow writer. */
bool pipeline_ready(struct dump_pipeline *d, int fd);
/* Waits until the descriptor has data. While it has none, ops->idle is called, and then again
 * whenever as many ms have passed as ops->wait_ms returns. False: ops->wait_ms returned -1, or poll
 * failed, so that the next read may wait. */
bool pipeline_await(struct dump_pipeline *d, int fd);

#endif
