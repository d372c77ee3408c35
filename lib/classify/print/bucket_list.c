/* Lists the buckets of level 1, or the values of a facet, to a callback. */
#include "classify/print/bucket_list.h"

#include <string.h>

#include "base/parse.h"
#include "classify/print/triage_text.h"

static void list_title(struct strbuf *text, const struct bucket *b) {
    strbuf_clear(text);
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_addstr(text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(text, b->frames[i]);
    }
}

enum st bucket_list_each(const struct triage *t, bucket_visit visit, void *ctx, struct err *e) {
    struct strbuf title = {0};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < t->level[0].buckets.len; i++) {
        const struct bucket *b = t->level[0].buckets.data[i];
        unsigned confidence;
        struct bucket_summary s = {.cause = tally_cause(b->tally, &confidence),
                                   .dumps = b->tally->dumps,
                                   .ms = b->tally->ms,
                                   .aliases = b->aliases.data,
                                   .alias_count = b->aliases.len};
        if (bucket_is_other(b) || !parse_hex(b->id, strlen(b->id), &s.id)) {
            continue;
        }
        list_title(&title, b);
        s.title = strbuf_cstr(&title);
        st = title.failed ? err_nomem(e) : visit(ctx, &s, e);
    }
    strbuf_release(&title);
    return st;
}

enum st facet_list_each(const struct triage *t, enum tally_facet f, facet_visit visit, void *ctx,
                        struct err *e) {
    const struct facet *of = &t->total.facets[f];
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < of->values.len; i++) {
        const struct facet_value *v = &of->values.data[i];
        st = visit(ctx, map_string(&t->strings, v->text), v->dumps, e);
    }
    return st;
}
