/* Writes and reads rows of a summary's table as bytes. A program keeps them so that it can write
 * the page again without the counts from which the rows were made. A row has what the page shows
 * for a bucket that is not in detail. The first buckets, which are in detail, have no row. */
#ifndef STALLKIT_CLASSIFY_SUMMARY_ROWS_H
#define STALLKIT_CLASSIFY_SUMMARY_ROWS_H

#include "base/strbuf.h"
#include "classify/gate/gone.h"
#include "classify/summary/summary.h"

enum {
    SUMMARY_ROWS_MAX = 1 << 26, /* maximum number of bytes of rows; more are neither written nor
                                   read */
    /* Maximum number of bytes of all texts, with their NULs, that the rows, the totals and the gone
     * buckets refer to, where a text counts each time; rows with more are refused. */
    SUMMARY_TEXTS_MAX = 1 << 28
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
/* Reads all rows, and returns the number of first buckets, which have no row. SIZE_MAX: the bytes,
 * which may come from anywhere, are damaged, or memory ran out. */
size_t summary_rows_first(const void *bytes, size_t len);
/* Has t, which is finished, exactly as many buckets of level 1 as the rows leave out? The bytes may
 * come from anywhere. False also if they are damaged, or if memory ran out. */
bool summary_rows_fit(const struct triage *t, const void *bytes, size_t len);
/* Adds the rows to a summary that has only the first buckets, replaces its totals, and passes the
 * gone buckets to visit. All texts but the buckets' ids, which s owns, borrow from the bytes, which
 * may come from anywhere. ST_ERR: the bytes are damaged, or s has another number of first buckets
 * (both ERR_FORMAT), visit failed, or out of memory; the first two never happen if
 * summary_rows_first returned the number of buckets of s. */
enum st summary_read_rows(struct summary *s, const void *bytes, size_t len, gone_visit visit,
                          void *ctx, struct err *e) BASE_MUST_USE;

#endif
