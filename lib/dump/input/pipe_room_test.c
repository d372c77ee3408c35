/* Tests pipe_room.c. */
#include "dump/input/pipe_room.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

static void a_pipe_takes_a_block_that_nobody_reads(void **state) {
    (void)state;
    /* Bytes: more than a pipe holds by default, but any user may ask for so many. */
    enum { MORE = 128 * 1024 };
    static const char block[MORE];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pipe_widen(ends[0]);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
#ifdef __linux__
    assert_int_equal(write(ends[1], block, MORE), MORE);
#endif
    close(ends[0]);
    close(ends[1]);
}

static void what_is_no_pipe_is_left_alone(void **state) {
    (void)state;
    pipe_widen(-1);
    int null = open("/dev/null", O_RDONLY);
    assert_true(null >= 0);
    pipe_widen(null);
    close(null);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_takes_a_block_that_nobody_reads),
        cmocka_unit_test(what_is_no_pipe_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
