/* Reads stall-partial(5) back into a triage. Every number is checked before it is used: partials
 * come over networks. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "classify/stats/partial_private.h"
#include "classify/stats/partial_usage.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"
#include "dump/document.h"

const char *const partial_sets[PARTIAL_SETS] = {[PARTIAL_ACTIONS] = "actions",
                                                [PARTIAL_LEVEL1] = "level1",
                                                [PARTIAL_LEVEL2] = "level2",
                                                [PARTIAL_IDLE] = "idle",
                                                [PARTIAL_HOLDERS] = "holders"};
const char *const partial_facets[FACET_COUNT] = {
    [FACET_VERSION] = "versions", [FACET_OS] = "systems", [FACET_DEVICE] = "devices"};

enum { PARTIAL_DEPTH = 64 };

struct partial_reader {
    struct triage *t;             /* NULL between partials */
    uint64_t count[PARTIAL_SETS]; /* lines that the head promises */
    uint64_t open;
    uint64_t taken; /* lines after the head */
    bool old_parts; /* parts of stalls do not tell holders */
    struct strbuf text, previous;
    uint64_t previous_hash;
};

/* A line being read. The first error sticks; values are then 0. */
struct partial_line {
    struct partial_reader *r;
    const char *bad; /* the member that is wrong; NULL = none */
    bool no_memory;
};

enum st partial_reader_new(struct partial_reader **out, struct err *e) {
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : err_nomem(e);
}

static void partial_in_drop(struct partial_reader *r) {
    triage_free(r->t);
    r->t = NULL;
}

void partial_reader_free(struct partial_reader *r) {
    if (r) {
        partial_in_drop(r);
        strbuf_release(&r->text);
        strbuf_release(&r->previous);
        free(r);
    }
}

/* ---- single values ---- */

static void reject(struct partial_line *l, const char *what) {
    l->bad = l->bad ? l->bad : what;
}

static void need(struct partial_line *l, bool memory) {
    l->no_memory = l->no_memory || !memory;
}

static bool fine(const struct partial_line *l) {
    return !l->bad && !l->no_memory;
}

static void need_read(struct partial_line *l, enum st st, const char *what) {
    need(l, st != ST_ERR);
    l->bad = st == ST_NONE && !l->bad ? what : l->bad;
}

static uint64_t partial_in_number(struct partial_line *l, const json_t *v, uint64_t max,
                                  const char *what) {
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    if (n < 0 || (uint64_t)n > max) {
        reject(l, what);
        return 0;
    }
    return (uint64_t)n;
}

static uint64_t get_number(struct partial_line *l, const json_t *o, const char *name) {
    return partial_in_number(l, json_object_get(o, name), INT64_MAX, name);
}

/* Borrowed from o; "" if it is wrong. */
static const char *get_text(struct partial_line *l, const json_t *o, const char *name) {
    const char *text = json_string_value(json_object_get(o, name));
    if (!text) {
        reject(l, name);
    }
    return text ? text : "";
}

static uint64_t hash(struct partial_line *l, const json_t *v, const char *what) {
    uint64_t n = 0;
    if (json_string_length(v) != PARTIAL_HASH_SIZE - 1 ||
        !parse_hex(json_string_value(v), PARTIAL_HASH_SIZE - 1, &n)) {
        reject(l, what);
    }
    return n;
}

/* An array whose length is a multiple of `group`; empty if it is wrong. */
static const json_t *get_array(struct partial_line *l, const json_t *o, const char *name,
                               size_t group) {
    const json_t *array = json_object_get(o, name);
    if (!json_is_array(array) || json_array_size(array) % group != 0) {
        reject(l, name);
        return NULL;
    }
    return array;
}

static uint64_t element(struct partial_line *l, const json_t *array, size_t i, uint64_t max,
                        const char *what) {
    return partial_in_number(l, json_array_get(array, i), max, what);
}

/* Index of an interned text; 0 if something is wrong. */
static uint32_t text_index(struct partial_line *l, const char *text) {
    uint32_t index = triage_string(l->r->t, text);
    need(l, index != NO_INDEX);
    return index == NO_INDEX ? 0 : index;
}

/* NULL if text is, or memory ran out. */
static const char *partial_in_keep(struct partial_line *l, const char *text) {
    uint32_t index = text ? text_index(l, text) : 0;
    return text && fine(l) ? map_string(&l->r->t->strings, index) : NULL;
}

/* ---- tallies ---- */

static void read_durations(struct partial_line *l, const json_t *o, struct tally *t) {
    const json_t *a = get_array(l, o, "durations", 2);
    uint64_t sum = 0, next = 0;
    for (size_t i = 0; i < json_array_size(a) && fine(l); i += 2) {
        uint64_t index = element(l, a, i, HISTOGRAM_CELLS - 1, "durations");
        uint64_t count = element(l, a, i + 1, INT64_MAX, "durations");
        if (index < next || count == 0) {
            reject(l, "durations");
        }
        next = index + 1;
        sum_add(&sum, count);
        need(l, histogram_add_cell(&t->durations, (uint16_t)index, count));
    }
    if (sum != t->stalls) {
        reject(l, "durations");
    }
}

static void read_registers(struct partial_line *l, const json_t *v, struct distinct *d) {
    const char *text = json_string_value(v);
    uint8_t registers[DISTINCT_REGISTERS];
    if (json_string_length(v) != DISTINCT_REGISTERS) {
        reject(l, "users");
        return;
    }
    for (size_t i = 0; i < DISTINCT_REGISTERS; i++) {
        registers[i] = (uint8_t)(text[i] - PARTIAL_REGISTER_0);
        if (registers[i] > PARTIAL_REGISTER_MAX) {
            reject(l, "users");
        }
    }
    need(l, distinct_set_registers(d, registers));
}

static void read_users(struct partial_line *l, const json_t *o, struct distinct *d) {
    const json_t *v = json_object_get(o, "users");
    if (json_is_string(v)) {
        read_registers(l, v, d);
        return;
    }
    const json_t *a = get_array(l, o, "users", 1);
    if (json_array_size(a) > DISTINCT_EXACT_MAX) {
        reject(l, "users");
    }
    uint64_t previous = 0;
    for (size_t i = 0; i < json_array_size(a) && fine(l); i++) {
        uint64_t h = hash(l, json_array_get(a, i), "users");
        if (i > 0 && h <= previous) {
            reject(l, "users");
        }
        previous = h;
        need(l, distinct_add(d, h));
    }
}

/* count and ms: the sums that the cells must have. */
static void read_clusters(struct partial_line *l, const json_t *o, const char *name,
                          struct clusters *c, uint64_t *count, uint64_t *ms) {
    const json_t *a = get_array(l, o, name, 3);
    uint64_t next = 0;
    *count = *ms = 0;
    for (size_t i = 0; i < json_array_size(a) && fine(l); i += 3) {
        uint64_t cell = element(l, a, i, CLUSTER_CELLS - 1, name);
        uint64_t n = element(l, a, i + 1, INT64_MAX, name);
        uint64_t time = element(l, a, i + 2, INT64_MAX, name);
        if (cell < next) {
            reject(l, name);
        }
        next = cell + 1;
        sum_add(count, n);
        sum_add(ms, time);
        need(l, clusters_add(c, (uint32_t)cell, n, time));
    }
}

static void read_causes(struct partial_line *l, const json_t *o, struct tally *t) {
    const json_t *a = get_array(l, o, "causes", 2);
    for (size_t i = 0; i < json_array_size(a) && fine(l); i += 2) {
        const json_t *numbers = json_array_get(a, i + 1);
        enum rule_cause cause = CAUSE_NONE;
        const json_t *word = json_array_get(a, i);
        if (!rule_cause_parse(json_string_value(word), json_string_length(word), &cause) ||
            json_array_size(numbers) != 3 || tally_of_cause(t, cause).dumps) {
            reject(l, "causes");
            return;
        }
        const struct cause_tally add = {.cause = cause,
                                        .dumps = element(l, numbers, 0, INT64_MAX, "causes"),
                                        .ms = element(l, numbers, 1, INT64_MAX, "causes"),
                                        .confidence = element(l, numbers, 2, INT64_MAX, "causes")};
        if (add.dumps == 0) {
            reject(l, "causes");
        }
        need(l, tally_add_cause(t, &add));
    }
}

static void read_facet(struct partial_line *l, const json_t *o, size_t f, struct tally *t) {
    const json_t *a = get_array(l, o, partial_facets[f], 2);
    const char *previous = NULL;
    for (size_t i = 0; i < json_array_size(a) && fine(l); i += 2) {
        const char *text = json_string_value(json_array_get(a, i));
        uint64_t dumps = element(l, a, i + 1, INT64_MAX, partial_facets[f]);
        if (!text || (previous && strcmp(previous, text) >= 0)) {
            reject(l, partial_facets[f]);
            return;
        }
        previous = text;
        uint32_t index = text_index(l, text);
        need(l, fine(l) && tally_facet(t, (enum tally_facet)f, index, dumps));
    }
}

static void read_tally(struct partial_line *l, const json_t *line, const char *name,
                       struct tally *t) {
    const json_t *o = json_object_get(line, name);
    uint64_t count, ms;
    t->dumps = get_number(l, o, "dumps");
    t->stalls = get_number(l, o, "stalls");
    t->ms = get_number(l, o, "ms");
    t->max_ms = get_number(l, o, "max_ms");
    t->fatal = get_number(l, o, "fatal");
    t->fatal_min_ms = get_number(l, o, "fatal_min_ms");
    t->samples = get_number(l, o, "samples");
    t->hits = get_number(l, o, "hits");
    tally_time(t, get_text(l, o, "first"));
    tally_time(t, get_text(l, o, "last"));
    read_durations(l, o, t);
    read_users(l, o, &t->users);
    read_clusters(l, o, "clusters", &t->clusters, &count, &ms);
    if (count != t->stalls || ms != t->ms) {
        reject(l, "clusters");
    }
    read_causes(l, o, t);
    for (size_t i = 0; i < FACET_COUNT; i++) {
        read_facet(l, o, i, t);
    }
}

/* ---- buckets ---- */

static struct bucket_set *partial_in_set_of(struct triage *t, size_t i) {
    switch (i) {
    case PARTIAL_ACTIONS:
        return &t->actions;
    case PARTIAL_IDLE:
        return &t->idle;
    case PARTIAL_HOLDERS:
        return &t->holders;
    default:
        return &t->level[i - PARTIAL_LEVEL1];
    }
}

/* Frames, whose texts make the key, into l->r->text. */
static struct bucket_frame *partial_in_read_frames(struct partial_line *l, const json_t *o,
                                                   size_t *count) {
    const json_t *a = get_array(l, o, "frames", 1);
    *count = json_array_size(a);
    strbuf_clear(&l->r->text);
    if (*count == 0 || *count > KEY_FRAMES_MAX) {
        reject(l, "frames");
        return NULL;
    }
    struct bucket_frame *frames = calloc(*count, sizeof *frames);
    need(l, frames != NULL);
    for (size_t i = 0; i < *count && fine(l); i++) {
        const json_t *f = json_array_get(a, i);
        const json_t *line = json_object_get(f, "line");
        frames[i] = (struct bucket_frame){
            .image = partial_in_keep(l, get_text(l, f, "image")),
            .function = partial_in_keep(l, get_text(l, f, "function")),
            .image_name = partial_in_keep(l, get_text(l, f, "name")),
            .file = partial_in_keep(l, json_string_value(json_object_get(f, "file"))),
            .call = partial_in_keep(l, json_string_value(json_object_get(f, "call"))),
            .line = line ? (uint32_t)partial_in_number(l, line, UINT32_MAX, "line") : 0,
            .in_app = json_is_true(json_object_get(f, "in_app")),
            .resolved = json_is_true(json_object_get(f, "resolved"))};
        if (fine(l)) {
            key_text_add(&l->r->text, frames[i].image, frames[i].function);
        }
    }
    return frames;
}

static void read_evidence(struct partial_line *l, const json_t *line, struct bucket *b) {
    const json_t *o = json_object_get(line, "evidence");
    struct evidence offer = {.span_ms = get_number(l, o, "span_ms"),
                             .hash = hash(l, json_object_get(o, "hash"), "hash")};
    const char *cause = get_text(l, o, "cause");
    if (!cause || !rule_cause_parse(cause, strlen(cause), &offer.cause)) {
        reject(l, "cause");
    }
    /* The evidence is only read: bucket_take_evidence copies. */
    offer.id = (char *)get_text(l, o, "id");
    offer.reason = (char *)get_text(l, o, "reason");
    offer.exemplar = (char *)json_string_value(json_object_get(line, "exemplar"));
    need(l, !fine(l) || bucket_take_evidence(b, &offer));
}

static void read_actions(struct partial_line *l, const json_t *o, struct bucket *b) {
    const json_t *a = get_array(l, o, "actions", 2);
    uint64_t next = 0;
    for (size_t i = 0; i < json_array_size(a) && fine(l); i += 2) {
        uint64_t action = element(l, a, i, INT64_MAX, "actions");
        if (action < next || action >= l->r->count[PARTIAL_ACTIONS]) {
            reject(l, "actions");
            return;
        }
        next = action + 1;
        need(l, bucket_add_action(b, (uint32_t)action, element(l, a, i + 1, INT64_MAX, "actions")));
    }
}

static void read_aliases(struct partial_line *l, const json_t *o, struct bucket *b) {
    const json_t *a = get_array(l, o, "aliases", 1);
    for (size_t i = 0; i < json_array_size(a) && fine(l); i++) {
        need(l, bucket_add_alias(b, hash(l, json_array_get(a, i), "aliases")));
    }
}

/* Keys come in order, so that each comes once. */
static struct bucket *partial_in_put_bucket(struct partial_line *l, struct bucket_set *set) {
    struct partial_reader *r = l->r;
    bool added = false;
    if (set->buckets.len && strcmp(strbuf_cstr(&r->text), strbuf_cstr(&r->previous)) <= 0) {
        reject(l, "frames");
        return NULL;
    }
    struct bucket *b = bucket_put(set, strbuf_cstr(&r->text), r->text.len, &added);
    strbuf_clear(&r->previous);
    strbuf_add(&r->previous, strbuf_cstr(&r->text), r->text.len);
    need(l, b && !r->text.failed && !r->previous.failed);
    return b;
}

static void read_bucket(struct partial_line *l, const json_t *o, size_t which) {
    struct triage *t = l->r->t;
    size_t count;
    struct bucket_frame *frames = partial_in_read_frames(l, o, &count);
    struct bucket *b = fine(l) ? partial_in_put_bucket(l, partial_in_set_of(t, which)) : NULL;
    if (!b) {
        free(frames);
        return;
    }
    b->frames = frames;
    b->frame_count = count;
    if (strcmp(get_text(l, o, "id"), b->id) != 0) {
        reject(l, "id");
    }
    if (which == PARTIAL_LEVEL2) {
        uint64_t parent = get_number(l, o, "parent");
        if (parent >= t->level[0].buckets.len) {
            reject(l, "parent");
            return;
        }
        need(l, bucket_adopt(t->level[0].buckets.data[parent], b));
    }
    read_evidence(l, o, b);
    read_aliases(l, o, b);
    if (which == PARTIAL_HOLDERS) {
        b->waiters = get_number(l, o, "waiters");
    }
    if (which != PARTIAL_ACTIONS && which != PARTIAL_IDLE) {
        read_actions(l, o, b);
    }
    read_tally(l, o, "tally", &b->tally);
}

/* ---- stalls of which dumps are missing ---- */

/* Numbers of a part of a stall; earlier versions had no holders. */
enum { PART_NUMBERS = 6, PART_NUMBERS_OLD = 5 };

/* 0 stands for none, so indexes count from 1. */
static uint32_t index_of(uint64_t place) {
    return place ? (uint32_t)(place - 1) : NO_INDEX;
}

static void read_stall(struct partial_line *l, const json_t *o) {
    struct partial_reader *r = l->r;
    size_t numbers = r->old_parts ? PART_NUMBERS_OLD : PART_NUMBERS;
    const json_t *a = get_array(l, o, "parts", numbers);
    size_t count = json_array_size(a) / numbers;
    uint64_t id = hash(l, json_object_get(o, "stall"), "stall");
    uint64_t seen_ms = get_number(l, o, "seen_ms"), duration_ms = get_number(l, o, "duration_ms");
    const uint64_t max[PART_NUMBERS] = {
        r->count[PARTIAL_LEVEL2], r->count[PARTIAL_ACTIONS], CLUSTER_CELLS - 1, INT64_MAX, 1,
        r->count[PARTIAL_HOLDERS]};
    if (count == 0 || (r->t->pending.used && id <= r->previous_hash) ||
        (duration_ms && seen_ms >= duration_ms)) {
        reject(l, "stall");
        return;
    }
    r->previous_hash = id;
    struct stall_part *parts = calloc(count, sizeof *parts);
    need(l, parts != NULL);
    for (size_t i = 0; i < count && fine(l); i++) {
        uint64_t v[PART_NUMBERS] = {0};
        for (size_t k = 0; k < numbers; k++) {
            v[k] = element(l, a, i * numbers + k, max[k], "parts");
        }
        parts[i] = (struct stall_part){.level2 = index_of(v[0]),
                                       .action = index_of(v[1]),
                                       .cell = (uint32_t)v[2],
                                       .ms = v[3],
                                       .fatal = v[4] != 0,
                                       .holder = index_of(v[5])};
    }
    if (fine(l)) {
        const json_t *facets = json_object_get(o, "facets");
        need_read(l, partial_read_facets(r->t, facets, parts, count), "facets");
    }
    need(l, !fine(l) || stalls_join(r->t, id, seen_ms, duration_ms, parts, count));
    free(parts);
}

/* ---- lines ---- */

static void read_opened(struct partial_line *l, const json_t *o, struct triage_options *options) {
    const json_t *a = get_array(l, o, "opened", 1);
    for (size_t i = 0; i < json_array_size(a); i++) {
        const char *text = json_string_value(json_array_get(a, i));
        int apart = APART_NONE + 1;
        while (text && apart < APART_COUNT &&
               strcmp(text, triage_apart_text((enum triage_apart)apart)) != 0) {
            apart++;
        }
        if (!text || apart == APART_COUNT) {
            reject(l, "opened");
            return;
        }
        options->open[apart] = true;
    }
}

/* Of each kind of stall; earlier versions told the smallest one alone. */
static void read_thresholds(struct partial_line *l, const json_t *o) {
    struct triage *t = l->r->t;
    if (!json_object_get(o, "thresholds")) {
        if (json_object_get(o, "threshold_ms")) {
            need(l, triage_note_threshold(t, NULL, (int64_t)get_number(l, o, "threshold_ms")));
        }
        return;
    }
    const json_t *a = get_array(l, o, "thresholds", 2);
    for (size_t i = 0; i < json_array_size(a) && fine(l); i += 2) {
        const char *kind = json_string_value(json_array_get(a, i));
        uint64_t ms = element(l, a, i + 1, INT64_MAX, "thresholds");
        if (!kind) {
            reject(l, "thresholds");
        }
        need(l, !fine(l) || triage_note_threshold(t, kind, (int64_t)ms));
    }
}

static void read_usage(struct partial_line *l, const json_t *o) {
    const json_t *usage = json_object_get(o, "usage");
    if (usage) {
        need_read(l, partial_read_usage(l->r->t, usage), "usage");
        read_users(l, json_object_get(o, "user_days"), &l->r->t->usage.user_days);
    }
}

static void partial_in_read_head(struct partial_line *l, const json_t *o) {
    struct partial_reader *r = l->r;
    struct triage *t = r->t;
    uint64_t count, ms;
    t->options.rules = partial_in_keep(l, get_text(l, o, "rules"));
    t->options.rules_hash = hash(l, json_object_get(o, "rules_hash"), "rules_hash");
    t->options.where = partial_in_keep(l, json_string_value(json_object_get(o, "where")));
    read_opened(l, o, &t->options);
    t->options.cap_ms = get_number(l, o, "cap_ms");
    t->dumps_read = get_number(l, o, "dumps_read");
    t->unresolved = get_number(l, o, "unresolved");
    read_thresholds(l, o);
    for (int a = APART_NONE + 1; a < APART_COUNT; a++) {
        t->apart[a] =
            get_number(l, json_object_get(o, "apart"), triage_apart_text((enum triage_apart)a));
    }
    for (size_t i = 0; i < PARTIAL_SETS; i++) {
        if (i >= PARTIAL_IDLE && !json_object_get(o, partial_sets[i])) {
            r->count[i] = 0; /* earlier versions did not count them */
            continue;
        }
        r->count[i] = partial_in_number(l, json_object_get(o, partial_sets[i]), NO_INDEX - 1,
                                        partial_sets[i]);
    }
    r->old_parts = !json_object_get(o, partial_sets[PARTIAL_HOLDERS]);
    r->open = partial_in_number(l, json_object_get(o, "open"), PENDING_MAX, "open");
    read_clusters(l, o, "exposure", &t->exposure, &count, &ms);
    read_usage(l, o);
    read_tally(l, o, "total", &t->total);
}

/* The set of line number `taken`; PARTIAL_SETS: a stall. */
static size_t set_of_line(const struct partial_reader *r) {
    uint64_t left = r->taken;
    size_t set = 0;
    while (set < PARTIAL_SETS && left >= r->count[set]) {
        left -= r->count[set++];
    }
    return set;
}

static bool complete(const struct partial_reader *r) {
    uint64_t lines = r->open;
    for (size_t i = 0; i < PARTIAL_SETS; i++) {
        lines += r->count[i]; /* each below 2^32 */
    }
    return r->taken == lines;
}

static enum st partial_in_read_line(struct partial_reader *r, const json_t *o, struct err *e) {
    struct partial_line l = {.r = r};
    if (!r->t) {
        const char *format = json_string_value(json_object_get(o, "format"));
        if (!format || strcmp(format, PARTIAL_FORMAT) != 0) {
            return err_set(e, ERR_FORMAT, "not a partial: no \"" PARTIAL_FORMAT "\"");
        }
        if (triage_new(&r->t, &(struct triage_options){0}, e) != ST_OK) {
            return ST_ERR;
        }
        r->taken = 0;
        partial_in_read_head(&l, o);
    } else {
        size_t set = set_of_line(r);
        if (set < PARTIAL_SETS) {
            read_bucket(&l, o, set);
        } else {
            read_stall(&l, o);
        }
        r->taken++;
    }
    if (l.no_memory) {
        return err_nomem(e);
    }
    return l.bad ? err_set(e, ERR_FORMAT, "partial: \"%s\" is missing or wrong", l.bad) : ST_OK;
}

enum st partial_reader_line(struct partial_reader *r, const char *text, size_t len,
                            struct triage **done, struct err *e) {
    const struct document_options limits = {.text_max = PARTIAL_LINE_MAX,
                                            .values_max = PARTIAL_LINE_MAX,
                                            .depth_max = PARTIAL_DEPTH,
                                            .unique = true,
                                            .long_numbers = true};
    json_t *o = NULL;
    enum st st = document_load(&o, text, len, &limits, e);
    if (st == ST_OK) {
        st = partial_in_read_line(r, o, e);
    } else if (st == ST_NONE) {
        st = err_set(e, ERR_FORMAT, "partial: not an object");
    } else {
        err_context(e, "partial");
    }
    json_decref(o);
    if (st != ST_OK) {
        partial_in_drop(r);
        return st;
    }
    if (!complete(r)) {
        return ST_NONE;
    }
    *done = r->t;
    r->t = NULL;
    return ST_OK;
}

enum st partial_reader_end(struct partial_reader *r, struct err *e) {
    bool cut = r->t != NULL;
    partial_in_drop(r);
    return cut ? err_set(e, ERR_TRUNCATED, "the partial ends before its last line") : ST_OK;
}
