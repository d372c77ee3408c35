/* Looks up addresses of images in learned names: a lookup_source per image. A function ends after
 * the greatest offset for which a report named it, or at the next known start if that is earlier,
 * so that a function that no report has named never gets its neighbour's name. */
#ifndef STALLKIT_SYMBOLIZE_LEARNED_SOURCE_H
#define STALLKIT_SYMBOLIZE_LEARNED_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "index/lookup.h"
#include "symbolize/learned_choice.h"
#include "symbolize/learned_names.h"

struct learned_sources;

/* Callback for a file of a folder that cannot be read or is damaged; path is NULL, because `why`
 * names the file. */
typedef void (*learned_complain)(void *ctx, const char *path, const struct err *why);

/* Makes an empty set of sources; complain may be NULL. Never ST_NONE. ST_ERR: out of memory. */
enum st learned_sources_new(struct learned_sources **out, learned_complain complain, void *ctx,
                            struct err *e) BASE_MUST_USE;
/* Frees s with the sources of its images; s may be NULL. */
void learned_sources_free(struct learned_sources *s);
/* Sets the names to answer from (borrowed). Once learned_sources_find was called, no name may be
 * added to n. */
void learned_sources_use_names(struct learned_sources *s, struct learned_names *n);
/* Adds a folder to answer from (learned_folder.h): the file of an image is read when the image is
 * first asked for. ST_ERR: out of memory. */
enum st learned_sources_use_folder(struct learned_sources *s, const char *folder,
                                   struct err *e) BASE_MUST_USE;

/* Gives the source of an image, whose addresses are offsets in the image; it is concurrent, and s
 * owns it. All its answers have the quality LOOKUP_LEARNED. ST_NONE: no function of the image is
 * known, not even a start, or the id is zero. ST_ERR: out of memory. Only one thread at a time may
 * call it; look-ups in sources that it returned may run at the same time. */
enum st learned_sources_find(struct learned_sources *s, const struct image_id *id,
                             struct lookup_source **out, struct err *e) BASE_MUST_USE;
/* Is it known that the byte at `offset` does not belong to the function at `start`: because that
 * function's name is in conflict, or another function starts above `start`, at `offset` or
 * below? */
bool learned_source_denies(const struct lookup_source *source, uint64_t start, uint64_t offset);
/* Returns the counts of learned_list_choose, added up over the images that were asked for. */
struct learned_counts learned_sources_counts(const struct learned_sources *s);

#endif
