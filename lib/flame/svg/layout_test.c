#include "flame/svg/layout.h"

#include "flame/flame_support_test.h"

static struct layout lay_out(const struct stack_tree *t, uint64_t min_weight, uint32_t depth) {
    struct layout l;
    assert_int_equal(layout_make(&l, t, min_weight, depth, NULL), ST_OK);
    return l;
}

static void assert_frame(const struct layout *l, size_t i, const char *text, uint32_t depth,
                         uint64_t x, uint64_t w, uint64_t self) {
    assert_true(i < l->frames.len);
    const struct layout_frame *f = &l->frames.data[i];
    assert_int_equal(f->len, strlen(text));
    assert_memory_equal(f->text, text, f->len);
    assert_int_equal(f->depth, depth);
    assert_int_equal(f->x, x);
    assert_int_equal(f->w, w);
    assert_int_equal(f->self, self);
}

static void children_stand_left_in_order_self_is_right(void **state) {
    (void)state;
    struct stack_tree t = {0};
    read_string(&t, "b;z 2\na;y;x 3\na;y 4\na 5\nb;c;d 1\n");
    struct layout l = lay_out(&t, 0, 100);
    assert_int_equal(l.frames.len, 8);
    assert_int_equal(l.frames.data[0].kind, LAYOUT_ROOT);
    assert_frame(&l, 0, "", 0, 0, 15, 0);
    assert_frame(&l, 1, "a", 1, 0, 12, 5);
    assert_frame(&l, 2, "y", 2, 0, 7, 4);
    assert_frame(&l, 3, "x", 3, 0, 3, 3);
    assert_frame(&l, 4, "b", 1, 12, 3, 0);
    assert_frame(&l, 5, "c", 2, 12, 1, 0);
    assert_frame(&l, 6, "d", 3, 12, 1, 1);
    assert_frame(&l, 7, "z", 2, 13, 2, 2);
    assert_int_equal(l.depth, 3);
    layout_release(&l);
    layout_release(&l);
    stack_tree_release(&t);
}

static void narrow_siblings_become_one_rest_behind_the_others(void **state) {
    (void)state;
    struct stack_tree t = {0};
    read_string(&t, "m;a 1\nm;b;c 10\nm;d;e 2\nm;f 9\nm 4\n");
    struct layout l = lay_out(&t, 5, 100);
    assert_int_equal(l.frames.len, 6);
    assert_frame(&l, 1, "m", 1, 0, 26, 4);
    assert_frame(&l, 2, "b", 2, 0, 10, 0);
    assert_frame(&l, 4, "f", 2, 10, 9, 9);
    assert_int_equal(l.frames.data[5].kind, LAYOUT_NARROW);
    assert_int_equal(l.frames.data[5].merged, 2);
    assert_frame(&l, 5, "", 2, 19, 3, 3);
    assert_int_equal(l.narrow_count, 2);
    assert_int_equal(l.narrow_weight, 3);
    layout_release(&l);
    stack_tree_release(&t);
}

static void what_is_deeper_than_the_limit_is_one_frame(void **state) {
    (void)state;
    struct stack_tree t = {0};
    read_string(&t, "a;b;c;d;e 3\na;b;x 4\n");
    struct layout l = lay_out(&t, 0, 2);
    assert_int_equal(l.frames.len, 5);
    assert_int_equal(l.frames.data[3].kind, LAYOUT_DEEPER);
    assert_int_equal(l.frames.data[3].merged, 3); /* the frames c, d and e */
    assert_frame(&l, 4, "x", 3, 3, 4, 4);
    assert_int_equal(l.frames.data[4].kind, LAYOUT_DEEPER);
    layout_release(&l);
    stack_tree_release(&t);
}

static void no_stacks_no_frames(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct layout l = lay_out(&t, 0, 10);
    assert_int_equal(l.frames.len, 0);
    layout_release(&l);
}

/* Checks for every frame that its children and its self weight add up to its weight, and that its
 * children stand without gaps from its left end; in an ordered tree there may be gaps between them.
 */
static void check_sums(const struct layout *l, const struct stack_tree *t) {
    const struct layout_frame *f = l->frames.data;
    size_t *open =
        calloc(l->depth + 2u, sizeof *open); /* index of the frame that is open at each depth */
    uint64_t *right = calloc(
        l->depth + 2u, sizeof *right); /* position at which the children of that frame end so far */
    uint64_t *sum = calloc(l->depth + 2u, sizeof *sum); /* weight of these children */
    assert_true(open && right && sum);
    assert_int_equal(f[0].w, stack_tree_total(t));
    size_t bad = 0;
    for (size_t i = 1; i <= l->frames.len; i++) {
        uint32_t depth = i < l->frames.len ? f[i].depth : 0;
        for (uint32_t d = f[i - 1].depth + 1;
             d-- > depth;) { /* the frames at these depths are complete */
            bad += f[open[d]].w != sum[d] + f[open[d]].self;
            bad += f[open[d]].x + f[open[d]].w < right[d];
        }
        if (i < l->frames.len) {
            bad += t->ordered ? f[i].x < right[depth - 1] : f[i].x != right[depth - 1];
            right[depth - 1] = f[i].x + f[i].w;
            sum[depth - 1] += f[i].w;
            open[depth] = i;
            right[depth] = f[i].x;
            sum[depth] = 0;
        }
    }
    assert_int_equal(bad, 0);
    free(open);
    free(right);
    free(sum);
}

static void check_tree(const struct stack_tree *t) {
    uint64_t total = stack_tree_total(t);
    const uint64_t least[] = {0, total / 10000, total / 100, total / 3, total + 1};
    for (size_t i = 0; i < sizeof least / sizeof *least && total > 0; i++) {
        for (uint32_t depth = 1; depth < 100; depth = depth * 3 + 1) {
            struct layout l = lay_out(t, least[i], depth);
            assert_true(l.depth <= depth + 1);
            check_sums(&l, t);
            layout_release(&l);
        }
    }
}

static void check_text(const char *text, size_t len) {
    for (int ordered = 0; ordered < 2; ordered++) {
        struct stack_tree t = {.ordered = ordered};
        read_text(&t, text, len);
        check_tree(&t);
        stack_tree_release(&t);
    }
}

static void check_file(const char *name, const struct filemap *m) {
    (void)name;
    check_text((const char *)m->data, m->size);
}

static void every_frame_is_its_children_and_self(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 20; seed++) {
        struct strbuf text = random_folded(seed, 100 * seed, 3 + 2 * seed);
        check_text(text.data, text.len);
        strbuf_release(&text);
    }
    if (!for_each_real("folded", check_file)) {
        print_message("# without REAL: generated stacks only\n");
    }
}

static void a_deep_stack_needs_no_recursion(void **state) {
    (void)state;
    struct strbuf line = {0};
    struct stack_tree t = {0};
    for (int i = 0; i < 200000; i++) {
        strbuf_addstr(&line, "f;");
    }
    for (int i = 1; i < 200000; i += 997) { /* makes the tree have a node at each of these depths */
        assert_int_equal(stack_tree_add(&t, line.data, (size_t)i * 2 - 1, 1, 0, NULL), ST_OK);
    }
    struct layout l = lay_out(&t, 0, 1000000);
    check_sums(&l, &t);
    assert_int_equal(l.depth, 199401);
    layout_release(&l);
    strbuf_release(&line);
    stack_tree_release(&t);
}

static void make_and_release(void *ctx, bool refused) {
    struct layout l;
    struct err e = {0};
    enum st st = layout_make(&l, ctx, 3, 40, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    layout_release(&l);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf text = random_folded(5, 300, 80);
    struct stack_tree t = {0};
    read_text(&t, text.data, text.len);
    assert_true(failmalloc_sweep(make_and_release, &t) > 5);
    strbuf_release(&text);
    stack_tree_release(&t);
}

static void in_time_children_stand_where_they_were(void **state) {
    (void)state;
    struct stack_tree t = {.ordered = true};
    read_string(&t, "m;a 5\nm 3\nm;a 6\nm;b 1\nm;c 1\nm;d 7\nm;e 2\nm 9\nm;f 1\n");
    struct layout l = lay_out(&t, 0, 100);
    assert_frame(&l, 1, "m", 1, 0, 35, 12);
    assert_frame(&l, 2, "a", 2, 0, 5, 5);
    assert_frame(&l, 3, "a", 2, 8, 6, 6);
    assert_frame(&l, 4, "b", 2, 14, 1, 1);
    layout_release(&l);
    l = lay_out(&t, 4, 100);
    assert_int_equal(l.frames.len, 8);
    assert_int_equal(l.frames.data[4].kind, LAYOUT_NARROW); /* a rest of b and c, before d */
    assert_frame(&l, 4, "", 2, 14, 2, 2);
    assert_int_equal(l.frames.data[4].merged, 2);
    assert_frame(&l, 5, "d", 2, 16, 7, 7);
    assert_frame(&l, 6, "", 2, 23, 2, 2); /* a rest of e only: a wide gap separates it from f */
    layout_release(&l);
    stack_tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_stand_left_in_order_self_is_right),
        cmocka_unit_test(narrow_siblings_become_one_rest_behind_the_others),
        cmocka_unit_test(what_is_deeper_than_the_limit_is_one_frame),
        cmocka_unit_test(no_stacks_no_frames),
        cmocka_unit_test(every_frame_is_its_children_and_self),
        cmocka_unit_test(a_deep_stack_needs_no_recursion),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(in_time_children_stand_where_they_were),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
