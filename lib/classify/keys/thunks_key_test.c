/* Tests which frames that a compiler adds around a call are in keys: witnesses of Swift protocols,
 * and Go's wrappers of go and defer statements. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/strbuf.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"
#include "classify/rules/rules.h"

struct thunks {
    struct rules *rules;
    struct keyer *keyer;
};

static int setup(void **state) {
    static struct thunks t;
    assert_int_equal(rules_new(&t.rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(t.rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&t.keyer, &(struct key_options){.rules = t.rules}, NULL), ST_OK);
    *state = &t;
    return 0;
}

static int teardown(void **state) {
    struct thunks *t = *state;
    keyer_free(t->keyer);
    rules_free(t->rules);
    return 0;
}

/* Checks the key of level 1 and the action of a stack of these functions, innermost first, '!' as
 * for fixture_names, which is the only sample of a thread that ran. */
static void expect(void **state, const char *const *functions, size_t count, const char *want,
                   const char *action) {
    const struct thunks *t = *state;
    struct fixture f = {.d.stall.cpu_permille = 900};
    struct stall_key key;
    struct strbuf got = {0};
    fixture_names(&f, functions, count, 1);
    assert_int_equal(keyer_key(t->keyer, &f.d, &key, NULL), ST_OK);
    for (size_t i = 0; i < key.level[0].count; i++) {
        strbuf_addf(&got, "%s%s", i ? " <- " : "", key.level[0].frames[i].info->function);
    }
    assert_string_equal(strbuf_cstr(&got), want);
    assert_int_equal(key.action.count, 1);
    assert_string_equal(key.action.frames[0].info->function, action);
    strbuf_release(&got);
}
#define EXPECT(want, action, ...)                                                                  \
    expect(state, (const char *const[]){__VA_ARGS__},                                              \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), want, action)

static const char cart_draws[] = "protocol witness for Drawable.draw() in conformance Cart";

static void a_witness_that_calls_the_method_is_in_no_key(void **state) {
    EXPECT("Cart.draw <- Shelf.render", "Window.open", "Cart.draw()", cart_draws, "Shelf.render()",
           "Window.open()", "main");
    /* The method is the protocol's own, or one that a subclass overrides. */
    EXPECT("Drawable.draw <- Shelf.render", "Window.open", "Drawable.draw()", cart_draws,
           "Shelf.render()", "Window.open()", "main");
    EXPECT("FastCart.draw <- Shelf.render", "Window.open", "specialized FastCart.draw()",
           cart_draws, "Shelf.render()", "Window.open()", "main");
}

static void a_witness_with_the_method_inlined_is_the_method(void **state) {
    EXPECT("Cart.draw <- Shelf.render", "Window.open", cart_draws, "Shelf.render()",
           "Window.open()", "main");
    EXPECT("Cart.path <- Cart.draw", "Window.open", "Cart.path()", cart_draws, "Shelf.render()",
           "Window.open()", "main");
    EXPECT("closure in Cart.draw <- Shelf.render", "Window.open", "closure #1 in Cart.draw()",
           cart_draws, "Shelf.render()", "Window.open()", "main");
}

static void a_witness_around_another_one_stays(void **state) {
    EXPECT("Item.encode(to:) <- Order.encode(to:)", "Order.save", "Item.encode(to:)",
           "protocol witness for Encodable.encode(to:) in conformance Item",
           "!KeyedEncodingContainer.encode<A>(_:forKey:)",
           "protocol witness for Encodable.encode(to:) in conformance Order", "Order.save()",
           "main");
}

static void wrappers_of_go_are_in_no_key(void **state) {
    EXPECT("main.load <- main.serve", "main.run", "main.load", "main.serve.deferwrap1",
           "main.serve", "main.run");
    EXPECT("main.load <- main.work", "main.work", "main.load", "main.work", "main.serve.gowrap2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_witness_that_calls_the_method_is_in_no_key),
        cmocka_unit_test(a_witness_with_the_method_inlined_is_the_method),
        cmocka_unit_test(a_witness_around_another_one_stays),
        cmocka_unit_test(wrappers_of_go_are_in_no_key),
    };
    return cmocka_run_group_tests_name("thunks_key", tests, setup, teardown);
}
