/* Tests each operator of a DWARF expression in call frame information, and expressions that are
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_private.h"

enum { LO = 0x7000, WORDS = 4, REG_7 = 0x7008 };

struct sample {
    const char *name, *code;
    size_t size;
    enum cfi_step status;
    uint64_t result;
};
#define CODE(text) (text), sizeof(text) - 1
#define MINUS(n)   ((uint64_t)0 - (n))

static enum cfi_step eval(const struct sample *s, const uint64_t *cfa, uint64_t *result) {
    static const uint64_t words[WORDS] = {0x11, 0x22, 0x33, 0x44};
    struct cfi_registers regs = {0};
    struct cfi_stack stack = {(const uint8_t *)words, LO, LO + sizeof words};
    /* The copy has the exact size, so that a sanitizer reports a read beyond it. */
    uint8_t *code = malloc(s->size ? s->size : 1);
    assert_non_null(code);
    memcpy(code, s->code, s->size);
    cfi_set_async(&regs, 7, REG_7);
    enum cfi_step st = cfi_eval_async(code, s->size, &regs, &stack, cfa, result);
    free(code);
    return st;
}

static void check(const struct sample *samples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct sample *s = &samples[i];
        uint64_t result = 0xdead;
        enum cfi_step st = eval(s, NULL, &result);
        if (st != s->status || result != (st == CFI_STEP_OK ? s->result : 0xdead)) {
            fail_msg("%s: status %d, result %llx", s->name, (int)st, (unsigned long long)result);
        }
    }
}

static void constants_are_pushed(void **state) {
    static const struct sample samples[] = {
        {"lit0", CODE("\x30"), CFI_STEP_OK, 0},
        {"lit31", CODE("\x4f"), CFI_STEP_OK, 31},
        {"const1u", CODE("\x08\xff"), CFI_STEP_OK, 255},
        {"const1s", CODE("\x09\xff"), CFI_STEP_OK, MINUS(1)},
        {"const2u", CODE("\x0a\xfe\xff"), CFI_STEP_OK, 0xfffe},
        {"const2s", CODE("\x0b\xfe\xff"), CFI_STEP_OK, MINUS(2)},
        {"const4u", CODE("\x0c\xfd\xff\xff\xff"), CFI_STEP_OK, 0xfffffffd},
        {"const4s", CODE("\x0d\xfd\xff\xff\xff"), CFI_STEP_OK, MINUS(3)},
        {"const8u", CODE("\x0e\1\2\3\4\5\6\7\x88"), CFI_STEP_OK, 0x8807060504030201},
        {"const8s", CODE("\x0f\xfc\xff\xff\xff\xff\xff\xff\xff"), CFI_STEP_OK, MINUS(4)},
        {"constu", CODE("\x10\xe5\x8e\x26"), CFI_STEP_OK, 624485},
        {"consts", CODE("\x11\x80\x7f"), CFI_STEP_OK, MINUS(128)},
        {"breg7", CODE("\x77\x08"), CFI_STEP_OK, REG_7 + 8},
        {"breg7, back", CODE("\x77\x78"), CFI_STEP_OK, REG_7 - 8},
        {"bregx", CODE("\x92\x07\x10"), CFI_STEP_OK, REG_7 + 16},
    };
    (void)state;
    check(samples, sizeof samples / sizeof *samples);
}

static void operators_take_the_values_in_order(void **state) {
    static const struct sample samples[] = {
        {"and", CODE("\x3c\x3a\x1a"), CFI_STEP_OK, 8},
        {"or", CODE("\x3c\x33\x21"), CFI_STEP_OK, 15},
        {"xor", CODE("\x3c\x3a\x27"), CFI_STEP_OK, 6},
        {"plus", CODE("\x35\x33\x22"), CFI_STEP_OK, 8},
        {"plus_uconst", CODE("\x35\x23\x80\x01"), CFI_STEP_OK, 133},
        {"minus", CODE("\x33\x35\x1c"), CFI_STEP_OK, MINUS(2)},
        {"mul", CODE("\x35\x33\x1e"), CFI_STEP_OK, 15},
        {"div, signed", CODE("\x09\xf9\x32\x1b"), CFI_STEP_OK, MINUS(3)},
        {"mod", CODE("\x37\x33\x1d"), CFI_STEP_OK, 1},
        {"shl", CODE("\x33\x34\x24"), CFI_STEP_OK, 48},
        {"shl by all bits", CODE("\x33\x08\x40\x24"), CFI_STEP_OK, 0},
        {"shr", CODE("\x09\xff\x08\x3c\x25"), CFI_STEP_OK, 15},
        {"shr by all bits", CODE("\x33\x08\x40\x25"), CFI_STEP_OK, 0},
        {"shra", CODE("\x09\xf0\x32\x26"), CFI_STEP_OK, MINUS(4)},
        {"shra of a positive number", CODE("\x40\x32\x26"), CFI_STEP_OK, 4},
        {"shra by all bits", CODE("\x09\xf0\x08\x7f\x26"), CFI_STEP_OK, MINUS(1)},
        {"abs", CODE("\x09\xfb\x19"), CFI_STEP_OK, 5},
        {"neg", CODE("\x35\x1f"), CFI_STEP_OK, MINUS(5)},
        {"not", CODE("\x35\x20"), CFI_STEP_OK, ~(uint64_t)5},
        {"eq", CODE("\x35\x35\x29"), CFI_STEP_OK, 1},
        {"ge, signed", CODE("\x09\xff\x31\x2a"), CFI_STEP_OK, 0},
        {"gt", CODE("\x32\x31\x2b"), CFI_STEP_OK, 1},
        {"le, signed", CODE("\x09\xff\x31\x2c"), CFI_STEP_OK, 1},
        {"lt", CODE("\x31\x31\x2d"), CFI_STEP_OK, 0},
        {"ne", CODE("\x31\x32\x2e"), CFI_STEP_OK, 1},
    };
    (void)state;
    check(samples, sizeof samples / sizeof *samples);
}

static void values_move_on_the_stack(void **state) {
    static const struct sample samples[] = {
        {"nop", CODE("\x35\x96"), CFI_STEP_OK, 5},
        {"dup", CODE("\x35\x12\x1e"), CFI_STEP_OK, 25},
        {"drop", CODE("\x35\x36\x13"), CFI_STEP_OK, 5},
        {"over", CODE("\x35\x36\x14"), CFI_STEP_OK, 5},
        {"pick", CODE("\x35\x36\x37\x15\x02"), CFI_STEP_OK, 5},
        {"swap", CODE("\x39\x33\x16\x1c"), CFI_STEP_OK, MINUS(6)},
        /* 1 2 3 becomes 3 1 2: 3 - (1 - 2) */
        {"rot", CODE("\x31\x32\x33\x17\x1c\x1c"), CFI_STEP_OK, 4},
        {"deref", CODE("\x77\x00\x06"), CFI_STEP_OK, 0x22},
        {"skip", CODE("\x35\x2f\x01\x00\x36\x96"), CFI_STEP_OK, 5},
        {"bra, taken", CODE("\x35\x31\x28\x01\x00\x36\x96"), CFI_STEP_OK, 5},
        {"bra, not taken", CODE("\x35\x30\x28\x01\x00\x36\x96"), CFI_STEP_OK, 6},
    };
    (void)state;
    check(samples, sizeof samples / sizeof *samples);
}

static void what_cannot_be_evaluated_is_refused(void **state) {
    char many[66];
    memset(many, 0x31, sizeof many);
    const struct sample samples[] = {
        {"nothing", CODE(""), CFI_STEP_BAD, 0},
        {"an operator without values", CODE("\x22"), CFI_STEP_BAD, 0},
        {"a cut constant", CODE("\x0c\x01"), CFI_STEP_BAD, 0},
        {"an endless number", CODE("\x10\x80\x80"), CFI_STEP_BAD, 0},
        {"division by 0", CODE("\x31\x30\x1b"), CFI_STEP_BAD, 0},
        {"the rest of a division by 0", CODE("\x31\x30\x1d"), CFI_STEP_BAD, 0},
        {"a quotient that is too large", CODE("\x0e\x00\x00\x00\x00\x00\x00\x00\x80\x09\xff\x1b"),
         CFI_STEP_BAD, 0},
        {"pick below the stack", CODE("\x31\x15\x01"), CFI_STEP_BAD, 0},
        {"over with one value", CODE("\x31\x14"), CFI_STEP_BAD, 0},
        {"a jump back", CODE("\x31\x2f\xfd\xff"), CFI_STEP_BAD, 0},
        {"a jump past the end", CODE("\x31\x2f\x05\x00"), CFI_STEP_BAD, 0},
        {"a register that no processor has", CODE("\x92\x80\x01\x00"), CFI_STEP_BAD, 0},
        {"a register whose value is not known", CODE("\x73\x00"), CFI_STEP_UNKNOWN, 0},
        {"memory that is not in the copy", CODE("\x77\x60\x06"), CFI_STEP_CUT, 0},
        {"memory that begins in the copy", CODE("\x77\x11\x06"), CFI_STEP_CUT, 0},
        {"an absolute address", CODE("\x03\0\0\0\0\0\0\0\0"), CFI_STEP_BAD, 0},
        {"more values than fit", many, sizeof many, CFI_STEP_BAD, 0},
    };
    (void)state;
    check(samples, sizeof samples / sizeof *samples);
}

static void the_stack_may_begin_with_the_cfa(void **state) {
    const struct sample plus = {"cfa + 8", CODE("\x23\x08"), CFI_STEP_OK, 0};
    uint64_t cfa = LO, result = 0;
    (void)state;
    assert_int_equal(eval(&plus, &cfa, &result), CFI_STEP_OK);
    assert_int_equal(result, LO + 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_pushed),
        cmocka_unit_test(operators_take_the_values_in_order),
        cmocka_unit_test(values_move_on_the_stack),
        cmocka_unit_test(what_cannot_be_evaluated_is_refused),
        cmocka_unit_test(the_stack_may_begin_with_the_cfa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
