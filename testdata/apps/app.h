/* Functions and macros that the demo programs share. */
#ifndef DEMO_APP_H
#define DEMO_APP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Marks functions that must be in the stack of a stall: they are never inlined, merged or
 * cloned. */
#ifdef __clang__
#define OWN_FRAME __attribute__((noinline))
#else
#define OWN_FRAME __attribute__((noinline, noipa))
#endif
/* Stands at the end of such a function, so that its last call does not become a jump, which would
 * leave no frame. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static inline void die(const char *what) {
    perror(what);
    exit(1);
}

static inline int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void sleep_ms(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

#endif
