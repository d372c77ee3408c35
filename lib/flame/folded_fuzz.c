/* Folded text in any two pieces -> tree -> folded text -> the same tree; and a picture of it. */
#include "flame/folded.h"
#include "flame/svg.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t cut = size ? (data[0] * (size_t)257) % (size + 1) : 0;
    struct stack_tree t = {0}, again = {0};
    read_all(&t, (const char *)data, size, cut);
    struct strbuf first = write_all(&t);
    read_all(&again, strbuf_cstr(&first), first.len, first.len);
    struct strbuf second = write_all(&again);
    require(stack_tree_total(&t) == 0 || again.decimals <= t.decimals);
    require(first.len == second.len);
    require(first.len == 0 || memcmp(first.data, second.data, first.len) == 0);
    struct sink nowhere = sink_to_nowhere();
    require(svg_write(&t, &(struct svg_options){.min_width = 20, .max_depth = 200}, &nowhere,
                      NULL) == ST_OK);
    require(sink_close(&nowhere, NULL) == ST_OK);
    strbuf_release(&first);
    strbuf_release(&second);
    stack_tree_release(&t);
    stack_tree_release(&again);
    return 0;
}
