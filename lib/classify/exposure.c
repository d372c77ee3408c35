/* Exposure: how long, and how often, people used the app, stalled or not. From session records, or
 * from a table. */
#include <jansson.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "classify/triage_private.h"

static const char *member_text(const json_t *o, const char *object, const char *name) {
    return json_string_value(json_object_get(json_object_get(o, object), name));
}

static uint64_t member_number(const json_t *o, const char *name, uint64_t otherwise) {
    const json_t *v = json_object_get(o, name);
    return json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v)
                                                            : otherwise;
}

enum st triage_add_session(struct triage *t, const char *text, size_t len, struct err *e) {
    json_error_t error;
    json_t *o = json_loadb(text, len, 0, &error);
    const char *format = json_string_value(json_object_get(o, "format"));
    if (!format || strcmp(format, "stall-session/1") != 0) {
        json_decref(o);
        return err_set(e, ERR_FORMAT, "not a session record");
    }
    const char *id = json_string_value(json_object_get(o, "id"));
    const char *user = json_string_value(json_object_get(o, "user"));
    const json_t *device = json_object_get(o, "device");
    const json_t *cpus = json_object_get(device, "cpus");
    bool seen = false, ok = true;
    if (id && *id) {
        ok = seen_before(&t->seen, hash_bytes(id, strlen(id)), &seen);
    }
    if (ok && !seen) {
        const char *who = user && *user ? user : id ? id : "";
        uint32_t cell = cluster_cell_of(
            cluster_stratum(member_text(o, "device", "model"), member_text(o, "device", "os"),
                            json_is_integer(cpus) ? json_integer_value(cpus) : -1),
            hash_bytes(who, strlen(who)));
        ok = clusters_add(&t->exposure, cell, member_number(o, "launches", 1),
                          member_number(o, "foreground_ms", 0));
    }
    json_decref(o);
    return ok ? ST_OK : err_nomem(e);
}

/* ---- CSV ---- */

enum column { MODEL, OS, CPUS, USER, SESSIONS, FOREGROUND_MS, FOREGROUND_HOURS, COLUMNS };

enum { FIELDS_MAX = 64, FIELD_SIZE = 128 };

struct table {
    struct triage *t;
    size_t fields;                  /* of the head */
    enum column column[FIELDS_MAX]; /* COLUMNS = not used */
};

/* The next field of a line; false at its end. Fields may stand in double quotes. */
static bool next_field(const char **at, const char *end, char out[FIELD_SIZE]) {
    size_t len = 0;
    if (*at > end) {
        return false;
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
    while (p < end && *p != ',') {
        p++;
    }
    out[len] = '\0';
    *at = p + 1;
    return true;
}

static enum st read_head(struct table *table, const char *line, const char *end, struct err *e) {
    static const char *const names[COLUMNS] = {
        "model", "os", "cpus", "user", "sessions", "foreground_ms", "foreground_hours"};
    bool counts = false;
    char field[FIELD_SIZE];
    while (next_field(&line, end, field)) {
        size_t c = 0;
        if (table->fields == FIELDS_MAX) {
            return err_set(e, ERR_LIMIT, "more than %d columns", FIELDS_MAX);
        }
        while (c < COLUMNS && strcmp(field, names[c]) != 0) {
            c++;
        }
        counts = counts || (c >= SESSIONS && c < COLUMNS);
        table->column[table->fields++] = (enum column)c;
    }
    return counts ? ST_OK
                  : err_set(e, ERR_FORMAT,
                            "no column \"sessions\", \"foreground_ms\" or \"foreground_hours\"");
}

/* Without a user the row is of many: they fall evenly into the groups. */
static bool add_row(struct table *table, char values[COLUMNS][FIELD_SIZE], uint64_t cpus,
                    uint64_t sessions, uint64_t ms) {
    uint32_t stratum =
        cluster_stratum(values[MODEL], values[OS], *values[CPUS] ? (int64_t)cpus : -1);
    struct clusters *exposure = &table->t->exposure;
    if (*values[USER]) {
        uint64_t hash = hash_bytes(values[USER], strlen(values[USER]));
        return clusters_add(exposure, cluster_cell_of(stratum, hash), sessions, ms);
    }
    for (uint64_t g = 0; g < CLUSTER_GROUPS; g++) {
        if (!clusters_add(exposure, cluster_cell_of(stratum, g),
                          sessions / CLUSTER_GROUPS + (g < sessions % CLUSTER_GROUPS),
                          ms / CLUSTER_GROUPS + (g < ms % CLUSTER_GROUPS))) {
            return false;
        }
    }
    return true;
}

static enum st read_row(struct table *table, const char *line, const char *end, struct err *e) {
    const uint64_t max = UINT64_C(1) << 53;
    char values[COLUMNS][FIELD_SIZE] = {{0}}, field[FIELD_SIZE];
    uint64_t numbers[COLUMNS] = {0};
    for (size_t i = 0; next_field(&line, end, field); i++) {
        if (i < table->fields && table->column[i] < COLUMNS) {
            memcpy(values[table->column[i]], field, sizeof field);
        }
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        bool number = c == CPUS || c >= SESSIONS;
        if (number && *values[c] &&
            !parse_u64(values[c], strlen(values[c]), c == CPUS ? 1 << 20 : max, &numbers[c])) {
            return err_set(e, ERR_FORMAT, "not a whole number: '%s'", values[c]);
        }
    }
    if (numbers[FOREGROUND_HOURS] > max / 3600000) {
        return err_set(e, ERR_LIMIT, "too many hours: '%s'", values[FOREGROUND_HOURS]);
    }
    return add_row(table, values, numbers[CPUS], numbers[SESSIONS],
                   numbers[FOREGROUND_MS] + numbers[FOREGROUND_HOURS] * 3600000)
               ? ST_OK
               : err_nomem(e);
}

enum st triage_add_exposure_table(struct triage *t, const char *text, size_t len, struct err *e) {
    struct table table = {.t = t};
    const char *end = text + len;
    unsigned long line = 1;
    for (const char *at = text; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        const char *trimmed = stop > at && stop[-1] == '\r' ? stop - 1 : stop;
        enum st st = trimmed == at   ? ST_OK
                     : !table.fields ? read_head(&table, at, trimmed, e)
                                     : read_row(&table, at, trimmed, e);
        if (st != ST_OK) {
            return err_context(e, "line %lu", line);
        }
        at = stop + 1;
    }
    return ST_OK;
}
