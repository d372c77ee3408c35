/* Reads speedscope's JSON into a tree, writes the tree as JSON, and reads that again. */
#include "flame/stacks/folded.h"
#include "flame/formats/speedscope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct stack_tree t = {0}, again = {0};
    struct strbuf out = {0};
    struct speedscope_stats stats;
    struct err e = {0};
    (void)speedscope_recognise((const char *)data, size);
    enum st st = speedscope_read(&t, "fuzz", (const char *)data, size, &stats, &e);
    require(st == ST_OK || err_is(&e));
    struct sink sink = sink_to_strbuf(&out);
    struct speedscope_options o = {.unit = stats.unit};
    require(speedscope_write(&t, &o, &sink, NULL) == ST_OK);
    require(sink_close(&sink, NULL) == ST_OK);
    if (t.decimals == 0) { /* a double does not hold every sum */
        require(speedscope_read(&again, "fuzz", out.data, out.len, &stats, NULL) == ST_OK ||
                stack_tree_total(&t) > INT64_MAX);
        require(stack_tree_total(&again) == stack_tree_total(&t) ||
                stack_tree_total(&t) > INT64_MAX);
    }
    strbuf_release(&out);
    stack_tree_release(&t);
    stack_tree_release(&again);
    return 0;
}
