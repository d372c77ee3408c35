/* Reads any bytes as a rule file. The rules that load are matched with names cut from the same
 * bytes. They are checked with lint, too: a rule that lint calls dead or shadowed must never
 * decide. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/rules/rules_lint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 1 << 16 };

/* Counts, for each line, the rules of which lint says that they never decide. A line is tested only
 * if lint says so of all of its rules. */
struct verdicts {
    uint8_t findings[LINES];
};

static void note(void *ctx, const struct rules_finding *f) {
    struct verdicts *v = ctx;
    if (f->line == 0 || !f->text[0] || f->fault >= FAULTS) {
        abort();
    }
    bool never =
        f->fault == FAULT_DEAD || f->fault == FAULT_SHADOWED || f->fault == FAULT_DUPLICATE;
    if (never && f->line < LINES && v->findings[f->line] < UINT8_MAX) {
        v->findings[f->line]++;
    }
}

static size_t rules_of_line(const struct rules *r, uint32_t line) {
    size_t count = 0;
    for (size_t i = 0; i < rules_count(r); i++) {
        count += rules_at(r, i)->line == line;
    }
    return count;
}

static void match(const struct rules *r, const struct verdicts *v, const uint8_t *data,
                  size_t size) {
    for (size_t at = 0; at + 16 <= size && at < 16 * 16; at += 16) {
        char under[8] = "";
        memcpy(under, data + at, sizeof under - 1);
        struct rule_subject s = {.function = at % 64 ? (const char *)data + at : NULL,
                                 .function_len = at % 64 ? 12 : 0,
                                 .image = (const char *)data + at + 8,
                                 .image_len = 8,
                                 .side = (enum rule_side)(data[at] % 3),
                                 .os = (enum rule_os)(data[at + 1] % 3),
                                 .caller_known = data[at + 2] & 1,
                                 .caller = (const char *)data + at,
                                 .caller_len = data[at + 3] % 16,
                                 .under = data[at + 2] & 2 ? under : NULL,
                                 .under_image = under};
        for (int kind = 0; kind < RULE_KINDS; kind++) {
            const struct rule *rule = rules_match(r, (enum rule_kind)kind, &s, NULL);
            if (rule && (rule->kind != (enum rule_kind)kind || rule->line == 0)) {
                abort();
            }
            /* Names are not normalised in this test, so only rules that are dead because other
             * rules cover them are tested. */
            if (rule && rule->line < LINES && !rule->function.exact && rule->image_count == 0 &&
                v->findings[rule->line] &&
                v->findings[rule->line] == rules_of_line(r, rule->line)) {
                abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rules *strict = NULL, *r = NULL;
    struct err e = {0};
    struct verdicts *v = calloc(1, sizeof *v);
    if (!v || rules_new(&strict, &e) != ST_OK || rules_new(&r, &e) != ST_OK) {
        abort();
    }
    enum st st = rules_add(strict, "fuzz.rules", (const char *)data, size, &e);
    if (st == ST_ERR && e.text[0] == 0) {
        abort();
    }
    err_clear(&e);
    if (rules_add_lint(r, "fuzz.rules", (const char *)data, size, note, v, &e) == ST_OK) {
        memset(v, 0, sizeof *v);
        if ((st == ST_OK && rules_hash(r) != rules_hash(strict)) ||
            rules_lint(r, rules_count(r), note, v, NULL) != ST_OK) {
            abort();
        }
        match(r, v, data, size);
    }
    rules_free(strict);
    rules_free(r);
    free(v);
    return 0;
}
