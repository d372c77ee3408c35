/* Adds the results of triage to a dump as a member, so that stream processors can group dumps by
 * bucket or cause. */
#ifndef STALLKIT_CLASSIFY_ANNOTATE_H
#define STALLKIT_CLASSIFY_ANNOTATE_H

#include "base/sink.h"
#include "classify/gate/bucket_places.h"
#include "classify/stats/triage.h"

/* Writes d's own text as one line in which the member "class", see stallclassify(1), is added or
 * replaced; every other byte is unchanged (dump_write_member). place: buckets in which the dump is
 * counted, see bucket_places_find. rules_hash: hash of the rules that made the key. ST_ERR: out of
 * memory. */
enum st annotate_dump(const struct dump *d, const struct stall_key *key,
                      const struct dump_place *place, uint64_t rules_hash, struct sink *out,
                      struct err *e) BASE_MUST_USE;

/* Writes the head of a dump whose annotated text, which follows, has this length; see
 * answer_head.h. place: as for annotate_dump. ST_ERR: out of memory. */
enum st annotate_head(const struct dump *d, const struct stall_key *key,
                      const struct dump_place *place, size_t text_len, struct sink *out,
                      struct err *e) BASE_MUST_USE;
/* Returns the first image of the app for which symbols could still come; NULL = there is none. */
const struct dump_image *image_without_symbols(const struct dump *d);

#endif
