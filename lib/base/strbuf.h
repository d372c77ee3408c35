/* A growing byte string with a NUL after its last byte. An append that fails (memory, limit) marks
 * the buffer failed, later appends do nothing, and the owner checks once at the end: strbuf_clear
 * keeps the mark of an allocation failure, so that a scratch buffer for many texts needs one check,
 * after the last. Not thread safe. */
#ifndef STALLKIT_BASE_STRBUF_H
#define STALLKIT_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* A zero-initialised strbuf is empty and has no limit. */
struct strbuf {
    char *data; /* NULL while nothing was appended: use strbuf_cstr */
    size_t len;
    size_t cap;
    size_t limit; /* maximum number of bytes in the buffer; 0 = no limit */
    bool failed;
    bool too_large; /* the failure was the limit, not memory */
};

/* Frees the text and forgets failures; the limit stays. */
void strbuf_release(struct strbuf *b);
/* Empties the buffer for the next text and keeps the memory. A failure by the limit is forgotten,
 * any other one is kept. */
void strbuf_clear(struct strbuf *b);
/* Empties the buffer as strbuf_clear does, and forgets every failure, for an owner who has
 * checked for it. */
void strbuf_reset(struct strbuf *b);
/* Shortens the text to len bytes; no effect if it has fewer. */
void strbuf_truncate(struct strbuf *b, size_t len);

/* Can len bytes be appended without allocating? Also false if len is 0, or if the buffer has a
 * limit or has failed. */
static inline bool strbuf_has_room(const struct strbuf *b, size_t len) {
    return len < b->cap - b->len && len > 0 && !b->limit && !b->failed;
}
/* Makes room and then appends: the slow path of strbuf_add. */
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
/* Returns room for len bytes after the text, for an encoder that writes there; NULL: the buffer has
 * failed, before this call or now. The encoder then calls strbuf_took with the number of bytes that
 * it wrote. */
char *strbuf_room(struct strbuf *b, size_t len);
/* Allocates `len` bytes (>= 1, the NUL included) for a buffer that has no memory yet, in huge pages
 * if pages_huge gives some. No effect if the buffer has memory or has failed. If memory runs out,
 * the buffer stays empty and is not marked failed. */
void strbuf_room_large(struct strbuf *b, size_t len);
void strbuf_took(struct strbuf *b, size_t len);
void strbuf_addstr(struct strbuf *b, const char *s);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) BASE_PRINTF(2, 3);
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap) BASE_PRINTF(2, 0);
/* Append a number in decimal (u64, i64) or in lower-case hex without 0x, faster than strbuf_addf
 * does. */
void strbuf_addu64(struct strbuf *b, uint64_t v);
void strbuf_addi64(struct strbuf *b, int64_t v);
void strbuf_addhex(struct strbuf *b, uint64_t v);

enum { DECIMAL_MAX = 20 };
/* Writes the decimal digits of v to out, at most DECIMAL_MAX, and returns their number. */
size_t decimal_put(char *out, uint64_t v);

/* Returns the text, "" when empty; it is borrowed until the next change of the buffer. */
const char *strbuf_cstr(const struct strbuf *b);
/* Gives the malloc'ed text to the caller and empties b. NULL, with the text still in b: b has
 * failed, or memory ran out now, so that b fails. */
char *strbuf_take(struct strbuf *b);
/* Returns ST_OK, or ST_ERR with ERR_NOMEM or ERR_LIMIT if an append failed. */
enum st strbuf_check(const struct strbuf *b, struct err *e);

#endif
