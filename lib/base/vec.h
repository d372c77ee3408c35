/* A typed growing array without macros that return: declare `struct { T *data; size_t len, cap;
 * }` and append with VEC_PUSH, which evaluates to false when memory runs out. */
#ifndef STALLKIT_BASE_VEC_H
#define STALLKIT_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t len, cap;                                                                           \
    }

/* Makes room for `more` further elements; false, and nothing changed, when memory runs out. */
#define VEC_RESERVE(v, more)                                                                       \
    vec_reserve((void **)&(v)->data, (v)->len, &(v)->cap, (more), sizeof *(v)->data)
/* Makes room for `more` further elements, as VEC_RESERVE does. If the vector is empty and its
 * memory too small, the new memory is in huge pages if pages_huge gives some: page faults cost more
 * than the unused rest of a huge page where the elements are filled at once. */
#define VEC_RESERVE_LARGE(v, more)                                                                 \
    vec_reserve_large((void **)&(v)->data, (v)->len, &(v)->cap, (more), sizeof *(v)->data)
/* Appends a copy of the value; false when memory runs out: `if (!VEC_PUSH(&v, x)) …nomem`. */
#define VEC_PUSH(v, ...)                                                                           \
    ((v)->len < (v)->cap || VEC_RESERVE((v), 1) ? ((v)->data[(v)->len++] = (__VA_ARGS__), true)    \
                                                : false)
/* Makes room for one element at index `at` (<= len), which the caller fills; false, and nothing
 * changed, when memory runs out. */
#define VEC_INSERT(v, at)                                                                          \
    vec_insert((void **)&(v)->data, &(v)->len, &(v)->cap, (at), sizeof *(v)->data)
#define VEC_RELEASE(v) (vec_release((void **)&(v)->data), (v)->len = 0, (v)->cap = 0)

/* A vector of 16 bytes whose memory grows from one element on, for programs that have very many
 * vectors, mostly of no or one element. `len` and `cap` are below 2^32. */
#define SMALL_VEC(T)                                                                               \
    struct {                                                                                       \
        T *data;                                                                                   \
        uint32_t len, cap;                                                                         \
    }

#define SMALL_VEC_RESERVE(v, more)                                                                 \
    small_vec_reserve((void **)&(v)->data, (v)->len, &(v)->cap, (more), sizeof *(v)->data)
#define SMALL_VEC_PUSH(v, ...)                                                                     \
    ((v)->len < (v)->cap || SMALL_VEC_RESERVE((v), 1)                                              \
         ? ((v)->data[(v)->len++] = (__VA_ARGS__), true)                                           \
         : false)
#define SMALL_VEC_INSERT(v, at)                                                                    \
    small_vec_insert((void **)&(v)->data, &(v)->len, &(v)->cap, (at), sizeof *(v)->data)
#define SMALL_VEC_RELEASE(v) VEC_RELEASE(v)

bool vec_reserve(void **data, size_t len, size_t *cap, size_t more, size_t elem_size);
bool vec_reserve_large(void **data, size_t len, size_t *cap, size_t more, size_t elem_size);
bool vec_insert(void **data, size_t *len, size_t *cap, size_t at, size_t elem_size);
bool small_vec_reserve(void **data, uint32_t len, uint32_t *cap, size_t more, size_t elem_size);
bool small_vec_insert(void **data, uint32_t *len, uint32_t *cap, size_t at, size_t elem_size);
void vec_release(void **data);

#endif
