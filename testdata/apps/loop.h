/* The event loop of the demo programs: one epoll_wait, as in most programs, a ticking timer, and
 * events that other threads post. Included by one file per program. */
#ifndef DEMO_LOOP_H
#define DEMO_LOOP_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "app.h"

struct loop {
    int epoll, timer, event;
    bool stopped;
    void (*on_tick)(struct loop *loop, uint64_t ticks);
    void (*on_event)(struct loop *loop);
    void *app;
};

static void loop_watch(struct loop *loop, int fd) {
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
        die("epoll_ctl");
    }
}

/* Ticks every tick_ms once it runs. */
static void loop_open(struct loop *loop, long tick_ms) {
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    loop->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->epoll < 0 || loop->timer < 0 || loop->event < 0) {
        die("event loop");
    }
    struct itimerspec every = {.it_interval = {tick_ms / 1000, tick_ms % 1000 * 1000000},
                               .it_value = {tick_ms / 1000, tick_ms % 1000 * 1000000}};
    if (timerfd_settime(loop->timer, 0, &every, NULL) != 0) {
        die("timerfd_settime");
    }
    loop_watch(loop, loop->timer);
    loop_watch(loop, loop->event);
}

/* Makes the loop call on_event. May be called on any thread. */
static inline void loop_post(struct loop *loop) {
    uint64_t one = 1;
    if (write(loop->event, &one, sizeof one) != sizeof one) {
        die("eventfd");
    }
}

OWN_FRAME static void loop_dispatch(struct loop *loop, int fd) {
    uint64_t count = 0;
    if (read(fd, &count, sizeof count) != sizeof count) {
        return;
    }
    if (fd == loop->timer) {
        loop->on_tick(loop, count);
    } else {
        loop->on_event(loop);
    }
    KEEP_FRAME();
}

/* The program's only wait for events: the recorder recognises the loop by this call. The hooks
 * are called around it, NULL = none (the recorder is preloaded, or there is none). */
OWN_FRAME static void loop_run(struct loop *loop, void (*before_wait)(void),
                               void (*after_wait)(void)) {
    while (!loop->stopped) {
        struct epoll_event events[8];
        if (before_wait) {
            before_wait();
        }
        int n = epoll_wait(loop->epoll, events, 8, -1);
        if (after_wait) {
            after_wait();
        }
        for (int i = 0; i < n; i++) {
            loop_dispatch(loop, events[i].data.fd);
        }
    }
    KEEP_FRAME();
}

#endif
