/* Explains each dump that an id names when the dump is read, and keeps the best explanation. */
#include "classify/print/explain_choice.h"

#include <string.h>

void explained_release(struct explained *r) {
    former_fit_release(&r->former);
    strbuf_release(&r->text);
}

enum st explain_choice_dump(const struct explain_choice *x, struct keyer *k,
                            struct former_keyers *former, const struct dump *d,
                            struct stall_key *key, struct explained *out, struct err *e) {
    const struct explain_view view = {.colour = x->colour};
    if (explain_fits(x->id, d, key, &out->fit, e) != ST_OK) {
        return ST_ERR;
    }
    if (out->fit == EXPLAIN_NOT) {
        if (former_fits(former, x->id, d, key, &out->former, e) != ST_OK) {
            return ST_ERR;
        }
        out->fit = out->former.way ? EXPLAIN_FORMER : EXPLAIN_NOT;
    }
    if (out->fit == EXPLAIN_NOT) {
        return ST_OK;
    }
    struct sink sink = sink_to_strbuf(&out->text);
    enum st st = explain_dump(k, d, &view, key, &sink, e);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

void explain_choice_offer(struct explain_choice *x, const struct dump *d,
                          const struct explained *r) {
    int64_t span = dump_span_ms(d);
    const char *id = d->id ? d->id : "";
    if (r->fit == EXPLAIN_FORMER &&
        !former_buckets_add(&x->former, &r->former, span > 0 ? (uint64_t)span : 0)) {
        x->failed = true;
    }
    if (r->fit == EXPLAIN_NOT || r->fit < x->fit) {
        return;
    }
    if (r->fit == x->fit &&
        (span < x->span_ms || (span == x->span_ms && strcmp(id, strbuf_cstr(&x->dump)) >= 0))) {
        return;
    }
    x->fit = r->fit;
    x->span_ms = span;
    strbuf_clear(&x->dump);
    strbuf_addstr(&x->dump, id);
    strbuf_clear(&x->text);
    strbuf_add(&x->text, strbuf_cstr(&r->text), r->text.len);
}

void explain_choice_print(struct explain_choice *x, struct sink *out) {
    if (x->fit == EXPLAIN_FORMER) {
        former_buckets_print(&x->former, x->id, out);
    }
    sink_write(out, x->text.data, x->text.len);
    if (x->failed) {
        err_nomem(&out->err);
    }
}

void explain_choice_release(struct explain_choice *x) {
    strbuf_release(&x->dump);
    strbuf_release(&x->text);
    former_buckets_release(&x->former);
}
