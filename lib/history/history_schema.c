/* Makes the tables of a history, and refuses a file in which they differ, or which has triggers. A
 * view with the name of a table, a trigger or a computed column would run SQL from the file. */
#include <string.h>

#include "history/history_private.h"

/* The tables of sums of parts, added in version 2. */
#define HISTORY_ROLLED                                                                             \
    "CREATE TABLE rolled(id INTEGER PRIMARY KEY, rules INTEGER NOT NULL REFERENCES rules,"         \
    " dumps INTEGER NOT NULL, partial BLOB NOT NULL);"                                             \
    "CREATE TABLE rolled_part(part INTEGER NOT NULL, rolled INTEGER NOT NULL REFERENCES rolled,"   \
    " PRIMARY KEY(part, rolled)) WITHOUT ROWID;"

/* The tables of the sums and dumps that commands show, added in version 3. */
#define HISTORY_SHOWN                                                                              \
    "CREATE TABLE cell_sum(cell INTEGER PRIMARY KEY REFERENCES cell, dumps INTEGER NOT NULL,"      \
    " stalled_ms INTEGER NOT NULL);"                                                               \
    "CREATE TABLE cell_value(cell INTEGER NOT NULL REFERENCES cell, facet TEXT NOT NULL,"          \
    " value TEXT NOT NULL, dumps INTEGER NOT NULL, PRIMARY KEY(cell, facet, value))"               \
    " WITHOUT ROWID;"                                                                              \
    "CREATE TABLE dump(id INTEGER PRIMARY KEY, bucket INTEGER NOT NULL,"                           \
    " cell INTEGER NOT NULL REFERENCES cell, time TEXT NOT NULL, span_ms INTEGER NOT NULL,"        \
    " user INTEGER, text BLOB NOT NULL);"                                                          \
    "CREATE INDEX dump_of ON dump(bucket);"                                                        \
    "CREATE VIEW dumps_by AS SELECT v.facet, v.value,"                                             \
    " date(c.day * 86400, 'unixepoch') AS day, c.version, c.build, v.dumps"                        \
    " FROM cell_value v JOIN cell c ON c.id = v.cell;"

/* The table of the pages of sums, added in version 5. */
#define HISTORY_PAGES                                                                              \
    "CREATE TABLE rolled_page(rolled INTEGER PRIMARY KEY REFERENCES rolled, made TEXT NOT NULL,"   \
    " parts INTEGER NOT NULL, top BLOB NOT NULL, rows BLOB NOT NULL);"

/* The texts that partials share, which versions up to 5 lack. */
#define HISTORY_SHARED "CREATE TABLE shared(id INTEGER PRIMARY KEY, text BLOB NOT NULL);"

/* The texts that dumps share, which versions up to 6 lack. */
#define HISTORY_DUMP_SHARED "CREATE TABLE dump_shared(id INTEGER PRIMARY KEY, text BLOB NOT NULL);"

/* The sessions of each cell, which versions up to 7 lack. */
#define HISTORY_CELL_TIME                                                                          \
    "CREATE TABLE cell_time(cell INTEGER PRIMARY KEY REFERENCES cell, sessions INTEGER NOT NULL,"  \
    " foreground_ms INTEGER NOT NULL, watched_ms INTEGER NOT NULL, wall_ms INTEGER NOT NULL);"     \
    "CREATE VIEW IF NOT EXISTS sessions_by_day AS"                                                 \
    " SELECT date(c.day * 86400, 'unixepoch') AS day, c.version, c.build,"                         \
    " ifnull(s.dumps, 0) AS dumps, ifnull(s.stalled_ms, 0) AS stalled_ms,"                         \
    " ifnull(t.sessions, 0) AS sessions, ifnull(t.foreground_ms, 0) AS foreground_ms,"             \
    " ifnull(t.watched_ms, 0) AS watched_ms, ifnull(t.wall_ms, 0) AS wall_ms"                      \
    " FROM cell c LEFT JOIN cell_sum s ON s.cell = c.id LEFT JOIN cell_time t ON t.cell = c.id;"

/* The tables. Parts have all the counts; the other tables repeat some of them for people and
 * queries. */
static const char history_schema[] =
    "CREATE TABLE fact(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE rules(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, words TEXT NOT NULL);"
    "CREATE TABLE seen(id INTEGER PRIMARY KEY, day INTEGER);"
    "CREATE TABLE cell(id INTEGER PRIMARY KEY, day INTEGER, version TEXT NOT NULL,"
    " build TEXT NOT NULL);"
    "CREATE UNIQUE INDEX cell_of ON cell(ifnull(day, -2147483648), version, build);"
    "CREATE TABLE part(id INTEGER PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cell,"
    " rules INTEGER NOT NULL REFERENCES rules, dumps INTEGER NOT NULL, partial BLOB NOT NULL);"
    "CREATE INDEX part_of ON part(cell, rules);"
    "CREATE TABLE bucket(id INTEGER PRIMARY KEY, title TEXT NOT NULL, cause TEXT NOT NULL);"
    "CREATE TABLE alias(id INTEGER NOT NULL, bucket INTEGER NOT NULL, PRIMARY KEY(bucket, id))"
    " WITHOUT ROWID;"
    "CREATE TABLE bucket_day(bucket INTEGER NOT NULL, cell INTEGER NOT NULL,"
    " dumps INTEGER NOT NULL, stalled_ms INTEGER NOT NULL, PRIMARY KEY(bucket, cell))"
    " WITHOUT ROWID;"
    "CREATE TABLE mark(bucket INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
    " set_at TEXT NOT NULL, PRIMARY KEY(bucket, name)) WITHOUT ROWID;"
    "CREATE TABLE run(id INTEGER PRIMARY KEY, at TEXT NOT NULL, dumps INTEGER NOT NULL,"
    " sessions INTEGER NOT NULL, known INTEGER NOT NULL, too_old INTEGER NOT NULL);" HISTORY_ROLLED
        HISTORY_SHOWN HISTORY_PAGES HISTORY_SHARED HISTORY_DUMP_SHARED HISTORY_CELL_TIME
    "CREATE VIEW stalled AS SELECT printf('%012x', b.id) AS bucket, b.title, b.cause,"
    " date(c.day * 86400, 'unixepoch') AS day, c.version, c.build, d.dumps, d.stalled_ms"
    " FROM bucket_day d JOIN bucket b ON b.id = d.bucket JOIN cell c ON c.id = d.cell;"
    "CREATE VIEW marks AS SELECT printf('%012x', bucket) AS bucket, name, value, set_at"
    " FROM mark;";

/* Statements that turn a history of version 1 into one of version 2, and one of version 2 into
 * one of version 3. */
static const char history_from_1[] = "DROP INDEX seen_day;" HISTORY_ROLLED;
static const char history_from_2[] =
    HISTORY_SHOWN "INSERT INTO cell_sum(cell, dumps, stalled_ms)"
                  " SELECT cell, CAST(total(dumps) AS INTEGER), CAST(total(stalled_ms) AS INTEGER)"
                  " FROM bucket_day GROUP BY cell";

/* Statements that turn a history of version 7 into one of version 8. Kept sums tell no days, so
 * that they have to be made again from the parts, whose days their cells tell. */
static const char history_from_7[] =
    HISTORY_CELL_TIME "DELETE FROM rolled_part; DELETE FROM rolled_page; DELETE FROM rolled";

/* Statements that turn the tables of this version into those of version 7, these into those of
 * version 6, and so on to those of version 1, so that a file of an earlier version can be compared
 * with its tables. Version 3 has the tables of version 4. */
static const struct {
    int64_t from; /* the version that the statements turn into an earlier one */
    const char *sql;
} history_back[] = {
    {8, "DROP VIEW sessions_by_day; DROP TABLE cell_time"},
    {7, "DROP TABLE dump_shared"},
    {6, "DROP TABLE shared"},
    {5, "DROP TABLE rolled_page"},
    {3, "DROP VIEW dumps_by; DROP TABLE dump; DROP TABLE cell_value; DROP TABLE cell_sum"},
    {2, "DROP TABLE rolled_part; DROP TABLE rolled; CREATE INDEX seen_day ON seen(day)"}};

enum st history_make_tables(struct sql_file *file, struct err *e) {
    return sql_run(file, history_schema, e);
}

enum st history_upgrade_tables(struct sql_file *file, int64_t version, struct err *e) {
    enum st st = version < 2 ? sql_run(file, history_from_1, e) : ST_OK;
    st = st == ST_OK && version < 3 ? sql_run(file, history_from_2, e) : st;
    st = st == ST_OK && version < 5 ? sql_run(file, HISTORY_PAGES, e) : st;
    st = st == ST_OK && version < 6 ? sql_run(file, HISTORY_SHARED, e) : st;
    st = st == ST_OK && version < 7 ? sql_run(file, HISTORY_DUMP_SHARED, e) : st;
    return st == ST_OK && version < 8 ? sql_run(file, history_from_7, e) : st;
}

/* ---- the tables of a file ---- */

/* Makes the tables of a version of the history in a database in memory. */
static enum st make_reference(struct sql_file **out, int64_t version, struct err *e) {
    struct sql_file *file = NULL;
    enum st st = sql_open(&file, NULL, true, e);
    st = st == ST_OK ? history_make_tables(file, e) : st;
    for (size_t i = 0; st == ST_OK && i < sizeof history_back / sizeof *history_back; i++) {
        st = version < history_back[i].from ? sql_run(file, history_back[i].sql, e) : ST_OK;
    }
    if (st != ST_OK) {
        sql_close(file);
        return ST_ERR;
    }
    *out = file;
    return ST_OK;
}

static enum st refuse_tables(const char *what, const char *name, struct err *e) {
    return err_set(e, ERR_FORMAT, "the history is damaged or forged: %s '%.64s'", what, name);
}

/* Does `other` have the schema entry (type, name, sql) in the current row of s? */
static enum st has_entry(struct sql_statement *other, struct sql_statement *s, struct err *e) {
    sql_bind_text(other, 1, sql_text(s, 0));
    sql_bind_text(other, 2, sql_text(s, 1));
    sql_bind_text(other, 3, sql_text(s, 2));
    enum st st = sql_next(other, e);
    sql_reset(other);
    return st;
}

static const char history_entry[] =
    "SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2 AND sql = ?3";

/* Refuses a file that lacks a table or index of the reference. Views are not checked, because
 * people may change them. */
static enum st check_expected(struct sql_file *file, struct sql_file *reference, struct err *e) {
    struct sql_statement *want = NULL, *entry = NULL;
    enum st st = sql_prepare(reference, &want,
                             "SELECT type, name, sql FROM sqlite_schema"
                             " WHERE type IN ('table', 'index') AND sql NOT NULL",
                             e);
    st = st == ST_OK ? sql_prepare(file, &entry, history_entry, e) : st;
    while (st == ST_OK && (st = sql_next(want, e)) == ST_OK) {
        st = has_entry(entry, want, e);
        if (st == ST_NONE) {
            st = refuse_tables("it lacks the table or index", sql_text(want, 1), e);
        }
    }
    sql_finish(want);
    sql_finish(entry);
    return st == ST_NONE ? ST_OK : ST_ERR;
}

/* Refuses a file that has a trigger, or an additional index on a table of the history. No code here
 * reads other tables and views. */
static enum st check_others(struct sql_file *file, struct sql_file *reference, struct err *e) {
    struct sql_statement *found = NULL, *entry = NULL, *table = NULL;
    enum st st = sql_prepare(file, &found,
                             "SELECT type, name, sql, tbl_name FROM sqlite_schema"
                             " WHERE type NOT IN ('table', 'view') AND sql NOT NULL",
                             e);
    st = st == ST_OK ? sql_prepare(reference, &entry, history_entry, e) : st;
    st = st == ST_OK ? sql_prepare(reference, &table,
                                   "SELECT 1 FROM sqlite_schema WHERE tbl_name = ?1"
                                   " COLLATE NOCASE",
                                   e)
                     : st;
    while (st == ST_OK && (st = sql_next(found, e)) == ST_OK) {
        bool index = strcmp(sql_text(found, 0), "index") == 0;
        sql_bind_text(table, 1, sql_text(found, 3));
        enum st ours = index ? sql_next(table, e) : ST_OK;
        sql_reset(table);
        st = ours == ST_OK ? has_entry(entry, found, e) : ours;
        if (st == ST_NONE && ours == ST_OK) {
            st = refuse_tables(index ? "it has the index" : "it has the trigger",
                               sql_text(found, 1), e);
        }
        st = st == ST_NONE ? ST_OK : st;
    }
    sql_finish(found);
    sql_finish(entry);
    sql_finish(table);
    return st == ST_NONE ? ST_OK : ST_ERR;
}

enum st history_check_tables(struct sql_file *file, int64_t version, struct err *e) {
    struct sql_file *reference = NULL;
    enum st st = make_reference(&reference, version, e);
    st = st == ST_OK ? check_expected(file, reference, e) : st;
    st = st == ST_OK ? check_others(file, reference, e) : st;
    sql_close(reference);
    return st;
}
