/* Implements buffered output whose first failure sticks. */
#include "base/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_SIZE = 64 * 1024 };

static enum st write_strbuf(void *ctx, const void *bytes, size_t len, struct err *e) {
    struct strbuf *b = ctx;
    strbuf_add(b, bytes, len);
    return strbuf_check(b, e);
}

static enum st write_nowhere(void *ctx, const void *bytes, size_t len, struct err *e) {
    (void)ctx, (void)bytes, (void)len, (void)e;
    return ST_OK;
}

struct sink sink_to_strbuf(struct strbuf *b) {
    return (struct sink){.write = write_strbuf, .ctx = b, .text = b};
}

struct sink sink_to_function(sink_function write, void *ctx) {
    /* Without memory for a buffer the sink is unbuffered and only slower. */
    char *buf = malloc(BUFFER_SIZE);
    return (struct sink){.write = write, .ctx = ctx, .buf = buf, .cap = buf ? BUFFER_SIZE : 0};
}

struct sink sink_to_nowhere(void) {
    return (struct sink){.write = write_nowhere};
}

/* Gives bytes to the write function unless the sink has failed. */
static void pass_on(struct sink *s, const void *bytes, size_t len) {
    if (!err_is(&s->err) && len && s->write(s->ctx, bytes, len, &s->err) != ST_OK) {
        err_set(&s->err, ERR_IO, "cannot write"); /* for a `write` that left the error empty */
        s->text = NULL; /* after bytes were lost, no later ones are written */
    }
}

static void empty_buffer(struct sink *s) {
    pass_on(s, s->buf, s->len);
    s->len = 0;
}

void sink_write_slowly(struct sink *s, const void *bytes, size_t len) {
    s->total += len;
    if (len > s->cap - s->len) {
        empty_buffer(s);
    }
    if (len > s->cap - s->len) {
        pass_on(s, bytes, len);
    } else if (len) {
        memcpy(s->buf + s->len, bytes, len);
        s->len += len;
    }
}

void sink_u64(struct sink *s, uint64_t v) {
    char digits[DECIMAL_MAX];
    if (s->text && strbuf_has_room(s->text, DECIMAL_MAX)) {
        size_t before = s->text->len;
        strbuf_addu64(s->text, v);
        s->total += s->text->len - before;
    } else {
        sink_write(s, digits, decimal_put(digits, v));
    }
}

void sink_i64(struct sink *s, int64_t v) {
    if (v < 0) {
        sink_char(s, '-');
    }
    sink_u64(s, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v);
}

void sink_printf(struct sink *s, const char *fmt, ...) {
    char small[256];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n >= 0 && (size_t)n < sizeof small) {
        sink_write(s, small, (size_t)n);
    } else {
        struct strbuf b = {0};
        strbuf_vaddf(&b, fmt, again);
        if (strbuf_check(&b, &s->err) == ST_OK) {
            sink_write(s, b.data, b.len);
        }
        strbuf_release(&b);
    }
    va_end(again);
    va_end(ap);
}

void sink_flush(struct sink *s) {
    empty_buffer(s);
}

enum st sink_close(struct sink *s, struct err *e) {
    if (s->write) {
        sink_flush(s);
        s->write = NULL;
    }
    s->text = NULL;
    free(s->buf);
    s->buf = NULL;
    s->len = s->cap = 0;
    return err_is(&s->err) ? err_copy(e, &s->err) : ST_OK;
}
