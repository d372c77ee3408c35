/* Threads of pools. Prints the stalls that they made, "stall BEGIN END" in ns of CLOCK_MONOTONIC:
 *
 *     pool          waits for work on a condition variable, and for descriptors while it works
 *     pool parked   four threads wait by turns for one epoll instance, under a mutex */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <string.h>
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

enum { PARKED = 4, PARKED_TURNS = 7, PARKED_MS = 180, PARKED_STALL_TURN = 4 };

static int instance;

OWN_FRAME static void handle_event(long ms) {
    long long begin = now_ns();
    sleep_ms(ms);
    if (ms == STALL_MS) {
        printf("stall %lld %lld\n", begin, now_ns());
        fflush(stdout);
    }
    KEEP_FRAME();
}

static void *take_turns(void *number) {
    struct epoll_event event;
    for (int i = 0; i < PARKED_TURNS; i++) {
        pthread_mutex_lock(&mutex);
        epoll_wait(instance, &event, 1, PARKED_MS);
        pthread_mutex_unlock(&mutex);
        handle_event(number == NULL && i == PARKED_STALL_TURN ? STALL_MS : HANDLE_MS);
    }
    return NULL;
}

static void run_parked(void) {
    pthread_t threads[PARKED];
    instance = epoll_create1(0);
    for (int i = 0; i < PARKED; i++) {
        if (pthread_create(&threads[i], NULL, take_turns, i == 0 ? NULL : &instance) != 0) {
            die("pthread_create");
        }
        pthread_setname_np(threads[i], "pool");
    }
    for (int i = 0; i < PARKED; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "parked") == 0) {
        run_parked();
        return 0;
    }
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
