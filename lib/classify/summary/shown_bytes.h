/* What a page shows of its first buckets besides counts, as bytes: their stored dumps and the
 * explained stack of each. A program keeps them with the rows of the other buckets
 * (summary_rows.h), so that it need not read and explain the dumps again. */
#ifndef STALLKIT_CLASSIFY_SHOWN_BYTES_H
#define STALLKIT_CLASSIFY_SHOWN_BYTES_H

#include "base/strbuf.h"
#include "classify/summary/summary.h"

/* Maximum number of bytes; more are neither written nor read. */
enum { SHOWN_BYTES_MAX = 1 << 26 };

/* Appends the stored dumps and the explained stacks (summary_explain_first) of a summary's first
 * buckets, as many as s->explained has. number: a number that the caller makes of the dumps.
 * ST_NONE: dumps were left out, or there are more than SHOWN_BYTES_MAX bytes; `out` is then
 * unusable. ST_ERR: out of memory. */
enum st shown_write(const struct summary *s, uint64_t number, struct strbuf *out,
                    struct err *e) BASE_MUST_USE;
/* Shows the stored dumps of the first `count` buckets, or of all if there are fewer, in a finished
 * triage in which nothing is stored yet. The bytes may come from anywhere. ST_NONE: they have
 * another number or fewer buckets. ST_ERR: they are damaged (ERR_FORMAT), or out of memory; then
 * nothing is stored in the triage. */
enum st shown_read(struct triage *t, size_t count, uint64_t number, const void *bytes, size_t len,
                   struct err *e) BASE_MUST_USE;
/* Sets s->explained, which is empty, to the explained stacks. The bytes may come from anywhere.
 * ST_ERR: they are damaged (ERR_FORMAT) or have more stacks than the summary has buckets, or out of
 * memory; s->explained is then empty. */
enum st shown_read_explained(struct summary *s, const void *bytes, size_t len,
                             struct err *e) BASE_MUST_USE;
/* Can all of the bytes be read? t: the finished triage of the buckets, in which nothing is stored;
 * it shows them then. ST_ERR: as shown_read and shown_read_explained. */
enum st shown_check(struct triage *t, const void *bytes, size_t len, struct err *e) BASE_MUST_USE;

#endif
