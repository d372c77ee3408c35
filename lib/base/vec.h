/* A typed growing array without macros that return: declare `struct { T *data; size_t len, cap; }`
 * and push through VEC_PUSH, which evaluates to false when memory runs out. */
#ifndef STALLKIT_BASE_VEC_H
#define STALLKIT_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t len, cap;                                                                           \
    }

/* Makes room for `more` further elements; false, and nothing changed, when memory runs out. */
#define VEC_RESERVE(v, more)                                                                       \
    vec_reserve((void **)&(v)->data, (v)->len, &(v)->cap, (more), sizeof *(v)->data)
/* The same for memory that is about to be filled, and may be megabytes: an empty vector's then
 * lies in huge pages where the system has them, as some hundred page faults cost more than the rest
 * of such a page. */
#define VEC_RESERVE_LARGE(v, more)                                                                 \
    vec_reserve_large((void **)&(v)->data, (v)->len, &(v)->cap, (more), sizeof *(v)->data)
/* Appends a copy of the value: `if (!VEC_PUSH(&v, x)) …nomem`. */
#define VEC_PUSH(v, ...)                                                                           \
    ((v)->len < (v)->cap || VEC_RESERVE((v), 1) ? ((v)->data[(v)->len++] = (__VA_ARGS__), true)    \
                                                : false)
/* Makes room for one element at index `at` (<= len), to be filled by the caller; false as
 * VEC_RESERVE. */
#define VEC_INSERT(v, at)                                                                          \
    vec_insert((void **)&(v)->data, &(v)->len, &(v)->cap, (at), sizeof *(v)->data)
#define VEC_RELEASE(v) (vec_release((void **)&(v)->data), (v)->len = 0, (v)->cap = 0)

bool vec_reserve(void **data, size_t len, size_t *cap, size_t more, size_t elem_size);
bool vec_reserve_large(void **data, size_t len, size_t *cap, size_t more, size_t elem_size);
bool vec_insert(void **data, size_t *len, size_t *cap, size_t at, size_t elem_size);
void vec_release(void **data);

#endif
