/* Reads any bytes as session records and as a table of exposure, filtered and not: what was counted
 * can be written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/stats/exposure_text_test.h"
#include "classify/stats/triage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok) {
    if (!ok) {
        abort();
    }
}

static void add_sessions(struct triage *t, const struct exposure_filter *filter, const char *text,
                         size_t size) {
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t len = newline ? (size_t)(newline - text) - at : size - at;
        struct err e = {0};
        need(triage_add_session(t, filter, text + at, len, &e) == ST_OK || err_is(&e));
        at += len + 1;
    }
}

static void write_and_read(const struct triage *t) {
    struct strbuf text = {0};
    struct sink sink = sink_to_strbuf(&text);
    struct partial_reader *r = NULL;
    struct triage *again = NULL;
    need(triage_write_partial(t, &sink, NULL) == ST_OK && sink_close(&sink, NULL) == ST_OK);
    need(partial_reader_new(&r, NULL) == ST_OK);
    need(partial_reader_line(r, text.data, text.len - 1, &again, NULL) == ST_OK);
    triage_free(again);
    partial_reader_free(r);
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char terms[] = "context.screen=Cart device.model~i app.version>=5 time>2026";
    const struct triage_options o = {.rules = ""};
    struct where *w = NULL;
    struct where_seen seen = {0};
    size_t at;
    need(where_new(&w, NULL) == ST_OK && where_add(w, terms, &at, NULL) == ST_OK);
    const struct exposure_filter filters[] = {{.where = NULL}, {.where = w, .seen = &seen}};
    for (size_t i = 0; i < 2; i++) {
        struct triage *t = NULL;
        struct err e = {0};
        need(triage_new(&t, &o, NULL) == ST_OK);
        add_sessions(t, &filters[i], (const char *)data, size);
        need(add_exposure_text(t, &filters[i], (const char *)data, size, &e) == ST_OK ||
             err_is(&e));
        write_and_read(t);
        triage_free(t);
    }
    where_free(w);
    return 0;
}
