/* Keeps sums of parts, so that a later reading merges few of them instead of many parts. A part in
 * a kept sum is never merged with others, and a sum is dropped when the first of its parts is, so
 * that the ids of its parts always identify its content. */
#include <string.h>

#include "history/history_private.h"

/* A sum is kept if the parts and smaller sums that were merged into the largest kept sum have at
 * least ROLLED_BYTES_MIN bytes, and at least 1 / ROLLED_SHARE of the bytes of that sum. */
/* Maximum number of sums in a file. */
enum { ROLLED_BYTES_MIN = 1 << 16, ROLLED_SHARE = 8, ROLLED_MAX = 4 };

/* ---- reading ---- */

static struct history_part_row *find_part(struct history_part_row *parts, size_t count,
                                          int64_t id) {
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (parts[middle].id < id) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < count && parts[from].id == id ? &parts[from] : NULL;
}

enum st history_match_parts(struct history *h, int64_t rolled, uint64_t dumps, bool take,
                            struct history_part_row *parts, size_t count, struct err *e) {
    struct sql_statement *s;
    uint64_t sum = 0;
    if (sql_prepare(h->file, &s, "SELECT part FROM rolled_part WHERE rolled = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, rolled);
    enum st st;
    bool fits = true;
    while ((st = sql_next(s, e)) == ST_OK && fits) {
        struct history_part_row *p = find_part(parts, count, sql_number(s, 0));
        fits = p && (take || !p->taken);
        if (fits) {
            sum += p->dumps;
            p->taken = p->taken || take;
        }
    }
    sql_finish(s);
    if (st == ST_ERR) {
        return ST_ERR;
    }
    return fits && sum == dumps ? ST_OK : ST_NONE;
}

/* Merges a partial into a sum. ST_NONE: the partial is damaged. */
static enum st add_partial(struct history *h, const void *bytes, size_t len, struct rolled_sum *sum,
                           struct err *e) {
    struct triage *t = NULL;
    struct err damage = {0};
    if (history_part(h, bytes, len, &t, &damage) != ST_OK) {
        return damage.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    if (!sum->t) {
        sum->t = t;
        return ST_OK;
    }
    enum st st = triage_merge(sum->t, t, e);
    triage_free(t);
    return st;
}

/* Merges the partial of the kept sum of this id into a sum. ST_NONE: the partial is damaged or
 * missing. */
static enum st add_rolled(struct history *h, int64_t rolled, struct rolled_sum *sum, uint64_t *size,
                          struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT partial FROM rolled WHERE id = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, rolled);
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        size_t len;
        const void *bytes = sql_bytes(s, 0, &len);
        *size = len;
        st = add_partial(h, bytes, len, sum, e);
    }
    sql_finish(s);
    return st;
}

static enum st take_rolled(struct history *h, int64_t rolled, uint64_t dumps,
                           struct history_part_row *parts, size_t count, struct rolled_sum *sum,
                           struct err *e) {
    uint64_t size = 0;
    enum st st = history_match_parts(h, rolled, dumps, false, parts, count, e);
    st = st == ST_OK ? add_rolled(h, rolled, sum, &size, e) : st;
    st = st == ST_OK ? history_match_parts(h, rolled, dumps, true, parts, count, e) : st;
    if (st == ST_OK) {
        sum->read += sum->kept ? size : 0;
        sum->kept = sum->kept ? sum->kept : size;
        sum->dumps += dumps;
    }
    return st;
}

enum st history_read_rolled(struct history *h, struct history_part_row *parts, size_t count,
                            struct rolled_sum *sum, struct err *e) {
    struct sql_statement *s;
    if (h->version < 2) {
        return ST_OK;
    }
    /* The partials have tens of megabytes. The query does not select them, because SQLite's sorter
     * would copy them. */
    if (sql_prepare(h->file, &s,
                    "SELECT id, dumps FROM rolled WHERE rules = ?1 ORDER BY dumps DESC, id DESC",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, sum->rules);
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        st = take_rolled(h, sql_number(s, 0), (uint64_t)sql_number(s, 1), parts, count, sum, e);
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- keeping ---- */

/* Inserts the sum's row, and a row for each of its parts. */
static enum st put_rolled(struct sql_file *file, const struct history_part_row *parts, size_t count,
                          const struct rolled_sum *sum, const struct strbuf *zip, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(file, &s, "INSERT INTO rolled(rules, dumps, partial) VALUES(?1, ?2, ?3)", e) !=
        ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, sum->rules);
    sql_bind_count(s, 2, sum->dumps);
    sql_bind_bytes(s, 3, zip->data, zip->len);
    enum st st = sql_step(s, e);
    sql_finish(s);
    if (st != ST_OK ||
        sql_prepare(file, &s,
                    "INSERT INTO rolled_part(part, rolled) SELECT ?1, max(id) FROM rolled",
                    e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        if (parts[i].rules == sum->rules) {
            sql_reset(s);
            sql_bind_number(s, 1, parts[i].id);
            st = sql_step(s, e);
        }
    }
    sql_finish(s);
    return st;
}

/* Drops the sums that the newest sum makes superfluous: those of the same rules that have at least
 * half of the newest sum's dumps and no part that the newest sum lacks. Then drops sums until there
 * are at most ROLLED_MAX, the oldest first. */
static enum st drop_needless(struct sql_file *file, struct err *e) {
    static const char *const drop_empty =
        "DELETE FROM rolled WHERE id NOT IN (SELECT rolled FROM rolled_part)";
    const char *const steps[] = {
        "DELETE FROM rolled_part WHERE rolled IN (SELECT r.id FROM rolled r, rolled n"
        " WHERE n.id = (SELECT max(id) FROM rolled) AND r.id <> n.id AND r.rules = n.rules"
        " AND r.dumps >= n.dumps / 2 AND NOT EXISTS (SELECT 1 FROM rolled_part p"
        " WHERE p.rolled = r.id AND p.part NOT IN (SELECT part FROM rolled_part"
        " WHERE rolled = n.id)))",
        drop_empty,
        "DELETE FROM rolled_part WHERE rolled NOT IN"
        " (SELECT id FROM rolled ORDER BY id DESC LIMIT ?1)",
        drop_empty, "DELETE FROM rolled_page WHERE rolled NOT IN (SELECT id FROM rolled)"};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < sizeof steps / sizeof *steps; i++) {
        struct sql_statement *s;
        if (sql_prepare(file, &s, steps[i], e) != ST_OK) {
            return ST_ERR;
        }
        if (i == 2) {
            sql_bind_number(s, 1, ROLLED_MAX);
        }
        st = sql_step(s, e);
        sql_finish(s);
    }
    return st;
}

/* A sum to be kept. */
struct keeping {
    const struct history_part_row *parts;
    size_t count;
    const struct rolled_sum *sum;
    int64_t version;
};

/* Writes the sum, if the file has not changed since the parts were read. */
static enum st write_rolled(void *ctx, struct history *h, struct sql_file *file, struct err *e) {
    const struct keeping *k = ctx;
    int64_t now = 0;
    if (sql_data_version(h->file, &now, e) != ST_OK || now != k->version) {
        return ST_ERR;
    }
    return put_rolled(file, k->parts, k->count, k->sum, &h->zip, e) == ST_OK
               ? drop_needless(file, e)
               : ST_ERR;
}

enum st history_keep_rolled(struct history *h, const struct history_part_row *parts, size_t count,
                            const struct rolled_sum *sum, int64_t version, struct err *e) {
    struct keeping k = {parts, count, sum, version};
    if (h->version < HISTORY_VERSION || sum->damaged || sum->read < ROLLED_BYTES_MIN ||
        sum->read < sum->kept / ROLLED_SHARE || sql_is_writing(h->file)) {
        return ST_OK;
    }
    strbuf_reset(&h->zip);
    return history_zip(h, sum->t, &h->zip, e) == ST_OK ? history_save(h, write_rolled, &k, e)
                                                       : ST_ERR;
}

/* ---- saving ---- */

/* Is the structure of the file undamaged? A run that only reads must not write to a damaged file,
 * because writing can make the damage worse. integrity_check is used, since the faster quick_check
 * of SQLite 3.40 takes keys of tables without row ids for NULL. */
static bool is_sound(struct sql_file *file, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(file, &s, "PRAGMA integrity_check(1)", e) != ST_OK) {
        return false;
    }
    bool sound = sql_next(s, e) == ST_OK && strcmp(sql_text(s, 0), "ok") == 0;
    sql_finish(s);
    return sound;
}

enum st history_save(struct history *h, history_saving save, void *ctx, struct err *e) {
    struct sql_file *own = NULL;
    struct err why = {0};
    if (h->version < HISTORY_VERSION || sql_is_writing(h->file)) {
        return ST_OK;
    }
    if (h->access == HISTORY_READ && sql_open(&own, h->path, true, &why) != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
    }
    struct sql_file *file = own ? own : h->file;
    sql_set_wait(file, 0);
    h->sound = h->sound || !own || is_sound(own, &why); /* all of the file is read, so only once */
    enum st st = h->sound ? sql_begin(file, &why) : ST_ERR;
    if (st == ST_OK) {
        st = save(ctx, h, file, &why);
        st = st == ST_OK ? sql_commit(file, &why) : st;
        if (st != ST_OK) {
            sql_undo(file);
        }
    }
    sql_set_wait(file, SQL_WAIT_S * 1000);
    sql_close(own);
    return st != ST_OK && why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
}
