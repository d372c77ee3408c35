/* Implements a growing byte string. */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/vec.h"

void strbuf_release(struct strbuf *b) {
    free(b->data);
    *b = (struct strbuf){.limit = b->limit};
}

void strbuf_clear(struct strbuf *b) {
    strbuf_truncate(b, 0);
    if (b->too_large) {
        b->failed = b->too_large = false;
    }
}

void strbuf_reset(struct strbuf *b) {
    strbuf_truncate(b, 0);
    b->failed = b->too_large = false;
}

void strbuf_truncate(struct strbuf *b, size_t len) {
    if (len <= b->len && b->data) {
        b->len = len;
        b->data[len] = '\0';
    }
}

/* Makes room for `more` bytes and a NUL. False: the buffer has failed, before this call or now, by
 * lack of memory or by its limit. */
static bool reserve(struct strbuf *b, size_t more) {
    if (b->failed) {
        return false;
    }
    if (b->limit && (b->len > b->limit || more > b->limit - b->len)) {
        b->failed = b->too_large = true;
        return false;
    }
    size_t need;
    if (!checked_add_size(b->len, more, &need) || !checked_add_size(need, 1, &need)) {
        b->failed = true;
        return false;
    }
    if (need <= b->cap) {
        return true;
    }
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need) {
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    }
    char *data = realloc(b->data, cap);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    b->data[b->len] = '\0';
    return true;
}

void strbuf_room_large(struct strbuf *b, size_t len) {
    void *data = NULL;
    size_t cap = 0;
    if (!b->data && !b->failed && vec_reserve_large(&data, 0, &cap, len, 1)) {
        b->data = data;
        b->cap = cap;
        b->data[0] = '\0';
    }
}

void strbuf_add_slowly(struct strbuf *b, const void *bytes, size_t len) {
    if (reserve(b, len)) {
        if (len) {
            memcpy(b->data + b->len, bytes, len);
        }
        b->len += len;
        b->data[b->len] = '\0';
    }
}

char *strbuf_room(struct strbuf *b, size_t len) {
    return reserve(b, len) ? b->data + b->len : NULL;
}

void strbuf_took(struct strbuf *b, size_t len) {
    b->len += len;
    b->data[b->len] = '\0';
}

void strbuf_addstr(struct strbuf *b, const char *s) {
    strbuf_add(b, s, strlen(s));
}

void strbuf_addc(struct strbuf *b, char c) {
    strbuf_add(b, &c, 1);
}

void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    size_t room = b->data && !b->limit && !b->failed ? b->cap - b->len : 0;
    int n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
    if (n >= 0 && (size_t)n < room) {
        b->len += (size_t)n;
    } else if (room) {
        b->data[b->len] = '\0';
    }
    if (n < 0) {
        b->failed = true; /* an encoding error of %ls, or more than INT_MAX bytes */
    } else if ((size_t)n >= room && reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(b, fmt, ap);
    va_end(ap);
}

/* Returns the number of decimal digits of v: the power of ten is estimated from that of two, as
 * log10(2) is about 1233 / 4096. */
static size_t decimal_len(uint64_t v) {
    static const uint64_t powers[] = {
        0, /* this entry gives the number 0 one digit */
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        UINT64_C(10000000000000000000),
    };
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1), power = bits * 1233 >> 12;
    return power + (v >= powers[power]);
}

/* Writes the digits from the end, two at a time. */
size_t decimal_put(char *out, uint64_t v) {
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    size_t len = decimal_len(v), at = len;
    for (; v >= 100; v /= 100) {
        at -= 2;
        memcpy(out + at, pairs + v % 100 * 2, 2);
    }
    if (v >= 10) {
        memcpy(out, pairs + v * 2, 2);
    } else {
        out[0] = (char)('0' + v);
    }
    return len;
}

void strbuf_addu64(struct strbuf *b, uint64_t v) {
    char digits[DECIMAL_MAX];
    if (strbuf_has_room(b, DECIMAL_MAX)) {
        b->len += decimal_put(b->data + b->len, v);
        b->data[b->len] = '\0';
    } else {
        strbuf_add(b, digits, decimal_put(digits, v));
    }
}

void strbuf_addi64(struct strbuf *b, int64_t v) {
    if (v < 0) {
        strbuf_addc(b, '-');
    }
    strbuf_addu64(b, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v);
}

void strbuf_addhex(struct strbuf *b, uint64_t v) {
    char digits[16];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[v & 15];
        v >>= 4;
    } while (v);
    strbuf_add(b, digits + at, sizeof digits - at);
}

const char *strbuf_cstr(const struct strbuf *b) {
    return b->data ? b->data : "";
}

char *strbuf_take(struct strbuf *b) {
    strbuf_add(b, "", 0); /* gives an empty buffer its memory */
    if (b->failed) {
        return NULL;
    }
    char *text = b->data;
    *b = (struct strbuf){.limit = b->limit};
    return text;
}

enum st strbuf_check(const struct strbuf *b, struct err *e) {
    if (!b->failed) {
        return ST_OK;
    }
    if (b->too_large) {
        return err_set(e, ERR_LIMIT, "text longer than %zu bytes", b->limit);
    }
    return err_nomem(e);
}
