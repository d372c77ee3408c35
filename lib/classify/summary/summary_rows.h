/* Rows of a summary's table as bytes, which a program keeps to write the page again without the
 * counts that they were made of. A row has what the page shows of a bucket that is not in detail;
 * the first buckets, which are in detail, have none. */
#ifndef STALLKIT_CLASSIFY_SUMMARY_ROWS_H
#define STALLKIT_CLASSIFY_SUMMARY_ROWS_H

#include "base/strbuf.h"
#include "classify/gate/gone.h"
#include "classify/summary/summary.h"

enum {
    SUMMARY_ROWS_MAX = 1 << 26, /* maximum number of bytes of rows; more are neither written nor
                                   read */
    SUMMARY_TEXTS_MAX = 1 << 28 /* maximum number of bytes of all texts of the rows, each counted as
                                   often as a row refers to it; more are refused */
};

/* Buckets that are gone or returned, by the same counts as the rows. */
struct summary_gone {
    const struct gone_bucket *buckets;
    size_t count;
};

/* Appends the rows of the buckets behind the first `first` to `out`, with the totals of s as
 * words, and the gone buckets. The summary must have no comparison, and be ranked by time. ST_NONE:
 * a bucket has no row, because its id is no number, or out has more than SUMMARY_ROWS_MAX bytes; it
 * then is of no use. ST_ERR: out of memory. */
enum st summary_write_rows(const struct summary *s, size_t first, const struct summary_gone *gone,
                           struct strbuf *out, struct err *e) BASE_MUST_USE;
/* Reads all rows, and returns how many buckets are the first, which have none. SIZE_MAX: the bytes,
 * which may be of any origin, are damaged, or memory ran out. */
size_t summary_rows_first(const void *bytes, size_t len);
/* Are the bytes, which may be of any origin, rows behind exactly the buckets of t, which is
 * finished? False also if memory ran out. */
bool summary_rows_fit(const struct triage *t, const void *bytes, size_t len);
/* Adds the rows to a summary of the first buckets alone, replaces its totals, and passes the gone
 * buckets to visit; all texts borrow from the bytes, which may be of any origin. ST_ERR: they are
 * damaged (ERR_FORMAT), s has not the buckets that were the first, visit failed, or out of memory;
 * the first two never happen if summary_rows_first returned the number of buckets of s. */
enum st summary_read_rows(struct summary *s, const void *bytes, size_t len, gone_visit visit,
                          void *ctx, struct err *e) BASE_MUST_USE;

#endif
