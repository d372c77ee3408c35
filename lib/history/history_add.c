/* Adds dumps and session records to a history, and counts each of them only once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "classify/print/bucket_list.h"
#include "classify/rules/causes.h"
#include "history/history_private.h"

enum {
    EQUAL_PARTS = 3, /* parts of a size class that are merged with the next part of the class */
    SIZE_STEP = 4    /* ratio of the bounds of a size class; EQUAL_PARTS and the next part have at
                        least the dumps of the next class */
};

/* ---- options ---- */

static enum st check_cap(struct history *h, uint64_t cap_ms, struct err *e) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, cap_ms);
    strbuf_reset(&h->scratch);
    enum st st = history_fact(h, "cap_ms", &h->scratch, e);
    if (st == ST_OK && strcmp(strbuf_cstr(&h->scratch), text) != 0) {
        return err_set(e, ERR_USAGE,
                       "the history counts up to %s ms of a stall, and this run %s ms",
                       strbuf_cstr(&h->scratch), text);
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

enum st history_set_options(struct history *h, const struct triage_options *o, struct err *e) {
    if (o->where) {
        return err_set(e, ERR_USAGE, "a history is of all dumps: a filter is for reading it");
    }
    h->options = *o;
    h->rules = 0;
    return check_cap(h, o->cap_ms, e);
}

/* Sets h->rules to the row of the rules with this hash. ST_NONE: there is none. */
static enum st find_rules(struct history *h, const char *hash, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT id FROM rules WHERE hash = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, hash);
    enum st st = sql_next(s, e);
    h->rules = st == ST_OK ? sql_number(s, 0) : h->rules;
    sql_finish(s);
    return st;
}

/* Adds a row of rules, and drops the former ids that several buckets have. Former ids are computed
 * by the rules and the making of keys of their time, which may have given one to stalls that have
 * nothing in common; what these rules still give comes back with the next dumps of its buckets. */
static enum st put_rules(struct history *h, const char *hash, struct err *e) {
    struct sql_statement *s;
    if (sql_run(h->file,
                "DELETE FROM alias WHERE id IN"
                " (SELECT id FROM alias GROUP BY id HAVING count(*) > 1)",
                e) != ST_OK ||
        sql_prepare(h->file, &s, "INSERT INTO rules(hash, words) VALUES(?1, ?2)", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, hash);
    sql_bind_text(s, 2, h->options.rules);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st == ST_OK ? find_rules(h, hash, e) : st;
}

/* Sets h->rules to the row of the options' rules, which is added if it is missing, and stores the
 * cap, which is refused if the history has another one. */
static enum st note_options(struct history *h, struct err *e) {
    char hash[20], cap[24];
    snprintf(hash, sizeof hash, "%016" PRIx64, h->options.rules_hash);
    snprintf(cap, sizeof cap, "%" PRIu64, h->options.cap_ms);
    if (check_cap(h, h->options.cap_ms, e) != ST_OK ||
        history_set_fact(h, "cap_ms", cap, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = find_rules(h, hash, e);
    return st == ST_NONE ? put_rules(h, hash, e) : st;
}

/* ---- cells ---- */

/* Returns the counts of a day, version and build, added if they are new. In the key each text ends
 * with a NUL, as the cell points into it. NULL: out of memory. */
static struct history_cell *open_cell(struct history *h, int32_t day, const char *version,
                                      const char *build, struct err *e) {
    struct strbuf *key = &h->scratch;
    bool added = false;
    strbuf_reset(key);
    strbuf_addf(key, "%" PRId32, day);
    strbuf_addc(key, '\0');
    size_t version_at = key->len;
    strbuf_addstr(key, version ? version : "");
    strbuf_addc(key, '\0');
    size_t build_at = key->len;
    strbuf_addstr(key, build ? build : "");
    struct map_entry *entry = !key->failed && VEC_RESERVE(&h->cells, 1)
                                  ? map_put(&h->by_cell, key->data, key->len, h->cells.len, &added)
                                  : NULL;
    if (!entry) {
        err_nomem(e);
        return NULL;
    }
    if (added) {
        h->cells.data[h->cells.len++] = (struct history_cell){
            .day = day, .version = entry->key + version_at, .build = entry->key + build_at};
    }
    struct history_cell *cell = &h->cells.data[entry->value];
    if (!cell->t && triage_new(&cell->t, &h->options, e) != ST_OK) {
        return NULL;
    }
    return cell;
}

static void bind_day(struct sql_statement *s, int at, int32_t day) {
    if (day == HISTORY_NO_DAY) {
        sql_bind_none(s, at);
    } else {
        sql_bind_number(s, at, day);
    }
}

/* Takes the write lock, which stays held, and claims the id of a dump or session record. ST_NONE:
 * the id is known, or the day is too old, or not known while ids of old days are dropped; the
 * reason is counted in the history's counters. */
static enum st claim_id(struct history *h, uint64_t id, int32_t day, struct err *e) {
    if (history_begin_adding(h, e) != ST_OK || (!h->rules && note_options(h, e) != ST_OK)) {
        return ST_ERR;
    }
    if (h->ids_from != HISTORY_NO_DAY && day < h->ids_from) {
        h->counts.too_old++;
        return ST_NONE;
    }
    struct sql_statement *s = history_statement(h, HISTORY_SEEN_PUT, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, id);
    bind_day(s, 2, day);
    if (sql_step(s, e) != ST_OK) {
        return ST_ERR;
    }
    if (sql_changed(h->file) == 0) {
        h->counts.known++;
        return ST_NONE;
    }
    return ST_OK;
}

void history_set_today(struct history *h, int32_t today) {
    h->today = today;
}

/* Returns the day of a time. If the time is so far ahead of the clock that it must be wrong, *ahead
 * is set, the history counts it, and the result is HISTORY_NO_DAY. */
static int32_t day_of(struct history *h, const char *time, bool *ahead) {
    int32_t day;
    *ahead = false;
    if (!time || !history_day_parse(time, strlen(time), &day)) {
        return HISTORY_NO_DAY;
    }
    *ahead = (int64_t)day > (int64_t)h->today + HISTORY_AHEAD_MAX;
    h->counts.ahead += *ahead;
    return *ahead ? HISTORY_NO_DAY : day;
}

enum st history_add(struct history *h, const struct dump *dump, const struct stall_key *key,
                    struct err *e) {
    bool ahead;
    struct dump copy = *dump, *d = &copy;
    int32_t day = day_of(h, d->time, &ahead);
    d->time = ahead ? NULL : d->time;
    uint64_t id = d->id && *d->id ? dump_id_hash(d->id) : hash_bytes(d->text, d->text_len);
    enum st st = claim_id(h, id, day, e);
    if (st != ST_OK) {
        return st == ST_NONE ? ST_OK : st;
    }
    struct history_cell *cell = open_cell(h, day, d->app.version, d->app.build, e);
    if (!cell) {
        return ST_ERR;
    }
    cell->dumps++;
    h->uncommitted++;
    h->counts.dumps++;
    enum triage_apart apart;
    st = triage_add(cell->t, d, key, true, &apart, e);
    return st == ST_OK && apart == APART_NONE
               ? history_offer_dump(h, d, key, (size_t)(cell - h->cells.data), e)
               : st;
}

enum st history_add_session(struct history *h, const char *text, size_t len, struct err *e) {
    /* XORed into the ids of session records, so that they differ from the ids of dumps */
    static const uint64_t of_sessions = UINT64_C(0x73657373696f6e00);
    struct session_origin o;
    enum st st = session_origin_read(&o, text, len, e);
    if (st == ST_OK) {
        bool ahead;
        int32_t day = day_of(h, o.time, &ahead);
        const struct exposure_filter all = {.undated = ahead};
        uint64_t id = o.id_hash ? o.id_hash : hash_bytes(text, len);
        st = claim_id(h, id ^ of_sessions, day, e);
        struct history_cell *cell = st == ST_OK ? open_cell(h, day, o.version, o.build, e) : NULL;
        if (st == ST_OK && cell) {
            h->uncommitted++;
            h->counts.sessions++;
            st = triage_add_session(cell->t, &all, text, len, e);
        } else if (st == ST_OK) {
            st = ST_ERR;
        }
        st = st == ST_NONE ? ST_OK : st;
    }
    strbuf_release(&o.text);
    return st;
}

bool history_is_adding(const struct history *h) {
    return sql_is_writing(h->file);
}

uint64_t history_uncommitted(const struct history *h) {
    return h->uncommitted;
}

const struct history_counts *history_counts_of(const struct history *h) {
    return &h->counts;
}

/* ---- commit ---- */

static enum st cell_row(struct history *h, const struct history_cell *cell, int64_t *row,
                        struct err *e) {
    static const enum history_statement steps[] = {HISTORY_CELL_PUT, HISTORY_CELL_GET};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < 2; i++) {
        struct sql_statement *s = history_statement(h, steps[i], e);
        if (!s) {
            return ST_ERR;
        }
        bind_day(s, 1, cell->day);
        sql_bind_text(s, 2, cell->version);
        sql_bind_text(s, 3, cell->build);
        st = sql_next(s, e);
        if (st == ST_OK) {
            *row = sql_number(s, 0);
        } else if (st == ST_NONE && i == 0) {
            st = ST_OK; /* an INSERT gives no row */
        }
        sql_reset(s);
    }
    return st;
}

static enum st drop_part(struct history *h, int64_t part, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "DELETE FROM part WHERE id = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, part);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}

/* The size class of a number of dumps: the numbers from a power of SIZE_STEP up to the next one.
 * Sets *least and *most to the first and the last number of the class of `dumps`. */
static void size_class(uint64_t dumps, uint64_t *least, uint64_t *most) {
    uint64_t from = 1;
    while (from <= dumps / SIZE_STEP) {
        from *= SIZE_STEP;
    }
    *least = dumps ? from : 0;
    *most = from <= UINT64_MAX / SIZE_STEP ? from * SIZE_STEP - 1 : UINT64_MAX;
}

struct part_ids {
    VEC(int64_t) ids;
};

static bool is_unmerged(const struct history *h, int64_t part) {
    for (size_t i = 0; i < h->unmerged.len; i++) {
        if (h->unmerged.data[i] == part) {
            return true;
        }
    }
    return false;
}

/* Lists the cell's parts of the current rules that are of the size class of the cell's counts which
 * are not written yet. Parts in a kept sum are left out, because they are never merged with others,
 * and so are damaged parts, which stay as they are. */
static enum st list_equal_parts(struct history *h, int64_t row, const struct history_cell *cell,
                                struct part_ids *parts, struct err *e) {
    struct sql_statement *s;
    uint64_t least, most;
    parts->ids.len = 0;
    if (sql_prepare(h->file, &s,
                    "SELECT id FROM part WHERE cell = ?1 AND rules = ?2 AND dumps BETWEEN ?3 AND ?4"
                    " AND id NOT IN (SELECT part FROM rolled_part) ORDER BY id DESC",
                    e) != ST_OK) {
        return ST_ERR;
    }
    size_class(cell->dumps, &least, &most);
    sql_bind_number(s, 1, row);
    sql_bind_number(s, 2, h->rules);
    sql_bind_count(s, 3, least);
    sql_bind_count(s, 4, most < INT64_MAX ? most : INT64_MAX);
    enum st st;
    while ((st = sql_next(s, e)) == ST_OK) {
        if (!is_unmerged(h, sql_number(s, 0)) && !VEC_PUSH(&parts->ids, sql_number(s, 0))) {
            st = err_nomem(e);
            break;
        }
    }
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Merges a part into the cell's counts, and deletes the part. A damaged part stays, and is noted in
 * h->unmerged. */
static enum st take_equal_part(struct history *h, int64_t part, struct history_cell *cell,
                               struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_PART_GET, e);
    struct triage *old = NULL;
    struct err damage = {0};
    uint64_t dumps = 0;
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, part);
    enum st st = sql_next(s, &damage);
    if (st == ST_OK) {
        size_t len;
        const void *bytes = sql_bytes(s, 0, &len);
        dumps = (uint64_t)sql_number(s, 2);
        st = history_part_of_row(h, h->rules, dumps, bytes, len, &old, &damage);
    }
    sql_reset(s);
    if (damage.code == ERR_NOMEM || damage.code == ERR_IO) {
        return err_copy(e, &damage);
    }
    if (st != ST_OK) {
        return VEC_PUSH(&h->unmerged, part) ? ST_OK : err_nomem(e);
    }
    cell->dumps += dumps;
    st = triage_place(old, cell->day, e);
    st = st == ST_OK ? triage_merge(cell->t, old, e) : st;
    triage_free(old);
    return st == ST_OK ? drop_part(h, part, e) : st;
}

/* Merges parts of the cell into the cell's unwritten counts as long as EQUAL_PARTS or more parts
 * are of the size class of these counts. Each merge of dumps gives a part of a higher class, so
 * that the number of parts, and the number of times that a dump is written again, grow with the
 * logarithm of the number of dumps. Parts of other classes stay: few dumps do not rewrite a large
 * part, nor many dumps the small ones. */
static enum st take_equal_parts(struct history *h, int64_t row, struct history_cell *cell,
                                struct err *e) {
    struct part_ids parts = {0};
    enum st st;
    while ((st = list_equal_parts(h, row, cell, &parts, e)) == ST_OK &&
           parts.ids.len >= EQUAL_PARTS) {
        for (size_t i = 0; st == ST_OK && i < parts.ids.len; i++) {
            st = take_equal_part(h, parts.ids.data[i], cell, e);
        }
        if (st == ST_ERR) {
            break;
        }
    }
    VEC_RELEASE(&parts.ids);
    return st;
}

struct bucket_writer {
    struct history *h;
    int64_t cell;
    uint64_t dumps, ms; /* sums over all buckets */
};

static enum st put_aliases(struct history *h, const struct bucket_summary *b, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < b->alias_count; i++) {
        struct sql_statement *s = history_statement(h, HISTORY_ALIAS_PUT, e);
        if (!s) {
            return ST_ERR;
        }
        sql_bind_count(s, 1, b->aliases[i]);
        sql_bind_count(s, 2, b->id);
        st = sql_step(s, e);
    }
    return st;
}

static enum st put_bucket(void *ctx, const struct bucket_summary *b, struct err *e) {
    struct bucket_writer *w = ctx;
    struct sql_statement *s = history_statement(w->h, HISTORY_BUCKET_PUT, e);
    w->dumps += b->dumps;
    w->ms += b->ms;
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, b->id);
    sql_bind_text(s, 2, b->title);
    sql_bind_text(s, 3, rule_cause_text(b->cause));
    if (sql_step(s, e) != ST_OK || !(s = history_statement(w->h, HISTORY_BUCKET_DAY_PUT, e))) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, b->id);
    sql_bind_number(s, 2, w->cell);
    sql_bind_count(s, 3, b->dumps);
    sql_bind_count(s, 4, b->ms);
    return sql_step(s, e) == ST_OK ? put_aliases(w->h, b, e) : ST_ERR;
}

static enum st put_cell_sum(const struct bucket_writer *w, struct err *e) {
    struct sql_statement *s = history_statement(w->h, HISTORY_CELL_SUM_PUT, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, w->cell);
    sql_bind_count(s, 2, w->dumps);
    sql_bind_count(s, 3, w->ms);
    return sql_step(s, e);
}

static enum st write_part(struct history *h, int64_t row, const struct history_cell *cell,
                          struct err *e) {
    if (history_zip_shared(h, cell->t, &h->zip, e) != ST_OK) {
        return ST_ERR;
    }
    struct sql_statement *s = history_statement(h, HISTORY_PART_PUT, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, row);
    sql_bind_number(s, 2, h->rules);
    sql_bind_count(s, 3, cell->dumps);
    sql_bind_bytes(s, 4, h->zip.data, h->zip.len);
    return sql_step(s, e);
}

static enum st write_cell(struct history *h, struct history_cell *cell, struct err *e) {
    int64_t row = 0;
    if (cell_row(h, cell, &row, e) != ST_OK) {
        return ST_ERR;
    }
    cell->row = row;
    struct bucket_writer w = {.h = h, .cell = row};
    return bucket_list_each(cell->t, put_bucket, &w, e) == ST_OK && put_cell_sum(&w, e) == ST_OK &&
                   history_put_values(h, row, cell->t, e) == ST_OK &&
                   history_put_times(h, row, cell->t, e) == ST_OK &&
                   take_equal_parts(h, row, cell, e) == ST_OK
               ? write_part(h, row, cell, e)
               : ST_ERR;
}

static enum st write_run(struct history *h, const char *at, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s,
                    "INSERT INTO run(at, dumps, sessions, known, too_old)"
                    " VALUES(?1, ?2, ?3, ?4, ?5)",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, at);
    sql_bind_count(s, 2, h->counts.dumps);
    sql_bind_count(s, 3, h->counts.sessions);
    sql_bind_count(s, 4, h->counts.known);
    sql_bind_count(s, 5, h->counts.too_old);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}

/* Frees what was added since the last commit. */
static void drop_cells(struct history *h) {
    for (size_t i = 0; i < h->cells.len; i++) {
        triage_free(h->cells.data[i].t);
    }
    h->cells.len = 0;
    h->uncommitted = 0;
    map_clear(&h->by_cell);
    history_drop_offers(h);
}

void history_undo(struct history *h) {
    sql_undo(h->file);
    drop_cells(h);
    history_drop_shared(h);                         /* their rows may be undone */
    h->rules = 0;                                   /* as may be this one */
    h->committed.unreadable = h->counts.unreadable; /* these dumps stay deleted */
    h->counts = h->committed;
}

enum st history_commit(struct history *h, const char *at, struct err *e) {
    if (!sql_is_writing(h->file)) {
        return ST_OK;
    }
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < h->cells.len; i++) {
        st = write_cell(h, &h->cells.data[i], e);
    }
    st = st == ST_OK ? history_write_dumps(h, e) : st;
    st = st == ST_OK && h->uncommitted ? write_run(h, at, e) : st;
    st = st == ST_OK ? sql_commit(h->file, e) : st;
    if (st != ST_OK) {
        history_undo(h);
        return ST_ERR;
    }
    drop_cells(h);
    h->committed = h->counts;
    return ST_OK;
}
