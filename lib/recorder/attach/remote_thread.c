/* Reads threads of another process: proc(5). */
#include "attach/remote_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/copy_linux.h"

enum {
    RULES = 16384
}; /* number of unwind rules that the unwinder caches; several threads share the rules */

static bool read_host(void *arg, uint64_t address, void *to, size_t size) {
    const struct remote_unwinder *u = arg;
    return remote_read(u->process, address, to, size);
}

static bool find_host_symbols(void *arg, struct dynamic_symbol *symbols, unsigned count) {
    const struct remote_unwinder *u = arg;
    return remote_images_symbols(u->images, symbols, count);
}

static bool find_host_image(void *arg, uint64_t address, struct rec_image *out) {
    const struct remote_unwinder *u = arg;
    return remote_images_find(u->images, address, out);
}

pid_t remote_own_tid(const struct remote_process *process, pid_t tid) {
    char text[8192];
    uint64_t id;
    int fd = remote_thread_file(process, tid, "status");
    size_t size = fd >= 0 ? remote_text(fd, text, sizeof text) : 0;
    if (fd >= 0) {
        close(fd);
    }
    bool known = size > 0 && remote_status_number(text, "NSpid:", true, &id) && id <= INT32_MAX;
    return known ? (pid_t)id : tid;
}

bool remote_unwinder_init(struct remote_unwinder *u, const struct remote_process *process,
                          uint32_t max_frames) {
    *u = (struct remote_unwinder){.process = process, .max_frames = max_frames};
    u->images = remote_images_new(process);
    u->frames = calloc(max_frames, sizeof *u->frames);
    u->stack = malloc(REMOTE_STACK_MAX);
    if (u->images) {
        struct unwind_modules modules = remote_images_modules(u->images);
        u->unwinder = unwinder_new(&modules, RULES);
    }
    struct python_host host = {u, read_host, find_host_symbols, find_host_image};
    pid_t own_id = remote_own_tid(process, process->pid);
    u->same_ids = own_id == process->pid;
    u->python = python_linux_new(&host, own_id, 0);
    if (!u->unwinder || !u->frames || !u->stack || !u->python) {
        remote_unwinder_release(u);
        return false;
    }
    return true;
}

void remote_unwinder_release(struct remote_unwinder *u) {
    unwinder_free(u->unwinder);
    remote_images_free(u->images);
    free(u->frames);
    free(u->stack);
    python_linux_free(u->python);
    *u = (struct remote_unwinder){0};
}

void remote_unwind(struct remote_unwinder *u, pid_t own_tid, const struct cfi_registers *regs,
                   const struct cfi_stack *stack, struct rec_stack *out) {
    uint32_t max = out->cap < u->max_frames ? out->cap : u->max_frames;
    enum unwind_end end;
    remote_images_look(u->images);
    size_t n = unwind_async(u->unwinder, regs, stack, u->frames, max, &end);
    n = python_linux_merge_async(u->python, remote_images_generation(u->images), own_tid, stack,
                                 u->frames, n, max, &end);
    copy_fill_async(u->frames, n, end, out);
    out->pause_ns = 0;
}

bool remote_caller(struct remote_unwinder *u, const struct cfi_registers *regs,
                   const struct cfi_stack *stack, bool beyond, struct remote_call *out) {
    enum { CALLERS = 8 };
    struct unwind_frame frames[CALLERS];
    struct rec_image image, other;
    enum unwind_end end;
    if (!cfi_knows_async(regs, CFI_PC) || !cfi_knows_async(regs, CFI_SP)) {
        return false;
    }
    size_t n = unwind_async(u->unwinder, regs, stack, frames, beyond ? CALLERS : 2, &end), at = 1;
    if (n < 2) {
        return false;
    }
    bool known = beyond && remote_images_find(u->images, regs->value[CFI_PC], &image);
    while (known && at < n && remote_images_find(u->images, frames[at].pc, &other) &&
           other.load == image.load) {
        at++;
    }
    at = at < n ? at : 1;
    const struct unwind_frame *called = &frames[at - 1];
    uint64_t entry = frames[at].cfa > frames[at].sp ? frames[at].cfa : frames[at].sp;
    *out = (struct remote_call){.address = frames[at].pc,
                                .sp = frames[at].sp,
                                .entry = entry,
                                .function = called->function ? called->function : called->pc - 1};
    return true;
}

/* ---- a thread ---- */

bool remote_thread_open(struct remote_thread *t, const struct remote_process *process, pid_t tid) {
    *t = (struct remote_thread){.process = process, .tid = tid};
    t->stat_fd = remote_thread_file(process, tid, "stat");
    int why = errno;
    t->syscall_fd = remote_thread_file(process, tid, "syscall");
    t->schedstat_fd = remote_thread_file(process, tid, "schedstat");
    t->comm_fd = remote_thread_file(process, tid, "comm");
    t->status_fd = remote_thread_file(process, tid, "status");
    t->own_tid = remote_own_tid(process, tid);
    if (t->stat_fd < 0) {
        remote_thread_close(t);
        errno = why;
        return false;
    }
    return true;
}

void remote_thread_close(struct remote_thread *t) {
    int *fds[] = {&t->syscall_fd, &t->schedstat_fd, &t->stat_fd, &t->comm_fd, &t->status_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
}

bool remote_thread_call(const struct remote_thread *t, struct proc_syscall *call) {
    char text[256];
    size_t size = remote_text(t->syscall_fd, text, sizeof text);
    return proc_parse_syscall_async(text, size, call);
}

uint64_t remote_thread_cpu_ns(const struct remote_thread *t) {
    char text[128];
    uint64_t value;
    remote_text(t->schedstat_fd, text, sizeof text);
    return remote_number(text, &value) ? value : UINT64_MAX;
}

uint64_t remote_thread_sleeps(const struct remote_thread *t) {
    static const char key[] = "\nvoluntary_ctxt_switches:\t";
    char text[8192];
    uint64_t value;
    remote_text(t->status_fd, text, sizeof text);
    const char *at = strstr(text, key);
    return at && remote_number(at + sizeof key - 1, &value) ? value : UINT64_MAX;
}

/* Reads the address at which the stack begins, field 28 of stat (proc(5)), which the kernel
 * randomises at each exec. */
uint64_t remote_thread_program(const struct remote_thread *t) {
    enum { FIELDS_BETWEEN = 25 }; /* number of spaces between the state, field 3, and field 28 */
    char text[1024];
    uint64_t value;
    remote_text(t->stat_fd, text, sizeof text);
    /* The last ')' ends the name, because the name may contain further brackets. */
    const char *at = strrchr(text, ')');
    at = at ? strchr(at, ' ') : NULL;
    for (int i = 0; at && i < FIELDS_BETWEEN; i++) {
        at = strchr(at + 1, ' ');
    }
    return at && remote_number(at + 1, &value) ? value : 0;
}

bool remote_thread_stopped(const struct remote_thread *t) {
    char text[512];
    size_t size = remote_text(t->stat_fd, text, sizeof text);
    return proc_parse_state_async(text, size) == REC_STATE_STOPPED;
}

bool remote_thread_ended(const struct remote_thread *t) {
    char text[512];
    size_t size = remote_text(t->stat_fd, text, sizeof text);
    return size == 0 || proc_parse_dead_async(text, size);
}

void remote_thread_describe(const struct remote_thread *t, struct rec_thread *out) {
    char text[512];
    size_t size = remote_text(t->stat_fd, text, sizeof text);
    out->id = t->tid;
    out->main = t->tid == t->process->pid;
    out->state = proc_parse_state_async(text, size);
    out->cpu_ns = remote_thread_cpu_ns(t);
    out->waits_for = (struct rec_wait){.owner = -1};
    size = remote_text(t->comm_fd, out->name, sizeof out->name);
    if (size > 0 && out->name[size - 1] == '\n') {
        out->name[size - 1] = '\0';
    }
}

bool remote_thread_blocked(struct remote_unwinder *u, const struct remote_thread *t,
                           const struct cfi_registers *sleep, struct proc_syscall *call,
                           struct cfi_registers *regs, struct cfi_stack *stack) {
    struct proc_syscall before, after;
    uint64_t cpu = remote_thread_cpu_ns(t), red_zone = ARCH_RED_ZONE;
    if (!remote_thread_call(t, &before) || before.sp < red_zone) {
        return false;
    }
    uint64_t lo = (before.sp - red_zone) & ~UINT64_C(7);
    size_t size = remote_read_some(u->process, lo, u->stack, REMOTE_STACK_MAX);
    if (size <= ARCH_RED_ZONE || !remote_thread_call(t, &after) ||
        !proc_same_call_async(&before, &after) || remote_thread_cpu_ns(t) != cpu) {
        return false;
    }
    bool known = sleep && sleep->known != 0 && sleep->value[CFI_SP] == before.sp &&
                 sleep->value[CFI_PC] == before.pc;
    *regs = known ? *sleep : (struct cfi_registers){.known = 0};
    cfi_set_async(regs, CFI_PC, before.pc);
    cfi_set_async(regs, CFI_SP, before.sp);
    *stack = (struct cfi_stack){u->stack, lo, lo + (size & ~(size_t)7)};
    *call = before;
    return true;
}
