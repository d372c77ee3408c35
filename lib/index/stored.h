/* A source that answers from the store's index if there is one, else from live debug info, and that
 * builds the index when building it costs less than further live look-ups. */
#ifndef STALLKIT_INDEX_STORED_H
#define STALLKIT_INDEX_STORED_H

#include <pthread.h>

#include "index/lookup.h"
#include "index/store.h"

/* Opens a source as lookup_open_live does, with an index if there is a store (NULL: live look-ups
 * only). Look-ups hold `lock` (borrowed; NULL = one of the source's own) while they open debug info
 * or build an index: sources of one file, or with one supplementary file, share a lock.
 * stored_open, which does the same, does not take the lock: its caller holds it, unless nothing is
 * shared.
 *
 * When to build is the ski rental problem (Karlin, Manasse, Rudolph, Sleator 1988): how many
 * look-ups will follow is unknown. So the index is built once live look-ups, over all runs, have
 * read as much debug info as the file has (each earlier run also counts a sixteenth of that for
 * opening): the cost is at most doubled, and a first run that reads each unit at most once does not
 * pay for a whole file.
 *
 * An index that was built while files of the source were missing is not used, because these files
 * may exist now; but an index of a debug map is used if none of the map's object files can be
 * used. */
enum st stored_open(struct lookup_source **out, struct index_store *store,
                    const struct index_source *source, pthread_mutex_t *lock,
                    lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;

/* Does the source answer from an index now? */
bool stored_is_mapped(const struct lookup_source *s);

#endif
