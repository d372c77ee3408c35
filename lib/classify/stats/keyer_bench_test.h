/* A keyer with the built-in rules, as the state of a group of tests. */
#ifndef STALLKIT_KEYER_BENCH_TEST_H
#define STALLKIT_KEYER_BENCH_TEST_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "classify/keys/key.h"
#include "classify/rules/rules.h"

struct keyer_bench {
    struct rules *rules;
    struct keyer *keyer;
};

static inline int keyer_bench_setup(void **state) {
    static struct keyer_bench b;
    assert_int_equal(rules_new(&b.rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(b.rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&b.keyer, &(struct key_options){.rules = b.rules}, NULL), ST_OK);
    *state = &b;
    return 0;
}

static inline int keyer_bench_teardown(void **state) {
    struct keyer_bench *b = *state;
    keyer_free(b->keyer);
    rules_free(b->rules);
    return 0;
}

#endif
