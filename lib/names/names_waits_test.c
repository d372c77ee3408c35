/* Tests which functions are known by name to wait for events, and which are about files. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "names/names.h"

static void a_name_tells_a_wait_for_events(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum wait_name want;
    } rows[] = {
        {"epoll_wait", WAIT_NAME_CALL},
        {"__GI_epoll_pwait2", WAIT_NAME_CALL},
        {"uv__epoll_wait", WAIT_NAME_CALL},
        {"epoll_wait_usec", WAIT_NAME_CALL},
        {"qt_ppoll", WAIT_NAME_CALL},
        {"__ppoll_chk", WAIT_NAME_CALL},
        {"kevent64", WAIT_NAME_CALL},
        {"___newselect", WAIT_NAME_CALL},
        {"rustix::backend::event::syscalls::epoll_wait", WAIT_NAME_CALL},
        {"qt_safe_poll", WAIT_NAME_POLL},
        {"ALooper_pollOnce", WAIT_NAME_POLL},
        {"_pr_poll_with_poll", WAIT_NAME_POLL},
        {"mio::poll::Poll::poll2", WAIT_NAME_POLL},
        {"nsSocketTransportService::Poll", WAIT_NAME_POLL},
        {"EpollSelector.select", WAIT_NAME_CALL},
        {"muduo::net::EPollPoller::poll", WAIT_NAME_CALL},
        {"KQueuePoller::poll", WAIT_NAME_CALL},
        {"EPollPoller::update", WAIT_NAME_NONE},
        {"futures_util::future::PollFn<T>::poll", WAIT_NAME_POLL},
        {"PollFn<T>.advance", WAIT_NAME_NONE},
        {"EventLoop<T>::poll_events", WAIT_NAME_POLL},
        {"EventLoop<epoll::Poll>::run", WAIT_NAME_NONE},
        {"__syscall_cp_asm", WAIT_NAME_STUB},
        {"rustix::backend::arch::asm::syscall4", WAIT_NAME_STUB},
        {"Syscall6", WAIT_NAME_STUB},
        {"epoll_ctl", WAIT_NAME_POLL},
        {"polling::Poller::wait", WAIT_NAME_NONE},
        {"poll::wait", WAIT_NAME_NONE},
        {"Pollution::measure", WAIT_NAME_NONE},
        {"selection_changed", WAIT_NAME_NONE},
        {"wait_for_reply", WAIT_NAME_NONE},
        {"Select<T>", WAIT_NAME_POLL},
        {"::", WAIT_NAME_NONE},
        {"", WAIT_NAME_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (names_wait(rows[i].name, strlen(rows[i].name)) != rows[i].want) {
            fail_msg("%s: %d", rows[i].name, (int)names_wait(rows[i].name, strlen(rows[i].name)));
        }
    }
}

static void a_name_tells_that_it_is_about_files(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool want;
    } rows[] = {
        {"LocalFileSystemPosix::Read", true},
        {"BLO_read_from_file", true},
        {"uv__fs_read", true},
        {"node::fs::Read", true},
        {"-[NSFileWrapper read]", true},
        {"CFFile::ReadBlock", true},
        {"a_b_c_d_e_f_g_file", true},
        {"a_b_c_d_e_f_g_h_i_j_file_read", true},
        {"a_b_c_d_e_f_file_handle_read", false},
        {"a_b_c_d_e_f_g_file_handle", false},
        {"readFileDescriptor", false},
        {"-[NSConcreteFileHandle readDataOfLength:]", false},
        {"Profile::read", false},
        {"offset_read", false},
        {"Reader<File>::next", false},
        {"read_all(File*)", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (names_of_files(rows[i].name, strlen(rows[i].name)) != rows[i].want) {
            fail_msg("%s: not %d", rows[i].name, rows[i].want);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_tells_a_wait_for_events),
        cmocka_unit_test(a_name_tells_that_it_is_about_files),
    };
    return cmocka_run_group_tests_name("names_waits", tests, NULL, NULL);
}
