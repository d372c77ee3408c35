/* gzip (RFC 1952) as a filter in front of a rec_out, in memory given by the caller, so that zlib
 * allocates nothing. */
#ifndef STALLREC_REC_GZIP_H
#define STALLREC_REC_GZIP_H

#include <stddef.h>

#include "support/rec_out.h"

struct rec_gzip;

/* Returns the size of the memory that rec_gzip_open needs, in bytes. */
size_t rec_gzip_size(void);
/* Starts a gzip member in `memory` (aligned for any type), and passes compressed bytes to `to`,
 * which must stay valid until rec_gzip_close. The header holds no time and no name, so that equal
 * input gives equal bytes. NULL: zlib cannot start with this memory. */
struct rec_gzip *rec_gzip_open(void *memory, struct rec_out *to);
/* Returns the output to which the plain bytes are written; valid until rec_gzip_close. */
struct rec_out *rec_gzip_out(struct rec_gzip *gzip);
/* Ends the gzip member; false: a write or the compression has failed since rec_gzip_open. */
bool rec_gzip_close(struct rec_gzip *gzip);

#endif
