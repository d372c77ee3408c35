/* Programs that do what a recorder inside them must survive: `odd main-exits` ends its main thread
 * before the process by pthread_exit, `odd main-ends` by a system call of which libc takes no note,
 * `odd heap-coroutine` is busy on a stack at the end of the heap. */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { TURNS = 6, TURN_MS = 20, WORKER_MS = 300, BUSY_MS = 800, COROUTINE_STACK = 32 * 1024 };

static volatile uint64_t sink;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits so often at one place that the recorder takes the place for an event loop. */
__attribute__((noinline)) static void turn(void) {
    int ends[2];
    if (pipe(ends) != 0) {
        die("pipe");
    }
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < TURNS; i++) {
        poll(&fd, 1, TURN_MS);
    }
    close(ends[0]);
    close(ends[1]);
}

static void *work(void *arg) {
    usleep(WORKER_MS * 1000);
    puts("worker is done");
    return arg;
}

static void main_exits(void) {
    pthread_t worker;
    turn();
    if (pthread_create(&worker, NULL, work, NULL) != 0) {
        die("pthread_create");
    }
    pthread_exit(NULL);
}

/* Ends the main thread alone, by the only call for an end that seccomp(2) in strict mode allows. */
static void main_ends(void) {
    turn();
    syscall(SYS_exit, 3);
}

/* Runs and sleeps by turns, because a recorder copies the stacks of running and of sleeping threads
 * in two ways. */
static void be_busy(void) {
    int64_t until = now_ms() + BUSY_MS;
    for (int64_t now; (now = now_ms()) < until;) {
        if (now / 100 % 2 == 0) {
            usleep(10000);
        } else {
            sink = sink + 1;
        }
    }
}

static void heap_coroutine(void) {
    ucontext_t here, there;
    turn();
    char *stack = sbrk(COROUTINE_STACK);
    if ((intptr_t)stack == -1 || getcontext(&there) != 0) {
        die("coroutine");
    }
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = COROUTINE_STACK;
    there.uc_link = &here;
    makecontext(&there, be_busy, 0);
    swapcontext(&here, &there);
    turn();
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "main-exits") == 0) {
        main_exits();
    } else if (strcmp(mode, "main-ends") == 0) {
        main_ends();
    } else if (strcmp(mode, "heap-coroutine") == 0) {
        heap_coroutine();
    } else {
        fprintf(stderr, "usage: odd main-exits|main-ends|heap-coroutine\n");
        return 2;
    }
    return 0;
}
