/* Drops old days of a history, and examines a whole history. */
#include <inttypes.h>
#include <string.h>

#include "classify/print/bucket_list.h"
#include "history/history_private.h"

/* ---- retention ---- */

static enum st run_for_day(struct history *h, const char *sql, int32_t day, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, sql, e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, day);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}

enum st history_drop_before(struct history *h, int32_t day, uint64_t *cells, struct err *e) {
    static const char *const steps[] = {
        "DELETE FROM part WHERE cell IN (SELECT id FROM cell WHERE day < ?1)",
        "DELETE FROM bucket_day WHERE cell IN (SELECT id FROM cell WHERE day < ?1)",
        "DELETE FROM cell_sum WHERE cell IN (SELECT id FROM cell WHERE day < ?1)",
        "DELETE FROM cell_value WHERE cell IN (SELECT id FROM cell WHERE day < ?1)",
        "DELETE FROM dump WHERE cell IN (SELECT id FROM cell WHERE day < ?1)",
        "DELETE FROM rolled_part WHERE EXISTS (SELECT 1 FROM cell WHERE day < ?1)",
        "DELETE FROM rolled_page WHERE EXISTS (SELECT 1 FROM cell WHERE day < ?1)",
        "DELETE FROM rolled WHERE EXISTS (SELECT 1 FROM cell WHERE day < ?1)",
        "DELETE FROM seen WHERE day < ?1",
        "DELETE FROM cell WHERE day < ?1"};
    char text[HISTORY_DAY_SIZE];
    *cells = 0;
    if (history_begin_editing(h, e) != ST_OK) {
        return ST_ERR;
    }
    if (h->ids_from != HISTORY_NO_DAY && day <= h->ids_from) {
        /* These days were removed before; new dumps of these days are refused already. */
        sql_undo(h->file);
        return ST_OK;
    }
    const uint64_t unreadable = h->counts.unreadable;
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < sizeof steps / sizeof *steps; i++) {
        st = run_for_day(h, steps[i], day, e);
        *cells = (uint64_t)sql_changed(h->file);
    }
    st = st == ST_OK ? history_renew_dump_shared(h, e) : st;
    st = st == ST_OK ? history_set_fact(h, "ids_from", history_day_text(day, text), e) : st;
    st = st == ST_OK ? sql_commit(h->file, e) : st;
    if (st != ST_OK) {
        sql_undo(h->file);
        h->counts.unreadable = unreadable;
        return ST_ERR;
    }
    h->ids_from = day;
    return sql_run(h->file, "PRAGMA incremental_vacuum", e);
}

/* Counts the days of the history that are not ahead of the clock. */
static enum st count_days(struct history *h, int64_t *days, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT count(DISTINCT day) FROM cell WHERE day <= ?1", e) !=
        ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, h->today);
    enum st st = sql_next(s, e);
    *days = st == ST_OK ? sql_number(s, 0) : 0;
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Reads one integer from a query that has one row. */
static enum st read_integer(struct history *h, const char *sql, int64_t *out, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, sql, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = sql_next(s, e);
    *out = st == ST_OK ? sql_number(s, 0) : 0;
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Reads how many bytes of the file are in use. */
static enum st bytes_in_use(struct history *h, uint64_t *bytes, struct err *e) {
    int64_t size = 0, pages = 0, unused = 0;
    if (read_integer(h, "PRAGMA page_size", &size, e) != ST_OK ||
        read_integer(h, "PRAGMA page_count", &pages, e) != ST_OK ||
        read_integer(h, "PRAGMA freelist_count", &unused, e) != ST_OK) {
        return ST_ERR;
    }
    *bytes = pages > unused ? (uint64_t)(pages - unused) * (uint64_t)size : 0;
    return ST_OK;
}

enum st history_drop_past(struct history *h, uint64_t bytes, uint64_t *cells, struct err *e) {
    uint64_t used = 0, dropped = 0;
    int64_t days = 0, oldest = 0;
    *cells = 0;
    enum st st;
    while ((st = bytes_in_use(h, &used, e)) == ST_OK && used > bytes) {
        if (count_days(h, &days, e) != ST_OK ||
            read_integer(h, "SELECT min(day) FROM cell", &oldest, e) != ST_OK) {
            return ST_ERR;
        }
        if (days < 2) {
            return ST_OK;
        }
        if (history_drop_before(h, (int32_t)oldest + 1, &dropped, e) != ST_OK) {
            return ST_ERR;
        }
        *cells += dropped;
    }
    return st;
}

/* ---- examination ---- */

static enum st check_database(struct history *h, struct sink *out, bool *sound, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "PRAGMA integrity_check", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st;
    struct err damage = {0};
    while ((st = sql_next(s, &damage)) == ST_OK) {
        if (strcmp(sql_text(s, 0), "ok") != 0) {
            sink_printf(out, "database: %s\n", sql_text(s, 0));
            *sound = false;
        }
    }
    sql_finish(s);
    if (st == ST_ERR) {
        sink_printf(out, "database: %s\n", damage.text);
        *sound = false;
    }
    return damage.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
}

struct sums {
    uint64_t dumps, ms;
};

/* The counts of a part, used to check the kept sums that contain the part. */
struct part_sums {
    int64_t part;
    struct sums sums;
};

struct examination {
    struct history *h;
    struct sink *out;
    bool sound;
    VEC(struct part_sums) parts;
    struct history_value_sums values; /* sums of the cell that is being checked */
};

static enum st add_bucket_sums(void *ctx, const struct bucket_summary *b, struct err *e) {
    (void)e;
    struct sums *sums = ctx;
    sums->dumps += b->dumps;
    sums->ms += b->ms;
    return ST_OK;
}

/* Adds the counts of a partial to the sums, and to `values` unless it is NULL. ST_NONE: the partial
 * cannot be read; the reason was printed. */
static enum st sum_partial(struct examination *x, const char *table, struct sql_statement *s,
                           struct sums *sums, struct history_value_sums *values, struct err *e) {
    struct triage *t = NULL;
    struct err damage = {0};
    size_t len;
    const void *bytes = sql_bytes(s, 1, &len);
    if (history_part(x->h, bytes, len, &t, &damage) != ST_OK) {
        if (damage.code == ERR_NOMEM) {
            return err_nomem(e);
        }
        sink_printf(x->out, "%s %" PRId64 ": %s\n", table, sql_number(s, 0), damage.text);
        x->sound = false;
        return ST_NONE;
    }
    enum st st = bucket_list_each(t, add_bucket_sums, sums, e);
    st = st == ST_OK && values ? history_add_values(values, t, e) : st;
    triage_free(t);
    return st;
}

/* Adds up the counts of the parts of a cell. *readable becomes false if a part cannot be read. */
static enum st sum_parts(struct examination *x, int64_t cell, struct sums *sums, bool *readable,
                         struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(x->h->file, &s, "SELECT id, partial FROM part WHERE cell = ?1 ORDER BY id",
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
    if (st == ST_NONE) {
        sink_printf(x->out,
                    "cell %" PRId64 ": its parts have other dumps by system and device than the"
                    " table cell_value\n",
                    cell);
        x->sound = false;
        st = ST_OK;
    }
    return st;
}

static enum st check_cells(struct examination *x, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(x->h->file, &s,
                    "SELECT c.id, c.version, ifnull(sum(d.dumps), 0),"
                    " ifnull(sum(d.stalled_ms), 0), c.day FROM cell c LEFT JOIN bucket_day d"
                    " ON d.cell = c.id GROUP BY c.id ORDER BY c.id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        struct sums parts = {0};
        struct sums rows = {(uint64_t)sql_number(s, 2), (uint64_t)sql_number(s, 3)};
        struct err damage = {0};
        int32_t day;
        bool readable = true;
        if (history_cell_day(s, 4, &day, &damage) != ST_OK) {
            sink_printf(x->out, "cell %" PRId64 ": %s\n", sql_number(s, 0), damage.text);
            x->sound = false;
        }
        history_value_sums_clear(&x->values);
        st = sum_parts(x, sql_number(s, 0), &parts, &readable, e);
        if (st == ST_OK && readable && (parts.dumps != rows.dumps || parts.ms != rows.ms)) {
            sink_printf(x->out,
                        "cell %" PRId64 ": its parts have %" PRIu64 " dumps and %" PRIu64
                        " ms, the table bucket_day %" PRIu64 " and %" PRIu64 "\n",
                        sql_number(s, 0), parts.dumps, parts.ms, rows.dumps, rows.ms);
            x->sound = false;
        }
        st = st == ST_OK && readable ? check_cell_values(x, sql_number(s, 0), e) : st;
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

/* Compares the number of dumps in the sum of each cell with that of the cell's buckets. */
static enum st check_cell_sums(struct examination *x, struct err *e) {
    struct sql_statement *s;
    if (x->h->version < 3) {
        return ST_OK;
    }
    if (sql_prepare(x->h->file, &s,
                    "SELECT c.id, ifnull((SELECT sum(dumps) FROM bucket_day d WHERE"
                    " d.cell = c.id), 0), ifnull(s.dumps, 0) FROM cell c"
                    " LEFT JOIN cell_sum s ON s.cell = c.id ORDER BY c.id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st;
    while ((st = sql_next(s, e)) == ST_OK) {
        if (sql_number(s, 1) != sql_number(s, 2)) {
            sink_printf(x->out,
                        "cell %" PRId64 ": its buckets have %" PRId64
                        " dumps, the table cell_sum %" PRId64 "\n",
                        sql_number(s, 0), sql_number(s, 1), sql_number(s, 2));
            x->sound = false;
        }
    }
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Checks that each kept dump can be read. */
static enum st check_dumps(struct examination *x, struct err *e) {
    struct sql_statement *s;
    if (x->h->version < 3) {
        return ST_OK;
    }
    if (sql_prepare(x->h->file, &s, "SELECT id, text FROM dump ORDER BY id", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        struct err damage = {0};
        size_t len;
        const void *bytes = sql_bytes(s, 1, &len);
        st = history_dump_text(x->h, bytes, len, &damage);
        if (st == ST_ERR && damage.code == ERR_NOMEM) {
            err_nomem(e);
        } else if (st == ST_ERR) {
            sink_printf(x->out, "dump %" PRId64 ": %s\n", sql_number(s, 0), damage.text);
            x->sound = false;
            st = ST_OK;
        }
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
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
    }
    sql_finish(s);
    if (st != ST_ERR && (want.dumps != sum->dumps || want.ms != sum->ms)) {
        sink_printf(x->out,
                    "rolled %" PRId64 ": it has %" PRIu64 " dumps and %" PRIu64
                    " ms, its parts %" PRIu64 " and %" PRIu64 "\n",
                    rolled, sum->dumps, sum->ms, want.dumps, want.ms);
        x->sound = false;
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

static enum st check_all_rolled(struct examination *x, struct err *e) {
    struct sql_statement *s;
    if (x->h->version < 2) {
        return ST_OK;
    }
    if (sql_prepare(x->h->file, &s, "SELECT id, partial FROM rolled ORDER BY id", e) != ST_OK) {
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
    struct examination x = {.h = h, .out = out, .sound = true};
    enum st st = check_database(h, out, &x.sound, e);
    st = st == ST_OK ? check_cells(&x, e) : st;
    st = st == ST_OK ? check_all_rolled(&x, e) : st;
    st = st == ST_OK ? history_check_pages(h, out, &x.sound, e) : st;
    st = st == ST_OK ? check_cell_sums(&x, e) : st;
    st = st == ST_OK ? check_dumps(&x, e) : st;
    st = st == ST_OK ? history_check_dump_shared(h, out, &x.sound, e) : st;
    VEC_RELEASE(&x.parts);
    history_value_sums_release(&x.values);
    if (st != ST_OK) {
        return ST_ERR;
    }
    return x.sound ? ST_OK : ST_NONE;
}
