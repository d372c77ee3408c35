/* Programs that idle in no wait for descriptors, and poll for replies in their handlers alone:
 * `around CASE`. Each prints the stalls that it made, "stall BEGIN END" in ns of CLOCK_MONOTONIC:
 *
 *     sleeps       idles in nanosleep(2)
 *     polls        idles in poll(2) without descriptors
 *     selects      idles in select(2) without descriptors
 *     locks        idles in sem_timedwait(3)
 *     conditions   idles in pthread_cond_timedwait(3)
 *     signals      idles in sigtimedwait(2)
 *     bursts       idles in sigtimedwait(2), and gets its signals five at a time; its handlers need
 *                  no more stack than its loop
 *     even         the same as sleeps, but its handlers wait for as long as it idles
 *     items        takes items of another thread by sem_wait(3), one at a time; some come many at
 *                  once, so that the semaphore is free between them
 *     paced        the other way round: a loop on descriptors whose handlers sleep
 *     selected     the same, but they sleep in select(2) without descriptors
 *     timers       as paced, but the loop's set is empty in each third turn */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "app.h"

enum { STALL_MS = 600, IDLE_MS = 300, REPLY_MS = 50, TURNS = 12, FIRST = 3, SECOND = 8 };

static int replies[2], events[2];
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct timespec deadline(long ms) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void idle_in_sleep(void) {
    const struct timespec t = {.tv_nsec = IDLE_MS * 1000000L};
    nanosleep(&t, NULL);
}

static void idle_in_no_poll(void) {
    poll(NULL, 0, IDLE_MS);
}

static void idle_in_no_select(void) {
    struct timeval t = {.tv_usec = IDLE_MS * 1000L};
    select(0, NULL, NULL, NULL, &t);
}

static void idle_in_lock(void) {
    const struct timespec t = deadline(IDLE_MS);
    sem_timedwait(&sem, &t);
}

static void idle_in_condition(void) {
    const struct timespec t = deadline(IDLE_MS);
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &t);
    pthread_mutex_unlock(&mutex);
}

static void idle_in_signals(void) {
    const struct timespec t = {.tv_nsec = IDLE_MS * 1000000L};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigtimedwait(&set, NULL, &t);
}

/* Four waits for a signal of a burst, and one until the next burst. */
static void idle_in_bursts(void) {
    static int turn;
    const struct timespec t = {.tv_nsec = (++turn % 5 == 0 ? 400 : 20) * 1000000L};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigtimedwait(&set, NULL, &t);
}

static void idle_in_poll(void) {
    struct pollfd p = {.fd = events[0], .events = POLLIN};
    poll(&p, 1, IDLE_MS);
}

static void idle_in_select(void) {
    static int turn;
    struct timeval t = {.tv_usec = IDLE_MS * 1000L};
    bool any = ++turn % 3 != 0;
    fd_set set;
    FD_ZERO(&set);
    if (any) {
        FD_SET(events[0], &set);
    }
    select(any ? events[0] + 1 : 0, &set, NULL, NULL, &t);
}

OWN_FRAME static void wait_for_reply(int ms) {
    struct pollfd p = {.fd = replies[0], .events = POLLIN};
    poll(&p, 1, ms);
    KEEP_FRAME();
}

OWN_FRAME static void work(int ms) {
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
    KEEP_FRAME();
}

OWN_FRAME static void work_in_select(int ms) {
    struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};
    select(0, NULL, NULL, NULL, &t);
    KEEP_FRAME();
}

/* Needs stack, as a handler that calls a library does. */
OWN_FRAME static void handle(void (*wait)(int ms), int ms) {
    volatile char room[2048];
    long long begin = now_ns();
    room[0] = 0;
    wait(ms);
    room[1] = room[0];
    if (ms >= IDLE_MS) {
        printf("stall %lld %lld\n", begin, now_ns());
        fflush(stdout);
    }
}

OWN_FRAME static void loop(void (*idle)(void), void (*wait)(int ms), int reply_ms) {
    for (int i = 0; i < TURNS; i++) {
        idle();
        handle(wait, i == FIRST || i == SECOND ? STALL_MS : reply_ms);
    }
    KEEP_FRAME();
}

/* Its handlers are its own code, none of them stalls. */
OWN_FRAME static void loop_in_bursts(void) {
    enum { SIGNALS = 75 };
    for (int i = 0; i < SIGNALS; i++) {
        idle_in_bursts();
        wait_for_reply(5);
    }
    KEEP_FRAME();
}

enum { ITEMS_APART = 14, QUEUES = 3, ITEMS_QUEUED = 14, ITEM_MS = 30 };

static void *post_items(void *arg) {
    for (int i = 0; i < ITEMS_APART; i++) {
        sleep_ms(100);
        sem_post(&sem);
    }
    for (int i = 0; i < QUEUES; i++) {
        sleep_ms(ITEMS_QUEUED * ITEM_MS * 2);
        for (int k = 0; k < ITEMS_QUEUED; k++) {
            sem_post(&sem);
        }
    }
    return arg;
}

OWN_FRAME static void work_and_reply(int ms) {
    const int64_t end_ms = now_ms() + ms;
    while (now_ms() < end_ms) {
    }
    wait_for_reply(3);
    KEEP_FRAME();
}

/* Its handlers are short, but for one in the midst of a full queue. */
OWN_FRAME static void loop_on_items(void) {
    enum { ITEMS = ITEMS_APART + QUEUES * ITEMS_QUEUED, STALLS_AT = ITEMS - ITEMS_QUEUED / 2 };
    pthread_t poster;
    if (pthread_create(&poster, NULL, post_items, NULL) != 0) {
        die("pthread_create");
    }
    for (int i = 0; i < ITEMS; i++) {
        while (sem_wait(&sem) != 0) {
        }
        handle(work_and_reply, i == STALLS_AT ? STALL_MS : ITEM_MS);
    }
    pthread_join(poster, NULL);
    KEEP_FRAME();
}

static const struct around_case {
    const char *name;
    void (*idle)(void);
    void (*wait)(int ms);
    int reply_ms;
} cases[] = {
    {"sleeps", idle_in_sleep, wait_for_reply, REPLY_MS},
    {"polls", idle_in_no_poll, wait_for_reply, REPLY_MS},
    {"selects", idle_in_no_select, wait_for_reply, REPLY_MS},
    {"locks", idle_in_lock, wait_for_reply, REPLY_MS},
    {"conditions", idle_in_condition, wait_for_reply, REPLY_MS},
    {"signals", idle_in_signals, wait_for_reply, REPLY_MS},
    {"even", idle_in_sleep, wait_for_reply, IDLE_MS},
    {"paced", idle_in_poll, work, REPLY_MS},
    {"selected", idle_in_poll, work_in_select, REPLY_MS},
    {"timers", idle_in_select, work, REPLY_MS},
};

int main(int argc, char **argv) {
    const struct around_case *chosen = NULL;
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            chosen = &cases[i];
        }
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    bool bursts = argc > 1 && strcmp(argv[1], "bursts") == 0;
    bool items = argc > 1 && strcmp(argv[1], "items") == 0;
    if ((!chosen && !bursts && !items) || pipe(replies) != 0 || pipe(events) != 0 ||
        sem_init(&sem, 0, 0) != 0) {
        fputs("usage: around CASE\n", stderr);
        return 2;
    }
    if (bursts) {
        loop_in_bursts();
    } else if (items) {
        loop_on_items();
    } else {
        loop(chosen->idle, chosen->wait, chosen->reply_ms);
    }
    return 0;
}
