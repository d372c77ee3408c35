/* Writes stall-triage/1 and stall-holders/1 for programs: all that the tables have and more,
 * with integers only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "classify/print/holder_text.h"
#include "classify/print/print_formats.h"
#include "classify/print/usage_print.h"
#include "classify/stats/triage_private.h"

/* Writes a facet as [["5.9", dumps], …]; nothing if no dump has it. */
static void triage_json_put_facet(struct jsonw *w, const struct triage *t, const char *key,
                                  const struct facet *facet) {
    if (!facet->values.len) {
        return;
    }
    jsonw_member_array(w, key);
    for (size_t i = 0; i < facet->values.len; i++) {
        jsonw_begin_array(w);
        jsonw_cstr(w, map_string(&t->strings, facet->values.data[i].text));
        jsonw_u64(w, facet->values.data[i].dumps);
        jsonw_end_array(w);
    }
    jsonw_end_array(w);
}

static void triage_json_put_durations(struct jsonw *w, const struct tally *t) {
    const struct {
        const char *key;
        struct tally_duration d;
    } rows[] = {{"p50_ms", tally_percentile(t, 500)},
                {"p95_ms", tally_percentile(t, 950)},
                {"p99_ms", tally_percentile(t, 990)},
                {"max_ms", tally_max(t)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        jsonw_member_u64(w, rows[i].key, rows[i].d.ms);
    }
    jsonw_member_u64(w, "fatal", t->fatal);
    if (t->fatal) {
        jsonw_member_array(w, "at_least");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (rows[i].d.at_least) {
                jsonw_cstr(w, rows[i].key);
            }
        }
        jsonw_end_array(w);
    }
}

/* Writes the cause that accounts for most of the time, its reason if that of the evidence fits,
 * every cause with its dumps and its time, and the share of the samples that contain the key. */
static void triage_json_put_causes(struct jsonw *w, const struct tally *t,
                                   const struct evidence *evidence) {
    unsigned confidence;
    enum rule_cause main = tally_cause(t, &confidence);
    jsonw_member_cstr(w, "cause", rule_cause_text(main));
    jsonw_member_u64(w, "confidence", confidence);
    if (evidence->reason && *evidence->reason && evidence->cause == main) {
        jsonw_member_cstr(w, "reason", evidence->reason);
    }
    jsonw_member_array(w, "causes");
    for (size_t i = 0; i < t->causes.len; i++) {
        const struct cause_tally *c = &t->causes.data[i];
        jsonw_begin_array(w);
        jsonw_cstr(w, rule_cause_text(c->cause));
        jsonw_u64(w, c->dumps);
        jsonw_u64(w, c->ms);
        jsonw_end_array(w);
    }
    jsonw_end_array(w);
    if (tally_truth(t) >= 0) {
        jsonw_member_u64(w, "truth", (uint64_t)tally_truth(t));
    }
}

static void triage_json_put_tally(struct jsonw *w, const struct triage *tr, const struct tally *t,
                                  uint64_t users) {
    jsonw_member_u64(w, "stalls", t->stalls);
    jsonw_member_u64(w, "dumps", t->dumps);
    jsonw_member_u64(w, "stalled_ms", t->ms);
    if (tally_length_unknown(t)) {
        jsonw_member_u64(w, "length_unknown", tally_length_unknown(t));
    }
    jsonw_member_u64(w, "share_ppm", tally_share_ppm(t, &tr->total, tr->options.weight));
    triage_json_put_durations(w, t);
    if (users) {
        jsonw_member_u64(w, "users", users); /* absent, not 0, if no dump names a user */
    }
    triage_json_put_facet(w, tr, "versions", &t->facets[FACET_VERSION]);
    triage_json_put_facet(w, tr, "oses", &t->facets[FACET_OS]);
    triage_json_put_facet(w, tr, "devices", &t->facets[FACET_DEVICE]);
    if (t->first_time[0]) {
        jsonw_member_object(w, "seen");
        jsonw_member_cstr(w, "first", t->first_time);
        jsonw_member_cstr(w, "last", t->last_time);
        jsonw_end_object(w);
    }
}

static void triage_json_put_frame(struct jsonw *w, const struct bucket_frame *f) {
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "image", f->image_name);
    if (!f->resolved && strcmp(f->image, f->image_name) != 0 && strcmp(f->image, "app") != 0) {
        jsonw_member_cstr(w, "image_id", f->image);
    }
    if (f->function[0]) {
        jsonw_member_cstr(w, f->resolved ? "function" : "offset", f->function);
    } else {
        jsonw_member_bool(w, "framework", true);
        jsonw_member_cstr(w, "function", f->call ? f->call : "");
    }
    jsonw_member_bool(w, "in_app", f->in_app);
    if (f->file) {
        jsonw_member_cstr(w, "file", f->file);
        jsonw_member_u64(w, "line", f->line);
    }
    jsonw_end_object(w);
}

/* Writes what says that buckets which are counted in this one are of its stall. */
static void triage_json_put_joins(struct jsonw *w, const struct bucket *b) {
    if (!b->kinds) {
        return;
    }
    jsonw_member_array(w, "joined_by");
    for (size_t kind = 0; kind < JOIN_KINDS; kind++) {
        if (b->kinds >> kind & 1) {
            jsonw_cstr(w, join_words[kind]);
        }
    }
    jsonw_end_array(w);
}

/* Writes the earlier ids of the bucket, see struct bucket; nothing if there are none. */
static void triage_json_put_aliases(struct jsonw *w, const struct bucket *b) {
    if (!b->aliases.len) {
        return;
    }
    jsonw_member_array(w, "aliases");
    for (size_t i = 0; i < b->aliases.len; i++) {
        char id[KEY_ID_SIZE];
        key_number_text(b->aliases.data[i], id);
        jsonw_cstr(w, id);
    }
    jsonw_end_array(w);
}

static void triage_json_put_evidence(struct jsonw *w, const struct evidence *evidence) {
    if (evidence->id && *evidence->id) {
        jsonw_member_object(w, "evidence");
        jsonw_member_cstr(w, "id", evidence->id);
        jsonw_member_u64(w, "span_ms", evidence->span_ms);
        jsonw_end_object(w);
    }
}

/* Writes, for the bucket "other", how many buckets --max-buckets folded into it; for any other, the
 * most time that it may have taken from the bucket, unless that is 0. */
static void triage_json_put_folding(struct jsonw *w, const struct triage *t, const struct bucket *b,
                                    char level) {
    const struct bucket_set *set = level == 'a' ? &t->actions : &t->level[level - '1'];
    uint64_t error = bucket_error_ms(set, b);
    if (bucket_is_other(b)) {
        jsonw_member_u64(w, "other_buckets", set->fold.buckets);
    } else if (error) {
        jsonw_member_u64(w, "error_ms", error);
    }
}

static void triage_json_put_note(struct jsonw *w, const struct triage_view *v,
                                 const struct bucket *b) {
    struct bucket_note note = {0};
    if (v->note && v->note(v->note_ctx, b->id, &note)) {
        bucket_note_json(w, &note);
    }
}

static void triage_json_put_bucket(struct jsonw *w, const struct triage *t,
                                   const struct triage_view *v, const struct bucket *b,
                                   char level) {
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "id", b->id);
    triage_json_put_folding(w, t, b, level);
    triage_json_put_tally(w, t, b->tally, b->users);
    triage_json_put_causes(w, b->tally, &b->evidence);
    triage_json_put_aliases(w, b);
    triage_json_put_joins(w, b);
    jsonw_member_array(w, "frames");
    for (size_t i = 0; i < b->frame_count; i++) {
        triage_json_put_frame(w, b->frames[i]);
    }
    jsonw_end_array(w);
    triage_json_put_evidence(w, &b->evidence);
    if (level != 'a') {
        jsonw_member_array(w, "actions");
        for (size_t i = 0; i < b->actions.len; i++) {
            jsonw_begin_object(w);
            jsonw_member_cstr(w, "id", t->actions.buckets.data[b->actions.data[i].action]->id);
            jsonw_member_u64(w, "stalled_ms", b->actions.data[i].ms);
            jsonw_end_object(w);
        }
        jsonw_end_array(w);
    }
    if (level == '1') {
        triage_json_put_note(w, v, b);
        jsonw_member_array(w, "level2");
        for (size_t i = 0; i < b->children.len; i++) {
            triage_json_put_bucket(w, t, v, t->level[1].buckets.data[b->children.data[i]], '2');
        }
        jsonw_end_array(w);
    }
    jsonw_end_object(w);
}

static void triage_json_put_set(struct jsonw *w, const struct triage *t, const char *key,
                                const struct bucket_set *set, const struct triage_view *v) {
    size_t top = v->top;
    jsonw_member_array(w, key);
    for (size_t i = 0; i < set->buckets.len && (top == 0 || i < top); i++) {
        triage_json_put_bucket(w, t, v, set->buckets.data[set->ranked[i]], set->level);
    }
    jsonw_end_array(w);
}

static void triage_json_put_thresholds(struct jsonw *w, const struct triage *t) {
    struct kind_threshold *all = triage_thresholds(t);
    if (!all) {
        err_nomem(&w->sink->err);
        return;
    }
    jsonw_member_object(w, "thresholds");
    for (size_t i = 0; i < t->thresholds.len; i++) {
        if (all[i].ms >= 0) {
            jsonw_member_i64(w, all[i].kind, all[i].ms);
        }
    }
    jsonw_end_object(w);
    triage_put_unsaid(w, all, t->thresholds.len);
    free(all);
}

/* Begins the document's object with the members that all reports have: the rules, the cap, the
 * weight if it is stalls, the number of dumps read, the thresholds, and the dumps set apart. */
static void triage_json_put_head(struct jsonw *w, const struct triage *t, const char *format) {
    char hash[17];
    snprintf(hash, sizeof hash, "%012" PRIx64, t->options.rules_hash >> 16);
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "format", format);
    jsonw_member_object(w, "rules");
    jsonw_member_cstr(w, "name", t->options.rules);
    jsonw_member_cstr(w, "hash", hash);
    jsonw_end_object(w);
    jsonw_member_u64(w, "cap_ms", t->options.cap_ms);
    if (t->options.weight == WEIGHT_STALLS) {
        jsonw_member_cstr(w, "weight", "stalls");
    }
    jsonw_member_u64(w, "dumps_read", t->dumps_read);
    if (t->threshold_ms >= 0) {
        jsonw_member_u64(w, "threshold_ms", (uint64_t)t->threshold_ms);
    }
    triage_json_put_thresholds(w, t);
    jsonw_member_object(w, "apart");
    for (int a = APART_CRASH; a < APART_COUNT; a++) {
        jsonw_member_u64(w, triage_apart_text((enum triage_apart)a), t->apart[a]);
    }
    jsonw_end_object(w);
}

void triage_print_json(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct jsonw writer = jsonw_init(out), *w = &writer;
    triage_json_put_head(w, t, "stall-triage/1");
    jsonw_member_array(w, "idle");
    for (size_t i = 0; i < t->idle.buckets.len; i++) {
        const struct bucket *b = t->idle.buckets.data[t->idle.ranked[i]];
        jsonw_begin_object(w);
        jsonw_key(w, "frame");
        triage_json_put_frame(w, b->frames[0]);
        jsonw_member_u64(w, "dumps", b->tally->dumps);
        jsonw_member_u64(w, "ms", b->tally->ms);
        jsonw_member_cstr(w, "example", b->evidence.id ? b->evidence.id : "");
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
    jsonw_member_u64(w, "unresolved", t->unresolved);
    jsonw_member_object(w, "total");
    triage_json_put_tally(w, t, &t->total, t->total_users);
    jsonw_member_u64(w, "level1", t->level[0].buckets.len);
    jsonw_member_u64(w, "level2", t->level[1].buckets.len);
    jsonw_end_object(w);
    usage_put_json(w, t, v, out);
    triage_json_put_set(w, t, "level1", &t->level[0], v);
    triage_json_put_set(w, t, "actions", &t->actions, v);
    jsonw_end_object(w);
    sink_char(out, '\n');
}

/* ---- holders of locks ---- */

static void json_put_holder(struct jsonw *w, const struct triage *t, const struct bucket *b) {
    const struct holder_row row = holder_row_of(b);
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "id", b->id);
    jsonw_member_cstr(w, "status", holder_status_text(row.status));
    if (row.status != HOLDER_UNKNOWN) {
        jsonw_member_cstr(w, "thread", row.thread);
        jsonw_member_cstr(w, "lock", row.lock);
        jsonw_member_array(w, "frames");
        for (size_t i = 0; i < row.frame_count; i++) {
            triage_json_put_frame(w, row.frames[i]);
        }
        jsonw_end_array(w);
        jsonw_member_u64(w, "waiting_threads", b->waiters);
    }
    triage_json_put_tally(w, t, b->tally, b->users);
    triage_json_put_causes(w, b->tally, &b->evidence);
    triage_json_put_evidence(w, &b->evidence);
    jsonw_member_array(w, "actions");
    for (size_t i = 0; i < b->actions.len; i++) {
        const struct bucket *action = t->actions.buckets.data[b->actions.data[i].action];
        jsonw_begin_object(w);
        jsonw_member_cstr(w, "id", action->id);
        jsonw_key(w, "frame");
        triage_json_put_frame(w, action->frames[0]);
        jsonw_member_u64(w, "stalled_ms", b->actions.data[i].ms);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
}

void holders_print_json(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct jsonw writer = jsonw_init(out), *w = &writer;
    const struct bucket_set *set = &t->holders;
    struct holder_sums sums = holder_sums_of(t);
    triage_json_put_head(w, t, "stall-holders/1");
    jsonw_member_object(w, "total");
    triage_json_put_tally(w, t, &t->total, t->total_users);
    jsonw_end_object(w);
    jsonw_member_object(w, "waits");
    jsonw_member_u64(w, "stalls", sums.stalls);
    jsonw_member_u64(w, "dumps", sums.dumps);
    jsonw_member_u64(w, "stalled_ms", sums.ms);
    jsonw_member_u64(w, "unknown_ms", sums.unknown_ms);
    jsonw_member_u64(w, "holders", sums.holders);
    jsonw_end_object(w);
    jsonw_member_array(w, "holders");
    for (size_t i = 0; i < set->buckets.len && (v->top == 0 || i < v->top); i++) {
        json_put_holder(w, t, set->buckets.data[set->ranked[i]]);
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
    sink_char(out, '\n');
}
