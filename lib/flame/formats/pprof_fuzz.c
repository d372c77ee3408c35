/* Reads a profile into a tree and writes it: read again, the profile gives the same tree. It also
 * writes speedscope's file of the tree. */
#include "base/gz.h"
#include "flame/stacks/folded.h"
#include "flame/formats/pprof.h"
#include "flame/formats/speedscope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) {
        abort();
    }
}

static struct strbuf folded_text(const struct stack_tree *t) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    require(folded_write(t, &sink, NULL) == ST_OK);
    require(sink_close(&sink, NULL) == ST_OK);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct stack_tree t = {0}, again = {0};
    struct strbuf packed = {0}, plain = {0};
    struct pprof_stats stats;
    struct err e = {0};
    enum st st = pprof_read(&t, "fuzz", data, size, false, &stats, &e);
    require(st == ST_OK || err_is(&e));
    struct sink sink = sink_to_strbuf(&packed), nowhere = sink_to_nowhere();
    st = pprof_write(&t, NULL, &(struct pprof_options){.unit = "ms"}, &sink, NULL);
    require(sink_close(&sink, NULL) == ST_OK);
    if (st == ST_OK) { /* else the sum is too large */
        require(gz_inflate("fuzz", packed.data, packed.len, 0, &plain, NULL) == ST_OK);
        require(pprof_read(&again, "fuzz", plain.data, plain.len, false, &stats, NULL) == ST_OK);
        require(stack_tree_total(&t) == 0 || again.decimals <= STACK_DECIMALS_MAX);
    }
    require(speedscope_write(&t, &(struct speedscope_options){0}, &nowhere, NULL) == ST_OK);
    require(sink_close(&nowhere, NULL) == ST_OK);
    /* Written a second time, the tree gives the same text, because names now have the form that
     * this reader makes. */
    struct strbuf first = folded_text(&again), second = {0};
    strbuf_clear(&packed);
    strbuf_clear(&plain);
    stack_tree_release(&t);
    sink = sink_to_strbuf(&packed);
    if (pprof_write(&again, NULL, &(struct pprof_options){.unit = "ms"}, &sink, NULL) == ST_OK) {
        require(sink_close(&sink, NULL) == ST_OK);
        require(gz_inflate("fuzz", packed.data, packed.len, 0, &plain, NULL) == ST_OK);
        require(pprof_read(&t, "fuzz", plain.data, plain.len, false, &stats, NULL) == ST_OK);
        second = folded_text(&t);
        require(first.len == second.len);
        require(first.len == 0 || memcmp(first.data, second.data, first.len) == 0);
    }
    enum st closed = sink_close(&sink, NULL);
    (void)closed; /* the sink may hold an error already */
    strbuf_release(&first);
    strbuf_release(&second);
    strbuf_release(&packed);
    strbuf_release(&plain);
    stack_tree_release(&t);
    stack_tree_release(&again);
    return 0;
}
