/* Allocates large pieces of memory in huge pages: a page fault for each small page costs more
 * than writing to it. */
#ifndef STALLKIT_BASE_PAGES_H
#define STALLKIT_BASE_PAGES_H

#include <stddef.h>

/* Returns memory in huge pages where the system has them; free() frees it. NULL: out of memory, the
 * system has no huge pages, or `bytes` is so small that most of a huge page would stay unused. */
void *pages_huge(size_t bytes);

#endif
