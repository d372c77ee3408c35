/* Tests the reading of compact unwind information: of real images, by comparison with llvm-objdump,
 * and of damaged sections. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "darwin/macho_fixture_test.h"
#include "darwin/unwind_info.h"

#define CPU_ARM64  UINT32_C(0x0100000c)
#define CPU_X86_64 UINT32_C(0x01000007)
#define LOAD       UINT64_C(0x104320000)

struct entry {
    uint32_t start, encoding;
};

static struct unwind_info info_of(struct fixture *f) {
    struct macho_image image;
    struct memory memory = fixture_memory(f);
    assert_true(macho_image_read_async(&memory, f->load, &image));
    return (struct unwind_info){memory, image.unwind, image.unwind_size, image.load};
}

/* Looks up each entry at its first and last byte. The last of `entries` only says where the one
 * before it ends. */
static void compare(const struct unwind_info *info, const struct entry *entries, size_t count) {
    for (size_t i = 0; i + 1 < count; i++) {
        const uint64_t ask[] = {entries[i].start, entries[i + 1].start - UINT64_C(1)};
        for (size_t k = 0; k < 2; k++) {
            struct unwind_info_entry got;
            assert_int_equal(unwind_info_find_async(info, info->base + ask[k], &got),
                             UNWIND_INFO_OK);
            assert_int_equal(got.start - info->base, entries[i].start);
            assert_int_equal(got.end - info->base, entries[i + 1].start);
            assert_int_equal(got.encoding, entries[i].encoding);
        }
    }
    struct unwind_info_entry got;
    uint64_t first = entries[0].start, end = entries[count - 1].start;
    assert_int_equal(unwind_info_find_async(info, info->base + first - 1, &got), UNWIND_INFO_NONE);
    assert_int_equal(unwind_info_find_async(info, info->base + end, &got), UNWIND_INFO_NONE);
    assert_int_equal(unwind_info_find_async(info, info->base - 1, &got), UNWIND_INFO_NONE);
    assert_int_equal(unwind_info_find_async(info, UINT64_MAX, &got), UNWIND_INFO_NONE);
}

/* The entries that llvm-objdump 14 prints, and the end that the index gives. */
static const struct entry arm64[] = {
    {0x4000, 0x04000001}, {0x40b0, 0x54000003}, {0x4198, 0x02000000}, {0x41cc, 0x04000003},
    {0x421c, 0x02000000}, {0x4228, 0x04000001}, {0x4278, 0x0400000f}, {0x4394, 0x04000003},
    {0x446c, 0x04000001}, {0x44e4, 0x02000000}, {0x45dc, 0x0400001f}, {0x46d8, 0x02000000},
    {0x470c, 0x04000000}, {0x4730, 0x02000000}, {0x4764, 0}};

static void entries_of_arm64_are_those_that_llvm_prints(void **state) {
    (void)state;
    struct fixture f;
    assert_true(fixture_open(&f, "testdata/objects/macho-arm64/Shop", CPU_ARM64, LOAD));
    struct unwind_info info = info_of(&f);
    compare(&info, arm64, sizeof arm64 / sizeof *arm64);
    fixture_close(&f);
}

static const struct entry x86_64[] = {
    {0x9a0, 0x01020021},  {0xa40, 0x51040b11},  {0xb30, 0x01000000},  {0xb90, 0x01040b11},
    {0xbe0, 0x01000000},  {0xc50, 0x010558d1},  {0xe70, 0x01020021},  {0xef0, 0x01000000},
    {0xf70, 0x01040b11},  {0x1030, 0x01000000}, {0x1070, 0x010558d1}, {0x1153, 0x01000000},
    {0x12e0, 0x01020021}, {0x1380, 0x01000000}, {0x13b0, 0x010558d1}, {0x15a0, 0x01000000},
    {0x1640, 0x01030161}, {0x1690, 0x01000000}, {0x169d, 0}};

static void entries_of_x86_64_are_those_that_llvm_prints(void **state) {
    (void)state;
    struct fixture f;
    assert_true(fixture_open(&f, "testdata/objects/macho-universal/Shop", CPU_X86_64, LOAD));
    struct unwind_info info = info_of(&f);
    compare(&info, x86_64, sizeof x86_64 / sizeof *x86_64);
    fixture_close(&f);
}

/* ---- sections of our own ---- */

enum { WORDS = 64 };

struct made {
    uint8_t bytes[WORDS * 4];
    struct fixture f;
};

static void put(struct made *m, unsigned word, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) {
        m->bytes[word * 4 + i] = (uint8_t)(value >> 8 * i);
    }
}

/* Makes a section with a regular page, a compressed page with an encoding of its own, a gap, and
 * the end of the index. */
static struct unwind_info make(struct made *m) {
    static const uint32_t words[] = {1,
                                     28,
                                     1,
                                     32,
                                     0,
                                     32,
                                     4,          /* header */
                                     0x04000000, /* common */
                                     0x10,
                                     80,
                                     0,
                                     0x100,
                                     112,
                                     0,
                                     0x200,
                                     0, /* index */
                                     0,
                                     0x300,
                                     0,
                                     0,
                                     2,
                                     8 | 2 << 16, /* regular */
                                     0x10,
                                     0x02001000,
                                     0x80,
                                     0x11,
                                     0,
                                     0, /* entries */
                                     3,
                                     12 | 3 << 16,
                                     24 | 1 << 16, /* compressed */
                                     0x00000000,
                                     0x01000010,
                                     0x02000020,
                                     0x03000000};
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        put(m, i, words[i]);
    }
    m->f = (struct fixture){.load = LOAD, .bytes = m->bytes, .size = sizeof m->bytes};
    return (struct unwind_info){fixture_memory(&m->f), LOAD, sizeof m->bytes, 0x7000000};
}

static void both_kinds_of_pages_are_read(void **state) {
    (void)state;
    struct made m;
    struct unwind_info info = make(&m);
    struct unwind_info_entry got;
    assert_int_equal(unwind_info_find_async(&info, 0x7000010, &got), UNWIND_INFO_OK);
    assert_int_equal(got.start, 0x7000010);
    assert_int_equal(got.end, 0x7000080);
    assert_int_equal(got.encoding, 0x02001000);
    assert_int_equal(unwind_info_find_async(&info, 0x70000ff, &got), UNWIND_INFO_OK);
    assert_int_equal(got.end, 0x7000100);
    assert_int_equal(got.encoding, 0x11);
    assert_int_equal(unwind_info_find_async(&info, 0x700010f, &got), UNWIND_INFO_OK);
    assert_int_equal(got.encoding, 0x04000000);
    assert_int_equal(unwind_info_find_async(&info, 0x7000110, &got), UNWIND_INFO_OK);
    assert_int_equal(got.encoding, 0x03000000);
    assert_int_equal(got.end, 0x7000120);
}

static void gaps_and_encodings_out_of_range_are_told_apart(void **state) {
    (void)state;
    struct made m;
    struct unwind_info info = make(&m);
    struct unwind_info_entry got;
    assert_int_equal(unwind_info_find_async(&info, 0x700000f, &got), UNWIND_INFO_NONE);
    assert_int_equal(unwind_info_find_async(&info, 0x7000200, &got), UNWIND_INFO_NONE);
    assert_int_equal(unwind_info_find_async(&info, 0x7000300, &got), UNWIND_INFO_NONE);
    /* The third entry refers to a second private encoding, but its page has only one. */
    assert_int_equal(unwind_info_find_async(&info, 0x7000120, &got), UNWIND_INFO_BAD);
    info.size = 0;
    assert_int_equal(unwind_info_find_async(&info, 0x7000010, &got), UNWIND_INFO_NONE);
}

static void every_cut_and_every_damaged_byte_has_a_bounded_answer(void **state) {
    (void)state;
    struct made m;
    struct unwind_info info = make(&m);
    struct unwind_info_entry got;
    for (uint64_t size = 0; size < sizeof m.bytes; size++) {
        info.size = size;
        m.f.size = (size_t)size;
        for (uint64_t at = 0; at < 0x320; at += 8) {
            unwind_info_find_async(&info, info.base + at, &got);
        }
    }
    for (unsigned byte = 0; byte < sizeof m.bytes; byte++) {
        info = make(&m);
        m.bytes[byte] ^= 0xff;
        for (uint64_t at = 0; at < 0x320; at += 8) {
            m.f.reads = 0;
            if (unwind_info_find_async(&info, info.base + at, &got) == UNWIND_INFO_OK) {
                assert_true(got.start <= info.base + at && info.base + at < got.end);
            }
            assert_true(m.f.reads <= 80); /* two binary searches over what 256 bytes can hold */
        }
    }
}

static void encodings_tell_how_a_frame_is_kept(void **state) {
    (void)state;
    static const struct {
        enum unwind_cpu cpu;
        uint32_t encoding;
        struct unwind_rule rule;
    } cases[] = {
        {UNWIND_ARM64, 0, {UNWIND_RULE_NONE, 0, 0}},
        {UNWIND_ARM64, 0x02003000, {UNWIND_RULE_FIXED, 48, 0}},
        {UNWIND_ARM64, 0x03000010, {UNWIND_RULE_DWARF, 0, 0}},
        {UNWIND_ARM64, 0x54000003, {UNWIND_RULE_FRAME, 0, 0}},
        {UNWIND_ARM64, 0x01000000, {UNWIND_RULE_NONE, 0, 0}},
        {UNWIND_X86_64, 0, {UNWIND_RULE_NONE, 0, 0}},
        {UNWIND_X86_64, 0x51040b11, {UNWIND_RULE_FRAME, 0, 0}},
        {UNWIND_X86_64, 0x02030000, {UNWIND_RULE_FIXED, 24, 0}},
        {UNWIND_X86_64, 0x03074000, {UNWIND_RULE_IN_CODE, 16, 7}},
        {UNWIND_X86_64, 0x04000000, {UNWIND_RULE_DWARF, 0, 0}},
        {UNWIND_X86_64, 0x0f000000, {UNWIND_RULE_NONE, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct unwind_rule got = unwind_rule_async(cases[i].cpu, cases[i].encoding);
        assert_int_equal(got.kind, cases[i].rule.kind);
        assert_int_equal(got.stack_size, cases[i].rule.stack_size);
        assert_int_equal(got.size_at, cases[i].rule.size_at);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_arm64_are_those_that_llvm_prints),
        cmocka_unit_test(entries_of_x86_64_are_those_that_llvm_prints),
        cmocka_unit_test(both_kinds_of_pages_are_read),
        cmocka_unit_test(gaps_and_encodings_out_of_range_are_told_apart),
        cmocka_unit_test(every_cut_and_every_damaged_byte_has_a_bounded_answer),
        cmocka_unit_test(encodings_tell_how_a_frame_is_kept),
    };
    return cmocka_run_group_tests_name("unwind_info", tests, NULL, NULL);
}
