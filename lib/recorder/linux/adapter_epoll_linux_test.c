/* Tests the waits with hooks around them: the events that they report to the loop, and that they
 * otherwise behave like the system's waits. Tests the descriptor of pings, too. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "loop/fake_loop_test.h"
#include "stallrec_poll.h"

/* ---- all kinds of wait, with one signature ---- */

static int epoll_fd, pipe_fds[2];

static struct timespec timespec_of(int ms) {
    return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

static int by_poll(int ms) {
    struct pollfd fd = {.fd = pipe_fds[0], .events = POLLIN};
    return stallrec_poll(&fake.loop, &fd, 1, ms);
}

static int by_ppoll(int ms) {
    struct pollfd fd = {.fd = pipe_fds[0], .events = POLLIN};
    struct timespec t = timespec_of(ms);
    return stallrec_ppoll(&fake.loop, &fd, 1, ms < 0 ? NULL : &t, NULL);
}

static int by_select(int ms) {
    struct timeval t = {ms / 1000, ms % 1000 * 1000};
    fd_set in;
    FD_ZERO(&in);
    FD_SET(pipe_fds[0], &in);
    return stallrec_select(&fake.loop, pipe_fds[0] + 1, &in, NULL, NULL, ms < 0 ? NULL : &t);
}

static int by_pselect(int ms) {
    struct timespec t = timespec_of(ms);
    fd_set in;
    FD_ZERO(&in);
    FD_SET(pipe_fds[0], &in);
    return stallrec_pselect(&fake.loop, pipe_fds[0] + 1, &in, NULL, NULL, ms < 0 ? NULL : &t, NULL);
}

static int by_epoll_wait(int ms) {
    struct epoll_event event;
    return stallrec_epoll_wait(&fake.loop, epoll_fd, &event, 1, ms);
}

static int by_epoll_pwait(int ms) {
    struct epoll_event event;
    return stallrec_epoll_pwait(&fake.loop, epoll_fd, &event, 1, ms, NULL);
}

static int (*const waits[])(int ms) = {by_poll,    by_ppoll,      by_select,
                                       by_pselect, by_epoll_wait, by_epoll_pwait};
enum { WAITS = sizeof waits / sizeof *waits };

static int setup(void **state) {
    struct epoll_event event = {.events = EPOLLIN};
    (void)state;
    fake_clear();
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0 || pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return -1;
    }
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fds[0], &event);
}

static int teardown(void **state) {
    (void)state;
    stallrec_detach_ping_fd();
    close(epoll_fd);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return 0;
}

/* Ends the wait, by a byte in the pipe, once the loop is idle; if it does not become idle, after
 * about 5 s. *seen becomes whether it was idle. */
static void *write_when_idle(void *seen) {
    for (int i = 0; i < 5000 && fake_busy(); i++) {
        usleep(1000);
    }
    *(bool *)seen = !fake_busy();
    if (write(pipe_fds[1], "", 1) != 1) {
        *(bool *)seen = false;
    }
    return NULL;
}

static void a_wait_is_idle_and_busy_again_when_it_returns(void **state) {
    (void)state;
    for (int i = 0; i < WAITS; i++) {
        pthread_t thread;
        bool seen_idle = false;
        char byte;
        stallrec_loop_wake(&fake.loop);
        assert_int_equal(pthread_create(&thread, NULL, write_when_idle, &seen_idle), 0);
        int ready = waits[i](i % 2 == 0 ? -1 : 60000);
        pthread_join(thread, NULL);
        assert_int_equal(ready, 1);
        assert_true(seen_idle);
        assert_true(fake_busy());
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    }
}

static void a_wait_without_time_is_a_turn(void **state) {
    (void)state;
    for (int i = 0; i < WAITS; i++) {
        stallrec_loop_wake(&fake.loop);
        uint64_t before = fake_state();
        assert_int_equal(waits[i](0), 0);
        assert_true(fake_busy());
        assert_true(fake_state() > before);
    }
}

static void a_wait_that_times_out_ends_a_stretch(void **state) {
    (void)state;
    for (int i = 0; i < WAITS; i++) {
        uint64_t before = fake_state();
        assert_int_equal(waits[i](1), 0);
        assert_true(fake_busy());
        assert_true(fake_state() > before);
    }
}

static void an_error_is_the_systems(void **state) {
    struct epoll_event event;
    (void)state;
    errno = 0;
    assert_int_equal(stallrec_epoll_wait(&fake.loop, epoll_fd, &event, 0, 10), -1);
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_int_equal(stallrec_epoll_pwait(&fake.loop, -1, &event, 1, -1, NULL), -1);
    assert_int_equal(errno, EBADF);
    assert_true(fake_busy());
}

static void on_alarm(int number) {
    (void)number;
}

static void a_signal_ends_a_wait_as_it_would_without_hooks(void **state) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, old;
    struct itimerspec soon = {.it_value = {0, 5000000}, .it_interval = {0, 5000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
    for (int i = 0; i < WAITS; i++) {
        errno = 0;
        assert_int_equal(waits[i](60000), -1);
        assert_int_equal(errno, EINTR);
        assert_true(fake_busy());
    }
    timer_delete(timer);
    sigaction(SIGUSR1, &old, NULL);
}

/* ---- pings ---- */

static bool is_readable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void a_ping_makes_the_descriptor_readable_and_is_answered_once(void **state) {
    int fd = -1;
    (void)state;
    assert_int_equal(stallrec_attach_ping_fd(FAKE_REC, &fd), STALLREC_OK);
    assert_non_null(fake.post);
    assert_false(is_readable(fd));
    assert_int_equal(fake.post(fake.ctx, 7), 1);
    assert_true(is_readable(fd));
    errno = 1234;
    stallrec_ping_fd_answer();
    assert_int_equal(errno, 1234);
    assert_int_equal(fake.answered, 7);
    assert_false(is_readable(fd));
    stallrec_ping_fd_answer(); /* no ping is left to answer */
    assert_int_equal(fake.answers, 1);
    assert_int_equal(fake.post(fake.ctx, 8), 1);
    stallrec_ping_fd_answer();
    assert_int_equal(fake.answered, 8);
}

static void a_second_attach_is_refused_until_the_detach(void **state) {
    int fd = -1, other = -1;
    (void)state;
    assert_int_equal(stallrec_attach_ping_fd(FAKE_REC, &fd), STALLREC_OK);
    assert_int_equal(stallrec_attach_ping_fd(FAKE_REC, &other), STALLREC_ERR_RUNNING);
    assert_int_equal(other, -1);
    stallrec_detach_ping_fd();
    assert_null(fake.post);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    stallrec_ping_fd_answer();
    assert_int_equal(fake.answers, 0);
    stallrec_detach_ping_fd();
    assert_int_equal(stallrec_attach_ping_fd(FAKE_REC, &fd), STALLREC_OK);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void without_a_recorder_nothing_is_asked(void **state) {
    int fd = -1;
    (void)state;
    assert_int_equal(stallrec_attach_ping_fd(NULL, &fd), STALLREC_OK);
    assert_false(is_readable(fd));
    stallrec_ping_fd_answer();
    assert_int_equal(fake.answers, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_is_idle_and_busy_again_when_it_returns, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_wait_without_time_is_a_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wait_that_times_out_ends_a_stretch, setup, teardown),
        cmocka_unit_test_setup_teardown(an_error_is_the_systems, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signal_ends_a_wait_as_it_would_without_hooks, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_ping_makes_the_descriptor_readable_and_is_answered_once,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_attach_is_refused_until_the_detach, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_a_recorder_nothing_is_asked, setup, teardown),
    };
    return cmocka_run_group_tests_name("recorder_adapter_epoll", tests, NULL, NULL);
}
