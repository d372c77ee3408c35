/* A thread of a pool: it waits for work on a condition variable, and for descriptors while it
 * works. Prints the stalls that it made, "stall BEGIN END" in ns of CLOCK_MONOTONIC. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "app.h"

enum { CLIENTS = 3, TURNS = 16, TURN_MS = 60, HANDLE_MS = 3, STALL_MS = 600, IDLE_MS = 1500 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static int clients, events[2];

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

OWN_FRAME static void await_client(int number) {
    pthread_mutex_lock(&mutex);
    while (clients < number) {
        pthread_cond_wait(&work, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

OWN_FRAME static void await_request(void) {
    struct pollfd p = {.fd = events[0], .events = POLLIN};
    poll(&p, 1, TURN_MS);
    KEEP_FRAME();
}

static void serve(void) {
    for (int i = 0; i < TURNS; i++) {
        await_request();
        long long begin = now_ns();
        sleep_ms(i == TURNS / 2 ? STALL_MS : HANDLE_MS);
        if (i == TURNS / 2) {
            printf("stall %lld %lld\n", begin, now_ns());
            fflush(stdout);
        }
    }
}

static void *work_for_ever(void *arg) {
    for (int number = 1;; number++) {
        await_client(number);
        serve();
    }
    return arg;
}

int main(void) {
    pthread_t thread;
    if (pipe(events) != 0) {
        die("pipe");
    }
    if (pthread_create(&thread, NULL, work_for_ever, NULL) != 0) {
        die("pthread_create");
    }
    pthread_setname_np(thread, "pool");
    for (int number = 1; number <= CLIENTS; number++) {
        sleep_ms(IDLE_MS);
        pthread_mutex_lock(&mutex);
        clients = number;
        pthread_cond_signal(&work);
        pthread_mutex_unlock(&mutex);
        sleep_ms(TURNS * (TURN_MS + HANDLE_MS) + STALL_MS);
    }
    sleep_ms(IDLE_MS);
    return 0;
}
