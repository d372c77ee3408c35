/* Tests what is reported of a thread that reads a terminal, its standard input, or something else.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/thread_wait_linux.h"

static const struct lock_layout no_layout;

/* Returns what a thread waits for that is in this call on the descriptor. */
static enum rec_wait_kind waited_for(int64_t number, int descriptor) {
    struct proc_syscall call = {.number = number, .args = {(uint64_t)descriptor}};
    struct rec_wait wait = thread_wait_async(&no_layout, getpid(), getpid(), &call);
    assert_int_equal(wait.owner, -1);
    assert_int_equal(wait.address, 0);
    return wait.kind;
}

static void a_terminal_is_told_by_its_name(void **state) {
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        skip(); /* there are no terminals, as in some containers */
    }
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(waited_for(SYS_read, terminal), REC_WAIT_TERMINAL);
    assert_int_equal(waited_for(SYS_write, terminal), REC_WAIT_NONE);
    close(terminal);
    close(master);
}

/* Makes a descriptor standard input while a check runs. */
static void with_input(int descriptor, void (*check)(int descriptor)) {
    int saved = dup(STDIN_FILENO);
    assert_int_equal(dup2(descriptor, STDIN_FILENO), STDIN_FILENO);
    check(descriptor);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    } else {
        close(STDIN_FILENO);
    }
}

static void check_is_input(int descriptor) {
    assert_int_equal(waited_for(SYS_read, STDIN_FILENO), REC_WAIT_STDIN);
    assert_int_equal(waited_for(SYS_readv, descriptor), REC_WAIT_STDIN); /* this descriptor is of
                                                                            the same pipe or
                                                                            socket */
    assert_int_equal(waited_for(SYS_recvfrom, descriptor), REC_WAIT_STDIN);
    int other[2];
    assert_int_equal(pipe(other), 0);
    assert_int_equal(waited_for(SYS_read, other[0]), REC_WAIT_NONE); /* this may be a wait for
                                                                        another process's reply */
    close(other[0]);
    close(other[1]);
}

static void check_is_none(int descriptor) {
    (void)descriptor;
    assert_int_equal(waited_for(SYS_read, STDIN_FILENO), REC_WAIT_NONE);
}

static void standard_input_is_a_pipe_or_a_socket(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    with_input(ends[0], check_is_input);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    with_input(ends[0], check_is_input);
    close(ends[0]);
    close(ends[1]);
}

static void a_file_as_standard_input_is_read_from_a_disk(void **state) {
    (void)state;
    int file = open("/proc/self/status", O_RDONLY);
    assert_true(file >= 0);
    with_input(file, check_is_none);
    close(file);
}

/* Returns what a thread waits for that polls the two descriptors for input, the second one only if
 * it is not negative. */
static enum rec_wait_kind polled(int first, int second, short events) {
    struct pollfd fds[2] = {{.fd = first, .events = events}, {.fd = second, .events = POLLIN}};
    struct proc_syscall call = {.number = SYS_ppoll, .args = {(uint64_t)(uintptr_t)fds, 2}};
    return thread_input_async(getpid(), &call);
}

static enum rec_wait_kind selected(int count, uint64_t set) {
    struct proc_syscall call = {.number = SYS_pselect6,
                                .args = {(uint64_t)count, (uint64_t)(uintptr_t)&set}};
    return thread_input_async(getpid(), &call);
}

static void check_polls(int descriptor) {
    int other[2];
    assert_int_equal(pipe(other), 0);
    assert_int_equal(polled(STDIN_FILENO, -1, POLLIN), REC_WAIT_STDIN);
    assert_int_equal(polled(STDIN_FILENO, -1, POLLOUT), REC_WAIT_NONE);
    assert_int_equal(polled(other[0], descriptor, POLLIN), REC_WAIT_STDIN);
    assert_int_equal(polled(other[0], -1, POLLIN), REC_WAIT_NONE);
    assert_int_equal(selected(1, 1), REC_WAIT_STDIN);
    assert_int_equal(selected(0, 1), REC_WAIT_NONE);
    assert_int_equal(selected(other[0] + 1, UINT64_C(1) << other[0]), REC_WAIT_NONE);
    assert_int_equal(selected(1024, 1 | UINT64_C(1) << other[0]), REC_WAIT_STDIN);
    close(other[0]);
    close(other[1]);
}

static void a_poll_of_standard_input_waits_for_it(void **state) {
    (void)state;
    int ends[2], read = 0;
    if (!proc_read_memory_async(getpid(), (uint64_t)(uintptr_t)ends, &read, sizeof read)) {
        skip(); /* an emulator has no process_vm_readv(2) */
    }
    assert_int_equal(pipe(ends), 0);
    with_input(ends[0], check_polls);
    close(ends[0]);
    close(ends[1]);
}

static void a_poll_whose_descriptors_cannot_be_read_is_nothing(void **state) {
    (void)state;
    struct proc_syscall poll_call = {.number = SYS_ppoll, .args = {8, 1}};
    struct proc_syscall select_call = {.number = SYS_pselect6, .args = {1, 8}};
    struct proc_syscall no_set = {.number = SYS_pselect6, .args = {1, 0}};
    assert_int_equal(thread_input_async(getpid(), &poll_call), REC_WAIT_NONE);
    assert_int_equal(thread_input_async(getpid(), &select_call), REC_WAIT_NONE);
    assert_int_equal(thread_input_async(getpid(), &no_set), REC_WAIT_NONE);
}

static void a_descriptor_that_is_closed_is_nothing(void **state) {
    (void)state;
    assert_int_equal(waited_for(SYS_read, 100000), REC_WAIT_NONE);
    assert_int_equal(waited_for(-1, 0), REC_WAIT_NONE); /* the thread is blocked, but in no system
                                                           call */
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_is_told_by_its_name),
        cmocka_unit_test(standard_input_is_a_pipe_or_a_socket),
        cmocka_unit_test(a_file_as_standard_input_is_read_from_a_disk),
        cmocka_unit_test(a_poll_of_standard_input_waits_for_it),
        cmocka_unit_test(a_poll_whose_descriptors_cannot_be_read_is_nothing),
        cmocka_unit_test(a_descriptor_that_is_closed_is_nothing),
    };
    return cmocka_run_group_tests_name("thread_wait_linux", tests, NULL, NULL);
}
