/* The other threads of an attached process, for its dumps. */
#ifndef STALLREC_ATTACH_OTHERS_H
#define STALLREC_ATTACH_OTHERS_H

#include "attach/remote_thread.h"
#include "linux/lockowner_linux.h"

enum { ATTACH_OTHERS_MAX = 4096, ATTACH_RUNNING_MAX = 16 };

/* The processor time of a thread when it was read last. */
struct attach_use {
    pid_t tid;
    uint64_t cpu_ns;
    uint32_t permille; /* thousandths of a processor used between the last two calls of
                          attach_others_top */
};

/* State about the other threads. Zero-initialised except for the first two members, which the
 * caller sets. */
struct attach_others {
    struct remote_unwinder *unwinder; /* borrowed */
    bool by_events;                   /* perf events are allowed */
    struct lock_layout
        locks; /* layout of the process's locks; all false: owners of locks are not known */
    uint64_t locks_generation; /* generation of the images for which `locks` was found, + 1; 0:
                                  `locks` was never found */
    struct attach_use *uses;   /* processor times of the first ATTACH_OTHERS_MAX threads, by rising
                                  id */
    size_t use_count;
    uint64_t used_ns; /* time at which processor times were read last */
    bool used;        /* the last call of attach_others_top could store processor times */
};

void attach_others_release(struct attach_others *o);

/* Returns a thread's share of one processor, in thousandths, between the last two calls of
 * attach_others_top; 0: none, or not known. */
uint32_t attach_others_share(const struct attach_others *o, pid_t tid);

/* Returns the object for which a thread that is blocked in `call` waits. The owner of a lock is
 * known only in a process with the GNU C library whose id in its own pid namespace is the same as
 * its id here. */
struct rec_wait attach_wait(struct attach_others *o, pid_t tid, const struct proc_syscall *call);

/* Fills out[0 … result) with all threads but `watched`, by rising id, with the stacks of those that
 * are blocked. Where perf events are allowed, the first ATTACH_RUNNING_MAX running threads also get
 * a stack, if the kernel copies it within 50 ms. *left_out: number of threads for which there was
 * no room. */
uint32_t attach_others_capture(struct attach_others *o, pid_t watched, struct rec_thread *out,
                               uint32_t max, uint32_t *left_out);

/* Sets *out to the thread, of the first ATTACH_OTHERS_MAX, that used most processor time since the
 * last call, without its stack. False: this is the first call, no thread used any, that thread has
 * ended, or memory ran out in this call or the last one. */
bool attach_others_top(struct attach_others *o, struct rec_thread *out);

/* Does a thread other than the watched one wait for the epoll instance now? At most THREADS_LOOKED
 * threads are examined. */
bool attach_others_wait_for(const struct remote_thread *watched, uint64_t epoll);

#endif
