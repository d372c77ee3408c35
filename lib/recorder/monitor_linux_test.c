/* The monitor's life on Linux: starts, stops, what it writes, what a fork leaves of it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"
#include "monitor.h"

#ifdef __SANITIZE_THREAD__
enum { UNDER_TSAN = 1 };
#else
enum { UNDER_TSAN = 0 };
#endif

static char folder[64];

static struct stallrec_config quick_config(uint32_t threshold_ms) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = folder;
    config.threshold_ms = threshold_ms;
    config.first_sample_ms = 20;
    config.sample_ms = 10;
    config.write_deadline_ms = 50;
    return config;
}

static struct stallrec *start(uint32_t threshold_ms) {
    struct stallrec_config config = quick_config(threshold_ms);
    struct stallrec *rec = NULL;
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    return rec;
}

/* Files whose names begin so. */
static unsigned files_of(const char *begin) {
    unsigned n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        n += strncmp(e->d_name, begin, strlen(begin)) == 0;
    }
    closedir(d);
    return n;
}

/* The path of a file whose name begins so. */
static bool named(const char *begin, char *path, size_t size) {
    bool found = false;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; !found && (e = readdir(d)) != NULL;) {
        found = strncmp(e->d_name, begin, strlen(begin)) == 0 &&
                snprintf(path, size, "%s/%s", folder, e->d_name) < (int)size;
    }
    closedir(d);
    return found;
}

static void read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t n = fread(text, 1, size - 1, file);
    fclose(file);
    assert_true(n > 0);
    text[n] = '\0';
}

static unsigned files(void) {
    return files_of("stall-");
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/stallrec-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        unlinkat(dirfd(d), e->d_name, 0); /* fails for "." and ".." */
    }
    if (d) {
        closedir(d);
    }
    return rmdir(folder);
}

/* The loop does not come back until its stall is captured, however late the monitor is. */
static void stall(struct stallrec *rec) {
    stallrec_loop_wake(stallrec_main_loop(rec));
    for (unsigned i = 0; i < 1000 && monitor_totals(rec).core.dumps == 0; i++) {
        usleep(10000);
    }
}

static void stall_is_written_once_the_loop_is_idle(void **state) {
    (void)state;
    struct stallrec *rec = start(80);
    stall(rec);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    /* The totals are told after the file is written. */
    for (unsigned i = 0; i < 500 && monitor_totals(rec).written == 0; i++) {
        usleep(10000);
    }
    assert_int_equal(files(), 1);
    assert_true(monitor_totals(rec).core.stalls == 1);
    assert_int_equal(files_of("session-"), 0);
    stallrec_stop(rec);
    assert_int_equal(files(), 1);
    assert_int_equal(files_of("session-"), 1);
    assert_int_equal(files_of(".session-"), 0);
}

static void user_outside_the_share_is_not_watched(void **state) {
    (void)state;
    struct stallrec_config config;
    struct stallrec *rec = NULL;
    unsigned recorded = 0;
    stallrec_config_init(&config, sizeof config);
    config.directory = folder;
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
    stallrec_loop_wake(stallrec_main_loop(NULL)); /* its hooks do nothing */
    stallrec_loop_sleep(stallrec_main_loop(NULL));
    assert_int_equal(stallrec_context_set(NULL, "a", "b"), STALLREC_OK);
    stallrec_foreground(NULL, 1);
    assert_int_equal(files(), 0);
}

static void context_and_policy_are_in_the_dump(void **state) {
    (void)state;
    char path[400], text[16384];
    struct stallrec_config config;
    struct stallrec *rec = NULL;
    stallrec_config_init(&config, sizeof config);
    config.directory = folder;
    config.threshold_ms = 50;
    config.flags = STALLREC_PLAIN_JSON;
    config.context_keys = "screen, net";
    config.home = "/home/ann";
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    assert_int_equal(stallrec_context_set(rec, "screen", "/home/ann/x.c"), STALLREC_OK);
    assert_int_equal(stallrec_context_set(rec, "token", "s3cret"), STALLREC_ERR_CONTEXT);
    stallrec_foreground(rec, 0);
    stall(rec);
    stallrec_context_set(rec, "screen", "too late"); /* the dump was captured before */
    stallrec_stop(rec);
    assert_true(named("stall-", path, sizeof path));
    read_text(path, text, sizeof text);
    assert_non_null(strstr(text, "\"context\":{\"screen\":\"~/x.c\"},\"policy\":{"
                                 "\"preset\":\"default\",\"user_share_ppm\":1000000,"
                                 "\"whitelisted\":false,\"seq_today\":1}"));
    assert_non_null(strstr(text, "\"app_state\":\"background\""));
    assert_null(strstr(text, "s3cret"));
}

static void stop_writes_the_stall_that_still_goes_on(void **state) {
    (void)state;
    struct stallrec *rec = start(50);
    stall(rec);
    stallrec_stop(rec);
    assert_int_equal(files(), 1);
}

/* Turns of 1.5 ms. Returns the longest time from before the edge that began a stretch to behind the
 * one that ended it: on a machine that is busy or slow, a loop that means to be healthy is not. */
static uint64_t turn_healthily(struct stallrec_loop *loop) {
    uint64_t longest = 0, begin = stallrec_clock_ns();
    for (unsigned i = 0; i < 100; i++) {
        bool turns = i % 3 == 0;
        stallrec_loop_wake(loop); /* of no effect behind a turn */
        usleep(1500);
        uint64_t end = stallrec_clock_ns();
        if (turns) {
            stallrec_loop_turn(loop);
        } else {
            stallrec_loop_sleep(loop);
        }
        uint64_t now = stallrec_clock_ns();
        longest = now - begin > longest ? now - begin : longest;
        begin = turns ? end : now;
    }
    stallrec_loop_sleep(loop); /* else it is busy for as long as the stop takes */
    uint64_t last = stallrec_clock_ns() - begin;
    return last > longest ? last : longest;
}

static void healthy_loop_writes_nothing(void **state) {
    (void)state;
    uint64_t longest = UINT64_MAX;
    for (unsigned tries = 0; tries < 50 && longest >= 100 * UINT64_C(1000000); tries++) {
        unsigned before = files();
        struct stallrec *rec;
        struct stallrec_config config = quick_config(100);
        config.flags = STALLREC_PLAIN_JSON;
        assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
        struct stallrec_loop *loop = stallrec_main_loop(rec);
        longest = turn_healthily(loop);
        stallrec_stop(rec);
        if (longest < 100 * UINT64_C(1000000) && files() != before) {
            char path[300], text[16384];
            assert_true(named("stall-", path, sizeof path));
            read_text(path, text, sizeof text);
            fail_msg("longest turn %u us, and: %s", (unsigned)(longest / 1000), text);
        }
        stallrec_loop_wake(loop); /* hooks need no check after a stop */
        stallrec_loop_sleep(loop);
    }
    if (longest >= 100 * UINT64_C(1000000)) {
        print_message("no healthy loop could be had on this machine\n");
        skip();
    }
}

static void one_recorder_at_a_time(void **state) {
    (void)state;
    struct stallrec *rec = start(100), *other = NULL;
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = folder;
    assert_int_equal(stallrec_start(&other, &config), STALLREC_ERR_RUNNING);
    assert_null(other);
    stallrec_stop(rec);
    stallrec_stop(start(100));
    stallrec_stop(NULL);
}

static void start_that_fails_leaves_nothing_behind(void **state) {
    (void)state;
    struct stallrec *rec = NULL;
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_ERR_CONFIG);
    config.directory = "/proc/nowhere";
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_ERR_DIRECTORY);
    config.directory = folder;
    config.signal_number = SIGKILL;
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_ERR_UNSUPPORTED);
    assert_null(rec);
    stallrec_stop(start(100));
}

/* Voluntary switches of the monitor, found by its name. */
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
    (void)state;
    struct stallrec *rec = start(100);
    stallrec_loop_sleep(stallrec_main_loop(rec)); /* the launch is over */
    unsigned long before = 0, now = monitor_switches();
    for (unsigned i = 0; i < 50 && (now == 0 || now != before); i++) { /* it has seen that */
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
    (void)state;
    if (UNDER_TSAN) { /* it takes part in the end of threads and in fork itself */
        skip();
    }
    struct stallrec *rec = start(50);
    struct stallrec_loop *loop = stallrec_main_loop(rec);
    stallrec_loop_sleep(loop); /* the launch is over */
    pid_t pid = fork();
    if (pid == 0) {
        stallrec_loop_wake(loop);
        usleep(120000);
        stallrec_loop_sleep(loop);
        stallrec_stop(rec); /* returns at once, and writes nothing */
        _exit(loop->notify_ == 0 ? 5 : 6);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    stallrec_stop(rec);
    assert_int_equal(files(), 0);
}

/* In a forked child: exits with 7 when a stall of the child's was written by a recorder of its own.
 */
static void record_in_child(struct stallrec *parents) {
    struct stallrec *rec = NULL;
    struct stallrec_config config = quick_config(50);
    unsigned before = files();
    if (stallrec_start(&rec, &config) != STALLREC_OK ||
        stallrec_start(&parents, &config) != STALLREC_ERR_RUNNING) {
        _exit(1);
    }
    stallrec_stop(parents); /* not the child's to stop */
    stall(rec);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    stallrec_stop(rec);
    _exit(files() == before + 1 ? 7 : 8);
}

static void forked_child_may_start_its_own(void **state) {
    (void)state;
    if (UNDER_TSAN) { /* it takes part in the end of threads and in fork itself */
        skip();
    }
    struct stallrec *rec = NULL;
    struct stallrec_config config = quick_config(50);
    config.check_ms = 60000; /* one dump, also if its stack changes */
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    stall(rec); /* the parent's, while its child starts */
    pid_t pid = fork();
    if (pid == 0) {
        record_in_child(rec);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    stallrec_stop(rec);
    assert_int_equal(files(), 2);
}

static void start_needs_one_descriptor_for_the_folder(void **state) {
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct stallrec *rec = NULL;
        struct stallrec_config config = quick_config(100);
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

static void *start_and_end(void *arg) {
    struct stallrec_config config = quick_config(100);
    return stallrec_start(arg, &config) == STALLREC_OK ? arg : NULL;
}

/* Descriptors, threads, mappings. */
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
    (void)state;
    if (UNDER_TSAN) { /* it takes part in the end of threads and in fork itself */
        skip();
    }
    struct stallrec *rec = NULL;
    void *started = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, start_and_end, &rec), 0);
    assert_int_equal(pthread_join(thread, &started), 0);
    assert_non_null(started);
    for (int i = 0; i < 1000 && entries_of("/proc/self/task") > ALONE; i++) {
        usleep(10000);
    }
    assert_false(entries_of("/proc/self/task") > ALONE);
    stallrec_stop(rec);
}

static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void count_lost(void *user, const char *path, enum stallrec_error why) {
    (void)path, (void)why;
    atomic_fetch_add((atomic_uint *)user, 1);
}

/* A recorder that cannot write what its loop's stall gives. */
static struct stallrec *stall_on_full_disk(atomic_uint *lost) {
    struct stallrec_config config = quick_config(50);
    struct stallrec *rec = NULL;
    config.callbacks.dump_lost = count_lost;
    config.user_data = lost;
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    limit_files(100);
    stall(rec);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    usleep(400000); /* the write has been tried */
    assert_int_equal(files(), 0);
    return rec;
}

static void dump_waits_until_the_disk_has_room(void **state) {
    (void)state;
    atomic_uint lost = 0;
    struct stallrec *rec = stall_on_full_disk(&lost);
    limit_files(RLIM_INFINITY);
    stallrec_stop(rec);
    assert_int_equal(files(), 1);
    assert_int_equal(files_of(".spool-"), 0);
    assert_int_equal(atomic_load(&lost), 0);
}

static void dump_that_cannot_be_written_at_all_is_the_next_starts(void **state) {
    (void)state;
    atomic_uint lost = 0;
    stallrec_stop(stall_on_full_disk(&lost));
    limit_files(RLIM_INFINITY);
    assert_int_equal(files(), 0);
    assert_int_equal(files_of(".spool-"), 1);
    assert_int_equal(atomic_load(&lost), 0);
    stallrec_stop(start(100));
    assert_int_equal(files(), 1);
    assert_int_equal(files_of(".spool-"), 0);
}

static void dump_without_a_spool_that_cannot_be_written_is_lost(void **state) {
    (void)state;
    atomic_uint lost = 0;
    struct stallrec *rec = stall_on_full_disk(&lost);
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, ".spool-", 7) == 0) {
            assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
        }
    }
    closedir(d);
    stallrec_stop(rec);
    limit_files(RLIM_INFINITY);
    assert_int_equal(files(), 0);
    assert_int_equal(atomic_load(&lost), 1);
}

static void starts_and_stops_leave_nothing_behind(void **state) {
    (void)state;
    unsigned before[3] = {0};
    for (unsigned i = 0; i <= 100; i++) {
        struct stallrec *rec = start(100);
        stallrec_loop_wake(stallrec_main_loop(rec));
        stallrec_loop_sleep(stallrec_main_loop(rec));
        stallrec_stop(rec);
        unsigned now[] = {entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
                          entries_of("/proc/self/map_files")};
        if (i == 1) { /* what is made once is there */
            memcpy(before, now, sizeof before);
        }
        if (i == 100) {
            assert_int_equal(now[0], before[0]);
            assert_int_equal(now[1], before[1]);
            assert_true(now[2] <= before[2]);
        }
    }
    assert_int_equal(files_of(".spool-"), 0);
    assert_int_equal(files_of(".session-"), 0);
}

static pthread_mutex_t held_up = PTHREAD_MUTEX_INITIALIZER;

static void hold_up(void *user, const char *path) {
    (void)user, (void)path;
    pthread_mutex_lock(&held_up);
    pthread_mutex_unlock(&held_up);
}

/* A dump is being written to a disk that does not answer, or by a callback that does not return. */
static void stop_with_a_limit_leaves_a_monitor_that_is_held_up(void **state) {
    (void)state;
    struct stallrec_config config = quick_config(20);
    struct stallrec *rec = NULL;
    config.callbacks.dump_written = hold_up;
    pthread_mutex_lock(&held_up);
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    stall(rec);
    uint64_t begin = stallrec_clock_ns();
    assert_false(monitor_stop(rec, begin + 100000000));
    assert_true(stallrec_clock_ns() - begin >= 100000000);
    assert_int_equal(files_of(".spool-"), 1); /* it has what may be lost */
    pthread_mutex_unlock(&held_up);
    assert_true(monitor_stop(rec, REC_NEVER));
    assert_int_equal(files_of(".spool-"), 0);
    assert_int_equal(files(), 1);
}

static atomic_bool stall_told;

static void hold_up_stall(void *user, const struct stallrec_stall *stall) {
    (void)stall;
    atomic_store(&stall_told, true);
    hold_up(user, NULL);
}

/* Nobody takes what is told: 256 messages have a place. */
static void messages_without_a_place_are_counted_in_the_session(void **state) {
    (void)state;
    struct stallrec_config config = quick_config(20);
    struct stallrec *rec = NULL;
    char name[128] = "", text[4096] = "";
    config.callbacks.stall_begin = hold_up_stall;
    atomic_store(&stall_told, false);
    pthread_mutex_lock(&held_up);
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    stallrec_loop_wake(stallrec_main_loop(rec));
    for (int i = 0; i < 1000 && !atomic_load(&stall_told); i++) {
        usleep(10000);
    }
    bool told = atomic_load(&stall_told);
    for (int i = 0; i < 300; i++) {
        stallrec_span_end(rec, 12345);
    }
    pthread_mutex_unlock(&held_up);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    stallrec_stop(rec);
    assert_true(told);
    assert_true(named("session-", name, sizeof name));
    read_text(name, text, sizeof text);
    assert_non_null(strstr(text, "\"events_dropped\":44,"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        T(dump_waits_until_the_disk_has_room),
        T(dump_that_cannot_be_written_at_all_is_the_next_starts),
        T(dump_without_a_spool_that_cannot_be_written_is_lost),
        T(starts_and_stops_leave_nothing_behind),
        T(stop_with_a_limit_leaves_a_monitor_that_is_held_up),
        T(messages_without_a_place_are_counted_in_the_session),
        T(stall_is_written_once_the_loop_is_idle),
        T(user_outside_the_share_is_not_watched),
        T(context_and_policy_are_in_the_dump),
        T(stop_writes_the_stall_that_still_goes_on),
        T(healthy_loop_writes_nothing),
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
