/* Pages of large pieces of memory: a fault for each costs more than what is then written there. */
#ifndef STALLKIT_BASE_PAGES_H
#define STALLKIT_BASE_PAGES_H

#include <stddef.h>

/* Memory in huge pages, where the system has them, to be freed with free. NULL: no memory, or so
 * few bytes that too much of such a page would stay unused. */
void *pages_huge(size_t bytes);

#endif
