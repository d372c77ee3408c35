/* Tests of ELF files without section headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/filemap.h"
#include "object/object.h"

#define LIBSHOP "testdata/objects/elf-dwarf5/libshop.so"
#define DYNSYM  "testdata/objects/elf-dwarf5/dynsym/libshop.so"

enum { E_SHOFF = 40, E_SHENTSIZE = 58, PT_DYNAMIC_TYPE = 2, PHDR_AT = 64, PHDR_SIZE = 56 };

struct copy {
    uint8_t *bytes;
    size_t len;
};

/* Returns a copy of the shared object without its section headers; the caller frees the bytes. */
static struct copy without_sections(void) {
    struct filemap m = {0};
    assert_int_equal(filemap_open(&m, LIBSHOP, 0, NULL), ST_OK);
    struct copy c = {malloc(m.size), m.size};
    assert_non_null(c.bytes);
    memcpy(c.bytes, m.data, m.size);
    filemap_release(&m);
    memset(c.bytes + E_SHOFF, 0, 8);
    memset(c.bytes + E_SHENTSIZE, 0, 6);
    return c;
}

/* Returns the offset of the dynamic section in the file. */
static size_t dynamic_at(const struct copy *c) {
    for (size_t at = PHDR_AT; at + PHDR_SIZE < c->len; at += PHDR_SIZE) {
        if (c->bytes[at] == PT_DYNAMIC_TYPE) {
            return (size_t)c->bytes[at + 8] | (size_t)c->bytes[at + 9] << 8;
        }
    }
    fail();
    return 0;
}

static enum st symbols_of(const struct copy *c, struct object **o,
                          const struct object_symbol **symbols, size_t *count, struct err *e) {
    *count = 0;
    assert_int_equal(object_open_bytes(o, "stripped", c->bytes, c->len, NULL), ST_OK);
    return object_symbols(object_slice(*o, 0), symbols, count, e);
}

static void the_dynamic_linkers_symbols_are_found_without_section_headers(void **state) {
    struct copy c = without_sections();
    struct object *o, *plain;
    const struct object_symbol *symbols, *want;
    size_t count, wanted;
    (void)state;
    assert_int_equal(object_open(&plain, DYNSYM, NULL), ST_OK);
    assert_int_equal(object_symbols(object_slice(plain, 0), &want, &wanted, NULL), ST_OK);
    assert_int_equal(symbols_of(&c, &o, &symbols, &count, NULL), ST_OK);
    assert_true(object_has_symbols(object_slice(o, 0)));
    assert_false(image_id_is_zero(object_slice_id(object_slice(o, 0))));
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(symbols[i].address, want[i].address);
        assert_int_equal(symbols[i].size, want[i].size);
        assert_string_equal(symbols[i].name, want[i].name);
    }
    object_close(o);
    object_close(plain);
    free(c.bytes);
}

static void tables_outside_of_the_segments_are_errors(void **state) {
    struct copy c = without_sections();
    size_t at = dynamic_at(&c), errors = 0, entries = 0;
    (void)state;
    /* Each entry of the dynamic section in turn gets a senseless value: if the entry locates a
     * table, the file must be refused. */
    for (; c.bytes[at] != 0; at += 16, entries++) {
        struct object *o;
        const struct object_symbol *symbols;
        size_t count;
        uint8_t kept[8];
        struct err e = {0};
        memcpy(kept, c.bytes + at + 8, sizeof kept);
        memset(c.bytes + at + 8, 0xee, sizeof kept);
        if (symbols_of(&c, &o, &symbols, &count, &e) == ST_ERR) {
            assert_true(e.code == ERR_FORMAT);
            errors++;
        }
        object_close(o);
        memcpy(c.bytes + at + 8, kept, sizeof kept);
    }
    assert_true(entries > 5);
    /* The entries for symbols, strings, two hash tables and the size of an entry. */
    assert_in_range(errors, 3, 5);
    free(c.bytes);
}

static void damage_anywhere_in_the_dynamic_tables_stays_inside_the_file(void **state) {
    struct copy c = without_sections();
    (void)state;
    for (size_t at = PHDR_AT; at < c.len; at += at < 0x800 ? 1 : 13) {
        struct object *o = NULL;
        const struct object_symbol *symbols;
        size_t count = 0;
        uint8_t kept = c.bytes[at];
        c.bytes[at] = (uint8_t)~kept;
        if (object_open_bytes(&o, "damaged", c.bytes, c.len, NULL) == ST_OK &&
            object_symbols(object_slice(o, 0), &symbols, &count, NULL) == ST_OK) {
            for (size_t i = 0; i < count; i++) {
                assert_true(symbols[i].size > 0 && symbols[i].name[0] != '\0');
            }
        }
        object_close(o);
        c.bytes[at] = kept;
    }
    free(c.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dynamic_linkers_symbols_are_found_without_section_headers),
        cmocka_unit_test(tables_outside_of_the_segments_are_errors),
        cmocka_unit_test(damage_anywhere_in_the_dynamic_tables_stays_inside_the_file),
    };
    return cmocka_run_group_tests_name("elf without sections", tests, NULL, NULL);
}
