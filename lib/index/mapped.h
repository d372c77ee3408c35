/* Look-ups in a symbol index in memory or mapped from a file. */
#ifndef STALLKIT_INDEX_MAPPED_H
#define STALLKIT_INDEX_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "index/format.h"
#include "index/lookup.h"

/* Opens an index file and maps it. Only its header, table of contents and table of checksums are
 * read and checked; what a look-up needs is checked then, each kilobyte against its checksum when
 * it is first needed. Look-ups are thread safe; ST_ERR: the index is damaged. ST_NONE: no such
 * file, or it is no index. ST_ERR as index_header_read. */
enum st mapped_open(struct lookup_source **out, const char *path, struct err *e) BASE_MUST_USE;
/* The same over bytes that the caller keeps alive; name is for messages and copied. */
enum st mapped_open_bytes(struct lookup_source **out, const char *name, const uint8_t *data,
                          size_t len, struct err *e) BASE_MUST_USE;

/* For a source that these functions opened. */
/* Are all its bytes unchanged since they were written? Reads them all. */
bool mapped_is_sound(const struct lookup_source *s);
const struct index_header *mapped_header(const struct lookup_source *s);
/* Name of the image; "" = none. */
const char *mapped_image_name(const struct lookup_source *s);
/* Where pieces begin, for tests: file addresses of i < mapped_piece_count. */
size_t mapped_piece_count(const struct lookup_source *s);
uint64_t mapped_piece(const struct lookup_source *s, size_t i);

#endif
