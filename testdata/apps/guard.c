/* Programs that do to themselves what a recorder inside them must survive. `guard MODE` ends with 0
 * if it went as it would without a recorder, with 77 if the system does not let it try. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "turns.h"

enum { CANNOT_TRY = 77, STALL_MS = 1500, STOP_MS = 2500, STACK = 64 * 1024 };

static atomic_bool over;

static int64_t cpu_ms_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t cpu_ms(void) {
    return cpu_ms_of(CLOCK_THREAD_CPUTIME_ID);
}

static pthread_t begin(void *(*run)(void *), void *arg) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, arg) != 0) {
        die("pthread_create");
    }
    return thread;
}

static void require(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "guard: %s\n", what);
        exit(1);
    }
}

/* ---- time that is not the program's ---- */

static int64_t *stopped_ms; /* shared with the process that stops us */

/* A process that stops this one after a while, and lets it go on later. */
static pid_t stop_later(int64_t after_ms) {
    stopped_ms =
        mmap(NULL, sizeof *stopped_ms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t us = getpid(), child = fork();
    if (child == 0) {
        usleep((useconds_t)after_ms * 1000);
        int64_t from = now_ms();
        kill(us, SIGSTOP);
        usleep(STOP_MS * 1000);
        *stopped_ms = now_ms() - from;
        kill(us, SIGCONT);
        _exit(0);
    }
    return child;
}

static void say_stall(int64_t from, int64_t to) {
    printf("duration %lld gap %lld\n", (long long)(to - from - *stopped_ms),
           (long long)*stopped_ms);
}

static void stop_while_busy(void) {
    turns(TURNS);
    pid_t helper = stop_later(500);
    turns(2);
    int64_t from = now_ms(), cpu = cpu_ms() + STALL_MS;
    while (cpu_ms() < cpu) {
        compute(10);
    }
    int64_t to = now_ms();
    turns(TURNS);
    waitpid(helper, NULL, 0);
    say_stall(from, to);
}

static void stop_while_asleep(void) {
    turns(TURNS);
    pid_t helper = stop_later(100);
    turns(20);
    waitpid(helper, NULL, 0);
    turns(TURNS);
}

static void stop_while_short(void) { /* 150 ms of work, and a stop in the middle */
    turns(TURNS);
    pid_t helper = stop_later(120);
    turns(2);
    int64_t from = now_ms();
    int64_t cpu = cpu_ms() + 150;
    while (cpu_ms() < cpu) {
        compute(10);
    }
    int64_t to = now_ms();
    turns(TURNS);
    waitpid(helper, NULL, 0);
    say_stall(from, to);
}

static void forever(void) { /* loops for ever, so that a debugger can be attached */
    puts("up");
    fflush(stdout);
    for (int64_t until = now_ms() + 30000; access("/proc/self/fd/0", F_OK) == 0;) {
        turns(TURNS);
        struct pollfd in = {.fd = 0, .events = POLLIN};
        if (now_ms() > until || (poll(&in, 1, 0) > 0)) {
            return;
        }
    }
}

/* ---- other threads ---- */

static void *end_at_once(void *arg) {
    return arg;
}

static void *start_threads(void *arg) {
    while (!over) {
        pthread_t t[4];
        unsigned n = 0;
        while (n < 4 && pthread_create(&t[n], NULL, end_at_once, NULL) == 0) {
            n++;
        }
        while (n > 0) {
            pthread_join(t[--n], NULL);
        }
    }
    return arg;
}

static void *load_libraries(void *arg) {
    static const char *const names[] = {"libthread_db.so.1", "libanl.so.1", "libresolv.so.2",
                                        "libutil.so.1"};
    for (unsigned i = 0; !over; i++) {
        void *library = dlopen(names[i % 4], RTLD_NOW);
        if (library) {
            dlclose(library);
        }
    }
    return arg;
}

static void *spin(void *arg) {
    while (!over) {
        sink = sink + 1;
    }
    return arg;
}

static void stall_beside(void *(*run)(void *), unsigned count, int64_t ms) {
    pthread_t threads[8];
    for (unsigned i = 0; i < count; i++) {
        threads[i] = begin(run, NULL);
    }
    turns(TURNS);
    int64_t from = now_ms();
    compute(ms);
    printf("duration %lld\n", (long long)(now_ms() - from));
    turns(TURNS);
    over = true;
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void short_threads(void) {
    stall_beside(start_threads, 3, 2500);
}
static void libraries(void) {
    stall_beside(load_libraries, 2, 2500);
}
static void starved(void) {
    stall_beside(spin, 4, 3000);
}

/* A library whose constructor holds the dynamic linker's lock until it is told to go on: it writes
 * to one descriptor when it is there, and reads from another. */
enum { IN_CONSTRUCTOR = 100, GO_ON = 101 };

static void *load_slow_library(void *arg) {
    require(dlopen(arg, RTLD_NOW) != NULL, "the slow library does not load");
    return arg;
}

static void linker_lock(char *path) {
    int there[2], go_on[2];
    char c;
    if (pipe(there) != 0 || pipe(go_on) != 0 || dup2(there[1], IN_CONSTRUCTOR) < 0 ||
        dup2(go_on[0], GO_ON) < 0) {
        die("pipe");
    }
    pthread_t thread = begin(load_slow_library, path);
    require(read(there[0], &c, 1) == 1, "the slow library does not say that it is there");
    turns(TURNS); /* the loop is found, named, and recorded; a wait for the lock would never end */
    compute(600);
    require(write(go_on[1], "", 1) == 1, "the slow library cannot be told to go on");
    pthread_join(thread, NULL);
    turns(TURNS);
}

static void *cancel_main(void *main_thread) {
    usleep(400000);
    pthread_cancel(*(pthread_t *)main_thread);
    pthread_join(*(pthread_t *)main_thread, NULL);
    require(over, "the cancelled thread's handlers did not run");
    puts("cancelled");
    exit(0);
}

static void on_cancel(void *arg) {
    (void)arg;
    over = true;
}

static void cancel(void) {
    static pthread_t self;
    self = pthread_self();
    begin(cancel_main, &self);
    pthread_cleanup_push(on_cancel, NULL);
    turns(1000);
    pthread_cleanup_pop(0);
    require(false, "poll is no cancellation point");
}

/* ---- signals ---- */

static void blocked_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    turns(TURNS);
    sigprocmask(SIG_BLOCK, &set, NULL);
    compute(STALL_MS);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    turns(TURNS);
}

OWN_FRAME static void compute_in_handler(void) {
    compute(STALL_MS);
    KEEP_FRAME();
}

static void on_user_signal(int sig) {
    (void)sig;
    compute_in_handler();
}

static void stall_on_alternate_stack(size_t size) {
    /* No memory can be used below the stack, so that an overflow ends the program. */
    char *memory = mmap(NULL, 4096 + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + 4096, STACK, PROT_READ | PROT_WRITE) != 0) {
        die("mmap");
    }
    stack_t stack = {.ss_sp = memory + 4096, .ss_size = size};
    struct sigaction sa = {.sa_handler = on_user_signal, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &sa, NULL) != 0) {
        die("sigaltstack");
    }
    turns(TURNS);
    raise(SIGUSR1);
    turns(TURNS);
}

static void alternate_stack(void) {
    stall_on_alternate_stack(STACK);
}

/* An alternate stack with room for one signal, and hardly more. */
static void small_alternate_stack(void) {
    size_t frame = getauxval(51 /* AT_MINSIGSTKSZ, Linux 5.14 */);
    stall_on_alternate_stack((frame > 2048 ? frame : 2048) + 4096);
}

static atomic_uint urgent, foreign;

static void on_urgent(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)context;
    urgent++;
    foreign += info->si_code != SI_TKILL && info->si_code != SI_USER;
}

static void on_urgent_plain(int sig) {
    (void)sig;
    urgent++;
}

static void raise_urgent(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        compute(10);
        raise(SIGURG);
    }
}

static void own_signal(bool before, bool plain) {
    struct sigaction sa = {.sa_sigaction = on_urgent, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (!before) {
        turns(TURNS);
    }
    if (plain) {
        signal(SIGURG, on_urgent_plain);
    } else {
        sigaction(SIGURG, &sa, NULL);
    }
    turns(TURNS);
    raise_urgent(100);
    turns(TURNS);
    require(urgent == 100, "a signal was lost, or came that nobody had sent");
    require(foreign == 0, "a signal of the recorder's reached the program");
}

static void own_signal_before(void) {
    own_signal(true, false);
}
static void own_signal_after(void) {
    own_signal(false, false);
}
static void own_signal_plain(void) {
    own_signal(true, true);
}

static void end_by_signal(int sig) {
    (void)sig;
    _exit(3);
}

/* Handles all signals as top(1) does, also those that have no effect by default. */
static void all_signals(void) {
    for (int sig = 1; sig <= SIGRTMAX; sig++) {
        if (sig != SIGCHLD) {
            signal(sig, end_by_signal);
        }
    }
    turns(TURNS);
    compute(STALL_MS);
    turns(TURNS);
}

static void signal_by_descriptor(void) {
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    turns(TURNS);
    compute(STALL_MS);
    turns(TURNS);
    /* The recorder may have left one of its own signals, SIGURG, which only says "urgent data". */
    while (read(fd, &info, sizeof info) == sizeof info) {
        foreign++;
    }
    require(foreign <= 1, "signals of the recorder's pile up");
    raise(SIGURG);
    require(read(fd, &info, sizeof info) == sizeof info, "signalfd has lost a signal");
    raise(SIGURG);
    require(sigwaitinfo(&set, NULL) == SIGURG, "sigwait has lost a signal");
}

static atomic_bool parked;

static void park(int sig) {
    (void)sig;
    parked = true;
    while (parked && !over) {
        sched_yield();
    }
}

static void count_profile(int sig) {
    (void)sig;
    urgent++;
}

/* A profiler that parks the main thread for 3 ms, again and again. */
static void *park_main(void *main_thread) {
    while (!over) {
        pthread_kill(*(pthread_t *)main_thread, SIGUSR2);
        for (int i = 0; i < 20 && !parked && !over; i++) {
            usleep(500);
        }
        usleep(3000);
        parked = false;
        usleep(7000);
    }
    return NULL;
}

static void profilers(void) {
    pthread_t self = pthread_self();
    struct sigaction sa = {.sa_handler = park, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 5000}, {0, 5000}}; /* each 5 ms of processor time */
    int64_t from = cpu_ms_of(CLOCK_PROCESS_CPUTIME_ID);
    sigaction(SIGUSR2, &sa, NULL);
    sa.sa_handler = count_profile;
    sigaction(SIGPROF, &sa, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    pthread_t thread = begin(park_main, &self);
    stall(STALL_MS);
    over = true;
    pthread_join(thread, NULL);
    /* Fewer signals come than the timer has periods, as the kernel's ticks are coarse and pending
     * signals of a kind count once. */
    require(urgent > (cpu_ms_of(CLOCK_PROCESS_CPUTIME_ID) - from) / 5 / 15,
            "the profiler's timer went silent");
}

/* ---- a system that refuses ---- */

#define REFUSE(number)                                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void refuse_calls(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_process_vm_readv),
        REFUSE(SYS_rt_tgsigqueueinfo),
        REFUSE(SYS_tgkill),
        REFUSE(SYS_setpriority),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        exit(CANNOT_TRY);
    }
}

static void sandbox_before(void) {
    refuse_calls();
    stall(STALL_MS);
}

static void sandbox_after(void) {
    turns(TURNS);
    refuse_calls();
    stall(STALL_MS);
}

static void no_proc(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        umount2("/proc", MNT_DETACH) != 0 || access("/proc/self", F_OK) == 0) {
        exit(CANNOT_TRY);
    }
    stall(STALL_MS);
}

/* Turns of a loop that needs no new descriptor, as it has one already. */
static void turns_of(int fd, int n) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int i = 0; i < n; i++) {
        poll(&p, 1, TURN_MS);
    }
}

static void no_descriptors(bool before) {
    int ends[2], taken[256];
    unsigned n = 0;
    struct rlimit limit = {128, 128};
    if (pipe(ends) != 0) {
        die("pipe");
    }
    if (!before) {
        turns_of(ends[0], TURNS);
    }
    setrlimit(RLIMIT_NOFILE, &limit);
    while (n < 256 && (taken[n] = dup(ends[0])) >= 0) {
        n++;
    }
    for (unsigned i = 0; i < 2; i++) {
        turns_of(ends[0], TURNS);
        compute(STALL_MS);
        turns_of(ends[0], 20);
        while (n > 0) {
            close(taken[--n]);
        }
    }
}

static void descriptors_used_up_before(void) {
    no_descriptors(true);
}
static void descriptors_used_up_after(void) {
    no_descriptors(false);
}

static void no_memory(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) {
        exit(CANNOT_TRY);
    }
    fclose(f);
    rlim_t size = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64 << 10);
    struct rlimit limit = {size, size};
    setrlimit(RLIMIT_AS, &limit);
    stall(STALL_MS);
}

/* Checks the descriptors that the recorder holds in this process: they have high numbers, are few,
 * and are closed by an exec. */
static void descriptors(void) {
    enum { MAX = 1024 };
    bool inherited[MAX];
    unsigned ours = 0;
    for (int fd = 0; fd < MAX; fd++) {
        inherited[fd] = fcntl(fd, F_GETFD) >= 0;
    }
    int before = dup(0), after;
    close(before);
    turns(TURNS);
    compute(400);
    turns(5 * TURNS); /* the dump is written */
    after = dup(0);
    close(after);
    require(after == before, "the lowest free descriptor is taken");
    for (int fd = 0; fd < MAX; fd++) {
        int flags = inherited[fd] ? -1 : fcntl(fd, F_GETFD);
        require(flags < 0 || (flags & FD_CLOEXEC) != 0, "a descriptor is kept over an exec");
        ours += flags >= 0;
    }
    printf("descriptors %u\n", ours);
    require(ours <= 8, "too many descriptors");
}

static void close_everything(void) {
    turns(TURNS);
    for (int round = 0; round < 2; round++) {
        for (int fd = 3; fd < 1024; fd++) {
            close(fd);
        }
        stall(STALL_MS);
    }
}

static void stall_without_descriptors(void (*close_all)(void)) {
    close_all();
    stall(STALL_MS);
    close_all();
    stall(STALL_MS);
}

static void close_range_of_all(void) {
    if (syscall(SYS_close_range, 3, ~0U, 0) != 0) {
        exit(CANNOT_TRY); /* Linux before 5.9 */
    }
}

static void close_range_in_the_loop(void) {
    turns(TURNS);
    stall_without_descriptors(close_range_of_all);
}

static void close_from_three(void) {
#if __GLIBC_PREREQ(2, 34)
    closefrom(3);
#else
    exit(CANNOT_TRY);
#endif
}

static void closefrom_in_the_loop(void) {
    turns(TURNS);
    stall_without_descriptors(close_from_three);
}

enum { HIGH = 100, FDS = 1024 };

static bool is_the_report(int fd) {
    char path[32], target[32] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof target - 1) > 0 && strstr(target, "memfd:stallrec");
}

/* Counts the recorder's descriptors in the list of this process's descriptors, by which programs
 * find what they close or pass on, and checks each of them. The first call notes the caller's own
 * descriptors as known; they do not count. */
static unsigned list_descriptors(bool known[FDS], bool first) {
    unsigned listed = 0;
    DIR *folder = opendir("/proc/self/fd");
    require(folder != NULL, "/proc/self/fd");
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        int fd = atoi(e->d_name);
        if (fd == dirfd(folder) || fd >= FDS || *e->d_name == '.') {
            continue;
        }
        known[fd] |= first && !is_the_report(fd);
        if (!known[fd]) {
            require(fd >= HIGH, "one of the recorder's descriptors is low");
            require((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "one is kept over an exec");
            require(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0, "one cannot be used");
            listed++;
        }
    }
    closedir(folder);
    return listed;
}

static void descriptors_listed(void) {
    bool known[FDS] = {false};
    printf("descriptors %u before\n", list_descriptors(known, true));
    turns(TURNS);
    printf("descriptors %u in the loop\n", list_descriptors(known, false));
    stall(STALL_MS);
    require(list_descriptors(known, false) <= 8, "too many descriptors");
}

static void coroutine_body(void) {
    compute_in_handler();
}

static void coroutine(void) {
    ucontext_t here, there;
    turns(TURNS);
    if (getcontext(&there) != 0) {
        die("getcontext");
    }
    there.uc_stack.ss_sp = malloc(STACK);
    there.uc_stack.ss_size = STACK;
    there.uc_link = &here;
    makecontext(&there, coroutine_body, 0);
    swapcontext(&here, &there);
    turns(TURNS);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"stop-while-busy", stop_while_busy},
             {"stop-while-asleep", stop_while_asleep},
             {"stop-while-short", stop_while_short},
             {"forever", forever},
             {"short-threads", short_threads},
             {"libraries", libraries},
             {"starved", starved},
             {"cancel", cancel},
             {"blocked-signal", blocked_signal},
             {"alternate-stack", alternate_stack},
             {"small-alternate-stack", small_alternate_stack},
             {"own-signal-before", own_signal_before},
             {"own-signal-after", own_signal_after},
             {"own-signal-plain", own_signal_plain},
             {"all-signals", all_signals},
             {"signal-by-descriptor", signal_by_descriptor},
             {"profilers", profilers},
             {"sandbox-before", sandbox_before},
             {"sandbox-after", sandbox_after},
             {"no-proc", no_proc},
             {"no-descriptors-before", descriptors_used_up_before},
             {"no-descriptors-after", descriptors_used_up_after},
             {"no-memory", no_memory},
             {"descriptors", descriptors},
             {"close-everything", close_everything},
             {"close-range", close_range_in_the_loop},
             {"closefrom", closefrom_in_the_loop},
             {"descriptors-listed", descriptors_listed},
             {"coroutine", coroutine}};

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (argc > 2 && strcmp(mode, "linker-lock") == 0) {
        linker_lock(argv[2]);
        return 0;
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(mode, modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    }
    fprintf(stderr, "guard: no mode '%s'\n", mode);
    return 2;
}
