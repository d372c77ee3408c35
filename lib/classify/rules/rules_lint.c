/* Finds rules that can never decide, by comparing each rule with those before it that might cover
 * it. */
#include "classify/rules/rules_lint.h"

#include <string.h>

#include "classify/rules/rules_private.h"
#include "names/names.h"

enum { WIDE_LITERALS = 3 }; /* fewer literal bytes make a pattern for any image match by chance */

/* The maximum amount of work of all comparisons. Comparing an earlier rule with a later one costs
 * 16, plus the bytes of one function's pattern times those of the other's, plus 16 * (n + 1) * m
 * for n images of the earlier rule and m of the later one, and the same for callers and for
 * frameworks. A file of short patterns reaches this amount after some seconds. */
static const uint64_t work_max = UINT64_C(1) << 31;

const char *rules_fault_text(enum rules_fault f) {
    static const char *const texts[FAULTS] = {"bad", "duplicate", "dead", "shadowed", "wide"};
    return texts[f];
}

struct lint {
    const struct rules *rules;
    rules_on_finding on_finding;
    void *ctx;
    struct strbuf text, name;
    uint64_t work; /* amount of work done so far; above work_max nothing more is compared */
};

/* ---- does rule a match all that rule b matches? ---- */

static bool images_cover(const struct rule *a, const struct rule *b) {
    for (size_t i = 0; i < b->image_count; i++) {
        bool covered = false;
        for (size_t k = 0; k < a->image_count && !covered; k++) {
            covered = a->images[k].by == b->images[i].by &&
                      pattern_covers(&a->images[k].pattern, &b->images[i].pattern);
        }
        if (!covered) {
            return false;
        }
    }
    return a->image_count == 0 || b->image_count > 0;
}

/* Is there, for each pattern in b, a pattern in a that matches every name that the pattern in b
 * matches? An empty list matches every name. */
static bool any_covers(const struct pattern *a, size_t a_count, const struct pattern *b,
                       size_t b_count) {
    for (size_t i = 0; i < b_count; i++) {
        bool covered = a_count == 0;
        for (size_t k = 0; k < a_count && !covered; k++) {
            covered = pattern_covers(&a[k], &b[i]);
        }
        if (!covered) {
            return false;
        }
    }
    return a_count == 0 || b_count > 0;
}

static bool covers(const struct rule *a, const struct rule *b) {
    bool sides = a->sides == 0 || (b->sides != 0 && (b->sides & ~a->sides) == 0);
    return a->kind == b->kind && a->by_place == b->by_place && a->unresolved == b->unresolved &&
           sides && (a->os == OS_ANY || a->os == b->os) &&
           (a->unresolved || pattern_covers(&a->function, &b->function)) && images_cover(a, b) &&
           any_covers(a->callers, a->caller_count, b->callers, b->caller_count) &&
           any_covers(a->frameworks, a->framework_count, b->frameworks, b->framework_count);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_effect(const struct rule *a, const struct rule *b) {
    return a->place == b->place && a->side == b->side && same_text(a->vendor, b->vendor) &&
           a->cause == b->cause && a->confidence == b->confidence &&
           same_text(a->replacement, b->replacement) && same_text(a->framework, b->framework) &&
           a->modal == b->modal;
}

/* Does a cover b, within the work budget? False once the budget is used up. */
static bool try_cover(struct lint *l, const struct rule *a, const struct rule *b) {
    l->work += 16 + (uint64_t)a->function.len * b->function.len +
               (uint64_t)(a->image_count + 1) * b->image_count * 16 +
               (uint64_t)(a->caller_count + 1) * b->caller_count * 16 +
               (uint64_t)(a->framework_count + 1) * b->framework_count * 16;
    return l->work <= work_max && covers(a, b);
}

/* Returns the index of the first rule of the list that covers `rule`, among the rules from `from`
 * on and before `end`; else `end`. */
static size_t cover_in(struct lint *l, const struct rule_list *list, size_t from, size_t end,
                       const struct rule *rule) {
    for (size_t k = 0; k < list->len && list->data[k] < end && l->work <= work_max; k++) {
        if (list->data[k] >= from && try_cover(l, &l->rules->rules.data[list->data[k]], rule)) {
            return list->data[k];
        }
    }
    return end;
}

/* Returns the first rule that covers `rule`, among the rules from `from` on and before `end`; NULL:
 * there is none. Only rules whose patterns begin like that of `rule`, or with a wildcard, have to
 * be compared. */
static const struct rule *cover_of(struct lint *l, size_t from, size_t end,
                                   const struct rule *rule) {
    const struct rules *r = l->rules;
    const struct kind_index *index = &r->kinds[rule->kind];
    size_t best = end;
    const struct map_entry *exact =
        rule->function.exact ? map_get(&index->exact, rule->function.text, rule->function.len)
                             : NULL;
    for (size_t i = exact ? exact->value : SIZE_MAX; i < best && l->work <= work_max;
         i = r->rules.data[i].next) {
        if (i >= from && try_cover(l, &r->rules.data[i], rule)) {
            best = i;
        }
    }
    if (rule->function.prefix > 0) {
        best =
            cover_in(l, &index->by_first[(unsigned char)rule->function.text[0]], from, best, rule);
    }
    for (size_t i = 0; i < rule->image_count; i++) {
        if (rule->images[i].pattern.prefix > 0) {
            unsigned char first = (unsigned char)rule->images[i].pattern.text[0];
            best = cover_in(l, &index->by_image[first], from, best, rule);
        }
    }
    best = cover_in(l, &index->others, from, best, rule);
    best = cover_in(l, &index->places, from, best, rule);
    return best < end ? &r->rules.data[best] : NULL;
}

/* ---- findings ---- */

static void lint_tell(struct lint *l, enum rules_fault fault, const struct rule *rule) {
    struct rules_finding f = {
        .fault = fault, .file = rule->file, .line = rule->line, .text = strbuf_cstr(&l->text)};
    l->on_finding(l->ctx, &f);
}

static void lint_add_function(struct strbuf *b, const struct rule *rule) {
    if (rule->unresolved) {
        strbuf_addstr(b, "unresolved");
        return;
    }
    strbuf_addc(b, '\'');
    pattern_text(&rule->function, b);
    strbuf_addc(b, '\'');
}

/* Sets b to the subject of a rule: "the cause of 'poll'". */
static void add_subject(struct strbuf *b, const struct rule *rule) {
    static const char *const kinds[RULE_KINDS] = {
        "the name of ",      "whose is ",       "the place of ",  "the cause of ",
        "the framework of ", "the callout of ", "the hiding of ", "the lock of ",
        "the holder in ",    "the memory of ",  "the wait of "};
    strbuf_clear(b);
    strbuf_addstr(b, kinds[rule->kind]);
    lint_add_function(b, rule);
}

static void tell_cover(struct lint *l, const struct rule *rule, const struct rule *cover) {
    bool same = same_effect(cover, rule);
    add_subject(&l->text, rule);
    strbuf_addf(&l->text, ": %s:%u, ", cover->file, (unsigned)cover->line);
    lint_add_function(&l->text, cover);
    strbuf_addf(&l->text, ", decides first%s", same ? ", and says the same" : "");
    enum rules_fault fault = FAULT_SHADOWED;
    if (same) {
        fault = covers(rule, cover) ? FAULT_DUPLICATE : FAULT_DEAD;
    }
    lint_tell(l, fault, rule);
}

/* Reports a pattern without wildcards that no normalised name equals. False: the pattern is
 * fine. */
static bool tell_name(struct lint *l, const struct rule *rule) {
    const struct pattern *p = &rule->function;
    if (rule->unresolved || !p->exact) {
        return false;
    }
    strbuf_clear(&l->name);
    names_normalise(p->text, p->len, &l->name);
    struct rule_subject s = {
        .function = p->text, .function_len = p->len, .image = "", .os = rule->os};
    const struct rule *renamed =
        rule->kind == RULE_NORMALISE ? NULL : rules_match(l->rules, RULE_NORMALISE, &s, NULL);
    bool is_name = l->name.len == p->len && memcmp(l->name.data, p->text, p->len) == 0;
    if (is_name && !renamed) {
        return false;
    }
    add_subject(&l->text, rule);
    if (is_name) {
        strbuf_addf(&l->text, ": no function is called so when rules are asked: %s:%u renames it",
                    renamed->file, (unsigned)renamed->line);
    } else {
        strbuf_addf(&l->text, ": no function is called so when rules are asked, but '%s'",
                    strbuf_cstr(&l->name));
    }
    lint_tell(l, FAULT_DEAD, rule);
    return true;
}

/* Reports a pattern without wildcards that no normalised name of an image equals. False: the
 * pattern is fine. */
static bool tell_image(struct lint *l, const struct rule *rule, const struct pattern *p) {
    strbuf_clear(&l->name);
    names_image(p->text, p->len, &l->name);
    if (!p->exact || (l->name.len == p->len && memcmp(l->name.data, p->text, p->len) == 0)) {
        return false;
    }
    add_subject(&l->text, rule);
    strbuf_addf(&l->text, ": no image is called '%s' when rules are asked, but '%s'", p->text,
                strbuf_cstr(&l->name));
    lint_tell(l, FAULT_DEAD, rule);
    return true;
}

static bool is_framework(const struct rules *r, const struct pattern *p) {
    for (size_t i = 0; i < r->rules.len; i++) {
        const struct rule *rule = &r->rules.data[i];
        if (rule->kind == RULE_FRAMEWORK && strcmp(rule->framework, p->text) == 0) {
            return true;
        }
    }
    return false;
}

static bool tell_images(struct lint *l, const struct rule *rule) {
    for (size_t i = 0; i < rule->image_count; i++) {
        if (rule->images[i].by == IMAGE_BY_NAME && tell_image(l, rule, &rule->images[i].pattern)) {
            return true;
        }
    }
    for (size_t i = 0; i < rule->framework_count; i++) {
        if (!is_framework(l->rules, &rule->frameworks[i]) &&
            tell_image(l, rule, &rule->frameworks[i])) {
            return true;
        }
    }
    return false;
}

static size_t literals(const struct pattern *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->len; i++) {
        n += p->wild[i] == 0;
    }
    return n;
}

static bool is_wide(const struct rule *rule) {
    bool any_image = rule->image_count == 0;
    for (size_t i = 0; i < rule->image_count; i++) {
        any_image = any_image || literals(&rule->images[i].pattern) == 0;
    }
    return !rule->unresolved && !rule->function.exact && any_image && rule->caller_count == 0 &&
           rule->framework_count == 0 && rule->sides != 1U << SIDE_SYSTEM &&
           literals(&rule->function) < WIDE_LITERALS;
}

enum st rules_lint(const struct rules *r, size_t count, rules_on_finding on_finding, void *ctx,
                   struct err *e) {
    struct lint l = {.rules = r, .on_finding = on_finding, .ctx = ctx};
    enum st st = ST_OK;
    for (size_t i = 0; i < count && i < r->rules.len; i++) {
        const struct rule *rule = &r->rules.data[i];
        if (l.work > work_max) {
            err_set(e, ERR_LIMIT,
                    "%s:%u: too many rules to compare: from this one on they were not looked at",
                    rule->file, (unsigned)rule->line);
            st = ST_ERR;
            break;
        }
        const struct rule *cover = cover_of(&l, 0, i, rule);
        if (cover) {
            tell_cover(&l, rule, cover);
            continue;
        }
        if (tell_name(&l, rule) || tell_images(&l, rule)) {
            continue;
        }
        const struct rule *built_in = cover_of(&l, count, r->rules.len, rule);
        if (built_in && same_effect(built_in, rule) && covers(rule, built_in)) {
            tell_cover(&l, rule, built_in);
        } else if (is_wide(rule)) {
            add_subject(&l.text, rule);
            strbuf_addstr(&l.text, " in any image: too many functions are called so");
            lint_tell(&l, FAULT_WIDE, rule);
        }
    }
    bool failed = l.text.failed || l.name.failed;
    strbuf_release(&l.text);
    strbuf_release(&l.name);
    return failed ? err_nomem(e) : st;
}

/* ---- lines ---- */

struct bad_lines {
    const char *file;
    rules_on_finding on_finding;
    void *ctx;
};

static void tell_bad(void *ctx, uint32_t line, const struct err *why) {
    const struct bad_lines *b = ctx;
    const char *text = strstr(why->text, ": "); /* finds the text after FILE:LINE */
    struct rules_finding f = {
        .fault = FAULT_BAD, .file = b->file, .line = line, .text = text ? text + 2 : why->text};
    b->on_finding(b->ctx, &f);
}

enum st rules_add_lint(struct rules *r, const char *file, const char *text, size_t len,
                       rules_on_finding on_finding, void *ctx, struct err *e) {
    struct bad_lines b = {.file = file, .on_finding = on_finding, .ctx = ctx};
    return rules_read(r, file, text, len, tell_bad, &b, e);
}
