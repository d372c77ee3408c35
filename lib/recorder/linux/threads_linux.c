/* Captures the process's threads: lists them by /proc/self/task, and reads them from outside or,
 * if they run, by a signal. */
#include "linux/threads_linux.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/thread_wait_linux.h"

enum {
    LISTINGS = 3,
    LIST_SIZE = 4096,
    ANSWER_MS = 20,
    BUDGET_MS = 100,
    /* offsets in struct linux_dirent64, getdents64(2) */
    ENTRY_SIZE_AT = 16,
    ENTRY_NAME_AT = 19
};

/* A thread's CPU time. */
struct thread_use {
    pid_t id;
    uint64_t cpu_ns;
    uint64_t used_ns; /* ns of CPU time since the previous reading */
};

struct threads_linux {
    const struct copy_source *watched;
    const struct lock_layout *locks;
    const struct copy_unwinder *unwinder;
    pid_t ids[THREADS_LINUX_MAX];
    uint32_t count, left_out;
    struct thread_use uses[2]
                          [THREADS_LINUX_MAX]; /* CPU times read by the last two top calls, by id */
    uint32_t use_count[2];
    unsigned latest;             /* index in `uses` of the newer times */
    bool used;                   /* threads_linux_top_async was called before */
    uint64_t read_ns, window_ns; /* read_ns: time of the last reading; window_ns: ns between the
                                    last two readings */
    char list[LIST_SIZE];
};

struct threads_linux *threads_linux_new(const struct copy_source *watched,
                                        const struct lock_layout *locks,
                                        const struct copy_unwinder *unwinder) {
    struct threads_linux *t = calloc(1, sizeof *t);
    if (t) {
        t->watched = watched;
        t->locks = locks;
        t->unwinder = unwinder;
    }
    return t;
}

void threads_linux_free(struct threads_linux *t) {
    free(t);
}

/* ---- choosing threads ---- */

/* Is the thread neither the watched one, nor the caller, nor in the list already? */
static bool is_new_async(const struct threads_linux *t, pid_t tid) {
    if (tid == t->watched->target.tid || tid == (pid_t)syscall(SYS_gettid)) {
        return false;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->ids[i] == tid) {
            return false;
        }
    }
    return true;
}

/* Adds a thread to the list. False: the thread is in the list, is the watched one or the caller,
 * or there is no room. */
static bool thread_add_async(struct threads_linux *t, pid_t tid, uint32_t max) {
    if (t->count == max || !is_new_async(t, tid)) {
        return false;
    }
    t->ids[t->count++] = tid;
    return true;
}

static int64_t owner_for_async(const struct threads_linux *t, pid_t tid) {
    struct copy_source s = {.pid = t->watched->pid};
    struct proc_syscall call = {.number = -1};
    proc_file_open_async(&s.syscall_file, tid, "syscall");
    copy_read_call_async(&s, &call);
    proc_file_close_async(&s.syscall_file);
    return lock_wait_async(t->locks, s.pid, tid, &call).owner;
}

/* Adds the thread `owner`, the thread for which that one waits, and so on, until a thread waits for
 * none or is in the list already, or the list has `max` threads. */
static void add_chain_async(struct threads_linux *t, int64_t owner, uint32_t max) {
    while (owner > 0 && owner <= INT32_MAX && thread_add_async(t, (pid_t)owner, max)) {
        owner = owner_for_async(t, (pid_t)owner);
    }
}

/* Parses the name of an entry of /proc/PID/task as a thread's id; 0: it is no id, or too large. */
static pid_t parse_id_async(const char *name, size_t size) {
    uint32_t id = 0;
    for (size_t i = 0; i < size && name[i] != '\0'; i++) {
        if (name[i] < '0' || name[i] > '9' || id > INT32_MAX / 10 - 1) {
            return 0;
        }
        id = id * 10 + (uint32_t)(name[i] - '0');
    }
    return (pid_t)id;
}

/* Adds the threads that the directory entries in t->list name; returns the number of threads that
 * they name. */
static uint32_t add_entries_async(struct threads_linux *t, size_t size, uint32_t max) {
    uint32_t listed = 0;
    for (size_t at = 0; size - at > ENTRY_NAME_AT;) {
        uint16_t entry;
        memcpy(&entry, t->list + at + ENTRY_SIZE_AT, sizeof entry);
        if (entry <= ENTRY_NAME_AT || entry > size - at) {
            break;
        }
        pid_t tid = parse_id_async(t->list + at + ENTRY_NAME_AT, entry - (size_t)ENTRY_NAME_AT);
        if (tid > 0 && is_new_async(t, tid) && !thread_add_async(t, tid, max)) {
            t->left_out++;
        }
        listed += tid > 0;
        at += entry;
    }
    return listed;
}

/* Adds the threads of /proc/self/task, which is read by system calls, because opendir and readdir
 * allocate; nothing is added if the folder cannot be opened. False: the folder's link count shows
 * more threads than were listed. */
static bool thread_list_async(struct threads_linux *t, uint32_t max) {
    struct stat sb;
    nlink_t listed = 2; /* "." and ".." */
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return true;
    }
    t->left_out = 0;
    for (long n; (n = syscall(SYS_getdents64, fd, t->list, sizeof t->list)) > 0;) {
        listed += add_entries_async(t, (size_t)n, max);
    }
    bool all = fstat(fd, &sb) != 0 || listed >= sb.st_nlink;
    close(fd);
    return all;
}

/* Adds the threads of /proc/self/task, up to `max`. The listing is repeated if threads are missing,
 * at most LISTINGS times in all, as a thread that ends during a listing can hide others. */
static void add_all_async(struct threads_linux *t, uint32_t max) {
    for (unsigned i = 0; i < LISTINGS && !thread_list_async(t, max); i++) {
    }
}

static void sort_ids_async(struct threads_linux *t) {
    for (uint32_t i = 1; i < t->count;
         i++) { /* few threads are out of order, mostly the owners in front (add_chain_async) */
        pid_t id = t->ids[i];
        uint32_t at = i;
        for (; at > 0 && t->ids[at - 1] > id; at--) {
            t->ids[at] = t->ids[at - 1];
        }
        t->ids[at] = id;
    }
}

/* ---- one thread ---- */

/* Opens, reads and closes a thread's file in /proc; returns the size read, 0 if the file cannot be
 * read, as when the thread is gone. */
static size_t read_once_async(pid_t tid, const char *name, char *buffer, size_t size) {
    struct proc_file f;
    proc_file_open_async(&f, tid, name);
    size_t n = proc_file_read_async(&f, buffer, size);
    proc_file_close_async(&f);
    return n;
}

static bool lives_async(const struct copy_source *s) {
    return syscall(SYS_tgkill, s->pid, s->target.tid, 0) == 0;
}

static bool takes_signal_async(const struct copy_source *s) {
    char text[4096];
    if (s->signal_number == 0) {
        return false; /* no thread may be asked */
    }
    size_t size = proc_file_read_async(&s->status_file, text, sizeof text);
    return !proc_parse_blocked_async(text, size, s->signal_number);
}

struct subject {
    struct copy_source source;
    struct proc_syscall call; /* the system call in which the thread is blocked */
};

/* Copies a blocked thread from outside, and any other by a signal. A thread that blocks before the
 * signal arrives is then copied from outside. */
static bool take_either_async(void *arg, bool held, struct copy *copy) {
    struct subject *subject = arg;
    struct copy_source *s = &subject->source;
    struct proc_syscall *call = &subject->call;
    *call = (struct proc_syscall){.number = -1};
    if (copy_blocked_async(s, copy, call)) {
        return true;
    }
    uint32_t answer = held ? COPY_HELD_ANSWER_MS : ANSWER_MS;
    bool runs = copy_is_running_async(s, copy_cpu_ns_async(s->clock));
    proc_file_open_async(&s->status_file, s->target.tid, "status");
    bool got = (takes_signal_async(s) && copy_running_async(s, runs, answer, 0, copy)) ||
               copy_blocked_async(s, copy, call);
    proc_file_close_async(&s->status_file);
    return got;
}

static void fill_stack_async(const struct threads_linux *t, struct subject *subject,
                             struct rec_thread *out) {
    struct copy_source *s = &subject->source;
    struct copy copy;
    proc_file_open_async(&s->syscall_file, s->target.tid, "syscall");
    if (copy_stack_async(t->unwinder, s->target.tid, take_either_async, subject, &copy,
                         &out->stack)) {
        out->waits_for = thread_wait_async(t->locks, s->pid, s->target.tid, &subject->call);
    }
    proc_file_close_async(&s->syscall_file);
}

uint32_t threads_linux_share_async(const struct threads_linux *t, pid_t tid) {
    const struct thread_use *uses = t->uses[t->latest];
    for (uint32_t i = 0; t->window_ns > 0 && i < t->use_count[t->latest]; i++) {
        if (uses[i].id == tid) {
            uint64_t permille = uses[i].used_ns * 1000 / t->window_ns;
            return permille < 1000 ? (uint32_t)permille : 1000;
        }
    }
    return 0;
}

/* Sets *out to the description of a thread, with its stack if with_stack. False: the thread is
 * gone. */
static bool thread_fill_async(const struct threads_linux *t, pid_t tid, bool with_stack,
                              struct rec_thread *out) {
    struct subject subject = {.source = {.target.tid = tid,
                                         .pid = t->watched->pid,
                                         .clock = copy_thread_clock_async(tid),
                                         .signal_number = t->watched->signal_number}};
    struct rec_stack stack = {
        .frames = out->stack.frames, .starts = out->stack.starts, .cap = out->stack.cap};
    char stat[256];
    *out = (struct rec_thread){.id = tid, .waits_for.owner = -1, .stack = stack};
    out->state = proc_parse_state_async(stat, read_once_async(tid, "stat", stat, sizeof stat));
    size_t n = read_once_async(tid, "comm", out->name, sizeof out->name - 1);
    out->name[n > 0 && out->name[n - 1] == '\n' ? n - 1 : n] = '\0';
    if (with_stack && stack.cap > 0) {
        fill_stack_async(t, &subject, out);
    }
    out->cpu_ns = copy_cpu_ns_async(subject.source.clock);
    out->cpu_permille = threads_linux_share_async(t, tid);
    return lives_async(&subject.source);
}

uint32_t threads_linux_capture_async(struct threads_linux *t, int64_t owner, struct rec_thread *out,
                                     uint32_t max, uint32_t *left_out) {
    uint64_t until = copy_cpu_ns_async(CLOCK_MONOTONIC) + BUDGET_MS * UINT64_C(1000000);
    uint32_t filled = 0;
    max = max < THREADS_LINUX_MAX ? max : THREADS_LINUX_MAX;
    t->count = t->left_out = 0;
    add_chain_async(t, owner, max);
    add_all_async(t, max);
    *left_out = t->left_out;
    sort_ids_async(t);
    for (uint32_t i = 0; i < t->count; i++) {
        bool in_time = copy_cpu_ns_async(CLOCK_MONOTONIC) < until;
        filled += thread_fill_async(t, t->ids[i], in_time, &out[filled]);
    }
    return filled;
}

/* ---- who used the processor ---- */

static void read_uses_async(struct threads_linux *t, struct thread_use *uses) {
    uint32_t n = 0;
    t->count = t->left_out = 0;
    add_all_async(t, THREADS_LINUX_MAX - 1);
    t->ids[t->count++] = t->watched->target.tid;
    sort_ids_async(t);
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t cpu_ns = copy_cpu_ns_async(copy_thread_clock_async(t->ids[i]));
        if (cpu_ns != UINT64_MAX) {
            uses[n++] = (struct thread_use){.id = t->ids[i], .cpu_ns = cpu_ns};
        }
    }
    t->use_count[t->latest] = n;
}

bool threads_linux_top_async(struct threads_linux *t, struct rec_thread *out) {
    const struct thread_use *before = t->uses[t->latest], *end = before + t->use_count[t->latest];
    bool known = t->used;
    t->latest ^= 1u;
    t->used = true;
    struct thread_use *now = t->uses[t->latest], top = {0};
    uint64_t read_ns = copy_cpu_ns_async(CLOCK_MONOTONIC);
    t->window_ns = known ? read_ns - t->read_ns : 0;
    t->read_ns = read_ns;
    read_uses_async(t, now);
    for (uint32_t i = 0; known && i < t->use_count[t->latest]; i++) {
        while (before < end && before->id < now[i].id) {
            before++;
        }
        /* A thread that did not exist at the previous call, or whose id was another thread's then,
         * has used all of its CPU time since. */
        bool same = before < end && before->id == now[i].id && before->cpu_ns <= now[i].cpu_ns;
        now[i].used_ns = now[i].cpu_ns - (same ? before->cpu_ns : 0);
        if (now[i].used_ns > top.used_ns) {
            top = now[i];
        }
    }
    return top.id != 0 && thread_fill_async(t, top.id, false, out);
}
