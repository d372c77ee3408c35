/* Counts the sessions of a cell, and their time, in a table that queries can use, and compares this
 * table with the parts. */
#include <inttypes.h>

#include "classify/stats/sum.h"
#include "history/history_private.h"

_Static_assert((int)HISTORY_NO_DAY == (int)USAGE_NO_DAY, "the day of what has none");

void history_times_sum(struct history_times *times, const struct history_times *more) {
    for (size_t i = 0; i < HISTORY_TIMES; i++) {
        sum_add(&times->sums[i], more->sums[i]);
    }
}

void history_times_add(struct history_times *times, const struct triage *t) {
    const struct usage_sums sums = triage_sessions(t);
    const struct history_times more = {
        {sums.sessions, sums.foreground_ms, sums.watched_ms, sums.wall_ms}};
    history_times_sum(times, &more);
}

bool history_times_equal(const struct history_times *a, const struct history_times *b) {
    bool equal = true;
    for (size_t i = 0; i < HISTORY_TIMES; i++) {
        equal = equal && a->sums[i] == b->sums[i];
    }
    return equal;
}

enum st history_put_times(struct history *h, int64_t cell, const struct triage *t, struct err *e) {
    struct history_times times = {0};
    const struct history_times none = {0};
    history_times_add(&times, t);
    if (history_times_equal(&times, &none)) {
        return ST_OK;
    }
    struct sql_statement *s = history_statement(h, HISTORY_TIME_PUT, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, cell);
    for (size_t i = 0; i < HISTORY_TIMES; i++) {
        sql_bind_count(s, 2 + (int)i, times.sums[i]);
    }
    return sql_step(s, e);
}

/* Reads the row of a cell; all 0: it has none. */
static enum st read_times(struct history *h, int64_t cell, struct history_times *times,
                          struct err *e) {
    struct sql_statement *s;
    *times = (struct history_times){0};
    if (sql_prepare(h->file, &s,
                    "SELECT sessions, foreground_ms, watched_ms, wall_ms FROM cell_time"
                    " WHERE cell = ?1",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, cell);
    enum st st = sql_next(s, e);
    for (int i = 0; st == ST_OK && i < HISTORY_TIMES; i++) {
        times->sums[i] = (uint64_t)sql_number(s, i);
    }
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

enum st history_check_times(struct history *h, struct history_faults *f, int64_t cell,
                            const struct history_times *times, struct err *e) {
    struct history_times kept;
    if (h->version < HISTORY_TIMES_FROM) {
        return ST_OK;
    }
    if (read_times(h, cell, &kept, e) != ST_OK) {
        return ST_ERR;
    }
    if (history_times_equal(times, &kept)) {
        return ST_OK;
    }
    return history_fault(f, e,
                         "cell %" PRId64 ": its parts have %" PRIu64 " sessions and %" PRIu64
                         " ms in the foreground, the table cell_time %" PRIu64 " and %" PRIu64,
                         cell, times->sums[0], times->sums[1], kept.sums[0], kept.sums[1]);
}
