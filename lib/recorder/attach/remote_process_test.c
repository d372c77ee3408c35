/* Tests the list of a process's children. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/remote_process.h"

enum { CHILDREN = 3000 /* their ids are longer than what is read of the list at a time */ };

static void children_are_listed_whatever_their_number(void **state) {
    struct remote_process process;
    pid_t *children = NULL, last = 0;
    size_t made = 0, found = 0;
    (void)state;
    assert_true(remote_process_open(&process, getpid()));
    for (; made < CHILDREN && (last = fork()) >= 0; made++) {
        if (last == 0) {
            _exit(0);
        }
    }
    size_t count = remote_children(&process, &children);
    while (wait(NULL) > 0) {
        found++;
    }
    if (last < 0) {
        free(children);
        remote_process_close(&process);
        skip(); /* the system allows fewer processes */
    }
    assert_int_equal(found, CHILDREN);
    assert_int_equal(count, CHILDREN);
    assert_int_equal(children[CHILDREN - 1], last);
    for (size_t i = 0; i < count; i++) {
        assert_true(children[i] > 0);
    }
    free(children);
    remote_process_close(&process);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_listed_whatever_their_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
