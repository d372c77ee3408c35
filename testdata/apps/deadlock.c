/* An app that dead-locks: the main thread holds the cart and wants the catalogue, a worker holds
 * the catalogue and wants the cart. With --chain a third thread is in between. After some seconds
 * another thread ends the program, as a person would who closes the window. */
#include <pthread.h>
#include <string.h>

#include "loop.h"

enum { TICK_MS = 40, HEALTHY_TICKS = 10, FROZEN_MS = 2500 };

static pthread_mutex_t cart = PTHREAD_MUTEX_INITIALIZER, catalogue = PTHREAD_MUTEX_INITIALIZER,
                       prices = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_hold_one;
static bool chain;

OWN_FRAME static void lock_second(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_barrier_wait(&all_hold_one);
    pthread_mutex_lock(second);
    KEEP_FRAME();
}

OWN_FRAME static void *refresh_catalogue(void *unused) {
    lock_second(&catalogue, chain ? &prices : &cart);
    return unused;
}

OWN_FRAME static void *refresh_prices(void *unused) {
    lock_second(&prices, &cart);
    return unused;
}

static void *close_window(void *unused) {
    (void)unused;
    int64_t since = now_ms();
    sleep_ms(FROZEN_MS);
    printf("frozen for %lld ms\n", (long long)(now_ms() - since));
    exit(0);
}

static void start_thread(void *(*run)(void *), const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        die("pthread_create");
    }
    pthread_setname_np(thread, name);
    pthread_detach(thread);
}

OWN_FRAME static void on_checkout(void) {
    start_thread(refresh_catalogue, "catalogue");
    if (chain) {
        start_thread(refresh_prices, "prices");
    }
    start_thread(close_window, "user");
    lock_second(&cart, &catalogue);
    KEEP_FRAME();
}

OWN_FRAME static void on_tick(struct loop *loop, uint64_t ticks) {
    static unsigned seen;
    (void)ticks;
    if (++seen == HEALTHY_TICKS) {
        loop_post(loop);
    }
}

OWN_FRAME static void on_event(struct loop *loop) {
    (void)loop;
    on_checkout();
    KEEP_FRAME();
}

int main(int argc, char **argv) {
    static struct loop loop;
    chain = argc == 2 && strcmp(argv[1], "--chain") == 0;
    if (argc > 1 && !chain) {
        fputs("usage: deadlock [--chain]\n", stderr);
        return 2;
    }
    if (pthread_barrier_init(&all_hold_one, NULL, chain ? 3 : 2) != 0) {
        die("pthread_barrier_init");
    }
    loop.on_tick = on_tick;
    loop.on_event = on_event;
    loop_open(&loop, TICK_MS);
    loop_run(&loop, NULL, NULL);
    return 0;
}
