/* Tests what a build without libsqlite3 says. Its stand-in for sql_file.c is compiled into this
 * program, which therefore takes nothing of sql_file.c from the library. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "history/run_history.h"
#include "history/sql_file_none.c"

static void history_is_refused_with_what_to_install(void **state) {
    (void)state;
    static const enum history_access accesses[] = {HISTORY_READ, HISTORY_WRITE, HISTORY_EDIT};
    for (unsigned i = 0; i < 3; i++) {
        struct history *h = NULL;
        struct err e = {0};
        assert_int_equal(history_open(&h, "/dev/null", accesses[i], &e), ST_ERR);
        assert_int_equal(e.code, ERR_UNSUPPORTED);
        assert_non_null(strstr(e.text, "lacks libsqlite3"));
        assert_non_null(strstr(e.text, "install libsqlite3-dev"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_is_refused_with_what_to_install),
    };
    return cmocka_run_group_tests_name("sql_none", tests, NULL, NULL);
}
