/* Tests samples of a thread in each situation in which a program's thread may be: each stack must
 * be right, and nearly all samples must have a stack. SAMPLES (2,000) samples, one each
 * millisecond, are spread over the situations; `make soak` takes 60,000.
 * Two oracles judge a stack. The functions of samples_situations_test.h write down their return
 * addresses, so that DEPTH return addresses in a row, and the end of the stack beyond them, are
 * known; and libunwind, where it is installed, unwinds the same copy. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "linux/capture_linux.h"
#include "linux/samples_situations_test.h"
#include "linux/unwind_oracle_test.h"

enum {
    DEPTH = 17,
    FRAMES = 512,
    SAMPLES_DEFAULT = 2000,
    CADENCE_NS = 1000000,
    SHOWN = 3,
    STARVED_NS = 250000000, /* ns for which the capture waits for a thread that has no processor */
    INSTALLS_PERCENT = 3
};

/* may_refuse: at times there is no stack, or it is not the thread's own and does not lead to DEPTH
 * frames, so that no stack or a cut one is right. unasked: libunwind is not asked, as its tables
 * may be unloaded, or it does not know the situation. never_runs: there must be no EINTR. installs:
 * for some instructions at a time the registers are partly of the frame that is left and partly of
 * the one to which control goes, which call frame information does not describe; INSTALLS_PERCENT
 * of the samples may be cut there. */
static const struct kind {
    const char *name;
    void (*leaf)(struct situation *);
    bool may_refuse, unasked, never_runs, installs;
    const char *needs; /* library of scripts/soak/samples that the situation needs; NULL: none */
} kinds[] = {
    {.name = "blocked in pthread_mutex_lock", .leaf = in_mutex, .never_runs = true},
    {.name = "blocked in sem_wait", .leaf = in_sem, .never_runs = true},
    {.name = "blocked in pthread_cond_timedwait", .leaf = in_cond, .never_runs = true},
    {.name = "blocked in read", .leaf = in_read, .never_runs = true},
    {.name = "blocked in poll", .leaf = in_poll, .never_runs = true},
    {.name = "blocked in epoll_wait", .leaf = in_epoll, .never_runs = true},
    {.name = "blocked in select", .leaf = in_select, .never_runs = true},
    {.name = "blocked in nanosleep", .leaf = in_nanosleep},
    {.name = "blocked in read, all signals blocked",
     .leaf = in_read_without_signals,
     .never_runs = true},
    {.name = "to and fro between sleeping and running", .leaf = in_short_sleeps},
    {.name = "system calls that return at once", .leaf = in_calls},
    {.name = "page faults, mmap and munmap", .leaf = in_page_faults},
    {.name = "stdio", .leaf = in_stdio},
    {.name = "posix_spawn and waitpid", .leaf = in_spawn},
    {.name = "fork and waitpid", .leaf = in_fork},
    {.name = "threads begin and end", .leaf = in_thread_churn},
    {.name = "a loop", .leaf = in_spin},
    {.name = "malloc and free", .leaf = in_malloc},
    {.name = "memcpy, memset, strlen", .leaf = in_memcpy},
    {.name = "qsort with its callback", .leaf = in_qsort},
    {.name = "clock_gettime in the vdso", .leaf = in_vdso},
    {.name = "libm", .leaf = in_math},
    {.name = "the linkage table", .leaf = in_plt},
    {.name = "locks without contention", .leaf = in_uncontended_locks},
    {.name = "prologues and epilogues", .leaf = in_prologues},
    {.name = "frames whose size run time tells", .leaf = in_alloca},
    {.name = "deep recursion", .leaf = in_recursion},
    {.name = "tree recursion", .leaf = in_tree_recursion},
    {.name = "tail calls", .leaf = in_tail_calls},
    {.name = "calls through pointers", .leaf = in_pointers},
    {.name = "longjmp", .leaf = in_longjmp, .unasked = true},
    {.name = "the runtime's unwinder", .leaf = in_unwinder},
    {.name = "C++ exceptions", .leaf = in_exceptions, .needs = "throw.so", .installs = true},
    {.name = "signal handlers", .leaf = in_handlers},
    {.name = "signal handlers within signal handlers", .leaf = in_nested_handlers},
    {.name = "signal handlers on an alternate stack",
     .leaf = in_alternate_stack,
     .may_refuse = true},
    {.name = "coroutines", .leaf = in_coroutines, .may_refuse = true},
    {.name = "a loop, all signals blocked", .leaf = in_spin_without_signals, .may_refuse = true},
    {.name = "a timer's signals", .leaf = in_timer_signals},
    {.name = "dlopen and dlclose", .leaf = in_dlopen, .unasked = true},
    {.name = "libraries that replace each other",
     .leaf = in_libraries,
     .unasked = true,
     .needs = "work0.so"},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct tally {
    unsigned samples, had, wrong, cut, none, starved, differs, agrees, signalled;
    uint64_t longest_ns;
};

struct subject {
    const struct kind *kind;
    struct situation *frames;
    struct capture_linux *capture;
    struct rec_capture table;
    struct stallrec_loop loop;
    unsigned samples;
    struct tally tally;
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void show(const struct subject *s, const struct rec_stack *stack, const char *what) {
    printf("# %s: %s, end %s\n", s->kind->name, what,
           stack->incomplete ? "not reached" : "reached");
    for (uint32_t i = 0; i < stack->count; i++) {
        struct rec_image image = {.path = "?"};
        s->table.image_at(s->table.ctx, stack->frames[i], &image);
        printf("#   frame %u: %#llx function %#llx %s+%#llx\n", i,
               (unsigned long long)stack->frames[i], (unsigned long long)stack->starts[i],
               image.path, (unsigned long long)(stack->frames[i] - image.load));
    }
    for (unsigned i = 0; i < s->frames->depth; i++) {
        printf("#   expected %p\n", s->frames->expected[s->frames->depth - 1 - i]);
    }
}

/* Does the stack say that its outer frames are missing, and are its other frames right? */
static bool is_cut(const struct situation *f, const struct rec_stack *stack) {
    unsigned d = f->depth, at = 0, n = 0;
    while (at < stack->count && f->frames[at].pc != (uint64_t)(uintptr_t)f->expected[d - 1]) {
        at++;
    }
    while (at + n < stack->count && n < d &&
           f->frames[at + n].pc == (uint64_t)(uintptr_t)f->expected[d - 1 - n]) {
        n++;
    }
    return stack->incomplete && at + n == stack->count;
}

static void judge(struct subject *s, const struct rec_stack *stack) {
    struct situation *f = s->frames;
    f->count = stack->count;
    f->end = stack->incomplete ? UNWIND_CUT : UNWIND_OUTERMOST;
    for (uint32_t i = 0; i < stack->count; i++) {
        f->frames[i].pc = stack->frames[i];
    }
    bool right = is_right(f), cut = !right && is_cut(f, stack), wrong = !right && !cut;
    enum oracle oracle =
        s->kind->unasked ? ORACLE_NONE : oracle_ask(capture_linux_copy(s->capture), stack);
    s->tally.agrees += oracle == ORACLE_AGREES;
    if (wrong || cut || oracle == ORACLE_DIFFERS) {
        unsigned *count = wrong ? &s->tally.wrong : cut ? &s->tally.cut : &s->tally.differs;
        if ((*count)++ < SHOWN) {
            show(s, stack, wrong ? "wrong stack" : cut ? "cut stack" : "libunwind differs");
        }
    }
}

/* Takes the samples, as the monitor does. */
static void *sampler(void *arg) {
    struct subject *s = arg;
    static uint64_t frames[FRAMES], starts[FRAMES];
    uint64_t next = now_ns();
    while (!ready) {
        usleep(100);
    }
    usleep(3000); /* by then the thread mostly is in the situation */
    for (unsigned i = 0; i < s->samples; i++) {
        struct rec_stack stack = {.frames = frames, .starts = starts, .cap = FRAMES};
        uint64_t begin = now_ns();
        enum rec_sample got = s->table.sample(s->table.ctx, false, &stack);
        uint64_t took = now_ns() - begin;
        s->tally.longest_ns = took > s->tally.longest_ns ? took : s->tally.longest_ns;
        s->tally.samples++;
        if (got == REC_SAMPLE_OK) {
            s->tally.had++;
            judge(s, &stack);
        } else if (took >= STARVED_NS) {
            s->tally.starved++;
        } else {
            s->tally.none++;
        }
        next += CADENCE_NS;
        next = next < begin ? begin : next; /* a late sample is not made up for */
        struct timespec at = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    stop = true;
    release();
    return NULL;
}

static void *watched(void *arg) {
    struct subject *s = arg;
    pthread_t monitor;
    if (capture_linux_new(&s->capture, 0, FRAMES, &s->loop) != STALLREC_OK) {
        return NULL;
    }
    s->table = capture_linux_table(s->capture);
    s->frames->depth = DEPTH;
    s->frames->leaf = s->kind->leaf;
    ready = stop = false;
    early = 0;
    prepare();
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* the monitor's thread takes no signals */
    bool started = pthread_create(&monitor, NULL, sampler, s) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (started) {
        run(s->frames, 0);
        stop = true; /* stops a leaf that returned by itself */
        pthread_join(monitor, NULL);
    }
    clean_up();
    s->tally.signalled = (unsigned)capture_linux_counts(s->capture).signalled;
    capture_linux_free(s->capture);
    return NULL;
}

static unsigned samples_of_each(void) {
    const char *text = getenv("SAMPLES");
    uint64_t all = SAMPLES_DEFAULT;
    if (text && !parse_u64(text, strlen(text), 100000000, &all)) {
        fail_msg("SAMPLES: %s", text);
    }
    return (unsigned)((all + 2 * KINDS - 1) / (2 * KINDS)); /* half of them are of the main thread,
                                                               half of another */
}

static struct tally total;
static unsigned installing; /* number of wrong or cut stacks in situations with `installs` */

/* Half of the samples are of the main thread, whose stack bounds are found in another way. */
static void situation_is_captured(void **state) {
    const struct kind *kind = *state;
    struct subject *s[2];
    if (kind->needs) {
        void *library = load(kind->needs);
        if (!library) {
            skip();
        }
        throwing = library;
    }
    for (unsigned other = 0; other < 2; other++) {
        s[other] = calloc(1, sizeof **s);
        assert_non_null(s[other]);
        s[other]->kind = kind;
        s[other]->samples = samples_of_each();
        s[other]->frames = calloc(1, sizeof *s[other]->frames);
        assert_non_null(s[other]->frames);
        if (other) {
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, watched, s[other]), 0);
            pthread_join(thread, NULL);
        } else {
            watched(s[other]);
        }
    }
    struct tally t = s[0]->tally;
    const struct tally *u = &s[1]->tally;
    t.samples += u->samples, t.had += u->had, t.wrong += u->wrong, t.none += u->none;
    t.starved += u->starved;
    t.cut += u->cut, t.differs += u->differs, t.agrees += u->agrees, t.signalled += u->signalled;
    t.longest_ns = t.longest_ns > u->longest_ns ? t.longest_ns : u->longest_ns;
    printf(
        "# %-44s %5u samples, %u wrong, %u cut, %u unavailable, %u starved; %u signals, %u EINTR; "
        "libunwind: %u the same, %u not; longest %.1f ms\n",
        kind->name, t.samples, t.wrong, t.cut, t.none, t.starved, t.signalled, (unsigned)early,
        t.agrees, t.differs, (double)t.longest_ns / 1e6);
    total.samples += kind->may_refuse ? 0 : t.samples;
    total.none += kind->may_refuse ? 0 : t.none;
    total.starved += kind->may_refuse ? 0 : t.starved;
    installing += kind->installs ? t.wrong + t.cut : 0;
    total.cut += kind->installs || kind->may_refuse ? 0 : t.cut;
    total.had += t.had, total.wrong += kind->installs ? 0 : t.wrong, total.differs += t.differs,
        total.agrees += t.agrees;
    for (unsigned i = 0; i < 2; i++) {
        free(s[i]->frames);
        free(s[i]);
    }
    assert_true(t.samples >= 2 * samples_of_each());
    if (kind->installs) {
        assert_true(t.wrong * 1000 <= t.samples);
        assert_true(t.cut * 100 <= t.samples * INSTALLS_PERCENT + 200);
    } else {
        assert_int_equal(t.wrong, 0);
        assert_int_equal(t.differs, 0);
    }
    if (kind->never_runs) {
        assert_int_equal(early, 0);
    }
}

static void nearly_every_sample_is_had(void **state) {
    (void)state;
    printf("# all situations: %u stacks, %u wrong; %u of %u samples cut or unavailable "
           "(%.3f %%), %u without a processor; %u lost while a frame was installed; libunwind: %u "
           "the same, %u not\n",
           total.had, total.wrong, total.cut + total.none, total.samples,
           total.samples ? 100.0 * (total.cut + total.none) / total.samples : 0, total.starved,
           installing, total.agrees, total.differs);
    assert_true(total.had > 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* a sanitizer's frames are addressed through rbp, which is not known of a blocked
               thread */
#endif
    assert_true((total.cut + total.none) * 1000 <= total.samples);
    assert_true(total.starved * 100 <=
                total.samples); /* a thread gets a processor nearly always, on any machine */
}

int main(void) {
    struct CMUnitTest tests[KINDS + 1];
    const char *only = getenv("ONLY");
    size_t n = 0;
    for (size_t i = 0; i < KINDS; i++) {
        if (!only || strstr(kinds[i].name, only)) {
            tests[n++] = (struct CMUnitTest){kinds[i].name, situation_is_captured, NULL, NULL,
                                             (void *)(uintptr_t)&kinds[i]};
        }
    }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(nearly_every_sample_is_had);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return _cmocka_run_group_tests("samples", tests, n, NULL, NULL);
}
