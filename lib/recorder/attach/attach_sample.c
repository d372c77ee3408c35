/* Takes the stacks of a thread that is watched from outside. */
#include <sys/syscall.h>

#include "attach/attach_watch_private.h"
#include "attach/ptrace_stop.h"
#include "attach/wait_call.h"
#include "linux/thread_wait_linux.h"
#include "loop/loop.h"
#include "stallrec.h"

enum {
    SAMPLE_AGE_MS = 75 /* ms; an older copy is out of date, unless the thread hardly ran since */
};
#define MS UINT64_C(1000000)

/* Unwinds the newest stack that the kernel copied while the thread ran. False: there is no copy
 * since the loop became busy, the newest one is out of date (SAMPLE_AGE_MS), or no frame was
 * found. */
static bool sample_running(struct attach_watch *w, struct rec_stack *out) {
    attach_watch_take_stacks(w);
    uint64_t now = stallrec_clock_ns(), cpu = remote_thread_cpu_ns(&w->thread);
    bool old = now - w->runs_ns > SAMPLE_AGE_MS * MS && cpu - w->runs_cpu_ns > ATTACH_COPY_MS * MS;
    if (w->runs_size == 0 || w->runs_ns < w->edges.busy_ns || old) {
        return false;
    }
    uint64_t sp = w->runs.value[CFI_SP];
    struct cfi_stack stack = {w->runs_stack, sp, sp + w->runs_size};
    remote_unwind(w->unwinder, w->thread.own_tid, &w->runs, &stack, out);
    return out->count > 0;
}

/* Stops a running thread, copies its stack, lets the thread run on, and unwinds the copy. False:
 * the thread waits in a call of wait_call.c, ptrace_copy failed, or no frame was found. */
static bool sample_stopped(struct attach_watch *w, struct rec_stack *out) {
    struct cfi_registers regs;
    struct cfi_stack stack;
    uint64_t pause_ns;
    if (attach_watch_waits(w) ||
        !ptrace_copy(w->thread.process, w->thread.tid, w->unwinder->stack, REMOTE_STACK_MAX, &regs,
                     &stack, &pause_ns, &w->stopping)) {
        return false;
    }
    w->sleeps++; /* the kernel counts the stop as a sleep */
    remote_unwind(w->unwinder, w->thread.own_tid, &regs, &stack, out);
    out->pause_ns = pause_ns < UINT32_MAX ? (uint32_t)pause_ns : UINT32_MAX;
    return out->count > 0;
}

/* Sets *out to the latest wait of the loop that finder_loop returns; false: there is none. */
static bool latest_loop_wait(const struct attach_watch *w, struct finder_wait *out) {
    const struct finder_candidate *loop = finder_loop(&w->edges.finder);
    if (loop) {
        *out = (struct finder_wait){.place = loop->place,
                                    .depth = w->loop_depth,
                                    .inner = loop->inner,
                                    .object = loop->object};
    }
    return loop != NULL;
}

/* Returns what the thread does in the call, if that is none of the waits that are reported to
 * `edges`. In a lock only a thread of a pool idles. Of a call whose events the budget has turned
 * off it is not known. */
static enum thread_unseen unseen_in(const struct attach_watch *w, const struct proc_syscall *call) {
    const struct wait_call *known = wait_call_numbered(call->number);
    const struct rec_wait wait = attach_wait(w->others, w->thread.tid, call);
    const pid_t pid = w->thread.process->pid;
    if (w->edges.blocks || (known && (call->number != SYS_futex || w->budget.no_conditions))) {
        return THREAD_BUSY;
    }
    if (wait.kind == REC_WAIT_MUTEX || wait.kind == REC_WAIT_RWLOCK) {
        return w->thread.tid != pid ? THREAD_PARKED : THREAD_BUSY;
    }
    return wait.kind != REC_WAIT_THREAD && thread_may_idle_async(pid, call) ? THREAD_SLEEPS
                                                                            : THREAD_BUSY;
}

/* Returns whether the thread, which is blocked in the call, rests, and notes if it sleeps unseen.
 */
static enum rec_rest rest_of(struct attach_watch *w, const struct proc_syscall *call,
                             const struct cfi_registers *regs, const struct cfi_stack *stack) {
    struct remote_call caller;
    struct finder_wait loop;
    struct finder_place place = {.depth = 0};
    const struct remote_unwinder *u = w->unwinder;
    bool main = w->thread.tid == w->thread.process->pid;
    if (w->way == ATTACH_BY_EVENTS) {
        attach_watch_take_edges(w);
    }
    enum thread_unseen unseen = unseen_in(w, call);
    if (unseen != THREAD_BUSY && remote_caller(w->unwinder, regs, stack, true, &caller)) {
        place.place = caller.address;
        place.depth = !main || remote_images_on_stack(u->images, caller.sp) ? caller.entry : 0;
        place.inner = python_linux_depth_async(u->python, remote_images_generation(u->images),
                                               w->thread.own_tid);
    }
    enum rec_rest rest = thread_rest_async(w->thread.process->pid, call, unseen, &place,
                                           latest_loop_wait(w, &loop) ? &loop : NULL, &w->asleep);
    if (w->asleep) {
        place.room = thread_waits_for_room_async(w->thread.process->pid, call);
        rec_loop_join_sleep_async(&w->sleep_seen, &place, stallrec_clock_ns());
    }
    return rest;
}

enum rec_sample attach_watch_sample(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct attach_watch *w = ctx;
    struct proc_syscall call;
    struct cfi_registers regs;
    struct cfi_stack stack;
    uint64_t cpu = remote_thread_cpu_ns(&w->thread);
    if (may_repeat && w->have_sample && cpu != UINT64_MAX && cpu == w->sampled_cpu_ns) {
        if (w->asleep) {
            rec_loop_continue_sleep_async(&w->sleep_seen, stallrec_clock_ns());
        }
        return REC_SAMPLE_SAME;
    }
    w->have_sample = w->asleep = false;
    attach_watch_let_go(w);
    if (out->cap == 0 || w->stopping) {
        return REC_SAMPLE_NONE;
    }
    if (remote_thread_blocked(w->unwinder, &w->thread, &w->sleep, &call, &regs, &stack)) {
        remote_unwind(w->unwinder, w->thread.own_tid, &regs, &stack, out);
        out->rest = rest_of(w, &call, &regs, &stack);
        w->have_sample = out->count > 0;
    } else if (w->way == ATTACH_BY_EVENTS) {
        w->have_sample = sample_running(w, out);
    } else {
        w->have_sample = sample_stopped(w, out);
    }
    w->sampled_cpu_ns = cpu;
    return w->have_sample ? REC_SAMPLE_OK : REC_SAMPLE_NONE;
}

bool attach_watch_still_busy(void *ctx, uint64_t since_ns) {
    struct attach_watch *w = ctx;
    if (w->way == ATTACH_BY_EVENTS) {
        attach_watch_take_edges(w);
    }
    return w->edges.busy && w->edges.edge_ns == since_ns;
}

bool attach_watch_describe(void *ctx, struct rec_thread *out) {
    struct attach_watch *w = ctx;
    struct proc_syscall call = {.number = -1};
    remote_thread_describe(&w->thread, out);
    out->main = true; /* the thread that the dump is about */
    if (remote_thread_call(&w->thread, &call)) {
        out->waits_for = attach_wait(w->others, w->thread.tid, &call);
    }
    return true;
}
