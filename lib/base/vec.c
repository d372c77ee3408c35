/* Growth of typed arrays. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"

/* `data` points to a pointer of any object type: its bytes are copied, never read through void **,
 * which would be another type than the one it was declared with. */
bool vec_reserve(void **data, size_t len, size_t *cap, size_t more, size_t elem_size) {
    size_t need, bytes;
    if (!checked_add_size(len, more, &need)) {
        return false;
    }
    if (need <= *cap) {
        return true;
    }
    size_t grown = *cap > SIZE_MAX / 2 ? need : *cap * 2;
    if (grown < 8) {
        grown = 8;
    }
    if (grown < need) {
        grown = need;
    }
    if (!checked_mul_size(grown, elem_size, &bytes)) {
        return false;
    }
    void *old;
    memcpy(&old, data, sizeof old);
    void *moved =
        len > 0 ? realloc(old, bytes) : malloc(bytes); /* what nobody wants is not copied */
    if (!moved) {
        return false;
    }
    if (len == 0) {
        free(old);
    }
    memcpy(data, &moved, sizeof moved);
    *cap = grown;
    return true;
}

#ifdef MADV_HUGEPAGE
enum { HUGE_PAGE = 2 << 20, HUGE_MIN = HUGE_PAGE / 4 * 3 /* bytes: less leaves too much unused */ };

/* NULL: too few bytes for it, or no memory. */
static void *huge_pages(size_t count, size_t elem_size) {
    size_t bytes;
    if (!checked_mul_size(count, elem_size, &bytes) || bytes < HUGE_MIN ||
        !checked_add_size(bytes, HUGE_PAGE - 1, &bytes)) {
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
static void *huge_pages(size_t count, size_t elem_size) {
    (void)count;
    (void)elem_size;
    return NULL;
}
#endif

bool vec_reserve_large(void **data, size_t len, size_t *cap, size_t more, size_t elem_size) {
    void *fresh = len == 0 && more > *cap ? huge_pages(more, elem_size) : NULL;
    if (!fresh) {
        return vec_reserve(data, len, cap, more, elem_size);
    }
    vec_release(data);
    memcpy(data, &fresh, sizeof fresh);
    *cap = more;
    return true;
}

bool vec_insert(void **data, size_t *len, size_t *cap, size_t at, size_t elem_size) {
    if (!vec_reserve(data, *len, cap, 1, elem_size)) {
        return false;
    }
    char *elements;
    memcpy(&elements, data, sizeof elements);
    memmove(elements + (at + 1) * elem_size, elements + at * elem_size, (*len - at) * elem_size);
    ++*len;
    return true;
}

void vec_release(void **data) {
    void *old;
    memcpy(&old, data, sizeof old);
    free(old);
    old = NULL;
    memcpy(data, &old, sizeof old);
}
