/* Notices the end of the watched thread. */
#include "loop/watched.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "loop/loop.h"

/* The recorder's starts, by number. The thread of the latest start is watched, since that thread
 * may end before the process, by pthread_exit. The value of `key` in that thread is the number of
 * the start. */
static struct {
    pthread_once_t once;
    pthread_key_t key;
    bool have_key;
    atomic_uintptr_t start; /* number of the recorder's latest start, from 1; 0 = none yet */
    atomic_uintptr_t ended; /* number of the start whose thread has ended */
} watched = {.once = PTHREAD_ONCE_INIT};

static void on_watched_end(void *start) {
    atomic_store(&watched.ended, (uintptr_t)start);
    rec_loop_interrupt(stallrec_main_loop(NULL));
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
