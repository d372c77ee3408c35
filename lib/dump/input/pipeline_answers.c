/* Reads the lines of an input, each of which is answered. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/input/pipe_room.h"
#include "base/pool.h"
#include "dump/input/pipeline_private.h"

enum { ANSWER_READ_SIZE = 64 * 1024, ANSWER_KEPT_MAX = 1024 * 1024 };

/* The state of reading an input line by line. */
struct line_reader {
    struct dump_pipeline *d;
    int fd;
    const char *name;
    struct strbuf text;
    size_t start;    /* offset in text of the current line */
    size_t searched; /* offset in text up to which there is no line feed */
    uint64_t line;   /* number of lines before the current one */
    /* The reason why the bytes of the current line were dropped, ERR_LIMIT or ERR_NOMEM; ERR_NONE:
     * they were not dropped. */
    enum err_code dropped;
    bool at_end;
};

/* Reads from a descriptor, which may be non-blocking. Returns the number of bytes, 0 at the end; -1
 * with errno. */
static ssize_t read_waiting(int fd, char *to, size_t size) {
    for (;;) {
        ssize_t n = read(fd, to, size);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN)) {
            return n;
        }
        if (errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLIN};
            (void)poll(&p, 1, -1);
        }
    }
}

/* Drops the lines already taken once they are at least half of the text, and frees memory that was
 * needed for a long line. */
static void drop_taken(struct line_reader *r) {
    size_t left = r->text.len - r->start;
    struct strbuf rest = {0};
    if (r->start < left) {
        return;
    }
    if (r->text.cap > ANSWER_KEPT_MAX && left < ANSWER_READ_SIZE) {
        strbuf_add(&rest, r->text.data + r->start, left);
    }
    if (rest.len == left && !rest.failed && r->text.cap > ANSWER_KEPT_MAX) {
        strbuf_release(&r->text);
        r->text = rest;
    } else {
        strbuf_release(&rest);
        if (left > 0) {
            memmove(r->text.data, r->text.data + r->start, left);
        }
        strbuf_truncate(&r->text, left);
    }
    r->searched -= r->start;
    r->start = 0;
}

/* Appends more of the input to the text. ST_NONE: the input has ended. */
static enum st read_on(struct line_reader *r, struct err *e) {
    drop_taken(r);
    char *room = strbuf_room(&r->text, ANSWER_READ_SIZE);
    if (!room && r->text.cap == 0) {
        return err_nomem(e);
    }
    if (!room) { /* the part of a line that was read is of no use without the rest */
        strbuf_release(&r->text);
        r->start = r->searched = 0;
        r->dropped = ERR_NOMEM;
        return ST_OK;
    }
    (void)pipeline_await(r->d, r->fd);
    ssize_t n = read_waiting(r->fd, room, ANSWER_READ_SIZE);
    if (n < 0) {
        r->at_end = true;
        return err_sys(e, errno, "cannot read");
    }
    strbuf_took(&r->text, (size_t)n);
    r->at_end = n == 0;
    return r->at_end ? ST_NONE : ST_OK;
}

/* Puts a line into the pool. */
static void put_answered_line(struct line_reader *r, size_t len) {
    struct dump_stream_line from = {strbuf_cstr(&r->text) + r->start, r->dropped ? 0 : len,
                                    ++r->line, 0};
    struct document *doc = document_new(r->d, r->name, strlen(r->name), &from);
    if (!doc) {
        struct err e = {0};
        err_nomem(&e);
        pool_finish(r->d->pool);
        r->d->ops->refuse(r->d->ctx, r->name, &e);
        r->d->ops->answered(r->d->ctx);
        return;
    }
    doc->answered = true;
    if (r->dropped == ERR_NOMEM) {
        doc->st = err_nomem(&doc->err);
    } else if (r->dropped) {
        doc->st = err_set(&doc->err, ERR_LIMIT, "a line of more than %d bytes", DUMP_TEXT_MAX);
    }
    r->dropped = ERR_NONE;
    pool_put(r->d->pool, doc);
}

/* Puts the whole lines of the text into the pool, and drops a line that passed the limit. */
static void put_answered_lines(struct line_reader *r) {
    for (;;) {
        size_t left = r->text.len - r->searched;
        const char *from = strbuf_cstr(&r->text) + r->searched;
        const char *feed = left ? memchr(from, '\n', left) : NULL;
        size_t end = feed ? r->searched + (size_t)(feed - from) : r->text.len;
        r->searched = end;
        if (!r->dropped && end - r->start > DUMP_TEXT_MAX) {
            r->dropped = ERR_LIMIT;
        }
        r->start = r->dropped ? end : r->start;
        if (!feed) {
            return;
        }
        put_answered_line(r, end - r->start);
        r->start = r->searched = end + 1;
    }
}

void dump_pipeline_answer(struct dump_pipeline *d, int fd, const char *name) {
    struct line_reader r = {.d = d, .fd = fd, .name = name};
    struct err e = {0};
    enum st st = ST_OK;
    pipe_widen(fd); /* a block of lines is written at once, and its answers are flushed at once */
    while (st == ST_OK && !(d->ops->unwanted && d->ops->unwanted(d->ctx))) {
        st = read_on(&r, &e);
        put_answered_lines(&r);
    }
    if (st == ST_NONE && (r.text.len > r.start || r.dropped)) {
        put_answered_line(&r, r.text.len - r.start);
    }
    if (st == ST_ERR) {
        dump_pipeline_fail(d, name, &e);
    }
    strbuf_release(&r.text);
    close(fd);
}
