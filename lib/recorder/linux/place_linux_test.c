/* Tests in which library and function an address is, by comparison with dladdr. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "linux/place_linux.h"

static void functions_of_libraries_are_named_as_dladdr_does(void **state) {
    static const char *const names[] = {"poll", "epoll_wait", "malloc", "abort",
                                        "_cmocka_run_group_tests"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const uint8_t *function = dlsym(RTLD_DEFAULT, names[i]);
        Dl_info info;
        struct code_place place;
        assert_non_null(function);
        assert_true(dladdr(function + 1, &info) != 0);
        if (!info.dli_sname) {
            continue; /* the function is a sanitizer's own */
        }
        uint64_t address = (uint64_t)(uintptr_t)function + 1;
        const char *slash = strrchr(info.dli_fname, '/');
        assert_true(place_find_async(address, &place));
        assert_int_equal(place.offset, address - (uint64_t)(uintptr_t)info.dli_fbase);
        if (*place.library) { /* "" stands for the program, which under a sanitizer defines some of
                                 them */
            assert_string_equal(place.library, slash ? slash + 1 : info.dli_fname);
        }
        /* A function may have several names, as poll is __poll, too. */
        const void *same = dlsym(RTLD_DEFAULT, place.symbol);
        assert_true(same == (const void *)function || strcmp(place.symbol, info.dli_sname) == 0);
    }
}

static void the_program_has_no_library_name(void **state) {
    (void)state;
    struct code_place place;
    uint64_t address = (uint64_t)(uintptr_t)&the_program_has_no_library_name;
    assert_true(place_find_async(address, &place));
    assert_string_equal(place.library, "");
    assert_string_equal(place.symbol, ""); /* static functions are in no dynamic symbol table */
    assert_true(place.offset > 0 && place.offset < address);
}

static void a_table_that_the_linker_could_not_write_to_is_read(void **state) {
    (void)state;
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    struct code_place place;
    bool named = false;
    for (uint64_t at = 0; vdso != 0 && at < 0x2000 && !named; at += 8) {
        named = place_find_async(vdso + at, &place) && strstr(place.symbol, "clock_gettime");
    }
    if (vdso == 0) {
        skip();
    }
    assert_true(named);
}

static void an_address_in_no_module_has_no_place(void **state) {
    (void)state;
    struct code_place place;
    int on_stack = 0;
    assert_false(place_find_async((uint64_t)(uintptr_t)&on_stack, &place));
    assert_false(place_find_async(16, &place));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_libraries_are_named_as_dladdr_does),
        cmocka_unit_test(the_program_has_no_library_name),
        cmocka_unit_test(a_table_that_the_linker_could_not_write_to_is_read),
        cmocka_unit_test(an_address_in_no_module_has_no_place),
    };
    return cmocka_run_group_tests_name("place_linux", tests, NULL, NULL);
}
