/* What the adapters of waits share: the edge before a wait. The one after it is
 * stallrec_loop_wake. */
#ifndef STALLREC_ADAPTER_WAIT_H
#define STALLREC_ADAPTER_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "stallrec.h"

/* Marks a function that a thread waits in, so that stacks do not have it (own_code_linux.h). */
#ifdef __linux__
#define REC_WAITS __attribute__((section("stallrec_waits")))
#else
#define REC_WAITS
#endif

/* Makes the function that this is inlined into save its caller's frame pointer. Of a thread that
 * sleeps in a system call nothing but sp and pc can be read from outside, and callers further out
 * may be addressed through the frame pointer. AArch64 always saves it. */
static inline __attribute__((always_inline)) void rec_wait_saves_frame_pointer(void) {
#if defined(__x86_64__) && defined(REC_SAVES_FRAME_POINTER)
    __asm__ __volatile__("" ::: "rbp");
#endif
}

/* A wait with timeout 0 is a turn: a loop with idle handlers never sleeps. */
static inline __attribute__((always_inline)) void rec_wait_begin(struct stallrec_loop *loop,
                                                                 bool blocks) {
    rec_wait_saves_frame_pointer();
    if (blocks) {
        stallrec_loop_sleep(loop);
    } else {
        stallrec_loop_turn(loop);
    }
}

static inline bool rec_wait_blocks(const struct timespec *timeout) {
    return timeout == NULL || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
}

#endif
