/* Which dumps are looked at: a filter that people write, such as
 *
 *     app.version>=5.3 device.model~iPhone1.* stall.cpu_permille<200
 *
 * Terms are separated by white space, and all of them must hold. A term is a field, an operator and
 * a value; a value with white space stands in double quotes, where a backslash takes a quote or a
 * backslash as it is. The operators:
 *
 *     =  !=         the same text, another one; `field=` is one that the dump does not say
 *     <  <=  >  >=  in the natural order of version_compare. What stands before the first digit
 *                   must be equal: "macOS 15" is neither below nor above "iOS 18"
 *     ~  !~         an extended regular expression (POSIX) is found in it, is not
 *
 * A field that a dump does not say holds for != and !~ only. "context.screen" is the member
 * "screen" of its context. The other fields are listed in
 * stallclassify(1), and by where_field_name. */
#ifndef STALLKIT_CLASSIFY_WHERE_H
#define STALLKIT_CLASSIFY_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "classify/keys/key.h"
#include "dump/dump.h"

struct where;

/* No term: every dump matches. */
enum st where_new(struct where **out, struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void where_free(struct where *w);
/* Adds terms, which must hold too. On ST_ERR (ERR_USAGE: a mistake in the text) *at is the byte of
 * the text that it is about; the filter is only good for where_free. */
enum st where_add(struct where *w, const char *text, size_t *at, struct err *e) BASE_MUST_USE;
enum { WHERE_SEEN_TERMS = 64 };
/* Which of the first terms use a field that some input says. Zero-initialised = no input was
 * examined. */
struct where_seen {
    uint64_t count; /* of dumps, or of records of exposure */
    uint64_t said;  /* bit i: an input says the field of term i */
};
/* Does a term ask for this field? */
bool where_asks(const struct where *w, const char *field);
/* Does a term ask for just this value of the field? */
bool where_asks_for(const struct where *w, const char *field, const char *value);
/* ST_OK: the dump, which has this key, matches. ST_NONE: it does not. ST_ERR: out of memory. Notes
 * in *seen, which may be NULL, what the dump says. Thread safe, with a *seen for each thread. */
enum st where_match(const struct where *w, const struct dump *d, const struct stall_key *key,
                    struct where_seen *seen, struct err *e) BASE_MUST_USE;

/* What a record of exposure says of a field, until the next call. ST_NONE: nothing. ST_ERR: such
 * records never say this. */
typedef enum st (*where_said)(void *ctx, const char *field, const char **text);
/* The same of a record of exposure: terms about stalls hold, those about users and devices, the
 * app, its context and the time are put to it, and those that such records never say hold. w may be
 * NULL, as seen may. */
bool where_match_exposure(const struct where *w, where_said said, void *ctx,
                          struct where_seen *seen);
void where_seen_add(struct where_seen *seen, const struct where_seen *more);
/* The next field from term *at on, which becomes the one behind it, that nothing has said of all
 * that was looked at; of those that hold for what is not said none. exposure: it was exposure. NULL
 * = no more. */
const char *where_unsaid(const struct where *w, const struct where_seen *seen, bool exposure,
                         size_t *at);

/* Names of the fields, in the order of the manual, but for "context." and a name; NULL past the
 * last one. */
const char *where_field_name(size_t i);

#endif
