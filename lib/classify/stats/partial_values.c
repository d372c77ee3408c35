/* Single values of stall-partial(5), and tallies. Every number is checked before it is used:
 * partials come over networks. */
#include <string.h>

#include "base/parse.h"
#include "classify/stats/partial_private.h"
#include "classify/stats/sum.h"

const char *const partial_facets[FACET_COUNT] = {
    [FACET_VERSION] = "versions", [FACET_OS] = "systems", [FACET_DEVICE] = "devices"};

/* ---- single values ---- */

void partial_reject(struct partial_line *l, const char *what) {
    l->bad = l->bad ? l->bad : what;
}

void partial_need(struct partial_line *l, bool memory) {
    l->no_memory = l->no_memory || !memory;
}

void partial_need_read(struct partial_line *l, enum st st, const char *what) {
    partial_need(l, st != ST_ERR);
    if (st == ST_NONE) {
        partial_reject(l, what);
    }
}

bool partial_fine(const struct partial_line *l) {
    return !l->bad && !l->no_memory;
}

uint64_t partial_number(struct partial_line *l, const json_t *v, uint64_t max, const char *what) {
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    if (n < 0 || (uint64_t)n > max) {
        partial_reject(l, what);
        return 0;
    }
    return (uint64_t)n;
}

uint64_t partial_get_number(struct partial_line *l, const json_t *o, const char *name) {
    return partial_number(l, json_object_get(o, name), INT64_MAX, name);
}

const char *partial_get_text(struct partial_line *l, const json_t *o, const char *name) {
    const char *text = json_string_value(json_object_get(o, name));
    if (!text) {
        partial_reject(l, name);
    }
    return text ? text : "";
}

uint64_t partial_hash(struct partial_line *l, const json_t *v, const char *what) {
    uint64_t n = 0;
    if (json_string_length(v) != PARTIAL_HASH_SIZE - 1 ||
        !parse_hex(json_string_value(v), PARTIAL_HASH_SIZE - 1, &n)) {
        partial_reject(l, what);
    }
    return n;
}

const json_t *partial_get_array(struct partial_line *l, const json_t *o, const char *name,
                                size_t group) {
    const json_t *array = json_object_get(o, name);
    if (!array && l->r->version > 1) {
        return NULL;
    }
    if (!json_is_array(array) || json_array_size(array) % group != 0) {
        partial_reject(l, name);
        return NULL;
    }
    return array;
}

uint64_t partial_element(struct partial_line *l, const json_t *array, size_t i, uint64_t max,
                         const char *what) {
    return partial_number(l, json_array_get(array, i), max, what);
}

uint32_t partial_text_index(struct partial_line *l, const char *text) {
    uint32_t index = triage_string(l->r->t, text);
    partial_need(l, index != NO_INDEX);
    return index == NO_INDEX ? 0 : index;
}

const char *partial_keep(struct partial_line *l, const char *text) {
    uint32_t index = text ? partial_text_index(l, text) : 0;
    return text && partial_fine(l) ? map_string(&l->r->t->strings, index) : NULL;
}

/* ---- tallies ---- */

static void read_durations(struct partial_line *l, const json_t *o, struct tally *t) {
    const json_t *a = partial_get_array(l, o, "durations", 2);
    uint64_t sum = 0, next = 0;
    for (size_t i = 0; i < json_array_size(a) && partial_fine(l); i += 2) {
        uint64_t index = partial_element(l, a, i, HISTOGRAM_CELLS - 1, "durations");
        uint64_t count = partial_element(l, a, i + 1, INT64_MAX, "durations");
        if (index < next || count == 0) {
            partial_reject(l, "durations");
        }
        next = index + 1;
        sum_add(&sum, count);
        partial_need(l, histogram_add_cell(&t->durations, (uint16_t)index, count));
    }
    if (sum != t->stalls) {
        partial_reject(l, "durations");
    }
}

static void read_registers(struct partial_line *l, const json_t *v, struct distinct *d) {
    const char *text = json_string_value(v);
    uint8_t registers[DISTINCT_REGISTERS];
    if (json_string_length(v) != DISTINCT_REGISTERS) {
        partial_reject(l, "users");
        return;
    }
    for (size_t i = 0; i < DISTINCT_REGISTERS; i++) {
        registers[i] = (uint8_t)(text[i] - PARTIAL_REGISTER_0);
        if (registers[i] > PARTIAL_REGISTER_MAX) {
            partial_reject(l, "users");
        }
    }
    partial_need(l, distinct_set_registers(d, registers));
}

void partial_read_users(struct partial_line *l, const json_t *o, struct distinct *d) {
    const json_t *v = json_object_get(o, "users");
    if (json_is_string(v)) {
        read_registers(l, v, d);
        return;
    }
    const json_t *a = partial_get_array(l, o, "users", 1);
    if (json_array_size(a) > DISTINCT_EXACT_MAX) {
        partial_reject(l, "users");
    }
    uint64_t previous = 0;
    for (size_t i = 0; i < json_array_size(a) && partial_fine(l); i++) {
        uint64_t h = partial_hash(l, json_array_get(a, i), "users");
        if (i > 0 && h <= previous) {
            partial_reject(l, "users");
        }
        previous = h;
        partial_need(l, distinct_add(d, h));
    }
}

void partial_read_clusters(struct partial_line *l, const json_t *o, const char *name,
                           struct clusters *c, uint64_t *count, uint64_t *ms) {
    const json_t *a = partial_get_array(l, o, name, 3);
    uint64_t next = 0;
    *count = *ms = 0;
    for (size_t i = 0; i < json_array_size(a) && partial_fine(l); i += 3) {
        uint64_t cell = partial_element(l, a, i, CLUSTER_CELLS - 1, name);
        uint64_t n = partial_element(l, a, i + 1, INT64_MAX, name);
        uint64_t time = partial_element(l, a, i + 2, INT64_MAX, name);
        if (cell < next) {
            partial_reject(l, name);
        }
        next = cell + 1;
        sum_add(count, n);
        sum_add(ms, time);
        partial_need(l, clusters_add(c, (uint32_t)cell, n, time));
    }
}

static void read_causes(struct partial_line *l, const json_t *o, struct tally *t) {
    const json_t *a = partial_get_array(l, o, "causes", 2);
    for (size_t i = 0; i < json_array_size(a) && partial_fine(l); i += 2) {
        const json_t *numbers = json_array_get(a, i + 1);
        enum rule_cause cause = CAUSE_NONE;
        const json_t *word = json_array_get(a, i);
        if (!rule_cause_parse(json_string_value(word), json_string_length(word), &cause) ||
            json_array_size(numbers) != 3 || tally_of_cause(t, cause).dumps) {
            partial_reject(l, "causes");
            return;
        }
        const struct cause_tally add = {
            .cause = cause,
            .dumps = partial_element(l, numbers, 0, INT64_MAX, "causes"),
            .ms = partial_element(l, numbers, 1, INT64_MAX, "causes"),
            .confidence = partial_element(l, numbers, 2, INT64_MAX, "causes")};
        if (add.dumps == 0) {
            partial_reject(l, "causes");
        }
        partial_need(l, tally_add_cause(t, &add));
    }
}

static void read_facet(struct partial_line *l, const json_t *o, size_t f, struct tally *t) {
    const json_t *a = partial_get_array(l, o, partial_facets[f], 2);
    const char *previous = NULL;
    for (size_t i = 0; i < json_array_size(a) && partial_fine(l); i += 2) {
        const char *text = json_string_value(json_array_get(a, i));
        uint64_t dumps = partial_element(l, a, i + 1, INT64_MAX, partial_facets[f]);
        if (!text || (previous && strcmp(previous, text) >= 0)) {
            partial_reject(l, partial_facets[f]);
            return;
        }
        previous = text;
        uint32_t index = partial_text_index(l, text);
        partial_need(l, partial_fine(l) && tally_facet(t, (enum tally_facet)f, index, dumps));
    }
}

/* In the order of version 2, which has them as an array. */
static const char *const partial_counts[PARTIAL_COUNTS] = {
    "dumps", "stalls", "ms", "max_ms", "fatal", "fatal_min_ms", "samples", "hits"};

static void read_counts(struct partial_line *l, const json_t *o, struct tally *t) {
    uint64_t *const counts[PARTIAL_COUNTS] = {&t->dumps, &t->stalls,       &t->ms,      &t->max_ms,
                                              &t->fatal, &t->fatal_min_ms, &t->samples, &t->hits};
    const json_t *array = json_object_get(o, "counts");
    for (size_t i = 0; i < PARTIAL_COUNTS; i++) {
        *counts[i] = l->r->version == 1
                         ? partial_get_number(l, o, partial_counts[i])
                         : partial_element(l, array, i, INT64_MAX, partial_counts[i]);
    }
}

void partial_read_tally(struct partial_line *l, const json_t *line, const char *name,
                        struct tally *t) {
    const json_t *o = json_object_get(line, name);
    uint64_t count, ms;
    read_counts(l, o, t);
    tally_time(t, partial_get_text(l, o, "first"));
    if (l->r->version == 1 || json_object_get(o, "last")) {
        tally_time(t, partial_get_text(l, o, "last"));
    }
    read_durations(l, o, t);
    partial_read_users(l, o, &t->users);
    partial_read_clusters(l, o, "clusters", &t->clusters, &count, &ms);
    if (count != t->stalls || ms != t->ms) {
        partial_reject(l, "clusters");
    }
    read_causes(l, o, t);
    for (size_t i = 0; i < FACET_COUNT; i++) {
        read_facet(l, o, i, t);
    }
}
