/* Finds the values of a map's fields in a JSON object. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "dump/maps/map_private.h"

/* ---- patterns ---- */

/* Does the rest of the text match the rest of the pattern, in which * stands for any text? Adjacent
 * stars count as one, and only the last star passed is tried again, so the cost is at most the
 * product of the lengths. */
static bool like_plain(const char *pattern, const char *text, const char *end) {
    const char *star = NULL, *again = NULL;
    while (text < end) {
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (*pattern && *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return !*pattern;
}

/* Returns the end of the text that the hole {} stands for, which begins at text: the first place
 * where `rest`, the pattern after the hole, matches. NULL: there is none. */
static const char *hole_end(const char *rest, const char *text, const char *end) {
    for (const char *p = text; p <= end; p++) {
        if (like_plain(rest, p, end)) {
            return p;
        }
    }
    return NULL;
}

/* Is the text made of digits, at least one, and at most one point, which may be first or last? */
static bool is_decimal(const char *s, size_t len) {
    const char *dot = memchr(s, '.', len);
    size_t points = dot != NULL;
    for (size_t i = 0; i < len; i++) {
        if (s + i != dot && (s[i] < '0' || s[i] > '9')) {
            return false;
        }
    }
    return len > points;
}

/* Limits in bytes for a pattern with a hole. The text is limited because the hole is tried at each
 * place of it; the other limit is for the part of the pattern before the hole, with its NUL. */
enum { HOLE_TEXT_MAX = 1024, LIKE_PATTERN_MAX = 256 };

bool map_like(const char *pattern, const char *text, size_t len, bool number,
              struct value_text *taken) {
    const char *hole = strstr(pattern, "{}"), *end = text + len;
    char head[LIKE_PATTERN_MAX];
    if (!hole) {
        if (taken) {
            *taken = (struct value_text){text, len};
        }
        return like_plain(pattern, text, end);
    }
    size_t head_len = (size_t)(hole - pattern);
    if (head_len >= sizeof head || len > HOLE_TEXT_MAX) {
        return false;
    }
    memcpy(head, pattern, head_len);
    head[head_len] = '\0';
    /* If the part of the pattern before the hole has no star, the hole can begin at one place
     * only. */
    bool fixed = !strchr(head, '*');
    for (const char *p = fixed && head_len <= len ? text + head_len : text; p <= end; p++) {
        const char *stop = like_plain(head, text, p) ? hole_end(hole + 2, p, end) : NULL;
        if (stop && (!number || is_decimal(p, (size_t)(stop - p)))) {
            if (taken) {
                *taken = (struct value_text){p, (size_t)(stop - p)};
            }
            return true;
        }
        if (fixed) {
            break;
        }
    }
    return false;
}

/* ---- texts ---- */

/* Writes a string, number or boolean as text. False: the value is of another type, an empty string
 * or a real number whose absolute value is 10^15 or more, or memory ran out. */
static bool scalar_text(struct report *r, const json_t *value, struct value_text *out) {
    char digits[32];
    if (json_is_string(value)) {
        *out = (struct value_text){json_string_value(value), json_string_length(value)};
        return out->len > 0;
    }
    if (json_is_boolean(value)) {
        *out =
            json_is_true(value) ? (struct value_text){"true", 4} : (struct value_text){"false", 5};
        return true;
    }
    if (json_is_integer(value)) {
        (void)snprintf(digits, sizeof digits, "%" PRId64, (int64_t)json_integer_value(value));
    } else if (json_is_real(value) && json_real_value(value) < 1e15 &&
               json_real_value(value) > -1e15) {
        (void)snprintf(digits, sizeof digits, "%.6f", json_real_value(value));
        size_t len = strlen(digits);
        while (digits[len - 1] == '0') {
            digits[--len] = '\0';
        }
        digits[len - (digits[len - 1] == '.')] = '\0';
    } else {
        return false;
    }
    out->len = strlen(digits);
    out->s = report_text(r, digits, out->len);
    return out->s != NULL;
}

/* Applies the source's "like" and "as" to a text. False: the text does not match, or, without "as",
 * what remains is empty. */
static bool source_takes(const struct map_source *s, struct value_text *text) {
    if (s->like && !map_like(s->like, text->s, text->len, s->number, text)) {
        return false;
    }
    for (size_t i = 0; i < s->pairs.len; i++) {
        if (map_like(s->pairs.data[i].pattern, text->s, text->len, false, NULL)) {
            *text = (struct value_text){s->pairs.data[i].value, strlen(s->pairs.data[i].value)};
            return true;
        }
    }
    return s->pairs.len == 0 && text->len > 0;
}

/* A search for a value along one path. */
struct value_search {
    struct report *r;
    const struct map_source *source; /* NULL: any scalar is accepted */
    struct value_text text;
    bool found;
};

static bool visit_value(void *ctx, const json_t *value) {
    struct value_search *search = ctx;
    struct value_text text;
    if (scalar_text(search->r, value, &text) &&
        (!search->source || source_takes(search->source, &text))) {
        search->text = text;
        search->found = true;
    }
    return !search->found;
}

/* Joins the parts of a source that are present, and applies its "like" and "as" to the result. */
static bool joined_text(struct report *r, const struct map_source *s, const json_t *object,
                        struct value_text *out) {
    const char *all = NULL;
    for (size_t i = 0; i < s->paths.len; i++) {
        struct value_search search = {.r = r};
        (void)member_path_each(&s->paths.data[i], object, visit_value, &search);
        if (search.found) {
            all = report_join(r, all, s->with, report_text(r, search.text.s, search.text.len));
        }
    }
    *out = (struct value_text){all, all ? strlen(all) : 0};
    return all && source_takes(s, out);
}

/* The condition "when": a value at a path has to match one of the patterns. */
struct condition {
    struct report *r;
    const struct map_texts *is;
};

static bool visit_condition(void *ctx, const json_t *value) {
    const struct condition *c = ctx;
    struct value_text text;
    if (!scalar_text(c->r, value, &text)) {
        return true;
    }
    for (size_t i = 0; i < c->is->len; i++) {
        if (map_like(c->is->data[i], text.s, text.len, false, NULL)) {
            return false;
        }
    }
    return true;
}

static bool source_text(struct report *r, const struct map_source *s, const json_t *object,
                        struct value_text *out) {
    struct condition condition = {r, &s->is};
    if (s->conditional && member_path_each(&s->when, object, visit_condition, &condition)) {
        return false;
    }
    if (s->constant) {
        *out = (struct value_text){s->constant, strlen(s->constant)};
        return true;
    }
    if (s->paths.len > 1) {
        return joined_text(r, s, object, out);
    }
    struct value_search search = {.r = r, .source = s};
    (void)member_path_each(&s->paths.data[0], object, visit_value, &search);
    *out = search.text;
    return search.found;
}

/* Returns the first source of the field that has a text for the object, and the text in *out; NULL:
 * none has. */
static const struct map_source *map_find_source(struct report *r, const struct map_field *f,
                                                const json_t *object, struct value_text *out) {
    for (size_t i = 0; i < f->sources.len; i++) {
        if (source_text(r, &f->sources.data[i], object, out)) {
            return &f->sources.data[i];
        }
    }
    return NULL;
}

bool map_field_text(struct report *r, const struct report_map *map, enum map_field_id id,
                    const json_t *object, struct value_text *out) {
    return map_find_source(r, &map->fields[id], object, out) != NULL;
}

const char *map_field_string(struct report *r, const struct report_map *map, enum map_field_id id,
                             const json_t *object) {
    struct value_text text;
    return map_field_text(r, map, id, object, &text) ? report_text(r, text.s, text.len) : NULL;
}

const char *map_context_string(struct report *r, const struct map_context *c,
                               const json_t *object) {
    struct value_text text;
    return map_find_source(r, &c->field, object, &text) ? report_text(r, text.s, text.len) : NULL;
}

/* ---- numbers ---- */

/* Converts a decimal number, with or without a fraction, in units of unit_ns nanoseconds to ms; -1:
 * it is malformed or too large. */
static int64_t decimal_ms(const char *s, size_t len, uint64_t unit_ns) {
    const char *dot = memchr(s, '.', len);
    size_t whole_len = dot ? (size_t)(dot - s) : len;
    uint64_t whole, fraction = 0, scale = 1;
    if (!parse_u64(s, whole_len, UINT64_C(1) << 53, &whole)) {
        return -1;
    }
    for (size_t i = whole_len + 1; i < len; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return -1;
        }
        if (scale < UINT64_C(1000000000)) {
            fraction = fraction * 10 + (uint64_t)(s[i] - '0');
            scale *= 10;
        }
    }
    unsigned __int128 ns =
        (unsigned __int128)whole * unit_ns + (unsigned __int128)fraction * unit_ns / scale;
    unsigned __int128 ms = ns / 1000000;
    return ms <= UINT64_C(1) << 53 ? (int64_t)ms : -1;
}

bool map_field_address(struct report *r, const struct report_map *map, enum map_field_id id,
                       const json_t *object, uint64_t *out) {
    struct value_text text;
    int64_t negative;
    const struct map_source *s = map_find_source(r, &map->fields[id], object, &text);
    if (!s) {
        return false;
    }
    if (s->unit == UNIT_HEX) {
        return parse_hex(text.s, text.len, out);
    }
    /* PPM converts a ratio to parts per million: as if its unit were 10^12 ns, that is 10^6 ms */
    if (s->unit == UNIT_PPM) {
        int64_t ppm = decimal_ms(text.s, text.len, UINT64_C(1000000000000));
        *out = ppm >= 0 ? (uint64_t)ppm : 0;
        return ppm >= 0;
    }
    if (parse_address(text.s, text.len, out)) {
        return true;
    }
    /* a 64-bit unsigned number that a tool wrote as a negative one */
    if (parse_i64(text.s, text.len, &negative)) {
        *out = (uint64_t)negative;
        return true;
    }
    return false;
}

int64_t map_field_ms(struct report *r, const struct report_map *map, enum map_field_id id,
                     const json_t *object) {
    static const uint64_t unit_ns[] = {[UNIT_MS] = 1000000,
                                       [UNIT_NS] = 1,
                                       [UNIT_US] = 1000,
                                       [UNIT_S] = 1000000000,
                                       [UNIT_MIN] = UINT64_C(60000000000),
                                       [UNIT_H] = UINT64_C(3600000000000)};
    struct value_text text;
    const struct map_source *s = map_find_source(r, &map->fields[id], object, &text);
    if (!s) {
        return -1;
    }
    if (s->unit == UNIT_WORDS) {
        return report_told_duration(text.s, text.len);
    }
    return decimal_ms(text.s, text.len, unit_ns[s->unit]);
}

bool map_field_true(struct report *r, const struct report_map *map, enum map_field_id id,
                    const json_t *object) {
    static const char *const no[] = {"false", "0", "no", "NO", "False"};
    struct value_text text;
    if (!map_field_text(r, map, id, object, &text)) {
        return false;
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (parse_is(text.s, text.len, no[i])) {
            return false;
        }
    }
    return true;
}
