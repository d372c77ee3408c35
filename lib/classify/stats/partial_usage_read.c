/* Reads what rates are made of. Every number is checked before it is used. */
#include <string.h>

#include "base/parse.h"
#include "classify/stats/partial_private.h"
#include "classify/stats/partial_usage.h"
#include "classify/stats/sum.h"

enum { VALUE_ITEMS = 8 /* of a value */, USER_ITEMS = 3 };

/* A number of at most max. */
static bool usage_number(const json_t *v, uint64_t max, uint64_t *out) {
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    *out = n < 0 ? 0 : (uint64_t)n;
    return n >= 0 && (uint64_t)n <= max;
}

/* An array whose length is a multiple of `group`; NULL: it is wrong. */
static const json_t *usage_array(const json_t *o, const char *name, size_t group) {
    const json_t *a = json_object_get(o, name);
    return json_is_array(a) && json_array_size(a) % group == 0 ? a : NULL;
}

/* Index of a string that is behind *previous, which it becomes. ST_NONE: it is wrong. */
static enum st usage_text(struct triage *t, const json_t *v, const char **previous, uint32_t *out) {
    const char *text = json_string_value(v);
    if (!text || (*previous && strcmp(*previous, text) >= 0)) {
        return ST_NONE;
    }
    *previous = text;
    *out = triage_string(t, text);
    return *out == NO_INDEX ? ST_ERR : ST_OK;
}

static enum st read_usage_launches(const json_t *a, struct histogram *h) {
    uint64_t next = 0;
    if (!json_is_array(a) || json_array_size(a) % 2) {
        return ST_NONE;
    }
    for (size_t i = 0; i < json_array_size(a); i += 2) {
        uint64_t index, count;
        if (!usage_number(json_array_get(a, i), HISTOGRAM_CELLS - 1, &index) ||
            !usage_number(json_array_get(a, i + 1), SUM_MAX, &count) || index < next || !count) {
            return ST_NONE;
        }
        next = index + 1;
        if (!histogram_add_cell(h, (uint16_t)index, count)) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* The value at items[i] and up. ST_NONE: it is wrong. */
static enum st read_usage_value(struct triage *t, size_t f, const json_t *items, size_t i,
                                const char **previous) {
    uint32_t text;
    enum st st = usage_text(t, json_array_get(items, i), previous, &text);
    if (st != ST_OK) {
        return st;
    }
    struct usage_sums *s = usage_sums_of(&t->usage, (enum usage_facet)f, text);
    if (!s) {
        return ST_ERR;
    }
    uint64_t *const numbers[] = {&s->sessions,   &s->launches, &s->foreground_ms,
                                 &s->low_rate_s, &s->stalls,   &s->stalled_ms};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (!usage_number(json_array_get(items, i + 1 + k), SUM_MAX, numbers[k])) {
            return ST_NONE;
        }
    }
    return read_usage_launches(json_array_get(items, i + VALUE_ITEMS - 1), &s->launch_ms);
}

static enum st read_usage_values(struct triage *t, const json_t *usage, size_t f) {
    const json_t *items = usage_array(usage, usage_facet_words[f], VALUE_ITEMS);
    const char *previous = NULL;
    enum st st = items ? ST_OK : ST_NONE;
    for (size_t i = 0; st == ST_OK && i < json_array_size(items); i += VALUE_ITEMS) {
        st = read_usage_value(t, f, items, i, &previous);
    }
    return st;
}

static enum st read_reasons(struct triage *t, const json_t *usage) {
    const json_t *items = usage_array(usage, "reasons", 2);
    const char *previous = NULL;
    enum st st = items ? ST_OK : ST_NONE;
    for (size_t i = 0; st == ST_OK && i < json_array_size(items); i += 2) {
        uint32_t text = 0;
        uint64_t ms;
        st = usage_text(t, json_array_get(items, i), &previous, &text);
        if (st == ST_OK && !usage_number(json_array_get(items, i + 1), SUM_MAX, &ms)) {
            st = ST_NONE;
        } else if (st == ST_OK && !usage_add_reason(&t->usage.watch, text, ms)) {
            st = ST_ERR;
        }
    }
    return st;
}

static enum st read_user_sample(struct user_sample *s, const json_t *usage) {
    const json_t *items = usage_array(usage, "users", USER_ITEMS);
    size_t count = json_array_size(items) / USER_ITEMS;
    bool cut = json_is_true(json_object_get(usage, "users_cut"));
    if (!items || count > USER_SAMPLE_MAX || (cut && count < USER_SAMPLE_MAX)) {
        return ST_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(items, i * USER_ITEMS);
        uint64_t hash, foreground_ms, stalled_ms;
        if (json_string_length(name) != PARTIAL_HASH_SIZE - 1 ||
            !parse_hex(json_string_value(name), PARTIAL_HASH_SIZE - 1, &hash) ||
            (i && hash <= s->users.data[i - 1].hash) ||
            !usage_number(json_array_get(items, i * USER_ITEMS + 1), SUM_MAX, &foreground_ms) ||
            !usage_number(json_array_get(items, i * USER_ITEMS + 2), SUM_MAX, &stalled_ms)) {
            return ST_NONE;
        }
        if (!user_sample_add(s, hash, foreground_ms, stalled_ms)) {
            return ST_ERR;
        }
    }
    s->cut = cut;
    return ST_OK;
}

enum st partial_read_usage(struct triage *t, const json_t *usage) {
    for (size_t i = 0; i < USAGE_COUNTERS; i++) {
        const char *name = usage_counter_name(i);
        if (!usage_number(json_object_get(usage, name), SUM_MAX, usage_counter(&t->usage, i))) {
            return ST_NONE;
        }
    }
    enum st st = read_reasons(t, usage);
    st = st == ST_OK ? read_user_sample(&t->usage.users, usage) : st;
    for (size_t f = 0; st == ST_OK && f < USAGE_FACETS; f++) {
        st = read_usage_values(t, usage, f);
    }
    return st;
}

enum st partial_read_facets(struct triage *t, const json_t *facets, struct stall_part *parts,
                            size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t f = 0; f < USAGE_FACETS; f++) {
            const json_t *v = json_array_get(facets, i * USAGE_FACETS + f);
            parts[i].facets[f] = NO_INDEX;
            if (!facets || json_is_null(v)) {
                continue;
            }
            if (!json_is_string(v)) {
                return ST_NONE;
            }
            parts[i].facets[f] = triage_string(t, json_string_value(v));
            if (parts[i].facets[f] == NO_INDEX) {
                return ST_ERR;
            }
        }
    }
    return ST_OK;
}
