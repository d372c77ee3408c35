/* Any bytes as a rule file; what loads is matched against names cut from the same bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "classify/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rules *r = NULL;
    struct err e = {0};
    if (rules_new(&r, &e) != ST_OK) {
        return 0;
    }
    enum st st = rules_add(r, "fuzz.rules", (const char *)data, size, &e);
    if (st == ST_ERR && e.text[0] == 0) {
        abort();
    }
    for (size_t at = 0; st == ST_OK && at + 16 <= size && at < 16 * 16; at += 16) {
        struct rule_subject s = {.function = at % 64 ? (const char *)data + at : NULL,
                                 .function_len = at % 64 ? 12 : 0,
                                 .image = (const char *)data + at + 8,
                                 .image_len = 8,
                                 .side = (enum rule_side)(data[at] % 3),
                                 .os = (enum rule_os)(data[at + 1] % 3),
                                 .caller_known = data[at + 2] & 1,
                                 .caller = (const char *)data + at,
                                 .caller_len = data[at + 3] % 16};
        for (int kind = 0; kind < RULE_KINDS; kind++) {
            const struct rule *rule = rules_match(r, (enum rule_kind)kind, &s, NULL);
            if (rule && (rule->kind != (enum rule_kind)kind || rule->line == 0)) {
                abort();
            }
        }
    }
    rules_free(r);
    return 0;
}
