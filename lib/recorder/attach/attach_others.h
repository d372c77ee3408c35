/* The other threads of an attached process, for its dumps. */
#ifndef STALLREC_ATTACH_OTHERS_H
#define STALLREC_ATTACH_OTHERS_H

#include "attach/remote_thread.h"
#include "linux/lockowner_linux.h"

enum { ATTACH_OTHERS_MAX = 4096, ATTACH_RUNNING_MAX = 16 };

/* A thread's processor time, when it was read last. */
struct attach_use {
    pid_t tid;
    uint64_t cpu_ns;
    uint32_t permille; /* of one processor, between the last two calls of attach_others_top */
};

/* Zero-initialised with the first two members set. */
struct attach_others {
    struct remote_unwinder *unwinder; /* borrowed */
    bool by_events;                   /* perf events are allowed */
    struct lock_layout locks;         /* of the process; all false: owners are not known */
    uint64_t locks_generation;        /* of the images that it was found for, + 1; 0: not yet */
    struct attach_use *uses;          /* by id */
    size_t use_count;
    uint64_t used_ns; /* when they were read last */
    bool used;        /* processor times were read once */
};

void attach_others_release(struct attach_others *o);

/* A thread's share of one processor, between the last two calls of attach_others_top; 0: none, or
 * not known. */
uint32_t attach_others_share(const struct attach_others *o, pid_t tid);

/* What a thread that is blocked in `call` waits for. The owners of locks are known of a process
 * with the GNU C library, in our own namespace of ids. */
struct rec_wait attach_wait(struct attach_others *o, pid_t tid, const struct proc_syscall *call);

/* Fills out[0 … result), all but `watched`, by rising id. A thread that runs has the stack that the
 * kernel copies within the next 50 ms, where perf events are allowed: the first ATTACH_RUNNING_MAX
 * of them. Else it has none.
 * *left_out: how many more there are. */
uint32_t attach_others_capture(struct attach_others *o, pid_t watched, struct rec_thread *out,
                               uint32_t max, uint32_t *left_out);

/* The thread that used most processor time since the last call, without its stack; false: the first
 * call, or none used any. */
bool attach_others_top(struct attach_others *o, struct rec_thread *out);

#endif
