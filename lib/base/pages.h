/* Allocates large pieces of memory in huge pages: a page fault for each small page costs more
 * than writing to it. */
#ifndef STALLKIT_BASE_PAGES_H
#define STALLKIT_BASE_PAGES_H

#include <stddef.h>

/* Returns memory in huge pages where the system has them; free() frees it. NULL: out of memory, the
 * system has no huge pages, or `bytes` is below 1.5 MiB, three quarters of a huge page. */
void *pages_huge(size_t bytes);

#endif
