/* gzip (RFC 1952) as a filter in front of a rec_out, in memory given by the caller: zlib allocates
 * nothing. */
#ifndef STALLREC_REC_GZIP_H
#define STALLREC_REC_GZIP_H

#include <stddef.h>

#include "support/rec_out.h"

struct rec_gzip;

/* Bytes rec_gzip_open needs. */
size_t rec_gzip_size(void);
/* Starts a member in `memory` (aligned for any type), passing compressed bytes to `to`, which must
 * outlive it. The header holds no time and no name, so equal input gives equal bytes. NULL if zlib
 * refuses. */
struct rec_gzip *rec_gzip_open(void *memory, struct rec_out *to);
/* What to write to; valid until close. */
struct rec_out *rec_gzip_out(struct rec_gzip *gzip);
/* Ends the member; false if anything failed since open. */
bool rec_gzip_close(struct rec_gzip *gzip);

#endif
