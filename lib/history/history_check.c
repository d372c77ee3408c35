/* Examines a whole history, and prints each fault on a line. */
#include <inttypes.h>
#include <string.h>

#include "classify/print/bucket_list.h"
#include "history/history_private.h"

/* ---- the database ---- */

static enum st check_database(struct history *h, struct history_faults *f, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "PRAGMA integrity_check", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    struct err damage = {0};
    while (st == ST_OK && (more = sql_next(s, &damage)) == ST_OK) {
        if (strcmp(sql_text(s, 0), "ok") != 0) {
            st = history_fault(f, e, "database: %s", sql_text(s, 0));
        }
    }
    sql_finish(s);
    if (st != ST_OK || damage.code == ERR_NOMEM) {
        return st != ST_OK ? st : err_nomem(e);
    }
    return more == ST_ERR ? history_fault(f, e, "database: %s", damage.text) : ST_OK;
}

/* ---- counts ---- */

struct sums {
    uint64_t dumps, ms;
    struct history_times times;
};

/* The counts of a part, used to check the kept sums that contain the part. */
struct part_sums {
    int64_t part;
    struct sums sums;
};

struct examination {
    struct history *h;
    struct history_faults faults;
    VEC(struct part_sums) parts;
    struct history_value_sums values; /* sums of the cell that is being checked */
    int32_t day;                      /* of this cell */
    const char *version;              /* of this cell; borrowed from the row */
};

static enum st add_bucket_sums(void *ctx, const struct bucket_summary *b, struct err *e) {
    (void)e;
    struct sums *sums = ctx;
    sums->dumps += b->dumps;
    sums->ms += b->ms;
    return ST_OK;
}

/* Adds the counts of a partial to the sums, and to `values` unless it is NULL. s: a row of id,
 * partial, rules and dumps. ST_NONE: the partial cannot be read; the reason was told. */
static enum st sum_partial(struct examination *x, const char *table, struct sql_statement *s,
                           struct sums *sums, struct history_value_sums *values, struct err *e) {
    struct triage *t = NULL;
    struct err damage = {0};
    size_t len;
    const void *bytes = sql_bytes(s, 1, &len);
    if (history_part_of_row(x->h, sql_number(s, 2), (uint64_t)sql_number(s, 3), bytes, len, &t,
                            &damage) != ST_OK) {
        return history_row_fault(&x->faults, table, sql_number(s, 0), &damage, e) == ST_OK ? ST_NONE
                                                                                           : ST_ERR;
    }
    history_times_add(&sums->times, t);
    enum st st = bucket_list_each(t, add_bucket_sums, sums, e);
    st = st == ST_OK && values ? history_add_values(values, t, e) : st;
    if (st == ST_OK && values && !triage_is_of(t, x->day, x->version)) {
        err_set(&damage, ERR_FORMAT, "it tells another day or version than its cell");
        st = history_row_fault(&x->faults, table, sql_number(s, 0), &damage, e);
    }
    triage_free(t);
    return st;
}

/* Adds up the counts of the parts of a cell. *readable becomes false if a part cannot be read. */
static enum st sum_parts(struct examination *x, int64_t cell, struct sums *sums, bool *readable,
                         struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(x->h->file, &s,
                    "SELECT id, partial, rules, dumps FROM part WHERE cell = ?1"
                    " ORDER BY id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, cell);
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        struct part_sums p = {.part = sql_number(s, 0)};
        st = sum_partial(x, "part", s, &p.sums, &x->values, e);
        if (st == ST_OK && !VEC_PUSH(&x->parts, p)) {
            st = err_nomem(e);
        }
        sums->dumps += p.sums.dumps;
        sums->ms += p.sums.ms;
        history_times_sum(&sums->times, &p.sums.times);
        *readable = *readable && st != ST_NONE;
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

/* Compares the numbers of dumps by system and device that the table has for a cell with those of
 * the cell's parts. */
static enum st check_cell_values(struct examination *x, int64_t cell, struct err *e) {
    if (x->h->version < 3) {
        return ST_OK;
    }
    enum st st = history_values_match(x->h, cell, &x->values, e);
    return st == ST_NONE
               ? history_fault(&x->faults, e,
                               "cell %" PRId64 ": its parts have other dumps by system and device"
                               " than the table cell_value",
                               cell)
               : st;
}

/* Checks the cell in a row of id, the sums of its buckets, and its day, version and build. */
static enum st check_cell(struct examination *x, struct sql_statement *s, struct err *e) {
    const int64_t cell = sql_number(s, 0);
    const struct sums rows = {.dumps = (uint64_t)sql_number(s, 1),
                              .ms = (uint64_t)sql_number(s, 2)};
    struct sums parts = {0};
    struct err damage = {0};
    bool readable = true;
    enum st st = ST_OK;
    x->day = HISTORY_NO_DAY;
    x->version = sql_text(s, 4);
    if (history_cell_check(s, 3, &damage) != ST_OK ||
        history_cell_day(s, 3, &x->day, &damage) != ST_OK) {
        st = history_row_fault(&x->faults, "cell", cell, &damage, e);
    }
    history_value_sums_clear(&x->values);
    st = st == ST_OK ? sum_parts(x, cell, &parts, &readable, e) : st;
    if (st == ST_OK && readable && (parts.dumps != rows.dumps || parts.ms != rows.ms)) {
        st = history_fault(&x->faults, e,
                           "cell %" PRId64 ": its parts have %" PRIu64 " dumps and %" PRIu64
                           " ms, the table bucket_day %" PRIu64 " and %" PRIu64,
                           cell, parts.dumps, parts.ms, rows.dumps, rows.ms);
    }
    st = st == ST_OK && readable ? check_cell_values(x, cell, e) : st;
    return st == ST_OK && readable ? history_check_times(x->h, &x->faults, cell, &parts.times, e)
                                   : st;
}

/* The sums are total(), because sum() fails where forged values overflow. */
static enum st check_cells(struct examination *x, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(x->h->file, &s,
                    "SELECT c.id, CAST(total(d.dumps) AS INTEGER),"
                    " CAST(total(d.stalled_ms) AS INTEGER), c.day, c.version, c.build FROM cell c"
                    " LEFT JOIN bucket_day d ON d.cell = c.id GROUP BY c.id ORDER BY c.id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        st = check_cell(x, s, e);
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

/* Compares the sums of each cell with those of the cell's buckets. */
static enum st check_cell_sums(struct examination *x, struct err *e) {
    struct sql_statement *s;
    if (x->h->version < 3) {
        return ST_OK;
    }
    if (sql_prepare(x->h->file, &s,
                    "SELECT c.id, ifnull(s.dumps, 0), ifnull(s.stalled_ms, 0),"
                    " CAST(total(d.dumps) AS INTEGER), CAST(total(d.stalled_ms) AS INTEGER)"
                    " FROM cell c LEFT JOIN cell_sum s ON s.cell = c.id"
                    " LEFT JOIN bucket_day d ON d.cell = c.id GROUP BY c.id ORDER BY c.id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        if (sql_number(s, 1) != sql_number(s, 3) || sql_number(s, 2) != sql_number(s, 4)) {
            st = history_fault(&x->faults, e,
                               "cell %" PRId64 ": its buckets have %" PRId64 " dumps and %" PRId64
                               " ms, the table cell_sum %" PRId64 " and %" PRId64,
                               sql_number(s, 0), sql_number(s, 3), sql_number(s, 4),
                               sql_number(s, 1), sql_number(s, 2));
        }
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

/* Compares a kept sum with the counts of its parts. */
static enum st check_rolled(struct examination *x, int64_t rolled, const struct sums *sum,
                            struct err *e) {
    struct sql_statement *s;
    struct sums want = {0};
    if (sql_prepare(x->h->file, &s, "SELECT 1 FROM rolled_part WHERE part = ?1 AND rolled = ?2",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK;
    for (size_t i = 0; st != ST_ERR && i < x->parts.len; i++) {
        sql_reset(s);
        sql_bind_number(s, 1, x->parts.data[i].part);
        sql_bind_number(s, 2, rolled);
        st = sql_next(s, e);
        want.dumps += st == ST_OK ? x->parts.data[i].sums.dumps : 0;
        want.ms += st == ST_OK ? x->parts.data[i].sums.ms : 0;
        if (st == ST_OK) {
            history_times_sum(&want.times, &x->parts.data[i].sums.times);
        }
    }
    sql_finish(s);
    if (st != ST_ERR && (want.dumps != sum->dumps || want.ms != sum->ms)) {
        st = history_fault(&x->faults, e,
                           "rolled %" PRId64 ": it has %" PRIu64 " dumps and %" PRIu64
                           " ms, its parts %" PRIu64 " and %" PRIu64,
                           rolled, sum->dumps, sum->ms, want.dumps, want.ms);
    } else if (st != ST_ERR && !history_times_equal(&want.times, &sum->times)) {
        st = history_fault(&x->faults, e,
                           "rolled %" PRId64 ": it has other sessions than its parts", rolled);
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

static enum st check_all_rolled(struct examination *x, struct err *e) {
    struct sql_statement *s;
    if (x->h->version < 2) {
        return ST_OK;
    }
    if (sql_prepare(x->h->file, &s, "SELECT id, partial, rules, dumps FROM rolled ORDER BY id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        struct sums sum = {0};
        int64_t rolled = sql_number(s, 0);
        st = sum_partial(x, "rolled", s, &sum, NULL, e);
        st = st == ST_OK ? check_rolled(x, rolled, &sum, e) : st;
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

enum st history_check(struct history *h, struct sink *out, struct err *e) {
    struct examination x = {.h = h, .faults = {.out = out, .sound = true}};
    struct sink nowhere = sink_to_nowhere();
    x.faults.out = out ? out : &nowhere;
    enum st st = check_database(h, &x.faults, e);
    st = st == ST_OK ? history_check_rows(h, &x.faults, e) : st;
    st = st == ST_OK ? check_cells(&x, e) : st;
    st = st == ST_OK ? check_all_rolled(&x, e) : st;
    st = st == ST_OK ? history_check_pages(h, &x.faults, e) : st;
    st = st == ST_OK ? check_cell_sums(&x, e) : st;
    st = st == ST_OK ? history_check_dump_shared(h, &x.faults, e) : st;
    VEC_RELEASE(&x.parts);
    history_value_sums_release(&x.values);
    if (st != ST_OK) {
        return ST_ERR;
    }
    return x.faults.sound ? ST_OK : ST_NONE;
}
