/* Reads made-up .eh_frame sections: each instruction of call frame information, each encoding and
 * augmentation, and sections that must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_private.h"

enum { BASE = 0x400000, FRAMES = BASE + 64, FUNCTION = 0x401000, FUNCTION_SIZE = 0x100 };
enum { SCANNED, TABLE, HEADER = 64, ROOM = 1024, LONG_LENGTH = 1 };
#define TEXT(literal) (literal), sizeof(literal) - 1

/* A CIE with an FDE. Members that are zero get what most compilers write. */
struct section {
    const char *letters, *data;
    size_t data_size;
    const char *first; /* program of the CIE, behind the rule of the CFA */
    size_t first_size;
    const char *program;
    size_t size;
    const char *extent; /* start and size of the function */
    size_t extent_size;
    int form;       /* TABLE: .eh_frame_hdr has a search table */
    int cie_length; /* LONG_LENGTH: of 64 bits */
    uint8_t version, return_column;
};

struct frames {
    uint8_t bytes[ROOM];
    size_t at;
};

static void put(struct frames *f, const void *bytes, size_t size) {
    assert_true(size <= sizeof f->bytes - f->at);
    if (size) {
        memcpy(f->bytes + f->at, bytes, size);
    }
    f->at += size;
}

static void put_number(struct frames *f, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        put(f, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
    }
}

/* Writes the entry's length in front of it. */
static void put_entry(struct frames *f, const struct frames *entry, bool wide) {
    if (wide) {
        put_number(f, 0xffffffff, 4);
    }
    put_number(f, entry->at, wide ? 8 : 4);
    put(f, entry->bytes, entry->at);
}

static void put_cie(struct frames *f, const struct section *s) {
    const char *letters = s->letters ? s->letters : "zR";
    struct frames cie = {.at = 0};
    put_number(&cie, 0, 4);
    put_number(&cie, s->version ? s->version : 1, 1);
    put(&cie, letters, strlen(letters) + 1);
    put(&cie, "\x01\x78", 2); /* factors 1 and -8 */
    put_number(&cie, s->return_column ? s->return_column : CFI_RA, 1);
    if (letters[0] == 'z') {
        put_number(&cie, s->data ? s->data_size : 1, 1);
        put(&cie, s->data ? s->data : "\x03", s->data ? s->data_size : 1);
    }
    put(&cie, "\x0c", 1);
    put_number(&cie, CFI_SP, 1);
    put_number(&cie, 8, 1);
    put(&cie, s->first, s->first_size);
    put_entry(f, &cie, s->cie_length == LONG_LENGTH);
}

static void put_fde(struct frames *f, const struct section *s) {
    struct frames fde = {.at = 0};
    put_number(&fde, f->at + 4 - HEADER, 4);
    if (s->extent) {
        put(&fde, s->extent, s->extent_size);
    } else {
        put_number(&fde, FUNCTION, 4);
        put_number(&fde, FUNCTION_SIZE, 4);
    }
    if (!s->letters || s->letters[0] == 'z') {
        put_number(&fde, 0, 1);
    }
    put(&fde, s->program, s->size);
    put_entry(f, &fde, false);
}

static void put_header(struct frames *f, int form, size_t fde_at) {
    put(f, form == TABLE ? "\x01\x03\x03\x3b" : "\x01\x03\xff\xff", 4);
    put_number(f, FRAMES, 4);
    if (form == TABLE) {
        put_number(f, 1, 4);
        put_number(f, FUNCTION - BASE, 4);
        put_number(f, fde_at, 4);
    }
}

static enum cfi_status look_up(const struct frames *f, uint64_t address, struct cfi_row *row) {
    /* An exact copy, so that a sanitizer sees a byte that is read behind it. */
    uint8_t *bytes = malloc(f->at);
    assert_non_null(bytes);
    memcpy(bytes, f->bytes, f->at);
    struct cfi_module m = {.segments = {{BASE, bytes, f->at, false}},
                           .segment_count = 1,
                           .header = BASE,
                           .header_size = HEADER};
    enum cfi_status st = cfi_find_row_async(&m, address, row);
    free(bytes);
    return st;
}

static void build(const struct section *s, struct frames *f) {
    struct frames head = {.at = 0};
    memset(f, 0, sizeof *f);
    f->at = HEADER;
    put_cie(f, s);
    put_header(&head, s->form, f->at);
    put_fde(f, s);
    memcpy(f->bytes, head.bytes, head.at);
}

static enum cfi_status find_row(const struct section *s, struct cfi_row *row) {
    struct frames f;
    build(s, &f);
    return look_up(&f, FUNCTION + 4, row);
}

/* ---- instructions ---- */

enum { OF_CFA = 255 };

struct effect {
    const char *name, *program;
    size_t size;
    unsigned reg; /* OF_CFA: the rule of the CFA */
    struct cfi_rule rule;
};

static void instructions_set_their_rules(void **state) {
    static const struct effect effects[] = {
        {"offset", TEXT("\x83\x02"), 3, {.kind = CFI_AT_OFFSET, .value = -16}},
        {"offset_extended", TEXT("\x05\x03\x02"), 3, {.kind = CFI_AT_OFFSET, .value = -16}},
        {"offset_extended_sf", TEXT("\x11\x03\x7e"), 3, {.kind = CFI_AT_OFFSET, .value = 16}},
        {"negative_offset", TEXT("\x2f\x03\x02"), 3, {.kind = CFI_AT_OFFSET, .value = 16}},
        {"val_offset", TEXT("\x14\x03\x02"), 3, {.kind = CFI_IS_OFFSET, .value = -16}},
        {"val_offset_sf", TEXT("\x15\x03\x7e"), 3, {.kind = CFI_IS_OFFSET, .value = 16}},
        {"restore", TEXT("\x07\x03\xc3"), 3, {.kind = CFI_SAME}},
        {"restore_extended", TEXT("\x07\x03\x06\x03"), 3, {.kind = CFI_SAME}},
        {"undefined", TEXT("\x07\x03"), 3, {.kind = CFI_UNDEFINED}},
        {"same_value", TEXT("\x07\x03\x08\x03"), 3, {.kind = CFI_SAME}},
        {"register", TEXT("\x09\x03\x06"), 3, {.kind = CFI_IN_REGISTER, .reg = 6}},
        {"expression", TEXT("\x10\x03\x01\x35"), 3, {.kind = CFI_AT_EXPR, .size = 1}},
        {"val_expression", TEXT("\x16\x03\x01\x35"), 3, {.kind = CFI_IS_EXPR, .size = 1}},
        {"def_cfa_expression", TEXT("\x0f\x01\x35"), OF_CFA, {.kind = CFI_IS_EXPR, .size = 1}},
        {"def_cfa", TEXT("\x0c\x06\x10"), OF_CFA, {.kind = CFI_IS_OFFSET, .value = 16, .reg = 6}},
        {"def_cfa_sf",
         TEXT("\x12\x06\x7e"),
         OF_CFA,
         {.kind = CFI_IS_OFFSET, .value = 16, .reg = 6}},
        {"def_cfa_register",
         TEXT("\x0d\x06"),
         OF_CFA,
         {.kind = CFI_IS_OFFSET, .value = 8, .reg = 6}},
        {"def_cfa_offset_sf",
         TEXT("\x13\x7e"),
         OF_CFA,
         {.kind = CFI_IS_OFFSET, .value = 16, .reg = CFI_SP}},
        {"args_size", TEXT("\x2e\x10\x07\x03"), 3, {.kind = CFI_UNDEFINED}},
        {"a vector register", TEXT("\x05\xc8\x01\x02"), 3, {.kind = CFI_SAME}},
        {"restore_state", TEXT("\x0a\x07\x03\x0b"), 3, {.kind = CFI_SAME}},
        {"a row of before", TEXT("\x07\x03\x42\x08\x03"), 3, {.kind = CFI_SAME}},
        {"a later row", TEXT("\x07\x03\x48\x08\x03"), 3, {.kind = CFI_UNDEFINED}},
        {"advance_loc1", TEXT("\x07\x03\x02\x08\x08\x03"), 3, {.kind = CFI_UNDEFINED}},
        {"advance_loc2", TEXT("\x07\x03\x03\x08\0\x08\x03"), 3, {.kind = CFI_UNDEFINED}},
        {"advance_loc4", TEXT("\x07\x03\x04\x08\0\0\0\x08\x03"), 3, {.kind = CFI_UNDEFINED}},
        {"set_loc, later", TEXT("\x07\x03\x01\x08\x10\x40\0\x08\x03"), 3, {.kind = CFI_UNDEFINED}},
        {"set_loc, before", TEXT("\x07\x03\x01\x02\x10\x40\0\x08\x03"), 3, {.kind = CFI_SAME}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
        const struct effect *e = &effects[i];
        struct cfi_row row;
        struct section s = {.program = e->program, .size = e->size};
        assert_int_equal(find_row(&s, &row), CFI_OK);
        const struct cfi_rule *rule = e->reg == OF_CFA ? &row.cfa : &row.reg[e->reg];
        if (rule->kind != e->rule.kind || rule->value != e->rule.value ||
            rule->reg != e->rule.reg || rule->size != e->rule.size) {
            fail_msg("%s: kind %d, value %lld, register %d, size %u", e->name, rule->kind,
                     (long long)rule->value, rule->reg, rule->size);
        }
    }
}

static void damaged_programs_are_refused(void **state) {
    static const struct effect effects[] = {
        {.name = "an unknown instruction", TEXT("\x3f")},
        {.name = "an operand that is cut", TEXT("\x02")},
        {.name = "a state that nobody saved", TEXT("\x0b")},
        {.name = "too many states", TEXT("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a")},
        {.name = "half of a rule where there is none", TEXT("\x0f\x01\x35\x0e\x08")},
        {.name = "a half in signed form", TEXT("\x0f\x01\x35\x13\x08")},
        {.name = "a register that no processor has", TEXT("\x09\x03\xc8\x01")},
        {.name = "a CFA of such a register", TEXT("\x0d\xc8\x01")},
        {.name = "an offset past 63 bits",
         TEXT("\x05\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
        {.name = "a product past them", TEXT("\x05\x03\xff\xff\xff\xff\xff\xff\xff\xff\x7f")},
        {.name = "a number of 11 bytes",
         TEXT("\x05\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00")},
        {.name = "an expression past the program", TEXT("\x10\x03\x05\x35")},
        {.name = "a larger one than a row holds", TEXT("\x10\x03\xff\x7f")},
    };
    (void)state;
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
        struct cfi_row row;
        struct section s = {.program = effects[i].program, .size = effects[i].size};
        if (find_row(&s, &row) != CFI_BAD) {
            fail_msg("%s", effects[i].name);
        }
        s = (struct section){.first = effects[i].program, .first_size = effects[i].size};
        if (find_row(&s, &row) != CFI_BAD) {
            fail_msg("%s, in the CIE", effects[i].name);
        }
    }
}

static void what_only_one_place_may_hold_is_refused_elsewhere(void **state) {
    static const char sign[] = "\x2d";
    struct cfi_row row;
    struct section s = {.first = "\xc3", .first_size = 1};
    (void)state;
    assert_int_equal(find_row(&s, &row), CFI_BAD); /* the CIE has no rules to restore */
    s = (struct section){.program = sign, .size = 1};
    assert_int_equal(find_row(&s, &row), ARCH_SIGNS ? CFI_OK : CFI_BAD);
    uint8_t two[2 * 103];
    for (unsigned i = 0; i < 2; i++) { /* two expressions of 100 bytes, which a row cannot hold */
        memset(two + 103 * i, 0x96, 103);
        memcpy(two + 103 * i, (uint8_t[]){0x10, (uint8_t)(3 + i), 100}, 3);
    }
    s = (struct section){.program = (const char *)two, .size = 103};
    assert_int_equal(find_row(&s, &row), CFI_OK);
    assert_int_equal(row.reg[3].size, 100);
    s.size = sizeof two;
    assert_int_equal(find_row(&s, &row), CFI_BAD);
}

/* ---- entries ---- */

struct form {
    const char *name;
    struct section section;
    enum cfi_status status;
};

static void entries_have_many_forms(void **state) {
    static const struct form forms[] = {
        {"plain", {.letters = "zR"}, CFI_OK},
        {"version 3", {.version = 3}, CFI_OK},
        {"a length of 64 bits", {.cie_length = LONG_LENGTH}, CFI_OK},
        {"personality", {.letters = "zPLR", TEXT("\x03\1\2\3\4\x03\x03")}, CFI_OK},
        {"letters of AArch64", {.letters = "zBGR", TEXT("\x03")}, CFI_OK},
        {"an unknown letter", {.letters = "zRx", TEXT("\x03")}, CFI_OK},
        {"no letters, 8 bytes an address",
         {.letters = "", .extent = "\0\x10\x40\0\0\0\0\0\0\1\0\0\0\0\0\0", .extent_size = 16},
         CFI_OK},
        {"ULEB128",
         {.data = "\x01", .data_size = 1, .extent = "\x80\xa0\x80\x02\x80\x02", .extent_size = 6},
         CFI_OK},
        {"SLEB128",
         {.data = "\x09", .data_size = 1, .extent = "\x80\xa0\x80\x02\x80\x02", .extent_size = 6},
         CFI_OK},
        {"2 bytes, relative to the header",
         {.data = "\x3a", .data_size = 1, .extent = "\0\x10\0\1", .extent_size = 4},
         CFI_OK},
        {"a pointer to the pointer", {.data = "\x83", .data_size = 1}, CFI_BAD},
        {"an unknown encoding", {.data = "\x0d", .data_size = 1}, CFI_BAD},
        {"letters without z", {.letters = "R"}, CFI_BAD},
        {"too many letters", {.letters = "zRSBGxxxx"}, CFI_BAD},
        {"data that are cut", {.letters = "zPR", TEXT("\x03\1")}, CFI_BAD},
        {"data past the entry", {.data = "\x03", .data_size = 200}, CFI_BAD},
        {"version 2", {.version = 2}, CFI_BAD},
        {"another column of the return address", {.return_column = CFI_RA - 1}, CFI_BAD},
    };
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct section s = forms[i].section;
        char data[256] = {0};
        if (s.data && s.data_size > 100) { /* says more than is there */
            data[0] = *s.data;
            s.data = data;
        }
        for (s.form = SCANNED; s.form <= TABLE; s.form++) {
            struct cfi_row row;
            enum cfi_status st = find_row(&s, &row);
            /* A search through all entries skips damaged ones. */
            enum cfi_status expected =
                forms[i].status == CFI_BAD && s.form == SCANNED ? CFI_NONE : forms[i].status;
            if (st != expected || (st == CFI_OK && (row.start != FUNCTION || row.signal_frame ||
                                                    row.size != FUNCTION_SIZE))) {
                fail_msg("%s, %s: %d", forms[i].name, s.form ? "by table" : "scanned", (int)st);
            }
        }
    }
}

static void signal_frames_are_marked(void **state) {
    struct cfi_row row;
    const struct section s = {.letters = "zRS"};
    (void)state;
    assert_int_equal(find_row(&s, &row), CFI_OK);
    assert_true(row.signal_frame);
}

static void headers_are_checked(void **state) {
    struct frames f, other;
    struct cfi_row row;
    (void)state;
    build(&(struct section){.form = TABLE}, &f);
    assert_int_equal(look_up(&f, FUNCTION - 1, &row), CFI_NONE);
    assert_int_equal(look_up(&f, FUNCTION + FUNCTION_SIZE - 1, &row), CFI_OK);
    assert_int_equal(look_up(&f, FUNCTION + FUNCTION_SIZE, &row), CFI_NONE);
    other = f;
    other.bytes[0] = 2; /* version */
    assert_int_equal(look_up(&other, FUNCTION, &row), CFI_BAD);
    other = f;
    other.bytes[1] = 0xff; /* no address of the frames */
    assert_int_equal(look_up(&other, FUNCTION, &row), CFI_BAD);
    other = f;
    other.bytes[2] = 0x0d; /* an unknown encoding of the count */
    assert_int_equal(look_up(&other, FUNCTION, &row), CFI_BAD);
    other = f;
    other.bytes[1] = 0x83;
    assert_int_equal(look_up(&other, FUNCTION, &row), CFI_BAD);
    other = f;
    memset(other.bytes + 16, 0x7f, 4); /* an entry outside */
    assert_int_equal(look_up(&other, FUNCTION, &row), CFI_BAD);
    other.at = 3;
    assert_int_equal(look_up(&other, FUNCTION, &row), CFI_BAD);
    assert_int_equal(cfi_find_row_async(&(struct cfi_module){.header = 0}, FUNCTION, &row),
                     CFI_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_set_their_rules),
        cmocka_unit_test(damaged_programs_are_refused),
        cmocka_unit_test(what_only_one_place_may_hold_is_refused_elsewhere),
        cmocka_unit_test(entries_have_many_forms),
        cmocka_unit_test(signal_frames_are_marked),
        cmocka_unit_test(headers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
