/* Drops old days of a history. */
#include "history/history_private.h"

#include <inttypes.h>

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
        "DELETE FROM cell_time WHERE cell IN (SELECT id FROM cell WHERE day < ?1)",
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
        if (oldest <= INT32_MIN || oldest >= INT32_MAX) {
            return err_set(e, ERR_FORMAT, "the history is damaged: a cell has the day %" PRId64,
                           oldest);
        }
        if (history_drop_before(h, (int32_t)oldest + 1, &dropped, e) != ST_OK) {
            return ST_ERR;
        }
        if (!dropped) {
            return ST_OK; /* of a forged file, which says that these days are needed */
        }
        *cells += dropped;
    }
    return st;
}
