/* Reads the facts about one bucket (the days and versions in which it was seen, and the marks that
 * people set), and sets marks. */
#include <string.h>

#include "base/parse.h"
#include "classify/keys/version.h"
#include "history/history_private.h"

/* The marks that people can set: a mark's name, and the member of struct bucket_note that has its
 * text. */
static const struct {
    const char *name;
    size_t at;
} history_marks[] = {{"fixed-in", offsetof(struct bucket_note, fixed_in)},
                     {"owner", offsetof(struct bucket_note, owner)},
                     {"note", offsetof(struct bucket_note, note)},
                     {"link", offsetof(struct bucket_note, link)},
                     {"ignore", offsetof(struct bucket_note, ignore)}};
enum { HISTORY_MARKS = sizeof history_marks / sizeof *history_marks, MARK_MAX = 4096 };

static bool parse_bucket(const char *id, uint64_t *number) {
    return strlen(id) == KEY_ID_SIZE - 1 && parse_hex(id, KEY_ID_SIZE - 1, number);
}

/* ---- notes ---- */

/* The texts of a note while they are collected. Each has its own buffer, because pointers into one
 * common buffer would break when it grows. */
struct note_texts {
    int32_t first_day, last_day; /* HISTORY_NO_DAY = not known */
    struct strbuf first, last;   /* first and last version */
    struct strbuf marks[HISTORY_MARKS];
    /* Lowest versions, from the one in fixed-in on, that have the bucket: `back` among the versions
     * of which the history has several dumps, `back_alone` among those of which it has only one. */
    struct strbuf back, back_alone;
    bool seen;
};

static void keep_text(struct strbuf *b, const char *text) {
    strbuf_clear(b);
    strbuf_addstr(b, text);
}

/* Did memory run out for one of the texts? */
static bool note_texts_failed(const struct note_texts *t) {
    bool failed = t->first.failed || t->last.failed || t->back.failed || t->back_alone.failed;
    for (size_t i = 0; i < HISTORY_MARKS; i++) {
        failed = failed || t->marks[i].failed;
    }
    return failed;
}

static enum st note_marks(struct history *h, uint64_t id, struct note_texts *t, struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_NOTE_MARKS, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, id);
    enum st st;
    while ((st = sql_next(s, e)) == ST_OK) {
        if (!sql_is_text(s, 0) || !sql_is_text(s, 1)) {
            return err_set(e, ERR_FORMAT, "the history is damaged: a mark is no text");
        }
        for (size_t i = 0; i < HISTORY_MARKS; i++) {
            if (strcmp(sql_text(s, 0), history_marks[i].name) == 0) {
                keep_text(&t->marks[i], sql_text(s, 1));
                t->seen = true;
            }
        }
    }
    return st == ST_NONE ? ST_OK : ST_ERR;
}

/* Keeps a version, from the one in fixed-in on, that has the bucket, if it is the lowest one so
 * far. A version of which the history has only one dump is kept apart, because one dump may name
 * any version. */
static enum st note_back(struct history *h, const char *version, struct note_texts *t,
                         struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_VERSION_DUMPS, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, version);
    enum st st = sql_next(s, e);
    if (st != ST_OK) {
        return st == ST_NONE ? ST_OK : ST_ERR;
    }
    struct strbuf *lowest = sql_number(s, 0) > 1 ? &t->back : &t->back_alone;
    sql_reset(s);
    if (!lowest->len || version_compare(version, strbuf_cstr(lowest)) < 0) {
        keep_text(lowest, version);
    }
    return ST_OK;
}

static enum st note_cells(struct history *h, uint64_t id, struct note_texts *t, struct err *e) {
    const char *fixed = strbuf_cstr(&t->marks[0]);
    struct sql_statement *s = history_statement(h, HISTORY_NOTE_CELLS, e);
    bool versions = false;
    if (!s) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, id);
    enum st st;
    while ((st = sql_next(s, e)) == ST_OK) {
        const char *version = sql_text(s, 1);
        int32_t day;
        if (history_cell_check(s, 0, NULL) != ST_OK ||
            history_cell_day(s, 0, &day, NULL) != ST_OK) {
            continue;
        }
        if (day != HISTORY_NO_DAY) {
            bool first = t->first_day == HISTORY_NO_DAY;
            t->first_day = first || day < t->first_day ? day : t->first_day;
            t->last_day = first || day > t->last_day ? day : t->last_day;
        }
        if (*version && (!versions || version_compare(version, strbuf_cstr(&t->first)) < 0)) {
            keep_text(&t->first, version);
        }
        if (*version && (!versions || version_compare(version, strbuf_cstr(&t->last)) > 0)) {
            keep_text(&t->last, version);
        }
        if (*version && *fixed && version_compare(version, fixed) >= 0 &&
            note_back(h, version, t, e) != ST_OK) {
            return ST_ERR;
        }
        versions = versions || *version;
        t->seen = true;
    }
    return st == ST_NONE ? ST_OK : ST_ERR;
}

/* Moves the texts into one buffer, and points the note's members to them. */
static enum st note_settle(struct history_note *n, struct note_texts *t, struct err *e) {
    char first[HISTORY_DAY_SIZE], last[HISTORY_DAY_SIZE];
    enum { FIXED_TEXTS = 6, TEXTS = HISTORY_MARKS + FIXED_TEXTS };
    struct {
        const char *text;
        const char **to;
    } rows[TEXTS] = {{history_day_text(t->first_day, first), &n->said.first_day},
                     {history_day_text(t->last_day, last), &n->said.last_day},
                     {strbuf_cstr(&t->first), &n->said.first_version},
                     {strbuf_cstr(&t->last), &n->said.last_version},
                     {strbuf_cstr(&t->back), &n->said.back_in},
                     {strbuf_cstr(&t->back_alone), &n->said.back_alone}};
    size_t at[TEXTS];
    for (size_t i = 0; i < HISTORY_MARKS; i++) {
        rows[FIXED_TEXTS + i].text = strbuf_cstr(&t->marks[i]);
        rows[FIXED_TEXTS + i].to = (const char **)(void *)((char *)&n->said + history_marks[i].at);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        at[i] = n->text.len;
        strbuf_addstr(&n->text, rows[i].text);
        strbuf_addc(&n->text, '\0');
    }
    if (n->text.failed || note_texts_failed(t)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        *rows[i].to = n->text.data + at[i];
    }
    return ST_OK;
}

enum st history_note_of(struct history *h, const char *id, struct history_note *n, struct err *e) {
    struct note_texts t = {0};
    uint64_t number;
    memset(n, 0, sizeof *n);
    t.first_day = t.last_day = HISTORY_NO_DAY;
    if (!parse_bucket(id, &number)) {
        return ST_NONE;
    }
    enum st st = note_marks(h, number, &t, e);
    st = st == ST_OK ? note_cells(h, number, &t, e) : st;
    st = st == ST_OK ? note_settle(n, &t, e) : st;
    strbuf_release(&t.first);
    strbuf_release(&t.last);
    strbuf_release(&t.back);
    strbuf_release(&t.back_alone);
    for (size_t i = 0; i < HISTORY_MARKS; i++) {
        strbuf_release(&t.marks[i]);
    }
    return st == ST_OK && !t.seen ? ST_NONE : st;
}

enum st history_marked_each(struct history *h, const char *name, history_bucket_visit visit,
                            void *ctx, struct err *e) {
    struct sql_statement *s;
    /* The table alias has no index by id, and may be as large as the table of buckets: it is passed
     * over if no mark has this name, and else read once, whatever the number of marks. */
    if (sql_prepare(h->file, &s,
                    "SELECT bucket FROM mark WHERE ?1 IN ('', name) UNION"
                    " SELECT alias.bucket FROM alias"
                    " WHERE EXISTS (SELECT 1 FROM mark WHERE ?1 IN ('', name)) AND alias.id IN"
                    " (SELECT bucket FROM mark WHERE ?1 IN ('', name)) AND " HISTORY_ALIAS_IS_FREE,
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, name);
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        st = visit(ctx, (uint64_t)sql_number(s, 0), e);
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

enum st history_title_of(struct history *h, uint64_t bucket, struct strbuf *out, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s,
                    "SELECT title FROM bucket WHERE id = ?1 AND NOT EXISTS"
                    " (SELECT 1 FROM alias WHERE alias.id = ?1 AND alias.bucket <> ?1 AND"
                    " " HISTORY_ALIAS_IS_FREE ")",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, bucket);
    return history_take_text(s, out, e);
}

enum st history_ids_each(struct history *h, uint64_t bucket, history_bucket_visit visit, void *ctx,
                         struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s,
                    "SELECT ?1 UNION SELECT id FROM alias WHERE bucket = ?1"
                    " AND " HISTORY_ALIAS_IS_FREE " UNION SELECT bucket FROM alias WHERE id = ?1"
                    " AND " HISTORY_ALIAS_IS_FREE,
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, bucket);
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        st = visit(ctx, (uint64_t)sql_number(s, 0), e);
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- marks ---- */

enum st history_mark_check(const char *name, const char *value, struct err *e) {
    size_t i = 0;
    int32_t day;
    while (i < HISTORY_MARKS && strcmp(name, history_marks[i].name) != 0) {
        i++;
    }
    if (i == HISTORY_MARKS) {
        return err_set(e, ERR_USAGE, "a mark is fixed-in, owner, note, link or ignore, not '%s'",
                       name);
    }
    if (strlen(value) > MARK_MAX) {
        return err_set(e, ERR_USAGE, "a mark has at most %d bytes", MARK_MAX);
    }
    if (strcmp(name, "ignore") == 0 && *value && strcmp(value, "ever") != 0 &&
        (strlen(value) != 10 || !history_day_parse(value, strlen(value), &day))) {
        return err_set(e, ERR_USAGE, "ignore is until a day such as 2026-12-01, or ever, not '%s'",
                       value);
    }
    return ST_OK;
}

/* Does the history have a bucket with this id? ST_OK: yes; ST_NONE: no. */
static enum st has_bucket(struct history *h, uint64_t id, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT 1 FROM bucket WHERE id = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, id);
    enum st st = sql_next(s, e);
    sql_finish(s);
    return st;
}

static enum st put_mark(struct history *h, uint64_t id, const char *name, const char *value,
                        const char *at, struct err *e) {
    struct sql_statement *s;
    const char *sql = *value ? "INSERT OR REPLACE INTO mark(bucket, name, value, set_at)"
                               " VALUES(?1, ?2, ?3, ?4)"
                             : "DELETE FROM mark WHERE bucket = ?1 AND name = ?2";
    if (sql_prepare(h->file, &s, sql, e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, id);
    sql_bind_text(s, 2, name);
    if (*value) {
        sql_bind_text(s, 3, value);
        sql_bind_text(s, 4, at);
    }
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}

enum st history_mark(struct history *h, const char *id, const char *name, const char *value,
                     const char *at, struct err *e) {
    uint64_t number;
    if (history_mark_check(name, value, e) != ST_OK) {
        return ST_ERR;
    }
    if (!parse_bucket(id, &number)) {
        return err_set(e, ERR_USAGE, "a bucket's id has 12 hex digits, not '%s'", id);
    }
    if (history_begin_editing(h, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = has_bucket(h, number, e);
    st = st == ST_OK ? put_mark(h, number, name, value, at, e) : st;
    if (st == ST_OK) {
        return sql_commit(h->file, e);
    }
    sql_undo(h->file);
    return st;
}
