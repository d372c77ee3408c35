/* Reads folded text in any two pieces into a tree and writes it: read again, the text gives the
 * same tree, merged and in the order of time. Turned round twice, the tree is the same again. A
 * picture of it is drawn, too. */
#include "flame/stacks/folded.h"
#include "flame/stacks/stack_filter.h"
#include "flame/svg/svg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) {
        abort();
    }
}

static void read_all(struct stack_tree *t, const char *text, size_t len, size_t cut) {
    struct folded_reader r = {.tree = t};
    require(folded_feed(&r, text, cut, NULL) == ST_OK);
    require(folded_feed(&r, text + cut, len - cut, NULL) == ST_OK);
    require(folded_end(&r, NULL) == ST_OK);
    folded_release(&r);
}

static struct strbuf write_all(const struct stack_tree *t) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    require(folded_write(t, &sink, NULL) == ST_OK);
    require(sink_close(&sink, NULL) == ST_OK);
    return out;
}

static void require_equal(const struct stack_tree *a, const struct stack_tree *b) {
    struct strbuf x = write_all(a), y = write_all(b);
    require(x.len == y.len);
    require(x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
    strbuf_release(&x);
    strbuf_release(&y);
}

static void draw(const struct stack_tree *t) {
    struct sink nowhere = sink_to_nowhere();
    const struct svg_options o = {.min_width = 20, .max_depth = 200};
    require(svg_write(t, &o, &nowhere, NULL) == ST_OK);
    require(sink_close(&nowhere, NULL) == ST_OK);
}

static void turn_twice(const struct stack_tree *t) {
    const struct stack_filter reverse = {.reverse = true};
    struct stack_tree once = {.ordered = t->ordered}, twice = {.ordered = t->ordered};
    require(stack_filter_add(&once, t, &reverse, NULL) == ST_OK);
    require(stack_filter_add(&twice, &once, &reverse, NULL) == ST_OK);
    require_equal(t, &twice);
    stack_tree_release(&once);
    stack_tree_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t cut = size ? (data[0] * (size_t)257) % (size + 1) : 0;
    for (int ordered = 0; ordered < 2; ordered++) {
        struct stack_tree t = {.ordered = ordered}, again = {.ordered = ordered};
        read_all(&t, (const char *)data, size, cut);
        struct strbuf text = write_all(&t);
        read_all(&again, strbuf_cstr(&text), text.len, text.len);
        require(stack_tree_total(&t) == 0 || again.decimals <= t.decimals);
        require_equal(&t, &again);
        turn_twice(&t);
        draw(&t);
        strbuf_release(&text);
        stack_tree_release(&t);
        stack_tree_release(&again);
    }
    return 0;
}
