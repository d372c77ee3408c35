/* Interposes the functions of libc that allocate memory, and pthread_create. */
#define _GNU_SOURCE
#include "refuse.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_FRAMES = 8, OWN_FRAMES = 3 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

struct refusals *refusals;
static __thread bool inside __attribute__((tls_model("initial-exec")));

/* The address's offset from where its file is mapped. */
static uint64_t offset_of(void *address) {
    char *base = NULL;
#if __GLIBC_PREREQ(2, 35) /* dladdr looks for a symbol, which takes ten times as long */
    struct dl_find_object object;
    base = _dl_find_object(address, &object) == 0 ? object.dlfo_map_start : NULL;
#else
    Dl_info info;
    base = dladdr(address, &info) ? info.dli_fbase : NULL;
#endif
    return (uint64_t)((char *)address - base);
}

static uint32_t hash_stack(void **stack, int count) {
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < count; i++) {
        h = (h ^ offset_of(stack[i])) * 1099511628211u;
        h ^= h >> 29;
    }
    return (uint32_t)(h ^ h >> 32);
}

static __attribute__((noinline)) void note_site(struct refusals *r, uint64_t call) {
    void *stack[OWN_FRAMES + SITE_FRAMES];
    int n = backtrace(stack, OWN_FRAMES + SITE_FRAMES);
    if (call <= SITES_MAX && n > OWN_FRAMES) {
        r->sites[call - 1] = hash_stack(stack + OWN_FRAMES, n - OWN_FRAMES);
    }
}

static void note_stack(struct refusals *r) {
    void *stack[REFUSED_FRAMES];
    r->frames = backtrace(stack, REFUSED_FRAMES);
    for (int i = 0; i < r->frames; i++) {
        Dl_info info;
        bool known = dladdr(stack[i], &info) && info.dli_fname;
        /* The program's own name is that of argv[0], which a main may have put elsewhere. */
        const char *name =
            known && info.dli_fname[0] == '/' ? info.dli_fname : program_invocation_name;
        snprintf(r->stack[i].module, MODULE_SIZE, "%s", known ? name : "");
        r->stack[i].offset = known ? (uint64_t)((char *)stack[i] - (char *)info.dli_fbase) : 0;
    }
}

/* Counts an allocation. True: the caller refuses it. */
static __attribute__((noinline)) bool refuse(void) {
    struct refusals *r = refusals;
    if (!r || inside) {
        return false;
    }
    inside = true;
    uint64_t call = __atomic_add_fetch(&r->calls, 1, __ATOMIC_RELAXED);
    if (r->note_sites) {
        note_site(r, call);
    }
    bool no = r->refuse && (call == r->refuse || (call > r->refuse && r->all_later));
    if (no && !__atomic_exchange_n(&r->refused, true, __ATOMIC_RELAXED)) {
        note_stack(r);
    }
    inside = false;
    if (no) {
        errno = ENOMEM;
    }
    return no;
}

void *malloc(size_t size) {
    return refuse() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return refuse() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    return refuse() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return refuse() ? NULL : __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t size) {
    return refuse() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return refuse() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *p = refuse() ? NULL : __libc_memalign(alignment, size);
    if (p) {
        *out = p;
    }
    return p ? 0 : ENOMEM;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return refuse() || !real ? EAGAIN : real(thread, attr, run, arg);
}
