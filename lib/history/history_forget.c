/* Removes the data that identifies one user from a history. */
#include <string.h>

#include "base/hash.h"
#include "history/history_private.h"

/* A part of the file, with its day. */
struct dated_part {
    int64_t id;
    int32_t day;
};

struct forgetting {
    struct history *h;
    const char *user;
    uint64_t hash;
    VEC(struct dated_part) parts;
    uint64_t changed;
};

static enum st list_dated_parts(struct forgetting *f, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(f->h->file, &s,
                    "SELECT p.id, c.day FROM part p JOIN cell c ON c.id = p.cell ORDER BY p.id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        struct dated_part p = {sql_number(s, 0), HISTORY_NO_DAY};
        st = history_cell_day(s, 1, &p.day, e);
        if (st == ST_OK && !VEC_PUSH(&f->parts, p)) {
            st = err_nomem(e);
        }
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

/* Sets *hash to the hash of the pair of a day and the user, by which session records are counted.
 */
static enum st hash_user_day(struct forgetting *f, int32_t day, uint64_t *hash, struct err *e) {
    char text[HISTORY_DAY_SIZE];
    struct strbuf *b = &f->h->scratch;
    strbuf_clear(b);
    strbuf_addstr(b, history_day_text(day, text));
    strbuf_addstr(b, f->user);
    *hash = b->failed ? 0 : hash_bytes(b->data, b->len);
    return strbuf_check(b, e);
}

static enum st rewrite_part(struct history *h, int64_t part, const struct triage *t,
                            struct err *e) {
    struct sql_statement *s;
    strbuf_clear(&h->zip);
    if (history_zip(h, t, &h->zip, e) != ST_OK ||
        sql_prepare(h->file, &s, "UPDATE part SET partial = ?1 WHERE id = ?2", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_bytes(s, 1, h->zip.data, h->zip.len);
    sql_bind_number(s, 2, part);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}

static enum st forget_in_part(struct forgetting *f, const struct dated_part *p, struct err *e) {
    struct triage *t = NULL;
    uint64_t user_day = 0;
    size_t len;
    struct sql_statement *s = history_statement(f->h, HISTORY_PART_GET, e);
    if (!s || hash_user_day(f, p->day, &user_day, e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, p->id);
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        const void *bytes = sql_bytes(s, 0, &len);
        st = history_part(f->h, bytes, len, &t, e);
    }
    sql_reset(s);
    if (st == ST_OK && triage_forget_user(t, f->hash, user_day)) {
        f->changed++;
        st = rewrite_part(f->h, p->id, t, e);
    }
    triage_free(t);
    return st == ST_NONE ? err_set(e, ERR_FORMAT, "a part of the history is missing") : st;
}

/* Deletes the kept dumps of the user, and then makes the text that dumps share anew, because it may
 * have pieces of them. */
static enum st forget_dumps(struct forgetting *f, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(f->h->file, &s, "DELETE FROM dump WHERE user = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_count(s, 1, f->hash);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st == ST_OK ? history_renew_dump_shared(f->h, e) : st;
}

enum st history_forget_user(struct history *h, const char *user, uint64_t *parts, struct err *e) {
    struct forgetting f = {.h = h, .user = user, .hash = hash_bytes(user, strlen(user))};
    *parts = 0;
    if (history_begin_editing(h, e) != ST_OK) {
        return ST_ERR;
    }
    const uint64_t unreadable = h->counts.unreadable;
    enum st st = sql_run(h->file, "PRAGMA secure_delete = ON", e);
    st = st == ST_OK ? list_dated_parts(&f, e) : st;
    for (size_t i = 0; st == ST_OK && i < f.parts.len; i++) {
        st = forget_in_part(&f, &f.parts.data[i], e);
    }
    st = st == ST_OK
             ? sql_run(h->file,
                       "DELETE FROM rolled_part; DELETE FROM rolled_page; DELETE FROM rolled", e)
             : st;
    st = st == ST_OK ? forget_dumps(&f, e) : st;
    VEC_RELEASE(&f.parts);
    *parts = f.changed;
    st = st == ST_OK ? sql_commit(h->file, e) : st;
    if (st != ST_OK) {
        sql_undo(h->file);
        h->counts.unreadable = unreadable;
        return ST_ERR;
    }
    return sql_run(h->file, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", e);
}
