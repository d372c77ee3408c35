/* The watched thread: its loop, and its end. */
#include "loop/watched.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "loop/loop.h"

/* Hooks keep using the loop after stallrec_stop, and there is one recorder per process. */
static struct stallrec_loop main_loop;

/* The watched thread may end before the process, by pthread_exit. Its thread-specific value is the
 * number of the start. */
static struct {
    pthread_once_t once;
    pthread_key_t key;
    bool have_key;
    atomic_uintptr_t start; /* which start is the latest */
    atomic_uintptr_t ended; /* the start whose thread has ended */
} watched = {.once = PTHREAD_ONCE_INIT};

struct stallrec_loop *stallrec_main_loop(struct stallrec *rec) {
    (void)rec;
    return &main_loop;
}

static void on_watched_end(void *start) {
    atomic_store(&watched.ended, (uintptr_t)start);
    rec_loop_interrupt(&main_loop);
}

static void make_key(void) {
    watched.have_key = pthread_key_create(&watched.key, on_watched_end) == 0;
}

bool rec_watched_ended(void) {
    return atomic_load(&watched.ended) == atomic_load(&watched.start);
}

void rec_watched_begin(void) {
    uintptr_t start = atomic_fetch_add(&watched.start, 1) + 1;
    pthread_once(&watched.once, make_key);
    if (watched.have_key) {
        pthread_setspecific(watched.key, (void *)start);
    }
}
