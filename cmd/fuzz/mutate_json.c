/* Mutates JSON: its values are removed, repeated, replaced or changed in their bytes. */
#include <stdbool.h>
#include <string.h>

#include "fuzz/mutate.h"

enum { ELEMENTS_MAX = 4096, DEPTH_MAX = 64 };

/* The offsets of a value: `start` of its key, or, without a key, of the value itself; `value` of
 * the value; `end` of the byte after it. */
struct element {
    size_t start, value, end;
};

struct json_scan {
    const uint8_t *text;
    size_t size, at;
    struct element elements[ELEMENTS_MAX];
    size_t count;
    size_t open[DEPTH_MAX]; /* elements whose end is not known yet */
    size_t depth;
};

static bool is_scalar_byte(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static void skip_string(struct json_scan *s) {
    for (s->at++; s->at < s->size && s->text[s->at] != '"'; s->at++) {
        s->at += s->text[s->at] == '\\';
    }
    s->at = s->at < s->size ? s->at + 1 : s->size;
}

static void begin_element(struct json_scan *s, size_t start, size_t value) {
    s->elements[s->count++] = (struct element){.start = start, .value = value, .end = s->at};
}

/* Reads a string. If a colon follows, the string is the key of the next element, and its start is
 * returned; else the string is an element itself, and SIZE_MAX is returned. */
static size_t scan_string(struct json_scan *s, size_t key) {
    size_t start = s->at;
    skip_string(s);
    size_t next = s->at;
    while (next < s->size && (s->text[next] == ' ' || s->text[next] == '\n')) {
        next++;
    }
    if (next < s->size && s->text[next] == ':') {
        s->at = next + 1;
        return start;
    }
    begin_element(s, key != SIZE_MAX ? key : start, start);
    return SIZE_MAX;
}

static void scan_bracket(struct json_scan *s, size_t key) {
    uint8_t c = s->text[s->at];
    size_t start = s->at++;
    if (c == '{' || c == '[') {
        if (s->depth < DEPTH_MAX) {
            s->open[s->depth++] = s->count;
            begin_element(s, key != SIZE_MAX ? key : start, start);
        }
    } else if (s->depth > 0) {
        s->elements[s->open[--s->depth]].end = s->at;
    }
}

static void scan(struct json_scan *s) {
    size_t key = SIZE_MAX;
    while (s->at < s->size && s->count < ELEMENTS_MAX) {
        uint8_t c = s->text[s->at];
        if (c == '"') {
            key = scan_string(s, key);
        } else if (c == '{' || c == '[' || c == '}' || c == ']') {
            scan_bracket(s, key);
            key = SIZE_MAX;
        } else if (is_scalar_byte(c)) {
            size_t start = s->at;
            while (s->at < s->size && is_scalar_byte(s->text[s->at])) {
                s->at++;
            }
            begin_element(s, key != SIZE_MAX ? key : start, start);
            key = SIZE_MAX;
        } else {
            s->at++;
        }
    }
}

/* Values at the limits of what readers take, and of other types. */
static const char *const json_limits[] = {"0",
                                          "-1",
                                          "1",
                                          "2147483648",
                                          "4294967295",
                                          "4294967296",
                                          "9007199254740993",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551615",
                                          "1e999",
                                          "0.5",
                                          "null",
                                          "true",
                                          "false",
                                          "\"\"",
                                          "[]",
                                          "{}",
                                          "[[[[[[[[]]]]]]]]",
                                          "\"\\u0000\"",
                                          "\"\\ud800\"",
                                          "\"\xe2\x80\xae\"",
                                          "\"\\u001b[2J\"",
                                          "\"a;b;c\"",
                                          "\"=1+1\"",
                                          "\"0x1\"",
                                          "\"2026-11-21T10:00:00.123Z\"",
                                          "\"00000000-0000-0000-0000-000000000000\""};
enum { JSON_LIMITS = sizeof json_limits / sizeof *json_limits };

/* Removes an element together with a comma next to it. */
static size_t remove_element(uint8_t *data, size_t size, const struct element *e) {
    size_t start = e->start, end = e->end;
    if (end < size && data[end] == ',') {
        end++;
    } else if (start > 0 && data[start - 1] == ',') {
        start--;
    }
    return mutate_splice(data, size, size, start, end - start, NULL, 0);
}

static size_t repeat_element(uint8_t *data, size_t size, size_t most, const struct element *e) {
    size_t grown = mutate_copy(data, size, most, e->end, 0, e->start, e->end - e->start);
    return grown == size ? size : mutate_splice(data, grown, most, e->end, 0, ",", 1);
}

static size_t change_bytes(uint8_t *data, size_t size, size_t most, const struct element *e) {
    uint8_t part[256];
    size_t len = e->end - e->value, longest = sizeof part;
    if (len > longest) {
        return mutate_bytes(data, size, most);
    }
    memcpy(part, data + e->value, len);
    size_t changed = mutate_bytes(part, len, longest);
    return mutate_splice(data, size, most, e->value, len, part, changed);
}

static size_t mutate_element(struct json_scan *s, uint8_t *data, size_t most, uint64_t *random) {
    const struct element *e = &s->elements[mutate_random(random, s->count)];
    const struct element *other = &s->elements[mutate_random(random, s->count)];
    const char *limit = json_limits[mutate_random(random, JSON_LIMITS)];
    size_t len = e->end - e->value;
    switch (mutate_random(random, 6)) {
    case 0:
        return remove_element(data, s->size, e);
    case 1:
        return repeat_element(data, s->size, most, e);
    case 2:
        return mutate_splice(data, s->size, most, e->value, len, limit, strlen(limit));
    case 3: /* replaces the value by that of another element */
        return mutate_copy(data, s->size, most, e->value, len, other->value,
                           other->end - other->value);
    case 4: /* replaces the whole member, key included, by another one */
        return mutate_copy(data, s->size, most, e->start, e->end - e->start, other->start,
                           other->end - other->start);
    default:
        return change_bytes(data, s->size, most, e);
    }
}

size_t mutate_json(uint8_t *data, size_t size, size_t most, unsigned seed) {
    static struct json_scan s;
    uint64_t random = seed;
    s.text = data;
    s.size = size;
    s.at = s.count = s.depth = 0;
    scan(&s);
    if (s.count == 0 || size > most || mutate_random(&random, 8) == 0) {
        return mutate_bytes(data, size, most);
    }
    return mutate_element(&s, data, most, &random);
}
