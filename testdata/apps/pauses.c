/* An event loop with stalls that are made of many short waits, to be recorded from outside:
 * `pauses CASE`. It prints each stall's length, "stall MS".
 *
 *     polls    a stall polls for replies without end
 *     sleeps   a stall works for 5 ms and sleeps for 50 us by turns
 *     slices   a stall is made of short sleeps
 *     same     a stall waits for replies by the loop's own call, on another descriptor
 *     quick    no stall: the loop turns thousands of times a second, and polls for two replies in
 *              each turn
 *     busy     the loop polls for ten replies in each turn, and a stall polls for replies */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "app.h"

enum { STALL_MS = 1000, TURN_NS = 20000000, TURNS = 80, CALM_TURNS = 30, QUICK_TURNS = 4000 };

static const struct timespec quick_time = {0, 1000};
static int replies[2], wakes[2], other;

static void work_for(int64_t ms) {
    int64_t end = now_ms() + ms;
    while (now_ms() < end) {
    }
}

static void work_and_sleep(void) {
    work_for(5);
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

static void sleep_slice(void) {
    nanosleep(&(struct timespec){0, 100000}, NULL);
}

OWN_FRAME static void poll_for_reply(void) {
    struct pollfd p = {.fd = replies[0], .events = POLLIN};
    ppoll(&p, 1, &quick_time, NULL);
    KEEP_FRAME();
}

OWN_FRAME static void wait_for_reply(void) {
    struct epoll_event event;
    epoll_pwait2(other, &event, 1, &quick_time, NULL);
    KEEP_FRAME();
}

static const struct {
    const char *name;
    void (*part)(void);     /* a part of a stall; NULL: there are no stalls */
    int quick, quick_polls; /* does the loop turn quickly, and how often does a quick turn poll? */
} cases[] = {{"polls", poll_for_reply, 0, 0}, {"sleeps", work_and_sleep, 0, 0},
             {"slices", sleep_slice, 0, 0},   {"same", wait_for_reply, 0, 0},
             {"quick", NULL, 1, 2},           {"busy", poll_for_reply, 1, 10}};

OWN_FRAME static void stall(void (*part)(void)) {
    int64_t begin = now_ms();
    while (now_ms() < begin + STALL_MS) {
        part();
    }
    printf("stall %d\n", (int)(now_ms() - begin));
    fflush(stdout);
    KEEP_FRAME();
}

OWN_FRAME static void run(int loop, size_t at) {
    int turns = cases[at].quick ? QUICK_TURNS : TURNS;
    for (int i = 0; i < turns; i++) {
        int quick = cases[at].quick && i >= CALM_TURNS;
        struct timespec turn = {0, quick ? quick_time.tv_nsec : TURN_NS};
        struct epoll_event event;
        epoll_pwait2(loop, &event, 1, &turn, NULL);
        for (int k = 0; k < (quick ? cases[at].quick_polls : 1); k++) {
            poll_for_reply();
        }
        if (cases[at].part && i % (turns / 2) == turns / 4) {
            stall(cases[at].part);
        }
    }
    KEEP_FRAME();
}

int main(int argc, char **argv) {
    int loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    other = epoll_create1(0);
    if (pipe(replies) != 0 || pipe(wakes) != 0 ||
        epoll_ctl(loop, EPOLL_CTL_ADD, wakes[0], &event) != 0) {
        die("no descriptors");
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
            run(loop, i);
            return 0;
        }
    }
    die("no such case");
}
