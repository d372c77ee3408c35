/* Answers for images from learned names: a lookup_source for each. A function ends behind the
 * greatest offset at which a report named it, and at the next known start, so that a function that
 * nobody has seen never gets its neighbour's name. */
#ifndef STALLKIT_SYMBOLIZE_LEARNED_SOURCE_H
#define STALLKIT_SYMBOLIZE_LEARNED_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "index/lookup.h"
#include "symbolize/learned_names.h"

struct learned_sources;

/* Told of a folder's file that cannot be read; path is NULL, for `why` names it. */
typedef void (*learned_complain)(void *ctx, const char *path, const struct err *why);

/* Never ST_NONE. complain may be NULL. ST_ERR: out of memory. */
enum st learned_sources_new(struct learned_sources **out, learned_complain complain, void *ctx,
                            struct err *e) BASE_MUST_USE;
/* NULL is allowed. The sources of its images die with it. */
void learned_sources_free(struct learned_sources *s);
/* Names to answer from (borrowed), to which nothing is added from the first learned_sources_find
 * on. */
void learned_sources_use_names(struct learned_sources *s, struct learned_names *n);
/* A folder to answer from, as well (learned_folder.h): its file of an image is read when the image
 * is first asked for. ST_ERR: out of memory. */
enum st learned_sources_use_folder(struct learned_sources *s, const char *folder,
                                   struct err *e) BASE_MUST_USE;

/* The source of an image, of addresses that are offsets in it; concurrent, and s owns it. All that
 * it answers has the quality LOOKUP_LEARNED. ST_NONE: no name of it is known. ST_ERR: out of
 * memory. One thread at a time; look-ups in what it gave may go on meanwhile. */
enum st learned_sources_find(struct learned_sources *s, const struct image_id *id,
                             struct lookup_source **out, struct err *e) BASE_MUST_USE;
/* Is it known that the byte at `offset` is not of the function at `start`: is that one's name in
 * conflict, or does another function start behind it and not behind the byte? */
bool learned_source_denies(const struct lookup_source *source, uint64_t start, uint64_t offset);
/* How many functions of the images that were asked for have no name because of a conflict. */
uint64_t learned_sources_conflicts(const struct learned_sources *s);

#endif
