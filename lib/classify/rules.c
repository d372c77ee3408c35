/* The rule set: exact names by hash, globs in order. */
#include "classify/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/rules_private.h"

/* Raise it when lib/names changes what it returns: ids change with it. */
static const char names_version[] = "names/1\n";

struct kind_index {
    struct map exact;   /* function name -> its first rule, chained through `next` */
    VEC(size_t) others; /* rules with wildcards or `unresolved`, in order */
};

struct rules {
    VEC(struct rule) rules;
    struct kind_index kinds[RULE_KINDS];
    struct arena arena;
    struct strbuf canonical;
};

static const char *const cause_texts[CAUSE_COUNT] = {"",    "lock",   "disk",  "network", "io",
                                                     "ipc", "render", "sleep", "launch",  "idle"};

const char *rule_cause_text(enum rule_cause c) {
    return c < CAUSE_COUNT ? cause_texts[c] : "";
}

enum st rules_new(struct rules **out, struct err *e) {
    struct rules *r = calloc(1, sizeof *r);
    if (!r) {
        return err_nomem(e);
    }
    strbuf_addstr(&r->canonical, names_version);
    if (strbuf_check(&r->canonical, e) != ST_OK) {
        rules_free(r);
        return ST_ERR;
    }
    *out = r;
    return ST_OK;
}

void rules_free(struct rules *r) {
    if (!r) {
        return;
    }
    for (size_t k = 0; k < RULE_KINDS; k++) {
        map_release(&r->kinds[k].exact);
        VEC_RELEASE(&r->kinds[k].others);
    }
    VEC_RELEASE(&r->rules);
    arena_release(&r->arena);
    strbuf_release(&r->canonical);
    free(r);
}

struct arena *rules_arena(struct rules *r) {
    return &r->arena;
}

struct strbuf *rules_canonical(struct rules *r) {
    return &r->canonical;
}

bool rules_append(struct rules *r, const struct rule *rule) {
    size_t index = r->rules.len;
    if (!VEC_PUSH(&r->rules, *rule)) {
        return false;
    }
    r->rules.data[index].next = SIZE_MAX;
    struct kind_index *kind = &r->kinds[rule->kind];
    if (rule->unresolved || !rule->function.exact) {
        return VEC_PUSH(&kind->others, index);
    }
    bool added;
    struct map_entry *first =
        map_put(&kind->exact, rule->function.text, rule->function.len, index, &added);
    if (!first) {
        return false;
    }
    if (!added) {
        size_t last = first->value;
        while (r->rules.data[last].next != SIZE_MAX) {
            last = r->rules.data[last].next;
        }
        r->rules.data[last].next = index;
    }
    return true;
}

static bool image_matches(const struct rule *rule, const struct rule_subject *s) {
    if ((rule->only_app && !s->in_app) || (rule->only_system && s->in_app)) {
        return false;
    }
    for (size_t i = 0; i < rule->image_count; i++) {
        if (pattern_match(&rule->images[i], s->image, s->image_len)) {
            return true;
        }
    }
    return rule->image_count == 0;
}

const struct rule *rules_match(const struct rules *r, enum rule_kind kind,
                               const struct rule_subject *s) {
    const struct kind_index *index = &r->kinds[kind];
    size_t best = SIZE_MAX;
    const struct map_entry *exact =
        s->function ? map_get(&index->exact, s->function, s->function_len) : NULL;
    for (size_t i = exact ? exact->value : SIZE_MAX; i != SIZE_MAX; i = r->rules.data[i].next) {
        if (image_matches(&r->rules.data[i], s)) {
            best = i;
            break;
        }
    }
    for (size_t k = 0; k < index->others.len && index->others.data[k] < best; k++) {
        const struct rule *rule = &r->rules.data[index->others.data[k]];
        bool matches =
            s->function
                ? !rule->unresolved && pattern_match(&rule->function, s->function, s->function_len)
                : rule->unresolved;
        if (matches && image_matches(rule, s)) {
            best = index->others.data[k];
        }
    }
    return best == SIZE_MAX ? NULL : &r->rules.data[best];
}

size_t rules_count(const struct rules *r) {
    return r->rules.len;
}

const struct rule *rules_at(const struct rules *r, size_t i) {
    return &r->rules.data[i];
}

uint64_t rules_hash(const struct rules *r) {
    return hash_bytes(r->canonical.data, r->canonical.len);
}

/* Made by scripts/embed from rules/. */
extern const unsigned char embed_common_rules[], embed_darwin_rules[], embed_linux_rules[];
extern const size_t embed_common_rules_len, embed_darwin_rules_len, embed_linux_rules_len;

enum st rules_add_builtin(struct rules *r, struct err *e) {
    const struct {
        const char *name;
        const unsigned char *text;
        size_t len;
    } files[] = {{"common.rules", embed_common_rules, embed_common_rules_len},
                 {"darwin.rules", embed_darwin_rules, embed_darwin_rules_len},
                 {"linux.rules", embed_linux_rules, embed_linux_rules_len}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (rules_add(r, files[i].name, (const char *)files[i].text, files[i].len, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}
