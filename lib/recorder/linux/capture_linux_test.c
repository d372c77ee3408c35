/* Tests the capture of a thread that runs, sleeps, exits, or loads and unloads libraries. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linux/capture_linux.h"
#include "linux/forbid_allocation_test.h"
#include "linux/signal_linux.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum { DEPTH = 20, FRAMES = 256 };

/* A thread that makes a capture of itself, then goes DEPTH frames deep and calls `leaf` there. */
struct target {
    void (*leaf)(struct target *);
    void *expected[DEPTH];
    struct capture_linux *capture;
    struct rec_capture table;
    struct stallrec_loop loop;
    atomic_bool ready, stop;
    pthread_t thread;
    pthread_mutex_t mutex;
    sem_t sem;
    int pipe[2], epoll;
    atomic_uint early; /* number of waits that ended before their time */
    atomic_ulong work;
    bool block_signals;
};

/* ---- the target ---- */

NOINLINE static void go_deep(struct target *t, unsigned level);

/* A function whose frame's size is known only at run time, so that the frame is addressed through
 * the frame pointer. */
NOINLINE static void go_dynamic(struct target *t, unsigned level) {
    t->expected[level] = __builtin_return_address(0);
    volatile char *p = __builtin_alloca(32 + level);
    p[0] = 1;
    go_deep(t, level + 1);
    t->work += (unsigned long)p[0];
}

NOINLINE static void go_deep(struct target *t, unsigned level) {
    t->expected[level] = __builtin_return_address(0);
    volatile char room[40];
    room[level] = 1;
    if (level + 1 == DEPTH) {
        t->leaf(t);
    } else if (level % 5 == 2) {
        go_dynamic(t, level + 1);
    } else {
        go_deep(t, level + 1);
    }
    t->work += (unsigned long)room[level];
}

static void *target_main(void *arg) {
    struct target *t = arg;
    if (t->block_signals) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    }
    assert_int_equal(capture_linux_new(&t->capture, 0, FRAMES, &t->loop), STALLREC_OK);
    t->table = capture_linux_table(t->capture);
    go_deep(t, 0);
    return NULL;
}

static void await_ready(struct target *t) {
    while (!t->ready) {
        usleep(200);
    }
    usleep(5000); /* by then the thread mostly does what it was about to do when it set `ready` */
}

/* Waits until the leaf's system call has begun, for at most about 10 s. */
static void await_blocked(struct target *t) {
    struct rec_thread thread = {0};
    for (unsigned i = 0; i < 5000 && thread.state != REC_STATE_WAITING; i++) {
        usleep(2000);
        assert_true(t->table.main_thread(t->table.ctx, &thread));
    }
    assert_int_equal(thread.state, REC_STATE_WAITING);
}

static struct target *start(void (*leaf)(struct target *), bool block_signals) {
    struct target *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->leaf = leaf;
    t->block_signals = block_signals;
    assert_int_equal(pipe(t->pipe), 0);
    t->epoll = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->pipe[0], &ev), 0);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_mutex_lock(&t->mutex);
    sem_init(&t->sem, 0, 0);
    assert_int_equal(pthread_create(&t->thread, NULL, target_main, t), 0);
    await_ready(t);
    return t;
}

static void end_thread(struct target *t) {
    t->stop = true;
    pthread_mutex_unlock(&t->mutex);
    sem_post(&t->sem);
    assert_int_equal(write(t->pipe[1], "x", 1), 1);
    pthread_join(t->thread, NULL);
}

static void free_target(struct target *t) {
    capture_linux_free(t->capture);
    close(t->pipe[0]);
    close(t->pipe[1]);
    close(t->epoll);
    free(t);
}

static void finish(struct target *t) {
    end_thread(t);
    free_target(t);
}

struct sample {
    uint64_t frames[FRAMES], starts[FRAMES];
    struct rec_stack stack;
};

static enum rec_sample take(struct target *t, struct sample *s, bool may_repeat) {
    s->stack = (struct rec_stack){.frames = s->frames, .starts = s->starts, .cap = FRAMES};
    forbid_allocation = true;
    enum rec_sample got = t->table.sample(t->table.ctx, may_repeat, &s->stack);
    forbid_allocation = false;
    return got;
}

static uint64_t now_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Takes a sample of a thread that runs. A sample is taken again if it failed after STARVED_MS or
 * more, as the thread then had no processor, which says nothing on the capture. */
static enum rec_sample take_running(struct target *t, struct sample *s, bool may_repeat) {
    enum { STARVED_MS = 250, TRIES = 20 };
    enum rec_sample got = REC_SAMPLE_NONE;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t begin = now_ms();
        got = take(t, s, may_repeat);
        if (got != REC_SAMPLE_NONE || now_ms() - begin < STARVED_MS) {
            break;
        }
    }
    return got;
}

static bool is_right(const struct target *t, const struct sample *s) {
    for (uint32_t at = 0; at + DEPTH <= s->stack.count; at++) {
        unsigned n = 0;
        while (n < DEPTH && s->frames[at + n] == (uint64_t)(uintptr_t)t->expected[DEPTH - 1 - n]) {
            n++;
        }
        if (n == DEPTH) {
            return !s->stack.incomplete;
        }
    }
    return false;
}

/* ---- blocked ---- */

static void wait_poll(struct target *t) {
    struct pollfd p = {.fd = t->pipe[0], .events = POLLIN};
    t->ready = true;
    t->early += poll(&p, 1, -1) < 0;
}
static void wait_epoll(struct target *t) {
    struct epoll_event ev;
    t->ready = true;
    t->early += epoll_wait(t->epoll, &ev, 1, -1) < 0;
}
static void wait_select(struct target *t) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(t->pipe[0], &set);
    t->ready = true;
    t->early += select(t->pipe[0] + 1, &set, NULL, NULL, NULL) < 0;
}
static void wait_sleep(struct target *t) {
    t->ready = true;
    while (!t->stop) {
        t->early += usleep(300000) != 0;
    }
}
static void wait_mutex(struct target *t) {
    t->ready = true;
    pthread_mutex_lock(&t->mutex);
    pthread_mutex_unlock(&t->mutex);
}
static void wait_sem(struct target *t) {
    t->ready = true;
    t->early += sem_wait(&t->sem) != 0;
}
static void wait_read(struct target *t) {
    char c;
    t->ready = true;
    t->early += read(t->pipe[0], &c, 1) < 0;
}

static void check_blocked(void (*leaf)(struct target *), bool block_signals) {
    struct target *t = start(leaf, block_signals);
    struct sample s;
    enum rec_sample again = REC_SAMPLE_OK;
    await_blocked(t);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(take(t, &s, false), REC_SAMPLE_OK);
        assert_true(is_right(t, &s));
        assert_true(s.stack.pause_ns == 0 || leaf == wait_sleep);
    }
    /* The sleep ends and begins again at times, so that the thread may have run between two
     * samples. */
    for (unsigned i = 0; i < (leaf == wait_sleep ? 10 : 1) && again != REC_SAMPLE_SAME; i++) {
        again = take(t, &s, true);
    }
    assert_int_equal(again, REC_SAMPLE_SAME);
    struct capture_counts counts = capture_linux_counts(t->capture);
    /* A thread that sleeps runs when one sleep ends and the next begins, and a signal may be right
     * then. */
    assert_true(counts.signalled <= (leaf == wait_sleep ? 2 : 0));
    assert_true(t->early <= counts.signalled);
    finish(t);
}

static void blocked_thread_is_read_without_a_signal_or_eintr(void **state) {
    (void)state;
    check_blocked(wait_poll, false);
    check_blocked(wait_epoll, false);
    check_blocked(wait_select, false);
    check_blocked(wait_sleep, false);
    check_blocked(wait_mutex, false);
    check_blocked(wait_sem, false);
    check_blocked(wait_read, false);
}

static void blocked_thread_that_takes_no_signals_is_read_too(void **state) {
    (void)state;
    check_blocked(wait_read, true);
    check_blocked(wait_poll, true);
}

/* ---- running ---- */

static void run_spin(struct target *t) {
    t->ready = true;
    while (!t->stop) {
        t->work++;
    }
}
static void run_malloc(struct target *t) {
    t->ready = true;
    while (!t->stop) {
        void *p = malloc(100 + t->work % 5000);
        void *q = malloc(300000);
        free(p);
        free(q);
        t->work++;
    }
}
static void run_short_sleeps(struct target *t) {
    struct timespec ts = {0, 20000};
    t->ready = true;
    while (!t->stop) {
        nanosleep(&ts, NULL);
    }
}

#define OTHER_LIBRARY "libutil.so.1"

static void run_dlopen(struct target *t) {
    t->ready = true;
    while (!t->stop) {
        void *lib = dlopen("libm.so.6", RTLD_NOW);
        void *other = dlopen(OTHER_LIBRARY, RTLD_NOW);
        if (other) {
            dlclose(other);
        }
        if (lib) {
            dlclose(lib);
        }
        t->work++;
    }
}

/* Does the stack contain the expected frames, in order and without a gap, although it is marked as
 * incomplete? */
static bool is_right_as_far_as_it_goes(const struct target *t, const struct sample *s) {
    uint32_t at = 0;
    for (bool ours = false; at < s->stack.count && !ours; at += !ours) {
        for (unsigned i = 0; i < DEPTH; i++) {
            ours |= s->frames[at] == (uint64_t)(uintptr_t)t->expected[i];
        }
    }
    for (unsigned n = 0; n < DEPTH && at < s->stack.count; n++, at++) {
        if (s->frames[at] != (uint64_t)(uintptr_t)t->expected[DEPTH - 1 - n]) {
            return false;
        }
    }
    return s->stack.incomplete;
}

/* Returns how many of `samples` samples had a stack, each taken at most `tries` times. Each such
 * stack must be right, or incomplete but right as far as it goes, as at most cut_max of them may
 * be. */
static unsigned check_running(void (*leaf)(struct target *), unsigned samples, unsigned tries,
                              unsigned cut_max) {
    struct target *t = start(leaf, false);
    struct sample s;
    unsigned had = 0, wrong = 0, cut = 0;
    for (unsigned i = 0; i < samples; i++) {
        enum rec_sample got = REC_SAMPLE_NONE;
        for (unsigned n = 0; n < tries && got == REC_SAMPLE_NONE; n++) {
            usleep(100 + (i + n) % 7 * 30);
            got = take_running(t, &s, false);
        }
        if (got == REC_SAMPLE_OK) {
            had++;
            bool right = is_right(t, &s);
            bool right_to_there = !right && is_right_as_far_as_it_goes(t, &s);
            wrong += !right && !right_to_there;
            cut += right_to_there;
        }
    }
    finish(t);
    if (wrong > 0 || cut > cut_max) {
        fail_msg("%u of %u stacks wrong, %u cut", wrong, had, cut);
    }
    return had;
}

static void running_thread_is_copied_by_its_signal_handler(void **state) {
    (void)state;
    struct target *t = start(run_spin, false);
    struct sample s;
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(take_running(t, &s, true), REC_SAMPLE_OK);
        assert_true(is_right(t, &s));
    }
    assert_true(capture_linux_counts(t->capture).signalled >= 190);
    finish(t);
}

static void thread_in_malloc_is_captured(void **state) {
    (void)state;
    assert_true(check_running(run_malloc, 1000, 1, 0) >= 990);
}

static void thread_that_goes_to_and_fro_is_captured(void **state) {
    (void)state;
    /* On a slow processor the thread may wake up while it is copied, and it gets no signal while it
     * may be blocked, so that some samples fail. */
    assert_true(check_running(run_short_sleeps, 1000, 10, 0) >= 950);
}

static void thread_that_loads_and_unloads_libraries_is_captured(void **state) {
    (void)state;
    /* The library must not be loaded otherwise, so that each dlopen and dlclose loads and unloads
     * it. */
    assert_null(dlopen(OTHER_LIBRARY, RTLD_NOW | RTLD_NOLOAD));
    void *lib = dlopen(OTHER_LIBRARY, RTLD_NOW);
    assert_non_null(lib);
    dlclose(lib);
    assert_null(dlopen(OTHER_LIBRARY, RTLD_NOW | RTLD_NOLOAD));
    assert_true(check_running(run_dlopen, 1500, 1, 15) >= 1450);
}

/* Is a signal pending for the target thread itself, by its /proc status? */
static bool has_pending_signal(struct target *t) {
    struct rec_thread thread = {0};
    char path[64], line[256];
    static const char key[] = "SigPnd:";
    assert_true(t->table.main_thread(t->table.ctx, &thread));
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread.id);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    bool found = false, pending = false;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, sizeof key - 1) == 0) {
            found = true;
            pending = strpbrk(line + sizeof key - 1, "123456789abcdef") != NULL;
        }
    }
    fclose(f);
    assert_true(found);
    return pending;
}

static void running_thread_that_takes_no_signals_is_not_available(void **state) {
    (void)state;
    struct target *t = start(run_spin, true);
    struct sample s;
    uint64_t took = UINT64_MAX;
    unsigned tries = 0;
    /* A try may take long because this thread has no processor. */
    for (; tries < 10 && took >= 200; tries++) {
        uint64_t begin = now_ms();
        assert_int_equal(take(t, &s, false), REC_SAMPLE_NONE);
        took = now_ms() - begin;
    }
    assert_true(took < 200); /* that is shorter than the wait for a thread that has no processor */
    assert_int_equal(capture_linux_counts(t->capture).unavailable, tries);
    assert_false(has_pending_signal(t)); /* sigwait would give a pending signal to the program */
    finish(t);
}

static void leaf_return(struct target *t) {
    t->ready = true;
    usleep(8000);
}

static void thread_that_has_ended_is_not_available(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        struct target *t = start(leaf_return, false);
        struct sample s;
        while (take(t, &s, false) == REC_SAMPLE_OK) { /* samples are taken until the thread is
                                                         gone */
            usleep(50 * i);
        }
        finish(t);
    }
}

/* ---- other users of the signal ---- */

static atomic_uint own_signals;

static void on_own_signal(int sig) {
    (void)sig;
    own_signals++;
}

/* Runs a function in a child, because a handler is installed once per process, and returns its exit
 * status, or 100 + the signal that killed it. */
static int in_child(int (*body)(void)) {
    pid_t pid = fork();
    if (pid == 0) {
        _exit(body());
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int use_own_handler(void) {
    struct sigaction sa = {.sa_handler = on_own_signal};
    sigaction(SIGUSR2, &sa, NULL);
    if (!signal_linux_install(SIGUSR2)) {
        return 1;
    }
    raise(SIGUSR2);
    kill(getpid(), SIGUSR2);
    return own_signals == 2 ? 0 : 2;
}

/* Exits with 9 at the 40th signal, as the wait is then restarted each time. */
static void on_alarm(int number) {
    (void)number;
    if (++own_signals == 40) {
        _exit(9);
    }
}

static int wait_for_a_signal(void) {
    struct sigaction sa = {.sa_handler = on_alarm}; /* the handler is without SA_RESTART */
    struct itimerval often = {{0, 10000}, {0, 10000}};
    int ends[2];
    char byte;
    if (pipe(ends) != 0 || sigaction(SIGALRM, &sa, NULL) != 0 || !signal_linux_install(SIGALRM)) {
        return 1;
    }
    setitimer(ITIMER_REAL, &often, NULL);
    return read(ends[0], &byte, 1) < 0 && errno == EINTR ? 0 : 2;
}

static bool copy_self(const struct signal_target *target, struct signal_copy *copy) {
    return signal_linux_send_async(target) && signal_linux_await_async(false, 20) &&
           signal_linux_finish_async(copy);
}

static int replace_our_handler(void) {
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct signal_target target = {.tid = gettid(), .lo = here - 65536, .hi = here & ~UINT64_C(7)};
    struct signal_copy copy;
    if (!signal_linux_install(SIGUSR2) || !copy_self(&target, &copy)) {
        return 1;
    }
    struct sigaction sa = {.sa_handler = on_own_signal};
    sigaction(SIGUSR2, &sa, NULL);
    if (copy_self(&target, &copy) || own_signals != 0) {
        return 2;
    }
    sa.sa_handler = SIG_IGN;
    sigaction(SIGUSR2, &sa, NULL);
    return copy_self(&target, &copy) ? 3 : 0;
}

static void signal_of_the_program_ends_its_waits_as_before(void **state) {
    (void)state;
    assert_int_equal(in_child(wait_for_a_signal), 0);
}

static void signals_of_the_program_reach_the_handler_it_had(void **state) {
    (void)state;
    assert_int_equal(in_child(use_own_handler), 0);
}

static void handler_that_the_program_put_in_place_gets_no_signal_of_ours(void **state) {
    (void)state;
    assert_int_equal(in_child(replace_our_handler), 0);
}

/* ---- cost ---- */

static void sampling_allocates_nothing(void **state) {
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    struct target *t = start(run_short_sleeps, false);
    struct sample s;
    unsigned before = forbidden;
    for (unsigned i = 0; i < 300; i++) {
        take(t, &s, true);
    }
    assert_int_equal(forbidden - before, 0);
    forbid_allocation = true; /* this shows that the check works */
    void *volatile p = malloc(1);
    free(p);
    forbid_allocation = false;
    assert_int_equal(forbidden - before, 2);
    finish(t);
}

static void thread_that_has_ended_keeps_its_name(void **state) {
    (void)state;
    struct target *t = start(wait_poll, false);
    struct rec_thread thread = {0};
    await_ready(t);
    end_thread(t);
    assert_true(t->table.main_thread(t->table.ctx, &thread));
    assert_string_equal(thread.name, "capture_linux_t");
    free_target(t);
}

static void thread_is_described(void **state) {
    (void)state;
    struct target *t = start(wait_poll, false);
    struct rec_thread thread = {0};
    struct rec_cpu cpu;
    await_blocked(t);
    assert_true(t->table.main_thread(t->table.ctx, &thread));
    assert_true(thread.id > 0 && thread.main);
    assert_int_equal(thread.state, REC_STATE_WAITING);
    assert_string_equal(thread.name, "capture_linux_t"); /* the kernel keeps 15 characters */
    assert_true(thread.cpu_ns > 0 && thread.cpu_ns < UINT64_C(5000000000));
    t->table.cpu(t->table.ctx, &cpu);
    assert_true(cpu.process_ns >= cpu.main_ns && cpu.process_ns >= cpu.monitor_ns);
    uint8_t a[16] = {0}, b[16] = {0};
    t->table.random(t->table.ctx, a, sizeof a);
    t->table.random(t->table.ctx, b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    finish(t);
}

static void frames_lie_in_images(void **state) {
    (void)state;
    struct target *t = start(wait_poll, false);
    struct sample s;
    await_blocked(t);
    assert_int_equal(take(t, &s, false), REC_SAMPLE_OK);
    unsigned ours = 0;
    for (uint32_t i = 0; i < s.stack.count; i++) {
        struct rec_image image;
        assert_true(t->table.image_at(t->table.ctx, s.frames[i], &image));
        assert_true(s.frames[i] - image.load < image.size);
        assert_true(s.starts[i] >= image.load && s.starts[i] <= s.frames[i]);
        ours += image.in_app && strstr(image.path, "capture_linux_test") != NULL;
    }
    assert_true(ours >= DEPTH);
    finish(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_thread_is_read_without_a_signal_or_eintr),
        cmocka_unit_test(blocked_thread_that_takes_no_signals_is_read_too),
        cmocka_unit_test(running_thread_is_copied_by_its_signal_handler),
        cmocka_unit_test(thread_in_malloc_is_captured),
        cmocka_unit_test(thread_that_goes_to_and_fro_is_captured),
        cmocka_unit_test(thread_that_loads_and_unloads_libraries_is_captured),
        cmocka_unit_test(running_thread_that_takes_no_signals_is_not_available),
        cmocka_unit_test(thread_that_has_ended_is_not_available),
        cmocka_unit_test(signals_of_the_program_reach_the_handler_it_had),
        cmocka_unit_test(signal_of_the_program_ends_its_waits_as_before),
        cmocka_unit_test(handler_that_the_program_put_in_place_gets_no_signal_of_ours),
        cmocka_unit_test(sampling_allocates_nothing),
        cmocka_unit_test(thread_is_described),
        cmocka_unit_test(thread_that_has_ended_keeps_its_name),
        cmocka_unit_test(frames_lie_in_images),
    };
    return cmocka_run_group_tests_name("capture_linux", tests, NULL, NULL);
}
