/* Watches a thread from outside: by perf events, or by samples of its state. */
#include "attach/attach_watch_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/ptrace_stop.h"
#include "attach/wait_object.h"
#include "stallrec.h"

enum {
    SAMPLE_AFTER_MS = 10, /* busy time after which stacks are copied */
    QUEUE_MAX = 1 << 20,
    LET_GO_TRIES = 1000,
    QUIET_MS = 400 /* while no loop is known, a wait that is seen by samples counts as one more wait
                      each time that it has lasted this long */
};
#define MS UINT64_C(1000000)

/* ---- edges ---- */

static void queue_event(void *ctx, const struct rec_event *event) {
    struct attach_watch *w = ctx;
    if (w->queue_count == w->queue_room) {
        size_t room = w->queue_room ? w->queue_room * 2 : 256;
        struct rec_event *more = room <= QUEUE_MAX ? realloc(w->queue, room * sizeof *more) : NULL;
        if (!more) {
            w->out_of_memory = true;
            return;
        }
        w->queue = more;
        w->queue_room = room;
    }
    w->queue[w->queue_count++] = *event;
}

bool attach_watch_take(struct attach_watch *w, struct rec_event *out) {
    if (w->queue_taken == w->queue_count) {
        w->queue_taken = w->queue_count = 0;
        return false;
    }
    *out = w->queue[w->queue_taken++];
    return true;
}

/* Memory to which a wait's arguments point. The bytes are those at the start of the wait as far as
 * the copy of the stack reaches, else the bytes as they are now. Stack memory beyond the copy is
 * read only if goes_on is true, because another function may use it after the wait; other memory is
 * read unless `over` is true. */
struct wait_memory {
    const struct attach_watch *watch;
    const struct cfi_stack *stack;
    bool goes_on; /* the wait is known to continue */
    bool over;    /* the wait has ended; memory outside of `stack` may hold other data by now */
};

static bool read_wait_memory(void *arg, uint64_t address, void *to, size_t size) {
    enum { STACK_SPAN = 8 << 20 };
    const struct wait_memory *m = arg;
    const struct cfi_stack *stack = m->stack;
    if (address >= stack->lo && address < stack->hi && size <= stack->hi - address) {
        memcpy(to, stack->copy + (address - stack->lo), size);
        return true;
    }
    bool on_stack = address >= stack->lo && address - stack->lo < STACK_SPAN;
    return (m->goes_on || !(on_stack || m->over)) &&
           remote_read(m->watch->thread.process, address, to, size);
}

/* Has the wait whose start was read last ended? Behind the record of the start come the record of
 * the sleep, if sleeps are recorded, and the record of the wait's end. */
static bool wait_is_over(struct attach_watch *w) {
    uint32_t records = w->sleeps_on ? 2 : 1;
    return perf_ring_behind(&w->events.edges, records) == records;
}

/* Reports to w->edges that a wait begins at at_ns. A futex(2) call that waits for no condition
 * variable or semaphore, or comes while the budget takes such calls for locks, is ignored. The
 * wait's place is the address in the caller of the waiting function, found by call frame
 * information; if the caller cannot be found, it is the program counter of the wait. */
static void wait_begins(struct attach_watch *w, const struct wait_call *call,
                        const uint64_t args[6], const struct cfi_registers *regs,
                        const struct cfi_stack *stack, bool goes_on, uint64_t at_ns) {
    struct finder_wait wait = {.place = regs->value[CFI_PC], .depth = regs->value[CFI_SP]};
    struct wait_memory memory = {w, stack, goes_on, !goes_on && wait_is_over(w)};
    bool condition = call->on == WAIT_ON_CONDITION;
    bool beyond = condition || wait_call_is_sleep(call, args) || call->on == WAIT_ON_SIGNALS;
    enum wait_function what = WAIT_FUNCTION_OTHER;
    struct remote_call caller = {.sp = wait.depth};
    if (wait_call_is_other(call, args) || (condition && w->budget.no_conditions)) {
        return;
    }
    bool called = remote_caller(w->unwinder, regs, stack, beyond, &caller);
    if (condition && called) {
        what = wait_function_find(&w->functions, w->unwinder->images, caller.function);
    }
    if (condition && what == WAIT_FUNCTION_OTHER) {
        return;
    }
    if (called) {
        wait.place = caller.address;
        wait.depth = caller.entry;
    }
    if (w->thread.tid == w->thread.process->pid &&
        !remote_images_on_stack(w->unwinder->images, caller.sp)) {
        wait.depth = caller.sp = 0; /* a coroutine's stack, which counts as deeper than any other */
    }
    wait.blocking = wait_call_blocks(call, args, read_wait_memory, &memory);
    wait.endless = (condition || call->on == WAIT_ON_SIGNALS) && wait_call_is_endless(call, args);
    bool read = wait_object_read(call, args, read_wait_memory, &memory, &wait.object);
    if (wait_arrays_recall(&w->arrays, call, args, read, &wait.object) &&
        wait.object.kind == FINDER_SET && finder_wants_file(&w->edges.finder, &wait.object)) {
        wait.object.file = remote_process_inode(w->thread.process, wait.object.lowest);
    }
    if (what == WAIT_FUNCTION_LOCK) {
        wait.object = (struct finder_object){.kind = FINDER_LOCK};
    }
    if (wait.blocking && w->sleep_seen.to_ns > w->edges.finder.woken_ns &&
        w->sleep_seen.from_ns < at_ns) {
        finder_slept(&w->edges.finder, &w->sleep_seen, at_ns);
        w->sleep_seen.to_ns = 0;
    }
    wait_edges_enter(&w->edges, &wait, at_ns);
    w->rests = false;
    w->idle_call = (struct proc_syscall){0};
    if (w->edges.idle) {
        w->idle_call.pc = regs->value[CFI_PC];
        w->idle_call.sp = regs->value[CFI_SP];
        w->loop_depth = wait.depth;
    }
}

bool attach_watch_waits(const struct attach_watch *w) {
    struct proc_syscall call;
    return remote_thread_call(&w->thread, &call) &&
           (wait_call_numbered(call.number) != NULL || call.number == SYS_restart_syscall);
}

/* Is the call the loop's last wait, interrupted by a stop, which continues now or will continue
 * when the stop ends? No event shows that it continues. */
static bool is_wait_that_goes_on(const struct attach_watch *w, const struct proc_syscall *call) {
    return w->idle_call.pc != 0 && call->pc == w->idle_call.pc && call->sp == w->idle_call.sp &&
           (call->number == SYS_restart_syscall || w->stopped);
}

/* Counts the thread as idle from now on. The start of its present wait was not seen; or, if
 * `elsewhere`, another thread waits for the loop's descriptors in its place. */
static void rest(struct attach_watch *w, bool elsewhere, uint64_t now_ns) {
    wait_edges_rest(&w->edges, now_ns);
    w->rests = true;
    w->elsewhere = elsewhere;
    w->elsewhere_until_ns = now_ns;
}

/* Begins with the thread's present state: it waits, or it is busy. */
static void look_at_thread(struct attach_watch *w, uint64_t now_ns) {
    struct proc_syscall call = {.number = -1};
    struct cfi_registers regs;
    struct cfi_stack stack;
    const struct wait_call *wait = NULL;
    if (remote_thread_blocked(w->unwinder, &w->thread, &w->sleep, &call, &regs, &stack)) {
        wait = wait_call_numbered(call.number);
    }
    if (wait) {
        wait_begins(w, wait, call.args, &regs, &stack, true, now_ns);
    } else if (call.number == SYS_restart_syscall && is_wait_that_goes_on(w, &call)) {
        rest(w, false, now_ns);
    }
    if (!w->edges.idle) {
        wait_edges_resume(&w->edges, now_ns);
    }
}

static void take_enter(struct attach_watch *w, const struct perf_record *r,
                       const struct wait_call *call) {
    uint64_t args[6], sp = r->regs.value[CFI_SP];
    struct cfi_stack stack = {r->stack, sp, sp + r->stack_size};
    wait_call_arguments(r->trace, r->trace_size, args);
    if (r->regs.known != 0) {
        wait_begins(w, call, args, &r->regs, &stack, false, r->time_ns);
    }
}

static void take_record(struct attach_watch *w, const struct perf_record *r) {
    const struct perf_event_source *source = perf_events_source(&w->events, r);
    w->execs |= r->kind == PERF_RECORD_IS_EXEC;
    if (r->kind == PERF_RECORD_IS_LOST) {
        edge_budget_lose(&w->budget);
    }
    if (r->kind == PERF_RECORD_IS_END) {
        w->ended_ns = r->time_ns;
    }
    if (!source) {
        return;
    }
    w->last_ns = r->time_ns;
    switch (source->kind) {
    case PERF_EVENT_ENTER:
        edge_budget_enter(&w->budget, source->call, r->time_ns);
        take_enter(w, r, source->call);
        break;
    case PERF_EVENT_EXIT:
        edge_budget_exit(&w->budget, source->call);
        wait_edges_exit(&w->edges, r->time_ns);
        break;
    case PERF_EVENT_SLEEP:
        w->sleep = r->regs;
        break;
    default:
        break;
    }
}

void attach_watch_take_edges(struct attach_watch *w) {
    struct perf_record record;
    while (perf_ring_take(&w->events.edges, &w->events.layouts, &record)) {
        take_record(w, &record);
    }
}

void attach_watch_take_stacks(struct attach_watch *w) {
    struct perf_record r;
    while (perf_ring_take(&w->events.stacks, &w->events.layouts, &r)) {
        if (r.kind == PERF_RECORD_IS_SAMPLE && r.regs.known != 0 && r.stack_size > 0 &&
            r.stack_size <= PERF_STACK_BYTES) {
            w->runs = r.regs;
            w->runs_ns = r.time_ns;
            w->runs_size = r.stack_size;
            w->runs_cpu_ns = UINT64_MAX;
            memcpy(w->runs_stack, r.stack, r.stack_size);
        }
    }
    if (w->runs_cpu_ns == UINT64_MAX) {
        w->runs_cpu_ns = remote_thread_cpu_ns(&w->thread);
    }
}

/* Turns events on and off as the budget has decided. */
static void switch_events(struct attach_watch *w) {
    const struct edge_budget *b = &w->budget;
    uint32_t changed = w->calls_on ^ b->calls;
    for (unsigned i = 0; changed >> i != 0; i++) {
        if (changed >> i & 1) {
            perf_events_switch(&w->events, wait_call_at(i), b->calls >> i & 1);
        }
    }
    w->calls_on = b->calls;
    if (w->sleeps_on != b->sleeps) {
        w->sleeps_on = b->sleeps;
        perf_events_switch(&w->events, NULL, b->sleeps);
    }
}

/* Turns reading of waits on or off, as the budget decides. While reading pauses, the thread counts
 * as idle (wait_edges_miss). */
static void follow_budget(struct attach_watch *w, bool busy_long, uint64_t now_ns) {
    /* Records that were lost before reading pauses; what is lost in a pause is a part of that. */
    bool lost = w->budget.lost && !(w->budget.paused && w->budget.kept == 0);
    w->unwatched_ns += lost && now_ns > w->last_ns ? now_ns - w->last_ns : 0;
    const struct finder_candidate *loop = finder_loop(&w->edges.finder);
    uint32_t loop_calls = loop ? wait_object_calls(loop->object.kind) : 0;
    unsigned changes = edge_budget_look(&w->budget, busy_long, loop_calls, !w->edges.known, now_ns);
    switch_events(w);
    if (changes & (EDGE_BUDGET_PAUSED | EDGE_BUDGET_NARROWED)) {
        attach_watch_take_edges(w);
    }
    if (changes & EDGE_BUDGET_NARROWED) {
        wait_edges_narrow(&w->edges, w->last_ns);
    }
    if (changes & EDGE_BUDGET_PAUSED) {
        wait_edges_miss(&w->edges, w->last_ns);
        if (lost) {
            wait_edges_lose(&w->edges, now_ns);
        }
    }
    if (changes & EDGE_BUDGET_CONDITIONS) {
        finder_forget_conditions(&w->edges.finder);
    }
    if (changes & EDGE_BUDGET_RESUMED) {
        wait_edges_read(&w->edges, now_ns);
    }
    if (changes & EDGE_BUDGET_RESUMED || (changes & EDGE_BUDGET_WIDENED && !w->edges.blocks)) {
        look_at_thread(w, now_ns);
    }
}

static bool is_busy_long(const struct attach_watch *w, uint64_t now_ns) {
    return w->edges.busy && now_ns - w->edges.busy_ns >= SAMPLE_AFTER_MS * MS;
}

/* Is the thread parked while another one runs its loop? The threads of a runtime's pool, as in Go,
 * wait for one epoll instance by turns; while one waits, the others sleep on a futex, and are not
 * busy. */
static bool is_loop_elsewhere(const struct attach_watch *w, const struct proc_syscall *call) {
    const struct finder_candidate *loop = finder_loop(&w->edges.finder);
    return call->number == SYS_futex && w->edges.known && loop &&
           loop->object.kind == FINDER_EPOLL && attach_others_wait_for(&w->thread, loop->object.id);
}

/* Checks whether a thread that seems busy is in fact stopped, or idle without an event that shows
 * it, and whether a thread that was found stopped or idle still is. */
static void look_behind_events(struct attach_watch *w, uint64_t now_ns) {
    struct proc_syscall call;
    if (w->rests && w->edges.idle) {
        uint64_t from_ns = w->elsewhere_until_ns;
        w->elsewhere_ns += w->elsewhere && now_ns > from_ns ? now_ns - from_ns : 0;
        w->elsewhere_until_ns = now_ns;
        if (!attach_watch_waits(w)) {
            wait_edges_exit(&w->edges, now_ns);
        }
    }
    w->rests &= w->edges.idle;
    w->stopped = is_busy_long(w, now_ns) && !w->stopping && remote_thread_stopped(&w->thread);
    if (is_busy_long(w, now_ns) && remote_thread_call(&w->thread, &call)) {
        if (is_wait_that_goes_on(w, &call)) {
            rest(w, false, now_ns);
            w->stopped = false;
        } else if (is_loop_elsewhere(w, &call)) {
            rest(w, true, now_ns);
        }
    }
}

/* Tells w->edges the number of the interpreter's frames in the thread's present wait, once a wait,
 * if it is needed. It is read only while the thread is seen to wait. */
static void look_inside_wait(struct attach_watch *w, uint64_t now_ns) {
    struct proc_syscall before, after;
    const struct remote_unwinder *u = w->unwinder;
    if (!w->edges.blocks || w->inside_ns == w->edges.wait_ns ||
        !finder_wants_inner(&w->edges.finder, now_ns) || !remote_thread_call(&w->thread, &before) ||
        !wait_call_numbered(before.number)) {
        return;
    }
    size_t frames =
        python_linux_depth_async(u->python, remote_images_generation(u->images), w->thread.own_tid);
    if (remote_thread_call(&w->thread, &after) && after.number == before.number &&
        after.sp == before.sp && after.pc == before.pc) {
        w->inside_ns = w->edges.wait_ns;
        wait_edges_inside(&w->edges, (uint32_t)frames, now_ns);
    }
}

static void look_by_events(struct attach_watch *w, uint64_t now_ns) {
    attach_watch_take_edges(w);
    look_inside_wait(w, now_ns);
    look_behind_events(w, now_ns);
    follow_budget(w, is_busy_long(w, now_ns), now_ns);
    attach_watch_take_stacks(w);
    bool want = is_busy_long(w, now_ns);
    if (want != w->sampling) {
        w->sampling = want;
        perf_events_sample(&w->events, want ? ATTACH_COPY_MS * MS : 0);
    }
}

void attach_watch_let_go(struct attach_watch *w) {
    if (w->stopping && ptrace_release(w->thread.tid)) {
        w->stopping = false;
        w->sleeps++;
    }
}

/* Looks at the thread by samples. If the thread slept since the last look, it may have waited in
 * its loop, so its busy stretch ends here. If it did not sleep, and is in no wait now, its earlier
 * wait has ended. */
static void look_by_samples(struct attach_watch *w, uint64_t now_ns) {
    attach_watch_let_go(w);
    uint64_t sleeps = remote_thread_sleeps(&w->thread);
    bool known = sleeps != UINT64_MAX; /* false: the thread has ended */
    bool slept = known && sleeps != w->sleeps;
    w->sleeps = known ? sleeps : w->sleeps;
    if (slept || w->stopped) {
        w->stopped = !w->stopping && remote_thread_stopped(&w->thread);
        if (w->stopped) {
            return; /* the kernel counts the stop as a sleep, which says nothing of the loop */
        }
    }
    if (slept) {
        wait_edges_miss(&w->edges, now_ns);
        look_at_thread(w, now_ns);
    } else if (w->edges.blocks && !attach_watch_waits(w)) {
        wait_edges_exit(&w->edges, now_ns);
    } else if (!w->edges.known && w->edges.idle && now_ns - w->edges.edge_ns >= QUIET_MS * MS) {
        look_at_thread(w, now_ns); /* a long wait counts as several waits */
    }
    look_inside_wait(w, now_ns);
}

bool attach_watch_execs(struct attach_watch *w) {
    if (w->way == ATTACH_BY_SAMPLES) {
        w->execs |= remote_thread_program(&w->thread) != w->program;
    } else {
        /* When a thread ends, the kernel removes its events only after it has written the record
         * of the end, so the records are read after the check. */
        bool gone = perf_events_gone(&w->events);
        attach_watch_take_edges(w);
        w->execs |= gone && !w->ended_ns;
    }
    return w->execs;
}

uint64_t attach_watch_due(const struct attach_watch *w) {
    return w->way == ATTACH_BY_EVENTS ? w->budget.look_ns : UINT64_MAX;
}

void attach_watch_look(struct attach_watch *w, uint64_t now_ns) {
    remote_images_look(w->unwinder->images);
    if (w->way == ATTACH_BY_EVENTS) {
        look_by_events(w, now_ns);
    } else {
        look_by_samples(w, now_ns);
    }
}

/* ---- begin and end ---- */

static void begin_edges(struct attach_watch *w) {
    w->last_ns = stallrec_clock_ns();
    w->idle_call = (struct proc_syscall){0};
    w->stopped = w->rests = false;
    edge_budget_begin(&w->budget, w->last_ns);
    switch_events(w);
    wait_edges_begin(&w->edges, w->threshold_ns, w->way == ATTACH_BY_SAMPLES, &w->places,
                     queue_event, w, w->last_ns);
    look_at_thread(w, w->last_ns);
}

bool attach_watch_open(struct attach_watch *w, struct remote_unwinder *unwinder,
                       struct attach_others *others, const struct perf_tracing *tracing, pid_t tid,
                       uint64_t threshold_ns, const struct wait_places *places, const char **what) {
    *w = (struct attach_watch){.way = tracing ? ATTACH_BY_EVENTS : ATTACH_BY_SAMPLES,
                               .threshold_ns = threshold_ns,
                               .places = *places,
                               .unwinder = unwinder,
                               .others = others};
    *what = "/proc";
    if (!remote_thread_open(&w->thread, unwinder->process, tid)) {
        return false;
    }
    w->runs_stack = malloc(PERF_STACK_BYTES);
    if (!w->runs_stack) {
        errno = ENOMEM;
        return false;
    }
    if (tracing && !perf_events_open(&w->events, tracing, tid, what)) {
        return false;
    }
    w->sleeps = remote_thread_sleeps(&w->thread);
    w->program = remote_thread_program(&w->thread);
    begin_edges(w);
    return true;
}

bool attach_watch_restart(struct attach_watch *w, const struct perf_tracing *tracing) {
    struct perf_events events = {0};
    const char *what;
    bool ok = true;
    if (w->way == ATTACH_BY_EVENTS && perf_events_gone(&w->events)) {
        /* The new events are opened before the old ones are closed, because closing the last event
         * of a tracepoint takes the kernel long. */
        ok = perf_events_open(&events, tracing, w->thread.tid, &what);
        perf_events_close(&w->events);
        w->events = events;
        w->calls_on = 0;
        w->sleeps_on = false;
        w->way = ok ? ATTACH_BY_EVENTS : ATTACH_BY_SAMPLES;
        w->sampling = false;
    }
    w->execs = w->have_sample = w->asleep = false;
    w->sleep_seen.to_ns = 0;
    w->functions = (struct wait_functions){0};
    w->arrays = (struct wait_arrays){0};
    w->sleep.known = 0;
    w->runs_size = 0;
    w->sleeps = remote_thread_sleeps(&w->thread);
    w->program = remote_thread_program(&w->thread);
    begin_edges(w);
    return ok;
}

void attach_watch_release(struct attach_watch *w) {
    for (int i = 0; i < LET_GO_TRIES && w->stopping; i++) {
        attach_watch_let_go(w); /* the kernel also lets the thread go when this process ends */
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    }
    perf_events_close(&w->events);
    if (w->thread.process) {
        remote_thread_close(&w->thread);
    }
    free(w->queue);
    free(w->runs_stack);
    *w = (struct attach_watch){0};
}
