/* Registers and stack of a running thread, copied by the thread itself in a signal handler.
 *
 *     monitor                                    watched thread
 *     IDLE -> ARMED, send the signal             handler: ARMED -> BUSY, else return
 *     wait                                         copy registers and stack
 *     DONE -> IDLE, read the copy                  BUSY -> DONE, wake the monitor
 *     or, if it takes too long, ARMED -> IDLE
 *
 * A handler that runs too late finds the slot not ARMED, or ARMED for another thread, and returns;
 * if it is ARMED for the same thread again, the handler makes that copy. The handler takes no lock,
 * calls only async-signal-safe functions and does not unwind, as a copy takes the least time with
 * cold caches. */
#ifndef STALLREC_SIGNAL_LINUX_H
#define STALLREC_SIGNAL_LINUX_H

#include <stdatomic.h>
#include <sys/types.h>
#include <ucontext.h>

#include "unwind/cfi.h"

/* A thread and its stack [lo, hi), which grows down. Both are 0 if the bounds are not known. Where
 * the stack pointer is outside of them, as on a coroutine's stack or in a handler on an alternate
 * stack, the mapped memory from it on is copied. */
struct signal_target {
    pid_t tid;
    uint64_t lo, hi;
    /* Size of the thread's alternate signal stack, 0 if it has none, or SIGNAL_STACK_UNKNOWN; each
     * copy updates it. NULL: the size is not tracked. */
    _Atomic uint64_t *alternate;
    /* A seccomp filter judges the thread's system calls, so the handler makes none, and the monitor
     * makes those that are needed. */
    bool filtered;
    _Atomic uint32_t *guard; /* enum guard_state of the thread; NULL: it has none */
};

struct signal_copy {
    struct cfi_registers regs;
    struct cfi_stack stack; /* hi == lo: the stack could not be read */
    /* Time in the handler, in ns, without the kernel's delivery. For a filtered target it is an
     * upper bound: the time from the request to the monitor's look at the answer. */
    uint64_t pause_ns;
};

/* Sets regs to all registers of the code that a signal handler, which got uc, has interrupted.
 * Async-signal-safe. */
void context_registers_async(const ucontext_t *uc, struct cfi_registers *regs);

/* Installs the handler for `number` and makes the slot; a second call only makes sure of both. With
 * number 0 there is no handler, and no thread can be asked for a copy. The
 * handler stays for the life of the process, because a signal may still be on its way. The
 * program's earlier handler is called for signals that are not ours, and also for ours, because
 * the kernel keeps only one pending signal of a number, so that ours may stand for one of the
 * program's. False: see errno. */
bool signal_linux_install(int number);

/* Chooses a signal that has no effect without a handler, so that a late one (after an exec) does
 * no harm: SIGURG, or SIGWINCH if the program handles SIGURG. If it handles both, SIGURG if the
 * program's handler takes a siginfo_t, which tells it who sent the signal, else 0. (A real-time
 * signal, which queues, would end a program that has just been started by an exec.) */
int signal_linux_choose(void);

/* signal_linux_alternate() is the size of the alternate signal stack of the thread that started
 * the recorder, or SIGNAL_STACK_UNKNOWN. Each copy updates it, and it must be set where the thread
 * changes that stack. The kernel kills a thread whose alternate stack has no room for the frame of
 * one more signal, so a thread with such a stack is signalled only while it is in no handler. */
#define SIGNAL_STACK_UNKNOWN UINT64_MAX
_Atomic uint64_t *signal_linux_alternate(void);
/* Has the target's alternate stack room for our handler on top of another one, or is there no such
 * stack? True also if the stack is not tracked, false if its size is SIGNAL_STACK_UNKNOWN. */
bool signal_linux_has_room_async(const struct signal_target *target);

/* Asks the thread for a copy. False: the thread is gone or guarded, the program has installed
 * another handler, or an earlier handler still hangs. After true, signal_linux_finish_async must
 * follow. */
bool signal_linux_send_async(const struct signal_target *target);

/* Waits up to `ms` for the copy. runs: the thread is on another processor, so that it answers
 * within some microseconds. False: the copy is not made yet. */
bool signal_linux_await_async(bool runs, uint32_t ms);

/* Takes the copy into *copy, which is valid until the next request. False: no handler has started,
 * and the request is cancelled; or a handler has started, but did not end in 1 s. */
bool signal_linux_finish_async(struct signal_copy *copy);

/* Returns the buffer to which stacks are copied, for other ways of copying; no handler writes to
 * it between calls. *size becomes its size in bytes. NULL before signal_linux_install, or while a
 * handler hangs. */
uint8_t *signal_linux_buffer_async(size_t *size);

/* Copies size / 8 words. It is a plain loop, which is faster here than glibc's memcpy (`rep movsb`
 * on some processors), and which sanitizers do not check, as the stack belongs to other code. */
void stack_copy_async(uint8_t *to, uint64_t from, uint64_t size);

/* Is sp in the target's known stack, at least ARCH_RED_ZONE + 8 bytes above its low end? */
bool stack_is_own_async(const struct signal_target *target, uint64_t sp);

/* Copies at most `size` bytes (64 KiB at most) from `from` on, up to the first page that is not
 * mapped, and returns the number of bytes, a multiple of 8; 0 on failure. The memory may be
 * unmapped at any time, as the kernel reads it (process_vm_readv(2)). */
uint64_t stack_copy_mapped_async(pid_t pid, uint8_t *to, uint64_t from, uint64_t size);

#endif
