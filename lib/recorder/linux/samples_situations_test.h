/* The situations in which samples_test.c, the one file that includes this, samples a thread. A leaf
 * function sets `ready` when it is about to begin, and returns soon after `stop` is set; release()
 * wakes leaves that are blocked. */
#ifndef STALLREC_SAMPLES_SITUATIONS_TEST_H
#define STALLREC_SAMPLES_SITUATIONS_TEST_H

#include "unwind/unwind_situation_test.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_bool ready, stop;
static atomic_uint early; /* number of waits that ended with EINTR */

/* ---- what blocked leaves wait for ---- */

static struct {
    int pipe[2], epoll;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    sem_t sem, held;
    pthread_t holder;
} waits;

static void *hold_mutex(void *unused) {
    (void)unused;
    pthread_mutex_lock(&waits.mutex);
    sem_post(&waits.held);
    while (!stop) {
        usleep(500);
    }
    pthread_mutex_unlock(&waits.mutex);
    return NULL;
}

static void must(bool ok, const char *what) {
    if (!ok) {
        perror(what);
        abort();
    }
}

static void *throwing; /* throw.so */

/* Loads a library from the folder SOAK_LIBRARIES; NULL if it cannot be loaded. */
static void *load(const char *name) {
    char path[4096];
    const char *folder = getenv("SOAK_LIBRARIES");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "/nonexistent", name);
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

static void prepare(void) {
    struct epoll_event ev = {.events = EPOLLIN};
    must(pipe(waits.pipe) == 0 && (waits.epoll = epoll_create1(0)) >= 0 &&
             epoll_ctl(waits.epoll, EPOLL_CTL_ADD, waits.pipe[0], &ev) == 0,
         "pipe");
    pthread_mutex_init(&waits.mutex, NULL);
    pthread_cond_init(&waits.cond, NULL);
    sem_init(&waits.sem, 0, 0);
    sem_init(&waits.held, 0, 0);
    must(pthread_create(&waits.holder, NULL, hold_mutex, NULL) == 0, "pthread_create");
    sem_wait(&waits.held);
}

static void release(void) {
    pthread_cond_broadcast(&waits.cond);
    sem_post(&waits.sem);
    must(write(waits.pipe[1], "x", 1) == 1, "write");
}

static void clean_up(void) {
    pthread_join(waits.holder, NULL);
    close(waits.pipe[0]);
    close(waits.pipe[1]);
    close(waits.epoll);
    sem_destroy(&waits.sem);
    sem_destroy(&waits.held);
}

/* ---- blocked ---- */

NOINLINE static void in_mutex(struct situation *s) {
    ready = true;
    pthread_mutex_lock(&waits.mutex);
    pthread_mutex_unlock(&waits.mutex);
    s->sink++;
}
NOINLINE static void in_sem(struct situation *s) {
    ready = true;
    early += sem_wait(&waits.sem) != 0;
    s->sink++;
}
NOINLINE static void in_cond(struct situation *s) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    ready = true;
    pthread_mutex_lock(&own);
    while (!stop) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec++;
        pthread_cond_timedwait(&waits.cond, &own, &t);
    }
    pthread_mutex_unlock(&own);
    s->sink++;
}
NOINLINE static void in_read(struct situation *s) {
    char c;
    ready = true;
    early += read(waits.pipe[0], &c, 1) < 0;
    s->sink++;
}
NOINLINE static void in_poll(struct situation *s) {
    struct pollfd p = {.fd = waits.pipe[0], .events = POLLIN};
    ready = true;
    early += poll(&p, 1, -1) < 0;
    s->sink++;
}
NOINLINE static void in_epoll(struct situation *s) {
    struct epoll_event ev;
    ready = true;
    early += epoll_wait(waits.epoll, &ev, 1, -1) < 0;
    s->sink++;
}
NOINLINE static void in_select(struct situation *s) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(waits.pipe[0], &set);
    ready = true;
    early += select(waits.pipe[0] + 1, &set, NULL, NULL, NULL) < 0;
    s->sink++;
}
NOINLINE static void in_nanosleep(struct situation *s) {
    ready = true;
    while (!stop) {
        struct timespec t = {0, 400000000};
        early += nanosleep(&t, NULL) != 0;
    }
    s->sink++;
}
NOINLINE static void in_read_without_signals(struct situation *s) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    in_read(s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- in and out of the kernel ---- */

NOINLINE static void in_short_sleeps(struct situation *s) {
    struct timespec t = {0, 20000};
    ready = true;
    while (!stop) {
        nanosleep(&t, NULL);
        s->sink++;
    }
}
NOINLINE static void in_calls(struct situation *s) {
    ready = true;
    while (!stop) {
        s->sink += (uint64_t)syscall(SYS_getppid);
        s->sink += (uint64_t)sched_yield();
    }
}
NOINLINE static void in_page_faults(struct situation *s) {
    enum { SIZE = 1 << 20 };
    ready = true;
    while (!stop) {
        char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(p != MAP_FAILED, "mmap");
        for (size_t i = 0; i < SIZE; i += 4096) {
            p[i] = 1;
        }
        munmap(p, SIZE);
        s->sink++;
    }
}
NOINLINE static void in_stdio(struct situation *s) {
    FILE *f = fopen("/dev/null", "w");
    must(f != NULL, "/dev/null");
    ready = true;
    while (!stop) {
        s->sink += (uint64_t)fprintf(f, "%d %s %f\n", 12345, "text", 3.25);
        fflush(f);
    }
    fclose(f);
}
NOINLINE static void in_spawn(struct situation *s) {
    char *const argv[] = {(char *)(uintptr_t) "true", NULL};
    ready = true;
    while (!stop) {
        pid_t pid;
        int status;
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL) == 0) {
            waitpid(pid, &status, 0);
        }
        s->sink++;
    }
}
NOINLINE static void in_fork(struct situation *s) {
    ready = true;
    while (!stop) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        s->sink++;
    }
}
static void *end_at_once(void *arg) {
    return arg;
}
NOINLINE static void in_thread_churn(struct situation *s) {
    ready = true;
    while (!stop) {
        pthread_t t;
        if (pthread_create(&t, NULL, end_at_once, NULL) == 0) {
            pthread_join(t, NULL);
        }
        s->sink++;
    }
}

/* ---- running: libraries ---- */

NOINLINE static void in_spin(struct situation *s) {
    ready = true;
    while (!stop) {
        s->sink++;
    }
}
NOINLINE static void in_malloc(struct situation *s) {
    ready = true;
    while (!stop) {
        void *p[16];
        for (unsigned i = 0; i < 16; i++) {
            p[i] = malloc(i == 15 ? 300000 : 24 + i * 400);
        }
        for (unsigned i = 0; i < 16; i++) {
            free(p[i]);
        }
        s->sink++;
    }
}
NOINLINE static void in_memcpy(struct situation *s) {
    static char a[256 * 1024], b[256 * 1024];
    ready = true;
    while (!stop) {
        memcpy(a, b, sizeof a - s->sink % 4096);
        memset(b, (int)s->sink, sizeof b / 2);
        s->sink += strlen(a) + (uint64_t)memcmp(a, b, sizeof a);
        s->sink++;
    }
}
static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}
NOINLINE static void in_qsort(struct situation *s) {
    static int values[4096];
    ready = true;
    while (!stop) {
        for (unsigned i = 0; i < 4096; i++) {
            values[i] = (int)(i * 2654435761u >> 7);
        }
        qsort(values, 4096, sizeof *values, compare_ints);
        s->sink++;
    }
}
NOINLINE static void in_vdso(struct situation *s) {
    struct timespec ts;
    ready = true;
    while (!stop) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        s->sink += (uint64_t)ts.tv_nsec;
    }
}
NOINLINE static void in_math(struct situation *s) {
    double x = 1;
    ready = true;
    while (!stop) {
        x = sin(x) + exp(-x) + pow(x, 1.1);
        s->sink += (uint64_t)(x > 2);
    }
}
/* Calls small functions of libc, so that much of the time is spent in the linkage table. */
NOINLINE static void in_plt(struct situation *s) {
    static char text[] = "abcdef";
    ready = true;
    while (!stop) {
        s->sink += (uint64_t)labs((long)s->sink) + strlen(text) +
                   (uint64_t)(strchr(text, 'd') - text) + (uint64_t)gettid();
    }
}
NOINLINE static void in_uncontended_locks(struct situation *s) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    ready = true;
    while (!stop) {
        pthread_mutex_lock(&own);
        s->sink++;
        pthread_mutex_unlock(&own);
    }
}

/* ---- running: shapes of frames ---- */

NOINLINE static uint64_t saves_nothing(uint64_t x) {
    return x * 3 + 1;
}
NOINLINE static uint64_t saves_all(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    uint64_t e = saves_nothing(a), f = saves_nothing(b), g = saves_nothing(c);
    uint64_t h = saves_nothing(d), i = saves_nothing(a ^ b), j = saves_nothing(c ^ d);
    return saves_nothing(a + e) + saves_nothing(b + f) + saves_nothing(c + g) +
           saves_nothing(d + h) + i * j;
}
/* Makes calls that are so short that most samples fall in prologues and epilogues. */
NOINLINE static void in_prologues(struct situation *s) {
    ready = true;
    while (!stop) {
        s->sink = saves_all(s->sink, 1, 2, 3) + saves_nothing(s->sink);
    }
}
NOINLINE static uint64_t with_alloca(uint64_t n) {
    volatile char *p = __builtin_alloca(n % 2000 + 16);
    p[n % 16] = 1;
    return saves_nothing(n) + (uint64_t)p[n % 16];
}
NOINLINE static void in_alloca(struct situation *s) {
    ready = true;
    while (!stop) {
        s->sink += with_alloca(s->sink % 4096);
    }
}
NOINLINE static uint64_t recurse(unsigned n) {
    volatile uint64_t here = n;
    return n == 0 ? 1 : recurse(n - 1) + here;
}
NOINLINE static void in_recursion(struct situation *s) {
    ready = true;
    while (!stop) {
        s->sink += recurse(200);
    }
}
NOINLINE static uint64_t fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
NOINLINE static void in_tree_recursion(struct situation *s) {
    ready = true;
    while (!stop) {
        s->sink += fibonacci(15);
    }
}
/* These three functions end in jumps instead of calls, before which each has given up its frame. */
static uint64_t tail_c(uint64_t n);
NOINLINE static uint64_t tail_b(uint64_t n) {
    return tail_c(n ^ 5);
}
NOINLINE static uint64_t tail_a(uint64_t n) {
    return n % 3 ? tail_b(n + 1) : tail_c(n + 2);
}
NOINLINE static uint64_t tail_c(uint64_t n) {
    return n > 16 ? tail_a(n / 2) : n;
}
NOINLINE static void in_tail_calls(struct situation *s) {
    ready = true;
    while (!stop) {
        s->sink += tail_a(s->sink + 100000);
    }
}
NOINLINE static uint64_t through_pointer(uint64_t (*f)(uint64_t), uint64_t n) {
    return f(n) + 1;
}
NOINLINE static void in_pointers(struct situation *s) {
    uint64_t (*const f[])(uint64_t) = {saves_nothing, with_alloca, tail_a};
    ready = true;
    while (!stop) {
        s->sink += through_pointer(f[s->sink % 3], s->sink % 1000);
    }
}
static jmp_buf back;
NOINLINE static void jump_at(unsigned n) {
    volatile char room[100];
    room[n % 100] = 1;
    if (n > 0) {
        jump_at(n - 1);
    } else if (room[0] == 1) { /* this is always true */
        longjmp(back, 1);
    }
    room[n % 100]++;
}
NOINLINE static void in_longjmp(struct situation *s) {
    ready = true;
    while (!stop) {
        if (setjmp(back) == 0) {
            jump_at(12);
        }
        s->sink++;
    }
}

/* Runs the C runtime's own unwinder over the stack, as an exception does. */
NOINLINE static void in_unwinder(struct situation *s) {
    ready = true;
    while (!stop) {
        void *frames[64];
        s->sink += (uint64_t)backtrace(frames, 64);
    }
}

/* Throws C++ exceptions through frames with and without handlers, in a library of
 * scripts/soak/samples, which is built where there is a C++ compiler. */
NOINLINE static void in_exceptions(struct situation *s) {
    int (*throw_and_catch)(int) = NULL;
    void *symbol = dlsym(throwing, "throw_and_catch");
    memcpy(&throw_and_catch, &symbol, sizeof throw_and_catch);
    ready = true;
    while (!stop) {
        s->sink += (uint64_t)(throw_and_catch((int)(s->sink % 8)) != 0) + 1;
    }
}

/* ---- running: other stacks and signals ---- */

static void burn(void) {
    for (volatile unsigned i = 0; i < 2000; i++) {
    }
}
static void burn_on_signal(int number) {
    (void)number;
    burn();
}
static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &sa, NULL);
}
NOINLINE static void in_handlers(struct situation *s) {
    handle(SIGUSR1, burn_on_signal, 0);
    ready = true;
    while (!stop) {
        raise(SIGUSR1);
        s->sink++;
    }
    handle(SIGUSR1, SIG_DFL, 0);
}
static void raise_on_signal(int number) {
    (void)number;
    raise(SIGUSR1);
    burn();
}
NOINLINE static void in_nested_handlers(struct situation *s) {
    handle(SIGUSR1, burn_on_signal, 0);
    handle(SIGUSR2, raise_on_signal, 0);
    ready = true;
    while (!stop) {
        raise(SIGUSR2);
        s->sink++;
    }
    handle(SIGUSR1, SIG_DFL, 0);
    handle(SIGUSR2, SIG_DFL, 0);
}
NOINLINE static void in_alternate_stack(struct situation *s) {
    static char room[64 * 1024];
    stack_t mine = {.ss_sp = room, .ss_size = sizeof room}, old;
    sigaltstack(&mine, &old);
    handle(SIGUSR1, burn_on_signal, SA_ONSTACK);
    ready = true;
    while (!stop) {
        raise(SIGUSR1);
        burn();
        s->sink++;
    }
    handle(SIGUSR1, SIG_DFL, 0);
    sigaltstack(&old, NULL);
}
static ucontext_t routine, caller;
static void routine_main(void) {
    for (;;) {
        burn();
        swapcontext(&routine, &caller);
    }
}
NOINLINE static void in_coroutines(struct situation *s) {
    static char room[64 * 1024];
    getcontext(&routine);
    routine.uc_stack.ss_sp = room;
    routine.uc_stack.ss_size = sizeof room;
    makecontext(&routine, routine_main, 0);
    ready = true;
    while (!stop) {
        swapcontext(&caller, &routine);
        burn();
        s->sink++;
    }
}
NOINLINE static void in_spin_without_signals(struct situation *s) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    in_spin(s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
static void nothing_on_signal(int number) {
    (void)number;
}
/* The program itself uses a signal, a thousand times a second. */
NOINLINE static void in_timer_signals(struct situation *s) {
    struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    ev._sigev_un._tid = gettid();
    handle(SIGUSR1, nothing_on_signal, SA_RESTART);
    must(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0, "timer_create");
    timer_settime(timer, 0, &every, NULL);
    in_malloc(s);
    timer_delete(timer);
    handle(SIGUSR1, SIG_DFL, 0);
}

/* ---- libraries that come and go ---- */

NOINLINE static void in_dlopen(struct situation *s) {
    static const char *const names[] = {"libutil.so.1", "libanl.so.1", "libresolv.so.2"};
    ready = true;
    while (!stop) {
        void *lib[3];
        for (unsigned i = 0; i < 3; i++) {
            lib[i] = dlopen(names[(s->sink + i) % 3], i ? RTLD_LAZY : RTLD_NOW);
        }
        for (unsigned i = 0; i < 3; i++) {
            if (lib[i]) {
                dlclose(lib[i]);
            }
        }
        s->sink++;
    }
}
/* Loads libraries that the build made, which take each other's place in memory, and whose first
 * calls are bound lazily. SOAK_LIBRARIES is a folder with work0.so to work7.so. */
NOINLINE static void in_libraries(struct situation *s) {
    ready = true;
    while (!stop) {
        char name[32];
        snprintf(name, sizeof name, "work%u.so", (unsigned)(s->sink % 8));
        void *lib = load(name);
        must(lib != NULL, name);
        int (*work)(int) = NULL;
        void *symbol = dlsym(lib, "work");
        memcpy(&work, &symbol, sizeof work);
        s->sink += (uint64_t)work(20) != 0;
        dlclose(lib);
        s->sink++;
    }
}

#endif
