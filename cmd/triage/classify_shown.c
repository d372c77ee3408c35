/* Adds the dumps and sums of a history that the page shows besides counts, and reads and keeps
 * pages of it. */
#include <string.h>

#include "classify/summary/shown.h"
#include "classify/summary/shown_bytes.h"
#include "classify/summary/summary_rows.h"
#include "classify_output.h"
#include "dump/dump.h"
#include "triage/classify_history.h"

/* A sum of one day and version. */
struct view_sum {
    int32_t day;
    size_t version; /* index in the versions of the view */
    struct stored_value value;
};

/* A bucket, or all of them, for which sums and dumps are collected. */
struct history_view {
    struct classify_history *h;
    struct triage *t;
    size_t rank; /* SHOWN_ALL = all buckets together */
    struct keyer *keyer;
    triage_resolve resolve;
    void *resolve_ctx;
    uint64_t dumps;    /* number of dumps in `sums` */
    struct err damage; /* the first damaged dump */
    struct map versions;
    VEC(struct view_sum) sums; /* sums that were found */
};

static enum st note_sum(void *ctx, const struct history_sum *sum, struct err *e) {
    struct history_view *v = ctx;
    size_t version = map_intern(&v->versions, sum->version, strlen(sum->version));
    struct view_sum noted = {sum->day, version, {.dumps = sum->dumps, .ms = sum->ms}};
    v->dumps += sum->dumps;
    return version != SIZE_MAX && VEC_PUSH(&v->sums, noted) ? ST_OK : err_nomem(e);
}

/* Adds the noted sums to the triage. */
static enum st show_sums(struct history_view *v, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < v->sums.len; i++) {
        const struct view_sum *s = &v->sums.data[i];
        char day[HISTORY_DAY_SIZE];
        st = shown_add_value(v->t, v->rank, STORED_VERSION, map_string(&v->versions, s->version),
                             &s->value, e);
        st = st == ST_OK ? shown_add_value(v->t, v->rank, STORED_DAY, history_day_text(s->day, day),
                                           &s->value, e)
                         : st;
    }
    return st;
}

static enum st show_dump(void *ctx, const char *text, size_t len, struct err *e) {
    const struct history_view *v = ctx;
    struct dump d = {0};
    struct stall_key key;
    struct err why = {0};
    enum st st = dump_parse(&d, text, len, &why);
    if (st == ST_OK && v->resolve) {
        st = v->resolve(v->resolve_ctx, &d, &why);
    }
    st = st == ST_OK ? keyer_key(v->keyer, &d, &key, &why) : st;
    st = st == ST_OK ? shown_add_dump(v->t, v->rank, &d, &key, &why) : st;
    dump_release(&d);
    if (st == ST_ERR) {
        return err_set(e, why.code == ERR_NOMEM ? ERR_NOMEM : ERR_FORMAT, "%s", why.text);
    }
    return ST_OK;
}

/* Calls `each` for the bucket's id and for the earlier ids of the same bucket. */
static enum st each_id(struct history_view *v, const struct shown_bucket *b,
                       enum st (*each)(struct history_view *v, uint64_t id, struct err *e),
                       struct err *e) {
    enum st st = each(v, b->id, e);
    for (size_t i = 0; st == ST_OK && i < b->alias_count; i++) {
        st = each(v, b->aliases[i], e);
    }
    return st;
}

static enum st note_sums(struct history_view *v, uint64_t id, struct err *e) {
    return history_sums_of(v->h->h, &v->h->span, id, note_sum, v, e);
}

static enum st show_dumps(struct history_view *v, uint64_t id, struct err *e) {
    struct err damage = {0};
    if (history_dumps_of(v->h->h, &v->h->span, id, show_dump, v, &damage) == ST_OK) {
        return ST_OK;
    }
    if (damage.code != ERR_FORMAT) {
        return err_copy(e, &damage);
    }
    err_set(&v->damage, damage.code, "%s", damage.text);
    return ST_OK;
}

/* Adds a bucket's sums and dumps from the history. The sums are left out if their number of dumps
 * differs from the triage's, because other rules had then sorted the dumps into other buckets. */
static enum st show_bucket(struct history_view *v, const struct shown_bucket *b, struct err *e) {
    v->dumps = v->sums.len = 0;
    enum st st = each_id(v, b, note_sums, e);
    if (st == ST_OK && v->dumps == b->dumps) {
        st = show_sums(v, e);
    }
    return st == ST_OK ? each_id(v, b, show_dumps, e) : st;
}

static enum st show_all(struct history_view *v, struct err *e) {
    v->rank = SHOWN_ALL;
    v->dumps = v->sums.len = 0;
    enum st st = history_sums(v->h->h, &v->h->span, note_sum, v, e);
    return st == ST_OK && v->dumps == shown_dump_count(v->t) ? show_sums(v, e) : st;
}

static enum st number_dumps(struct history_view *v, uint64_t id, struct err *e) {
    return history_number_dumps(v->h->h, id, &v->h->shown_number, e);
}

/* Shows what a kept page has of the first `detail` buckets, if the history still keeps the same
 * dumps of the buckets that a kept page may have in detail. Sets the number of these dumps.
 * ST_NONE: it keeps others, or the page has less. */
static enum st show_kept(struct history_view *v, size_t detail, struct err *e) {
    struct strbuf *shown = &v->h->shown;
    struct shown_bucket b;
    struct err damage = {0};
    enum st st = ST_OK;
    v->h->shown_number = 0;
    for (size_t i = 0; st == ST_OK && i < CLASSIFY_KEPT_DETAIL && shown_bucket_at(v->t, i, &b);
         i++) {
        st = b.id ? each_id(v, &b, number_dumps, e) : ST_OK;
    }
    if (st == ST_OK) {
        st = shown->len
                 ? shown_read(v->t, detail, v->h->shown_number, shown->data, shown->len, &damage)
                 : ST_NONE;
    }
    if (st == ST_ERR && damage.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    return err_is(&damage) ? ST_NONE : st;
}

bool classify_show_history(struct classify_history *h, struct triage *t, size_t detail,
                           struct keyer *k, triage_resolve resolve, void *resolve_ctx,
                           struct cli_failures *failures) {
    struct history_view v = {
        .h = h, .t = t, .keyer = k, .resolve = resolve, .resolve_ctx = resolve_ctx};
    struct shown_bucket b;
    struct err e = {0};
    enum st st = show_kept(&v, detail, &e);
    if (st == ST_OK) {
        map_release(&v.versions);
        return true;
    }
    strbuf_reset(&h->shown);
    st = st == ST_NONE ? show_all(&v, &e) : st;
    for (v.rank = 0; st == ST_OK && v.rank < detail && shown_bucket_at(t, v.rank, &b); v.rank++) {
        st = b.id ? show_bucket(&v, &b, &e) : ST_OK;
    }
    VEC_RELEASE(&v.sums);
    map_release(&v.versions);
    if (st == ST_OK && err_is(&v.damage)) {
        cli_fail(failures, h->path, &v.damage);
    }
    return st == ST_OK || cli_fail(failures, h->path, &e);
}

/* ---- the kept page ---- */

bool classify_read_page(struct classify_history *h, const struct triage_options *o,
                        struct triage **t) {
    struct err e = {0};
    summary_rows_release(&h->read_rows);
    triage_free(*t);
    *t = NULL;
    /* The page is used only if its buckets are those that were kept, with none joined to
     * another. */
    bool found = history_read_page(h->h, &h->span, o, t, &h->rows, &h->shown, &e) == ST_OK &&
                 triage_finish(*t, &e) == ST_OK &&
                 summary_rows_read(&h->read_rows, h->rows.data, h->rows.len, &e) == ST_OK &&
                 summary_rows_fit(*t, &h->read_rows);
    if (!found) {
        summary_rows_release(&h->read_rows);
        strbuf_reset(&h->rows);
        strbuf_reset(&h->shown);
        triage_free(*t);
        *t = NULL;
    }
    return found;
}

enum st classify_add_rows(void *ctx, struct summary *s, struct err *e) {
    struct classify_history *h = ctx;
    struct err damage = {0};
    classify_clear_gone(h);
    if (h->shown.len && shown_read_explained(s, h->shown.data, h->shown.len, &damage) != ST_OK &&
        damage.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    enum st st = summary_take_rows(s, &h->read_rows, e);
    for (size_t i = 0; st == ST_OK && i < h->read_rows.gone.len; i++) {
        st = classify_note_gone(h, &h->read_rows.gone.data[i], e);
    }
    return st;
}

static bool is_first(void *ctx, const char *id, size_t rank) {
    (void)ctx;
    (void)id;
    return rank < CLASSIFY_KEPT_DETAIL;
}

void classify_keep_page(struct classify_history *h, struct triage *t, const struct strbuf *rows,
                        const struct strbuf *shown) {
    struct err e = {0};
    if (triage_keep(t, is_first, NULL, &e) == ST_OK) {
        (void)!history_keep_page(h->h, &h->span, t, rows, shown, &e);
    }
}

void classify_say_narrowed(const struct classify_history *h, const char *text,
                           const struct where *where, struct strbuf *out) {
    char day[HISTORY_DAY_SIZE];
    if (h->span.since != INT32_MIN) {
        strbuf_addf(out, "days from %s on", history_day_text(h->span.since, day));
    }
    if (h->span.until != INT32_MAX) {
        strbuf_addf(out, "%s %s", out->len ? "up to" : "days up to",
                    history_day_text(h->span.until, day));
    }
    if (where && *text) {
        bool marks = where_asks_marks(where);
        strbuf_addf(out, "%s%s with %s%s", out->len ? "; " : "", marks ? "buckets" : "dumps", text,
                    marks ? ", while sums and pictures are of all" : "");
    }
}
