/* Implements failmalloc.h, for tests only: allocations that fail on request. No library contains
 * this file. */
#include "base/failmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong calls, fail_at; /* fail_at: number of the call that fails, 0 = none */
static atomic_bool fail_later, has_failed;
static atomic_long live;

/* The linker's option --wrap makes these names: a call of malloc in our objects becomes
 * __wrap_malloc, and __real_malloc is the malloc of libc or of the sanitizer. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *p);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t most);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

static bool refuse(void) {
    unsigned long nth = atomic_fetch_add(&calls, 1) + 1;
    unsigned long at = atomic_load(&fail_at);
    if (at == 0 || !(nth == at || (nth > at && atomic_load(&fail_later)))) {
        return false;
    }
    atomic_store(&has_failed, true);
    errno = ENOMEM;
    return true;
}

static void *counted(void *p) {
    if (p) {
        atomic_fetch_add(&live, 1);
    }
    return p;
}

#ifdef __APPLE__ /* ld64 has no --wrap: nothing calls the wrappers below */
bool failmalloc_works(void) {
    return false;
}
#else
bool failmalloc_works(void) {
    return true;
}

void *__wrap_malloc(size_t size) {
    return refuse() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return refuse() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (refuse()) {
        return NULL;
    }
    void *p = __real_realloc(old, size);
    return old ? p : counted(p);
}

void __wrap_free(void *p) {
    if (p) {
        atomic_fetch_sub(&live, 1);
    }
    __real_free(p);
}

char *__wrap_strndup(const char *s, size_t most) {
    size_t len = strnlen(s, most);
    char *copy = __wrap_malloc(len + 1);
    if (copy) {
        memcpy(copy, s, len);
        copy[len] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *s) {
    return __wrap_strndup(s, strlen(s));
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg) {
    return refuse() ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}
#endif

void failmalloc_arm(unsigned long nth, bool and_later) {
    atomic_store(&calls, 0);
    atomic_store(&has_failed, false);
    atomic_store(&fail_later, and_later);
    atomic_store(&fail_at, nth);
}

bool failmalloc_disarm(void) {
    atomic_store(&fail_at, 0);
    return atomic_load(&has_failed);
}

unsigned long failmalloc_calls(void) {
    return atomic_load(&calls);
}

long failmalloc_live(void) {
    return atomic_load(&live);
}

/* Calls run once with the nth allocation failing (0 = none). False: the run left another number
 * of live blocks than it found. */
static bool run_armed(unsigned long nth, bool and_later, void (*run)(void *ctx, bool refused),
                      void *ctx, bool *failed) {
    long before = failmalloc_live();
    failmalloc_arm(nth, and_later);
    run(ctx, nth > 0);
    *failed = failmalloc_disarm();
    return failmalloc_live() == before;
}

unsigned long failmalloc_sweep(void (*run)(void *ctx, bool refused), void *ctx) {
    bool failed = true, clean = true;
    unsigned long nth = 0;
    while (failed && clean) {
        nth++;
        clean = run_armed(nth, false, run, ctx, &failed);
        if (failed && clean) {
            clean = run_armed(nth, true, run, ctx, &failed);
        }
    }
    if (clean) {
        clean = run_armed(0, false, run, ctx, &failed);
    }
    return clean ? nth - 1 : 0;
}
