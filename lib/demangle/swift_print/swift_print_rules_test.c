/* Checks that every kind of node is printed somehow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "demangle/swift_print/swift_printer_private.h"

/* Is the kind one that only other kinds print, or one that stands for memory of a running process?
 */
static bool is_never_printed_alone(enum swift_kind kind) {
    switch (kind) {
    case SWIFT_DEPENDENT_GENERIC_PARAM_COUNT:
    case SWIFT_DEPENDENT_GENERIC_PARAM_PACK_MARKER:
    case SWIFT_DEPENDENT_GENERIC_PARAM_VALUE_MARKER:
    case SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM:
    case SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_RETURN:
    case SWIFT_IMPL_INVOCATION_SUBSTITUTIONS:
    case SWIFT_IMPL_PATTERN_SUBSTITUTIONS:
    case SWIFT_PACK_ELEMENT_LEVEL:
    case SWIFT_NON_UNIQUE_EXTENDED_EXISTENTIAL_TYPE_SHAPE_SYMBOLIC_REFERENCE:
    case SWIFT_OBJECTIVE_C_PROTOCOL_SYMBOLIC_REFERENCE:
    case SWIFT_OPAQUE_TYPE_DESCRIPTOR_SYMBOLIC_REFERENCE:
    case SWIFT_PROTOCOL_SYMBOLIC_REFERENCE:
    case SWIFT_SYMBOLIC_EXTENDED_EXISTENTIAL_TYPE:
    case SWIFT_TYPE_SYMBOLIC_REFERENCE:
    case SWIFT_UNIQUE_EXTENDED_EXISTENTIAL_TYPE_SHAPE_SYMBOLIC_REFERENCE:
        return true;
    default:
        return false;
    }
}

static void every_kind_has_one_way_to_be_printed(void **state) {
    (void)state;
    static const char *const names[] = {
#define SWIFT_KIND(name, roles) #name,
        SWIFT_KINDS(SWIFT_KIND)
#undef SWIFT_KIND
    };
    for (int kind = 0; kind < SWIFT_KIND_COUNT; kind++) {
        const struct swift_print_rule *rule = &swift_print_rules[kind];
        struct swift_node n = {.kind = (uint16_t)kind};
        int ways = (rule->print != NULL) + (rule->full != NULL) + swift_is_entity(&n) +
                   is_never_printed_alone((enum swift_kind)kind);
        if (ways != 1) {
            fail_msg("%s has %d ways", names[kind], ways);
        }
    }
}

static void a_pattern_holds_only_parts_that_there_are(void **state) {
    (void)state;
    for (int kind = 0; kind < SWIFT_KIND_COUNT; kind++) {
        const struct swift_print_rule *rule = &swift_print_rules[kind];
        for (const char *at = rule->full; at && (at = strchr(at, '%')) != NULL; at += 2) {
            assert_non_null(strchr("0123t#*,", at[1]));
        }
        assert_int_equal(rule->full_len, rule->full ? strlen(rule->full) : 0);
        assert_int_equal(rule->simplified_len, rule->simplified ? strlen(rule->simplified) : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_one_way_to_be_printed),
        cmocka_unit_test(a_pattern_holds_only_parts_that_there_are),
    };
    return cmocka_run_group_tests_name("swift_print_rules", tests, NULL, NULL);
}
