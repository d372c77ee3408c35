/* Keeps some dumps of the heaviest buckets, so that commands can show them: for each bucket the
 * dump with the longest span, the newest one, and the one with the longest span in each of its
 * newest versions. Dumps are offered while they are counted, and the choice is made when the counts
 * are written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/keys/version.h"
#include "history/history_private.h"

enum {
    /* Maximum number of offers that one commit writes. If there are more, it writes the
     * heaviest. */
    KEPT_OFFERS = 256,
    KEPT_VERSIONS = 3, /* number of versions of a bucket (the newest) for which a dump is kept */
    KEPT_ROWS = 64,    /* maximum number of stored dumps of a bucket that are examined */
    /* While the copies of offered dumps have more bytes than this, no dump is offered. */
    KEPT_OFFERED = 64 << 20,
    KEPT_BYTES = 32 << 20 /* maximum number of bytes of the table of dumps, as compressed */
};

/* ---- offers ---- */

static void drop_offered(struct history *h, struct offered_dump *d) {
    h->offered_bytes -= d->len;
    free(d->text);
    *d = (struct offered_dump){0};
}

/* Replaces *to by a copy of the dump. ST_ERR: out of memory; *to is then empty. */
static enum st copy_offered(struct history *h, struct offered_dump *to, const struct dump *d,
                            int64_t span_ms, size_t cell, struct err *e) {
    char *text = malloc(d->text_len + 1);
    drop_offered(h, to);
    if (!text) {
        return err_nomem(e);
    }
    memcpy(text, d->text, d->text_len);
    to->len = d->text_len;
    to->text = text;
    h->offered_bytes += to->len;
    to->id = dump_id_hash(d->id);
    to->user = d->user && *d->user ? hash_bytes(d->user, strlen(d->user)) : 0;
    to->span_ms = span_ms;
    to->cell = cell;
    snprintf(to->time, sizeof to->time, "%s", d->time ? d->time : "");
    return ST_OK;
}

/* Returns the newest dump of an offer. */
static const struct offered_dump *offer_newest(const struct dump_offer *o) {
    return o->newest.text ? &o->newest : &o->worst;
}

static bool is_longer(int64_t span, uint64_t id, int64_t than_span, uint64_t than_id) {
    return span != than_span ? span > than_span : id < than_id;
}

/* Finds or makes the offer of a bucket and a version. NULL: out of memory. */
static struct dump_offer *open_offer(struct history *h, uint64_t bucket, const char *version) {
    bool added = false;
    strbuf_clear(&h->scratch);
    strbuf_add(&h->scratch, &bucket, sizeof bucket);
    strbuf_addstr(&h->scratch, version ? version : "");
    const struct map_entry *entry =
        h->scratch.failed
            ? NULL
            : map_put(&h->by_offer, h->scratch.data, h->scratch.len, h->offers.len, &added);
    if (!entry || (added && !VEC_PUSH(&h->offers, (struct dump_offer){.bucket = bucket}))) {
        return NULL;
    }
    return &h->offers.data[entry->value];
}

/* Copies the dump into the offer if it is the longest or the newest dump of the offer. A dump that
 * is both is copied only once. */
static enum st take_offer(struct history *h, struct dump_offer *o, const struct dump *d,
                          int64_t span, size_t cell, struct err *e) {
    uint64_t id = dump_id_hash(d->id);
    const struct offered_dump *newest = offer_newest(o);
    int order = newest->text ? strcmp(d->time ? d->time : "", newest->time) : 1;
    bool newer = order > 0 || (order == 0 && id < newest->id);
    if (o->worst.text && !is_longer(span, id, o->worst.span_ms, o->worst.id)) {
        return newer ? copy_offered(h, &o->newest, d, span, cell, e) : ST_OK;
    }
    if (newer) {
        drop_offered(h, &o->newest);
    } else if (!o->newest.text) {
        o->newest = o->worst;
        o->worst = (struct offered_dump){0};
    }
    return copy_offered(h, &o->worst, d, span, cell, e);
}

enum st history_offer_dump(struct history *h, const struct dump *d, const struct stall_key *key,
                           size_t cell, struct err *e) {
    int64_t span = dump_span_ms(d);
    if (!d->id || !*d->id || d->text_len > HISTORY_DUMP_MAX || h->offered_bytes > KEPT_OFFERED) {
        return ST_OK; /* the dump is not offered; without an id it could not be selected later */
    }
    strbuf_clear(&h->scratch);
    key_text(&key->level[0], &h->scratch);
    enum st st = strbuf_check(&h->scratch, e);
    if (st != ST_OK) {
        return st;
    }
    struct dump_offer *o =
        open_offer(h, key_number('1', h->scratch.data, h->scratch.len), d->app.version);
    if (!o) {
        return err_nomem(e);
    }
    o->ms += span > 0 ? (uint64_t)span : 0;
    return take_offer(h, o, d, span, cell, e);
}

void history_drop_offers(struct history *h) {
    for (size_t i = 0; i < h->offers.len; i++) {
        drop_offered(h, &h->offers.data[i].worst);
        drop_offered(h, &h->offers.data[i].newest);
    }
    h->offers.len = 0;
    map_clear(&h->by_offer);
}

/* ---- writing ---- */

/* A row of the table of dumps, or a dump that is offered to the table, read to choose which of them
 * stay. */
struct kept_dump {
    int64_t id;
    char version[64], time[OFFERED_TIME];
    int64_t span_ms;
    uint64_t bytes;                  /* size of the row's compressed text; 0 for an offered dump */
    const struct offered_dump *from; /* the offered dump; NULL = a row */
    bool keep;
};

static enum st list_kept(struct history *h, uint64_t bucket, struct kept_dump rows[KEPT_ROWS],
                         size_t *count, struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_DUMP_LIST, e);
    *count = 0;
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, bucket);
    enum st st = ST_NONE;
    while (*count < KEPT_ROWS && (st = sql_next(s, e)) == ST_OK) {
        struct kept_dump *k = &rows[(*count)++];
        *k = (struct kept_dump){.id = sql_number(s, 0),
                                .span_ms = sql_number(s, 3),
                                .bytes = (uint64_t)sql_number(s, 4)};
        snprintf(k->version, sizeof k->version, "%s", sql_text(s, 1));
        snprintf(k->time, sizeof k->time, "%s", sql_text(s, 2));
    }
    sql_reset(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Orders by version, the newest first, then by span, the longest first, then by id. */
static int by_kept_version(const void *a, const void *b) {
    const struct kept_dump *x = a, *y = b;
    int order = version_compare(y->version, x->version);
    order = order ? order : COMPARE(y->span_ms, x->span_ms);
    return order ? order : COMPARE((uint64_t)x->id, (uint64_t)y->id);
}

/* Marks the dumps that stay: the longest of each of the newest KEPT_VERSIONS versions, the
 * longest of all, and the newest. */
static void choose_kept(struct kept_dump *rows, size_t count) {
    size_t worst = 0, newest = 0, versions = 0;
    qsort(rows, count, sizeof *rows, by_kept_version);
    for (size_t i = 0; i < count; i++) {
        const struct kept_dump *k = &rows[i];
        bool first = i == 0 || strcmp(k->version, rows[i - 1].version) != 0;
        rows[i].keep = first && versions < KEPT_VERSIONS;
        versions += first;
        if (is_longer(k->span_ms, (uint64_t)k->id, rows[worst].span_ms, (uint64_t)rows[worst].id)) {
            worst = i;
        }
        int order = strcmp(k->time, rows[newest].time);
        newest =
            order > 0 || (order == 0 && (uint64_t)k->id < (uint64_t)rows[newest].id) ? i : newest;
    }
    if (count) {
        rows[worst].keep = rows[newest].keep = true;
    }
}

static enum st drop_row(struct history *h, const struct kept_dump *row, struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_DUMP_DROP, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, row->id);
    h->kept.bytes -= row->bytes < h->kept.bytes ? row->bytes : h->kept.bytes;
    h->kept.rows -= h->kept.rows > 0;
    return sql_step(s, e);
}

static enum st write_kept_dump(struct history *h, uint64_t bucket, const struct offered_dump *d,
                               struct err *e) {
    const struct dump raw = {.text = d->text, .text_len = d->len};
    struct sink sink = sink_to_strbuf(&h->text);
    strbuf_reset(&h->text);
    dump_write_raw(&raw, &sink);
    enum st st = sink_close(&sink, e);
    st = st == ST_OK ? history_pack_dump(h, h->text.data, h->text.len, e) : st;
    struct sql_statement *s = st == ST_OK ? history_statement(h, HISTORY_DUMP_PUT, e) : NULL;
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, d->id);
    sql_bind_count(s, 2, bucket);
    sql_bind_number(s, 3, h->cells.data[d->cell].row);
    sql_bind_text(s, 4, d->time);
    sql_bind_number(s, 5, d->span_ms);
    if (d->user) {
        sql_bind_count(s, 6, d->user);
    } else {
        sql_bind_none(s, 6);
    }
    sql_bind_bytes(s, 7, h->zip.data, h->zip.len);
    st = sql_step(s, e);
    if (st == ST_OK && sql_changed(h->file)) {
        h->kept.bytes += h->zip.len;
        h->kept.rows++;
    }
    return st;
}

/* Appends an offered dump to the rows, unless it is one of them. */
static void list_offered(const struct history *h, const struct offered_dump *d,
                         struct kept_dump *rows, size_t *count) {
    for (size_t i = 0; i < *count; i++) {
        if (rows[i].id == (int64_t)d->id) {
            return;
        }
    }
    struct kept_dump *k = &rows[(*count)++];
    *k = (struct kept_dump){.id = (int64_t)d->id, .span_ms = d->span_ms, .from = d};
    snprintf(k->version, sizeof k->version, "%s", h->cells.data[d->cell].version);
    snprintf(k->time, sizeof k->time, "%s", d->time);
}

/* Writes the dumps of an offer that are to be kept, and drops the rows of the bucket that are not
 * to be kept any longer. */
static enum st write_offer(struct history *h, const struct dump_offer *o, struct err *e) {
    struct kept_dump *rows = calloc(KEPT_ROWS + 2, sizeof *rows);
    size_t count = 0;
    enum st st = rows ? list_kept(h, o->bucket, rows, &count, e) : err_nomem(e);
    if (st == ST_OK) {
        list_offered(h, &o->worst, rows, &count);
        if (o->newest.text) {
            list_offered(h, &o->newest, rows, &count);
        }
        choose_kept(rows, count);
    }
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        const struct kept_dump *k = &rows[i];
        if (k->keep == !k->from) {
            continue; /* a row that stays, or an offered dump that is not written */
        }
        st = k->from ? write_kept_dump(h, o->bucket, k->from, e) : drop_row(h, k, e);
    }
    free(rows);
    return st;
}

static int by_offer_weight(const void *a, const void *b) {
    const struct dump_offer *x = a, *y = b;
    int order = COMPARE(y->ms, x->ms);
    order = order ? order : COMPARE(x->bucket, y->bucket);
    return order ? order : COMPARE(x->worst.id, y->worst.id);
}

/* Sets h->kept.rows and h->kept.bytes to the two numbers that a query returns. */
static enum st count_kept(struct history *h, const char *query, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, query, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = sql_next(s, e);
    h->kept.rows = st == ST_OK ? (uint64_t)sql_number(s, 0) : 0;
    h->kept.bytes = st == ST_OK ? (uint64_t)sql_number(s, 1) : 0;
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

static const char kept_all[] = "SELECT count(*), sum(length(text)) FROM dump";

/* Sets h->kept.rows to the number of rows of the table, and h->kept.bytes to the number of bytes
 * from the fact that the last commit has left. Counting the bytes would read all of the table, so
 * they are counted only if the fact is missing, malformed or above KEPT_BYTES, or if the fact has
 * another number of rows than the table. */
static enum st read_kept(struct history *h, struct err *e) {
    uint64_t rows, bytes;
    strbuf_reset(&h->scratch);
    enum st st = history_fact(h, "dumps", &h->scratch, e);
    const char *text = strbuf_cstr(&h->scratch), *space = strchr(text, ' ');
    bool told = st == ST_OK && space &&
                parse_u64(text, (size_t)(space - text), UINT64_MAX, &rows) &&
                parse_u64(space + 1, strlen(space + 1), KEPT_BYTES, &bytes);
    st = st == ST_ERR ? ST_ERR : count_kept(h, "SELECT count(*), 0 FROM dump", e);
    if (st == ST_OK && told && rows == h->kept.rows) {
        h->kept.bytes = bytes;
        return ST_OK;
    }
    return st == ST_OK ? count_kept(h, kept_all, e) : st;
}

static enum st note_kept(struct history *h, struct err *e) {
    char text[48];
    snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, h->kept.rows, h->kept.bytes);
    return history_set_fact(h, "dumps", text, e);
}

/* If the table has more than KEPT_BYTES, drops all dumps of one bucket after another, the bucket
 * with the least stalled time first, until at most 3/4 of KEPT_BYTES are left. */
static enum st drop_lightest(struct history *h, struct err *e) {
    struct sql_statement *s;
    VEC(int64_t) buckets = {0};
    enum st st = h->kept.bytes > KEPT_BYTES ? count_kept(h, kept_all, e) : ST_OK, more = ST_NONE;
    uint64_t bytes = h->kept.bytes;
    if (st != ST_OK || bytes <= KEPT_BYTES) {
        return st;
    }
    if (sql_prepare(h->file, &s,
                    "SELECT d.bucket, sum(length(d.text)), (SELECT total(b.stalled_ms)"
                    " FROM bucket_day b WHERE b.bucket = d.bucket) AS ms"
                    " FROM dump d GROUP BY d.bucket ORDER BY ms, d.bucket",
                    e) != ST_OK) {
        return ST_ERR;
    }
    while (st == ST_OK && bytes > KEPT_BYTES / 4 * 3 && (more = sql_next(s, e)) == ST_OK) {
        uint64_t of_bucket = (uint64_t)sql_number(s, 1);
        bytes -= of_bucket < bytes ? of_bucket : bytes;
        st = VEC_PUSH(&buckets, sql_number(s, 0)) ? ST_OK : err_nomem(e);
    }
    sql_finish(s);
    st = more == ST_ERR ? ST_ERR : st;
    if (st == ST_OK &&
        (st = sql_prepare(h->file, &s, "DELETE FROM dump WHERE bucket = ?1", e)) == ST_OK) {
        for (size_t i = 0; st == ST_OK && i < buckets.len; i++) {
            sql_reset(s);
            sql_bind_number(s, 1, buckets.data[i]);
            st = sql_step(s, e);
        }
        sql_finish(s);
    }
    VEC_RELEASE(&buckets);
    return st == ST_OK ? count_kept(h, kept_all, e) : st;
}

enum st history_write_dumps(struct history *h, struct err *e) {
    if (!h->offers.len) {
        return ST_OK;
    }
    enum st st = read_kept(h, e);
    st = st == ST_OK ? history_find_dump_shared(h, e) : st;
    qsort(h->offers.data, h->offers.len, sizeof *h->offers.data, by_offer_weight);
    for (size_t i = 0; st == ST_OK && i < h->offers.len && i < KEPT_OFFERS; i++) {
        st = write_offer(h, &h->offers.data[i], e);
    }
    st = st == ST_OK ? drop_lightest(h, e) : st;
    return st == ST_OK ? note_kept(h, e) : st;
}

/* ---- reading ---- */

enum st history_dumps_of(struct history *h, const struct history_span *span, uint64_t bucket,
                         history_dump_visit visit, void *ctx, struct err *e) {
    if (h->version < 3) {
        return ST_OK;
    }
    struct sql_statement *s = history_statement(h, HISTORY_DUMP_GET, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, bucket);
    enum st st = ST_OK, more = ST_OK;
    struct err first = {0};
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        struct err damage = {0};
        int32_t day;
        st = history_cell_is_wanted(span, s, 1, &day, e);
        if (st == ST_OK) {
            size_t len;
            const void *bytes = sql_bytes(s, 4, &len);
            st = history_dump_text(h, bytes, len, &damage);
            st = st == ST_OK ? visit(ctx, strbuf_cstr(&h->text), h->text.len, &damage) : st;
        }
        if (err_is(&damage) && damage.code != ERR_FORMAT) {
            err_copy(e, &damage);
        } else if (err_is(&damage)) {
            err_set(&first, ERR_FORMAT, "the history is damaged: dump %" PRId64 ": %s",
                    sql_number(s, 0), damage.text);
            st = ST_OK;
        }
    }
    sql_reset(s);
    if (st == ST_ERR || more == ST_ERR) {
        return ST_ERR;
    }
    return err_is(&first) ? err_copy(e, &first) : ST_OK;
}

enum st history_number_dumps(struct history *h, uint64_t bucket, uint64_t *number, struct err *e) {
    if (h->version < 3) {
        return ST_OK;
    }
    struct sql_statement *s = history_statement(h, HISTORY_DUMP_IDS, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, bucket);
    enum st st;
    *number = hash_u64(*number ^ bucket);
    while ((st = sql_next(s, e)) == ST_OK) {
        *number = hash_u64(*number ^ (uint64_t)sql_number(s, 0)) + 1;
    }
    sql_reset(s);
    return st == ST_NONE ? ST_OK : ST_ERR;
}

/* ---- sums ---- */

/* Passes each row of a statement (day, version, build, dumps, stalled_ms) in the span to visit. */
static enum st each_sum(struct sql_statement *s, const struct history_span *span,
                        history_sum_visit visit, void *ctx, struct err *e) {
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        struct history_sum sum = {.version = sql_text(s, 1),
                                  .dumps = (uint64_t)sql_number(s, 3),
                                  .ms = (uint64_t)sql_number(s, 4)};
        st = history_cell_is_wanted(span, s, 0, &sum.day, e);
        st = st == ST_OK ? visit(ctx, &sum, e) : st;
    }
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

enum st history_sums_of(struct history *h, const struct history_span *span, uint64_t bucket,
                        history_sum_visit visit, void *ctx, struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_SUMS_GET, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, bucket);
    enum st st = each_sum(s, span, visit, ctx, e);
    sql_reset(s);
    return st;
}

enum st history_sums(struct history *h, const struct history_span *span, history_sum_visit visit,
                     void *ctx, struct err *e) {
    struct sql_statement *s;
    const char *text = h->version < 3
                           ? "SELECT c.day, c.version, c.build, CAST(total(d.dumps) AS INTEGER),"
                             " CAST(total(d.stalled_ms) AS INTEGER)"
                             " FROM bucket_day d JOIN cell c ON c.id = d.cell GROUP BY c.id"
                             " ORDER BY c.day DESC"
                           : "SELECT c.day, c.version, c.build, s.dumps, s.stalled_ms"
                             " FROM cell_sum s JOIN cell c ON c.id = s.cell ORDER BY c.day DESC";
    if (sql_prepare(h->file, &s, text, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = each_sum(s, span, visit, ctx, e);
    sql_finish(s);
    return st;
}
