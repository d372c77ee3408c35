/* Tests the order in which the real functions are looked up: a thread that waits while another one
 * looks them up must look them up itself. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/select.h>

#include "preload/preload_private.h"

/* Stand-ins for the functions that report waits to the recorder; they report none. */
bool preload_begin_poll(const struct preload_caller *caller, const struct pollfd *fds, nfds_t n) {
    (void)caller, (void)fds, (void)n;
    return false;
}
bool preload_begin_select(const struct preload_caller *caller, int n, const fd_set *in,
                          const fd_set *out, const fd_set *except) {
    (void)caller, (void)n, (void)in, (void)out, (void)except;
    return false;
}
bool preload_begin_epoll(const struct preload_caller *caller, int fd) {
    (void)caller, (void)fd;
    return false;
}
void preload_epoll_is_born(int fd) {
    (void)fd;
}
bool preload_begin_condition(const struct preload_caller *caller, const void *condition) {
    (void)caller, (void)condition;
    return false;
}
bool preload_begin_signals(const struct preload_caller *caller) {
    (void)caller;
    return false;
}
bool preload_begin_lock(const struct preload_caller *caller) {
    (void)caller;
    return false;
}
bool preload_loops_on_lock(void) {
    return false;
}
bool preload_begin_sleep(const struct preload_caller *caller) {
    (void)caller;
    return false;
}
void preload_end_wait(const void *frame) {
    (void)frame;
}

/* ---- look-ups that another thread interrupts ---- */

enum { NAMES = 32 };

static const char *looked_up[NAMES];
static size_t count, interrupted;
static _Thread_local bool is_other; /* this is the second thread, whose look-ups are not
                                       interrupted */

static void *wait_in_between(void *arg) {
    int *result = arg;
    is_other = true;
    fd_set none;
    FD_ZERO(&none);
    *result = select(0, &none, NULL, NULL, &(struct timeval){0}) + poll(NULL, 0, 0);
    return NULL;
}

/* Replaces the library's function. Before each store by the first thread, a second thread waits,
 * which would call NULL if it took the look-ups for finished. */
void preload_resolve(const char *name, void *slot) {
    if (!is_other) {
        pthread_t other;
        int result = -1;
        assert_true(count < NAMES);
        looked_up[count++] = name;
        assert_int_equal(pthread_create(&other, NULL, wait_in_between, &result), 0);
        assert_int_equal(pthread_join(other, NULL), 0);
        assert_int_equal(result, 0);
        interrupted++;
    }
    __atomic_store_n((void **)slot, dlsym(RTLD_NEXT, name), __ATOMIC_RELEASE);
}

static void who_finds_poll_finds_the_others(void **state) {
    (void)state;
    preload_resolve_waits();
    assert_true(count > 10);
    assert_int_equal(interrupted, count);
    assert_string_equal(looked_up[count - 1], "poll");
    for (size_t i = 0; i + 1 < count; i++) {
        assert_string_not_equal(looked_up[i], "poll");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_finds_poll_finds_the_others),
    };
    return cmocka_run_group_tests_name("preload_order", tests, NULL, NULL);
}
