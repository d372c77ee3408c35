/* What gz.c and gz_input.c share. */
#ifndef STALLKIT_BASE_GZ_PRIVATE_H
#define STALLKIT_BASE_GZ_PRIVATE_H

#include <zlib.h>

/* An empty zlib stream that allocates through this program's calloc and free, so that tests can
 * make it fail. */
z_stream gz_new_stream(void);

#endif
