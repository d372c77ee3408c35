/* Tests starts and stops of the monitor on Linux, and the state of the monitor in a forked
 * child. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor_fixture_test.h"

#ifdef __SANITIZE_THREAD__
enum { UNDER_TSAN = 1 };
#else
enum { UNDER_TSAN = 0 };
#endif

static void user_outside_the_share_is_not_watched(void **state) {
    const struct folder *f = *state;
    struct stallrec_config config;
    struct stallrec *rec = NULL;
    unsigned recorded = 0;
    stallrec_config_init(&config, sizeof config);
    config.directory = f->path;
    config.user_share_ppm = 1;
    for (unsigned i = 0; i < 20; i++) {
        char user[16];
        snprintf(user, sizeof user, "user%u", i);
        config.user = user;
        enum stallrec_error st = stallrec_start(&rec, &config);
        recorded += st == STALLREC_OK;
        assert_true(st == STALLREC_OK || st == STALLREC_ERR_NOT_SAMPLED);
        stallrec_stop(st == STALLREC_OK ? rec : NULL);
    }
    assert_true(recorded < 3);
    stallrec_loop_wake(stallrec_main_loop(NULL)); /* without a recorder the hooks do nothing */
    stallrec_loop_sleep(stallrec_main_loop(NULL));
    assert_int_equal(stallrec_context_set(NULL, "a", "b"), STALLREC_OK);
    stallrec_foreground(NULL, 1);
    assert_int_equal(dumps_in(f), 0);
}

static void one_recorder_at_a_time(void **state) {
    const struct folder *f = *state;
    struct stallrec *rec = start(f, 100), *other = NULL;
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = f->path;
    assert_int_equal(stallrec_start(&other, &config), STALLREC_ERR_RUNNING);
    assert_null(other);
    stallrec_stop(rec);
    stallrec_stop(start(f, 100));
    stallrec_stop(NULL);
}

static void start_that_fails_leaves_nothing_behind(void **state) {
    const struct folder *f = *state;
    struct stallrec *rec = NULL;
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_ERR_CONFIG);
    config.directory = "/proc/nowhere";
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_ERR_DIRECTORY);
    config.directory = f->path;
    config.signal_number = SIGKILL;
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_ERR_UNSUPPORTED);
    assert_null(rec);
    stallrec_stop(start(f, 100));
}

/* Returns the number of voluntary context switches of the monitor thread, which is found by its
 * name; 0: it is not found. */
static unsigned long monitor_switches(void) {
    unsigned long switches = 0;
    char text[4096];
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char file[300];
        snprintf(file, sizeof file, "/proc/self/task/%s/status", e->d_name);
        int fd = open(file, O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        close(fd);
        text[n > 0 ? n : 0] = '\0';
        const char *at = strstr(text, "voluntary_ctxt_switches:");
        if (n > 0 && strncmp(text, "Name:\tstallrec\n", 15) == 0 && at) {
            for (at = strchr(at, '\t') + 1; *at >= '0' && *at <= '9'; at++) {
                switches = switches * 10 + (unsigned long)(*at - '0');
            }
        }
    }
    closedir(d);
    return switches;
}

static void idle_loop_wakes_nobody(void **state) {
    const struct folder *f = *state;
    struct stallrec *rec = start(f, 100);
    stallrec_loop_sleep(stallrec_main_loop(rec)); /* the launch is over */
    unsigned long before = 0, now = monitor_switches();
    for (unsigned i = 0; i < 50 && (now == 0 || now != before); i++) { /* waits until the monitor
                                                                          has noticed the edge and
                                                                          sleeps */
        usleep(200000);
        before = now;
        now = monitor_switches();
    }
    uint64_t signalled = monitor_totals(rec).capture.signalled;
    assert_true(before > 0);
    assert_int_equal(now, before);
    usleep(500000);
    assert_int_equal(monitor_switches(), before);
    assert_true(monitor_totals(rec).capture.signalled == signalled);
    stallrec_stop(rec);
}

static void forked_child_has_hooks_and_no_monitor(void **state) {
    const struct folder *f = *state;
    if (UNDER_TSAN) { /* ThreadSanitizer takes part in fork and in the end of threads */
        skip();
    }
    struct stallrec *rec = start(f, 50);
    struct stallrec_loop *loop = stallrec_main_loop(rec);
    stallrec_loop_sleep(loop); /* the launch is over */
    pid_t pid = fork();
    if (pid == 0) {
        stallrec_loop_wake(loop);
        usleep(120000);
        stallrec_loop_sleep(loop);
        stallrec_stop(rec); /* in the child, the stop returns at once and writes nothing */
        _exit(loop->notify_ == 0 ? 5 : 6);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    stallrec_stop(rec);
    assert_int_equal(dumps_in(f), 0);
}

/* Runs in a forked child: records a stall by a recorder of the child's own, and exits with 7 if its
 * dump was written, with 8 if not, with 1 if a start did not give the expected result.
 */
static void record_in_child(const struct folder *f, struct stallrec *parents) {
    struct stallrec *rec = NULL;
    struct stallrec_config config = quick_config(f, 50);
    unsigned before = dumps_in(f);
    if (stallrec_start(&rec, &config) != STALLREC_OK ||
        stallrec_start(&parents, &config) != STALLREC_ERR_RUNNING) {
        _exit(1);
    }
    stallrec_stop(parents); /* does nothing, as the child cannot stop its parent's recorder */
    stall(rec);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    stallrec_stop(rec);
    _exit(dumps_in(f) == before + 1 ? 7 : 8);
}

static void forked_child_may_start_its_own(void **state) {
    const struct folder *f = *state;
    if (UNDER_TSAN) { /* ThreadSanitizer takes part in fork and in the end of threads */
        skip();
    }
    struct stallrec_config config = quick_config(f, 50);
    config.check_ms = 60000; /* a stall gives one dump, even if its stack changes */
    struct stallrec *rec = start_recorder(&config);
    stall(rec); /* the parent stalls while its child starts a recorder */
    pid_t pid = fork();
    if (pid == 0) {
        record_in_child(f, rec);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    stallrec_stop(rec);
    assert_int_equal(dumps_in(f), 2);
}

static void start_needs_one_descriptor_for_the_folder(void **state) {
    const struct folder *f = *state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct stallrec *rec = NULL;
        struct stallrec_config config = quick_config(f, 100);
        int last = dup(0);
        struct rlimit limit = {(rlim_t)last + 1, (rlim_t)last + 1};
        close(last);
        setrlimit(RLIMIT_NOFILE, &limit);
        enum stallrec_error st = stallrec_start(&rec, &config);
        stallrec_stop(rec);
        _exit(st == STALLREC_OK ? 3 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
}

static void *start_and_end(void *folder) {
    struct stallrec *rec = NULL;
    struct stallrec_config config = quick_config(folder, 100);
    return stallrec_start(&rec, &config) == STALLREC_OK ? rec : NULL;
}

/* Returns the number of entries of a folder of /proc, "." and ".." included, which are descriptors,
 * threads or mappings. */
static unsigned entries_of(const char *path) {
    unsigned n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n;
}

enum { ALONE = 3 }; /* ".", ".." and this thread */

static void monitor_ends_with_the_thread_that_it_watches(void **state) {
    if (UNDER_TSAN) { /* ThreadSanitizer takes part in fork and in the end of threads */
        skip();
    }
    void *rec = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, start_and_end, *state), 0);
    assert_int_equal(pthread_join(thread, &rec), 0);
    assert_non_null(rec);
    for (int i = 0; i < 1000 && entries_of("/proc/self/task") > ALONE; i++) {
        usleep(10000);
    }
    assert_false(entries_of("/proc/self/task") > ALONE);
    stallrec_stop(rec);
}

static void starts_and_stops_leave_nothing_behind(void **state) {
    const struct folder *f = *state;
    unsigned before[3] = {0};
    for (unsigned i = 0; i <= 100; i++) {
        struct stallrec *rec = start(f, 100);
        stallrec_loop_wake(stallrec_main_loop(rec));
        stallrec_loop_sleep(stallrec_main_loop(rec));
        stallrec_stop(rec);
        /* The kernel lists a thread for a moment longer than pthread_join waits for it. */
        for (int k = 0; i == 100 && k < 1000 && entries_of("/proc/self/task") > before[1]; k++) {
            usleep(10000);
        }
        unsigned now[] = {entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
                          entries_of("/proc/self/map_files")};
        if (i == 1) { /* by then all that a process makes only once exists */
            memcpy(before, now, sizeof before);
        }
        if (i == 100) {
            assert_int_equal(now[0], before[0]);
            assert_int_equal(now[1], before[1]);
            assert_true(now[2] <= before[2]);
        }
    }
    assert_int_equal(folder_count(f, ".spool-", NULL, 0), 0);
    assert_int_equal(folder_count(f, ".session-", NULL, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(starts_and_stops_leave_nothing_behind),
        T(user_outside_the_share_is_not_watched),
        T(one_recorder_at_a_time),
        T(start_that_fails_leaves_nothing_behind),
        T(idle_loop_wakes_nobody),
        T(start_needs_one_descriptor_for_the_folder),
        T(monitor_ends_with_the_thread_that_it_watches),
        T(forked_child_has_hooks_and_no_monitor),
        T(forked_child_may_start_its_own),
#undef T
    };
    return cmocka_run_group_tests_name("monitor_linux", tests, NULL, NULL);
}
