/* A program that counts its calls that end with EINTR though it has no signals: after some waits of
 * its loop it computes and waits by turns, for a second and a half, and prints "N calls, N
 * interrupted". */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "app.h"

enum { LOOP_WAITS = 6, TURN_MS = 60, STALL_MS = 1500, WAIT_US = 200, SPIN_US = 400 };

static int events[2], replies[2], polled;

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void compute(int64_t us) {
    int64_t until = now_us() + us;
    while (now_us() < until) {
    }
}

OWN_FRAME static void wait_in_loop(void) {
    struct pollfd p = {.fd = events[0], .events = POLLIN};
    poll(&p, 1, TURN_MS);
    KEEP_FRAME();
}

OWN_FRAME static int wait_by_select(void) {
    fd_set set;
    struct timeval time = {.tv_usec = WAIT_US};
    FD_ZERO(&set);
    FD_SET(replies[0], &set);
    return select(replies[0] + 1, &set, NULL, NULL, &time);
}

/* The waits are deeper than the loop's, as shallower ones would be taken for those of another. */
OWN_FRAME static int wait_deeper(unsigned way) {
    volatile char room[1024];
    room[0] = (char)way;
    struct pollfd p = {.fd = replies[0], .events = POLLIN};
    struct timespec time = {.tv_nsec = WAIT_US * 1000};
    struct epoll_event event;
    switch (room[0]) {
    case 0:
        return wait_by_select();
    case 1:
        return poll(&p, 1, 1);
    case 2:
        return epoll_wait(polled, &event, 1, 1);
    case 3:
        return usleep(WAIT_US);
    case 4:
        return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) == EINTR ? -1 : 0;
    case 5:
        return poll(NULL, 0, 1);
    default:
        return nanosleep(&time, NULL);
    }
}

int main(void) {
    enum { WAYS = 7, STEP = 37 };
    unsigned calls = 0, interrupted = 0;
    polled = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (pipe(events) != 0 || pipe(replies) != 0 || polled < 0 ||
        epoll_ctl(polled, EPOLL_CTL_ADD, replies[0], &event) != 0) {
        die("pipe");
    }
    for (int i = 0; i < LOOP_WAITS; i++) {
        wait_in_loop();
    }
    for (int64_t until = now_ms() + STALL_MS; now_ms() < until; calls++) {
        compute(calls * STEP % SPIN_US);
        errno = 0;
        interrupted += wait_deeper(calls % WAYS) < 0;
    }
    for (int i = 0; i < LOOP_WAITS; i++) {
        wait_in_loop();
    }
    printf("%u calls, %u interrupted\n", calls, interrupted);
    return 0;
}
