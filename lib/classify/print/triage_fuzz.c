/* Reads any bytes as JSON Lines of dumps, makes their keys, counts them, and prints them as a table
 * and as JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/print/print_formats.h"
#include "classify/stats/triage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_lines(struct triage *t, struct keyer *k, const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t len = newline ? (size_t)(newline - text) - at : size - at;
        struct dump d;
        struct stall_key key;
        if (dump_parse(&d, text + at, len, NULL) == ST_OK) {
            if (keyer_key(k, &d, &key, NULL) != ST_OK ||
                triage_add(t, &d, &key, true, NULL, NULL) != ST_OK) {
                abort();
            }
            dump_release(&d);
        }
        at += len + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct triage_options o = {.cap_ms = 30000, .rules = "fuzz"};
    struct triage_view v = {.width = 60 + (unsigned)(size % 100), .top = size % 7};
    struct rules *r = NULL;
    struct sink sink = sink_to_nowhere();
    for (int raw = 0; raw < 2; raw++) {
        struct triage *t = NULL;
        struct keyer *k = NULL;
        struct key_options ko = {.inlines = size % 2 == 1, .aliases = size % 3 == 1};
        if (rules_new(&r, NULL) != ST_OK || rules_add_builtin(r, NULL) != ST_OK ||
            (ko.rules = raw ? NULL : r, keyer_new(&k, &ko, NULL) != ST_OK) ||
            triage_new(&t, &o, NULL) != ST_OK) {
            abort();
        }
        add_lines(t, k, (const char *)data, size);
        if (triage_finish(t, NULL) != ST_OK) {
            abort();
        }
        triage_print_table(t, &v, &sink);
        triage_print_json(t, &v, &sink);
        triage_free(t);
        keyer_free(k);
        rules_free(r);
    }
    return sink_close(&sink, NULL) == ST_OK ? 0 : 1;
}
