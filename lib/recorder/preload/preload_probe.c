/* Tries the recorder's system calls in a child, which a seccomp filter may end. */
#include "preload/preload_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linux/proc_linux.h"

enum { SIGNAL_MS = 200, /* ms to wait for the test signal */ MASK_SIZE = 8 };

/* State that the child shares with its parent. */
struct probe_board {
    volatile bool refused;       /* the kernel refuses the filter */
    const char *volatile trying; /* name of the system call that the child tries now */
    volatile bool hooks_done, all_done;
};

/* A system call with arguments like the recorder's, but without an effect. */
struct probe_call {
    const char *name;
    long number;
    unsigned long arg[6];
};

#define NO_FD   ((unsigned long)-1)
#define CALL(x) .name = #x, .number = SYS_##x
#define TEXT(s) ((unsigned long)(uintptr_t)(s))
/* The flags of a thread without CLONE_SIGHAND, so that the kernel refuses to make the thread. */
#define CLONE_ALL (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD | CLONE_SYSVSEM)

static const struct probe_call calls[] = {
    {CALL(openat), .arg = {NO_FD, TEXT("x"), O_RDONLY | O_CLOEXEC}},
    {CALL(openat), .arg = {NO_FD, TEXT("x"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600}},
    {CALL(openat), .arg = {NO_FD, TEXT("x"), O_RDONLY | O_DIRECTORY | O_CLOEXEC}},
    {CALL(read), .arg = {NO_FD}},
    {CALL(pread64), .arg = {NO_FD}},
    {CALL(write), .arg = {NO_FD}},
    {CALL(pwrite64), .arg = {NO_FD}},
    {CALL(lseek), .arg = {NO_FD, 0, SEEK_END}},
    {CALL(close), .arg = {NO_FD}},
    {CALL(fcntl), .arg = {NO_FD, F_DUPFD_CLOEXEC, 200}},
    {CALL(fcntl), .arg = {NO_FD, F_SETFD, FD_CLOEXEC}},
    {CALL(fcntl), .arg = {NO_FD, F_GETFL}},
    {CALL(fcntl), .arg = {NO_FD, F_SETLK}},
    {CALL(newfstatat), .arg = {NO_FD, TEXT("x"), 0, AT_SYMLINK_NOFOLLOW}},
    {CALL(getdents64), .arg = {NO_FD}},
    {CALL(renameat), .arg = {NO_FD, TEXT("x"), NO_FD, TEXT("x")}},
    {CALL(unlinkat), .arg = {NO_FD, TEXT("x")}},
    {CALL(fsync), .arg = {NO_FD}},
    {CALL(flock), .arg = {NO_FD, 6}},
    {CALL(fallocate), .arg = {NO_FD, 0, 0, 1}},
#ifdef SYS_rename /* newer processors have only the calls by a folder's descriptor */
    {CALL(rename), .arg = {TEXT(""), TEXT("")}},
    {CALL(unlink), .arg = {TEXT("")}},
    {CALL(mkdir), .arg = {TEXT("")}},
    {CALL(access), .arg = {TEXT("")}},
    {CALL(readlink), .arg = {TEXT("")}},
#else
    {CALL(mkdirat), .arg = {NO_FD, TEXT("x")}},
    {CALL(faccessat), .arg = {NO_FD, TEXT("x")}},
    {CALL(readlinkat), .arg = {NO_FD, TEXT("x")}},
#endif
    {CALL(mmap), .arg = {0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, NO_FD}},
    {CALL(mmap), .arg = {0, 0, PROT_READ | PROT_WRITE, MAP_SHARED, NO_FD}},
    {CALL(mprotect), .arg = {0, 0, PROT_READ | PROT_WRITE}},
    {CALL(munmap), .arg = {1}},
    {CALL(madvise), .arg = {1, 0, MADV_DONTNEED}},
    {CALL(madvise), .arg = {1, 0, MADV_DONTFORK}},
    {CALL(brk), .arg = {0}},
    {CALL(futex), .arg = {1, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, 0, 0, 1}},
    {CALL(futex), .arg = {1, FUTEX_WAIT | FUTEX_PRIVATE_FLAG}},
    {CALL(futex), .arg = {1, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, 0, 0, 1}},
#ifdef SYS_clone3
    {CALL(clone3), .arg = {0}},
#endif
    {CALL(clone), .arg = {CLONE_ALL}},
    {CALL(set_robust_list), .arg = {0}},
#ifdef SYS_rseq
    {CALL(rseq), .arg = {0}},
#endif
    {CALL(prctl), .arg = {PR_SET_NAME, 0}},
    {CALL(gettid), .arg = {0}},
    {CALL(getpid), .arg = {0}},
    {CALL(getuid), .arg = {0}},
    {CALL(geteuid), .arg = {0}},
    {CALL(uname), .arg = {0}},
    {CALL(getrandom), .arg = {0}},
    {CALL(setpriority), .arg = {NO_FD}},
    {CALL(sched_getaffinity), .arg = {0}},
    {CALL(prlimit64), .arg = {0, RLIMIT_STACK}},
    {CALL(clock_gettime), .arg = {CLOCK_PROCESS_CPUTIME_ID, 0}},
    {CALL(process_vm_readv), .arg = {NO_FD}},
    {CALL(sigaltstack), .arg = {0}},
    {CALL(rt_sigaction), .arg = {SIGURG, 0, 0, MASK_SIZE}},
    {CALL(rt_sigprocmask), .arg = {SIG_SETMASK, 0, 0, MASK_SIZE}},
    {CALL(tgkill), .arg = {NO_FD, NO_FD, 0}},
    {CALL(rt_tgsigqueueinfo), .arg = {NO_FD, NO_FD, SIGURG}},
};

/* Verdict on the process's filters, global because interposed functions have no context argument.
 * Two threads that install filters at the same time are a race of the program itself. */
static struct {
    bool probed;
    const char *any; /* name of a system call that one of the filters kills; NULL: none is known */
} filters;

static volatile sig_atomic_t signalled; /* the child's signal handler has run */

static void on_probe_signal(int number) {
    (void)number;
    signalled = 1;
}

static void try_call(struct probe_board *board, const struct probe_call *c) {
    board->trying = c->name;
    syscall(c->number, c->arg[0], c->arg[1], c->arg[2], c->arg[3], c->arg[4], c->arg[5]);
}

/* Waits for at most SIGNAL_MS until the test signal's handler has returned, without a system call
 * where the clock needs none. */
static void await_signal(struct probe_board *board) {
    struct timespec begin, now;
    board->trying = "clock_gettime";
    clock_gettime(CLOCK_MONOTONIC, &begin);
    board->trying = "rt_sigreturn";
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!signalled &&
             (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
                 SIGNAL_MS);
}

static void send_own_signal(struct probe_board *board) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGURG;
    info.si_code = SI_QUEUE;
    board->trying = "rt_tgsigqueueinfo";
    syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), SIGURG, &info);
}

/* Tries the system calls of the watched thread: waking the monitor, fstat of a descriptor and, if
 * `timed`, the clock and the return from a signal handler. */
static void try_hooks(struct probe_board *board, bool timed) {
    static uint32_t word;
    struct stat sb;
    const struct probe_call wake = {CALL(futex),
                                    .arg = {TEXT(&word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1}};
    try_call(board, &wake);
    board->trying = "newfstatat";
    fstat(-1, &sb);
    if (timed) {
        await_signal(board);
    }
}

static bool install_filter(const struct probe_filter *f) {
    long got = syscall(f->number, f->arg[0], f->arg[1], f->arg[2], f->arg[3], f->arg[4]);
    if (got > 0) {
        /* Calls that would ask the filter's listener fail once it is closed. */
        syscall(SYS_close, got);
    }
    return got >= 0;
}

/* Prepares the child before the filter: its death leaves no core, and, if `timed`, a timer will
 * send the test signal, so that no call has to. The program's own handler of SIGSYS stays. */
static void prepare_probe(bool timed) {
    struct sigaction sa = {.sa_handler = on_probe_signal};
    struct rlimit none = {0, 0};
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGSYS);
    sigaddset(&wanted, timed ? SIGALRM : SIGURG);
    setrlimit(RLIMIT_CORE, &none);
    sigaction(timed ? SIGALRM : SIGURG, &sa, NULL);
    sigprocmask(SIG_UNBLOCK, &wanted, NULL);
    if (timed) {
        struct itimerval soon = {.it_value = {0, 2000}};
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
}

/* Runs in the child: installs the filter (NULL: none), tries the system calls, and exits. */
static void run_probe(struct probe_board *board, const struct probe_filter *filter) {
    board->trying = "rt_sigaction";
    prepare_probe(filter != NULL);
    board->refused = filter && !install_filter(filter);
    if (!board->refused) {
        try_hooks(board, filter != NULL);
        board->hooks_done = true;
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            try_call(board, &calls[i]);
        }
        if (!filter) {
            send_own_signal(board);
            await_signal(board);
        }
        board->all_done = true;
    }
    /* Seccomp's strict mode allows no other call than exit to end the child. */
    syscall(SYS_exit, 0);
}

/* Forks by a raw system call, so that the child's end sends no signal. fork(2) would run fork
 * handlers, whose locks other threads may hold. */
static long fork_quietly(void) {
    return syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
}

static void await_probe(long child) {
    long got;
    do { /* waitpid(3) is not used, as it is a cancellation point and may end the thread */
        got = syscall(SYS_wait4, child, NULL, (long)__WCLONE, NULL);
    } while (got < 0 && errno == EINTR);
}

bool preload_probe(const struct probe_filter *filter, struct probe_verdict *out) {
    int saved_errno = errno;
    sigset_t all, before;
    struct probe_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        errno = saved_errno;
        return false;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* no handler of the program may run in the child */
    long child = fork_quietly();
    if (child == 0) {
        run_probe(board, filter);
    }
    if (child > 0) {
        await_probe(child);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    bool known = child > 0 && !board->refused;
    if (known) {
        out->any = board->all_done ? NULL : board->trying;
        out->hook = board->hooks_done ? NULL : board->trying;
        filters.probed = true;
        filters.any = filters.any ? filters.any : out->any;
    }
    munmap(board, sizeof *board);
    errno = saved_errno;
    return known;
}

/* Is the calling thread under a filter? Its status file is read by calls that each program makes
 * when it starts, and that the recorder makes, too. */
static bool is_filtered(void) {
    char text[4096];
    struct proc_file status;
    proc_file_open_async(&status, (pid_t)gettid(), "status");
    size_t size = proc_file_read_async(&status, text, sizeof text);
    proc_file_close_async(&status);
    return proc_parse_filtered_async(text, size);
}

const char *preload_killed_call(void) {
    struct probe_verdict verdict;
    if (!filters.probed && is_filtered()) {
        preload_probe(NULL, &verdict);
    }
    filters.probed = true;
    return filters.any;
}

bool preload_may_end(void) {
    return filters.any == NULL;
}
