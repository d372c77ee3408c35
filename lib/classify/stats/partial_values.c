/* Reads single values of stall-partial(5), and tallies. Every number is checked before it is used,
 * because partials may come from other machines. */
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

bool partial_fine(const struct partial_line *l) {
    return !l->bad && !l->no_memory;
}

const struct tape_value *partial_member(const struct partial_line *l, const struct tape_value *o,
                                        const char *name) {
    return tape_member(&l->r->tape, o, name);
}

uint64_t partial_number(struct partial_line *l, const struct tape_value *v, uint64_t max,
                        const char *what) {
    uint64_t n = UINT64_MAX;
    if (tape_is(v, VALUE_INTEGER) && v->integer >= 0) {
        n = (uint64_t)v->integer;
    } else if (tape_is(v, VALUE_DIGITS) &&
               !parse_u64(l->r->tape.text + v->at, v->len, INT64_MAX, &n)) {
        n = UINT64_MAX;
    }
    if (n > max || n > INT64_MAX) {
        partial_reject(l, what);
        return 0;
    }
    return n;
}

uint64_t partial_get_number(struct partial_line *l, const struct tape_value *o, const char *name) {
    return partial_number(l, partial_member(l, o, name), INT64_MAX, name);
}

const char *partial_text(struct partial_line *l, const struct tape_value *v) {
    size_t len;
    if (!tape_is(v, VALUE_STRING) && !tape_is(v, VALUE_ESCAPED)) {
        return NULL;
    }
    const char *text = tape_string(&l->r->tape, v, &l->r->arena, &len);
    partial_need(l, text != NULL);
    return text;
}

const char *partial_raw_text(struct partial_line *l, const struct tape_value *v, size_t *len) {
    *len = 0;
    if (tape_is(v, VALUE_STRING)) {
        *len = v->len;
        return l->r->tape.text + v->at;
    }
    const char *text = partial_text(l, v);
    *len = text ? strlen(text) : 0; /* no string of the tape contains a NUL */
    return text;
}

const char *partial_get_text(struct partial_line *l, const struct tape_value *o, const char *name) {
    const char *text = partial_text(l, partial_member(l, o, name));
    if (!text) {
        partial_reject(l, name);
    }
    return text ? text : "";
}

uint64_t partial_hash(struct partial_line *l, const struct tape_value *v, const char *what) {
    uint64_t n = 0;
    size_t len;
    const char *text = partial_raw_text(l, v, &len);
    if (len != PARTIAL_HASH_SIZE - 1 || !parse_hex(text, len, &n)) {
        partial_reject(l, what);
    }
    return n;
}

struct partial_items partial_items(struct partial_line *l, const struct tape_value *array,
                                   size_t group, const char *what) {
    if (!tape_is(array, VALUE_ARRAY) || array->count % group != 0) {
        partial_reject(l, what);
        return (struct partial_items){0};
    }
    return (struct partial_items){tape_first(array), tape_end(array), array->count};
}

struct partial_items partial_get_items(struct partial_line *l, const struct tape_value *o,
                                       const char *name, size_t group) {
    const struct tape_value *array = partial_member(l, o, name);
    if (!array && l->r->version > 1) {
        return (struct partial_items){0};
    }
    return partial_items(l, array, group, name);
}

const struct tape_value *partial_take(struct partial_items *items) {
    const struct tape_value *v = items->next;
    if (v == items->end) {
        return NULL;
    }
    items->next = tape_next(v);
    return v;
}

uint64_t partial_take_number(struct partial_line *l, struct partial_items *items, uint64_t max,
                             const char *what) {
    return partial_number(l, partial_take(items), max, what);
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

uint64_t partial_read_durations(struct partial_line *l, struct partial_items items,
                                const char *what, struct histogram *h) {
    uint64_t sum = 0, next = 0;
    partial_need(l, SMALL_VEC_RESERVE(&h->cells, items.count / 2));
    while (items.next < items.end && partial_fine(l)) {
        uint64_t index = partial_take_number(l, &items, HISTOGRAM_CELLS - 1, what);
        uint64_t count = partial_take_number(l, &items, INT64_MAX, what);
        if (index < next || count == 0) {
            partial_reject(l, what);
        }
        next = index + 1;
        sum_add(&sum, count);
        partial_need(l, histogram_add_cell(h, (uint16_t)index, count));
    }
    return sum;
}

static void read_registers(struct partial_line *l, const struct tape_value *v, struct distinct *d) {
    size_t len;
    const char *text = partial_raw_text(l, v, &len);
    uint8_t registers[DISTINCT_REGISTERS];
    if (len != DISTINCT_REGISTERS) {
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

void partial_read_users(struct partial_line *l, const struct tape_value *o, struct distinct *d) {
    const struct tape_value *v = partial_member(l, o, "users");
    if (tape_is(v, VALUE_STRING) || tape_is(v, VALUE_ESCAPED)) {
        read_registers(l, v, d);
        return;
    }
    struct partial_items items = partial_get_items(l, o, "users", 1);
    if (items.count > DISTINCT_EXACT_MAX) {
        partial_reject(l, "users");
    }
    uint64_t previous = 0;
    if (partial_fine(l)) {
        partial_need(l, SMALL_VEC_RESERVE(&d->hashes, items.count));
    }
    for (size_t i = 0; i < items.count && partial_fine(l); i++) {
        uint64_t h = partial_hash(l, partial_take(&items), "users");
        if (i > 0 && h <= previous) {
            partial_reject(l, "users");
        }
        previous = h;
        partial_need(l, distinct_add(d, h));
    }
}

void partial_read_clusters(struct partial_line *l, const struct tape_value *o, const char *name,
                           struct clusters *c, uint64_t *count, uint64_t *ms) {
    struct partial_items items = partial_get_items(l, o, name, 3);
    uint64_t next = 0;
    *count = *ms = 0;
    partial_need(l, SMALL_VEC_RESERVE(&c->cells, items.count / 3));
    while (items.next < items.end && partial_fine(l)) {
        uint64_t cell = partial_take_number(l, &items, CLUSTER_CELLS - 1, name);
        uint64_t n = partial_take_number(l, &items, INT64_MAX, name);
        uint64_t time = partial_take_number(l, &items, INT64_MAX, name);
        if (cell < next) {
            partial_reject(l, name);
        }
        next = cell + 1;
        sum_add(count, n);
        sum_add(ms, time);
        partial_need(l, clusters_add(c, (uint32_t)cell, n, time));
    }
}

static void read_causes(struct partial_line *l, const struct tape_value *o, struct tally *t) {
    struct partial_items items = partial_get_items(l, o, "causes", 2);
    while (items.next < items.end && partial_fine(l)) {
        enum rule_cause cause = CAUSE_NONE;
        size_t len;
        const char *word = partial_raw_text(l, partial_take(&items), &len);
        struct partial_items numbers = partial_items(l, partial_take(&items), 3, "causes");
        if (!word || !rule_cause_parse(word, len, &cause) || numbers.count != 3 ||
            tally_of_cause(t, cause).dumps) {
            partial_reject(l, "causes");
            return;
        }
        struct cause_tally add = {.cause = cause};
        add.dumps = partial_take_number(l, &numbers, INT64_MAX, "causes");
        add.ms = partial_take_number(l, &numbers, INT64_MAX, "causes");
        add.confidence = partial_take_number(l, &numbers, INT64_MAX, "causes");
        if (add.dumps == 0) {
            partial_reject(l, "causes");
        }
        partial_need(l, tally_add_cause(t, &add));
    }
}

static void read_facet(struct partial_line *l, const struct tape_value *o, size_t f,
                       struct tally *t) {
    struct partial_items items = partial_get_items(l, o, partial_facets[f], 2);
    const char *previous = NULL;
    partial_need(l, SMALL_VEC_RESERVE(&t->facets[f].values, items.count / 2));
    while (items.next < items.end && partial_fine(l)) {
        const char *text = partial_text(l, partial_take(&items));
        uint64_t dumps = partial_take_number(l, &items, INT64_MAX, partial_facets[f]);
        if (!text || (previous && strcmp(previous, text) >= 0)) {
            partial_reject(l, partial_facets[f]);
            return;
        }
        previous = text;
        uint32_t index = partial_text_index(l, text);
        partial_need(l, partial_fine(l) && tally_facet(t, (enum tally_facet)f, index, dumps));
    }
}

/* Names of the counts, in the order of the array in versions 2 and 3. */
static const char *const partial_counts[PARTIAL_COUNTS] = {
    "dumps", "stalls", "ms", "max_ms", "fatal", "fatal_min_ms", "samples", "hits"};

static void read_counts(struct partial_line *l, const struct tape_value *o, struct tally *t) {
    uint64_t *const counts[PARTIAL_COUNTS] = {&t->dumps, &t->stalls,       &t->ms,      &t->max_ms,
                                              &t->fatal, &t->fatal_min_ms, &t->samples, &t->hits};
    const struct tape_value *array = partial_member(l, o, "counts");
    struct partial_items items = {0};
    if (tape_is(array, VALUE_ARRAY)) {
        items = partial_items(l, array, 1, "counts");
    }
    for (size_t i = 0; i < PARTIAL_COUNTS; i++) {
        *counts[i] = l->r->version == 1
                         ? partial_get_number(l, o, partial_counts[i])
                         : partial_take_number(l, &items, INT64_MAX, partial_counts[i]);
    }
}

void partial_read_tally(struct partial_line *l, const struct tape_value *line, const char *name,
                        struct tally *t) {
    const struct tape_value *o = partial_member(l, line, name);
    uint64_t count, ms;
    read_counts(l, o, t);
    tally_time(t, partial_get_text(l, o, "first"));
    if (l->r->version == 1 || partial_member(l, o, "last")) {
        tally_time(t, partial_get_text(l, o, "last"));
    }
    struct partial_items durations = partial_get_items(l, o, "durations", 2);
    if (partial_read_durations(l, durations, "durations", &t->durations) != t->stalls) {
        partial_reject(l, "durations");
    }
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
