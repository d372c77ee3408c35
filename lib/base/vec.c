/* Implements the growth of typed arrays. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/pages.h"

enum { FIRST_ELEMENTS = 8 };

/* Makes room for `len + more` elements in the array to which the pointer at `data` points; an array
 * that is too small grows to the largest of len + more, twice its capacity and `first` elements.
 * The pointer is of any object type, so its bytes are copied: reading it as a void * would be
 * undefined behaviour. False: out of memory, and nothing changed. */
static bool vec_grow(void **data, size_t len, size_t *cap, size_t more, size_t first,
                     size_t elem_size) {
    size_t need, bytes;
    if (!checked_add_size(len, more, &need)) {
        return false;
    }
    if (need <= *cap) {
        return true;
    }
    size_t grown = *cap > SIZE_MAX / 2 ? need : *cap * 2;
    if (grown < first) {
        grown = first;
    }
    if (grown < need) {
        grown = need;
    }
    if (!checked_mul_size(grown, elem_size, &bytes)) {
        return false;
    }
    void *old;
    memcpy(&old, data, sizeof old);
    void *moved = len > 0 ? realloc(old, bytes) : malloc(bytes); /* an empty array needs no copy */
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

bool vec_reserve(void **data, size_t len, size_t *cap, size_t more, size_t elem_size) {
    return vec_grow(data, len, cap, more, FIRST_ELEMENTS, elem_size);
}

bool small_vec_reserve(void **data, uint32_t len, uint32_t *cap, size_t more, size_t elem_size) {
    size_t grown = *cap;
    if (more > UINT32_MAX - len || !vec_grow(data, len, &grown, more, 1, elem_size)) {
        return false;
    }
    *cap = grown > UINT32_MAX ? UINT32_MAX : (uint32_t)grown;
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

/* Moves the elements from index `at` on up by one. */
static void vec_open_gap(void **data, size_t len, size_t at, size_t elem_size) {
    char *elements;
    memcpy(&elements, data, sizeof elements);
    memmove(elements + (at + 1) * elem_size, elements + at * elem_size, (len - at) * elem_size);
}

bool vec_insert(void **data, size_t *len, size_t *cap, size_t at, size_t elem_size) {
    if (!vec_reserve(data, *len, cap, 1, elem_size)) {
        return false;
    }
    vec_open_gap(data, *len, at, elem_size);
    ++*len;
    return true;
}

bool small_vec_insert(void **data, uint32_t *len, uint32_t *cap, size_t at, size_t elem_size) {
    if (!small_vec_reserve(data, *len, cap, 1, elem_size)) {
        return false;
    }
    vec_open_gap(data, *len, at, elem_size);
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
