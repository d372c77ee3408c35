/* Checks the rows of a history's tables for themselves: the kinds of their values, the rows that
 * they refer to, facts, rules, marks and kept dumps. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "classify/rules/causes.h"
#include "history/history_private.h"

/* ---- faults that queries find ---- */

/* A query that counts rows, and what such rows have. since: the first version of the tables that
 * has the table. */
struct row_query {
    int since;
    const char *table, *fault, *where;
};

static const struct row_query row_queries[] = {
    {1, "seen", "with a day that is none", "day NOT BETWEEN -719162 AND 2932896"},
    {1, "bucket", "with an id that is none", "id NOT BETWEEN 0 AND 281474976710655"},
    {1, "alias", "with an id that is none", "id NOT BETWEEN 0 AND 281474976710655"},
    {1, "alias", "of a bucket that is missing", "bucket NOT IN (SELECT id FROM bucket)"},
    {1, "bucket_day", "of a bucket that is missing", "bucket NOT IN (SELECT id FROM bucket)"},
    {1, "bucket_day", "of a cell that is missing", "cell NOT IN (SELECT id FROM cell)"},
    {1, "mark", "of a bucket that is missing", "bucket NOT IN (SELECT id FROM bucket)"},
    {1, "part", "of a cell that is missing", "cell NOT IN (SELECT id FROM cell)"},
    {1, "part", "of rules that are missing", "rules NOT IN (SELECT id FROM rules)"},
    {2, "rolled_part", "of a sum that is missing", "rolled NOT IN (SELECT id FROM rolled)"},
    {2, "rolled_part", "of a part that is missing", "part NOT IN (SELECT id FROM part)"},
    {3, "cell_sum", "of a cell that is missing", "cell NOT IN (SELECT id FROM cell)"},
    {3, "cell_value", "of a cell that is missing", "cell NOT IN (SELECT id FROM cell)"},
    {3, "dump", "of a bucket that is missing", "bucket NOT IN (SELECT id FROM bucket)"},
    {3, "dump", "of a cell that is missing", "cell NOT IN (SELECT id FROM cell)"},
    {8, "cell_time", "of a cell that is missing", "cell NOT IN (SELECT id FROM cell)"},
    {5, "rolled_page", "of a sum that is missing", "rolled NOT IN (SELECT id FROM rolled)"},
};

struct row_examination {
    struct history *h;
    struct history_faults *faults;
    struct strbuf text; /* of a query */
};

static enum st tell_rows(struct row_examination *x, const char *table, int64_t count,
                         const char *fault, struct err *e) {
    return count ? history_fault(x->faults, e, "%s: %" PRId64 " row%s %s", table, count,
                                 count == 1 ? "" : "s", fault)
                 : ST_OK;
}

/* Counts the rows of a query, and tells them. */
static enum st tell_query(struct row_examination *x, const struct row_query *q, struct err *e) {
    struct sql_statement *s;
    strbuf_clear(&x->text);
    strbuf_addf(&x->text, "SELECT count(*) FROM %s WHERE %s", q->table, q->where);
    if (strbuf_check(&x->text, e) != ST_OK ||
        sql_prepare(x->h->file, &s, strbuf_cstr(&x->text), e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = sql_next(s, e);
    st = st == ST_OK ? tell_rows(x, q->table, sql_number(s, 0), q->fault, e) : st;
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- kinds of values ---- */

/* The tables, and the version from which on there are such. */
static const struct {
    int since;
    const char *name;
} row_tables[] = {{1, "fact"},     {1, "rules"},       {1, "seen"},     {1, "cell"},
                  {1, "part"},     {1, "bucket"},      {1, "alias"},    {1, "bucket_day"},
                  {1, "mark"},     {1, "run"},         {2, "rolled"},   {2, "rolled_part"},
                  {3, "cell_sum"}, {3, "cell_value"},  {3, "dump"},     {5, "rolled_page"},
                  {6, "shared"},   {7, "dump_shared"}, {8, "cell_time"}};

/* Sets x->text to a query that counts, for each column of a table, the values that are of another
 * kind than the column, and *columns to the columns' names, each with a NUL behind it. */
static enum st query_kinds(struct row_examination *x, const char *table, struct strbuf *columns,
                           struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(x->h->file, &s,
                    "SELECT name, lower(type), \"notnull\" FROM pragma_table_info(?1)",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, table);
    strbuf_clear(&x->text);
    strbuf_clear(columns);
    enum st st;
    while ((st = sql_next(s, e)) == ST_OK) {
        strbuf_addf(&x->text, "%s CAST(total(typeof(%s) NOT IN ('%s'%s)) AS INTEGER)",
                    columns->len ? "," : "SELECT", sql_text(s, 0), sql_text(s, 1),
                    sql_number(s, 2) ? "" : ", 'null'");
        strbuf_addstr(columns, sql_text(s, 0));
        strbuf_addc(columns, '\0');
    }
    strbuf_addf(&x->text, " FROM %s", table);
    sql_finish(s);
    st = st == ST_ERR ? ST_ERR : strbuf_check(&x->text, e);
    return st == ST_OK ? strbuf_check(columns, e) : st;
}

/* Tells the columns of a table that have values of another kind. */
static enum st check_kinds(struct row_examination *x, const char *table, struct err *e) {
    struct strbuf columns = {0};
    struct sql_statement *s = NULL;
    enum st st = query_kinds(x, table, &columns, e);
    st = st == ST_OK ? sql_prepare(x->h->file, &s, strbuf_cstr(&x->text), e) : st;
    st = st == ST_OK ? sql_next(s, e) : st;
    int at = 0;
    for (const char *name = strbuf_cstr(&columns);
         st == ST_OK && name < strbuf_cstr(&columns) + columns.len; name += strlen(name) + 1) {
        char fault[80];
        snprintf(fault, sizeof fault, "with a value of another kind as %s", name);
        st = tell_rows(x, table, sql_number(s, at++), fault, e);
    }
    sql_finish(s);
    strbuf_release(&columns);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- facts, rules and marks ---- */

/* Checks the cap, which a history with parts must have, and the first day that is kept. */
static enum st check_facts(struct row_examination *x, struct err *e) {
    struct strbuf *text = &x->text;
    uint64_t cap;
    int32_t day;
    strbuf_clear(text);
    enum st st = history_fact(x->h, "cap_ms", text, e);
    if (st == ST_OK && !parse_u64(strbuf_cstr(text), text->len, UINT64_MAX, &cap)) {
        st = history_fault(x->faults, e, "fact cap_ms: it is no number");
    } else if (st == ST_NONE) {
        const struct row_query parts = {1, "part", "without a fact cap_ms", "1"};
        st = tell_query(x, &parts, e);
    }
    strbuf_clear(text);
    st = st == ST_OK ? history_fact(x->h, "ids_from", text, e) : st;
    if (st == ST_OK && !history_day_parse(strbuf_cstr(text), text->len, &day)) {
        st = history_fault(x->faults, e, "fact ids_from: it is no day");
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Calls check for each row of a query. */
static enum st each_row(struct row_examination *x, const char *query,
                        enum st (*check)(struct row_examination *x, struct sql_statement *s,
                                         struct err *e),
                        struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(x->h->file, &s, query, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        st = check(x, s, e);
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

static enum st check_rules_row(struct row_examination *x, struct sql_statement *s, struct err *e) {
    const char *hash = sql_text(s, 1);
    uint64_t number;
    return parse_hex(hash, strlen(hash), &number)
               ? ST_OK
               : history_fault(x->faults, e, "rules %" PRId64 ": they have no hash",
                               sql_number(s, 0));
}

static enum st check_bucket_row(struct row_examination *x, struct sql_statement *s, struct err *e) {
    const char *cause = sql_text(s, 1);
    enum rule_cause known;
    return rule_cause_parse(cause, strlen(cause), &known)
               ? ST_OK
               : history_fault(x->faults, e, "bucket %012" PRIx64 ": its cause is none",
                               (uint64_t)sql_number(s, 0));
}

static enum st check_mark_row(struct row_examination *x, struct sql_statement *s, struct err *e) {
    struct err damage = {0};
    const char *value = sql_text(s, 2);
    if (*value && history_mark_check(sql_text(s, 1), value, &damage) == ST_OK) {
        return ST_OK;
    }
    return history_fault(x->faults, e, "mark of bucket %012" PRIx64 ": %s",
                         (uint64_t)sql_number(s, 0), *value ? damage.text : "it has no value");
}

/* ---- kept dumps ---- */

/* Is the row of a kept dump what its text says? s: a row of id, text, user, time, span_ms, and the
 * version and build of the cell. */
static bool dump_fits_row(struct sql_statement *s, const struct dump *d) {
    const char *version = d->app.version ? d->app.version : "";
    const char *build = d->app.build ? d->app.build : "";
    const char *time = sql_text(s, 3); /* "" if it was ahead of the clock; it may be cut */
    const int64_t user = d->user && *d->user ? (int64_t)hash_bytes(d->user, strlen(d->user)) : 0;
    return d->id && (int64_t)dump_id_hash(d->id) == sql_number(s, 0) && user == sql_number(s, 2) &&
           strncmp(d->time ? d->time : "", time, strlen(time)) == 0 &&
           dump_span_ms(d) == sql_number(s, 4) && strcmp(version, sql_text(s, 5)) == 0 &&
           strcmp(build, sql_text(s, 6)) == 0;
}

static enum st check_dump_row(struct row_examination *x, struct sql_statement *s, struct err *e) {
    struct dump d = {0};
    struct err damage = {0};
    size_t len;
    const void *bytes = sql_bytes(s, 1, &len);
    enum st st = history_dump_text(x->h, bytes, len, &damage);
    st = st == ST_OK ? dump_parse(&d, strbuf_cstr(&x->h->text), x->h->text.len, &damage) : st;
    if (st == ST_OK && !dump_fits_row(s, &d)) {
        st = err_set(&damage, ERR_FORMAT, "its text is of another dump than its row");
    }
    dump_release(&d);
    return st == ST_OK ? ST_OK : history_row_fault(x->faults, "dump", sql_number(s, 0), &damage, e);
}

/* ---- all tables ---- */

static enum st check_shared_row(struct row_examination *x, struct sql_statement *s, struct err *e) {
    const struct history_shared *text;
    const int64_t id = sql_number(s, 0);
    struct err damage = {0};
    enum st st = id > 0 && id == (uint32_t)id
                     ? history_shared_text(x->h, (uint32_t)id, &text, &damage)
                     : err_set(&damage, ERR_FORMAT, "it has no number of a text");
    return st == ST_OK ? ST_OK : history_row_fault(x->faults, "shared", id, &damage, e);
}

static const struct {
    int since;
    const char *query;
    enum st (*check)(struct row_examination *x, struct sql_statement *s, struct err *e);
} row_checks[] = {
    {1, "SELECT id, hash FROM rules ORDER BY id", check_rules_row},
    {1, "SELECT id, cause FROM bucket ORDER BY id", check_bucket_row},
    {1, "SELECT bucket, name, value FROM mark ORDER BY bucket, name", check_mark_row},
    {3,
     "SELECT d.id, d.text, ifnull(d.user, 0), d.time, d.span_ms, c.version, c.build FROM dump d"
     " LEFT JOIN cell c ON c.id = d.cell ORDER BY d.id",
     check_dump_row},
    {HISTORY_SHARED_FROM, "SELECT id FROM shared ORDER BY id", check_shared_row},
};

enum st history_check_rows(struct history *h, struct history_faults *f, struct err *e) {
    struct row_examination x = {.h = h, .faults = f};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < sizeof row_tables / sizeof *row_tables; i++) {
        st = h->version < row_tables[i].since ? ST_OK : check_kinds(&x, row_tables[i].name, e);
    }
    for (size_t i = 0; st == ST_OK && i < sizeof row_queries / sizeof *row_queries; i++) {
        st = h->version < row_queries[i].since ? ST_OK : tell_query(&x, &row_queries[i], e);
    }
    st = st == ST_OK ? check_facts(&x, e) : st;
    for (size_t i = 0; st == ST_OK && i < sizeof row_checks / sizeof *row_checks; i++) {
        st = h->version < row_checks[i].since
                 ? ST_OK
                 : each_row(&x, row_checks[i].query, row_checks[i].check, e);
    }
    strbuf_release(&x.text);
    return st;
}
