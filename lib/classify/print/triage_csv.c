/* Writes comma-separated values (RFC 4180): a row for each bucket of each level and each action,
 * or for each holder of a lock. */
#include "base/escape.h"
#include "classify/print/holder_text.h"
#include "classify/print/triage_text.h"
#include "classify/print/usage_print.h"

struct csv {
    const struct triage *t;
    struct sink *out;
    struct strbuf text; /* scratch */
    bool comma;
    bool plain; /* true: a cell that spreadsheets would run as a formula is not changed */
};

static void csv_put(struct csv *c, const char *s) {
    sink_str(c->out, c->comma ? "," : "");
    c->comma = true;
    csv_put_field(c->out, s, c->plain);
}

static void csv_put_u64(struct csv *c, uint64_t v) {
    strbuf_clear(&c->text);
    strbuf_addu64(&c->text, v);
    csv_put(c, strbuf_cstr(&c->text));
}

static void end_row(struct csv *c) {
    sink_str(c->out, "\r\n");
    c->comma = false;
}

/* Writes the first and the last value of a facet in ascending order. */
static void put_range(struct csv *c, const struct facet *facet) {
    size_t count = facet->values.len;
    const struct facet_value *v = facet->values.data;
    csv_put(c, count ? map_string(&c->t->strings, v[0].text) : "");
    csv_put(c, count ? map_string(&c->t->strings, v[count - 1].text) : "");
}

static void csv_put_title(struct csv *c, const struct bucket *b) {
    strbuf_clear(&c->text);
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_addstr(&c->text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&c->text, b->frames[i]);
    }
    csv_put(c, strbuf_cstr(&c->text));
}

/* Writes the action that accounts for most of the bucket's time. */
static void csv_put_action(struct csv *c, const struct bucket *b) {
    strbuf_clear(&c->text);
    if (b->actions.len) {
        uint32_t main = b->actions.data[0].action;
        text_add_frame(&c->text, c->t->actions.buckets.data[main]->frames[0]);
    }
    csv_put(c, strbuf_cstr(&c->text));
}

static void put_cause(struct csv *c, const struct bucket *b) {
    unsigned confidence;
    csv_put(c, rule_cause_text(tally_cause(b->tally, &confidence)));
    csv_put_u64(c, confidence);
    csv_put(c, text_reason(b));
    if (tally_truth(b->tally) >= 0) {
        csv_put_u64(c, (uint64_t)tally_truth(b->tally));
    } else {
        csv_put(c, "");
    }
}

/* Writes the numbers of a bucket. */
static void csv_put_numbers(struct csv *c, const struct bucket *b) {
    const struct tally *t = b->tally;
    csv_put_u64(c, tally_share_ppm(t, &c->t->total, c->t->options.weight));
    csv_put_u64(c, t->ms);
    csv_put_u64(c, t->stalls);
    csv_put_u64(c, t->dumps);
    if (b->users) {
        csv_put_u64(c, b->users);
    } else {
        csv_put(c, ""); /* empty, not 0: the number of users is unknown */
    }
    csv_put_u64(c, tally_percentile(t, 500).ms);
    csv_put_u64(c, tally_percentile(t, 950).ms);
    csv_put_u64(c, tally_percentile(t, 990).ms);
    csv_put_u64(c, t->max_ms);
    csv_put_u64(c, t->fatal);
}

/* Writes the other columns of a bucket: place, versions, systems, main device, times, example, main
 * action, and the stalls of unknown length. */
static void csv_put_rest(struct csv *c, const struct bucket *b) {
    const struct tally *t = b->tally;
    strbuf_clear(&c->text);
    text_add_place(&c->text, b);
    csv_put(c, strbuf_cstr(&c->text));
    put_range(c, &t->facets[FACET_VERSION]);
    put_range(c, &t->facets[FACET_OS]);
    csv_put(c, t->facets[FACET_DEVICE].values.len
                   ? map_string(&c->t->strings, t->facets[FACET_DEVICE].values.data[0].text)
                   : "");
    csv_put(c, t->first_time);
    csv_put(c, t->last_time);
    csv_put(c, b->evidence.id ? b->evidence.id : "");
    csv_put_action(c, b);
    csv_put_u64(c, tally_length_unknown(t));
}

/* Writes the row of a bucket; `set` is the set that the bucket is in. */
static void csv_put_row(struct csv *c, const char *level, const struct bucket_set *set,
                        const struct bucket *b, const char *parent) {
    csv_put(c, level);
    csv_put(c, b->id);
    csv_put(c, parent);
    csv_put_numbers(c, b);
    put_cause(c, b);
    csv_put_title(c, b);
    csv_put_rest(c, b);
    if (triage_is_folded(c->t)) {
        csv_put_u64(c, bucket_error_ms(set, b));
    }
    end_row(c);
}

void triage_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out) {
    static const char head[] =
        "level,id,parent,share_ppm,stalled_ms,stalls,dumps,users,p50_ms,p95_ms,p99_ms,max_ms,fatal,"
        "cause,confidence,reason,truth,title,place,first_version,last_version,first_"
        "os,last_os,"
        "main_device,first_seen,last_seen,evidence,action,length_unknown";
    struct csv c = {.t = t, .out = out, .plain = v->raw_csv};
    if (v->facets) {
        usage_print_csv(t, v, out);
        return;
    }
    const struct bucket_set *set = &t->level[0];
    sink_str(out, head);
    sink_str(out, triage_is_folded(t) ? ",error_ms" : "");
    end_row(&c);
    for (size_t i = 0; i < set->buckets.len && (!v->top || i < v->top); i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        csv_put_row(&c, "1", set, b, "");
        for (size_t k = 0; k < b->children.len; k++) {
            const struct bucket *child = t->level[1].buckets.data[b->children.data[k]];
            csv_put_row(&c, "2", &t->level[1], child, b->id);
        }
    }
    for (size_t i = 0; i < t->actions.buckets.len && (!v->top || i < v->top); i++) {
        const struct bucket *action = t->actions.buckets.data[t->actions.ranked[i]];
        csv_put_row(&c, "action", &t->actions, action, "");
    }
    if (c.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&c.text);
}

/* ---- holders of locks ---- */

static void csv_put_holder(struct csv *c, const struct bucket *b) {
    const struct holder_row row = holder_row_of(b);
    csv_put(c, b->id);
    csv_put(c, holder_status_text(row.status));
    csv_put(c, row.thread);
    csv_put(c, row.lock);
    strbuf_clear(&c->text);
    holder_add_stack(&c->text, &row);
    csv_put(c, strbuf_cstr(&c->text));
    if (row.status == HOLDER_UNKNOWN) {
        csv_put(c, "");
    } else {
        csv_put_u64(c, b->waiters);
    }
    csv_put_numbers(c, b);
    csv_put(c, text_reason(b));
    csv_put_rest(c, b);
    end_row(c);
}

void holders_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out) {
    static const char head[] =
        "id,status,thread,lock,stack,waiting_threads,share_ppm,stalled_ms,stalls,dumps,users,"
        "p50_ms,p95_ms,p99_ms,max_ms,fatal,reason,place,first_version,last_version,"
        "first_os,last_"
        "os,"
        "main_device,first_seen,last_seen,evidence,action,length_unknown";
    struct csv c = {.t = t, .out = out, .plain = v->raw_csv};
    const struct bucket_set *set = &t->holders;
    sink_str(out, head);
    end_row(&c);
    for (size_t i = 0; i < set->buckets.len && (!v->top || i < v->top); i++) {
        csv_put_holder(&c, set->buckets.data[set->ranked[i]]);
    }
    if (c.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&c.text);
}
