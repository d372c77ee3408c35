/* Counts the allocations and frees of a thread while they are forbidden, as the sampling path must
 * make none. One file of a program includes this header, as it replaces malloc. Under a sanitizer,
 * which replaces malloc itself, nothing is counted. */
#ifndef STALLREC_FORBID_ALLOCATION_TEST_H
#define STALLREC_FORBID_ALLOCATION_TEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static _Thread_local bool forbid_allocation;
static atomic_uint forbidden;

#ifndef SANITIZED
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t size) {
    forbidden += forbid_allocation;
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    forbidden += forbid_allocation;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t size) {
    forbidden += forbid_allocation;
    return __libc_realloc(p, size);
}
void free(void *p) {
    forbidden += forbid_allocation && p;
    __libc_free(p);
}
#endif

#endif
