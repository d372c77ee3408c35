/* A program that sees every allocation in its process: `allocations` stalls for a while with
 * threads and libraries that come and go, and fails if a thread that it does not know, which is the
 * recorder's, allocates or frees meanwhile. The main thread may hold the allocator's lock then. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "turns.h"

enum { STALL_MS = 2500, THREADS = 6 };

static _Thread_local bool known;
static atomic_bool stalled, over;
static atomic_uint own, foreign;

static void count(void) {
    if (stalled) {
        (*(known ? &own : &foreign))++;
    }
}

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    count();
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t size) {
    count();
    return __libc_realloc(p, size);
}
void free(void *p) {
    if (p) {
        count();
    }
    __libc_free(p);
}

static void *load_libraries(void *arg) {
    known = true;
    while (!over) {
        void *library = dlopen("libresolv.so.2", RTLD_NOW);
        if (library) {
            dlclose(library);
        }
        sleep_ms(5);
    }
    return arg;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *want_lock(void *arg) {
    known = true;
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return arg;
}

static void *spin(void *arg) {
    known = true;
    while (!over) {
        sink = sink + 1;
    }
    return arg;
}

int main(void) {
    static void *(*const runs[THREADS])(void *) = {load_libraries, want_lock, want_lock,
                                                   want_lock,      spin,      load_libraries};
    pthread_t threads[THREADS];
    known = true;
    pthread_mutex_lock(&held);
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, runs[i], NULL) != 0) {
            die("pthread_create");
        }
    }
    turns(TURNS);
    compute(100); /* no stall yet */
    stalled = true;
    compute(STALL_MS / 2);
    sleep_ms(STALL_MS / 2); /* another stack, so that it is sampled in another way */
    stalled = false;
    over = true;
    pthread_mutex_unlock(&held);
    turns(TURNS);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("own %u foreign %u\n", own, foreign);
    return own > 0 && foreign == 0 ? 0 : 1;
}
