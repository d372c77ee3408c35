/* A growing byte string, always NUL-terminated. An append that fails (memory, cap) marks it failed,
 * later appends do nothing, and the owner checks once at the end. Not thread safe. */
#ifndef STALLKIT_BASE_STRBUF_H
#define STALLKIT_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* Zero-initialised = empty, no cap. */
struct strbuf {
    char *data; /* NULL while nothing was ever appended: use strbuf_cstr */
    size_t len;
    size_t cap;
    size_t limit; /* 0 = none: most bytes it may hold */
    bool failed;
    bool too_large; /* failed because of the limit, not of memory */
};

void strbuf_release(struct strbuf *b);
/* Empties it and the failure mark; keeps the memory. */
void strbuf_clear(struct strbuf *b);
/* Shortens to len (<= b->len). */
void strbuf_truncate(struct strbuf *b, size_t len);

/* Can len bytes, at least 1, be added without more memory? */
static inline bool strbuf_has_room(const struct strbuf *b, size_t len) {
    return len < b->cap - b->len && len > 0 && !b->limit && !b->failed;
}
/* The slow path of strbuf_add: makes room first. */
void strbuf_add_slowly(struct strbuf *b, const void *bytes, size_t len);
static inline void strbuf_add(struct strbuf *b, const void *bytes, size_t len) {
    if (strbuf_has_room(b, len)) {
        memcpy(b->data + b->len, bytes, len);
        b->len += len;
        b->data[b->len] = '\0';
    } else {
        strbuf_add_slowly(b, bytes, len);
    }
}
/* Room for an encoder: len bytes behind the last one, NULL when it failed; strbuf_took says
 * how many of them were written. */
char *strbuf_room(struct strbuf *b, size_t len);
/* Room for `len` bytes in an empty buffer that will hold about as many: in huge pages, if it is
 * large. Without memory for it nothing has happened. */
void strbuf_room_large(struct strbuf *b, size_t len);
void strbuf_took(struct strbuf *b, size_t len);
void strbuf_addstr(struct strbuf *b, const char *s);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) BASE_PRINTF(2, 3);
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap) BASE_PRINTF(2, 0);
/* Decimal, and lower-case hex without 0x: faster than addf. */
void strbuf_addu64(struct strbuf *b, uint64_t v);
void strbuf_addi64(struct strbuf *b, int64_t v);
void strbuf_addhex(struct strbuf *b, uint64_t v);

enum { DECIMAL_MAX = 20 };
/* Writes the decimal digits of v, at most DECIMAL_MAX; returns how many. */
size_t decimal_put(char *out, uint64_t v);

/* The text, "" when empty; borrowed until the next change. */
const char *strbuf_cstr(const struct strbuf *b);
/* Hands the malloc'ed text to the caller and empties b; NULL if b failed or memory ran out. */
char *strbuf_take(struct strbuf *b);
/* ST_OK, or ERR_NOMEM / ERR_LIMIT if an append failed. */
enum st strbuf_check(const struct strbuf *b, struct err *e);

#endif
