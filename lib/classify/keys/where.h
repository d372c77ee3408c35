/* Selects dumps by a filter that people write, such as
 *
 *   app.version>=5.3 device.model~iPhone1.* stall.cpu_permille<200
 *
 * Terms are separated by white space, and all of them must hold. A term is a field, an operator
 * and a value; a value with white space stands in double quotes, where a backslash takes a quote
 * or a backslash as it is. The operators:
 *
 *   = !=     the text is equal, is not; `field=` holds if the dump lacks the field
 *   < <= > >= the natural order of version_compare. The text before the first digit
 *          must be equal: "macOS 15" is neither below nor above "iOS 18"; a text without
 *          digits also has an order to a longer one that begins with it
 *   ~ !~     an extended regular expression (POSIX) is found in the text, is not; neither
 *          holds if the search takes too long (regex_search)
 *
 * If a dump lacks a field, only `field=`, != with a value, and !~ hold. "context.screen" is the
 * member "screen" of the dump's context. The other fields are listed in stallclassify(1), and by
 * where_field_name. */
#ifndef STALLKIT_CLASSIFY_WHERE_H
#define STALLKIT_CLASSIFY_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "classify/keys/key.h"
#include "dump/dump.h"

struct where;

/* Makes a filter without terms, which every dump matches. ST_ERR: out of memory. */
enum st where_new(struct where **out, struct err *e) BASE_MUST_USE;
/* Frees a filter, which may be NULL. */
void where_free(struct where *w);
/* Adds the terms of a text, which must hold, too. On ST_ERR *at is the byte of the text at which
 * the mistake is (ERR_USAGE), or at which memory ran out, and the filter can only be freed. */
enum st where_add(struct where *w, const char *text, size_t *at, struct err *e) BASE_MUST_USE;
enum { WHERE_SEEN_TERMS = 64 };
/* The terms, among the first WHERE_SEEN_TERMS, whose fields at least one input has.
 * Zero-initialised = no input was examined. */
struct where_seen {
    uint64_t count;     /* number of dumps, or of records of exposure */
    uint64_t said;      /* bit i: an input has the field of term i */
    uint64_t undecided; /* number of searches that were stopped because they took too long */
};
/* Does a term of the filter name this field? field "context.": does a term name any field of the
 * context? */
bool where_asks(const struct where *w, const char *field);
/* Does a term name a field that people set for a bucket: owner or ignored? */
bool where_asks_marks(const struct where *w);
/* Does a term ask for exactly this value of the field? */
bool where_asks_for(const struct where *w, const char *field, const char *value);
/* Returns the first field that a term names and that is not in `known` (an array that ends in
 * NULL); NULL: all fields are in it. */
const char *where_asks_beside(const struct where *w, const char *const *known);
/* Tests a dump with this key by all terms but those on owner and ignored, which are tested by
 * where_match_bucket. ST_OK: it matches. ST_NONE: it does not. ST_ERR: out of memory. *seen, which
 * may be NULL, counts the dump and notes the fields that it has. Thread safe, with a *seen for
 * each thread. */
enum st where_match(const struct where *w, const struct dump *d, const struct stall_key *key,
                    struct where_seen *seen, struct err *e) BASE_MUST_USE;

/* A callback that sets *text to a field of a record of exposure, valid until the next call.
 * ST_NONE: the record lacks the field. ST_ERR: no such record has this field. */
typedef enum st (*where_said)(void *ctx, const char *field, const char **text);
/* Tests a record of exposure: terms about users, devices, the app, its context and the time are
 * tested; all other terms hold, and so do terms whose field no record of this kind can have. w and
 * seen may be NULL. ST_OK: it matches. ST_NONE: it does not. ST_ERR: out of memory. */
enum st where_match_exposure(const struct where *w, where_said said, void *ctx,
                             struct where_seen *seen, struct err *e) BASE_MUST_USE;
/* Tests the marks that people set for a bucket: the terms on owner and ignored are tested; all
 * other terms hold. (For a dump and a record of exposure it is the other way round: terms on owner
 * and ignored hold.) ST_OK: it matches. ST_NONE: it does not. ST_ERR: out of memory. */
enum st where_match_bucket(const struct where *w, where_said said, void *ctx,
                           struct err *e) BASE_MUST_USE;
void where_seen_add(struct where_seen *seen, const struct where_seen *more);
/* Returns the next field, from term *at on, that no examined input has, and moves *at past its
 * term. Terms that hold if their field is missing are skipped. exposure: the inputs were records of
 * exposure. NULL = there is no further such field, or no input was examined. */
const char *where_unsaid(const struct where *w, const struct where_seen *seen, bool exposure,
                         size_t *at);

/* Returns the name of field i in the order of the manual, without the fields of "context."; NULL
 * past the last one. */
const char *where_field_name(size_t i);

#endif
