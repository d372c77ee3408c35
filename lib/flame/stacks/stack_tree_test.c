#include "flame/stacks/stack_tree.h"

#include "flame/flame_support_test.h"

static void add(struct stack_tree *t, const char *text, uint64_t weight) {
    assert_int_equal(stack_tree_add(t, text, strlen(text), weight, 0, NULL), ST_OK);
}

static void equal_stacks_add_up(void **state) {
    (void)state;
    struct stack_tree t = {0};
    add(&t, "a;b;c", 3);
    add(&t, "a;b;c", 4);
    assert_int_equal(t.node_count, 2);
    assert_int_equal(stack_tree_total(&t), 7);
    assert_written(&t, "a;b;c 7\n");
    stack_tree_release(&t);
    stack_tree_release(&t);
    assert_int_equal(stack_tree_total(&t), 0);
}

static void edges_break_between_frames_only(void **state) {
    (void)state;
    struct stack_tree t = {0};
    add(&t, "main;parse_one;x", 1);
    add(&t, "main;parse_two;x", 2); /* "main;parse_" is common, but only "main" is a whole frame */
    add(&t, "mai", 4);
    add(&t, "main;parse", 8);
    add(&t, "main", 16);
    assert_written(&t, "mai 4\nmain 16\nmain;parse 8\nmain;parse_one;x 1\nmain;parse_two;x 2\n");
    assert_int_equal(t.node_count, 6); /* the root, mai, main and the three below main */
    stack_tree_release(&t);
}

static void a_split_keeps_weights_and_children(void **state) {
    (void)state;
    struct stack_tree t = {0};
    add(&t, "a;b;c;d", 1);
    add(&t, "a;b;c;d;e", 2);
    add(&t, "a;b;c;d;f", 4);
    add(&t, "a;b", 8); /* splits the node a;b;c;d */
    add(&t, "a;x", 16);
    add(&t, "a;b;c;d;e", 32);
    assert_written(&t, "a;b 8\na;b;c;d 1\na;b;c;d;e 34\na;b;c;d;f 4\na;x 16\n");
    stack_tree_release(&t);
}

static void empty_names_are_names(void **state) {
    (void)state;
    struct stack_tree t = {0};
    add(&t, ";", 1);
    add(&t, ";;a", 2);
    add(&t, "a;;", 4);
    add(&t, "a;", 8);
    add(&t, ";a", 16);
    assert_written(&t, "; 1\n;;a 2\n;a 16\na; 8\na;; 4\n");
    stack_tree_release(&t);
}

static void weights_past_64_bits_are_refused(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct err e = {0};
    add(&t, "a;b", UINT64_MAX - 1);
    add(&t, "a", 1);
    assert_int_equal(stack_tree_add(&t, "a", 1, 1, 0, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(stack_tree_add(&t, "c", 1, 0, 0, NULL),
                     ST_OK); /* a weight of 0 changes nothing */
    assert_int_equal(stack_tree_add(&t, "a", 1, 1, 1, NULL),
                     ST_ERR); /* the sum with one more decimal would pass 64 bits */
    assert_int_equal(t.decimals, 0);
    assert_int_equal(stack_tree_total(&t), UINT64_MAX);
    assert_written(&t, "a 1\na;b 18446744073709551614\n");
    stack_tree_release(&t);
}

static void decimals_are_taken_on_and_stay_exact(void **state) {
    (void)state;
    struct stack_tree t = {0};
    add(&t, "a", 3);
    assert_int_equal(stack_tree_add(&t, "a;b", 3, 125, 2, NULL), ST_OK);
    assert_int_equal(stack_tree_add(&t, "a", 1, 5, 1, NULL), ST_OK);
    assert_int_equal(t.decimals, 2);
    assert_int_equal(stack_tree_total(&t), 475);
    assert_written(&t, "a 3.5\na;b 1.25\n");
    assert_int_equal(stack_tree_add(&t, "a", 1, 5, STACK_DECIMALS_MAX + 1, NULL), ST_ERR);
    stack_tree_release(&t);
}

/* Checks that every node's total is the sum of its self weight and its children's totals. */
static void check_totals(const struct stack_tree *t) {
    struct stack_children c;
    assert_int_equal(stack_tree_children(t, &c, NULL), ST_OK);
    uint64_t selves = 0;
    size_t seen = 1;
    for (size_t i = 0; i < t->node_count; i++) {
        uint64_t sum = t->nodes[i].self;
        selves += t->nodes[i].self;
        for (uint32_t k = c.start[i]; k < c.start[i + 1]; k++) {
            assert_int_equal(t->nodes[c.child[k]].parent, i);
            sum += t->nodes[c.child[k]].total;
            seen++;
        }
        assert_int_equal(sum, t->nodes[i].total);
    }
    assert_int_equal(seen, t->node_count);
    assert_int_equal(selves, stack_tree_total(t));
    stack_children_release(&c);
}

static void totals_are_self_and_children(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 30; seed++) {
        struct stack_tree t = {0};
        struct strbuf text = random_folded(seed, 2000, 5 + seed * 3);
        read_text(&t, text.data, text.len);
        check_totals(&t);
        strbuf_release(&text);
        stack_tree_release(&t);
    }
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Compares with the slow way: sorts the lines frame by frame, ';' being the smallest byte, and adds
 * up equal neighbours. */
static void agrees_with_sorting(void **state) {
    (void)state;
    for (uint32_t seed = 100; seed < 110; seed++) {
        struct stack_tree t = {0};
        struct strbuf text = random_folded(seed, 3000, 20), want = {0};
        VEC(char *) lines = {0};
        read_text(&t, text.data, text.len);
        for (size_t i = 0; i < text.len; i++) {
            text.data[i] = text.data[i] == ';' ? 1 : text.data[i] == '\n' ? 0 : text.data[i];
        }
        for (char *at = text.data; at < text.data + text.len; at += strlen(at) + 1) {
            assert_true(VEC_PUSH(&lines, at));
        }
        /* The count must not take part in the comparison, so it is cut off; it stays after the NUL.
         */
        for (size_t i = 0; i < lines.len; i++) {
            *strrchr(lines.data[i], ' ') = 0;
        }
        qsort(lines.data, lines.len, sizeof *lines.data, compare_lines);
        for (size_t i = 0; i < lines.len;) {
            unsigned long sum = 0;
            size_t k = i;
            for (; k < lines.len && strcmp(lines.data[k], lines.data[i]) == 0; k++) {
                const char *digit = lines.data[k] + strlen(lines.data[k]) + 1;
                unsigned long count = 0;
                for (; *digit; digit++) {
                    count = count * 10 + (unsigned long)(*digit - '0');
                }
                sum += count;
            }
            if (sum > 0 && lines.data[i][0]) { /* a line without a stack is bad, and left out */
                strbuf_addf(&want, "%s %lu\n", lines.data[i], sum);
            }
            i = k;
        }
        for (size_t i = 0; i < want.len; i++) {
            want.data[i] = want.data[i] == 1 ? ';' : want.data[i];
        }
        assert_written(&t, strbuf_cstr(&want));
        VEC_RELEASE(&lines);
        strbuf_release(&text);
        strbuf_release(&want);
        stack_tree_release(&t);
    }
}

static void a_text_too_long_is_refused(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct err e = {0};
    assert_int_equal(stack_tree_add(&t, "", (size_t)STACK_TEXT_MAX + 1, 1, 0, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(t.node_count, 0);
    stack_tree_release(&t);
}

static void long_texts_are_kept(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct strbuf name = {0};
    for (int i = 0; i < 1000000; i++) {
        strbuf_addc(&name, (char)('a' + i % 26));
    }
    add(&t, strbuf_cstr(&name), 1);
    name.data[999999] = '!';
    add(&t, strbuf_cstr(&name), 2); /* the names differ in the last byte of their only frame */
    assert_int_equal(t.node_count, 3);
    assert_int_equal(t.nodes[2].len, 1000000);
    assert_memory_equal(t.nodes[2].text, name.data, 1000000);
    strbuf_release(&name);
    stack_tree_release(&t);
}

static void grow(void *ctx, bool refused) {
    struct stack_tree t = {0};
    struct strbuf *text = ctx;
    char *line = text->data;
    uint64_t sum = 0;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        struct err e = {0};
        enum st st = stack_tree_add(&t, line, (size_t)(end - line), 1, 0, &e);
        assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
        sum += st == ST_OK;
        assert_int_equal(stack_tree_total(&t), sum); /* an error leaves the total as it was */
    }
    struct stack_children c;
    if (stack_tree_children(&t, &c, NULL) == ST_OK) {
        stack_children_release(&c);
        if (!refused) {
            check_totals(&t);
        }
    } else {
        assert_true(refused);
    }
    stack_tree_release(&t);
}

static void no_memory_leaves_the_tree_as_it_was(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf text = random_folded(7, 600, 60);
    assert_true(failmalloc_sweep(grow, &text) > 5);
    strbuf_release(&text);
}

static void an_ordered_tree_keeps_the_order_and_merges_neighbours(void **state) {
    (void)state;
    struct stack_tree t = {.ordered = true};
    add(&t, "main;b", 1);
    add(&t, "main;b;c", 2);
    add(&t, "main;a", 4);
    add(&t, "main", 8); /* the stack between two of main;a keeps these from merging */
    add(&t, "main;a", 16);
    add(&t, "main;a;x", 32);
    add(&t, "idle", 64);
    add(&t, "main;a;x", 128);
    add(&t, "main;a;x", 256);
    assert_written(&t, "main;b 1\nmain;b;c 2\nmain;a 4\nmain 8\nmain;a 16\nmain;a;x 32\n"
                       "idle 64\nmain;a;x 384\n");
    assert_int_equal(stack_tree_total(&t), 511);
    assert_int_equal(stack_tree_add(&t, "main;a;x", 8, 5, 1, NULL),
                     ST_OK); /* the starts are scaled, too */
    stack_tree_break(&t);
    add(&t, "main;a;x", 1);
    assert_written(&t, "main;b 1\nmain;b;c 2\nmain;a 4\nmain 8\nmain;a 16\nmain;a;x 32\n"
                       "idle 64\nmain;a;x 384.5\nmain;a;x 1\n");
    stack_tree_release(&t);
}

/* Checks that an ordered tree's text makes the same tree again, and an unordered tree the same
 * sums. */
static void an_ordered_tree_survives_its_text(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 40; seed++) {
        struct strbuf text = random_folded(seed, 20 + seed, 2 + seed % 9);
        struct stack_tree t = {.ordered = true}, again = {.ordered = true};
        struct stack_tree merged = {0}, merged_again = {0};
        read_text(&t, text.data, text.len);
        read_text(&merged, text.data, text.len);
        char *written = write_text(&t), *sorted = write_text(&merged);
        read_string(&again, written);
        read_string(&merged_again, written);
        assert_written(&again, written);
        assert_written(&merged_again, sorted);
        free(written);
        free(sorted);
        strbuf_release(&text);
        stack_tree_release(&t);
        stack_tree_release(&again);
        stack_tree_release(&merged);
        stack_tree_release(&merged_again);
    }
}

static void equal_siblings_in_time_cost_no_time(void **state) {
    (void)state;
    struct stack_tree t = {.ordered = true};
    for (int i = 0; i < 300000;
         i++) { /* this would take minutes if each stack were compared with those before it */
        add(&t, i & 1 ? "main;a" : "main;b", 1);
    }
    assert_int_equal(t.node_count, 300002);
    stack_tree_release(&t);
}

static enum st fail_at_second(void *ctx, const char *text, size_t len, uint64_t weight,
                              struct err *e) {
    (void)text, (void)len, (void)weight;
    return ++*(int *)ctx == 2 ? err_set(e, ERR_LIMIT, "enough") : ST_OK;
}

static void a_visit_that_fails_is_the_last(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct err e = {0};
    int visits = 0;
    assert_int_equal(stack_tree_each(&t, fail_at_second, &visits, &e), ST_OK);
    add(&t, "a", 1);
    add(&t, "b", 1);
    add(&t, "c", 1);
    assert_int_equal(stack_tree_each(&t, fail_at_second, &visits, &e), ST_ERR);
    assert_int_equal(visits, 2);
    assert_string_equal(e.text, "enough");
    stack_tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_add_up),
        cmocka_unit_test(edges_break_between_frames_only),
        cmocka_unit_test(a_split_keeps_weights_and_children),
        cmocka_unit_test(empty_names_are_names),
        cmocka_unit_test(weights_past_64_bits_are_refused),
        cmocka_unit_test(decimals_are_taken_on_and_stay_exact),
        cmocka_unit_test(totals_are_self_and_children),
        cmocka_unit_test(agrees_with_sorting),
        cmocka_unit_test(a_text_too_long_is_refused),
        cmocka_unit_test(long_texts_are_kept),
        cmocka_unit_test(no_memory_leaves_the_tree_as_it_was),
        cmocka_unit_test(an_ordered_tree_keeps_the_order_and_merges_neighbours),
        cmocka_unit_test(an_ordered_tree_survives_its_text),
        cmocka_unit_test(equal_siblings_in_time_cost_no_time),
        cmocka_unit_test(a_visit_that_fails_is_the_last),
    };
    return cmocka_run_group_tests_name("stack_tree", tests, NULL, NULL);
}
