/* Growth of typed arrays. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/pages.h"

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

bool vec_reserve_large(void **data, size_t len, size_t *cap, size_t more, size_t elem_size) {
    size_t bytes;
    bool empty = len == 0 && more > *cap && checked_mul_size(more, elem_size, &bytes);
    void *fresh = empty ? pages_huge(bytes) : NULL;
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
