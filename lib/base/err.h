/* What went wrong: the three results of a fallible function, and a caller-owned error.
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
    ST_OK,   /* found, done */
    ST_NONE, /* well-formed, and what was asked for is not there */
    ST_ERR   /* broken: the struct err says what, on what, where */
};

enum err_code {
    ERR_NONE = 0,
    ERR_NOMEM,       /* memory ran out */
    ERR_IO,          /* the system refused: open, read, write */
    ERR_TRUNCATED,   /* the input ends before what it promises */
    ERR_FORMAT,      /* the input is not what it should be */
    ERR_LIMIT,       /* a cap or a work budget was reached */
    ERR_UNSUPPORTED, /* well-formed, but not a kind we read */
    ERR_UNREAD,      /* all is well but that a part is not read: a notice, no failure */
    ERR_USAGE,       /* the caller's arguments do not fit together */
    ERR_INTERNAL     /* a bug of ours */
};

enum { ERR_TEXT_SIZE = 512 };

/* Zero-initialised = no error. */
struct err {
    enum err_code code;
    char text[ERR_TEXT_SIZE]; /* "segment past end of file in 'App' at 0x1f40"; no full stop */
};

/* Fills e with a code and a printf-style text unless it already holds an error; e may be NULL.
 * Always returns ST_ERR, so that `return err_set(e, …)` reads well. Keeps errno. */
enum st err_set(struct err *e, enum err_code code, const char *fmt, ...) BASE_PRINTF(3, 4);

/* As err_set, with " in 'FILE' at 0xOFFSET" appended: where in which file the damage is. */
enum st err_at(struct err *e, enum err_code code, const char *file, uint64_t offset,
               const char *fmt, ...) BASE_PRINTF(5, 6);

/* As err_set with ": strerror(errno_value)" appended. */
enum st err_sys(struct err *e, int errno_value, const char *fmt, ...) BASE_PRINTF(3, 4);

/* ERR_NOMEM, "out of memory". */
enum st err_nomem(struct err *e);

/* Puts "CONTEXT: " in front of the error that e holds; no effect on an empty or NULL e. Returns
 * ST_ERR. */
enum st err_context(struct err *e, const char *fmt, ...) BASE_PRINTF(2, 3);

/* True once e holds an error. */
static inline bool err_is(const struct err *e) {
    return e && e->code != ERR_NONE;
}

/* Makes e empty again. */
void err_clear(struct err *e);

#endif
