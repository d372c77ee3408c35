/* All adapters of waits use these functions to record the loop's edge before a wait, and to save
 * the caller's frame pointer. stallrec_loop_wake records the edge after a wait. */
#ifndef STALLREC_ADAPTER_WAIT_H
#define STALLREC_ADAPTER_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "stallrec.h"

/* Marks a function in which a thread waits, so that stacks leave the function out
 * (own_code_linux.h). */
#ifdef __linux__
#define REC_WAITS __attribute__((section("stallrec_waits")))
#else
#define REC_WAITS
#endif

/* Makes the function into which this one is inlined save its caller's frame pointer, and returns
 * that frame pointer; the call must be the function's first statement. From outside, only sp and pc
 * of a thread that sleeps in a system call can be read, and outer callers may be found by the frame
 * pointer. On AArch64 compilers save it by default. */
static inline __attribute__((always_inline)) uint64_t rec_wait_saves_frame_pointer(void) {
#if defined(__x86_64__) && defined(REC_SAVES_FRAME_POINTER)
    uint64_t frame_pointer; /* as the register is clobbered, nothing else can be in it before */
    __asm__ __volatile__("mov %%rbp, %0" : "=r"(frame_pointer)::"rbp");
    return frame_pointer;
#else
    return *(const uint64_t *)__builtin_frame_address(0);
#endif
}

/* Reports to the loop that a wait begins. A wait that does not block (timeout 0) is reported as a
 * turn, as a loop with idle handlers never sleeps. The call must be the function's first statement,
 * as it saves the frame pointer. */
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
