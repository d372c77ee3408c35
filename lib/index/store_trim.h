/* Keeps a store small. */
#ifndef STALLKIT_INDEX_STORE_TRIM_H
#define STALLKIT_INDEX_STORE_TRIM_H

#include <stdbool.h>
#include <stdint.h>

/* Removes files that dead writers left. In a store without a catalog it also removes costs of live
 * look-ups after 90 days, misses of fetch commands after an hour, and, while the indexes and the
 * fetched files (index/fetch/fetched_files.h) have more than `cap` bytes (0 = any number), the
 * least recently used one, by the time of its file, which each use renews, but never the file whose
 * path is `keep`. Does nothing while another process trims the store, or if the store may not be
 * written. */
void store_trim(const char *path, uint64_t cap, const char *keep);
/* Removes files that dead writers left, and nothing else. */
void store_tidy(const char *path);
/* Was store_trim's last run, in any process, more than half a minute ago? It visits every file of
 * the store, which would take longer than adding one index does. */
bool store_trim_is_due(const char *path);

#endif
