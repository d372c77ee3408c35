/* Tests the whole recorder on the stand-in for Mach, and the functions that the platform gives
 * it. */
#include "darwin/darwin_world_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dump/dump.h"
#include "files/folder_test.h"
#include "loop/loop.h"
#include "platform.h"

#define MS UINT64_C(1000000)

static struct folder *folder;

static int setup(void **state) {
    void *made = NULL;
    if (world_setup(state) != 0 || folder_setup(&made) != 0) {
        return 1;
    }
    folder = made;
    return 0;
}

static int teardown(void **state) {
    void *made = folder;
    world_teardown(state);
    return folder_teardown(&made);
}

/* ---- words ---- */

/* Makes a platform, and with the first one the process's semaphores, as stallrec_start does. */
static struct rec_platform *platform_new(void) {
    static struct stallrec_loop loop;
    struct stallrec_config config;
    struct rec_platform *platform = NULL;
    stallrec_config_init(&config, sizeof config);
    assert_int_equal(rec_platform_new(&platform, &config, &loop), STALLREC_OK);
    return platform;
}

static void a_wait_ends_at_its_time(void **state) {
    uint32_t word = 7;
    (void)state;
    struct rec_platform *platform = platform_new();
    uint64_t begin = stallrec_clock_ns();
    rec_word_wait(&word, 7, begin + 30 * MS);
    assert_true(stallrec_clock_ns() - begin >= 30 * MS);
    begin = stallrec_clock_ns();
    rec_word_wait(&word, 7, begin - MS); /* the time is over already */
    rec_word_wait(&word, 8, REC_NEVER);  /* the word is not 8, so there is no wait */
    rec_platform_free(platform);
}

static void *wake_later(void *word) {
    usleep(20000);
    __atomic_store_n((uint32_t *)word, 8, __ATOMIC_SEQ_CST);
    rec_word_wake(word);
    return NULL;
}

static void a_wake_ends_a_wait_without_a_limit(void **state) {
    uint32_t word = 7;
    pthread_t thread;
    (void)state;
    struct rec_platform *platform = platform_new();
    assert_int_equal(pthread_create(&thread, NULL, wake_later, &word), 0);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 7) {
        rec_word_wait(&word, 7, REC_NEVER);
    }
    pthread_join(thread, NULL);
    rec_platform_free(platform);
}

static void a_wake_without_a_wait_is_nobodys(void **state) {
    uint32_t word = 7;
    (void)state;
    struct rec_platform *platform = platform_new();
    rec_word_wake(&word);
    uint64_t begin = stallrec_clock_ns();
    rec_word_wait(&word, 7, begin + 20 * MS);
    assert_true(stallrec_clock_ns() - begin >= 20 * MS);
    rec_platform_free(platform);
}

struct sleeper {
    pthread_t thread;
    uint32_t word;
    atomic_bool awake;
};

static void *sleep_until_woken(void *arg) {
    struct sleeper *s = arg;
    while (__atomic_load_n(&s->word, __ATOMIC_SEQ_CST) == 0) {
        rec_word_wait(&s->word, 0, REC_NEVER);
    }
    atomic_store(&s->awake, true);
    return NULL;
}

/* There are more sleepers than semaphores, and they are woken in another order than that in which
 * they began. */
static void each_word_wakes_its_own_sleeper(void **state) {
    static const unsigned order[] = {3, 0, 5, 2, 4, 1};
    struct sleeper sleepers[6] = {0};
    (void)state;
    struct rec_platform *platform = platform_new();
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 6; i++) {
            sleepers[i].word = 0;
            atomic_store(&sleepers[i].awake, false);
            assert_int_equal(
                pthread_create(&sleepers[i].thread, NULL, sleep_until_woken, &sleepers[i]), 0);
        }
        usleep(round * 300);
        for (unsigned i = 0; i < 6; i++) {
            struct sleeper *s = &sleepers[order[i]];
            __atomic_store_n(&s->word, 1, __ATOMIC_SEQ_CST);
            rec_word_wake(&s->word);
            pthread_join(s->thread, NULL); /* this would wait for ever if another sleeper were woken
                                              instead */
            assert_true(atomic_load(&s->awake));
        }
    }
    rec_platform_free(platform);
}

/* ---- the machine ---- */

static void the_machine_is_described(void **state) {
    struct rec_about about = {0};
    (void)state;
    struct rec_platform *platform = platform_new();
    rec_platform_describe(platform, &about);
    assert_string_equal(about.model, "iPhone13,3");
    assert_string_equal(about.os, "iOS 18.7");
    assert_string_equal(about.os_build, "22H20");
    assert_string_equal(about.arch, "arm64");
    assert_int_equal(about.cpus, 6);
    assert_string_equal(about.app_id, "Shop"); /* the program has no bundle */
    about.app_id = "told";
    rec_platform_describe(platform, &about);
    assert_string_equal(about.app_id, "told");
    rec_platform_free(platform);
    world_expect_clean();
}

static void a_process_has_a_start_if_it_is_there(void **state) {
    (void)state;
    assert_int_equal(rec_process_start((uint32_t)getpid()),
                     UINT64_C(1000000) * STANDIN_START_S + 250000);
    assert_int_equal(rec_process_start(UINT32_MAX), 0);
    assert_int_equal(rec_platform_process_start_ns(), 0); /* the start is before the clock's
                                                             origin */
    assert_true(rec_platform_process_cpu_ns() != UINT64_MAX);
}

static void a_spool_is_allocated_in_full(void **state) {
    (void)state;
    int fd = openat(folder->dir, "spool", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(rec_spool_allocate(fd, 100000), 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), 100000);
    assert_true(rec_spool_lock(fd));
    int other = openat(folder->dir, "spool", O_RDWR | O_CLOEXEC);
    assert_false(rec_spool_lock(other));
    close(other);
    close(fd);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_not_equal(rec_spool_allocate(fd, 100000), 0);
    close(fd);
}

/* The file was cut short, so that a plain store would raise SIGBUS. */
static void what_is_no_longer_there_is_not_stored_to(void **state) {
    static unsigned char from[100000];
    (void)state;
    memset(from, 'x', sizeof from);
    int fd = openat(folder->dir, "spool", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(rec_spool_allocate(fd, sizeof from), 0);
    unsigned char *map = mmap(NULL, sizeof from, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_true(rec_spool_store(map, from, sizeof from));
    assert_memory_equal(map, from, sizeof from);
    assert_true(rec_spool_store(map + 1, from, 0));
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_true(rec_spool_store(map, from, 8192));
    assert_false(rec_spool_store(map, from, sizeof from));
    assert_false(rec_spool_store(map + 65536, from, 1));
    munmap(map, sizeof from);
    close(fd);
}

/* ---- a recorder ---- */

static struct stallrec *start(void) {
    struct stallrec *rec = NULL;
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = folder->path;
    config.threshold_ms = 50;
    config.first_sample_ms = 10;
    config.sample_ms = 10;
    config.threads_after_ms = 50;
    config.write_deadline_ms = 50;
    config.flags = STALLREC_PLAIN_JSON;
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    return rec;
}

/* Waits for the only dump, at most about 10 s, and reads its text. Returns its size; 0: there is no
 * dump. */
static size_t read_dump(char *text, size_t size) {
    char name[256];
    for (unsigned i = 0; i < 2000; i++) {
        if (folder_count(folder, "stall-", name, sizeof name) == 1) {
            return (size_t)folder_get(folder, name, text, size);
        }
        usleep(5000);
    }
    return 0;
}

static void check_images(const struct dump *d) {
    assert_int_equal(d->image_count, 1);
    assert_string_equal(d->images[0].name, "Shop");
    assert_string_equal(d->images[0].arch, "arm64");
    assert_int_equal(d->images[0].load, WORLD_APP);
    assert_true(d->images[0].in_app);
    assert_int_equal(d->images[0].id.len, 16);
}

static void check_threads(const struct dump *d) {
    const struct dump_thread *watched = dump_main_thread(d);
    const struct dump_thread *owner = dump_thread_by_id(d, 771);
    assert_non_null(watched);
    assert_non_null(owner);
    assert_null(dump_thread_by_id(d, 90000)); /* the monitor is left out */
    assert_int_equal(watched->id, 259);
    assert_string_equal(watched->waits_for.kind, "mutex");
    assert_int_equal(watched->waits_for.owner, 771);
    assert_string_equal(owner->name, "owner");
    assert_int_equal(owner->stack.frame_count, 4);
    assert_int_equal(owner->stack.frames[0], WORLD_APP + WORLD_LEAF);
    assert_int_equal(owner->stack.frames[1], WORLD_APP + WORLD_CALLER);
    assert_int_equal(owner->stack.frames[2], WORLD_APP + WORLD_OUTER);
    assert_int_equal(owner->stack.frames[3], WORLD_APP + WORLD_OUTERMOST);
}

/* The main thread waits for a lock that a worker holds. */
static void a_stall_becomes_a_dump_that_the_host_side_reads(void **state) {
    static char text[65536];
    struct dump d;
    struct err e = {0};
    (void)state;
    struct standin_thread *owner = standin_add(771, "owner");
    world_chain(owner, WORLD_STACK + 0x1000, 64);
    owner->run_state = TH_STATE_RUNNING;
    world_block(mach_world.main, 1, world_owned_by(owner));
    struct stallrec *rec = start();
    stallrec_loop_sleep(stallrec_main_loop(rec)); /* the launch is over */
    usleep(20000);
    stallrec_loop_wake(stallrec_main_loop(rec));
    usleep(300000);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    size_t size = read_dump(text, sizeof text);
    stallrec_stop(rec);
    assert_true(size > 0);
    assert_int_equal(dump_parse(&d, text, size, &e), ST_OK);
    assert_true(d.stall.duration_ms >= 250);
    assert_true(d.stall.ended);
    assert_string_equal(d.device.model, "iPhone13,3");
    check_images(&d);
    check_threads(&d);
    dump_release(&d);
    world_expect_clean();
}

static void busy_threads_and_many_stalls_leave_no_right(void **state) {
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        struct standin_thread *t = standin_add(1000 + i, "worker");
        world_chain(t, WORLD_STACK + 0x1000 + i * 0x400, 64);
        t->run_state = TH_STATE_RUNNING;
    }
    mach_world.main->run_state = TH_STATE_RUNNING;
    struct stallrec *rec = start();
    for (unsigned i = 0; i < 4; i++) {
        stallrec_loop_wake(stallrec_main_loop(rec));
        usleep(120000);
        stallrec_loop_sleep(stallrec_main_loop(rec));
        usleep(1000);
    }
    stallrec_stop(rec);
    assert_true(folder_count(folder, "stall-", NULL, 0) >= 1);
    world_expect_clean();
}

static void a_recorder_may_be_started_again(void **state) {
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct stallrec *rec = start();
        stallrec_stop(rec);
    }
    world_expect_clean();
}

static void a_start_without_a_semaphore_is_refused_and_leaves_nothing(void **state) {
    (void)state;
    stallrec_stop(start());
    pid_t child = fork(); /* the child must make its own semaphores */
    if (child == 0) {
        struct stallrec *rec = NULL;
        struct stallrec_config config;
        stallrec_config_init(&config, sizeof config);
        config.directory = folder->path;
        standin_fail(STANDIN_SEMAPHORE, 1, KERN_RESOURCE_SHORTAGE);
        enum stallrec_error refused = stallrec_start(&rec, &config);
        bool clean = standin_counts().rights == 0;
        enum stallrec_error st = stallrec_start(&rec, &config);
        stallrec_stop(st == STALLREC_OK ? rec : NULL);
        clean = clean && standin_counts().rights == 0;
        _exit(refused == STALLREC_ERR_UNSUPPORTED && st == STALLREC_OK && clean ? 7 : 8);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        TEST(a_wait_ends_at_its_time),
        TEST(a_wake_ends_a_wait_without_a_limit),
        TEST(a_wake_without_a_wait_is_nobodys),
        TEST(each_word_wakes_its_own_sleeper),
        TEST(the_machine_is_described),
        TEST(a_process_has_a_start_if_it_is_there),
        TEST(a_spool_is_allocated_in_full),
        TEST(what_is_no_longer_there_is_not_stored_to),
        TEST(a_stall_becomes_a_dump_that_the_host_side_reads),
        TEST(busy_threads_and_many_stalls_leave_no_right),
        TEST(a_recorder_may_be_started_again),
        TEST(a_start_without_a_semaphore_is_refused_and_leaves_nothing),
    };
    return cmocka_run_group_tests_name("recorder_platform_darwin", tests, NULL, NULL);
}
