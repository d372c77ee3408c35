/* Reads exposure, that is, how long and how often people used the app, whether or not it stalled,
 * from session records or from a table. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"
#include "dump/document.h"

enum { SESSION_MAX = 1 << 24 /* bytes of a session record */, SESSION_DEPTH = 64 };

/* A session record is impossible if it gives a time, or a number of stalls, of more than
 * SESSION_MS_MAX for each launch, more than SESSION_LAUNCHES_MAX launches, or a foreground time
 * that exceeds its length by more than SESSION_ROUNDING_MS. */
#define SESSION_MS_MAX ((uint64_t)366 * 24 * 3600 * 1000)
enum { SESSION_LAUNCHES_MAX = 1000, SESSION_ROUNDING_MS = 1000 };

/* The time of a longer session is spread over so many days from its start, as each day that it
 * covers costs memory, and a line of a partial holds no more than PARTIAL_DAYS_MAX. */
enum { SESSION_DAYS_MAX = 31 };

enum { EXPOSURE_MINUTE_MS = 60000, EXPOSURE_DAY_MS = 24 * 60 * EXPOSURE_MINUTE_MS };

static uint64_t exposure_member_number(const json_t *o, const char *name, uint64_t otherwise) {
    const json_t *v = json_object_get(o, name);
    return json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v)
                                                            : otherwise;
}

/* A session record whose fields a filter reads. */
struct session {
    const json_t *o;
    char number[24];
};

/* Sets *text to a field of a session record; "device.model" is the member "model" of the member
 * "device". ST_NONE: the record lacks the field, or the field is empty or no text, whole number or
 * boolean. */
static enum st session_says(void *ctx, const char *field, const char **text) {
    struct session *s = ctx;
    const char *dot = strchr(field, '.');
    const json_t *of = s->o;
    if (dot) {
        char object[16];
        size_t len = (size_t)(dot - field);
        if (len >= sizeof object) {
            return ST_NONE;
        }
        memcpy(object, field, len);
        object[len] = '\0';
        of = json_object_get(of, object);
        field = dot + 1;
    }
    const json_t *v = json_object_get(of, field);
    *text = json_string_value(v);
    if (json_is_boolean(v)) {
        *text = json_is_true(v) ? "true" : "false";
    } else if (json_is_integer(v)) {
        snprintf(s->number, sizeof s->number, "%lld", (long long)json_integer_value(v));
        *text = s->number;
    }
    return *text && **text ? ST_OK : ST_NONE;
}

static const char *said(struct session *s, const char *field) {
    const char *text;
    return session_says(s, field, &text) == ST_OK ? text : NULL;
}

/* The user, cell and facets to which an amount of exposure belongs, and that amount. Texts are
 * borrowed. */
struct exposed {
    uint32_t cell;
    const char *facets[USAGE_DEVICE + 1]; /* version, system, device; NULL = unknown */
    int32_t day;                          /* as usage_day.day, the first one */
    uint64_t start_ms, reach_ms; /* the time of that day, and the time from there that is covered;
                                    0 = unknown */
    uint64_t user;               /* hash of the user's name */
    bool has_user;
    /* True: the exposure belongs to many users, and was already added to their cells. */
    bool spread;
    uint64_t sessions, launches, foreground_ms, low_rate_s;
    uint64_t watched_ms, wall_ms; /* 0: the watched time is not known */
};

/* Adds exposure to the sums of its days and its version: its time is spread evenly over what it
 * covers. False: out of memory. */
static bool count_exposed_days(struct triage *t, const struct exposed *x, uint32_t version) {
    struct usage_day *of = usage_day_of(&t->usage, x->day, version);
    uint64_t passed = EXPOSURE_DAY_MS - x->start_ms, spread = 0;
    bool last = !of;
    if (of) {
        sum_add(&of->sessions, x->sessions);
    }
    for (int32_t day = x->day; of && !last; day++, passed += EXPOSURE_DAY_MS) {
        last = passed >= x->reach_ms || x->day == USAGE_NO_DAY || !day_is_one((int64_t)day + 1);
        unsigned __int128 share = (unsigned __int128)x->foreground_ms * passed;
        uint64_t until = last ? x->foreground_ms : (uint64_t)(share / x->reach_ms);
        if (until > spread) {
            of = usage_day_of(&t->usage, day, version);
        }
        if (of) {
            sum_add(&of->foreground_ms, until - spread);
        }
        spread = until;
    }
    return of != NULL;
}

/* Adds exposure to its cell, and to the sums of its facets, its day and its user. False: out of
 * memory. */
static bool count_exposed(struct triage *t, const struct exposed *x) {
    for (size_t f = 0; f <= USAGE_DEVICE; f++) {
        uint32_t text = triage_string(t, x->facets[f] ? x->facets[f] : "");
        struct usage_sums *sums =
            text == NO_INDEX ? NULL : usage_sums_of(&t->usage, (enum usage_facet)f, text);
        if (!sums) {
            return false;
        }
        sum_add(&sums->sessions, x->sessions);
        sum_add(&sums->launches, x->launches);
        sum_add(&sums->foreground_ms, x->foreground_ms);
        sum_add(&sums->low_rate_s, x->low_rate_s);
        if (f == USAGE_VERSION) {
            sum_add(&sums->watched_ms, x->watched_ms);
            sum_add(&sums->wall_ms, x->wall_ms);
            if (!count_exposed_days(t, x, text)) {
                return false;
            }
        }
    }
    return (x->spread || clusters_add(&t->exposure, x->cell, x->launches, x->foreground_ms)) &&
           (!x->has_user || user_sample_add(&t->usage.users, x->user, x->foreground_ms, 0));
}

/* Counts the watched part of a session, and the reasons for the rest, sets x->watched_ms and
 * x->wall_ms, and reduces x->foreground_ms to that part, because stalls in the unwatched part were
 * not seen. A session without a watched time counts as unknown, and its x->foreground_ms stays.
 * False: out of memory. */
static bool count_watched(struct triage *t, const json_t *o, struct exposed *x) {
    struct usage_watch *w = &t->usage.watch;
    uint64_t wall = exposure_member_number(o, "wall_ms", exposure_member_number(o, "length_ms", 0));
    uint64_t watched = exposure_member_number(o, "watched_ms", UINT64_MAX);
    /* Records of earlier recorders lack the watched time. */
    if (watched == UINT64_MAX || wall == 0) {
        sum_add(&w->unknown_sessions, 1);
        sum_add(&w->unknown_ms, x->foreground_ms);
        return true;
    }
    watched = watched < wall ? watched : wall;
    /* A suspended process does nothing that could be watched, so the time for which it was
     * suspended counts neither as watched nor as unwatched. */
    uint64_t suspended = exposure_member_number(json_object_get(o, "unwatched"), "suspended", 0);
    wall -= suspended < wall - watched ? suspended : wall - watched;
    sum_add(&w->sessions, 1);
    sum_add(&w->watched_ms, watched);
    sum_add(&w->wall_ms, wall);
    w->little +=
        (unsigned __int128)watched * 1000 < (unsigned __int128)wall * USAGE_WATCHED_PERMILLE;
    x->watched_ms = watched;
    x->wall_ms = wall;
    x->foreground_ms = wall ? (uint64_t)((unsigned __int128)x->foreground_ms * watched / wall) : 0;
    const char *reason;
    json_t *ms;
    json_object_foreach(json_object_get(o, "unwatched"), reason, ms) {
        uint32_t text = triage_string(t, reason);
        if (text == NO_INDEX || (json_is_integer(ms) && json_integer_value(ms) > 0 &&
                                 !usage_add_reason(w, text, (uint64_t)json_integer_value(ms)))) {
            return false;
        }
    }
    return true;
}

/* Does a session record say more than is possible? One such record would outweigh all others: most
 * of the exposure would be that of one user, or most of the time not watched. */
static bool is_impossible(const json_t *o) {
    static const char *const times[] = {"length_ms", "wall_ms", "watched_ms", "foreground_ms"};
    uint64_t launches = exposure_member_number(o, "launches", 1), most = SESSION_MS_MAX;
    uint64_t length = exposure_member_number(o, "length_ms", 0);
    uint64_t wall = exposure_member_number(o, "wall_ms", length);
    if (launches > SESSION_LAUNCHES_MAX) {
        return true;
    }
    most *= launches > 1 ? launches : 1;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (exposure_member_number(o, times[i], 0) > most) {
            return true;
        }
    }
    const char *name;
    json_t *tier;
    json_object_foreach(json_object_get(o, "tiers"), name, tier) {
        if (exposure_member_number(tier, "stalled_ms", 0) > most ||
            exposure_member_number(tier, "stalls", 0) > most) {
            return true;
        }
    }
    length = length > wall ? length : wall;
    return length > 0 &&
           exposure_member_number(o, "foreground_ms", 0) > length + SESSION_ROUNDING_MS;
}

/* Adds the counts of stalls and dumps that the recorder itself gives in the record. */
static void count_told(struct app_usage *u, const json_t *o) {
    const json_t *dumps = json_object_get(o, "dumps");
    const char *name;
    json_t *tier;
    json_object_foreach(json_object_get(o, "tiers"), name, tier) {
        sum_add(&u->told_stalls, exposure_member_number(tier, "stalls", 0));
        sum_add(&u->told_ms, exposure_member_number(tier, "stalled_ms", 0));
    }
    sum_add(&u->suppressed, exposure_member_number(dumps, "suppressed", 0));
    sum_add(&u->over_quota, exposure_member_number(dumps, "over_quota", 0));
    sum_add(&u->lost, exposure_member_number(dumps, "lost", 0));
}

/* Counts the day of a record, such as "2026-11-21", for its user; nothing if the record has no
 * time. False: out of memory. */
static bool count_user_day(struct triage *t, const char *user, const char *time) {
    enum { DAY = 10 };
    if (!time || strlen(time) < DAY) {
        return true;
    }
    strbuf_clear(&t->scratch);
    strbuf_add(&t->scratch, time, DAY);
    strbuf_addstr(&t->scratch, user);
    return !t->scratch.failed &&
           distinct_add(&t->usage.user_days, hash_bytes(t->scratch.data, t->scratch.len));
}

/* Sets the days that a session covers. A record that does not say how long the session lasted, or
 * that adds up several, is of its first day: of no other it is known. */
static void set_days(struct exposed *x, const json_t *o, const char *time) {
    enum { HOUR_AT = DAY_LENGTH + 1, MINUTE_AT = HOUR_AT + 3, MINUTE_END = MINUTE_AT + 2 };
    uint64_t hour, minute;
    uint64_t length =
        exposure_member_number(o, "length_ms", exposure_member_number(o, "wall_ms", 0));
    x->day = usage_day_parse(time);
    x->reach_ms = x->launches <= 1 ? length : 0;
    uint64_t most = (uint64_t)(SESSION_DAYS_MAX - 1) * EXPOSURE_DAY_MS;
    x->reach_ms = x->reach_ms < most ? x->reach_ms : most;
    if (x->day != USAGE_NO_DAY && strlen(time) >= MINUTE_END && time[MINUTE_AT - 1] == ':' &&
        parse_u64(time + HOUR_AT, 2, 23, &hour) && parse_u64(time + MINUTE_AT, 2, 59, &minute)) {
        x->start_ms = (hour * 60 + minute) * EXPOSURE_MINUTE_MS;
    }
}

/* Counts a session record. undated: its time says nothing (exposure_filter). False: out of memory.
 */
static bool exposure_count_session(struct triage *t, struct session *s, bool undated) {
    const json_t *o = s->o;
    const char *time = undated ? NULL : json_string_value(json_object_get(o, "time"));
    if (is_impossible(o)) {
        sum_add(&t->usage.watch.refused_sessions, 1);
        return true;
    }
    const char *id = json_string_value(json_object_get(o, "id"));
    const char *user = json_string_value(json_object_get(o, "user"));
    const json_t *cpus = json_object_get(json_object_get(o, "device"), "cpus");
    const char *who = id ? id : "";
    struct exposed x = {
        .facets = {said(s, "app.version"), said(s, "device.os"), said(s, "device.model")},
        .has_user = user && *user,
        .sessions = 1,
        .launches = exposure_member_number(o, "launches", 1),
        .foreground_ms = exposure_member_number(o, "foreground_ms", 0),
        .low_rate_s = exposure_member_number(o, "low_rates", 0)};
    set_days(&x, o, time);
    who = x.has_user ? user : who;
    x.user = hash_bytes(who, strlen(who));
    x.cell = cluster_cell_of(cluster_stratum(x.facets[USAGE_DEVICE], x.facets[USAGE_OS],
                                             json_is_integer(cpus) ? json_integer_value(cpus) : -1),
                             x.user);
    count_told(&t->usage, o);
    return count_watched(t, o, &x) && count_exposed(t, &x) &&
           (!x.has_user || count_user_day(t, user, time));
}

/* Parses the text of a session record. On ST_OK the caller releases *o. */
static enum st load_session(json_t **o, const char *text, size_t len, struct err *e) {
    const struct document_options limits = {.text_max = SESSION_MAX,
                                            .values_max = SESSION_MAX,
                                            .depth_max = SESSION_DEPTH,
                                            .long_numbers = true};
    if (document_load(o, text, len, &limits, e) == ST_ERR) {
        return ST_ERR;
    }
    const char *format = json_string_value(json_object_get(*o, "format"));
    if (!format || strcmp(format, "stall-session/1") != 0) {
        json_decref(*o);
        return err_set(e, ERR_FORMAT, "not a session record");
    }
    return ST_OK;
}

/* Returns the hash of a session's id. It differs from the hash of a dump with the same id, so that
 * neither is a duplicate of the other. */
static uint64_t session_id_hash(const char *id) {
    static const char kind[] = "stall-session/1";
    return hash_bytes(id, strlen(id)) ^ hash_bytes(kind, sizeof kind - 1);
}

enum st triage_add_session(struct triage *t, const struct exposure_filter *filter, const char *text,
                           size_t len, struct err *e) {
    json_t *o = NULL;
    if (load_session(&o, text, len, e) != ST_OK) {
        return ST_ERR;
    }
    struct session s = {.o = o};
    const char *id = json_string_value(json_object_get(o, "id"));
    bool seen = false, ok = true;
    if (id && *id) {
        ok = seen_before(&t->seen, session_id_hash(id), 0, &seen);
    }
    if (ok && !seen) {
        enum st st = where_match_exposure(filter->where, session_says, &s, filter->seen, e);
        ok = st == ST_NONE || (st == ST_OK && exposure_count_session(t, &s, filter->undated));
    }
    json_decref(o);
    return ok ? ST_OK : err_nomem(e);
}

enum st session_origin_read(struct session_origin *o, const char *text, size_t len, struct err *e) {
    static const char *const fields[] = {"time", "app.version", "app.build", "id"};
    enum { FIELDS = sizeof fields / sizeof *fields };
    size_t at[FIELDS];
    json_t *json = NULL;
    memset(o, 0, sizeof *o);
    if (load_session(&json, text, len, e) != ST_OK) {
        return ST_ERR;
    }
    struct session s = {.o = json};
    for (size_t i = 0; i < FIELDS; i++) {
        const char *value = said(&s, fields[i]);
        at[i] = o->text.len;
        strbuf_addstr(&o->text, value ? value : "");
        strbuf_addc(&o->text, '\0');
    }
    json_decref(json);
    if (o->text.failed) {
        return err_nomem(e);
    }
    o->time = o->text.data + at[0];
    o->version = o->text.data + at[1];
    o->build = o->text.data + at[2];
    o->id = o->text.data + at[3];
    o->id_hash = *o->id ? hash_bytes(o->id, strlen(o->id)) : 0;
    return ST_OK;
}

/* ---- CSV ---- */

enum column { MODEL, OS, CPUS, USER, SESSIONS, FOREGROUND_MS, FOREGROUND_HOURS, COLUMNS };

enum { FIELDS_MAX = 64, FIELD_SIZE = 128 };

struct exposure_table {
    struct triage *t;
    const struct exposure_filter *filter;
    uint64_t line;                        /* number of the last line */
    size_t fields;                        /* number of fields in the head line */
    size_t at[COLUMNS];                   /* index in a row; FIELDS_MAX = there is no such column */
    char names[FIELDS_MAX][FIELD_SIZE];   /* names in the head line */
    char row[FIELDS_MAX + 1][FIELD_SIZE]; /* fields of a row, and one more that is always empty */
};

/* Reads the next field of a line, which may stand in double quotes. Only the first FIELD_SIZE - 1
 * bytes of a field are kept. ST_NONE: the line has ended. ST_ERR: a quote is not closed in the
 * line, or text follows the closing quote. */
static enum st next_field(const char **at, const char *end, char out[FIELD_SIZE], struct err *e) {
    size_t len = 0;
    if (*at > end) {
        return ST_NONE;
    }
    const char *p = *at;
    bool quoted = p < end && *p == '"';
    for (p += quoted; p < end && (quoted ? *p != '"' || (p + 1 < end && p[1] == '"') : *p != ',');
         p++) {
        p += quoted && *p == '"';
        if (len + 1 < FIELD_SIZE) {
            out[len++] = *p;
        }
    }
    if (quoted && (p == end || (p + 1 < end && p[1] != ','))) {
        return err_set(e, ERR_FORMAT, p == end ? "a quote is not closed" : "text behind a quote");
    }
    out[len] = '\0';
    *at = p + quoted + 1;
    return ST_OK;
}

static const char *const column_names[COLUMNS] = {
    "model", "os", "cpus", "user", "sessions", "foreground_ms", "foreground_hours"};

static enum st exposure_read_head(struct exposure_table *table, const char *line, const char *end,
                                  struct err *e) {
    size_t *at = table->at;
    char field[FIELD_SIZE];
    enum st st;
    for (size_t c = 0; c < COLUMNS; c++) {
        at[c] = FIELDS_MAX;
    }
    while ((st = next_field(&line, end, field, e)) == ST_OK) {
        if (table->fields == FIELDS_MAX) {
            return err_set(e, ERR_LIMIT, "more than %d columns", FIELDS_MAX);
        }
        for (size_t i = 0; i < table->fields; i++) {
            if (*field && strcmp(field, table->names[i]) == 0) {
                return err_set(e, ERR_FORMAT, "two columns \"%s\"", field);
            }
        }
        for (size_t c = 0; c < COLUMNS; c++) {
            at[c] = strcmp(field, column_names[c]) == 0 ? table->fields : at[c];
        }
        memcpy(table->names[table->fields++], field, sizeof field);
    }
    if (st == ST_ERR) {
        return ST_ERR;
    }
    if (at[SESSIONS] == FIELDS_MAX && at[FOREGROUND_MS] == FIELDS_MAX &&
        at[FOREGROUND_HOURS] == FIELDS_MAX) {
        return err_set(e, ERR_FORMAT,
                       "no column \"sessions\", \"foreground_ms\" or \"foreground_hours\"");
    }
    return ST_OK;
}

static const char *value_in(const struct exposure_table *table, enum column c) {
    return table->row[table->at[c]];
}

/* Sets *text to a field of a row. The column has the name of the field, or the part of that name
 * after "device.". ST_NONE: the field is empty. ST_ERR: the table has no such column. */
static enum st row_says(void *ctx, const char *field, const char **text) {
    static const char prefix[] = "device.";
    const struct exposure_table *table = ctx;
    bool short_name = strncmp(field, prefix, strlen(prefix)) == 0;
    for (size_t i = 0; i < table->fields; i++) {
        if (strcmp(table->names[i], field) == 0 ||
            (short_name && strcmp(table->names[i], field + strlen(prefix)) == 0)) {
            *text = table->row[i];
            return **text ? ST_OK : ST_NONE;
        }
    }
    return ST_ERR;
}

/* Adds the exposure of a row, whose watched time counts as unknown. A row without a user stands for
 * many users, so that its exposure is spread evenly over the groups. False: out of memory. */
static bool exposure_add_row(struct exposure_table *table, uint64_t cpus, uint64_t sessions,
                             uint64_t ms) {
    static const char *const fields[] = {"app.version", "device.os", "device.model"};
    const char *user = value_in(table, USER);
    uint32_t stratum = cluster_stratum(value_in(table, MODEL), value_in(table, OS),
                                       *value_in(table, CPUS) ? (int64_t)cpus : -1);
    struct exposed x = {.user = hash_bytes(user, strlen(user)),
                        .has_user = *user,
                        .day = USAGE_NO_DAY,
                        .spread = !*user,
                        .sessions = sessions,
                        .launches = sessions,
                        .foreground_ms = ms};
    x.cell = cluster_cell_of(stratum, x.user);
    sum_add(&table->t->usage.watch.unknown_sessions, sessions);
    sum_add(&table->t->usage.watch.unknown_ms, ms);
    for (size_t f = 0; f <= USAGE_DEVICE; f++) {
        const char *text;
        x.facets[f] = row_says(table, fields[f], &text) == ST_OK ? text : NULL;
    }
    for (uint64_t g = 0; x.spread && g < CLUSTER_GROUPS; g++) {
        if (!clusters_add(&table->t->exposure, cluster_cell_of(stratum, g),
                          sessions / CLUSTER_GROUPS + (g < sessions % CLUSTER_GROUPS),
                          ms / CLUSTER_GROUPS + (g < ms % CLUSTER_GROUPS))) {
            return false;
        }
    }
    return count_exposed(table->t, &x);
}

/* Reads a row's fields. ST_ERR: the row has another number of fields than the head line, or is
 * malformed. */
static enum st read_cells(struct exposure_table *table, const char *line, const char *end,
                          struct err *e) {
    size_t count = 0;
    char field[FIELD_SIZE];
    enum st st;
    while ((st = next_field(&line, end, field, e)) == ST_OK) {
        if (count < table->fields) {
            memcpy(table->row[count], field, sizeof field);
        }
        count++;
    }
    if (st == ST_NONE && count != table->fields) {
        return err_set(e, ERR_FORMAT, "%zu cells, the head line has %zu", count, table->fields);
    }
    return st == ST_NONE ? ST_OK : ST_ERR;
}

static enum st read_row(struct exposure_table *table, const char *line, const char *end,
                        struct err *e) {
    const uint64_t max = UINT64_C(1) << 53;
    uint64_t numbers[COLUMNS] = {0};
    if (read_cells(table, line, end, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        const char *value = value_in(table, (enum column)c);
        bool number = c == CPUS || c >= SESSIONS;
        if (number && *value &&
            !parse_u64(value, strlen(value), c == CPUS ? 1 << 20 : max, &numbers[c])) {
            return err_set(e, ERR_FORMAT, "not a whole number: '%s'", value);
        }
    }
    if (*value_in(table, FOREGROUND_MS) && *value_in(table, FOREGROUND_HOURS)) {
        return err_set(e, ERR_FORMAT, "foreground_ms and foreground_hours are both given");
    }
    if (numbers[FOREGROUND_HOURS] > max / 3600000) {
        return err_set(e, ERR_LIMIT, "too many hours: '%s'", value_in(table, FOREGROUND_HOURS));
    }
    enum st st =
        where_match_exposure(table->filter->where, row_says, table, table->filter->seen, e);
    if (st != ST_OK) {
        return st == ST_NONE ? ST_OK : ST_ERR;
    }
    return exposure_add_row(table, numbers[CPUS], numbers[SESSIONS],
                            numbers[FOREGROUND_MS] + numbers[FOREGROUND_HOURS] * 3600000)
               ? ST_OK
               : err_nomem(e);
}

enum st exposure_table_new(struct exposure_table **out, struct triage *t,
                           const struct exposure_filter *filter, struct err *e) {
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return err_nomem(e);
    }
    (*out)->t = t;
    (*out)->filter = filter;
    return ST_OK;
}

void exposure_table_free(struct exposure_table *table) {
    free(table);
}

enum st exposure_table_line(struct exposure_table *table, const char *line, size_t len,
                            struct err *e) {
    const char *end = line + len;
    enum st st = ST_OK;
    end -= len > 0 && end[-1] == '\r';
    table->line++;
    if (end > line) {
        st =
            table->fields ? read_row(table, line, end, e) : exposure_read_head(table, line, end, e);
    }
    return st == ST_OK ? ST_OK : err_context(e, "line %" PRIu64, table->line);
}
