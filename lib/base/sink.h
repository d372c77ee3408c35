/* A sink takes the output of printers, and stores it in memory or passes it to a function of the
 * caller. A write reports no failure itself: the first failure sticks and sink_close returns it, so
 * a full disk is reported exactly once. Not thread safe. */
#ifndef STALLKIT_BASE_SINK_H
#define STALLKIT_BASE_SINK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"

/* A caller's write function: writes all len bytes, or returns ST_ERR and fills e. */
typedef enum st (*sink_function)(void *ctx, const void *bytes, size_t len, struct err *e);

struct sink {
    sink_function write;
    void *ctx;
    /* Strbuf that `write` appends to; NULL = another kind of sink, `write` failed, or closed. */
    struct strbuf *text;
    char *buf; /* owned buffer; NULL = unbuffered */
    size_t len, cap;
    uint64_t total; /* bytes given to the sink so far, written or not */
    struct err err; /* the first failure, which sticks */
};

/* Returns a sink that appends to a caller-owned strbuf, which must outlive it. */
struct sink sink_to_strbuf(struct strbuf *b);
/* Returns a sink that passes bytes to the caller's function through a buffer. */
struct sink sink_to_function(sink_function write, void *ctx);
/* Returns a sink that counts bytes and drops them. */
struct sink sink_to_nowhere(void);

/* Writes bytes, and empties the buffer before if they do not fit into it: the slow path of
 * sink_write. */
void sink_write_slowly(struct sink *s, const void *bytes, size_t len);
static inline void sink_write(struct sink *s, const void *bytes, size_t len) {
    if (s->text && strbuf_has_room(s->text, len)) {
        s->total += len;
        strbuf_add(s->text, bytes, len);
    } else if (len < s->cap - s->len && len > 0) { /* bytes may be NULL if len is 0 */
        s->total += len;
        memcpy(s->buf + s->len, bytes, len);
        s->len += len;
    } else {
        sink_write_slowly(s, bytes, len);
    }
}
static inline void sink_str(struct sink *s, const char *text) {
    sink_write(s, text, strlen(text));
}
static inline void sink_char(struct sink *s, char c) {
    sink_write(s, &c, 1);
}
/* Write a number in decimal, faster than printf does. */
void sink_u64(struct sink *s, uint64_t v);
void sink_i64(struct sink *s, int64_t v);
void sink_printf(struct sink *s, const char *fmt, ...) BASE_PRINTF(2, 3);
/* Passes the buffered bytes to the write function, for output that a reader waits for. */
void sink_flush(struct sink *s);
/* Flushes, frees the buffer, and returns the first failure. Every sink must be closed; a second
 * call is harmless. */
enum st sink_close(struct sink *s, struct err *e) BASE_MUST_USE;

#endif
