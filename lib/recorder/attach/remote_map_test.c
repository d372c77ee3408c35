/* Tests the reading of lines of /proc/PID/maps, and of numbers in /proc/PID/status. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "attach/remote_map.h"
#include "attach/remote_process.h"

static struct remote_map map;

static bool reads(const char *line) {
    return remote_map_read(line, strlen(line), &map);
}

static void file_has_its_members(void **state) {
    (void)state;
    assert_true(reads("55e40e5cb000-55e40e5cd000 r-xp 00002000 fe:01 247026      /usr/bin/a b\n"));
    assert_int_equal(map.lo, 0x55e40e5cb000);
    assert_int_equal(map.hi, 0x55e40e5cd000);
    assert_true(map.read && map.execute && !map.deleted);
    assert_int_equal(map.offset, 0x2000);
    assert_int_equal(map.device, UINT64_C(0xfe) << 32 | 1);
    assert_int_equal(map.inode, 247026);
    assert_string_equal(map.path, "/usr/bin/a b");
}

static void memory_without_a_file_has_no_path(void **state) {
    (void)state;
    assert_true(reads("7f00-8f00 rw-p 00000000 00:00 0 \n"));
    assert_string_equal(map.path, "");
    assert_false(map.execute);
    assert_int_equal(map.inode, 0);
}

static void file_that_is_gone_keeps_its_name(void **state) {
    (void)state;
    assert_true(reads("1000-2000 r--p 00000000 fe:00 5   /opt/x.so (deleted)"));
    assert_true(map.deleted);
    assert_string_equal(map.path, "/opt/x.so");
}

static void line_that_is_none_is_refused(void **state) {
    (void)state;
    static const char *const lines[] = {"",
                                        "x",
                                        "1000",
                                        "1000-",
                                        "2000-1000 r--p 0 0:0 0",
                                        "1000-1000 r--p 0 0:0 0",
                                        "1000-2000 r-",
                                        "1000-2000 r--p 0 0",
                                        "1000-2000 r--p 0 0:0 ",
                                        "1000-fffffffffffffffff r--p 0 0:0 0"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_false(reads(lines[i]));
    }
}

static void path_too_long_is_refused(void **state) {
    (void)state;
    static char line[REMOTE_PATH_MAX + 64];
    memcpy(line, "1000-2000 r--p 0 0:0 7 ", 23);
    memset(line + 23, 'x', REMOTE_PATH_MAX);
    assert_false(reads(line));
}

static void numbers_of_a_status_are_found_by_their_line(void **state) {
    (void)state;
    static const char status[] = "Name:\tUid:\nUid:\t33\t34\t35\t36\nNSpid:\t4711\t17\t1\nCut:\t";
    uint64_t value = 0;
    assert_true(remote_status_number(status, "Uid:", false, &value));
    assert_int_equal(value, 33);
    assert_true(remote_status_number(status, "NSpid:", true, &value));
    assert_int_equal(value, 1);
    assert_false(remote_status_number(status, "Cut:", true, &value));
    assert_false(remote_status_number(status, "Pid:", false, &value));
    assert_false(remote_status_number("", "Uid:", true, &value));
}

int main(void) {
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(file_has_its_members),
        T(memory_without_a_file_has_no_path),
        T(file_that_is_gone_keeps_its_name),
        T(line_that_is_none_is_refused),
        T(path_too_long_is_refused),
        T(numbers_of_a_status_are_found_by_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
