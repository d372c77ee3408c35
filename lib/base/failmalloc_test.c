#include "base/failmalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void the_nth_allocation_fails(void **state) {
    (void)state;
    failmalloc_arm(2, false);
    void *volatile a = malloc(1), *volatile b = malloc(1), *volatile c = calloc(1, 1);
    bool failed = failmalloc_disarm();
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_true(failed);
    assert_int_equal(failmalloc_calls(), 3);
    free(a);
    free(c);
}

static void all_later_ones_can_fail_too(void **state) {
    (void)state;
    void *kept = malloc(1);
    failmalloc_arm(2, true);
    char *volatile a = strdup("x");
    void *volatile kept_still = kept;
    void *b = realloc(kept, 100);
    char *volatile c = strndup("xyz", 2);
    failmalloc_disarm();
    char *volatile d = strndup("xyz", 2);
    assert_string_equal(a, "x");
    assert_null(b);
    assert_null(c);
    assert_string_equal(d, "xy");
    free(a);
    free(d);
    free(kept_still);
}

static void live_blocks_are_counted(void **state) {
    (void)state;
    long before = failmalloc_live();
    char *volatile a =
        malloc(10); /* volatile, since the compiler may otherwise leave out the calls */
    char *volatile b = calloc(2, 5), *volatile c = strdup("x");
    char *moved = realloc(a, 1000);
    assert_non_null(moved);
    a = moved;
    assert_int_equal(failmalloc_live(), before + 3);
    free(a);
    free(b);
    free(c);
    free(NULL);
    assert_int_equal(failmalloc_live(), before);
}

struct leak {
    bool leaks;
    unsigned runs, refused;
    void *kept[8];
};

static void two_allocations(void *ctx, bool refused) {
    struct leak *leak = ctx;
    leak->runs++;
    leak->refused += refused;
    char *volatile a = malloc(1), *volatile b = malloc(1);
    if (!a && leak->leaks) {
        leak->kept[0] = b;
        return;
    }
    free(a);
    free(b);
}

static void a_sweep_fails_each_and_finds_leaks(void **state) {
    (void)state;
    struct leak clean = {0};
    assert_int_equal(failmalloc_sweep(two_allocations, &clean), 2);
    assert_int_equal(clean.runs, 6);    /* 1, 1 and later, 2, 2 and later, 3 (none), none */
    assert_int_equal(clean.refused, 5); /* the last run but one only finds that 3 is too many */
    struct leak leaky = {.leaks = true};
    assert_int_equal(failmalloc_sweep(two_allocations, &leaky), 0);
    free(leaky.kept[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(all_later_ones_can_fail_too),
        cmocka_unit_test(live_blocks_are_counted),
        cmocka_unit_test(a_sweep_fails_each_and_finds_leaks),
    };
    if (!failmalloc_works()) {
        print_message("1..0 # SKIP the linker has no --wrap\n");
        return 0;
    }
    return cmocka_run_group_tests_name("failmalloc", tests, NULL, NULL);
}
