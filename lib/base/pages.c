/* Huge pages and pages fetched ahead, both by Linux's madvise(2); elsewhere neither. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* where it does not work, pages are small */
    }
    return p;
}
#else
void *pages_huge(size_t bytes) {
    (void)bytes;
    return NULL;
}
#endif

#ifdef __linux__
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, glibc 2.35 */
#endif
enum { FETCH_MIN = 64 << 10 /* less is not worth the call */ };

void pages_fetch(void *p, size_t bytes) {
    long size = bytes >= FETCH_MIN ? sysconf(_SC_PAGESIZE) : 0;
    if (size > 0) {
        /* A failure costs nothing but the faults. */
        uintptr_t page = (uintptr_t)size, first = ((uintptr_t)p + page - 1) / page * page;
        uintptr_t end = ((uintptr_t)p + bytes) / page * page;
        (void)madvise((char *)p + (first - (uintptr_t)p), end - first, MADV_POPULATE_WRITE);
    }
}
#else
void pages_fetch(void *p, size_t bytes) {
    (void)p;
    (void)bytes;
}
#endif
