/* Errors: the three results of a fallible function, and the description of an error, which the
 * caller owns.
 *
 * A fallible function returns `enum st`. On ST_ERR it fills `struct err`, its last parameter, which
 * may be NULL. The first error sticks: callers add context in front of it and never replace it. */
#ifndef STALLKIT_BASE_ERR_H
#define STALLKIT_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define BASE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define BASE_MUST_USE          __attribute__((warn_unused_result))

enum st {
    ST_OK,   /* the function succeeded */
    ST_NONE, /* the input is well-formed, but does not have the thing sought */
    ST_ERR   /* the function failed; struct err, if the caller gave one, holds the error */
};

enum err_code {
    ERR_NONE = 0,
    ERR_NOMEM,       /* memory ran out */
    ERR_IO,          /* a file or folder cannot be opened, read, written or trusted */
    ERR_TRUNCATED,   /* the input ends before the length that it states */
    ERR_FORMAT,      /* the input is malformed */
    ERR_LIMIT,       /* a cap or a work budget was reached */
    ERR_UNSUPPORTED, /* the input is well-formed, but of a kind that is not supported */
    ERR_UNREAD,      /* a notice, no failure: a part of the input was not read */
    ERR_NOTHING,     /* the input is well-formed, but has none of the things sought */
    ERR_USAGE,       /* an argument of the caller is malformed or out of range */
    ERR_INTERNAL     /* a bug of this program */
};

enum { ERR_TEXT_SIZE = 512 };

/* A zero-initialised struct err holds no error. */
struct err {
    enum err_code code;
    bool no_room; /* the reason, of code ERR_IO, is a full disk or an exhausted quota */
    /* An example is "segment past end of file in 'App' at 0x1f40"; there is no full stop. */
    char text[ERR_TEXT_SIZE];
};

/* Fills e with a code and a printf-style text unless e already holds an error; e may be NULL. The
 * text is cut to ERR_TEXT_SIZE - 1 bytes, and ASCII control characters in it become '?'. Always
 * returns ST_ERR, so that `return err_set(e, …)` reads well. Keeps errno. */
enum st err_set(struct err *e, enum err_code code, const char *fmt, ...) BASE_PRINTF(3, 4);

/* Fills e as err_set does and appends " in 'FILE' at 0xOFFSET": where in which file the damage is.
 * A name with more than 200 bytes is shown as "..." and its last 200; a text that is too long is
 * cut before the appended part. */
enum st err_at(struct err *e, enum err_code code, const char *file, uint64_t offset,
               const char *fmt, ...) BASE_PRINTF(5, 6);

/* Fills e as err_set does, with ERR_NOMEM if errno_value is ENOMEM and else with ERR_IO, and
 * appends a colon and the system's text for errno_value. Sets e->no_room for ENOSPC and EDQUOT. */
enum st err_sys(struct err *e, int errno_value, const char *fmt, ...) BASE_PRINTF(3, 4);

/* Fills e with ERR_NOMEM and "out of memory"; returns ST_ERR. */
enum st err_nomem(struct err *e);

/* Fills e with ERR_IO, no_room and "the disk is full"; returns ST_ERR. */
enum st err_no_room(struct err *e);

/* Makes e the error `from` unless e already holds an error; e may be NULL. `from` must hold an
 * error. Returns ST_ERR. */
enum st err_copy(struct err *e, const struct err *from);

/* Puts "CONTEXT: " in front of the error that e holds; if both together are longer than
 * ERR_TEXT_SIZE - 1 bytes, the end of the error is cut. No effect on an empty or NULL e. Returns
 * ST_ERR. */
enum st err_context(struct err *e, const char *fmt, ...) BASE_PRINTF(2, 3);

/* Does e, which may be NULL, hold an error? */
static inline bool err_is(const struct err *e) {
    return e && e->code != ERR_NONE;
}

/* Makes e empty again. */
void err_clear(struct err *e);

#endif
