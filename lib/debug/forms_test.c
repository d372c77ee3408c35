/* Tests of addresses that are expressions, which libdwarf leaves to its callers; die_oracle_test.c
 * compares the other forms with libdwarf. */
#include "debug/dwarf_build_test.h"

#include "debug/die_walk.h"

struct expression {
    uint8_t bytes[11];
    uint8_t len;
    uint64_t address; /* expected address; 0 = the expression is refused */
};

/* Builds a unit that begins at the expression's address; its table of addresses has 0x4000 and
 * 0x5000. */
static void build_unit(struct dwarf_build *b, const struct expression *x) {
    *b = (struct dwarf_build){.address_size = 8};
    abbrev(b, 1, DW_TAG_compile_unit, false, DW_AT_low_pc, DW_FORM_exprloc, DW_AT_addr_base,
           DW_FORM_sec_offset, DW_AT_comp_dir, DW_FORM_string, 0);
    end_abbrevs(b);
    b->in = SECTION_ADDR;
    put(b, 20, 4), put(b, 5, 2), put(b, 8, 1), put(b, 0, 1);
    put_address(b, 0x4000), put_address(b, 0x5000);
    begin_unit(b, 5, 0);
    put_uleb(b, 1), put_uleb(b, x->len);
    for (size_t i = 0; i < x->len; i++) {
        put(b, x->bytes[i], 1);
    }
    put(b, 8, 4), put_text(b, "behind");
    end_unit(b);
}

static void an_expression_is_an_address_and_what_to_add(void **state) {
    static struct dwarf_build b;
    static const struct expression rows[] = {
        {{DW_OP_addrx, 1, DW_OP_const4u, 0, 5, 0, 0, DW_OP_plus},
         8,
         0x5500}, /* as clang 19 writes it */
        {{DW_OP_addrx, 0}, 2, 0x4000},
        {{DW_OP_addrx, 0, DW_OP_const1u, 9, DW_OP_plus}, 5, 0x4009},
        {{DW_OP_addrx, 0, DW_OP_const2u, 9, 1, DW_OP_plus}, 6, 0x4109},
        {{DW_OP_addrx, 0, DW_OP_constu, 0x81, 1, DW_OP_plus}, 6, 0x4081},
        {{DW_OP_addrx, 0, DW_OP_plus_uconst, 7}, 4, 0x4007},
        {{DW_OP_addr, 0, 0x60, 0, 0, 0, 0, 0, 0}, 9, 0x6000},
        {{DW_OP_addr, 0, 0x60, 0, 0, 0, 0, 0}, 8, 0},
        {{DW_OP_addrx, 0, DW_OP_const8u, 9, 0, 0, 0, 0, 0, 0}, 10, 0},
        {{DW_OP_addrx, 99}, 2, 0},
        {{DW_OP_addrx, 0, DW_OP_const1u, 9, DW_OP_minus}, 5, 0},
        {{DW_OP_addrx, 0, DW_OP_plus_uconst, 7, DW_OP_nop}, 5, 0},
        {{DW_OP_call_frame_cfa}, 1, 0},
        {{0}, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sections s;
        struct die_reader reader;
        struct die_units at = {0};
        struct die_unit unit;
        struct die_attrs attrs;
        struct err e = {0};
        build_unit(&b, &rows[i]);
        built_sections(&b, &s);
        die_reader_init(&reader, &s, NULL);
        assert_int_equal(die_units_next(&reader, &at, &unit, &attrs, &e), ST_OK);
        assert_int_equal(attrs.damaged, rows[i].address == 0);
        assert_int_equal((attrs.has & DIE_LOW) != 0, rows[i].address != 0);
        assert_int_equal(attrs.low, rows[i].address);
        assert_string_equal(attrs.comp_dir, "behind");
        die_reader_release(&reader);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expression_is_an_address_and_what_to_add),
    };
    return cmocka_run_group_tests_name("forms", tests, NULL, NULL);
}
