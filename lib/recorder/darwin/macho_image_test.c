/* Tests the reading of load commands and function starts of real images and damaged ones, and which
 * paths belong to the app. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "darwin/macho_fixture_test.h"

#define CPU_ARM64  UINT32_C(0x0100000c)
#define CPU_X86_64 UINT32_C(0x01000007)
#define SLIDE_TO   UINT64_C(0x1a2b40000)

static void an_image_tells_its_uuid_extent_and_sections(void **state) {
    (void)state;
    static const uint8_t uuid[16] = {0x4c, 0x4c, 0x44, 0x2c, 0x55, 0x55, 0x31, 0x44, 0xa1,
                                     0xde, 0x7a, 0xab, 0xf5, 0x6a, 0x01, 0x9c}; /* as in MANIFEST */
    struct fixture f;
    struct macho_image image;
    assert_true(fixture_open(&f, "testdata/objects/macho-arm64/Shop", CPU_ARM64, SLIDE_TO));
    struct memory memory = fixture_memory(&f);
    assert_true(macho_image_read_async(&memory, SLIDE_TO, &image));
    assert_true(image.has_uuid);
    assert_memory_equal(image.uuid, uuid, sizeof uuid);
    assert_int_equal(image.load, SLIDE_TO);
    assert_int_equal(image.unwind, SLIDE_TO + 0x5250); /* as llvm-objdump --private-headers
                                                          prints */
    assert_int_equal(image.unwind_size, 0x1060);
    assert_true(image.text_size >= 0x5250 + 0x1060);
    assert_string_equal(macho_arch_async(image.cpu_type, image.cpu_subtype), "arm64");
    assert_null(macho_arch_async(7, 0));
    fixture_close(&f);
}

/* Compares the bounds of functions with the starts that llvm-objdump --function-starts prints. */
static void compare_starts(const char *path, uint32_t cpu, const uint64_t *starts, size_t count) {
    struct fixture f;
    struct macho_image image;
    assert_true(fixture_open(&f, path, cpu, SLIDE_TO));
    struct memory memory = fixture_memory(&f);
    assert_true(macho_image_read_async(&memory, SLIDE_TO, &image));
    assert_true(image.starts_size > 0);
    for (size_t i = 0; i + 1 < count; i++) {
        uint64_t at = starts[i] - f.text + SLIDE_TO, next = starts[i + 1] - f.text + SLIDE_TO;
        uint64_t start, end;
        for (unsigned last = 0; last < 2; last++) {
            assert_true(
                macho_function_async(&memory, &image, NULL, last ? next - 1 : at, &start, &end));
            assert_int_equal(start, at);
            assert_int_equal(end, next);
        }
    }
    uint64_t start, end;
    assert_false(
        macho_function_async(&memory, &image, NULL, SLIDE_TO, &start, &end)); /* the Mach header is
                                                                                 in no function */
    assert_false(macho_function_async(&memory, &image, NULL, SLIDE_TO - 1, &start, &end));
    assert_false(
        macho_function_async(&memory, &image, NULL, SLIDE_TO + image.text_size, &start, &end));
    fixture_close(&f);
}

static void function_starts_of_arm64_are_those_that_llvm_prints(void **state) {
    (void)state;
    static const uint64_t starts[] = {0x100004000, 0x10000407c, 0x1000040b0, 0x100004198};
    compare_starts("testdata/objects/macho-arm64/Shop", CPU_ARM64, starts, 4);
}

static void function_starts_of_x86_64_are_those_that_llvm_prints(void **state) {
    (void)state;
    static const uint64_t starts[] = {0x1000009a0, 0x100000a10, 0x100000a40, 0x100000b30};
    compare_starts("testdata/objects/macho-universal/Shop", CPU_X86_64, starts, 4);
}

/* A list of a million functions, each of which is 4, 8, … or 1200 bytes long, so that the
 * differences take one or two bytes.
 */
enum { MANY = 1000000, LIST_ROOM = 2 * MANY };
#define MANY_AT UINT64_C(0x100000000)

static uint64_t length_of(uint32_t i) {
    return 4 * (1 + i * UINT64_C(2654435761) % 300);
}

static size_t write_starts(uint8_t *list, uint64_t *starts) {
    size_t size = 0;
    starts[0] = 16;
    list[size++] = 16;
    for (uint32_t i = 1; i <= MANY; i++) {
        uint64_t step = length_of(i);
        starts[i] = starts[i - 1] + step;
        if (i < MANY && step >= 0x80) {
            list[size++] = (uint8_t)(step | 0x80);
            step >>= 7;
        }
        if (i < MANY) {
            list[size++] = (uint8_t)step;
        }
    }
    return size;
}

static void a_million_functions_are_not_read_from_the_front_each_time(void **state) {
    (void)state;
    struct fixture f = {.load = 16, .bytes = malloc(LIST_ROOM)};
    uint64_t *starts = calloc(MANY + 1, sizeof *starts);
    struct macho_marks *marks = calloc(1, sizeof *marks);
    assert_non_null(f.bytes);
    assert_non_null(starts);
    assert_non_null(marks);
    f.size = write_starts(f.bytes, starts);
    struct memory memory = fixture_memory(&f);
    struct macho_image image = {
        .load = MANY_AT, .text_size = starts[MANY], .starts = 16, .starts_size = f.size};
    unsigned most = (unsigned)(f.size / MACHO_MARKS / 4096 + 2), first = 0;
    for (uint32_t n = 0, i = MANY - 1; n < 3000; n++, i = (i + 611953) % MANY) {
        uint64_t start = 0, end = 0;
        f.reads = 0;
        assert_true(macho_function_async(&memory, &image, marks, MANY_AT + starts[i + 1] - 1,
                                         &start, &end));
        assert_int_equal(start, MANY_AT + starts[i]);
        assert_int_equal(end, MANY_AT + starts[i + 1]);
        first = n == 0 ? f.reads : first;
        assert_true(n == 0 || f.reads <= most);
    }
    assert_true(first > 100); /* number of reads without marks */
    assert_true(marks->count > MACHO_MARKS / 2);
    free(marks);
    free(starts);
    fixture_close(&f);
}

/* With any byte of the headers damaged, the result is an image inside its bounds, or no image. */
static void a_damaged_image_is_refused_or_bounded(void **state) {
    (void)state;
    struct fixture f;
    assert_true(fixture_open(&f, "testdata/objects/macho-arm64/Shop", CPU_ARM64, SLIDE_TO));
    struct memory memory = fixture_memory(&f);
    uint32_t commands = 32 + memory_u32_async(f.bytes + 20);
    for (uint32_t at = 0; at < commands; at++) {
        for (unsigned bit = 0; bit < 8; bit += 7) {
            struct macho_image image;
            uint64_t start = 0, end = 0;
            f.bytes[at] ^= (uint8_t)(1u << bit);
            if (macho_image_read_async(&memory, SLIDE_TO, &image)) {
                assert_true(image.unwind_size <= image.text_size);
                bool got =
                    macho_function_async(&memory, &image, NULL, SLIDE_TO + 0x4100, &start, &end);
                assert_true(!got || (start <= SLIDE_TO + 0x4100 && SLIDE_TO + 0x4100 < end));
            }
            f.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    fixture_close(&f);
}

static void an_image_that_is_cut_anywhere_is_refused_or_bounded(void **state) {
    (void)state;
    struct fixture f;
    assert_true(fixture_open(&f, "testdata/objects/macho-arm64/Shop", CPU_ARM64, SLIDE_TO));
    struct memory memory = fixture_memory(&f);
    size_t commands = 32 + memory_u32_async(f.bytes + 20);
    for (size_t size = 0; size < commands; size++) {
        struct macho_image image;
        f.size = size;
        /* The last command may be of a kind whose content is not read. */
        if (macho_image_read_async(&memory, SLIDE_TO, &image)) {
            assert_true(size > commands - 64);
        }
    }
    fixture_close(&f);
}

static void paths_of_the_app_are_told_from_those_of_the_system(void **state) {
    (void)state;
    static const char app[] = "/private/var/containers/Bundle/Application/AB/Shop.app/Shop";
    static const char extension[] =
        "/private/var/containers/Bundle/Application/AB/Shop.app/PlugIns/W.appex/W";
    static const struct {
        const char *program, *path;
        bool in_app;
    } cases[] = {
        {app, app, true},
        {app, "/var/containers/Bundle/Application/AB/Shop.app/Frameworks/Kit.framework/Kit", true},
        {app,
         "/private/var/containers/Bundle/Application/AB/Shop.app/Frameworks/libswiftCore.dylib",
         false},
        {app, "/private/var/containers/Bundle/Application/AB/Shop.application/Kit", false},
        {app, "/System/Library/Frameworks/UIKit.framework/UIKit", false},
        {app, "/usr/lib/libobjc.A.dylib", false},
        {extension, "/var/containers/Bundle/Application/AB/Shop.app/Frameworks/Kit.framework/Kit",
         true},
        {"/Applications/Shop.app/Contents/MacOS/Shop",
         "/Applications/Shop.app/Contents/Frameworks/Kit.framework/Versions/A/Kit", true},
        {"/Applications/Shop.app/Contents/MacOS/Shop", "/Applications/Kit", false},
        {"/Users/me/build/tool", "/Users/me/build/libtool.dylib", true},
        {"/Users/me/build/tool", "/Users/me/other/libx.dylib", false},
        {"/usr/bin/tool", "/usr/bin/tool", true},
        {"/usr/lib/tool", "/usr/lib/libSystem.B.dylib", false},
        {"/usr/local/bin/tool", "/usr/local/bin/lib.dylib", true},
        {"/tool", "/lib.dylib", true},
        {"tool", "/usr/lib/dyld", false},
        {"", "/usr/lib/dyld", false},
        {"", "", true},
        {app, "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (macho_in_app_async(cases[i].path, cases[i].program) != cases[i].in_app) {
            fail_msg("'%s' in '%s'", cases[i].path, cases[i].program);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_tells_its_uuid_extent_and_sections),
        cmocka_unit_test(function_starts_of_arm64_are_those_that_llvm_prints),
        cmocka_unit_test(function_starts_of_x86_64_are_those_that_llvm_prints),
        cmocka_unit_test(a_million_functions_are_not_read_from_the_front_each_time),
        cmocka_unit_test(a_damaged_image_is_refused_or_bounded),
        cmocka_unit_test(an_image_that_is_cut_anywhere_is_refused_or_bounded),
        cmocka_unit_test(paths_of_the_app_are_told_from_those_of_the_system),
    };
    return cmocka_run_group_tests_name("macho_image", tests, NULL, NULL);
}
