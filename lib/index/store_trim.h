/* Keeps a store small. */
#ifndef STALLKIT_INDEX_STORE_TRIM_H
#define STALLKIT_INDEX_STORE_TRIM_H

#include <stdbool.h>
#include <stdint.h>

/* Removes files that dead writers left; then, while the indexes and the fetched files
 * (index/fetch/fetched_files.h) have more than `cap` bytes (0 = any number), the least recently
 * used one, by the time of its file, which each use renews. It never removes `keep`, nor any index
 * of a store that has a catalog. Costs of live look-ups are removed after 90 days. Does nothing
 * while another process trims the store, or if it may not be written. */
void store_trim(const char *path, uint64_t cap, const char *keep);
/* Removes files that dead writers left, and nothing else. */
void store_tidy(const char *path);
/* Was store_trim's last run, in any process, more than half a minute ago? It visits every file of
 * the store, which would take longer than adding one index does. */
bool store_trim_is_due(const char *path);

#endif
