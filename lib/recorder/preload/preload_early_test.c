/* Tests waits of threads that another constructor starts before the preloaded library's constructor
 * has looked up the real functions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

enum { THREADS = 4 };

static int results[THREADS], created;

/* Calls six functions that may be called before the library's constructor, and counts in *arg the
 * calls that the real functions answer. The descriptor is a pipe's, which only the real epoll_wait
 * refuses with EINVAL. */
static void *wait_early(void *arg) {
    int *result = arg, fds[2];
    struct epoll_event event;
    if (pipe(fds) != 0 || write(fds[1], "x", 1) != 1) {
        return NULL;
    }
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    struct timespec soon = {0};
    fd_set in;
    FD_ZERO(&in);
    FD_SET(fds[0], &in);
    *result += poll(&p, 1, 0);
    *result += ppoll(&p, 1, &soon, NULL);
    *result += select(fds[0] + 1, &in, NULL, NULL, &(struct timeval){0});
    *result += pselect(fds[0] + 1, &in, NULL, NULL, &soon, NULL);
    *result += epoll_wait(fds[0], &event, 1, 0) == -1 && errno == EINVAL;
    *result += execve("/nonexistent", (char *[]){NULL}, (char *[]){NULL}) == -1 && errno == ENOENT;
    close(fds[0]);
    close(fds[1]);
    return NULL;
}

__attribute__((constructor(101))) static void start_early(void) {
    pthread_t threads[THREADS];
    while (created < THREADS &&
           pthread_create(&threads[created], NULL, wait_early, &results[created]) == 0) {
        created++;
    }
    for (int i = 0; i < created; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void threads_that_wait_first_find_the_real_functions(void **state) {
    (void)state;
    assert_int_equal(created, THREADS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(results[i], 6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_wait_first_find_the_real_functions),
    };
    return cmocka_run_group_tests_name("preload_early", tests, NULL, NULL);
}
