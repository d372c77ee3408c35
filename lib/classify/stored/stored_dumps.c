/* Chooses the dumps of a bucket that are stored, and copies those parts of them that are shown. */
#include "classify/stored/stored_dumps.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/keys/version.h"

/* Adds v to *sum without overflow, because dumps may give absurdly large numbers. */
static void add_to(uint64_t *sum, uint64_t v) {
    if (!checked_add_u64(*sum, v, sum)) {
        *sum = UINT64_MAX;
    }
}

/* ---- dumps ---- */

size_t stored_dump_size(const struct stored_dump *d) {
    return sizeof *d + d->threads.cap * sizeof *d->threads.data +
           d->samples.cap * sizeof *d->samples.data;
}

static void drop(struct stored_dumps *s, struct stored_dump *d) {
    if (d && --d->owners == 0) {
        if (s) {
            s->used -= stored_dump_size(d);
        }
        SMALL_VEC_RELEASE(&d->threads);
        SMALL_VEC_RELEASE(&d->samples);
        free(d);
    }
}

void stored_dump_put(struct stored_dumps *s, struct stored_dump **at, struct stored_dump *d) {
    if (d != *at) {
        if (d) {
            d->owners++;
        }
        drop(s, *at);
        *at = d;
    }
}

void stored_bucket_free(struct stored_dumps *s, struct stored_bucket *b) {
    if (!b) {
        return;
    }
    drop(s, b->worst);
    drop(s, b->newest);
    for (size_t i = 0; i < b->of_version.len; i++) {
        drop(s, b->of_version.data[i]);
    }
    SMALL_VEC_RELEASE(&b->of_version);
    for (size_t f = 0; f < STORED_FACETS; f++) {
        SMALL_VEC_RELEASE(&b->by[f].values);
    }
    SMALL_VEC_RELEASE(&b->stacks);
    free(b);
}

void stored_dumps_release(struct stored_dumps *s) {
    map_release(&s->texts);
    map_release(&s->frames);
    map_release(&s->stacks);
    for (size_t f = 0; f < STORED_FACETS; f++) {
        SMALL_VEC_RELEASE(&s->by[f].values);
    }
    VEC_RELEASE(&s->images);
}

/* The facts by which a dump is chosen. */
struct offer {
    const char *id, *time, *version;
    int64_t span_ms;
};

static struct offer offer_of(const struct stored_dumps *s, const struct stored_dump *d) {
    return (struct offer){.id = stored_text(s, d->id),
                          .time = stored_text(s, d->time),
                          .version = stored_text(s, d->version),
                          .span_ms = d->span_ms};
}

static bool is_worse(const struct stored_dumps *s, const struct offer *o,
                     const struct stored_dump *have) {
    if (!have) {
        return true;
    }
    const struct offer other = offer_of(s, have);
    return o->span_ms != other.span_ms ? o->span_ms > other.span_ms : strcmp(o->id, other.id) < 0;
}

/* Returns a time by which dumps are compared: "" if it is none of a clock that was set. */
static const char *told_time(const char *time) {
    return day_is_told(time, strlen(time)) ? time : "";
}

static bool is_newer(const struct stored_dumps *s, const struct offer *o,
                     const struct stored_dump *have) {
    if (!have) {
        return true;
    }
    const struct offer other = offer_of(s, have);
    int order = strcmp(told_time(o->time), told_time(other.time));
    return order ? order > 0 : strcmp(o->id, other.id) < 0;
}

/* Returns the index of the version's place in b->of_version, or of where it would be inserted.
 * *same: the version has a place. */
static size_t version_place(const struct stored_dumps *s, const struct stored_bucket *b,
                            const char *version, bool *same) {
    size_t at = 0;
    int order = -1;
    while (at < b->of_version.len &&
           (order = version_compare(stored_text(s, b->of_version.data[at]->version), version)) <
               0) {
        at++;
    }
    *same = at < b->of_version.len && order == 0;
    return at;
}

/* Should the offered dump be stored as the dump of its version? */
static bool wants_version(const struct stored_dumps *s, const struct stored_bucket *b,
                          const struct offer *o) {
    bool same;
    size_t at = version_place(s, b, o->version, &same);
    if (same) {
        return is_worse(s, o, b->of_version.data[at]);
    }
    return *o->version && (b->of_version.len < STORED_VERSIONS || at > 0);
}

static bool put_version(struct stored_dumps *s, struct stored_bucket *b, struct stored_dump *d) {
    bool same;
    size_t at = version_place(s, b, stored_text(s, d->version), &same);
    if (same) {
        stored_dump_put(s, &b->of_version.data[at], d);
        return true;
    }
    if (!SMALL_VEC_INSERT(&b->of_version, at)) {
        return false;
    }
    b->of_version.data[at] = NULL;
    stored_dump_put(s, &b->of_version.data[at], d);
    if (b->of_version.len > STORED_VERSIONS) {
        drop(s, b->of_version.data[0]);
        memmove(b->of_version.data, b->of_version.data + 1,
                --b->of_version.len * sizeof *b->of_version.data);
    }
    return true;
}

/* Stores a dump in each place for which it is better than the present one. The caller stays an
 * owner of the dump. False: out of memory. */
static bool keep(struct stored_dumps *s, struct stored_bucket *b, struct stored_dump *d) {
    const struct offer o = offer_of(s, d);
    if (is_worse(s, &o, b->worst)) {
        stored_dump_put(s, &b->worst, d);
    }
    if (is_newer(s, &o, b->newest)) {
        stored_dump_put(s, &b->newest, d);
    }
    return !wants_version(s, b, &o) || put_version(s, b, d);
}

/* ---- a copy ---- */

static bool copy_thread(struct stored_dumps *s, struct stored_dump *out, const struct dump *d,
                        const struct dump_thread *t) {
    struct stored_thread thread = {.id = t->id,
                                   .owner = t->waits_for.kind ? t->waits_for.owner : -1,
                                   .cpu_permille = t->cpu_permille,
                                   .main = t->main};
    return stored_put_text(s, t->name, &thread.name) &&
           stored_put_text(s, t->state, &thread.state) &&
           stored_put_text(s, t->waits_for.kind, &thread.waits) &&
           stored_put_stack(s, d, &t->stack, &thread.stack) &&
           SMALL_VEC_PUSH(&out->threads, thread);
}

static bool in_chain(const struct dump_waits *w, const struct dump_thread *t) {
    for (size_t i = 0; i < w->count; i++) {
        if (w->threads[i] == t) {
            return true;
        }
    }
    return false;
}

/* Copies the threads of a dump: the main thread, the holders of the locks for which it waits, then
 * the others in the order of the dump, at most STORED_THREADS in all. False: out of memory. */
static bool copy_threads(struct stored_dumps *s, struct stored_dump *out, const struct dump *d) {
    struct dump_waits w;
    dump_waits(d, dump_main_thread(d), &w);
    bool ok = true;
    for (size_t i = 0; ok && i < w.count; i++) {
        ok = copy_thread(s, out, d, w.threads[i]);
    }
    for (size_t i = 0; ok && i < d->thread_count; i++) {
        if (out->threads.len == STORED_THREADS) {
            out->threads_left += !in_chain(&w, &d->threads[i]);
        } else if (!in_chain(&w, &d->threads[i])) {
            ok = copy_thread(s, out, d, &d->threads[i]);
        }
    }
    if (d->threads_left_out > 0) {
        out->threads_left += (uint32_t)(d->threads_left_out & 0xffff);
    }
    return ok;
}

/* Copies the STORED_SAMPLES stacks with the most samples; of equal ones, those sampled earlier.
 * False: out of memory. */
static bool copy_samples(struct stored_dumps *s, struct stored_dump *out, const struct dump *d) {
    for (size_t i = 0; i < d->sample_count; i++) {
        const struct dump_stack *stack = &d->samples[i];
        size_t at = out->samples.len;
        while (at > 0 && out->samples.data[at - 1].count < stack->count) {
            at--;
        }
        if (at == STORED_SAMPLES) {
            continue;
        }
        struct stored_sample sample = {.count = stack->count};
        if (!stored_put_stack(s, d, stack, &sample.stack) || !SMALL_VEC_INSERT(&out->samples, at)) {
            return false;
        }
        out->samples.data[at] = sample;
        out->samples.len -= out->samples.len > STORED_SAMPLES;
    }
    return true;
}

/* Returns a copy of the dump, which the caller owns; NULL = out of memory. */
static struct stored_dump *copy_dump(struct stored_dumps *s, const struct dump *d,
                                     const struct stall_key *key) {
    struct stored_dump *out = calloc(1, sizeof *out);
    if (!out) {
        return NULL;
    }
    out->owners = 1;
    out->cause = key->cause;
    out->span_ms = dump_span_ms(d);
    out->duration_ms = d->stall.duration_ms;
    out->fatal = d->stall.fatal;
    bool ok = stored_put_text(s, d->id, &out->id) && stored_put_text(s, d->time, &out->time) &&
              stored_put_text(s, d->app.version, &out->version) &&
              stored_put_text(s, d->app.build, &out->build) &&
              stored_put_text(s, d->device.os, &out->os) &&
              stored_put_text(s, d->device.model, &out->device) &&
              stored_put_text(s, dump_context(d, "screen"), &out->screen) &&
              stored_put_text(s, key->reason, &out->reason) && copy_threads(s, out, d) &&
              copy_samples(s, out, d);
    s->used += stored_dump_size(out);
    if (!ok) {
        drop(s, out);
        out = NULL;
    }
    return out;
}

static bool stored_is_full(const struct stored_dumps *s) {
    const struct map *const maps[] = {&s->texts, &s->frames, &s->stacks};
    size_t bytes = s->used;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        bytes += maps[i]->arena.used + maps[i]->entry_cap * sizeof *maps[i]->entries;
    }
    return bytes >= s->limit;
}

/* ---- sums ---- */

static bool add_value(struct stored_values *v, uint32_t text, uint64_t dumps, uint64_t ms) {
    size_t at = 0;
    while (at < v->values.len && v->values.data[at].text != text) {
        at++;
    }
    if (at == STORED_VALUES) {
        return true;
    }
    if (at == v->values.len && !SMALL_VEC_PUSH(&v->values, (struct stored_value){.text = text})) {
        return false;
    }
    add_to(&v->values.data[at].dumps, dumps);
    add_to(&v->values.data[at].ms, ms);
    return true;
}

static bool add_values(struct stored_dumps *s, struct stored_bucket *b, const struct dump *d,
                       uint64_t ms) {
    char day[DAY_LENGTH + 1] = "";
    if (d->time && day_is_told(d->time, strlen(d->time))) {
        memcpy(day, d->time, DAY_LENGTH);
    }
    const char *const values[STORED_FACETS] = {[STORED_VERSION] = d->app.version,
                                               [STORED_DAY] = day,
                                               [STORED_SCREEN] = dump_context(d, "screen")};
    for (size_t f = 0; f < STORED_FACETS; f++) {
        uint32_t text;
        if (!stored_put_text(s, values[f], &text) ||
            (text != STORED_NONE &&
             (!add_value(&b->by[f], text, 1, ms) || !add_value(&s->by[f], text, 1, ms)))) {
            return false;
        }
    }
    return true;
}

static int by_stored_weight(const void *a, const void *b) {
    const struct stored_weight *x = a, *y = b;
    return x->ms != y->ms ? COMPARE(y->ms, x->ms) : COMPARE(x->stack, y->stack);
}

static bool weigh_stack(struct stored_bucket *b, const struct stored_weight *w) {
    size_t at = 0;
    while (at < b->stacks.len && b->stacks.data[at].stack != w->stack) {
        at++;
    }
    if (at == b->stacks.len) {
        if (at == 2 * STORED_STACKS) {
            qsort(b->stacks.data, b->stacks.len, sizeof *b->stacks.data, by_stored_weight);
            while (b->stacks.len > STORED_STACKS) {
                add_to(&b->dropped_ms, b->stacks.data[--b->stacks.len].ms);
            }
        }
        return SMALL_VEC_PUSH(&b->stacks, *w);
    }
    add_to(&b->stacks.data[at].ms, w->ms);
    add_to(&b->stacks.data[at].samples, w->samples);
    return true;
}

/* Splits the dump's time among its stacks; `votes` has room for all of them. False: out of
 * memory. */
static bool split_time(struct stored_dumps *s, struct stored_bucket *b, const struct dump *d,
                       struct dump_vote *votes, uint64_t ms) {
    size_t count = dump_vote_count(d);
    unsigned __int128 sum = 0;
    dump_votes(d, votes);
    for (size_t i = 0; i < count; i++) {
        sum += votes[i].weight;
    }
    for (size_t i = 0; sum > 0 && i < count; i++) {
        struct stored_weight w = {.ms = (uint64_t)(ms * (unsigned __int128)votes[i].weight / sum),
                                  .samples = votes[i].weight};
        if (votes[i].weight && (!stored_put_stack(s, d, votes[i].stack, &w.stack) ||
                                (w.stack != STORED_NONE && !weigh_stack(b, &w)))) {
            return false;
        }
    }
    return true;
}

static bool weigh_stacks(struct stored_dumps *s, struct stored_bucket *b, const struct dump *d,
                         const struct stall_key *key, uint64_t ms) {
    size_t count = dump_vote_count(d);
    if (count == 0) {
        struct stored_weight w = {.ms = ms, .samples = 1};
        return !key->stack || (stored_put_stack(s, d, key->stack, &w.stack) &&
                               (w.stack == STORED_NONE || weigh_stack(b, &w)));
    }
    struct dump_vote *votes = calloc(count, sizeof *votes);
    bool ok = votes && split_time(s, b, d, votes, ms);
    free(votes);
    return ok;
}

static bool note_images(struct stored_dumps *s, const struct dump *d) {
    for (size_t i = 0; i < d->image_count; i++) {
        const struct dump_image *from = &d->images[i];
        char id[IMAGE_ID_TEXT] = "";
        struct stored_image image = {.symbols = from->symbols, .dumps = 1};
        if (!from->in_app) {
            continue;
        }
        if (from->id.kind != IMAGE_ID_NONE) {
            image_id_text(&from->id, id);
        }
        if (!stored_put_text(s, dump_image_name(from), &image.name) ||
            !stored_put_text(s, id, &image.id)) {
            return false;
        }
        size_t at = 0;
        for (; at < s->images.len; at++) {
            const struct stored_image *have = &s->images.data[at];
            if (have->name == image.name && have->id == image.id &&
                have->symbols == image.symbols) {
                break;
            }
        }
        if (at < s->images.len) {
            add_to(&s->images.data[at].dumps, 1);
        } else if (at < STORED_IMAGES && !VEC_PUSH(&s->images, image)) {
            return false;
        }
    }
    return true;
}

/* ---- a bucket ---- */

/* Copies the dump if it is better than the dump in one of the bucket's places. False: out of
 * memory. */
static bool offer_dump(struct stored_dumps *s, struct stored_bucket *b, const struct dump *d,
                       const struct stall_key *key) {
    const struct offer o = {.id = d->id ? d->id : "",
                            .time = d->time ? d->time : "",
                            .version = d->app.version ? d->app.version : "",
                            .span_ms = dump_span_ms(d)};
    if (!is_worse(s, &o, b->worst) && !is_newer(s, &o, b->newest) && !wants_version(s, b, &o)) {
        return true;
    }
    struct stored_dump *copy = copy_dump(s, d, key);
    bool ok = copy && keep(s, b, copy);
    drop(s, copy);
    return ok;
}

/* Makes *b if it is NULL. *full: the limit is reached, and nothing is stored. False: out of
 * memory. */
static bool open_bucket(struct stored_dumps *s, struct stored_bucket **b, bool *full) {
    *full = stored_is_full(s);
    if (*full) {
        add_to(&s->left_out, 1);
        return true;
    }
    s->recent_count = 0; /* the entries of the array belong to the previous dump */
    *b = *b ? *b : calloc(1, sizeof **b);
    return *b != NULL;
}

bool stored_dumps_add(struct stored_dumps *s, struct stored_bucket **b, const struct dump *d,
                      const struct stall_key *key, uint64_t ms) {
    bool full;
    if (s->limit == 0) {
        return true;
    }
    if (!open_bucket(s, b, &full)) {
        return false;
    }
    return full || (note_images(s, d) && add_values(s, *b, d, ms) &&
                    weigh_stacks(s, *b, d, key, ms) && offer_dump(s, *b, d, key));
}

bool stored_dumps_show(struct stored_dumps *s, struct stored_bucket **b, const struct dump *d,
                       const struct stall_key *key, uint64_t ms) {
    bool full;
    if (!open_bucket(s, b, &full)) {
        return false;
    }
    if (!full) {
        add_to(&(*b)->chosen, 1);
    }
    return full || (weigh_stacks(s, *b, d, key, ms) && offer_dump(s, *b, d, key));
}

bool stored_value_add(struct stored_dumps *s, struct stored_bucket **b, enum stored_facet f,
                      const struct stored_value *v, const char *text) {
    uint32_t index;
    if (!stored_put_text(s, text, &index)) {
        return false;
    }
    if (index == STORED_NONE) {
        return true;
    }
    if (!b) {
        return add_value(&s->by[f], index, v->dumps, v->ms);
    }
    *b = *b ? *b : calloc(1, sizeof **b);
    return *b && add_value(&(*b)->by[f], index, v->dumps, v->ms);
}

static bool merge_sums(struct stored_bucket *b, const struct stored_bucket *from) {
    for (size_t f = 0; f < STORED_FACETS; f++) {
        for (size_t i = 0; i < from->by[f].values.len; i++) {
            const struct stored_value *v = &from->by[f].values.data[i];
            if (!add_value(&b->by[f], v->text, v->dumps, v->ms)) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < from->stacks.len; i++) {
        if (!weigh_stack(b, &from->stacks.data[i])) {
            return false;
        }
    }
    add_to(&b->dropped_ms, from->dropped_ms);
    add_to(&b->chosen, from->chosen);
    return true;
}

bool stored_bucket_merge(struct stored_dumps *s, struct stored_bucket **b,
                         struct stored_bucket *from) {
    if (!from || !*b) {
        *b = from ? from : *b;
        return true;
    }
    bool ok = merge_sums(*b, from) && (!from->worst || keep(s, *b, from->worst)) &&
              (!from->newest || keep(s, *b, from->newest));
    for (size_t i = 0; ok && i < from->of_version.len; i++) {
        ok = keep(s, *b, from->of_version.data[i]);
    }
    stored_bucket_free(s, from);
    return ok;
}
