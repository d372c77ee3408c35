/* Explains every dump that an id names where it is read, and keeps the best text. */
#include "classify/print/explain_choice.h"

#include <string.h>

enum st explain_choice_dump(const struct explain_choice *x, struct keyer *k, const struct dump *d,
                            struct stall_key *key, enum explain_fit *fit, struct strbuf *text,
                            struct err *e) {
    const struct explain_view view = {.colour = x->colour};
    *fit = explain_fits(x->id, d, key);
    if (*fit == EXPLAIN_NOT) {
        return ST_OK;
    }
    struct sink sink = sink_to_strbuf(text);
    enum st st = explain_dump(k, d, &view, key, &sink, e);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

void explain_choice_offer(struct explain_choice *x, const struct dump *d, enum explain_fit fit,
                          const struct strbuf *text) {
    int64_t span = dump_span_ms(d);
    const char *id = d->id ? d->id : "";
    if (fit == EXPLAIN_NOT || fit < x->fit) {
        return;
    }
    if (fit == x->fit &&
        (span < x->span_ms || (span == x->span_ms && strcmp(id, strbuf_cstr(&x->dump)) >= 0))) {
        return;
    }
    x->fit = fit;
    x->span_ms = span;
    strbuf_clear(&x->dump);
    strbuf_addstr(&x->dump, id);
    strbuf_clear(&x->text);
    strbuf_add(&x->text, strbuf_cstr(text), text->len);
}

void explain_choice_release(struct explain_choice *x) {
    strbuf_release(&x->dump);
    strbuf_release(&x->text);
}
