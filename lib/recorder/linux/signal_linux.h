/* Registers and stack of a running thread, copied by the thread itself in a signal handler.
 *
 *     monitor                                    watched thread
 *     IDLE -> ARMED, send the signal             handler: ARMED -> BUSY, else return
 *     wait                                         copy registers and stack
 *     DONE -> IDLE, read the copy                  BUSY -> DONE, wake the monitor
 *     or, if it takes too long, ARMED -> IDLE
 *
 * A handler that comes too late finds no ARMED slot, or one that asks its thread again, or one for
 * another thread, which it leaves alone. The handler takes no lock, calls no library and does not
 * unwind: with cold caches a copy is the shortest thing to do. */
#ifndef STALLREC_SIGNAL_LINUX_H
#define STALLREC_SIGNAL_LINUX_H

#include <sys/types.h>

#include "unwind/cfi.h"

/* One thread's stack, [lo, hi), growing down. Both 0: its bounds are not known. Where the stack
 * pointer is outside them, as on a coroutine's stack or in a handler on an alternate one, what is
 * mapped from it on is copied. */
struct signal_target {
    pid_t tid;
    uint64_t lo, hi;
    bool watched; /* the thread of signal_linux_set_alternate_async */
    /* A seccomp filter judges its system calls: the handler makes none, and the monitor does what
     * needs one. */
    bool filtered;
};

struct signal_copy {
    struct cfi_registers regs;
    struct cfi_stack stack; /* hi == lo: the stack could not be read */
    /* Time in the handler; the kernel's delivery comes on top. Of a filtered target: at most, from
     * the request to the monitor's look at the answer. */
    uint64_t pause_ns;
};

/* Installs the handler for `number` and makes the slot; the second time it only makes sure of them.
 * The handler stays for the life of the process, because a signal may still be on its way. A
 * handler that the program had before is called for signals that are not ours, and for ours, too,
 * because the kernel keeps one signal of a kind pending: ours may stand for one of the program's.
 * False: errno. */
bool signal_linux_install(int number);

/* Chooses a signal that has no effect where nobody handles it, so that a late one (after an exec)
 * does no harm: SIGURG, or SIGWINCH if the program handles SIGURG, or SIGURG if it handles both. (A
 * signal that queues, of the real-time ones, would end a program that has just been replaced by an
 * exec.) */
int signal_linux_choose(void);

/* The kernel kills a thread whose alternate signal stack has no room for the frame of one more
 * signal, so such a thread is signalled only while it is in no handler. Sets what is known about
 * the watched thread's: its size, 0 if it has none, SIGNAL_STACK_UNKNOWN. Each copy updates it. */
#define SIGNAL_STACK_UNKNOWN UINT64_MAX
void signal_linux_set_alternate_async(uint64_t size);
/* Has a handler on the target's alternate stack room for ours on top, or is there no such stack?
 * Assumed for threads other than the watched one. */
bool signal_linux_has_room_async(const struct signal_target *target);

/* Asks the thread for a copy. False when it is gone, the program has put another handler in place,
 * or an earlier handler still hangs. After true, signal_linux_finish_async must follow. */
bool signal_linux_send_async(const struct signal_target *target);

/* Waits up to `ms` for the copy. runs: the thread is on another processor, so that it answers
 * within some microseconds. False: not yet. */
bool signal_linux_await_async(bool runs, uint32_t ms);

/* Takes the copy, or cancels the request. *copy is valid until the next request. */
bool signal_linux_finish_async(struct signal_copy *copy);

/* The buffer that stacks are copied to, for other ways of copying: no handler writes to it between
 * calls. *size is set to its size. NULL before signal_linux_install, or while a handler hangs. */
uint8_t *signal_linux_buffer_async(size_t *size);

/* Copies size / 8 words. glibc's memcpy is slower here than a plain loop (its `rep movsb` on some
 * processors), and sanitizers must not look at somebody else's stack. */
void stack_copy_async(uint8_t *to, uint64_t from, uint64_t size);

/* Is sp in the bounds that are known? */
bool stack_is_own_async(const struct signal_target *target, uint64_t sp);

/* Copies what can be read from `from` on, up to the first page that is not there, at most `size`
 * bytes (64 KiB at most), and returns how many, a multiple of 8. The memory may be unmapped at any
 * time: the kernel does the reading (process_vm_readv(2)). */
uint64_t stack_copy_mapped_async(pid_t pid, uint8_t *to, uint64_t from, uint64_t size);

#endif
