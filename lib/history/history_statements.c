/* Prepares a history's statements once, and reads and sets its facts. */
#include "history/history_private.h"

static const char *const statement_texts[HISTORY_STATEMENTS] = {
    [HISTORY_SEEN_PUT] = "INSERT OR IGNORE INTO seen(id, day) VALUES(?1, ?2)",
    [HISTORY_CELL_PUT] = "INSERT OR IGNORE INTO cell(day, version, build) VALUES(?1, ?2, ?3)",
    [HISTORY_CELL_GET] = "SELECT id FROM cell WHERE ifnull(day, -2147483648) ="
                         " ifnull(?1, -2147483648) AND version = ?2 AND build = ?3",
    [HISTORY_PART_PUT] = "INSERT INTO part(cell, rules, dumps, partial) VALUES(?1, ?2, ?3, ?4)",
    [HISTORY_PART_GET] = "SELECT partial, rules, dumps FROM part WHERE id = ?1",
    [HISTORY_MADE_WITH] = "SELECT r.hash, f.value FROM rules r LEFT JOIN fact f"
                          " ON f.name = 'cap_ms' WHERE r.id = ?1",
    [HISTORY_BUCKET_PUT] = "INSERT INTO bucket(id, title, cause) VALUES(?1, ?2, ?3)"
                           " ON CONFLICT(id) DO UPDATE SET title = ?2, cause = ?3"
                           " WHERE title <> ?2 OR cause <> ?3",
    [HISTORY_BUCKET_DAY_PUT] =
        "INSERT INTO bucket_day(bucket, cell, dumps, stalled_ms) VALUES(?1, ?2, ?3, ?4)"
        " ON CONFLICT(bucket, cell) DO UPDATE SET dumps = dumps + ?3,"
        " stalled_ms = stalled_ms + ?4",
    [HISTORY_ALIAS_PUT] = "INSERT OR IGNORE INTO alias(id, bucket) VALUES(?1, ?2)",
    [HISTORY_NOTE_CELLS] =
        "SELECT c.day, c.version, c.build FROM bucket_day d JOIN cell c ON c.id = d.cell"
        " WHERE d.bucket = ?1 OR d.bucket IN"
        " (SELECT id FROM alias WHERE bucket = ?1 AND " HISTORY_ALIAS_IS_FREE ")",
    [HISTORY_VERSION_DUMPS] = "SELECT CAST(total(p.dumps) AS INTEGER) FROM cell c"
                              " JOIN part p ON p.cell = c.id WHERE c.version = ?1",
    [HISTORY_NOTE_MARKS] = "SELECT name, value FROM mark WHERE bucket = ?1 OR bucket IN"
                           " (SELECT id FROM alias WHERE bucket = ?1 AND " HISTORY_ALIAS_IS_FREE ")"
                           " ORDER BY bucket = ?1, set_at",
    [HISTORY_CELL_SUM_PUT] = "INSERT INTO cell_sum(cell, dumps, stalled_ms) VALUES(?1, ?2, ?3)"
                             " ON CONFLICT(cell) DO UPDATE SET dumps = dumps + ?2,"
                             " stalled_ms = stalled_ms + ?3",
    [HISTORY_VALUE_PUT] = "INSERT INTO cell_value(cell, facet, value, dumps) VALUES(?1, ?2, ?3, ?4)"
                          " ON CONFLICT(cell, facet, value) DO UPDATE SET dumps = dumps + ?4",
    [HISTORY_TIME_PUT] =
        "INSERT INTO cell_time(cell, sessions, foreground_ms, watched_ms, wall_ms)"
        " VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(cell) DO UPDATE SET sessions = sessions + ?2,"
        " foreground_ms = foreground_ms + ?3, watched_ms = watched_ms + ?4,"
        " wall_ms = wall_ms + ?5",
    [HISTORY_DUMP_PUT] = "INSERT OR IGNORE INTO dump(id, bucket, cell, time, span_ms, user, text)"
                         " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [HISTORY_DUMP_LIST] = "SELECT d.id, c.version, d.time, d.span_ms, length(d.text) FROM dump d"
                          " JOIN cell c ON c.id = d.cell WHERE d.bucket = ?1 ORDER BY d.id",
    [HISTORY_DUMP_DROP] = "DELETE FROM dump WHERE id = ?1",
    [HISTORY_DUMP_GET] = "SELECT d.id, c.day, c.version, c.build, d.text FROM dump d"
                         " JOIN cell c ON c.id = d.cell WHERE d.bucket = ?1 ORDER BY d.id",
    [HISTORY_DUMP_IDS] = "SELECT id FROM dump WHERE bucket = ?1 ORDER BY id",
    [HISTORY_SUMS_GET] = "SELECT c.day, c.version, c.build, d.dumps, d.stalled_ms"
                         " FROM bucket_day d JOIN cell c ON c.id = d.cell"
                         " WHERE d.bucket = ?1 ORDER BY c.day DESC",
    [HISTORY_SHARED_GET] = "SELECT id, text FROM shared WHERE id = ?1",
    [HISTORY_SHARED_NEWEST] = "SELECT id, text FROM shared ORDER BY id DESC LIMIT 1",
    [HISTORY_SHARED_PUT] = "INSERT INTO shared(text) VALUES(?1)",
    [HISTORY_DUMP_SHARED_GET] = "SELECT id, text FROM dump_shared WHERE id = ?1"};

struct sql_statement *history_statement(struct history *h, enum history_statement which,
                                        struct err *e) {
    if (!h->statements[which] &&
        sql_prepare(h->file, &h->statements[which], statement_texts[which], e) != ST_OK) {
        return NULL;
    }
    sql_reset(h->statements[which]);
    return h->statements[which];
}

/* ---- facts ---- */

enum st history_take_text(struct sql_statement *s, struct strbuf *out, struct err *e) {
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        strbuf_addstr(out, sql_text(s, 0));
        st = strbuf_check(out, e);
    }
    sql_finish(s);
    return st;
}

enum st history_fact(struct history *h, const char *name, struct strbuf *out, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT value FROM fact WHERE name = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, name);
    return history_take_text(s, out, e);
}

enum st history_set_fact(struct history *h, const char *name, const char *value, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "INSERT OR REPLACE INTO fact(name, value) VALUES(?1, ?2)", e) !=
        ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, name);
    sql_bind_text(s, 2, value);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}
