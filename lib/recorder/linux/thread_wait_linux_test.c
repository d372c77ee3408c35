/* Tests the wait that is reported for a thread that reads a terminal, its standard input, or
 * something else. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/thread_wait_linux.h"

static const struct lock_layout no_layout;

/* Returns the wait that is reported for a thread that is in this call on the descriptor. */
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

/* Returns the wait that is reported for a thread that polls the two descriptors for input (the
 * second one only if it is not negative). */
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

/* ---- rests ---- */

/* Returns whether a thread rests that calls `number` for the descriptor at this depth, while its
 * loop, at depth LOOP_DEPTH, waits for loop_descriptor; -1: no loop is known. */
enum { LOOP_DEPTH = 1000 };
static bool aside; /* what the latest call of rest_at said */
static enum rec_rest rest_at(const struct proc_syscall *call, const struct finder_place *place,
                             const struct finder_wait *loop) {
    bool idles = thread_may_idle_async(getpid(), call);
    return thread_rest_async(getpid(), call, idles ? THREAD_SLEEPS : THREAD_BUSY, place, loop,
                             &aside);
}

static enum rec_rest rests(int64_t number, int descriptor, uint64_t depth, int loop_descriptor) {
    struct finder_wait loop = {.depth = LOOP_DEPTH, .object.kind = FINDER_SET};
    struct finder_place place = {.depth = depth};
    struct proc_syscall call = {.number = number, .args = {(uint64_t)descriptor}};
    if (loop_descriptor >= 0) {
        finder_set_add(&loop.object, (uint32_t)loop_descriptor);
    }
    return rest_at(&call, &place, loop_descriptor >= 0 ? &loop : NULL);
}

/* Does a thread that is blocked in the call at this depth sleep beside its loop, without a rest?
 * Other arguments as for `rests`. */
static bool is_aside(int64_t number, int descriptor, uint64_t depth, int loop_descriptor) {
    return rests(number, descriptor, depth, loop_descriptor) == REC_REST_NONE && aside;
}

/* Makes a listening socket, a client of it, and the accepted socket. */
static void make_sockets(struct sockaddr *address, socklen_t size, int sockets[3]) {
    sockets[0] = socket(address->sa_family, SOCK_STREAM, 0);
    sockets[1] = socket(address->sa_family, SOCK_STREAM, 0);
    assert_int_equal(bind(sockets[0], address, size), 0);
    assert_int_equal(listen(sockets[0], 1), 0);
    assert_int_equal(getsockname(sockets[0], address, &size), 0);
    assert_int_equal(connect(sockets[1], address, size), 0);
    sockets[2] = accept(sockets[0], NULL, NULL);
    assert_true(sockets[2] >= 0);
}

static void check_sockets(struct sockaddr *address, socklen_t size) {
    int s[3], ends[2];
    make_sockets(address, size, s);
    assert_int_equal(pipe(ends), 0);
    /* The loop waits for a pipe; whether requests come through the pipe is not known. */
    assert_int_equal(rests(SYS_accept4, s[0], LOOP_DEPTH - 1, ends[0]), REC_REST_INPUT);
    assert_int_equal(rests(SYS_recvfrom, s[2], LOOP_DEPTH - 1, ends[0]), REC_REST_INPUT);
    assert_int_equal(rests(SYS_read, s[2], LOOP_DEPTH + 1, ends[0]), REC_REST_INPUT);
    assert_int_equal(rests(SYS_read, s[1], LOOP_DEPTH, ends[0]), REC_REST_NONE);
    assert_int_equal(rests(SYS_read, s[1], LOOP_DEPTH + 1, ends[0]), REC_REST_UNCLEAR);
    assert_int_equal(rests(SYS_write, s[2], LOOP_DEPTH + 1, ends[0]), REC_REST_NONE);
    /* The loop waits for replies. */
    assert_int_equal(rests(SYS_recvmsg, s[2], LOOP_DEPTH - 1, s[1]), REC_REST_INPUT);
    /* The loop waits for requests. */
    assert_int_equal(rests(SYS_read, s[2], LOOP_DEPTH + 1, s[0]), REC_REST_NONE);
    assert_int_equal(rests(SYS_read, s[1], LOOP_DEPTH + 1, s[2]), REC_REST_NONE);
    assert_int_equal(rests(SYS_read, ends[0], LOOP_DEPTH + 1, s[0]), REC_REST_NONE);
    /* No loop is known. */
    assert_int_equal(rests(SYS_read, s[2], 0, -1), REC_REST_INPUT);
    assert_int_equal(rests(SYS_read, s[1], 0, -1), REC_REST_UNCLEAR);
    for (int i = 0; i < 3; i++) {
        close(s[i]);
    }
    close(ends[0]);
    close(ends[1]);
}

static void requests_come_through_accepted_sockets(void **state) {
    (void)state;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 tcp6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    bool has_tcp6 = probe >= 0 && bind(probe, (struct sockaddr *)&tcp6, sizeof tcp6) == 0;
    snprintf(local.sun_path + 1, sizeof local.sun_path - 1, "stallkit-test-%d", getpid());
    check_sockets((struct sockaddr *)&local, sizeof local);
    check_sockets((struct sockaddr *)&tcp, sizeof tcp);
    if (has_tcp6) {
        check_sockets((struct sockaddr *)&tcp6, sizeof tcp6);
    }
    close(probe);
}

static void requests_come_through_named_fifos(void **state) {
    (void)state;
    char name[] = "/tmp/stallkit-fifo.XXXXXX";
    int ends[2], file = mkstemp(name);
    close(file);
    unlink(name);
    assert_int_equal(mkfifo(name, 0600), 0);
    int fifo = open(name, O_RDWR);
    assert_true(fifo >= 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(rests(SYS_read, fifo, LOOP_DEPTH - 1, ends[0]), REC_REST_INPUT);
    assert_int_equal(rests(SYS_read, fifo, LOOP_DEPTH + 1, fifo), REC_REST_NONE);
    unlink(name);
    close(fifo);
    close(ends[0]);
    close(ends[1]);
}

static void the_loop_of_an_epoll_instance_waits_for_its_descriptors(void **state) {
    (void)state;
    int ends[2], other[2], epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(other), 0);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
    struct finder_wait loop = {.depth = LOOP_DEPTH,
                               .object = {.kind = FINDER_EPOLL, .id = (uint64_t)epoll}};
    struct finder_place place = {.depth = LOOP_DEPTH + 1};
    struct proc_syscall call = {.number = SYS_read};
    call.args[0] = (uint64_t)ends[0];
    assert_int_equal(rest_at(&call, &place, &loop), REC_REST_NONE);
    call.args[0] = (uint64_t)other[0];
    assert_int_equal(rest_at(&call, &place, &loop), REC_REST_UNCLEAR);
    loop.object = (struct finder_object){.kind = FINDER_SIGNALS};
    assert_int_equal(rest_at(&call, &place, &loop), REC_REST_NONE);
    loop.object = (struct finder_object){.kind = FINDER_CONDITION};
    assert_int_equal(rest_at(&call, &place, &loop), REC_REST_UNCLEAR);
    loop.depth = 0; /* the loop is on another stack */
    assert_int_equal(rest_at(&call, &place, &loop), REC_REST_NONE);
    call.number = SYS_mq_timedreceive;
    loop.depth = LOOP_DEPTH;
    assert_int_equal(rest_at(&call, &place, &loop), REC_REST_UNCLEAR);
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(other[i]);
    }
    close(epoll);
}

static void a_thread_idles_in_calls_that_wait_for_others(void **state) {
    (void)state;
    static const int64_t idle[] = {SYS_rt_sigsuspend, SYS_msgrcv,    SYS_io_getevents,
                                   SYS_ppoll,         SYS_nanosleep, SYS_wait4};
    static const int64_t busy[] = {SYS_write, SYS_connect, SYS_fsync, SYS_fcntl, SYS_openat};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        assert_true(is_aside(idle[i], 0, LOOP_DEPTH, 0));
        assert_false(is_aside(idle[i], 0, LOOP_DEPTH - 1, 0));
    }
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        assert_int_equal(rests(busy[i], 0, LOOP_DEPTH + 1, 0), REC_REST_NONE);
        assert_false(aside);
    }
    assert_int_equal(rests(SYS_msgrcv, 0, LOOP_DEPTH + 1, 0), REC_REST_UNCLEAR);
    struct proc_syscall futex = {.number = SYS_futex}, ring = {.number = SYS_io_uring_enter};
    assert_true(thread_may_idle_async(getpid(), &futex));
    futex.args[2] = 2; /* a lock that others wait for */
    assert_false(thread_may_idle_async(getpid(), &futex));
    assert_false(thread_may_idle_async(getpid(), &ring));
    ring.args[2] = 1;
    assert_true(thread_may_idle_async(getpid(), &ring));
}

/* A turn writes, too, so only what is clearly further out may be idling. */
static void a_thread_idles_in_calls_that_wait_for_room_clearly_further_out(void **state) {
    (void)state;
    enum { CLEAR = LOOP_DEPTH + 513 };
    int ends[2], file = open("/dev/zero", O_RDWR);
    assert_int_equal(pipe(ends), 0);
    assert_true(file >= 0);
    for (size_t i = 0; i < 2; i++) {
        int64_t number = i == 0 ? SYS_write : SYS_sendfile;
        assert_true(is_aside(number, ends[1], CLEAR, ends[0]));
        assert_false(is_aside(number, ends[1], CLEAR - 1, ends[0]));
        assert_false(is_aside(number, ends[1], CLEAR, ends[1])); /* the loop waits for it, too */
        assert_false(is_aside(number, file, CLEAR, ends[0]));
    }
    assert_true(is_aside(SYS_flock, file, CLEAR, ends[0]));
    assert_false(is_aside(SYS_flock, file, LOOP_DEPTH, ends[0]));
    struct finder_wait loop = {.depth = LOOP_DEPTH, .object.kind = FINDER_EPOLL};
    struct finder_place place = {.depth = CLEAR};
    struct proc_syscall lock = {.number = SYS_fcntl, .args = {0, F_SETLKW}};
    assert_int_equal(rest_at(&lock, &place, &loop), REC_REST_NONE);
    assert_true(aside);
    lock.args[1] = F_SETLK;
    rest_at(&lock, &place, &loop);
    assert_false(aside);
    close(ends[0]);
    close(ends[1]);
    close(file);
}

/* A turn may wait for any child, too, so one such wait tells nothing. */
static void a_wait_for_children_may_be_idling_only_if_it_recurs(void **state) {
    (void)state;
    static const struct {
        int64_t number;
        uint64_t which;
    } calls[] = {{SYS_wait4, UINT32_MAX},
                 {SYS_wait4, 0},
                 {SYS_wait4, 4711},
                 {SYS_waitid, P_ALL},
                 {SYS_waitid, P_PGID}};
    struct finder_wait loop = {.depth = LOOP_DEPTH, .object.kind = FINDER_EPOLL};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct proc_syscall call = {.number = calls[i].number, .args = {calls[i].which}};
        struct finder_place place = {.depth = 2 * LOOP_DEPTH};
        assert_int_equal(rest_at(&call, &place, &loop), REC_REST_NONE);
        assert_true(aside);
        place.depth = LOOP_DEPTH - 1;
        assert_int_equal(rest_at(&call, &place, &loop), REC_REST_NONE);
        assert_false(aside);
    }
}

/* The path may be on a file system that hangs, so it is not looked up. */
static void an_open_is_a_task_whatever_it_opens(void **state) {
    (void)state;
    char name[] = "/tmp/stallkit-open.XXXXXX";
    struct finder_wait loop = {.depth = LOOP_DEPTH, .object.kind = FINDER_EPOLL};
    struct finder_place place = {.depth = 2 * LOOP_DEPTH};
    struct proc_syscall opens = {.number = SYS_openat,
                                 .args = {(uint32_t)AT_FDCWD, (uint64_t)(uintptr_t)name, O_RDONLY}};
    close(mkstemp(name));
    unlink(name);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_false(thread_may_idle_async(getpid(), &opens));
    assert_int_equal(rest_at(&opens, &place, &loop), REC_REST_NONE);
    assert_false(aside);
    unlink(name);
}

static void frames_of_an_interpreter_tell_what_is_as_far_out(void **state) {
    (void)state;
    struct finder_wait loop = {.depth = LOOP_DEPTH, .inner = 4, .object.kind = FINDER_SIGNALS};
    struct finder_place place = {.depth = LOOP_DEPTH - 1, .inner = 3};
    struct proc_syscall pause = {.number = SYS_rt_sigsuspend};
    assert_int_equal(rest_at(&pause, &place, &loop), REC_REST_NONE);
    assert_true(aside);
    place = (struct finder_place){.depth = LOOP_DEPTH + 1, .inner = 5};
    assert_int_equal(rest_at(&pause, &place, &loop), REC_REST_NONE);
    assert_false(aside);
    loop.inner = 0; /* of the loop they are not known */
    assert_int_equal(rest_at(&pause, &place, &loop), REC_REST_NONE);
    assert_false(aside);
}

static void a_thread_of_a_pool_that_is_parked_as_far_out_as_its_loop_may_rest(void **state) {
    (void)state;
    struct finder_wait loop = {.depth = LOOP_DEPTH, .object.kind = FINDER_SIGNALS};
    struct finder_place place = {.depth = LOOP_DEPTH};
    struct proc_syscall lock = {.number = SYS_futex};
    assert_int_equal(thread_rest_async(getpid(), &lock, THREAD_PARKED, &place, &loop, &aside),
                     REC_REST_UNCLEAR);
    assert_false(aside);
    place.depth = LOOP_DEPTH - 1;
    assert_int_equal(thread_rest_async(getpid(), &lock, THREAD_PARKED, &place, &loop, &aside),
                     REC_REST_NONE);
}

static void stored_files_are_no_rest(void **state) {
    (void)state;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0), events = eventfd(0, 0);
    int changes = inotify_init1(0), file = open("/proc/self/status", O_RDONLY);
    assert_int_equal(rests(SYS_read, timer, LOOP_DEPTH - 1, events), REC_REST_NONE);
    assert_true(is_aside(SYS_read, timer, LOOP_DEPTH, events));
    assert_int_equal(rests(SYS_read, timer, LOOP_DEPTH, timer), REC_REST_NONE);
    assert_false(aside); /* the call continues what the loop began */
    assert_int_equal(rests(SYS_read, timer, 0, events), REC_REST_NONE);
    assert_true(is_aside(SYS_read, events, LOOP_DEPTH + 1, timer));
    assert_int_equal(rests(SYS_read, changes, LOOP_DEPTH + 1, timer), REC_REST_INPUT);
    assert_int_equal(rests(SYS_read, file, LOOP_DEPTH + 1, timer), REC_REST_NONE);
    close(timer);
    close(events);
    close(changes);
    close(file);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_is_told_by_its_name),
        cmocka_unit_test(standard_input_is_a_pipe_or_a_socket),
        cmocka_unit_test(a_file_as_standard_input_is_read_from_a_disk),
        cmocka_unit_test(a_poll_of_standard_input_waits_for_it),
        cmocka_unit_test(a_poll_whose_descriptors_cannot_be_read_is_nothing),
        cmocka_unit_test(a_descriptor_that_is_closed_is_nothing),
        cmocka_unit_test(requests_come_through_accepted_sockets),
        cmocka_unit_test(requests_come_through_named_fifos),
        cmocka_unit_test(the_loop_of_an_epoll_instance_waits_for_its_descriptors),
        cmocka_unit_test(stored_files_are_no_rest),
        cmocka_unit_test(a_thread_idles_in_calls_that_wait_for_others),
        cmocka_unit_test(a_thread_idles_in_calls_that_wait_for_room_clearly_further_out),
        cmocka_unit_test(a_wait_for_children_may_be_idling_only_if_it_recurs),
        cmocka_unit_test(an_open_is_a_task_whatever_it_opens),
        cmocka_unit_test(frames_of_an_interpreter_tell_what_is_as_far_out),
        cmocka_unit_test(a_thread_of_a_pool_that_is_parked_as_far_out_as_its_loop_may_rest),
    };
    return cmocka_run_group_tests_name("thread_wait_linux", tests, NULL, NULL);
}
