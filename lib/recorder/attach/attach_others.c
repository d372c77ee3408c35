/* Captures the stacks and waits of an attached process's threads other than the watched one, and
 * the processor times of all. */
#include "attach/attach_others.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/perf_events.h"
#include "attach/wait_call.h"
#include "linux/thread_wait_linux.h"
#include "stallrec.h"

enum {
    RUNNING_PERIOD_NS =
        1000000, /* processor time of a running thread after which its stack is copied */
    RUNNING_STEP_NS = 5000000,
    RUNNING_STEPS = 10
};

void attach_others_release(struct attach_others *o) {
    free(o->uses);
    o->uses = NULL;
    o->use_count = 0;
}

/* Finds the layout of the locks in the process. A trial gives the layout of our own C library,
 * which is assumed for the process as well: the layouts of mutex and rwlock are part of the ABI,
 * and a thread's descriptor is checked before it is used. */
static void find_lock_layout(struct attach_others *o) {
    const struct remote_images *images = o->unwinder->images;
    uint64_t generation = remote_images_generation(images) + 1;
    struct dynamic_symbol gnu = {.name = "gnu_get_libc_version"};
    if (generation == o->locks_generation) {
        return;
    }
    o->locks_generation = generation;
    o->locks = (struct lock_layout){0};
    if (o->unwinder->same_ids && remote_images_symbols(images, &gnu, 1)) {
        lock_layout_probe(&o->locks);
    }
}

struct rec_wait attach_wait(struct attach_others *o, pid_t tid, const struct proc_syscall *call) {
    find_lock_layout(o);
    return thread_wait_async(&o->locks, o->unwinder->process->pid, tid, call);
}

/* Describes a thread, with its stack if it is blocked. False: the thread is gone. */
static bool fill_thread(struct attach_others *o, pid_t tid, struct rec_thread *out) {
    struct rec_stack stack = {
        .frames = out->stack.frames, .starts = out->stack.starts, .cap = out->stack.cap};
    struct remote_thread thread;
    struct proc_syscall call;
    struct cfi_registers regs;
    struct cfi_stack copy;
    *out = (struct rec_thread){.stack = stack};
    if (!remote_thread_open(&thread, o->unwinder->process, tid)) {
        return false;
    }
    remote_thread_describe(&thread, out);
    out->main = false;
    out->cpu_permille = attach_others_share(o, tid);
    if (stack.cap > 0 && remote_thread_blocked(o->unwinder, &thread, NULL, &call, &regs, &copy)) {
        remote_unwind(o->unwinder, thread.own_tid, &regs, &copy, &out->stack);
        out->waits_for = attach_wait(o, tid, &call);
    }
    remote_thread_close(&thread);
    return true;
}

/* ---- threads that run ---- */

struct running_copy {
    struct perf_events events;
    struct rec_thread *thread;
    bool done;
};

static bool lacks_running_stack(const struct rec_thread *thread) {
    return thread->state == REC_STATE_RUNNING && thread->stack.count == 0 && thread->stack.cap > 0;
}

/* Unwinds the first stack that the kernel has copied of a running thread, if it has copied one. */
static void unwind_running(struct attach_others *o, struct running_copy *copy) {
    struct perf_record r;
    while (!copy->done && perf_ring_take(&copy->events.stacks, &copy->events.layouts, &r)) {
        if (r.kind != PERF_RECORD_IS_SAMPLE || r.regs.known == 0 || r.stack_size == 0) {
            continue;
        }
        pid_t own_tid = remote_own_tid(o->unwinder->process, (pid_t)copy->thread->id);
        uint64_t sp = r.regs.value[CFI_SP];
        struct cfi_stack stack = {r.stack, sp, sp + r.stack_size};
        perf_events_sample(&copy->events, 0);
        remote_unwind(o->unwinder, own_tid, &r.regs, &stack, &copy->thread->stack);
        copy->done = true;
    }
}

static uint32_t open_running(const struct attach_others *o, struct rec_thread *threads,
                             uint32_t count, struct running_copy copies[ATTACH_RUNNING_MAX]) {
    uint32_t n = 0;
    for (uint32_t i = 0; o->by_events && i < count && n < ATTACH_RUNNING_MAX; i++) {
        struct running_copy *copy = &copies[n];
        *copy = (struct running_copy){.thread = &threads[i]};
        if (lacks_running_stack(&threads[i]) &&
            perf_events_open_stacks(&copy->events, (pid_t)threads[i].id)) {
            perf_events_sample(&copy->events, RUNNING_PERIOD_NS);
            n++;
        }
    }
    return n;
}

/* Captures the stacks of the threads that run, at most ATTACH_RUNNING_MAX, if perf events are
 * allowed. The events of all these threads are open during the same time; the kernel copies a
 * thread's stack when that thread has used RUNNING_PERIOD_NS of processor time. A thread that does
 * not use that much within RUNNING_STEPS * RUNNING_STEP_NS gets no stack. */
static void capture_running(struct attach_others *o, struct rec_thread *threads, uint32_t count) {
    struct running_copy copies[ATTACH_RUNNING_MAX];
    uint32_t n = open_running(o, threads, count, copies), left = n;
    for (int step = 0; step < RUNNING_STEPS && left > 0; step++) {
        nanosleep(&(struct timespec){.tv_nsec = RUNNING_STEP_NS}, NULL);
        left = 0;
        for (uint32_t i = 0; i < n; i++) {
            unwind_running(o, &copies[i]);
            left += !copies[i].done;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        perf_events_close(&copies[i].events);
    }
}

uint32_t attach_others_capture(struct attach_others *o, pid_t watched, struct rec_thread *out,
                               uint32_t max, uint32_t *left_out) {
    pid_t *ids = NULL;
    size_t count = remote_threads(o->unwinder->process, &ids);
    uint32_t filled = 0;
    *left_out = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == watched) {
            continue;
        }
        if (filled == max) {
            ++*left_out;
        } else {
            filled += fill_thread(o, ids[i], &out[filled]);
        }
    }
    free(ids);
    capture_running(o, out, filled);
    return filled;
}

/* ---- who used the processor ---- */

static uint64_t cpu_of(const struct remote_process *process, pid_t tid) {
    struct remote_thread thread = {.process = process, .tid = tid};
    thread.syscall_fd = thread.stat_fd = thread.comm_fd = thread.status_fd = -1;
    thread.schedstat_fd = remote_thread_file(process, tid, "schedstat");
    uint64_t cpu_ns = remote_thread_cpu_ns(&thread);
    remote_thread_close(&thread);
    return cpu_ns;
}

/* Returns the processor time in ns that the thread had used at the last call of attach_others_top;
 * 0: the thread was not seen then. now: its processor time now. */
static uint64_t used_before(const struct attach_others *o, pid_t tid, uint64_t now) {
    for (size_t i = 0; i < o->use_count; i++) {
        if (o->uses[i].tid == tid) {
            return o->uses[i].cpu_ns <= now ? o->uses[i].cpu_ns
                                            : 0; /* the id now belongs to another thread */
        }
    }
    return 0;
}

uint32_t attach_others_share(const struct attach_others *o, pid_t tid) {
    for (size_t i = 0; i < o->use_count; i++) {
        if (o->uses[i].tid == tid) {
            return o->uses[i].permille;
        }
    }
    return 0;
}

bool attach_others_top(struct attach_others *o, struct rec_thread *out) {
    pid_t *ids = NULL;
    size_t count = remote_threads(o->unwinder->process, &ids), n = 0;
    count = count < ATTACH_OTHERS_MAX ? count : ATTACH_OTHERS_MAX;
    struct attach_use *uses = calloc(count + 1, sizeof *uses);
    struct attach_use top = {0};
    uint64_t now = stallrec_clock_ns(), passed = now - o->used_ns;
    for (size_t i = 0; uses && i < count; i++) {
        uint64_t cpu_ns = cpu_of(o->unwinder->process, ids[i]);
        if (cpu_ns == UINT64_MAX) {
            continue;
        }
        uint64_t used = cpu_ns - used_before(o, ids[i], cpu_ns);
        uint32_t permille = o->used && passed > 0 ? (uint32_t)(used * 1000 / passed) : 0;
        uses[n++] = (struct attach_use){ids[i], cpu_ns, permille};
        if (o->used && used > top.cpu_ns) {
            top = (struct attach_use){ids[i], used, permille};
        }
    }
    free(ids);
    free(o->uses);
    o->uses = uses;
    o->use_count = n;
    o->used_ns = now;
    o->used = uses != NULL;
    struct remote_thread thread;
    if (top.tid == 0 || !remote_thread_open(&thread, o->unwinder->process, top.tid)) {
        return false;
    }
    remote_thread_describe(&thread, out);
    out->cpu_permille = top.permille;
    remote_thread_close(&thread);
    return true;
}

bool attach_others_wait_for(const struct remote_thread *watched, uint64_t epoll) {
    enum { THREADS_LOOKED = 64 };
    pid_t *ids = NULL;
    size_t count = remote_threads(watched->process, &ids);
    bool found = false;
    for (size_t i = 0; i < count && i < THREADS_LOOKED && !found; i++) {
        char text[256];
        struct proc_syscall call;
        int fd =
            ids[i] != watched->tid ? remote_thread_file(watched->process, ids[i], "syscall") : -1;
        size_t size = fd >= 0 ? remote_text(fd, text, sizeof text) : 0;
        const struct wait_call *wait =
            proc_parse_syscall_async(text, size, &call) ? wait_call_numbered(call.number) : NULL;
        found = wait && wait->on == WAIT_ON_EPOLL && (uint32_t)call.args[0] == epoll;
        if (fd >= 0) {
            close(fd);
        }
    }
    free(ids);
    return found;
}
