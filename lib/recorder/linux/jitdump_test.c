/* Tests the reading of jitdump files, which are made here record by record. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "linux/jitdump.h"

static struct {
    unsigned char bytes[16384];
    size_t size;
} file;

static struct code_text text;

static size_t read_file(void *arg, uint64_t offset, void *to, size_t size) {
    (void)arg;
    if (offset >= file.size) {
        return 0;
    }
    size = size < file.size - offset ? size : file.size - (size_t)offset;
    memcpy(to, file.bytes + offset, size);
    return size;
}

static void put(const void *bytes, size_t size) {
    assert_true(size <= sizeof file.bytes - file.size);
    memcpy(file.bytes + file.size, bytes, size);
    file.size += size;
}

static void put_numbers(size_t count, ...) {
    va_list ap;
    va_start(ap, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t v = va_arg(ap, uint64_t);
        put(&v, 8);
    }
    va_end(ap);
}

#define W(low, high) ((uint64_t)(uint32_t)(low) | (uint64_t)(high) << 32)
#define N(value)     ((uint64_t)(value))

static void begin(void) {
    file.size = 0;
    put_numbers(5, W(0x4A695444, 1), W(40, 62), W(0, 77), N(1), N(0));
}

static void put_load(uint64_t address, uint64_t size, const char *name) {
    size_t length = strlen(name) + 1;
    put_numbers(7, W(0, 56 + length + size), N(1), W(77, 78), address, address, size, N(1));
    put(name, length);
    for (uint64_t i = 0; i < size; i++) {
        put("\xcc", 1);
    }
}

static void names_are_those_of_the_code_that_was_loaded_last(void **state) {
    (void)state;
    begin();
    put_load(0x1000, 64, "old");
    put_load(0x1000, 32, "JS:*f /srv/a.js:3:1");
    put_load(0x2000, 16, "g");
    struct rec_code_name names[] = {{.address = 0x1010},
                                    {.address = 0x1030},
                                    {.address = 0x2000, .exact = true},
                                    {.address = 0x3000}};
    assert_true(jitdump_name_async(read_file, NULL, 100, names, 4, &text));
    assert_string_equal(names[0].symbol, "JS:*f");
    assert_string_equal(names[0].file, "/srv/a.js");
    assert_int_equal(names[0].line, 3);
    assert_string_equal(names[1].symbol, "old");
    assert_string_equal(names[2].symbol, "g");
    assert_null(names[3].symbol);
}

static void lines_are_those_of_the_function_behind_them(void **state) {
    (void)state;
    begin();
    put_numbers(4, W(2, 32 + 3 * 16 + 9 + 2 + 9), N(1), N(0x1000), N(3));
    put_numbers(2, N(0x1000), W(10, 0));
    put("/srv/a.js", 10);
    file.size--; /* the record's size above counts the text and one byte for all three */
    file.bytes[file.size++] = '\0';
    put_numbers(2, N(0x1008), W(11, 0));
    put("\xff", 2);
    put_numbers(2, N(0x1010), W(20, 0));
    put("/srv/b.js", 10);
    uint32_t size = (uint32_t)(file.size - 40);
    memcpy(file.bytes + 44, &size, 4);
    put_load(0x1000, 64, "f");
    struct rec_code_name names[] = {{.address = 0x1004}, {.address = 0x100c}, {.address = 0x1020}};
    text.used = 0;
    assert_true(jitdump_name_async(read_file, NULL, 100, names, 3, &text));
    assert_int_equal(names[0].line, 10);
    assert_string_equal(names[0].file, "/srv/a.js");
    assert_int_equal(names[1].line, 11);
    assert_string_equal(names[1].file, "/srv/a.js");
    assert_int_equal(names[2].line, 20);
    assert_string_equal(names[2].file, "/srv/b.js");
}

static void moved_code_is_where_it_went(void **state) {
    (void)state;
    begin();
    put_load(0x1000, 64, "f");
    put_load(0x5000, 64, "other");
    put_numbers(8, W(1, 64), N(1), W(77, 78), N(0x1000), N(0x1000), N(0x5000), N(64), N(1));
    struct rec_code_name names[] = {{.address = 0x1010}, {.address = 0x5010}};
    text.used = 0;
    assert_true(jitdump_name_async(read_file, NULL, 100, names, 2, &text));
    assert_string_equal(names[1].symbol, "f");
    struct rec_code_name alone = {.address = 0x5010}; /* without the old address, the name of the
                                                         moved code is not known */
    assert_true(jitdump_name_async(read_file, NULL, 100, &alone, 1, &text));
    assert_null(alone.symbol);
}

static void damaged_files_end_at_the_damage(void **state) {
    (void)state;
    begin();
    put_load(0x1000, 64, "f");
    size_t good = file.size;
    put_load(0x2000, 64, "g");
    for (size_t size = 0; size < file.size; size++) {
        size_t whole = file.size;
        struct rec_code_name names[] = {{.address = 0x1010}, {.address = 0x2010}};
        text.used = 0;
        file.size = size;
        bool read = jitdump_name_async(read_file, NULL, 100, names, 2, &text);
        file.size = whole;
        assert_int_equal(read, size >= 40);
        assert_true(size < good || names[0].symbol);
    }
    file.bytes[44] = 1; /* makes the record's size smaller than its head */
    file.bytes[45] = file.bytes[46] = file.bytes[47] = 0;
    struct rec_code_name name = {.address = 0x1010};
    assert_true(jitdump_name_async(read_file, NULL, 100, &name, 1, &text));
    assert_null(name.symbol);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_code_that_was_loaded_last),
        cmocka_unit_test(lines_are_those_of_the_function_behind_them),
        cmocka_unit_test(moved_code_is_where_it_went),
        cmocka_unit_test(damaged_files_end_at_the_damage),
    };
    return cmocka_run_group_tests_name("jitdump", tests, NULL, NULL);
}
