/* A source that answers from the store's index if there is one, else from live debug info, and that
 * has the index built when that begins to pay. */
#ifndef STALLKIT_INDEX_STORED_H
#define STALLKIT_INDEX_STORED_H

#include <pthread.h>

#include "index/lookup.h"
#include "index/store.h"

/* As lookup_open_live, but for use by several threads. store NULL: live look-ups only. lock
 * (borrowed; NULL = one of its own) is held while debug info is opened or an index made: sources of
 * one file, or with one supplementary file, share it.
 *
 * When to build is the ski rental problem (Karlin, Manasse, Rudolph, Sleator 1988): one does not
 * know how many look-ups will follow. So the index is built once live look-ups, over all runs, have
 * read as much debug info as the file has (each run counts a sixteenth of it besides, for opening
 * it): the price is at most doubled, and a single dump never pays for a whole file. */
enum st stored_open(struct lookup_source **out, struct index_store *store,
                    const struct index_source *source, pthread_mutex_t *lock,
                    lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;

/* Does the source answer from an index (now)? */
bool stored_is_mapped(const struct lookup_source *s);

#endif
