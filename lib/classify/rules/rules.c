/* Implements the rule set: rules are indexed by exact name in a hash table, and globs by their
 * first byte. */
#include "classify/rules/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/rules/rules_private.h"

/* The versions of normalised names, of the meaning of rules and of the making of keys, which are
 * part of rules_hash. Increment one whenever lib/names gives other results, rules get another
 * meaning, or lib/classify/keys makes other keys, because ids then change. */
static const char names_version[] = "names/7 rules/6 keys/12\n";

const char *rule_place_text(enum rule_place p) {
    static const char *const texts[] = {"keep", "skip", "prefix", "cut"};
    return texts[p];
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
        struct kind_index *index = &r->kinds[k];
        for (size_t i = 0; i < 256; i++) {
            VEC_RELEASE(&index->by_first[i]);
            VEC_RELEASE(&index->by_image[i]);
        }
        VEC_RELEASE(&index->others);
        VEC_RELEASE(&index->places);
        map_release(&index->exact);
    }
    VEC_RELEASE(&r->loops);
    VEC_RELEASE(&r->rules);
    arena_release(&r->arena);
    strbuf_release(&r->canonical);
    free(r);
}

/* ---- filing ---- */

static bool file_exact(struct rules *r, struct kind_index *kind, const struct rule *rule,
                       size_t index) {
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

static bool images_have_first_bytes(const struct rule *rule) {
    for (size_t i = 0; i < rule->image_count; i++) {
        if (rule->images[i].pattern.prefix == 0) {
            return false;
        }
    }
    return rule->image_count > 0;
}

static bool file_by_image(struct kind_index *kind, const struct rule *rule, size_t index) {
    for (size_t i = 0; i < rule->image_count; i++) {
        struct rule_list *list = &kind->by_image[(unsigned char)rule->images[i].pattern.text[0]];
        bool there = list->len && list->data[list->len - 1] == index;
        if (!there && !VEC_PUSH(list, index)) {
            return false;
        }
    }
    return true;
}

bool rules_append(struct rules *r, const struct rule *rule) {
    size_t index = r->rules.len;
    if (!VEC_PUSH(&r->rules, *rule)) {
        return false;
    }
    r->rules.data[index].next = SIZE_MAX;
    bool loop = rule->kind == RULE_CAUSE && rule->cause == CAUSE_IDLE && rule->image_count > 0;
    if (loop && !VEC_PUSH(&r->loops, index)) {
        return false;
    }
    struct kind_index *kind = &r->kinds[rule->kind];
    if (rule->by_place) {
        return VEC_PUSH(&kind->places, index);
    }
    if (!rule->unresolved && rule->function.exact) {
        return file_exact(r, kind, rule, index);
    }
    if (!rule->unresolved && rule->function.prefix > 0) {
        return VEC_PUSH(&kind->by_first[(unsigned char)rule->function.text[0]], index);
    }
    return images_have_first_bytes(rule) ? file_by_image(kind, rule, index)
                                         : VEC_PUSH(&kind->others, index);
}

/* ---- matching ---- */

static bool any_matches(const struct pattern *patterns, size_t count, const char *s, size_t len) {
    for (size_t i = 0; i < count; i++) {
        if (pattern_match(&patterns[i], s, len)) {
            return true;
        }
    }
    return false;
}

static bool os_matches(const struct rule *rule, enum rule_os os) {
    return rule->os == OS_ANY || os == OS_ANY || rule->os == os;
}

static bool image_matches(const struct rule *rule, const struct rule_subject *s) {
    for (size_t i = 0; i < rule->image_count; i++) {
        if (pattern_match(&rule->images[i].pattern, s->image, s->image_len)) {
            return true;
        }
    }
    return rule->image_count == 0;
}

static bool function_matches(const struct rule *rule, const struct rule_subject *s) {
    if (!s->function) {
        /* A pattern that is a single star matches the whole image, including frames that have no
         * function name. */
        bool whole =
            pattern_is_star(&rule->function) && (rule->kind == RULE_SIDE || rule->image_count > 0);
        return rule->unresolved || whole;
    }
    if (rule->unresolved) {
        return false;
    }
    return pattern_match(&rule->function, s->function, s->function_len);
}

static bool caller_matches(const struct rule *rule, const struct rule_subject *s, bool *by_caller) {
    if (rule->caller_count == 0) {
        return true;
    }
    if (!s->caller_known) {
        *by_caller = true;
        return false;
    }
    return s->caller && any_matches(rule->callers, rule->caller_count, s->caller, s->caller_len);
}

static bool framework_matches(const struct rule *rule, const struct rule_subject *s,
                              bool *by_caller) {
    if (rule->framework_count == 0) {
        return true;
    }
    if (!s->caller_known) {
        *by_caller = true;
        return false;
    }
    return s->under &&
           (any_matches(rule->frameworks, rule->framework_count, s->under, strlen(s->under)) ||
            any_matches(rule->frameworks, rule->framework_count, s->under_image,
                        strlen(s->under_image)));
}

static bool rule_matches(const struct rule *rule, const struct rule_subject *s, bool *by_caller) {
    return (rule->sides == 0 || (rule->sides >> s->side & 1)) && os_matches(rule, s->os) &&
           function_matches(rule, s) && image_matches(rule, s) &&
           caller_matches(rule, s, by_caller) && framework_matches(rule, s, by_caller);
}

/* Returns the index of the first rule of the list that matches, if it is below `best`; else
 * best. */
static size_t rules_first_of(const struct rules *r, const struct rule_list *list, size_t best,
                             const struct rule_subject *s, bool *by_caller) {
    for (size_t k = 0; k < list->len && list->data[k] < best; k++) {
        if (rule_matches(&r->rules.data[list->data[k]], s, by_caller)) {
            return list->data[k];
        }
    }
    return best;
}

static size_t first_match(const struct rules *r, enum rule_kind kind, const struct rule_subject *s,
                          bool *by_caller) {
    const struct kind_index *index = &r->kinds[kind];
    size_t best = SIZE_MAX;
    const struct map_entry *exact =
        s->function ? map_get(&index->exact, s->function, s->function_len) : NULL;
    for (size_t i = exact ? exact->value : SIZE_MAX; i != SIZE_MAX; i = r->rules.data[i].next) {
        if (rule_matches(&r->rules.data[i], s, by_caller)) {
            best = i;
            break;
        }
    }
    if (s->function && s->function_len) {
        best =
            rules_first_of(r, &index->by_first[(unsigned char)s->function[0]], best, s, by_caller);
    }
    if (s->image_len) {
        best = rules_first_of(r, &index->by_image[(unsigned char)s->image[0]], best, s, by_caller);
    }
    return rules_first_of(r, &index->others, best, s, by_caller);
}

const struct rule *rules_match(const struct rules *r, enum rule_kind kind,
                               const struct rule_subject *s, bool *by_caller) {
    bool unused;
    by_caller = by_caller ? by_caller : &unused;
    size_t best = first_match(r, kind, s, by_caller);
    if (s->qualified && kind != RULE_NORMALISE) { /* RULE_NORMALISE changes short names only */
        struct rule_subject other = *s;
        other.function = s->qualified;
        other.function_len = s->qualified_len;
        size_t second = first_match(r, kind, &other, by_caller);
        best = second < best ? second : best;
    }
    return best == SIZE_MAX ? NULL : &r->rules.data[best];
}

const struct rule *rules_match_image(const struct rules *r, const struct rule_image_subject *s) {
    const struct rule_list *places = &r->kinds[RULE_SIDE].places;
    const char *const texts[] = {
        [IMAGE_BY_NAME] = s->name, [IMAGE_BY_PATH] = s->path, [IMAGE_BY_ID] = s->id};
    for (size_t k = 0; k < places->len; k++) {
        const struct rule *rule = &r->rules.data[places->data[k]];
        for (size_t i = 0; i < rule->image_count && os_matches(rule, s->os); i++) {
            const char *text = texts[rule->images[i].by];
            if (text && pattern_match(&rule->images[i].pattern, text, strlen(text))) {
                return rule;
            }
        }
    }
    return NULL;
}

bool rules_is_loop_image(const struct rules *r, const char *image, size_t len, enum rule_os os) {
    const struct rule_subject s = {.image = image, .image_len = len};
    for (size_t i = 0; i < r->loops.len; i++) {
        const struct rule *rule = &r->rules.data[r->loops.data[i]];
        if (os_matches(rule, os) && image_matches(rule, &s)) {
            return true;
        }
    }
    return false;
}

size_t rules_index(const struct rules *r, const struct rule *rule) {
    return rule ? (size_t)(rule - r->rules.data) : SIZE_MAX;
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
