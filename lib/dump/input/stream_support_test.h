/* Two ways to read a stream, for its test and its fuzzer, which must give the same result. */
#ifndef STALLKIT_DUMP_STREAM_SUPPORT_TEST_H
#define STALLKIT_DUMP_STREAM_SUPPORT_TEST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "dump/input/dump_stream.h"
#include "dump/json/scan_private.h"

/* Receives a document, or the reason why there is none. */
typedef void (*stream_see)(void *ctx, enum st st, const char *text, size_t len, uint64_t line,
                           const struct err *e);

static inline void stream_walk_text(const struct dump_stream_line *from, stream_see see, void *ctx);

/* Passes the documents of the stream to `see`. If `lines`, lines that look like documents are read
 * by dump_stream_line. */
static inline void stream_walk(struct dump_stream *s, bool lines, stream_see see, void *ctx) {
    for (;;) {
        struct dump_stream_line l = {0};
        struct err e = {0};
        if (lines && dump_stream_line(s, &l)) {
            if (scan_check(l.text, l.len, 0, NULL) == ST_OK) {
                see(ctx, ST_OK, l.text, l.len, l.line, &e);
            } else {
                stream_walk_text(&l, see, ctx);
            }
            continue;
        }
        enum st st = dump_stream_next(s, &l.text, &l.len, &l.line, &e);
        if (st == ST_NONE) {
            return;
        }
        see(ctx, st, l.text, l.len, l.line, &e);
    }
}

static inline void stream_walk_text(const struct dump_stream_line *from, stream_see see,
                                    void *ctx) {
    struct dump_stream *s = NULL;
    struct strbuf text = {0};
    strbuf_add(&text, from->text, from->len);
    strbuf_addc(&text, '\n');
    if (!text.failed &&
        dump_stream_open_text(&s, text.data, text.len, from->line, from->offset, NULL) == ST_OK) {
        stream_walk(s, false, see, ctx);
        dump_stream_close(s);
    }
    strbuf_release(&text);
}

static inline bool stream_is_ready(void *ctx) {
    (void)ctx;
    return true;
}

/* Returns a descriptor of a new file from which the bytes can be read; -1 if there is none. */
static inline int stream_file_of(const void *bytes, size_t len) {
    char path[] = "/tmp/dump_stream_test.XXXXXX";
    int fd = mkstemp(path);
    if (fd >= 0) {
        unlink(path);
    }
    if (fd >= 0 && (write(fd, bytes, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

#endif
