/* Look-ups in a symbol index that is in memory or mapped from a file. */
#ifndef STALLKIT_INDEX_MAPPED_H
#define STALLKIT_INDEX_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "index/format/format.h"
#include "index/lookup.h"

/* Opens an index file and maps it. Only its header, table of contents, table of checksums and the
 * block of the image's name are read and checked; each INDEX_SUMMED bytes of the rest are checked
 * against their checksum when a look-up first needs them (ST_ERR: damaged). Look-ups are thread
 * safe. ST_NONE: no such file, or it is no index. ST_ERR as index_header_read, or the block of the
 * name is damaged, or the file cannot be read. */
enum st mapped_open(struct lookup_source **out, const char *path, struct err *e) BASE_MUST_USE;
/* Opens an index file as mapped_open does if only this user and root may write to it
 * (filemap_open_owned); ST_NONE: also if others may write to the file, or it is no plain file. */
enum st mapped_open_owned(struct lookup_source **out, const char *path,
                          struct err *e) BASE_MUST_USE;
/* Opens an index over bytes that the caller keeps alive, as mapped_open does; name is for messages
 * and copied. */
enum st mapped_open_bytes(struct lookup_source **out, const char *name, const uint8_t *data,
                          size_t len, struct err *e) BASE_MUST_USE;

/* The functions below take a source that one of the functions above opened. */
/* Are all bytes of the index unchanged since they were written? Reads them all. */
bool mapped_is_sound(const struct lookup_source *s);
const struct index_header *mapped_header(const struct lookup_source *s);
/* Is the index of the image with this id and architecture? ST_ERR: it is of another one. */
enum st mapped_check_image(const struct lookup_source *s, const struct image_id *id,
                           const char *arch, struct err *e) BASE_MUST_USE;
/* Returns the name of the image; "" = none. */
const char *mapped_image_name(const struct lookup_source *s);
/* For tests: the number of pieces, and the file address at which piece i begins. */
size_t mapped_piece_count(const struct lookup_source *s);
uint64_t mapped_piece(const struct lookup_source *s, size_t i);

#endif
