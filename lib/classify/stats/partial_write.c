/* Writes a triage as stall-partial(5). The bytes do not depend on the order in which the triage
 * was filled. */
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/stats/partial_private.h"

static int by_text(const void *a, const void *b) {
    return bucket_compare(*(struct bucket *const *)a, *(struct bucket *const *)b);
}

static bool sort_set(struct partial_writer *w, size_t set) {
    const struct bucket_set *s = partial_set_of(w->t, set);
    struct bucket **sorted = w->sorted[set] = calloc(s->buckets.len + 1, sizeof(struct bucket *));
    uint32_t *place = w->place[set] = calloc(s->buckets.len + 1, sizeof *place);
    if (!sorted || !place) {
        return false;
    }
    for (size_t i = 0; i < s->buckets.len; i++) {
        sorted[i] = s->buckets.data[i];
    }
    qsort(sorted, s->buckets.len, sizeof(struct bucket *), by_text);
    for (size_t i = 0; i < s->buckets.len; i++) {
        place[sorted[i]->index] = (uint32_t)i;
    }
    return true;
}

/* ---- values ---- */

/* Writes a hash as a string, since not all JSON readers hold 64-bit integers. */
static void put_hash(struct jsonw *w, const char *key, uint64_t v) {
    char text[PARTIAL_HASH_SIZE + 1]; /* in quotes */
    for (size_t i = PARTIAL_HASH_SIZE - 1; i > 0; i--, v >>= 4) {
        text[i] = "0123456789abcdef"[v & 15];
    }
    text[0] = text[PARTIAL_HASH_SIZE] = '"';
    if (key) {
        jsonw_key(w, key);
    }
    jsonw_raw(w, text, sizeof text);
}

static void put_number_array(struct jsonw *w, const uint64_t *values, size_t count) {
    jsonw_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        jsonw_u64(w, values[i]);
    }
    jsonw_end_array(w);
}

/* ---- tallies ---- */

/* Writes the cells of a histogram; nothing if it is empty. */
static void partial_out_put_durations(struct jsonw *w, const struct histogram *h) {
    if (!h->cells.len) {
        return;
    }
    jsonw_member_array(w, "durations");
    for (size_t i = 0; i < h->cells.len; i++) {
        jsonw_u64(w, h->cells.data[i].index);
        jsonw_u64(w, h->cells.data[i].count);
    }
    jsonw_end_array(w);
}

static void put_users(struct jsonw *w, const struct distinct *d) {
    jsonw_key(w, "users");
    if (d->registers) {
        char text[DISTINCT_REGISTERS];
        for (size_t i = 0; i < DISTINCT_REGISTERS; i++) {
            text[i] = (char)(PARTIAL_REGISTER_0 + d->registers[i]);
        }
        jsonw_str(w, text, sizeof text);
        return;
    }
    jsonw_begin_array(w);
    for (size_t i = 0; i < d->hashes.len; i++) {
        put_hash(w, NULL, d->hashes.data[i]);
    }
    jsonw_end_array(w);
}

static void put_ids(struct jsonw *w, const struct id_sketch *s) {
    jsonw_member_object(w, "ids");
    jsonw_member_u64(w, "told", s->told);
    jsonw_member_u64(w, "untold", s->untold);
    jsonw_member_bool(w, "cut", s->cut);
    jsonw_member_array(w, "hashes");
    for (size_t i = 0; i < s->ids.len; i++) {
        put_hash(w, NULL, s->ids.data[i].hash);
    }
    jsonw_end_array(w);
    jsonw_member_array(w, "again");
    for (size_t i = 0; i < s->ids.len; i++) {
        if (s->ids.data[i].count > 1) {
            jsonw_u64(w, i);
            jsonw_u64(w, s->ids.data[i].count - 1);
        }
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void put_clusters(struct jsonw *w, const char *key, const struct clusters *c) {
    if (!c->cells.len) {
        return;
    }
    jsonw_member_array(w, key);
    for (size_t i = 0; i < c->cells.len; i++) {
        const struct cluster_cell *cell = &c->cells.data[i];
        jsonw_u64(w, cell->cell);
        jsonw_u64(w, cell->count);
        jsonw_u64(w, cell->ms);
    }
    jsonw_end_array(w);
}

struct named_dumps {
    const char *text;
    uint64_t dumps;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct named_dumps *)a)->text, ((const struct named_dumps *)b)->text);
}

static bool partial_out_put_facet(struct partial_writer *w, const char *key,
                                  const struct facet *f) {
    size_t count = f->values.len;
    struct named_dumps *named = count ? calloc(count, sizeof *named) : NULL;
    if (!named) {
        return count == 0;
    }
    for (size_t i = 0; i < count; i++) {
        named[i].text = map_string(&w->t->strings, f->values.data[i].text);
        named[i].dumps = f->values.data[i].dumps;
    }
    qsort(named, count, sizeof *named, by_name);
    jsonw_member_array(&w->w, key);
    for (size_t i = 0; i < count; i++) {
        jsonw_cstr(&w->w, named[i].text);
        jsonw_u64(&w->w, named[i].dumps);
    }
    jsonw_end_array(&w->w);
    free(named);
    return true;
}

static void partial_out_put_causes(struct jsonw *w, const struct tally *t) {
    if (!t->causes.len) {
        return;
    }
    jsonw_member_array(w, "causes");
    for (size_t i = 0; i < t->causes.len; i++) {
        const struct cause_tally *c = &t->causes.data[i];
        jsonw_cstr(w, rule_cause_text(c->cause));
        put_number_array(w, (const uint64_t[]){c->dumps, c->ms, c->confidence}, 3);
    }
    jsonw_end_array(w);
}

static bool partial_out_put_tally(struct partial_writer *writer, const char *key,
                                  const struct tally *t) {
    struct jsonw *w = &writer->w;
    jsonw_member_object(w, key);
    const uint64_t counts[PARTIAL_COUNTS] = {t->dumps, t->stalls,       t->ms,      t->max_ms,
                                             t->fatal, t->fatal_min_ms, t->samples, t->hits};
    jsonw_key(w, "counts");
    put_number_array(w, counts, PARTIAL_COUNTS);
    jsonw_member_cstr(w, "first", t->first_time);
    if (strcmp(t->first_time, t->last_time) != 0) {
        jsonw_member_cstr(w, "last", t->last_time);
    }
    partial_out_put_durations(w, &t->durations);
    if (t->users.registers || t->users.hashes.len) {
        put_users(w, &t->users);
    }
    put_clusters(w, "clusters", &t->clusters);
    partial_out_put_causes(w, t);
    bool ok = true;
    for (size_t i = 0; ok && i < FACET_COUNT; i++) {
        ok = partial_out_put_facet(writer, partial_facets[i], &t->facets[i]);
    }
    jsonw_end_object(w);
    return ok;
}

/* ---- buckets ---- */

static void put_frames(struct partial_writer *writer, size_t set, const struct bucket *b) {
    jsonw_member_array(&writer->w, "frames");
    for (size_t i = 0; i < b->frame_count; i++) {
        jsonw_u64(&writer->w, partial_row_of_frame(writer, set, b, i));
    }
    jsonw_end_array(&writer->w);
}

static void put_evidence(struct partial_writer *writer, const struct evidence *e) {
    struct jsonw *w = &writer->w;
    jsonw_member_array(w, "evidence");
    jsonw_cstr(w, e->id ? e->id : "");
    jsonw_u64(w, e->span_ms);
    put_hash(w, NULL, e->hash);
    jsonw_cstr(w, rule_cause_text(e->cause));
    if (e->reason) {
        jsonw_u64(w, partial_row_of_text(writer, e->reason));
    }
    jsonw_end_array(w);
}

static void partial_out_put_stack(struct partial_writer *writer, const struct evidence *e) {
    struct jsonw *w = &writer->w;
    if (e->stack.len) {
        jsonw_member_array(w, "stack");
        for (size_t i = 0; i < e->stack.len; i++) {
            jsonw_u64(w, writer->tables[PARTIAL_PIECES].place[e->stack.data[i]]);
        }
        jsonw_end_array(w);
    }
}

static int partial_out_by_place(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return COMPARE(x[0], y[0]);
}

static bool put_actions(struct partial_writer *w, const struct bucket *b) {
    uint64_t(*pairs)[2] = b->actions.len ? calloc(b->actions.len, sizeof *pairs) : NULL;
    if (!pairs) {
        return b->actions.len == 0;
    }
    for (size_t i = 0; i < b->actions.len; i++) {
        pairs[i][0] = w->place[PARTIAL_ACTIONS][b->actions.data[i].action];
        pairs[i][1] = b->actions.data[i].ms;
    }
    qsort(pairs, b->actions.len, sizeof *pairs, partial_out_by_place);
    jsonw_key(&w->w, "actions");
    put_number_array(&w->w, pairs[0], 2 * (size_t)b->actions.len);
    free(pairs);
    return true;
}

static void partial_out_put_aliases(struct jsonw *w, const struct bucket *b) {
    bool differs = false;
    if (!b->aliases.len) {
        return;
    }
    jsonw_member_array(w, "aliases");
    for (size_t i = 0; i < b->aliases.len; i++) {
        put_hash(w, NULL, b->aliases.data[i]);
        differs = differs || b->alias_dumps.data[i] < b->tally->dumps;
    }
    jsonw_end_array(w);
    if (differs) {
        jsonw_member_array(w, "alias_dumps");
        for (size_t i = 0; i < b->aliases.len; i++) {
            uint64_t told = b->alias_dumps.data[i], all = b->tally->dumps;
            jsonw_u64(w, told < all ? told : all);
        }
        jsonw_end_array(w);
    }
}

static void put_near(struct jsonw *w, const struct bucket *b) {
    if (!b->near.len) {
        return;
    }
    jsonw_member_array(w, "near");
    for (size_t i = 0; i < b->near.len; i++) {
        const struct near_id *n = &b->near.data[i];
        put_hash(w, NULL, n->number);
        jsonw_u64(w, n->dumps);
        jsonw_u64(w, n->most);
        jsonw_u64(w, n->shares);
    }
    jsonw_end_array(w);
}

/* Are two evidences, whose reasons belong to one triage, equal except for their stacks? */
static bool evidence_equals(const struct evidence *a, const struct evidence *b) {
    return a->span_ms == b->span_ms && a->hash == b->hash && a->cause == b->cause &&
           a->reason == b->reason && strcmp(a->id ? a->id : "", b->id ? b->id : "") == 0;
}

/* Writes a bucket. A bucket of level 2 is written without "evidence" (its stack is written all the
 * same) or "tally" if this member is equal to that of its parent, because most buckets of level 1
 * have only one child. False: out of memory. */
static bool partial_out_put_bucket(struct partial_writer *writer, size_t set,
                                   const struct bucket *b) {
    struct jsonw *w = &writer->w;
    const struct bucket *parent =
        set == PARTIAL_LEVEL2 ? writer->t->level[0].buckets.data[b->parent] : NULL;
    *w = jsonw_init(writer->out);
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "id", b->id);
    if (set == PARTIAL_LEVEL2) {
        jsonw_member_u64(w, "parent", writer->place[PARTIAL_LEVEL1][b->parent]);
    }
    if (b->kept_ms) {
        jsonw_member_u64(w, "kept_ms", b->kept_ms);
    }
    if (set == PARTIAL_HOLDERS) {
        jsonw_member_u64(w, "waiters", b->waiters);
    }
    put_frames(writer, set, b);
    if (!parent || !evidence_equals(&parent->evidence, &b->evidence)) {
        put_evidence(writer, &b->evidence);
    }
    partial_out_put_stack(writer, &b->evidence);
    partial_out_put_aliases(w, b);
    put_near(w, b);
    bool ok = set == PARTIAL_ACTIONS || set == PARTIAL_IDLE || put_actions(writer, b);
    if (!parent || (parent->tally != b->tally && !tally_equals(parent->tally, b->tally))) {
        ok = ok && partial_out_put_tally(writer, "tally", b->tally);
    }
    jsonw_end_object(w);
    sink_char(writer->out, '\n');
    return ok;
}

static bool partial_out_put_set(struct partial_writer *w, size_t set) {
    size_t count = partial_set_of(w->t, set)->buckets.len;
    for (size_t i = 0; i < count; i++) {
        if (!partial_out_put_bucket(w, set, w->sorted[set][i])) {
            return false;
        }
    }
    return true;
}

/* ---- stalls some of whose dumps are missing ---- */

static int by_hash(const void *a, const void *b) {
    const struct pending_stall *x = *(const struct pending_stall *const *)a,
                               *y = *(const struct pending_stall *const *)b;
    return COMPARE(x->hash, y->hash);
}

/* A row of numbers for a part of a stall: first the numbers that are written, then the positions of
 * its facets, then its day. Facets and days are written as texts, but they decide the order of the
 * rows, too. */
enum { PART_NUMBERS = 6, PART_DAY = PART_NUMBERS + USAGE_FACETS, PART_SORTED };

static int by_numbers(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    size_t i = 0;
    while (i + 1 < PART_SORTED && x[i] == y[i]) {
        i++;
    }
    return COMPARE(x[i], y[i]);
}

/* Returns the position of a bucket in its set, counted from 1; 0 stands for no bucket. */
static uint64_t partial_out_place_of(const struct partial_writer *w, size_t set, uint32_t index) {
    return index == NO_INDEX ? 0 : (uint64_t)w->place[set][index] + 1;
}

static void fill_part(const struct partial_writer *w, const struct stall_part *p,
                      uint64_t numbers[PART_SORTED]) {
    numbers[0] = partial_out_place_of(w, PARTIAL_LEVEL2, p->level2);
    numbers[1] = partial_out_place_of(w, PARTIAL_ACTIONS, p->action);
    numbers[2] = p->cell;
    numbers[3] = p->ms;
    numbers[4] = p->fatal;
    numbers[5] = partial_out_place_of(w, PARTIAL_HOLDERS, p->holder);
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        numbers[PART_NUMBERS + f] =
            usage_place_of(&w->usage, w->t, (enum usage_facet)f, p->facets[f]);
    }
    numbers[PART_DAY] = (uint32_t)p->day;
}

static void put_part_facets(struct partial_writer *writer, const uint64_t numbers[PART_SORTED]) {
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        uint64_t place = numbers[PART_NUMBERS + f];
        if (place) {
            jsonw_cstr(&writer->w,
                       usage_text_at(&writer->usage, writer->t, (enum usage_facet)f, place));
        } else {
            jsonw_raw(&writer->w, "null", strlen("null"));
        }
    }
}

/* Writes the days of a stall's parts; nothing if no part tells one. */
static void put_part_days(struct jsonw *w, uint64_t (*parts)[PART_SORTED], size_t count) {
    size_t told = 0;
    while (told < count && (int32_t)(uint32_t)parts[told][PART_DAY] == USAGE_UNTOLD_DAY) {
        told++;
    }
    if (told == count) {
        return;
    }
    jsonw_member_array(w, "days");
    for (size_t i = 0; i < count; i++) {
        int32_t day = (int32_t)(uint32_t)parts[i][PART_DAY];
        char text[DAY_SIZE];
        if (day == USAGE_UNTOLD_DAY) {
            jsonw_raw(w, "null", strlen("null"));
        } else {
            jsonw_cstr(w, day_text(day, text));
        }
    }
    jsonw_end_array(w);
}

static bool put_stall(struct partial_writer *writer, const struct pending_stall *s) {
    struct jsonw *w = &writer->w;
    uint64_t(*parts)[PART_SORTED] = calloc(s->parts.len + 1, sizeof *parts);
    if (!parts) {
        return false;
    }
    for (size_t i = 0; i < s->parts.len; i++) {
        fill_part(writer, &s->parts.data[i], parts[i]);
    }
    qsort(parts, s->parts.len, sizeof *parts, by_numbers);
    *w = jsonw_init(writer->out);
    jsonw_begin_object(w);
    put_hash(w, "stall", s->hash);
    jsonw_member_u64(w, "seen_ms", s->seen_ms);
    jsonw_member_u64(w, "duration_ms", s->duration_ms);
    jsonw_member_array(w, "parts");
    for (size_t i = 0; i < s->parts.len * PART_NUMBERS; i++) {
        jsonw_u64(w, parts[i / PART_NUMBERS][i % PART_NUMBERS]);
    }
    jsonw_end_array(w);
    jsonw_member_array(w, "facets");
    for (size_t i = 0; i < s->parts.len; i++) {
        put_part_facets(writer, parts[i]);
    }
    jsonw_end_array(w);
    put_part_days(w, parts, s->parts.len);
    jsonw_end_object(w);
    sink_char(writer->out, '\n');
    free(parts);
    return true;
}

static bool put_stalls(struct partial_writer *w) {
    const struct pending_table *p = &w->t->pending;
    const struct pending_stall **sorted = calloc(p->used + 1, sizeof(struct pending_stall *));
    size_t count = 0;
    for (size_t i = 0; sorted && i < p->slot_count; i++) {
        if (p->slots[i].hash) {
            sorted[count++] = &p->slots[i];
        }
    }
    if (sorted) {
        qsort(sorted, count, sizeof(struct pending_stall *), by_hash);
    }
    bool ok = sorted != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        ok = put_stall(w, sorted[i]);
    }
    free(sorted);
    return ok;
}

/* ---- the head ---- */

/* Writes the sums over the buckets that were folded into "other"; nothing if none was folded. */
static void put_folded(struct jsonw *w, const struct triage *t) {
    if (!triage_is_folded(t)) {
        return;
    }
    jsonw_member_object(w, "folded");
    for (size_t i = PARTIAL_ACTIONS; i <= PARTIAL_LEVEL2; i++) {
        const struct bucket_set *set = partial_set_of(t, i);
        jsonw_key(w, partial_sets[i]);
        put_number_array(w, (const uint64_t[]){set->fold.folds, set->fold.buckets, set->fold.ms},
                         3);
    }
    jsonw_member_cstr(w, "meaning", "merging is not exact: a bucket may lack what is in other");
    jsonw_end_object(w);
}

void triage_put_unsaid(struct jsonw *w, const struct kind_threshold *all, size_t count) {
    jsonw_member_array(w, "no_threshold");
    for (size_t i = 0; i < count; i++) {
        if (all[i].unsaid) {
            jsonw_cstr(w, all[i].kind);
        }
    }
    jsonw_end_array(w);
}

/* Writes the thresholds of the kinds of stall. False: out of memory. */
static bool put_thresholds(struct jsonw *w, const struct triage *t) {
    struct kind_threshold *all = triage_thresholds(t);
    if (!all) {
        return false;
    }
    if (t->threshold_ms >= 0) {
        jsonw_member_u64(w, "threshold_ms", (uint64_t)t->threshold_ms);
    }
    jsonw_member_array(w, "thresholds");
    for (size_t i = 0; i < t->thresholds.len; i++) {
        if (all[i].ms >= 0) {
            jsonw_cstr(w, all[i].kind);
            jsonw_i64(w, all[i].ms);
        }
    }
    jsonw_end_array(w);
    triage_put_unsaid(w, all, t->thresholds.len);
    free(all);
    return true;
}

static bool partial_out_put_head(struct partial_writer *writer) {
    const struct triage *t = writer->t;
    struct jsonw *w = &writer->w;
    *w = jsonw_init(writer->out);
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "format", PARTIAL_FORMAT);
    jsonw_member_cstr(w, "rules", t->options.rules);
    put_hash(w, "rules_hash", t->options.rules_hash);
    jsonw_member_u64(w, "cap_ms", t->options.cap_ms);
    jsonw_member_cstr(w, "where", t->options.where);
    jsonw_member_array(w, "opened");
    for (int a = APART_NONE + 1; a < APART_COUNT; a++) {
        if (t->options.open[a]) {
            jsonw_cstr(w, triage_apart_text((enum triage_apart)a));
        }
    }
    jsonw_end_array(w);
    jsonw_member_cstr(w, "duplicates", "removed within each input, not across partials");
    put_folded(w, t);
    jsonw_member_u64(w, "dumps_read", t->dumps_read);
    jsonw_member_u64(w, "unresolved", t->unresolved);
    bool ok = put_thresholds(w, t);
    jsonw_member_object(w, "apart");
    for (int a = APART_NONE + 1; a < APART_COUNT; a++) {
        jsonw_member_u64(w, triage_apart_text((enum triage_apart)a), t->apart[a]);
    }
    jsonw_end_object(w);
    for (size_t i = 0; i < PARTIAL_TABLES; i++) {
        jsonw_member_u64(w, partial_tables[i], writer->tables[i].count);
    }
    for (size_t i = 0; i < PARTIAL_SETS; i++) {
        jsonw_member_u64(w, partial_sets[i], partial_set_of(t, i)->buckets.len);
    }
    jsonw_member_u64(w, "open", t->pending.used);
    put_clusters(w, "exposure", &t->exposure);
    partial_put_usage(w, t, &writer->usage);
    put_ids(w, &t->ids);
    jsonw_member_object(w, "user_days");
    put_users(w, &t->usage.user_days);
    jsonw_end_object(w);
    ok = partial_out_put_tally(writer, "total", &t->total) && ok;
    jsonw_end_object(w);
    sink_char(writer->out, '\n');
    return ok;
}

enum st triage_write_partial(const struct triage *t, struct sink *out, struct err *e) {
    struct partial_writer w = {.t = t, .out = out};
    if (t->usage.days.rows.len > PARTIAL_DAYS_MAX) {
        return err_set(e, ERR_LIMIT, "versions of the app on more than %d days in all",
                       PARTIAL_DAYS_MAX);
    }
    bool ok = !t->torn && usage_order_make(&w.usage, t) && partial_find_rows(&w);
    for (size_t i = 0; ok && i < PARTIAL_SETS; i++) {
        ok = sort_set(&w, i);
    }
    ok = ok && partial_out_put_head(&w);
    if (ok) {
        partial_put_tables(&w);
    }
    for (size_t i = 0; ok && i < PARTIAL_SETS; i++) {
        ok = partial_out_put_set(&w, i);
    }
    ok = ok && put_stalls(&w);
    for (size_t i = 0; i < PARTIAL_SETS; i++) {
        free(w.sorted[i]);
        free(w.place[i]);
    }
    partial_release_rows(&w);
    usage_order_release(&w.usage);
    return ok ? ST_OK : err_nomem(e);
}
