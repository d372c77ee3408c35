/* Allocates huge pages by Linux's madvise(2); other systems have none here. */
#include "base/pages.h"

#include <sys/mman.h>

#include "base/checked.h"

#ifdef MADV_HUGEPAGE
enum { HUGE_PAGE = 2 << 20, HUGE_MIN = HUGE_PAGE / 4 * 3 };

void *pages_huge(size_t bytes) {
    if (bytes < HUGE_MIN || !checked_add_size(bytes, HUGE_PAGE - 1, &bytes)) {
        return NULL;
    }
    bytes -= bytes % HUGE_PAGE;
    void *p = aligned_alloc(HUGE_PAGE, bytes);
    if (p) {
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* a failure only leaves the pages small */
    }
    return p;
}
#else
void *pages_huge(size_t bytes) {
    (void)bytes;
    return NULL;
}
#endif
