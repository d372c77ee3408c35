/* Reads the counts of a history: merges the parts of the selected days and versions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "history/history_private.h"

bool history_options(struct history *h, struct triage_options *o, struct err *e) {
    struct sql_statement *s;
    uint64_t cap;
    strbuf_clear(&h->said_rules);
    if (history_fact(h, "cap_ms", &h->said_rules, e) != ST_OK) {
        return false;
    }
    if (!parse_u64(h->said_rules.data, h->said_rules.len, UINT64_MAX, &cap)) {
        err_set(e, ERR_FORMAT, "the history is damaged: cap_ms is no number");
        return false;
    }
    if (sql_prepare(h->file, &s, "SELECT hash, words FROM rules ORDER BY id DESC", e) != ST_OK) {
        return false;
    }
    enum st st = ST_OK, more;
    bool found = false, any = false;
    while (!found && (more = sql_next(s, e)) == ST_OK) {
        const char *hash = sql_text(s, 0);
        any = true;
        *o = (struct triage_options){.cap_ms = cap};
        found = parse_hex(hash, strlen(hash), &o->rules_hash);
    }
    strbuf_clear(&h->said_rules);
    if (found) {
        strbuf_addstr(&h->said_rules, sql_text(s, 1));
        o->rules = strbuf_cstr(&h->said_rules);
        st = strbuf_check(&h->said_rules, e);
    } else if (any && !err_is(e)) {
        st = err_set(e, ERR_FORMAT, "the history is damaged: a set of rules has no hash");
    }
    sql_finish(s);
    return found && st == ST_OK;
}

enum st history_cell_day(struct sql_statement *s, int at, int32_t *day, struct err *e) {
    int64_t stored = sql_number(s, at);
    *day = HISTORY_NO_DAY;
    if (sql_is_none(s, at)) {
        return ST_OK;
    }
    if (!sql_is_number(s, at) || !history_day_is_one(stored)) {
        return err_set(e, ERR_FORMAT, "the day of a cell is no day");
    }
    *day = (int32_t)stored;
    return ST_OK;
}

enum st history_cell_check(struct sql_statement *s, int at, struct err *e) {
    int32_t day;
    if (history_cell_day(s, at, &day, e) != ST_OK) {
        return ST_ERR;
    }
    return sql_is_text(s, at + 1) && sql_is_text(s, at + 2)
               ? ST_OK
               : err_set(e, ERR_FORMAT, "the version of a cell is no text");
}

enum st history_cell_is_wanted(const struct history_span *span, struct sql_statement *s, int at,
                               int32_t *day, struct err *e) {
    char text[HISTORY_DAY_SIZE];
    if (history_cell_check(s, at, NULL) != ST_OK || history_cell_day(s, at, day, NULL) != ST_OK) {
        return ST_NONE;
    }
    const bool has_day = *day != HISTORY_NO_DAY;
    const char *version = sql_text(s, at + 1);
    if ((span->no_day && has_day) || (span->version && strcmp(span->version, version) != 0)) {
        return ST_NONE;
    }
    if (has_day ? *day < span->since || *day > span->until
                : !span->no_day && (span->since != INT32_MIN || span->until != INT32_MAX)) {
        return ST_NONE;
    }
    if (!span->where) {
        return ST_OK;
    }
    const struct dump d = {.time = has_day ? history_day_text(*day, text) : NULL,
                           .app = {.version = version, .build = sql_text(s, at + 2)}};
    const struct stall_key key = {0};
    return where_match(span->where, &d, &key, NULL, e);
}

struct history_reader {
    struct history *h;
    const struct history_span *span;
    struct history_parts parts;  /* parts of the span */
    VEC(struct rolled_sum) sums; /* a sum for each set of rules */
};

/* Sets *hash to a hash of the ids of all buckets with marks. */
static enum st hash_marked(struct history *h, uint64_t *hash, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT DISTINCT bucket FROM mark ORDER BY bucket", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st;
    *hash = 0;
    while ((st = sql_next(s, e)) == ST_OK) {
        *hash = hash_u64(*hash ^ (uint64_t)sql_number(s, 0)) + 1;
    }
    sql_finish(s);
    return st == ST_NONE ? ST_OK : ST_ERR;
}

/* Counts a damaged part, and keeps the error of the first one. */
static void leave_out(struct history_parts *parts, int64_t id, const struct err *damage) {
    if (!parts->left_out++) {
        parts->first = *damage;
        parts->first_id = id;
    }
}

/* Appends the part in the current row if the span includes its cell. */
static enum st list_part(struct sql_statement *s, const struct history_span *span,
                         struct history_parts *parts, struct err *e) {
    struct history_part_row p = {.id = sql_number(s, 0),
                                 .rules = sql_number(s, 1),
                                 .dumps = (uint64_t)sql_number(s, 2),
                                 .bytes = (uint64_t)sql_number(s, 3)};
    struct err damage = {0};
    if (sql_is_none(s, 7)) {
        err_set(&damage, ERR_FORMAT, "it has no cell");
    }
    if (err_is(&damage) || history_cell_check(s, 4, &damage) != ST_OK) {
        leave_out(parts, p.id, &damage);
        parts->astray++;
        return ST_OK;
    }
    enum st st = history_cell_is_wanted(span, s, 4, &p.day, e);
    if (st == ST_OK && !VEC_PUSH(&parts->rows, p)) {
        st = err_nomem(e);
    }
    return st == ST_NONE ? ST_OK : st;
}

enum st history_list_parts(struct history *h, const struct history_span *span,
                           struct history_parts *parts, struct err *e) {
    struct sql_statement *s;
    if (hash_marked(h, &parts->marks, e) != ST_OK ||
        sql_prepare(h->file, &s,
                    "SELECT p.id, p.rules, p.dumps, length(p.partial), c.day, c.version, c.build,"
                    " c.id FROM part p LEFT JOIN cell c ON c.id = p.cell ORDER BY p.id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        st = list_part(s, span, parts, e);
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

uint64_t history_part_content(const void *bytes, size_t len) {
    uint64_t hash = hash_bytes(bytes, len);
    return hash + (hash == 0);
}

/* Returns the sum for a set of rules. A new one begins with the kept sums in the file. NULL:
 * error. */
static struct rolled_sum *rules_sum_of(struct history_reader *r, int64_t rules, struct err *e) {
    for (size_t i = 0; i < r->sums.len; i++) {
        if (r->sums.data[i].rules == rules) {
            return &r->sums.data[i];
        }
    }
    const struct rolled_sum none = {.rules = rules};
    if (!VEC_PUSH(&r->sums, none)) {
        err_nomem(e);
        return NULL;
    }
    struct rolled_sum *sum = &r->sums.data[r->sums.len - 1];
    return history_read_rolled(r->h, r->parts.rows.data, r->parts.rows.len, sum, e) == ST_OK ? sum
                                                                                             : NULL;
}

/* Reads a part. ST_NONE: it is damaged or missing, and is left out. */
static enum st load_part(struct history_reader *r, struct history_part_row *p, struct triage **t,
                         struct err *e) {
    struct err damage = {0};
    struct sql_statement *s = history_statement(r->h, HISTORY_PART_GET, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, p->id);
    enum st st = sql_next(s, &damage);
    if (st == ST_OK) {
        size_t len;
        const void *bytes = sql_bytes(s, 0, &len);
        p->content = history_part_content(bytes, len);
        st = history_part_of_row(r->h, p->rules, p->dumps, bytes, len, t, &damage);
    } else if (st == ST_NONE) {
        err_set(&damage, ERR_FORMAT, "it is missing");
    }
    sql_reset(s);
    if (st == ST_OK) {
        st = triage_place(*t, p->day, e);
        if (st != ST_OK) {
            triage_free(*t);
            *t = NULL;
        }
        return st;
    }
    if (damage.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    leave_out(&r->parts, p->id, &damage);
    return ST_NONE;
}

/* Merges a part into the sum of its rules, unless a kept sum contains it already. A part that
 * cannot be read marks that sum as damaged. */
static enum st take_part(struct history_reader *r, struct history_part_row *p, struct err *e) {
    struct triage *t = NULL;
    struct rolled_sum *sum = rules_sum_of(r, p->rules, e);
    if (!sum || p->taken) {
        return sum ? ST_OK : ST_ERR;
    }
    enum st st = load_part(r, p, &t, e);
    if (st != ST_OK) {
        sum->damaged = true;
        return st == ST_NONE ? ST_OK : ST_ERR;
    }
    p->taken = true;
    sum->dumps += p->dumps;
    if (sum->t) { /* `read` counts what is merged: a first part without a kept sum before it becomes
                     `t` itself */
        sum->read += p->bytes;
        sum->parts += p->bytes;
    }
    return history_sum_take(sum, t, e);
}

/* Merges the parts of the span, all read in one transaction, and keeps their sums in the file
 * unless the span says no_sum. */
static enum st take_parts(struct history_reader *r, struct err *e) {
    int64_t version = 0;
    enum st st = sql_begin_reading(r->h->file, e);
    st = st == ST_OK ? history_list_parts(r->h, r->span, &r->parts, e) : st;
    st = st == ST_OK ? sql_data_version(r->h->file, &version, e) : st;
    for (size_t i = 0; st == ST_OK && i < r->parts.rows.len; i++) {
        st = take_part(r, &r->parts.rows.data[i], e);
    }
    sql_end_reading(r->h->file);
    for (size_t i = 0; st == ST_OK && i < r->sums.len && !r->span->no_sum; i++) {
        st = history_keep_rolled(r->h, r->parts.rows.data, r->parts.rows.len, &r->sums.data[i],
                                 version, e);
    }
    for (size_t i = 0; st == ST_OK && i < r->sums.len; i++) {
        st = history_sum_join(&r->sums.data[i], e);
    }
    return st;
}

/* Takes the only sum as the result, without a merge, if it was counted with these options. False:
 * there are several sums or none, or the sum was counted with others. */
static bool take_only_sum(struct history_reader *r, const struct triage_options *o,
                          struct triage **out) {
    struct triage *t = r->sums.len == 1 ? r->sums.data[0].t : NULL;
    const struct triage_options *made = t ? triage_options_of(t) : NULL;
    if (!made || made->rules_hash != o->rules_hash || made->cap_ms != o->cap_ms || made->where ||
        memcmp(made->open, o->open, sizeof made->open) != 0 || o->where || !made->rules ||
        !o->rules || strcmp(made->rules, o->rules) != 0) {
        return false;
    }
    triage_set_output(t, o);
    *out = t;
    r->sums.data[0].t = NULL;
    return true;
}

/* Merges all sums into *out. The dumps of sums that other rules counted are sorted into buckets
 * again. */
static enum st join_sums(struct history_reader *r, struct keyer *k, const struct triage_options *o,
                         struct triage **out, struct err *e) {
    enum st st = take_only_sum(r, o, out) ? ST_OK : triage_new(out, o, e);
    for (size_t i = 0; st == ST_OK && i < r->sums.len; i++) {
        struct triage *t = r->sums.data[i].t, *sorted = NULL;
        if (!t) {
            continue; /* all parts of this sum are damaged */
        }
        if (triage_options_of(t)->rules_hash == o->rules_hash) {
            st = triage_merge(*out, t, e);
            continue;
        }
        struct triage_options as_before = *triage_options_of(t);
        as_before.rules_hash = o->rules_hash;
        as_before.rules = o->rules;
        st = triage_rekey(&sorted, t, k, &as_before, e);
        st = st == ST_OK ? triage_merge(*out, sorted, e) : st;
        triage_free(sorted);
    }
    return st;
}

/* Tells which parts were left out. ST_OK: none, or the handle has told of all of them. */
static enum st tell_left_out(struct history *h, const struct history_parts *parts, struct err *e) {
    const bool news = parts->left_out > (h->astray_told ? parts->astray : 0);
    h->astray_told = h->astray_told || parts->astray;
    if (!news) {
        return ST_OK;
    }
    return parts->left_out == 1
               ? err_set(e, parts->first.code,
                         "the history is damaged: part %" PRId64 " is left out: %s",
                         parts->first_id, parts->first.text)
               : err_set(e, parts->first.code,
                         "the history is damaged: %" PRIu64
                         " parts are left out, such as part %" PRId64 ": %s",
                         parts->left_out, parts->first_id, parts->first.text);
}

enum st history_read(struct history *h, const struct history_span *span, struct keyer *k,
                     const struct triage_options *o, struct triage **out, struct err *e) {
    struct history_reader r = {.h = h, .span = span};
    *out = NULL;
    enum st st = take_parts(&r, e);
    st = st == ST_OK ? join_sums(&r, k, o, out, e) : st;
    for (size_t i = 0; i < r.sums.len; i++) {
        triage_free(r.sums.data[i].t);
        triage_free(r.sums.data[i].rest);
    }
    VEC_RELEASE(&r.sums);
    VEC_RELEASE(&h->parts_read_before.rows);
    h->parts_read_before = h->parts_read;
    h->parts_read = (struct history_parts){0};
    if (st == ST_OK && !r.parts.left_out) {
        h->parts_read = r.parts;
    } else {
        VEC_RELEASE(&r.parts.rows);
    }
    if (st != ST_OK) {
        triage_free(*out);
        *out = NULL;
        return ST_ERR;
    }
    return tell_left_out(h, &r.parts, e);
}

/* Calls visit once for each day of the cells of the span or, if `versions` is true, once for each
 * version. text: a query for the cells, whose columns are day, version and build, sorted by day or
 * version. */
static enum st each_value(struct history *h, const struct history_span *span, const char *text,
                          bool versions, history_value_visit visit, void *ctx, struct err *e) {
    struct sql_statement *s;
    struct strbuf last = {0};
    int32_t last_day = 0;
    bool any = false;
    if (sql_prepare(h->file, &s, text, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        int32_t day;
        st = history_cell_is_wanted(span, s, 0, &day, e);
        bool again =
            any && (versions ? strcmp(strbuf_cstr(&last), sql_text(s, 1)) == 0 : last_day == day);
        if (st != ST_OK || again) {
            continue;
        }
        any = true;
        last_day = day;
        strbuf_clear(&last);
        strbuf_addstr(&last, sql_text(s, 1));
        st = strbuf_check(&last, e);
        st = st == ST_OK ? visit(ctx, day, strbuf_cstr(&last), e) : st;
    }
    sql_finish(s);
    strbuf_release(&last);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

enum st history_days(struct history *h, const struct history_span *span, history_value_visit visit,
                     void *ctx, struct err *e) {
    return each_value(h, span, "SELECT day, version, build FROM cell ORDER BY day", false, visit,
                      ctx, e);
}

enum st history_versions(struct history *h, const struct history_span *span,
                         history_value_visit visit, void *ctx, struct err *e) {
    return each_value(h, span, "SELECT day, version, build FROM cell ORDER BY version", true, visit,
                      ctx, e);
}
