/* Keeps sums of parts, so that a later reading merges few of them instead of many parts. A part in
 * a kept sum is never merged with others, and a sum is dropped when the first of its parts is, so
 * that the ids of its parts always identify its content. */
#include <string.h>

#include "history/history_private.h"

/* A sum of all parts is kept if the parts and smaller kept sums that were merged into its base, the
 * largest kept sum, have at least ROLLED_BYTES_MIN bytes, and at least 1 / ROLLED_SHARE of the
 * bytes of the base. If they have a smaller share, a sum of them without the base is kept as soon
 * as the parts that are in no kept sum have ROLLED_BYTES_MIN bytes, because writing the base again
 * takes as long as reading it. If no kept sum was read, the first part takes the place of the base,
 * and only ROLLED_BYTES_MIN counts. */
/* ROLLED_MAX: maximum number of sums in a file. */
enum { ROLLED_BYTES_MIN = 1 << 16, ROLLED_SHARE = 2, ROLLED_MAX = 4 };

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

enum st history_sum_take(struct rolled_sum *sum, struct triage *t, struct err *e) {
    struct triage **to = sum->base ? &sum->rest : &sum->t;
    if (!*to) {
        *to = t;
        return ST_OK;
    }
    enum st st = triage_merge(*to, t, e);
    triage_free(t);
    return st;
}

enum st history_sum_join(struct rolled_sum *sum, struct err *e) {
    enum st st = sum->rest ? triage_merge(sum->t, sum->rest, e) : ST_OK;
    triage_free(sum->rest);
    sum->rest = NULL;
    return st;
}

/* Merges the partial of a kept sum, which has so many dumps, into a sum. ST_NONE: the partial is
 * damaged. */
static enum st add_partial(struct history *h, uint64_t dumps, const void *bytes, size_t len,
                           struct rolled_sum *sum, struct err *e) {
    struct triage *t = NULL;
    struct err damage = {0};
    if (history_part_of_row(h, sum->rules, dumps, bytes, len, &t, &damage) != ST_OK) {
        return damage.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    return history_sum_take(sum, t, e);
}

/* Merges the partial of the kept sum of this id, which has so many dumps, into a sum. *size: its
 * bytes. ST_NONE: the partial is damaged or missing. */
static enum st add_rolled(struct history *h, int64_t rolled, uint64_t dumps, struct rolled_sum *sum,
                          uint64_t *size, struct err *e) {
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
        st = add_partial(h, dumps, bytes, len, sum, e);
    }
    sql_finish(s);
    return st;
}

static enum st take_rolled(struct history *h, int64_t rolled, uint64_t dumps,
                           struct history_part_row *parts, size_t count, struct rolled_sum *sum,
                           struct err *e) {
    uint64_t size = 0;
    enum st st = history_match_parts(h, rolled, dumps, false, parts, count, e);
    st = st == ST_OK ? add_rolled(h, rolled, dumps, sum, &size, e) : st;
    st = st == ST_OK ? history_match_parts(h, rolled, dumps, true, parts, count, e) : st;
    if (st == ST_OK && sum->base) {
        sum->read += size;
    } else if (st == ST_OK) {
        sum->base = rolled;
        sum->base_dumps = dumps;
        sum->kept = size;
    }
    sum->dumps += st == ST_OK ? dumps : 0;
    return st;
}

/* The kept sums of a set of rules, in the order in which they are read. The query does not select
 * their partials, which may have tens of megabytes, because SQLite's sorter would copy them. */
static const char rolled_of_rules[] =
    "SELECT id, dumps FROM rolled WHERE rules = ?1 ORDER BY dumps DESC, id DESC";

enum st history_read_rolled(struct history *h, struct history_part_row *parts, size_t count,
                            struct rolled_sum *sum, struct err *e) {
    struct sql_statement *s;
    if (h->version < HISTORY_TIMES_FROM) {
        return ST_OK; /* it has none, or they tell no days */
    }
    if (sql_prepare(h->file, &s, rolled_of_rules, e) != ST_OK) {
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

/* Marks the parts of a kept sum as taken, if it can be used. ST_NONE: it cannot. */
static enum st match_sum(struct history *h, int64_t rolled, uint64_t dumps,
                         struct history_parts *parts, struct err *e) {
    struct history_part_row *rows = parts->rows.data;
    const size_t count = parts->rows.len;
    enum st st = history_match_parts(h, rolled, dumps, false, rows, count, e);
    return st == ST_OK ? history_match_parts(h, rolled, dumps, true, rows, count, e) : st;
}

enum st history_find_sums(struct history *h, struct history_parts *parts, int64_t *base,
                          struct err *e) {
    struct sql_statement *s;
    *base = 0;
    /* All parts of a sum were counted by the same rules, so that the order of sums of different
     * rules does not matter. */
    if (sql_prepare(h->file, &s, "SELECT id, dumps FROM rolled ORDER BY dumps DESC, id DESC", e) !=
        ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        st = match_sum(h, sql_number(s, 0), (uint64_t)sql_number(s, 1), parts, e);
        *base = st == ST_OK && !*base ? sql_number(s, 0) : *base;
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- keeping ---- */

/* A sum to be kept. */
struct keeping {
    const struct history_part_row *parts;
    size_t count;
    int64_t rules;
    int64_t base; /* row of the kept sum that has the parts which this sum lacks; 0 = it lacks
                     none */
    uint64_t dumps;
    int64_t version;
};

/* Inserts the sum's row, and a row for each of its parts. */
static enum st put_rolled(struct sql_file *file, const struct keeping *k, const struct strbuf *zip,
                          struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(file, &s, "INSERT INTO rolled(rules, dumps, partial) VALUES(?1, ?2, ?3)", e) !=
        ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, k->rules);
    sql_bind_count(s, 2, k->dumps);
    sql_bind_bytes(s, 3, zip->data, zip->len);
    enum st st = sql_step(s, e);
    sql_finish(s);
    if (st != ST_OK || sql_prepare(file, &s,
                                   "INSERT INTO rolled_part(part, rolled)"
                                   " SELECT ?1, (SELECT max(id) FROM rolled) WHERE NOT EXISTS"
                                   " (SELECT 1 FROM rolled_part WHERE part = ?1 AND rolled = ?2)",
                                   e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 2, k->base);
    for (size_t i = 0; st == ST_OK && i < k->count; i++) {
        if (k->parts[i].rules == k->rules) {
            sql_reset(s);
            sql_bind_number(s, 1, k->parts[i].id);
            st = sql_step(s, e);
        }
    }
    sql_finish(s);
    return st;
}

/* Drops the sums that the newest sum makes superfluous: those of the same rules that have no part
 * that the newest sum lacks and, if the newest sum has no base, at least half as many dumps as it.
 * Then drops sums until there are at most ROLLED_MAX, the oldest first, but not the base (0 = the
 * newest sum has none). The pages beside dropped sums are dropped, too. */
static enum st drop_needless(struct sql_file *file, int64_t base, struct err *e) {
    static const char *const drop_empty =
        "DELETE FROM rolled WHERE id NOT IN (SELECT rolled FROM rolled_part)";
    const char *const steps[] = {
        "DELETE FROM rolled_part WHERE rolled IN (SELECT r.id FROM rolled r, rolled n"
        " WHERE n.id = (SELECT max(id) FROM rolled) AND r.id <> n.id AND r.rules = n.rules"
        " AND (?1 <> 0 OR r.dumps >= n.dumps / 2) AND NOT EXISTS (SELECT 1 FROM rolled_part p"
        " WHERE p.rolled = r.id AND p.part NOT IN (SELECT part FROM rolled_part"
        " WHERE rolled = n.id)))",
        drop_empty,
        "DELETE FROM rolled_part WHERE rolled NOT IN"
        " (SELECT id FROM rolled ORDER BY id = ?1 DESC, id DESC LIMIT ?2)",
        drop_empty, "DELETE FROM rolled_page WHERE rolled NOT IN (SELECT id FROM rolled)"};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < sizeof steps / sizeof *steps; i++) {
        struct sql_statement *s;
        if (sql_prepare(file, &s, steps[i], e) != ST_OK) {
            return ST_ERR;
        }
        if (i == 0 || i == 2) {
            sql_bind_number(s, 1, base);
        }
        if (i == 2) {
            sql_bind_number(s, 2, ROLLED_MAX);
        }
        st = sql_step(s, e);
        sql_finish(s);
    }
    return st;
}

/* Writes the sum, if the file has not changed since the parts were read. */
static enum st write_rolled(void *ctx, struct history *h, struct sql_file *file, struct err *e) {
    const struct keeping *k = ctx;
    int64_t now = 0;
    if (sql_data_version(h->file, &now, e) != ST_OK || now != k->version) {
        return ST_ERR;
    }
    return put_rolled(file, k, &h->zip, e) == ST_OK ? drop_needless(file, k->base, e) : ST_ERR;
}

enum st history_keep_rolled(struct history *h, const struct history_part_row *parts, size_t count,
                            struct rolled_sum *sum, int64_t version, struct err *e) {
    struct keeping k = {.parts = parts, .count = count, .rules = sum->rules, .version = version};
    bool all = !sum->base || sum->read >= sum->kept / ROLLED_SHARE;
    if (h->version < HISTORY_VERSION || sum->damaged || sql_is_writing(h->file) ||
        (all ? sum->read : sum->parts) < ROLLED_BYTES_MIN) {
        return ST_OK;
    }
    k.base = all ? 0 : sum->base;
    k.dumps = all ? sum->dumps : sum->dumps - sum->base_dumps;
    enum st st = all ? history_sum_join(sum, e) : ST_OK;
    strbuf_reset(&h->zip);
    struct err why = {0};
    if (st == ST_OK && history_zip(h, all ? sum->t : sum->rest, &h->zip, &why) != ST_OK) {
        if (why.code == ERR_LIMIT) {
            return ST_OK;
        }
        st = err_copy(e, &why);
    }
    return st == ST_OK ? history_save(h, write_rolled, &k, e) : st;
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
    if (st == ST_OK && own) {
        /* Empties the log, because the connection that is closed last only reads and cannot do so.
         */
        (void)!sql_run(own, "PRAGMA wal_checkpoint(TRUNCATE)", &why);
        err_clear(&why);
    }
    sql_set_wait(file, SQL_WAIT_S * 1000);
    sql_close(own);
    return st != ST_OK && why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
}
