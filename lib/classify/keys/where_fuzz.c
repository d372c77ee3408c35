/* Reads any bytes as the text of a filter, and tests a dump with the filter. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/where.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct stall_key key = {.truth = 700, .cause = CAUSE_LOCK};
    struct dump_context context = {"screen", "Cart"};
    struct dump d = {.context = &context,
                     .context_count = 1,
                     .user = "u",
                     .app = {.version = "5.10"},
                     .device = {.os = "iOS 18.7"}};
    struct where *w = NULL;
    struct err e = {0};
    size_t at = SIZE_MAX;
    char *text = calloc(size + 1, 1);
    if (!text || where_new(&w, &e) != ST_OK) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    enum st st = where_add(w, text, &at, &e);
    if (st == ST_ERR && (e.text[0] == 0 || at > strlen(text))) {
        abort();
    }
    if (st == ST_OK && where_match(w, &d, &key, NULL, &e) == ST_ERR) {
        abort();
    }
    where_free(w);
    free(text);
    return 0;
}
