/* Tests that a stack is unwound by the modules that were loaded when it was copied. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/copy_linux.h"
#include "linux/images_linux.h"
#include "linux/modules_linux.h"

enum { FRAMES = 16, WORDS = 32, MANY = 1000 };

static const char library[] = "libanl.so.1"; /* no test is linked with this library */

struct fixture {
    struct copy_unwinder unwinder;
    struct copy copy;
    uint64_t words[WORDS], frames[FRAMES], starts[FRAMES];
    struct rec_stack stack;
    unsigned taken, held; /* number of copies; number of those that were made while modules were
                             held */
    unsigned changes;     /* number of the next copies that load or unload the library */
    unsigned none;        /* number of the next copies that fail */
    void *loaded;
    atomic_bool stop; /* ends the thread that loads all the time */
    atomic_uint cycles;
};

static void clear(struct fixture *f) {
    memset(f->words, 0, sizeof f->words);
    f->copy = (struct copy){
        .stack = {(const uint8_t *)f->words, 0x10000, 0x10000 + sizeof f->words}, .pause_ns = 100};
    f->stack = (struct rec_stack){.frames = f->frames, .starts = f->starts, .cap = FRAMES};
    f->taken = f->held = f->changes = f->none = 0;
}

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    struct unwind_modules modules = modules_linux();
    assert_non_null(f);
    f->unwinder.unwinder = unwinder_new(&modules, 64);
    f->unwinder.images = images_new();
    f->unwinder.frames = calloc(FRAMES, sizeof *f->unwinder.frames);
    f->unwinder.max_frames = FRAMES;
    assert_true(f->unwinder.unwinder && f->unwinder.images && f->unwinder.frames);
    clear(f);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    if (f->loaded) {
        dlclose(f->loaded);
    }
    unwinder_free(f->unwinder.unwinder);
    images_free(f->unwinder.images);
    free(f->unwinder.frames);
    free(f);
    return 0;
}

static void change(struct fixture *f) {
    if (f->loaded) {
        dlclose(f->loaded);
        f->loaded = NULL;
    } else {
        f->loaded = dlopen(library, RTLD_NOW);
        assert_non_null(f->loaded);
    }
}

/* Makes a copy as of a thread that is in strlen; right after it, a library may be loaded or
 * unloaded. */
static bool take_async(void *arg, bool held, struct copy *copy) {
    struct fixture *f = arg;
    f->taken++;
    f->held += held;
    if (f->none > 0) {
        f->none--;
        return false;
    }
    cfi_set_async(&copy->regs, CFI_PC, (uint64_t)(uintptr_t)strlen);
    cfi_set_async(&copy->regs, CFI_SP, copy->stack.lo);
    if (f->changes > 0) {
        f->changes--;
        change(f);
    }
    return true;
}

static bool take_stack(struct fixture *f) {
    return copy_stack_async(&f->unwinder, gettid(), take_async, f, &f->copy, &f->stack);
}

static void one_copy_will_do_while_modules_stay(void **state) {
    struct fixture *f = *state;
    assert_true(take_stack(f));
    assert_int_equal(f->taken, 1);
    assert_int_equal(f->held, 0);
    assert_true(f->stack.count >= 1);
    assert_int_equal(f->stack.frames[0], (uintptr_t)strlen);
    assert_int_equal(f->stack.pause_ns, 100);
}

static void copy_is_made_again_when_a_module_came_or_went(void **state) {
    struct fixture *f = *state;
    for (unsigned round = 0; round < 2; round++) { /* the module is loaded in the first round and
                                                      unloaded in the second */
        clear(f);
        f->changes = 1;
        assert_true(take_stack(f));
        assert_int_equal(f->taken, 2);
        assert_int_equal(f->held, 1);
        assert_int_equal(f->stack.pause_ns, 200); /* the thread was held up twice */
    }
}

static void images_are_those_of_the_copy(void **state) {
    struct fixture *f = *state;
    struct rec_image image;
    f->changes = 1;
    assert_true(take_stack(f));
    struct link_map *map = NULL;
    assert_int_equal(dlinfo(f->loaded, RTLD_DI_LINKMAP, &map), 0);
    assert_true(images_find_async(f->unwinder.images, (uint64_t)(uintptr_t)map->l_ld, &image));
    assert_non_null(strstr(image.path, library));
    assert_int_equal(images_refresh_async(f->unwinder.images), modules_generation_async());
}

static void there_is_no_stack_where_modules_do_not_stay(void **state) {
    struct fixture *f = *state;
    f->stack.count = 77;
    f->changes = MANY; /* this thread itself loads and unloads, which the lock that holds modules
                          does not prevent */
    assert_false(take_stack(f));
    assert_int_equal(f->stack.count, 77); /* nothing was written */
    assert_true(f->taken > 2 && f->taken < 100);
}

static void thread_that_cannot_be_copied_is_asked_once(void **state) {
    struct fixture *f = *state;
    f->none = MANY;
    assert_false(take_stack(f));
    assert_int_equal(f->taken, 1);
}

/* ---- another thread that loads ---- */

static void *load_all_the_time(void *arg) {
    struct fixture *f = arg;
    while (!f->stop) {
        void *loaded = dlopen(library, RTLD_NOW);
        dlclose(loaded);
        f->cycles++;
    }
    return NULL;
}

/* Makes a copy that lasts until the other thread has loaded the library twice, or, while modules
 * are held, 20 ms. */
static bool take_long_async(void *arg, bool held, struct copy *copy) {
    struct fixture *f = arg;
    unsigned cycles = f->cycles, waited = 0;
    bool had = take_async(f, held, copy);
    while (held ? waited++ < 20 : f->cycles < cycles + 2) {
        usleep(1000);
    }
    return had;
}

static void modules_stay_while_they_are_held(void **state) {
    struct fixture *f = *state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, load_all_the_time, f), 0);
    while (f->cycles == 0) {
        usleep(100);
    }
    for (unsigned i = 0; i < 5; i++) {
        clear(f);
        assert_true(
            copy_stack_async(&f->unwinder, gettid(), take_long_async, f, &f->copy, &f->stack));
        assert_int_equal(f->taken, 2);
        assert_int_equal(f->held, 1);
    }
    f->stop = true;
    pthread_join(thread, NULL);
}

/* A thread in a call that the kernel does not restart after a signal. */
struct sleeper {
    atomic_int tid;
    uint64_t top; /* address above the frames of the call */
    long result;  /* of the call: -1 if it ended early */
};

static void *sleep_by_the_call(void *arg) {
    struct sleeper *s = arg;
    struct timespec span = {.tv_nsec = 300000000};
    s->top = ((uint64_t)(uintptr_t)__builtin_frame_address(0) + 64) & ~UINT64_C(7);
    s->tid = gettid();
    s->result = syscall(SYS_nanosleep, &span, NULL);
    return NULL;
}

/* readable: /proc tells the thread's call. */
static void ask_a_sleeper(bool readable) {
    struct sleeper sleeper = {0};
    pthread_t thread;
    struct copy copy;
    assert_true(signal_linux_install(SIGUSR2));
    assert_int_equal(pthread_create(&thread, NULL, sleep_by_the_call, &sleeper), 0);
    while (sleeper.tid == 0) {
        usleep(100);
    }
    usleep(50000);
    struct copy_source source = {
        .target = {.tid = sleeper.tid, .lo = sleeper.top - 65536, .hi = sleeper.top},
        .pid = getpid(),
        .clock = copy_thread_clock_async(sleeper.tid),
        .signal_number = SIGUSR2};
    proc_file_open_async(&source.syscall_file, sleeper.tid, "syscall");
    proc_file_open_async(&source.status_file, sleeper.tid, "status");
    if (!readable) {
        proc_file_close_async(&source.syscall_file);
    }
    assert_false(copy_running_async(&source, false, 20, 0, &copy));
    pthread_join(thread, NULL);
    assert_int_equal(sleeper.result, 0);
    proc_file_close_async(&source.syscall_file);
    proc_file_close_async(&source.status_file);
}

static void thread_that_may_wait_gets_no_signal(void **state) {
    (void)state;
    ask_a_sleeper(true);
    ask_a_sleeper(false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_copy_will_do_while_modules_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(copy_is_made_again_when_a_module_came_or_went, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(images_are_those_of_the_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_no_stack_where_modules_do_not_stay, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(thread_that_cannot_be_copied_is_asked_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(modules_stay_while_they_are_held, setup, teardown),
        cmocka_unit_test(thread_that_may_wait_gets_no_signal),
    };
    return cmocka_run_group_tests_name("copy_linux", tests, NULL, NULL);
}
