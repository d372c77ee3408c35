/* The smaller parts of the Linux side: /proc texts, images, the device, the monitor's life. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_linux.h"
#include "images_linux.h"
#include "loop.h"
#include "modules_linux.h"
#include "monitor_linux.h"
#include "proc_linux.h"

/* ---- /proc ---- */

static bool parse_call(const char *text, struct proc_syscall *call) {
    return proc_parse_syscall_async(text, strlen(text), call);
}

#ifdef __SANITIZE_THREAD__
enum { UNDER_TSAN = 1 };
#else
enum { UNDER_TSAN = 0 };
#endif

static void line_of_a_blocked_thread_is_parsed(void **state) {
    (void)state;
    struct proc_syscall c;
    assert_true(parse_call(
        "232 0x5 0x7ffe0 0x20 0xffffffffffffffff 0x8 0x0 0x7ffd1000 0x7f0000012345\n", &c));
    assert_int_equal(c.number, 232);
    assert_true(c.args[0] == 5 && c.args[3] == UINT64_MAX && c.args[5] == 0);
    assert_true(c.sp == 0x7ffd1000 && c.pc == 0x7f0000012345);
    assert_true(parse_call("-1 0x7ffd1000 0x401000\n", &c));
    assert_int_equal(c.number, -1);
    assert_true(c.sp == 0x7ffd1000 && c.pc == 0x401000);
}

static void anything_else_is_not_taken_for_one(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "running\n",
        "232\n",
        "232 0x5 0x6\n",
        "-2 0x1 0x2\n",
        "-1 0x1 0x2",
        "-1 0x1 0x2\nx",
        "-1 1 2\n",
        "-1 0x 0x2\n",
        "-1 0x11111111111111111 0x2\n",
        "99999999999 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1\n",
        "root:x:0:0:root:/root:/bin/bash\n",
    };
    struct proc_syscall c = {.sp = 77};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(parse_call(bad[i], &c));
        assert_true(c.sp == 77);
    }
}

static enum rec_thread_state parse_state(const char *text) {
    return proc_parse_state_async(text, strlen(text));
}

static void thread_state_stands_behind_any_name(void **state) {
    (void)state;
    assert_int_equal(parse_state("12 (a) R 1 2"), REC_STATE_RUNNING);
    assert_int_equal(parse_state("12 (a) S) R (b) S 1"), REC_STATE_WAITING);
    assert_int_equal(parse_state("12 (a) D 1"), REC_STATE_BLOCKED);
    assert_int_equal(parse_state("12 (a) T 1"), REC_STATE_STOPPED);
    assert_int_equal(parse_state("12 (a) Z 1"), REC_STATE_UNKNOWN);
    assert_int_equal(parse_state("12 (a)"), REC_STATE_UNKNOWN);
    assert_int_equal(parse_state(""), REC_STATE_UNKNOWN);
}

static bool parse_blocked(const char *text, int signal_number) {
    return proc_parse_blocked_async(text, strlen(text), signal_number);
}

static void blocked_signal_is_found_in_the_status(void **state) {
    (void)state;
    const char *text =
        "Name:\tx\nSigPnd:\tffffffffffffffff\nSigBlk:\t0000000000400000\nSigIgn:\t0\n";
    assert_true(parse_blocked(text, SIGURG));
    assert_false(parse_blocked(text, SIGUSR1));
    assert_true(parse_blocked("", SIGUSR1)); /* of a thread that is gone */
}

static void file_whose_descriptor_was_closed_is_opened_again(void **state) {
    (void)state;
    struct proc_file f;
    char text[256];
    proc_file_open_async(&f, gettid(), "stat");
    assert_true(proc_file_read_async(&f, text, sizeof text) > 0);
    int null = open("/dev/null", O_RDWR);
    assert_int_equal(dup2(null, f.fd), f.fd); /* as closefrom and an open do */
    assert_int_equal(proc_file_read_async(&f, text, sizeof text), 0);
    int taken = f.fd;
    proc_file_check_async(&f);
    assert_int_not_equal(f.fd, taken);
    assert_true(proc_file_read_async(&f, text, sizeof text) > 0);
    assert_int_equal(fcntl(taken, F_GETFD), 0); /* somebody else's now: left alone */
    proc_file_close_async(&f);
    close(taken);
    close(null);
}

static void file_that_took_the_descriptor_is_not_read(void **state) {
    (void)state;
    struct proc_file f;
    char text[256];
    uint64_t events = 0;
    proc_file_open_async(&f, gettid(), "stat");
    int event = eventfd(7, EFD_NONBLOCK);
    assert_int_equal(dup2(event, f.fd), f.fd);
    assert_int_equal(proc_file_read_async(&f, text, sizeof text), 0);
    int taken = f.fd;
    proc_file_close_async(&f);
    assert_int_equal(fcntl(taken, F_GETFD), 0);
    assert_int_equal(read(event, &events, sizeof events), sizeof events);
    assert_int_equal(events, 7); /* a read by us would have taken them */
    close(taken);
    close(event);
}

/* ---- modules ---- */

static int nap_in_walk(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)info, (void)size;
    atomic_store((atomic_bool *)arg, true);
    usleep(200000);
    return 1;
}

static void *walk_slowly(void *arg) {
    modules_iterate_async(nap_in_walk, arg);
    return NULL;
}

static int stop_walk(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)info, (void)size, (void)arg;
    return 1;
}

static void fork_leaves_no_lock_of_the_linker_behind(void **state) {
    (void)state;
    pthread_t walker;
    atomic_bool walks = false;
    int status = -1;
    assert_int_equal(
        pthread_atfork(modules_before_fork, modules_after_fork, modules_in_forked_child), 0);
    assert_int_equal(pthread_create(&walker, NULL, walk_slowly, &walks), 0);
    while (!atomic_load(&walks)) {
        usleep(1000);
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        dl_iterate_phdr(stop_walk, NULL);
        modules_iterate_async(stop_walk, NULL);
        _exit(3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(pthread_join(walker, NULL), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
}

/* ---- images ---- */

static void build_id_is_found_among_notes(void **state) {
    (void)state;
    static const uint8_t notes[] = {4, 0, 0, 0, 5, 0, 0,   0,   5,   0, 0,    0,    'G',  'N', 'U',
                                    0, 1, 2, 3, 4, 5, 0,   0,   0,   4, 0,    0,    0,    3,   0,
                                    0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xaa, 0xbb, 0xcc, 0};
    uint8_t id[REC_IMAGE_ID_MAX] = {0};
    assert_int_equal(images_build_id_async(notes, sizeof notes, id), 3);
    assert_true(id[0] == 0xaa && id[2] == 0xcc);
    assert_int_equal(images_build_id_async(notes, sizeof notes - 1, id), 3); /* padding may lack */
    for (size_t size = 0; size < sizeof notes - 1; size++) {
        assert_int_equal(images_build_id_async(notes, size, id), 0);
    }
}

static void note_with_a_huge_size_is_no_build_id(void **state) {
    (void)state;
    uint8_t id[REC_IMAGE_ID_MAX];
    for (unsigned at = 0; at < 8; at += 4) {
        uint8_t notes[32] = {4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3};
        memset(notes + at, 0xff, 4);
        assert_int_equal(images_build_id_async(notes, sizeof notes, id), 0);
    }
    uint8_t notes[64] = {4, 0, 0, 0, 21, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
    assert_int_equal(images_build_id_async(notes, sizeof notes, id), 0); /* longer than any */
}

static void paths_tell_the_app_from_the_system(void **state) {
    (void)state;
    const char *program = "/usr/bin/app";
    assert_true(images_in_app_async("/usr/bin/app", program));
    assert_true(images_in_app_async("/opt/app/libview.so", program));
    assert_true(images_in_app_async("/usr/local/lib/libview.so", program));
    assert_false(images_in_app_async("/lib/x86_64-linux-gnu/libc.so.6", program));
    assert_false(images_in_app_async("/usr/lib/libz.so.1", program));
    assert_false(images_in_app_async("linux-vdso.so.1", program));
    assert_false(images_in_app_async("/opt/stallkit/libstallrec-preload.so", program));
}

static void loaded_image_is_found_with_its_build_id(void **state) {
    (void)state;
    struct images *t = images_new();
    struct rec_image image;
    assert_non_null(t);
    assert_true(images_find_async(t, (uint64_t)(uintptr_t)images_new, &image));
    assert_true(image.in_app && strstr(image.path, "platform_linux_test"));
    assert_int_equal(image.load % 4096, 0);
    assert_true((uint64_t)(uintptr_t)images_new - image.load < image.size);
    assert_int_equal(image.id_kind, REC_ID_BUILD);
    assert_true(image.id_len > 0);
    assert_false(images_find_async(t, 0x1000, &image));
    images_free(t);
}

/* Any library that nothing else holds: the dlopen below is the only reference. */
static void unloaded_image_stays_known(void **state) {
    (void)state;
    struct images *t = images_new();
    struct rec_image image;
    Dl_info info;
    if (dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD)) {
        images_free(t); /* a sanitizer has it */
        skip();
    }
    void *lib = dlopen("libm.so.6", RTLD_NOW), *symbol = lib ? dlsym(lib, "lgamma") : NULL;
    if (!symbol || !dladdr(symbol, &info)) {
        images_free(t);
        skip();
    }
    uint64_t inside = (uint64_t)(uintptr_t)symbol;
    assert_false(images_find_async(t, inside, &image));
    images_refresh_async(t);
    assert_true(images_find_async(t, inside, &image));
    assert_true(image.load == (uint64_t)(uintptr_t)info.dli_fbase);
    assert_int_equal(dlclose(lib), 0);
    images_refresh_async(t);
    assert_true(images_find_async(t, inside, &image));
    assert_non_null(strstr(image.path, "libm"));
    images_free(t);
}

/* ---- device ---- */

static void os_release_values_lose_their_quotes(void **state) {
    (void)state;
    char out[32];
    const char *text = "NAME=x\nPRETTY_NAME=\"A \\\"B\\\" 12\"\nVERSION_ID='9'\nEMPTY=\n";
    device_linux_os_value(text, "PRETTY_NAME", out, sizeof out);
    assert_string_equal(out, "A \"B\" 12");
    device_linux_os_value(text, "VERSION_ID", out, sizeof out);
    assert_string_equal(out, "9");
    device_linux_os_value(text, "EMPTY", out, sizeof out);
    assert_string_equal(out, "");
    device_linux_os_value(text, "VERSION", out, sizeof out);
    assert_string_equal(out, "");
    device_linux_os_value(text, "PRETTY_NAME", out, 4);
    assert_string_equal(out, "A \"");
}

static void device_is_described(void **state) {
    (void)state;
    struct device_linux d;
    struct rec_about about = {0};
    device_linux_read(&d);
    device_linux_describe(&d, &about);
    assert_string_equal(about.app_id, "platform_linux_test");
    assert_true(about.cpus > 0 && about.os && about.os_build && about.arch);
    about.app_id = "com.example";
    device_linux_describe(&d, &about);
    assert_string_equal(about.app_id, "com.example");
}

/* ---- the monitor ---- */

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

static void stall_is_written_once_the_loop_is_idle(void **state) {
    (void)state;
    struct stallrec *rec = start(80);
    struct stallrec_loop *loop = stallrec_main_loop(rec);
    stallrec_loop_wake(loop);
    usleep(200000);
    stallrec_loop_sleep(loop);
    for (unsigned i = 0; i < 100 && files() == 0; i++) {
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
    stallrec_loop_wake(stallrec_main_loop(rec));
    usleep(120000);
    stallrec_context_set(rec, "screen", "too late"); /* the dump was captured before */
    stallrec_stop(rec);
    DIR *d = opendir(folder);
    assert_non_null(d);
    *path = '\0';
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, "stall-", 6) == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        }
    }
    closedir(d);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_non_null(strstr(text, "\"context\":{\"screen\":\"~/x.c\"},\"policy\":{"
                                 "\"preset\":\"default\",\"user_share_ppm\":1000000,"
                                 "\"whitelisted\":false,\"seq_today\":1}"));
    assert_non_null(strstr(text, "\"app_state\":\"background\""));
    assert_null(strstr(text, "s3cret"));
}

static void stop_writes_the_stall_that_still_goes_on(void **state) {
    (void)state;
    struct stallrec *rec = start(50);
    stallrec_loop_wake(stallrec_main_loop(rec));
    usleep(150000);
    stallrec_stop(rec);
    assert_int_equal(files(), 1);
}

static void healthy_loop_writes_nothing(void **state) {
    (void)state;
    struct stallrec *rec = start(100);
    struct stallrec_loop *loop = stallrec_main_loop(rec);
    for (unsigned i = 0; i < 100; i++) {
        stallrec_loop_wake(loop);
        usleep(1500);
        if (i % 3 == 0) {
            stallrec_loop_turn(loop);
        } else {
            stallrec_loop_sleep(loop);
        }
    }
    stallrec_stop(rec);
    assert_int_equal(files(), 0);
    stallrec_loop_wake(loop); /* hooks need no check after a stop */
    stallrec_loop_sleep(loop);
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

static void idle_loop_wakes_nobody(void **state) {
    (void)state;
    struct stallrec *rec = start(100);
    usleep(50000);
    struct capture_counts before = monitor_totals(rec).capture;
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task");
    /* Voluntary switches of the monitor, found by its name. */
    unsigned long switches[2] = {0, 0};
    for (unsigned round = 0; round < 2; round++) {
        DIR *d = opendir(path);
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
                    switches[round] = switches[round] * 10 + (unsigned long)(*at - '0');
                }
            }
        }
        closedir(d);
        if (round == 0) {
            usleep(500000);
        }
    }
    assert_true(switches[0] > 0);
    assert_int_equal(switches[0], switches[1]);
    assert_true(monitor_totals(rec).capture.signalled == before.signalled);
    stallrec_stop(rec);
}

static void forked_child_has_hooks_and_no_monitor(void **state) {
    (void)state;
    if (UNDER_TSAN) { /* it takes part in the end of threads and in fork itself */
        skip();
    }
    struct stallrec *rec = start(50);
    struct stallrec_loop *loop = stallrec_main_loop(rec);
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

static bool monitor_runs(void) {
    DIR *d = opendir("/proc/self/task");
    unsigned n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    closedir(d);
    return n > 1;
}

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
    for (int i = 0; i < 200 && monitor_runs(); i++) {
        usleep(10000);
    }
    assert_false(monitor_runs());
    stallrec_stop(rec);
}

#define MONITOR_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_of_a_blocked_thread_is_parsed),
        cmocka_unit_test(anything_else_is_not_taken_for_one),
        cmocka_unit_test(thread_state_stands_behind_any_name),
        cmocka_unit_test(blocked_signal_is_found_in_the_status),
        cmocka_unit_test(file_whose_descriptor_was_closed_is_opened_again),
        cmocka_unit_test(file_that_took_the_descriptor_is_not_read),
        cmocka_unit_test(fork_leaves_no_lock_of_the_linker_behind),
        cmocka_unit_test(build_id_is_found_among_notes),
        cmocka_unit_test(note_with_a_huge_size_is_no_build_id),
        cmocka_unit_test(paths_tell_the_app_from_the_system),
        cmocka_unit_test(loaded_image_is_found_with_its_build_id),
        cmocka_unit_test(unloaded_image_stays_known),
        cmocka_unit_test(os_release_values_lose_their_quotes),
        cmocka_unit_test(device_is_described),
        MONITOR_TEST(stall_is_written_once_the_loop_is_idle),
        MONITOR_TEST(user_outside_the_share_is_not_watched),
        MONITOR_TEST(context_and_policy_are_in_the_dump),
        MONITOR_TEST(stop_writes_the_stall_that_still_goes_on),
        MONITOR_TEST(healthy_loop_writes_nothing),
        MONITOR_TEST(one_recorder_at_a_time),
        MONITOR_TEST(start_that_fails_leaves_nothing_behind),
        MONITOR_TEST(idle_loop_wakes_nobody),
        MONITOR_TEST(start_needs_one_descriptor_for_the_folder),
        MONITOR_TEST(monitor_ends_with_the_thread_that_it_watches),
        MONITOR_TEST(forked_child_has_hooks_and_no_monitor),
    };
    return cmocka_run_group_tests_name("platform_linux", tests, NULL, NULL);
}
