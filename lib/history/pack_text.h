/* Packs texts with zstd (RFC 8878). A text may be packed against another one, which it shares long
 * passages with: these are then left out, and the other text is needed to unpack it. */
#ifndef STALLKIT_HISTORY_PACK_TEXT_H
#define STALLKIT_HISTORY_PACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

/* A packer, for one thread. It may be used again after an error. */
struct packer;
enum st packer_new(struct packer **out, struct err *e) BASE_MUST_USE;
/* Makes a packer for many short texts, which it packs and unpacks all against the same text
 * (shared[len], of any origin, which is copied), whose number, not 0, it writes in front of each.
 * That text is digested only once. packer_pack and packer_open then leave out what they are given
 * as a shared text and its number. ST_ERR: the text begins as a dictionary of zstd does
 * (ERR_FORMAT), or out of memory. */
enum st packer_new_short(struct packer **out, uint32_t number, const void *shared, size_t len,
                         struct err *e) BASE_MUST_USE;
/* Frees a packer, which may be NULL. */
void packer_free(struct packer *p);

/* Do the bytes start as a packed text does? */
bool packed_is_one(const void *bytes, size_t len);

/* Packs a text against another (shared[shared_len]; 0 = none), whose number is written in front,
 * and appends the result to out. ST_ERR: out of memory. */
enum st packer_pack(struct packer *p, uint32_t number, const void *shared, size_t shared_len,
                    const void *bytes, size_t len, struct strbuf *out, struct err *e) BASE_MUST_USE;

/* Returns the number of the text that bytes[len], of any origin, were packed against; 0 = none. */
uint32_t packed_number(const void *bytes, size_t len);
/* Begins to unpack bytes[len], of any origin; these and shared[shared_len] are borrowed until
 * packer_next has reached the end, or is not called any more. ST_ERR: out of memory. */
enum st packer_open(struct packer *p, const void *shared, size_t shared_len, const void *bytes,
                    size_t len, struct err *e) BASE_MUST_USE;
/* Appends the next piece, of at most PACKED_PIECE bytes, to out. ST_NONE: the text is complete.
 * ST_ERR: the bytes are damaged (ERR_FORMAT) or cut (ERR_TRUNCATED), the text they give is out of
 * proportion to their number (ERR_LIMIT), or out of memory. */
enum { PACKED_PIECE = 1 << 18 };
enum st packer_next(struct packer *p, struct strbuf *out, struct err *e) BASE_MUST_USE;

#endif
