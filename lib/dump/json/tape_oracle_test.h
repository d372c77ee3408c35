/* The oracle for the tests and the fuzzer of the tape and the loader: Jansson reads the same
 * document, after the forms that Jansson does not accept were repaired. */
#ifndef STALLKIT_DUMP_TAPE_ORACLE_TEST_H
#define STALLKIT_DUMP_TAPE_ORACLE_TEST_H

#include <jansson.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "dump/document.h"
#include "dump/json/tape.h"

/* In objects with more members, members are not looked up by name. */
enum { ASKED_MEMBERS_MAX = 64 };

static inline const char *value_difference(const struct tape *t, const struct tape_value *v,
                                           const json_t *want);

static inline const char *string_difference(const struct tape *t, const struct tape_value *v,
                                            const json_t *want) {
    struct arena arena = {0};
    size_t len;
    const char *text = tape_string(t, v, &arena, &len);
    bool same = text && len == json_string_length(want) && text[len] == 0 &&
                memcmp(text, json_string_value(want), len) == 0;
    arena_release(&arena);
    return same ? NULL : "a string";
}

static inline const char *array_difference(const struct tape *t, const struct tape_value *v,
                                           const json_t *want) {
    const struct tape_value *element = tape_first(v);
    const char *difference = v->count == json_array_size(want) ? NULL : "an array's length";
    for (size_t i = 0; !difference && i < v->count; i++, element = tape_next(element)) {
        difference = i < ASKED_MEMBERS_MAX && tape_element(v, i) != element
                         ? "an element by its number"
                         : value_difference(t, element, json_array_get(want, i));
    }
    return difference ? difference : element == tape_end(v) ? NULL : "an array's end";
}

static inline bool is_ascii(const char *s) {
    while (*s > 0) {
        s++;
    }
    return *s == 0;
}

/* Compares an object. If a name occurs twice, the last value counts. */
static inline const char *object_difference(const struct tape *t, const struct tape_value *v,
                                            const json_t *want) {
    struct map last = {0};
    size_t count = 0;
    const struct tape_value *key = tape_first(v);
    for (; key < tape_end(v); key = tape_next(key + 1), count++) {
        size_t len;
        const char *name = tape_string(t, key, &last.arena, &len);
        struct map_entry *entry = name ? map_put(&last, name, len, 0, NULL) : NULL;
        if (!entry) {
            map_release(&last);
            return "memory";
        }
        entry->value = (size_t)(key + 1 - v);
    }
    const char *difference = key != tape_end(v)                     ? "an object's end"
                             : count != v->count                    ? "an object's count"
                             : last.count != json_object_size(want) ? "an object's size"
                                                                    : NULL;
    for (size_t i = 0; !difference && i < last.count; i++) {
        const char *name = last.entries[i].key;
        const struct tape_value *value = v + last.entries[i].value;
        difference =
            count <= ASKED_MEMBERS_MAX && is_ascii(name) && tape_member(t, v, name) != value
                ? "a member by its name"
                : value_difference(t, value, json_object_get(want, name));
    }
    map_release(&last);
    return difference;
}

static inline const char *value_difference(const struct tape *t, const struct tape_value *v,
                                           const json_t *want) {
    static const enum value_kind kinds[] = {
        [JSON_OBJECT] = VALUE_OBJECT,   [JSON_ARRAY] = VALUE_ARRAY, [JSON_STRING] = VALUE_STRING,
        [JSON_INTEGER] = VALUE_INTEGER, [JSON_REAL] = VALUE_REAL,   [JSON_TRUE] = VALUE_TRUE,
        [JSON_FALSE] = VALUE_FALSE,     [JSON_NULL] = VALUE_NULL,
    };
    enum value_kind kind = tape_is_string(v) ? VALUE_STRING : (enum value_kind)v->kind;
    if (!want || kind != kinds[json_typeof(want)]) {
        return "a kind";
    }
    switch (json_typeof(want)) {
    case JSON_OBJECT:
        return object_difference(t, v, want);
    case JSON_ARRAY:
        return array_difference(t, v, want);
    case JSON_STRING:
        return string_difference(t, v, want);
    case JSON_INTEGER:
        return v->integer == json_integer_value(want) ? NULL : "an integer";
    default:
        return NULL;
    }
}

/* ---- the repairs, written a second time ---- */

struct repairs {
    const char *text;
    size_t len;
    bool quote; /* numbers that need a repair are replaced by strings of their text; false: by 0 */
    struct strbuf out;
    uint64_t count;
};

static inline void repaired_text(struct repairs *r, const char *text) {
    strbuf_addstr(&r->out, text);
    r->count++;
}

static inline int repaired_unit(const struct repairs *r, size_t at) {
    int v = 0;
    if (r->len - at < 6 || r->text[at] != '\\' || r->text[at + 1] != 'u') {
        return -1;
    }
    for (size_t i = at + 2; i < at + 6; i++) {
        const char *digits = "0123456789abcdefABCDEF";
        const char *digit = r->text[i] ? strchr(digits, r->text[i]) : NULL;
        if (!digit) {
            return -1;
        }
        v = v * 16 + (int)(digit - digits < 16 ? digit - digits : digit - digits - 6);
    }
    return v;
}

/* Repairs an escape and returns its end. */
static inline size_t repair_escape(struct repairs *r, size_t at) {
    int unit = repaired_unit(r, at), low = unit < 0 ? -1 : repaired_unit(r, at + 6);
    size_t n = unit < 0 ? 2 : 6;
    if (unit >= 0xd800 && unit < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
        n = 12;
    } else if (unit == 0 || (unit >= 0xd800 && unit < 0xe000)) {
        repaired_text(r, "\\ufffd");
        return at + 6;
    }
    n = n < r->len - at ? n : r->len - at;
    strbuf_add(&r->out, r->text + at, n);
    return at + n;
}

/* Repairs a string and returns its end. */
static inline size_t repair_string(struct repairs *r, size_t at) {
    strbuf_addc(&r->out, r->text[at++]);
    while (at < r->len && r->text[at] != '"') {
        uint32_t code_point;
        size_t n = utf8_decode(r->text + at, r->len - at, &code_point);
        if (r->text[at] == '\\') {
            at = repair_escape(r, at);
        } else if (n == 0) {
            repaired_text(r, "\xef\xbf\xbd");
            at++;
        } else {
            strbuf_add(&r->out, r->text + at, n);
            at += n;
        }
    }
    strbuf_add(&r->out, r->text + at, at < r->len);
    return at < r->len ? at + 1 : at;
}

static inline size_t digits_at(const struct repairs *r, size_t at) {
    size_t n = 0;
    while (at + n < r->len && r->text[at + n] >= '0' && r->text[at + n] <= '9') {
        n++;
    }
    return n;
}

/* Repairs a number and returns its end; a malformed one stays as it is. */
static inline size_t repair_number(struct repairs *r, size_t at) {
    size_t p = at + (r->text[at] == '-'), whole = digits_at(r, p), more = 1, digits = whole;
    bool right = whole == 1 || (whole > 1 && r->text[p] != '0'), exponent = false;
    p += whole;
    if (p < r->len && r->text[p] == '.') {
        more = digits_at(r, ++p);
        digits += more;
        p += more;
        right = right && more > 0;
    }
    if (p < r->len && (r->text[p] == 'e' || r->text[p] == 'E')) {
        exponent = true;
        p++;
        p += p < r->len && (r->text[p] == '+' || r->text[p] == '-');
        more = digits_at(r, p);
        p += more;
        right = right && more > 0;
    }
    const char *quote = r->quote ? "\"" : "", *limit = "18446744073709551615";
    limit = r->text[at] == '-' ? "9223372036854775808" : limit;
    size_t first = at + (r->text[at] == '-'), most = strlen(limit);
    bool fits =
        p - first < most || (p - first == most && memcmp(r->text + first, limit, most) <= 0);
    bool integer = p - first == whole;
    if (right && (digits > 18 || exponent)) {
        strbuf_addstr(&r->out, quote);
        strbuf_add(&r->out, r->quote ? r->text + at : "0", r->quote ? p - at : 1);
        strbuf_addstr(&r->out, quote);
        r->count += integer && !fits;
    } else {
        strbuf_add(&r->out, r->text + at, p - at);
    }
    return p;
}

/* Returns Jansson's tree of the repaired text; NULL if Jansson refuses it. */
static inline json_t *load_repaired(const char *text, size_t len, bool quote, uint64_t *count) {
    struct repairs r = {.text = text, .len = len, .quote = quote};
    /* True: a NUL stands outside of a string. Jansson skips a NUL after a number, so this is
     * checked here. */
    bool nul = false;
    for (size_t i = 0; i < len;) {
        char c = text[i];
        nul = nul || c == '\0';
        if (c == '"') {
            i = repair_string(&r, i);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            i = repair_number(&r, i);
        } else {
            strbuf_addc(&r.out, c);
            i++;
        }
    }
    json_t *root = r.out.len > 0 && !nul ? json_loadb(r.out.data, r.out.len, 0, NULL) : NULL;
    *count = r.count;
    strbuf_release(&r.out);
    return root;
}

/* Returns what Jansson reads in the text; NULL if it is not an object or array. Jansson reads
 * twice: first with numbers in place of repaired numbers, which shows whether the text is JSON,
 * then with strings in their place, which keep their text. */
static inline json_t *oracle_load(const char *text, size_t len, uint64_t *count) {
    json_t *grammar = load_repaired(text, len, false, count);
    json_t *root = grammar ? load_repaired(text, len, true, count) : NULL;
    json_decref(grammar);
    return root;
}

/* Reads a text with the tape, the loader and Jansson; returns NULL if the results agree, else where
 * they differ. *taken: the text is an object or array. */
static inline const char *tape_difference(const char *text, size_t len, bool *taken) {
    struct tape t = {0};
    struct err e = {0};
    uint64_t count;
    json_t *tree;
    enum st got = tape_read(&t, text, len, &e);
    enum st loaded = document_load(&tree, text, len, NULL, NULL);
    json_t *root = oracle_load(text, len, &count);
    *taken = got == ST_OK;
    const char *difference = NULL;
    if (e.code == ERR_NOMEM) {
        difference = "memory";
    } else if (e.code != ERR_LIMIT && *taken != (root != NULL)) {
        difference = *taken ? "taken, and is no JSON" : "JSON, and not taken";
    } else if (loaded != got || (tree != NULL) != *taken) {
        difference = "the loader's answer";
    } else if (*taken && !json_equal(tree, root)) {
        difference = "the loader's tree";
    } else if (*taken && t.replaced != count) {
        difference = "the number of repairs";
    } else if (*taken) {
        difference = value_difference(&t, t.values.data, root);
    }
    json_decref(root);
    json_decref(tree);
    tape_release(&t);
    return difference;
}

#endif
