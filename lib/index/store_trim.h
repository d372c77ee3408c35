/* Keeps a store small. */
#ifndef STALLKIT_INDEX_STORE_TRIM_H
#define STALLKIT_INDEX_STORE_TRIM_H

#include <stdbool.h>
#include <stdint.h>

/* Removes files that dead writers left. In a store without a catalog store_trim also removes costs
 * of live look-ups (.use) that are older than 90 days, misses of fetch commands (.miss) that are
 * older than an hour, and, while the indexes and the fetched files (index/fetch/fetched_files.h)
 * have more than `cap` bytes together (0 = any number), the one whose file has the oldest time,
 * which a use renews (that of an index at most once an hour), but never the file whose path is
 * `keep`. Does nothing while another process holds STORE/lock, or if the store may not be
 * written. */
void store_trim(const char *path, uint64_t cap, const char *keep);
/* Removes files that dead writers left, and nothing else. Does nothing while another process holds
 * STORE/lock. */
void store_tidy(const char *path);
/* Is the time of STORE/lock, which store_trim sets in any process, half a minute or more ago, in
 * the future, or not known? store_trim visits every file of the store, which would take longer than
 * adding one index does. */
bool store_trim_is_due(const char *path);

#endif
