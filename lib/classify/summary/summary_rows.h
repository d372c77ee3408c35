/* Writes and reads rows of a summary's table as bytes. A program keeps them so that it can write
 * the page again without the counts from which the rows were made. A row has what the page shows
 * for a bucket that is not in detail. The first buckets, which are in detail, have no row. */
#ifndef STALLKIT_CLASSIFY_SUMMARY_ROWS_H
#define STALLKIT_CLASSIFY_SUMMARY_ROWS_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/gate/gone.h"
#include "classify/summary/summary.h"

enum {
    SUMMARY_ROWS_MAX = 1 << 26, /* maximum number of bytes of rows; more are neither written nor
                                   read */
    /* Maximum number of bytes of all texts, with their NULs, that the rows, the totals and the gone
     * buckets refer to, where a text counts each time; rows with more are refused. */
    SUMMARY_TEXTS_MAX = 1 << 28,
    SUMMARY_FIRST_MOST = 1 << 12 /* maximum number of first buckets; rows behind more are refused */
};

/* Buckets that are gone or have returned, according to the same counts as the rows. */
struct summary_gone {
    const struct gone_bucket *buckets;
    size_t count;
};

/* Appends the rows of all buckets after the first `first` ones to `out`, with the totals of s as
 * words, and the gone buckets. ST_NONE: the summary has a comparison, or is ranked by stalls; a
 * bucket has no row because its id is not a number, or its cause is no word of a cause; or out has
 * more than SUMMARY_ROWS_MAX bytes. out is then unusable. ST_ERR: out of memory. */
enum st summary_write_rows(const struct summary *s, size_t first, const struct summary_gone *gone,
                           struct strbuf *out, struct err *e) BASE_MUST_USE;
/* Rows that were read; they borrow texts from the bytes. Zero-initialised = none. */
struct summary_rows {
    size_t first; /* number of first buckets, which have no row */
    const char *totals;
    VEC(struct summary_bucket) buckets; /* behind `first` unused places */
    VEC(struct gone_bucket) gone;
    struct arena arena; /* memory of the buckets' ids and values */
};
/* Reads rows from bytes that may come from anywhere and must outlive *out. ST_ERR: they are damaged
 * (ERR_FORMAT), or out of memory; *out is then empty. */
enum st summary_rows_read(struct summary_rows *out, const void *bytes, size_t len,
                          struct err *e) BASE_MUST_USE;
void summary_rows_release(struct summary_rows *rows);
/* Has t, which is finished, exactly as many buckets of level 1 as the rows leave out? */
bool summary_rows_fit(const struct triage *t, const struct summary_rows *rows);
/* Moves the rows behind the buckets of a summary that has only the first ones, and replaces its
 * totals. The rows stay the owner of the memory of their ids and values, which must outlive s.
 * ST_ERR: s has another number of buckets, or the rows were moved before (ERR_FORMAT). */
enum st summary_take_rows(struct summary *s, struct summary_rows *rows,
                          struct err *e) BASE_MUST_USE;

#endif
