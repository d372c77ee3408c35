/* stall-triage/1: the same as the table, and more, for programs. Integers only. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "classify/print/print_formats.h"
#include "classify/stats/triage_private.h"

static void key_u64(struct jsonw *w, const char *key, uint64_t v) {
    jsonw_key(w, key);
    jsonw_u64(w, v);
}

static void key_str(struct jsonw *w, const char *key, const char *s) {
    jsonw_key(w, key);
    jsonw_cstr(w, s);
}

/* [["5.9", dumps], …]; nothing where no dump says it. */
static void triage_json_put_facet(struct jsonw *w, const struct triage *t, const char *key,
                                  const struct facet *facet) {
    if (!facet->values.len) {
        return;
    }
    jsonw_key(w, key);
    jsonw_begin_array(w);
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
        key_u64(w, rows[i].key, rows[i].d.ms);
    }
    key_u64(w, "fatal", t->fatal);
    if (t->fatal) {
        jsonw_key(w, "at_least");
        jsonw_begin_array(w);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (rows[i].d.at_least) {
                jsonw_cstr(w, rows[i].key);
            }
        }
        jsonw_end_array(w);
    }
}

/* What most of the time is due to, and every cause with its dumps and its time. */
static void triage_json_put_causes(struct jsonw *w, const struct tally *t,
                                   const struct evidence *evidence) {
    unsigned confidence;
    enum rule_cause main = tally_cause(t, &confidence);
    key_str(w, "cause", rule_cause_text(main));
    key_u64(w, "confidence", confidence);
    if (evidence->reason && *evidence->reason && evidence->cause == main) {
        key_str(w, "reason", evidence->reason);
    }
    jsonw_key(w, "causes");
    jsonw_begin_array(w);
    for (int c = 0; c < CAUSE_COUNT; c++) {
        if (t->causes[c].dumps) {
            jsonw_begin_array(w);
            jsonw_cstr(w, rule_cause_text((enum rule_cause)c));
            jsonw_u64(w, t->causes[c].dumps);
            jsonw_u64(w, t->causes[c].ms);
            jsonw_end_array(w);
        }
    }
    jsonw_end_array(w);
    if (tally_truth(t) >= 0) {
        key_u64(w, "truth", (uint64_t)tally_truth(t));
    }
}

static void triage_json_put_tally(struct jsonw *w, const struct triage *tr, const struct tally *t,
                                  uint64_t users) {
    uint64_t total_ms = tr->total.ms;
    key_u64(w, "stalls", t->stalls);
    key_u64(w, "dumps", t->dumps);
    key_u64(w, "stalled_ms", t->ms);
    key_u64(w, "share_ppm",
            total_ms ? (uint64_t)((unsigned __int128)t->ms * 1000000 / total_ms) : 0);
    triage_json_put_durations(w, t);
    if (users) {
        key_u64(w, "users", users); /* absent, not 0, where no dump names a user */
    }
    triage_json_put_facet(w, tr, "versions", &t->facets[FACET_VERSION]);
    triage_json_put_facet(w, tr, "oses", &t->facets[FACET_OS]);
    triage_json_put_facet(w, tr, "devices", &t->facets[FACET_DEVICE]);
    if (t->first_time[0]) {
        jsonw_key(w, "seen");
        jsonw_begin_object(w);
        key_str(w, "first", t->first_time);
        key_str(w, "last", t->last_time);
        jsonw_end_object(w);
    }
}

static void triage_json_put_frame(struct jsonw *w, const struct bucket_frame *f) {
    jsonw_begin_object(w);
    key_str(w, "image", f->image_name);
    if (!f->resolved && strcmp(f->image, f->image_name) != 0 && strcmp(f->image, "app") != 0) {
        key_str(w, "image_id", f->image);
    }
    key_str(w, f->resolved ? "function" : "offset", f->function);
    jsonw_key(w, "in_app");
    jsonw_bool(w, f->in_app);
    if (f->file) {
        key_str(w, "file", f->file);
        key_u64(w, "line", f->line);
    }
    jsonw_end_object(w);
}

/* Ids that the bucket had before names came. */
static void triage_json_put_aliases(struct jsonw *w, const struct bucket *b) {
    if (!b->aliases.len) {
        return;
    }
    jsonw_key(w, "aliases");
    jsonw_begin_array(w);
    for (size_t i = 0; i < b->aliases.len; i++) {
        char id[KEY_ID_SIZE];
        key_number_text(b->aliases.data[i], id);
        jsonw_cstr(w, id);
    }
    jsonw_end_array(w);
}

static void triage_json_put_bucket(struct jsonw *w, const struct triage *t, const struct bucket *b,
                                   char level) {
    jsonw_begin_object(w);
    key_str(w, "id", b->id);
    triage_json_put_tally(w, t, &b->tally, b->users);
    triage_json_put_causes(w, &b->tally, &b->evidence);
    triage_json_put_aliases(w, b);
    jsonw_key(w, "frames");
    jsonw_begin_array(w);
    for (size_t i = 0; i < b->frame_count; i++) {
        triage_json_put_frame(w, &b->frames[i]);
    }
    jsonw_end_array(w);
    if (b->evidence.id && *b->evidence.id) {
        jsonw_key(w, "evidence");
        jsonw_begin_object(w);
        key_str(w, "id", b->evidence.id);
        key_u64(w, "span_ms", b->evidence.span_ms);
        jsonw_end_object(w);
    }
    if (level != 'a') {
        jsonw_key(w, "actions");
        jsonw_begin_array(w);
        for (size_t i = 0; i < b->actions.len; i++) {
            jsonw_begin_object(w);
            key_str(w, "id", t->actions.buckets.data[b->actions.data[i].action]->id);
            key_u64(w, "stalled_ms", b->actions.data[i].ms);
            jsonw_end_object(w);
        }
        jsonw_end_array(w);
    }
    if (level == '1') {
        jsonw_key(w, "level2");
        jsonw_begin_array(w);
        for (size_t i = 0; i < b->children.len; i++) {
            triage_json_put_bucket(w, t, t->level[1].buckets.data[b->children.data[i]], '2');
        }
        jsonw_end_array(w);
    }
    jsonw_end_object(w);
}

static void triage_json_put_set(struct jsonw *w, const struct triage *t, const char *key,
                                const struct bucket_set *set, size_t top) {
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t i = 0; i < set->buckets.len && (top == 0 || i < top); i++) {
        triage_json_put_bucket(w, t, set->buckets.data[set->ranked[i]], set->level);
    }
    jsonw_end_array(w);
}

void triage_print_json(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct jsonw writer = jsonw_init(out), *w = &writer;
    char hash[17];
    snprintf(hash, sizeof hash, "%012" PRIx64, t->options.rules_hash >> 16);
    jsonw_begin_object(w);
    key_str(w, "format", "stall-triage/1");
    jsonw_key(w, "rules");
    jsonw_begin_object(w);
    key_str(w, "name", t->options.rules);
    key_str(w, "hash", hash);
    jsonw_end_object(w);
    key_u64(w, "cap_ms", t->options.cap_ms);
    key_u64(w, "dumps_read", t->dumps_read);
    if (t->threshold_ms >= 0) {
        key_u64(w, "threshold_ms", (uint64_t)t->threshold_ms);
    }
    jsonw_key(w, "apart");
    jsonw_begin_object(w);
    for (int a = APART_CRASH; a < APART_COUNT; a++) {
        key_u64(w, triage_apart_text((enum triage_apart)a), t->apart[a]);
    }
    jsonw_end_object(w);
    key_u64(w, "unresolved", t->unresolved);
    jsonw_key(w, "total");
    jsonw_begin_object(w);
    triage_json_put_tally(w, t, &t->total, t->total_users);
    key_u64(w, "level1", t->level[0].buckets.len);
    key_u64(w, "level2", t->level[1].buckets.len);
    jsonw_end_object(w);
    triage_json_put_set(w, t, "level1", &t->level[0], v->top);
    triage_json_put_set(w, t, "actions", &t->actions, v->top);
    jsonw_end_object(w);
    sink_char(out, '\n');
}
