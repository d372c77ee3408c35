/* Implements errors that the caller owns: a code and one line of text. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* err_at shows at most this many bytes of a file's name: the last ones, since long paths differ at
 * their ends. */
enum { NAME_SHOWN = 200 };

/* Replaces control characters in an error text, and drops a UTF-8 sequence that was cut at the end
 * of a text: names in it come from hostile files and are printed on terminals. */
static void make_printable(char *text) {
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            text[i] = '?';
        }
    }
    size_t start = len;
    while (start > 0 && len - start < 4 && ((unsigned char)text[start - 1] & 0xc0) == 0x80) {
        start--;
    }
    uint32_t code_point;
    if (start > 0 && (unsigned char)text[start - 1] >= 0xc0 &&
        utf8_decode(text + start - 1, len - (start - 1), &code_point) == 0) {
        text[start - 1] = '\0';
    }
}

/* Fills e with the message and a tail; where both are too long the message is cut, never the
 * tail. */
static void fill_text(struct err *e, enum err_code code, const char *tail, const char *fmt,
                      va_list ap) BASE_PRINTF(4, 0);
static void fill_text(struct err *e, enum err_code code, const char *tail, const char *fmt,
                      va_list ap) {
    size_t tail_len = strlen(tail);
    if (tail_len >= sizeof e->text) {
        tail_len = sizeof e->text - 1;
    }
    size_t room = sizeof e->text - tail_len;
    e->code = code;
    e->no_room = false;
    int n = vsnprintf(e->text, room, fmt, ap);
    if (n < 0) {
        e->text[0] = '\0';
    }
    make_printable(e->text);
    size_t len = strlen(e->text);
    memcpy(e->text + len, tail, tail_len);
    e->text[len + tail_len] = '\0';
    make_printable(e->text);
}

enum st err_set(struct err *e, enum err_code code, const char *fmt, ...) {
    if (!e || err_is(e)) {
        return ST_ERR;
    }
    int saved = errno;
    va_list ap;
    va_start(ap, fmt);
    fill_text(e, code, "", fmt, ap);
    va_end(ap);
    errno = saved;
    return ST_ERR;
}

enum st err_at(struct err *e, enum err_code code, const char *file, uint64_t offset,
               const char *fmt, ...) {
    if (!e || err_is(e)) {
        return ST_ERR;
    }
    int saved = errno;
    char tail[NAME_SHOWN + 64];
    size_t len = strlen(file);
    bool cut = len > NAME_SHOWN;
    snprintf(tail, sizeof tail, " in '%s%s' at 0x%llx", cut ? "..." : "",
             cut ? file + (len - NAME_SHOWN) : file, (unsigned long long)offset);
    va_list ap;
    va_start(ap, fmt);
    fill_text(e, code, tail, fmt, ap);
    va_end(ap);
    errno = saved;
    return ST_ERR;
}

enum st err_sys(struct err *e, int errno_value, const char *fmt, ...) {
    if (!e || err_is(e)) {
        return ST_ERR;
    }
    int saved = errno;
    char reason[128];
    if (strerror_r(errno_value, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", errno_value);
    }
    char tail[sizeof reason + 2];
    snprintf(tail, sizeof tail, ": %s", reason);
    va_list ap;
    va_start(ap, fmt);
    fill_text(e, errno_value == ENOMEM ? ERR_NOMEM : ERR_IO, tail, fmt, ap);
    va_end(ap);
    e->no_room = errno_value == ENOSPC || errno_value == EDQUOT;
    errno = saved;
    return ST_ERR;
}

enum st err_nomem(struct err *e) {
    return err_set(e, ERR_NOMEM, "out of memory");
}

enum st err_no_room(struct err *e) {
    if (e && !err_is(e)) {
        err_set(e, ERR_IO, "the disk is full");
        e->no_room = true;
    }
    return ST_ERR;
}

enum st err_copy(struct err *e, const struct err *from) {
    if (e && !err_is(e)) {
        *e = *from;
    }
    return ST_ERR;
}

enum st err_context(struct err *e, const char *fmt, ...) {
    if (!err_is(e)) {
        return ST_ERR;
    }
    int saved = errno;
    char inner[ERR_TEXT_SIZE];
    memcpy(inner, e->text, sizeof inner);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        e->text[0] = '\0';
    }
    size_t len = strlen(e->text);
    snprintf(e->text + len, sizeof e->text - len, ": %s", inner);
    make_printable(e->text);
    errno = saved;
    return ST_ERR;
}

void err_clear(struct err *e) {
    if (e) {
        e->code = ERR_NONE;
        e->no_room = false;
        e->text[0] = '\0';
    }
}
