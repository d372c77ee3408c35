/* Tests the smaller parts of the recorder for Linux: texts of /proc, modules, images, the
 * device. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/device_linux.h"
#include "linux/images_linux.h"
#include "linux/modules_linux.h"
#include "linux/proc_linux.h"

/* ---- /proc ---- */

static bool parse_call(const char *text, struct proc_syscall *call) {
    return proc_parse_syscall_async(text, strlen(text), call);
}

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
    assert_true(parse_blocked("", SIGUSR1)); /* as read for a thread that is gone */
}

static bool parse_handling(const char *text) {
    return proc_parse_handling_async(text, strlen(text));
}

static void handler_at_work_blocks_a_signal_that_is_handled(void **state) {
    (void)state;
    assert_true(
        parse_handling("SigPnd:\t0\nSigBlk:\t0000000000000200\nSigCgt:\t0000000180000a00\n"));
    assert_false(
        parse_handling("SigPnd:\t0\nSigBlk:\t0000000000000400\nSigCgt:\t0000000180000a00\n"));
    assert_true(parse_handling("SigPnd:\t0\nSigBlk:\t0000000000000000\n")); /* the text is cut
                                                                               off */
    assert_true(parse_handling(""));
}

static void file_whose_descriptor_was_closed_is_opened_again(void **state) {
    (void)state;
    struct proc_file f;
    char text[256];
    proc_file_open_async(&f, gettid(), "stat");
    assert_true(proc_file_read_async(&f, text, sizeof text) > 0);
    int null = open("/dev/null", O_RDWR);
    assert_int_equal(dup2(null, f.fd.fd), f.fd.fd); /* as a program does by closefrom and an open */
    assert_int_equal(proc_file_read_async(&f, text, sizeof text), 0);
    int taken = f.fd.fd;
    proc_file_check_async(&f);
    assert_int_not_equal(f.fd.fd, taken);
    assert_true(proc_file_read_async(&f, text, sizeof text) > 0);
    assert_int_equal(fcntl(taken, F_GETFD), 0); /* the descriptor is the program's now, and is left
                                                   alone */
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
    assert_int_equal(dup2(event, f.fd.fd), f.fd.fd);
    assert_int_equal(proc_file_read_async(&f, text, sizeof text), 0);
    int taken = f.fd.fd;
    proc_file_close_async(&f);
    assert_int_equal(fcntl(taken, F_GETFD), 0);
    assert_int_equal(read(event, &events, sizeof events), sizeof events);
    assert_int_equal(events, 7); /* a read by the recorder would have set it to 0 */
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
    assert_int_equal(images_build_id_async(notes, sizeof notes - 1, id), 3); /* the padding at the
                                                                                end may be
                                                                                missing */
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
    assert_int_equal(images_build_id_async(notes, sizeof notes, id), 0); /* longer than any build
                                                                            id */
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

/* The library must not be loaded otherwise, so that dlclose unloads it. */
static void unloaded_image_stays_known(void **state) {
    (void)state;
    struct images *t = images_new();
    struct rec_image image;
    Dl_info info;
    if (dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD)) {
        images_free(t); /* a sanitizer has loaded it */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_of_a_blocked_thread_is_parsed),
        cmocka_unit_test(anything_else_is_not_taken_for_one),
        cmocka_unit_test(thread_state_stands_behind_any_name),
        cmocka_unit_test(blocked_signal_is_found_in_the_status),
        cmocka_unit_test(handler_at_work_blocks_a_signal_that_is_handled),
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
    };
    return cmocka_run_group_tests_name("platform_linux", tests, NULL, NULL);
}
