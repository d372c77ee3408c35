/* Reads any bytes as partials, which are merged, written and printed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/print/print_formats.h"
#include "classify/stats/triage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct triage *t) {
    struct sink sink = sink_to_nowhere();
    struct triage_view v = {.width = 80};
    if (triage_write_partial(t, &sink, NULL) != ST_OK || triage_finish(t, NULL) != ST_OK) {
        abort();
    }
    triage_print_table(t, &v, &sink);
    triage_print_json(t, &v, &sink);
    if (sink_close(&sink, NULL) != ST_OK) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    struct partial_reader *r = NULL;
    struct triage *all = NULL;
    if (partial_reader_new(&r, NULL) != ST_OK) {
        abort();
    }
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t len = end ? (size_t)(end - text) - at : size - at;
        struct triage *t = NULL;
        struct err e = {0};
        enum st st = partial_reader_line(r, text + at, len, &t, &e);
        if (st == ST_OK && !all) {
            all = t;
        } else if (st == ST_OK) {
            st = triage_merge(all, t, &e);
            triage_free(t);
        }
        if (st == ST_ERR && !err_is(&e)) {
            abort();
        }
        at += len + 1;
    }
    enum st end = partial_reader_end(r, NULL);
    (void)end; /* most inputs are cut short */
    partial_reader_free(r);
    if (all) {
        use(all);
    }
    triage_free(all);
    return 0;
}
