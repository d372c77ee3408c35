/* Threads for tests. Each waits or works in one way, in a leaf function with known callers, until
 * it is ended.
 */
#ifndef STALLREC_WORKER_TEST_H
#define STALLREC_WORKER_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum {
    DEPTH = 12,
    PATIENCE_MS = 20000 /* number of ms that a loaded machine may need for work that an idle machine
                           does at once */
};

struct worker {
    void (*leaf)(struct worker *);
    void *expected[DEPTH];
    bool started;
    pthread_t thread;
    atomic_int tid;
    atomic_bool ready, stop, done;
    atomic_uint early; /* number of waits that ended before their time */
    atomic_ulong work;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int pipe[2], epoll;
    struct worker *holder; /* worker for whose mutex this one waits; NULL: none */
    char name[16];
};

static struct timespec seconds_from_now(time_t seconds) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += seconds;
    return t;
}
static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void wait_mutex(struct worker *w) {
    w->ready = true;
    pthread_mutex_lock(&w->mutex);
    pthread_mutex_unlock(&w->mutex);
}
static void wait_read(struct worker *w) {
    char c;
    w->ready = true;
    w->early += read(w->pipe[0], &c, 1) != 1;
}
static void wait_poll(struct worker *w) {
    struct pollfd p = {.fd = w->pipe[0], .events = POLLIN};
    w->ready = true;
    w->early += poll(&p, 1, 60000) != 1;
}
static void wait_sleep(struct worker *w) {
    struct timespec t = {60, 0};
    w->ready = true;
    w->early += nanosleep(&t, NULL) != 0 && !w->stop;
}
static void wait_cond(struct worker *w) {
    struct timespec t = seconds_from_now(60);
    pthread_mutex_lock(&w->mutex);
    w->ready = true;
    while (!w->stop) {
        w->early += pthread_cond_timedwait(&w->cond, &w->mutex, &t) != 0;
    }
    pthread_mutex_unlock(&w->mutex);
}
static void wait_epoll(struct worker *w) {
    struct epoll_event e;
    w->ready = true;
    w->early += epoll_wait(w->epoll, &e, 1, 60000) != 1;
}
static void spin(struct worker *w) {
    w->ready = true;
    while (!w->stop) {
        w->work++;
    }
}
static void spin_without_signals(struct worker *w) {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    spin(w);
}

NOINLINE static void go_deep(struct worker *w, unsigned level) {
    volatile char room[48];
    w->expected[level] = __builtin_return_address(0);
    room[level] = 1;
    if (level + 1 == DEPTH) {
        w->leaf(w);
    } else {
        go_deep(w, level + 1);
    }
    w->work += (unsigned long)room[level];
}

static void *worker_main(void *arg) {
    struct worker *w = arg;
    prctl(PR_SET_NAME, w->name);
    w->tid = (pid_t)syscall(SYS_gettid);
    go_deep(w, 0);
    w->done = true;
    return NULL;
}

static void on_alarm(int sig) {
    (void)sig; /* the signal ends a sleep */
}

static void worker_start(struct worker *w, void (*leaf)(struct worker *), const char *name) {
    w->leaf = leaf;
    memcpy(w->name, name, strlen(name) + 1);
    assert_int_equal(pipe(w->pipe), 0);
    w->epoll = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->pipe[0], &e), 0);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->cond, NULL);
    if (leaf == wait_mutex) {
        pthread_mutex_lock(&w->mutex);
    }
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    w->started = pthread_create(&w->thread, &attr, worker_main, w) == 0;
    pthread_attr_destroy(&attr);
    assert_true(w->started);
    while (!w->ready) {
        pause_ms(1);
    }
}

static void task_path(char *path, size_t room, const struct worker *w, const char *name) {
    snprintf(path, room, "/proc/self/task/%d%s", w->tid, name);
}

static char state_of(const struct worker *w) {
    char path[64], line[256];
    const char *name_end = NULL;
    task_path(path, sizeof path, w, "/stat");
    FILE *f = fopen(path, "r");
    if (f) {
        name_end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        fclose(f);
    }
    return name_end && name_end[1] == ' ' ? name_end[2] : '?';
}

/* Waits until the thread sleeps, as it sets `ready` before its system call, which may begin
 * later. */
static void await_asleep(const struct worker *w) {
    for (unsigned ms = 0; state_of(w) != 'S'; ms++) {
        assert_true(ms < PATIENCE_MS);
        pause_ms(1);
    }
}

/* Ends the thread, and returns when it is gone from /proc, which is later than the end of
 * pthread_join. It asserts nothing, so that teardowns can call it. */
static void worker_end(struct worker *w) {
    char path[64];
    if (!w->started) {
        return;
    }
    w->started = false;
    w->stop = true;
    if (w->leaf == wait_mutex) {
        pthread_mutex_unlock(&w->mutex);
    } else if (w->leaf == wait_cond) {
        pthread_mutex_lock(&w->mutex);
        pthread_cond_signal(&w->cond);
        pthread_mutex_unlock(&w->mutex);
    }
    ssize_t n = write(w->pipe[1], "x", 1);
    while (n == 1 && w->leaf == wait_sleep && !w->done) {
        pthread_kill(w->thread, SIGALRM);
        pause_ms(1);
    }
    pthread_join(w->thread, NULL);
    task_path(path, sizeof path, w, "");
    for (unsigned ms = 0; access(path, F_OK) == 0 && ms < PATIENCE_MS; ms++) {
        pause_ms(1);
    }
    close(w->pipe[0]);
    close(w->pipe[1]);
    close(w->epoll);
}

#endif
