/* Declares what gz.c and gz_input.c share. */
#ifndef STALLKIT_BASE_GZ_PRIVATE_H
#define STALLKIT_BASE_GZ_PRIVATE_H

#include <zlib.h>

/* Returns an empty zlib stream that allocates with this program's calloc and free, so that tests
 * can make its allocations fail. */
z_stream gz_new_stream(void);

#endif
