#include "flame/stacks/stack_filter.h"

#include "flame/flame_support_test.h"

static void assert_filtered(const struct stack_filter *filter, const char *text, const char *want) {
    struct stack_tree in = {0}, out = {0};
    read_string(&in, text);
    assert_int_equal(stack_filter_add(&out, &in, filter, NULL), ST_OK);
    assert_int_equal(stack_tree_total(&out), stack_tree_total(&in));
    assert_written(&out, want);
    stack_tree_release(&in);
    stack_tree_release(&out);
}

static void reversed_stacks_begin_with_their_innermost_frame(void **state) {
    (void)state;
    assert_filtered(&(struct stack_filter){.reverse = true},
                    "main;a;read 1.5\nmain;b;read 2\nmain 4\n;x 1\n",
                    "main 4\nread;a;main 1.5\nread;b;main 2\nx; 1\n");
}

static void stacks_begin_at_the_base(void **state) {
    (void)state;
    const char *text = "start;libc.so`main;a;main;b 1\nstart;main_[i];c 2\nother;d 4\n";
    assert_filtered(&(struct stack_filter){.base = "main"}, text,
                    "libc.so`main;a;main;b 1\nmain_[i];c 2\nother;d 4\n");
    assert_filtered(&(struct stack_filter){.base = "libc.so`main"}, text,
                    "libc.so`main;a;main;b 1\nother;d 4\nstart;main_[i];c 2\n");
    assert_filtered(&(struct stack_filter){.base = "operator;"}, "x;operator\\x3b;y 1\n",
                    "operator\\x3b;y 1\n");
}

static void the_first_frame_is_escaped_as_such(void **state) {
    (void)state;
    assert_filtered(&(struct stack_filter){.reverse = true}, "\\x23a;b;#c 1\nx;b;#c 2\n",
                    "\\x23c;b;#a 1\n\\x23c;b;x 2\n");
    assert_filtered(&(struct stack_filter){.base = "#c"}, "a;#c;d 1\n", "\\x23c;d 1\n");
}

static void time_is_kept(void **state) {
    (void)state;
    struct stack_tree in = {.ordered = true}, out = {.ordered = true};
    read_string(&in, "r;main;b 1\nr;main 2\nr;main;a 4\nr;main;b 8\n");
    assert_int_equal(stack_filter_add(&out, &in, &(struct stack_filter){.base = "main"}, NULL),
                     ST_OK);
    assert_written(&out, "main;b 1\nmain 2\nmain;a 4\nmain;b 8\n");
    stack_tree_release(&in);
    stack_tree_release(&out);
}

/* Checks that stacks reversed twice are what they were. */
static void reversing_loses_nothing(void **state) {
    (void)state;
    const struct stack_filter reverse = {.reverse = true};
    for (uint32_t seed = 1; seed < 20; seed++) {
        struct strbuf text = random_folded(seed, 50, 12);
        struct stack_tree in = {0}, once = {0}, twice = {0};
        read_text(&in, text.data, text.len);
        assert_int_equal(stack_filter_add(&once, &in, &reverse, NULL), ST_OK);
        assert_int_equal(stack_filter_add(&twice, &once, &reverse, NULL), ST_OK);
        char *want = write_text(&in);
        assert_written(&twice, want);
        free(want);
        strbuf_release(&text);
        stack_tree_release(&in);
        stack_tree_release(&once);
        stack_tree_release(&twice);
    }
}

static void filter_once(void *ctx, bool refused) {
    struct stack_tree out = {0};
    struct err e = {0};
    enum st st =
        stack_filter_add(&out, ctx, &(struct stack_filter){.base = "b", .reverse = true}, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    stack_tree_release(&out);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct stack_tree t = {0};
    read_string(&t, "a;b;c 5\na;b;d 6\nz;#y 1\n");
    assert_true(failmalloc_sweep(filter_once, &t) > 4);
    stack_tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reversed_stacks_begin_with_their_innermost_frame),
        cmocka_unit_test(stacks_begin_at_the_base),
        cmocka_unit_test(the_first_frame_is_escaped_as_such),
        cmocka_unit_test(time_is_kept),
        cmocka_unit_test(reversing_loses_nothing),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("stack_filter", tests, NULL, NULL);
}
