/* --explain: every dump that the id names is explained where it is read; the best text is kept. */
#include "classify_explain.h"

#include <string.h>

enum st classify_explain_dump(const struct classify_explain *x, struct keyer *k,
                              const struct dump *d, struct stall_key *key, enum explain_fit *fit,
                              struct strbuf *text, struct err *e) {
    const struct explain_view view = {.colour = x->colour};
    *fit = explain_fits(x->id, d, key);
    if (*fit == EXPLAIN_NOT) {
        return ST_OK;
    }
    struct sink sink = sink_to_strbuf(text);
    enum st st = explain_dump(k, d, &view, key, &sink, e);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

void classify_explain_offer(struct classify_explain *x, const struct dump *d, enum explain_fit fit,
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

void classify_explain_print(struct classify_explain *x, const char *path,
                            struct cli_failures *failures) {
    struct cli_output output;
    struct err e = {0};
    if (x->fit == EXPLAIN_NOT) {
        err_set(&e, ERR_USAGE, "--explain: no dump and no bucket has the id '%s'", x->id);
        cli_fail(failures, NULL, &e);
        return;
    }
    if (strbuf_check(&x->text, &e) != ST_OK) {
        cli_fail(failures, NULL, &e);
        return;
    }
    if (cli_output_open(&output, path, failures)) {
        sink_write(&output.sink, x->text.data, x->text.len);
        cli_output_close(&output, true, failures);
    }
}

void classify_explain_release(struct classify_explain *x) {
    strbuf_release(&x->dump);
    strbuf_release(&x->text);
}
