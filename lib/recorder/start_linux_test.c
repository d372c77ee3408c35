/* Tests starts of the recorder. A start runs on the app's thread while the app launches, so it must
 * not wait for a disk. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/folder_test.h"
#include "stallrec.h"

static pthread_t app;
static atomic_uint waits;

/* Replaces libc's function, to count the app thread's waits for a disk. */
int fsync(int fd) {
    waits += pthread_equal(pthread_self(), app) != 0;
    return (int)syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
    waits += pthread_equal(pthread_self(), app) != 0;
    return (int)syscall(SYS_fdatasync, fd);
}

static int make_folder(void **state) {
    app = pthread_self();
    waits = 0;
    return folder_setup(state);
}

static uint64_t start_and_stop(const struct folder *f) {
    struct stallrec_config config;
    struct stallrec *rec = NULL;
    stallrec_config_init(&config, sizeof config);
    config.directory = f->path;
    uint64_t begin = stallrec_clock_ns();
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    uint64_t took = stallrec_clock_ns() - begin;
    assert_int_equal(waits, 0);
    stallrec_stop(rec);
    return took;
}

static void a_start_waits_for_no_disk(void **state) {
    const struct folder *f = *state;
    char path[128];
    start_and_stop(f);
    snprintf(path, sizeof path, "%s/.stallrec-state", f->path);
    assert_int_equal(access(path, R_OK), 0); /* the first start has made the folder's state file */
    start_and_stop(f);
}

/* Another process holds the folder's lock and does not release it. */
static void a_first_start_does_not_wait_long_for_others(void **state) {
    const struct folder *f = *state;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[128], byte;
    int ready[2];
    snprintf(path, sizeof path, "%s/.stallrec-lock", f->path);
    assert_int_equal(pipe(ready), 0);
    pid_t other = fork();
    if (other == 0) {
        alarm(30); /* ends this process if the test fails */
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        _exit(fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "", 1) != 1 || pause());
    }
    assert_true(other > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    uint64_t took = start_and_stop(f);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_in_range(took, UINT64_C(500000000), UINT64_C(1900000000));
}

static void a_loop_that_has_waited_before_the_start_is_no_launch(void **state) {
    const struct folder *f = *state;
    struct stallrec_config config;
    struct stallrec *rec = NULL;
    stallrec_config_init(&config, sizeof config);
    config.directory = f->path;
    config.launch_ms = 1; /* the process is older than that, so a launch would be a stall */
    struct stallrec_loop *loop = stallrec_main_loop(NULL);
    stallrec_loop_wake(loop);
    stallrec_loop_sleep(loop);
    usleep(10000);
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    stallrec_stop(rec); /* this recorder has seen no wait of the loop */
    assert_int_equal(stallrec_start(&rec, &config), STALLREC_OK);
    usleep(100000); /* the loop still waits */
    for (unsigned i = 0; i < 20; i++) {
        stallrec_loop_wake(loop);
        stallrec_loop_sleep(loop);
        usleep(2000);
    }
    stallrec_stop(rec);
    assert_int_equal(folder_count(f, "stall-", NULL, 0), 0);
}

static void start_fails(const char *directory, const char *trace, enum stallrec_error error,
                        int why) {
    struct stallrec_config config;
    struct stallrec *rec = NULL;
    stallrec_config_init(&config, sizeof config);
    config.directory = directory;
    config.trace_path = trace;
    errno = 0;
    assert_int_equal(stallrec_start(&rec, &config), error);
    assert_int_equal(errno, why);
    assert_null(rec);
}

static void a_start_that_fails_says_why(void **state) {
    const struct folder *f = *state;
    char path[128], long_path[8192];
    snprintf(path, sizeof path, "%s/file", f->path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    start_fails(path, NULL, STALLREC_ERR_DIRECTORY, ENOTDIR);
    start_fails(long_path, NULL, STALLREC_ERR_DIRECTORY, ENAMETOOLONG);
    start_fails(f->path, f->path, STALLREC_ERR_WRITE, EISDIR);
    snprintf(path, sizeof path, "%s/none/none", f->path);
    start_fails(path, NULL, STALLREC_ERR_DIRECTORY, ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_start_waits_for_no_disk, make_folder, folder_teardown),
        cmocka_unit_test_setup_teardown(a_first_start_does_not_wait_long_for_others, make_folder,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(a_loop_that_has_waited_before_the_start_is_no_launch,
                                        make_folder, folder_teardown),
        cmocka_unit_test_setup_teardown(a_start_that_fails_says_why, make_folder, folder_teardown),
    };
    return cmocka_run_group_tests_name("start_linux", tests, NULL, NULL);
}
