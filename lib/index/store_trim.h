/* Keeping a store small. */
#ifndef STALLKIT_INDEX_STORE_TRIM_H
#define STALLKIT_INDEX_STORE_TRIM_H

#include <stdbool.h>
#include <stdint.h>

/* Removes what dead writers left, and while the indexes and the fetched files
 * (index/fetch/fetched_files.h) hold more than `cap` bytes (0 = any) the
 * one whose file time, which each use renews, is oldest; not `keep`, and none of a store that has a
 * catalog. Costs of live look-ups are
 * forgotten after 90 days. Does nothing while another process is at it, or when it may not. */
void store_trim(const char *path, uint64_t cap, const char *keep);
/* Removes what dead writers left, and nothing else. */
void store_tidy(const char *path);
/* Was store_trim's last run, of any process, more than half a minute ago? It looks at every file of
 * the store: after each of many indexes it would cost more than they do. */
bool store_trim_is_due(const char *path);

#endif
