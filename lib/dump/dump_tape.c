/* One pass over the text: checked and taken apart at once. */
#include "dump/dump_tape_private.h"

#include <string.h>

#include "base/utf8.h"
#include "dump/dump_scan_private.h"
#include "dump/dump_word_private.h"

enum { SAFE_DIGITS = 18 }; /* 10^18 - 1 < 2^63 */

_Static_assert(2 * SCAN_VALUES_MAX < 1 << 24, "with a name each, values fit an extent");
_Static_assert(DUMP_TEXT_MAX <= UINT32_MAX, "every byte of a text has a place");

/* ---- single values: each function takes the place where one begins, and gives where it ends; NULL
 * if it is not right ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Four hex digits as a number; -1: they are not. */
static int hex4(const char *p, const char *end) {
    int v = 0;
    if (end - p < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        char c = p[i], letter = (char)(c | 0x20);
        if (is_digit(c)) {
            v = v << 4 | (c - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            v = v << 4 | (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return v;
}

static bool is_high_surrogate(int unit) {
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int unit) {
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The code point of a \u escape, or of two that are a pair; 0xfffd, and one more is replaced, for
 * what is none. Returns its end; NULL: no hex digits. */
static const char *take_unicode(const char *p, const char *end, uint32_t *code_point,
                                uint64_t *replaced) {
    int unit = hex4(p + 2, end);
    if (unit < 0) {
        return NULL;
    }
    p += 6;
    if (is_high_surrogate(unit) && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int low = hex4(p + 2, end);
        if (is_low_surrogate(low)) {
            *code_point = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
            return p + 6;
        }
    }
    bool right = unit != 0 && !is_high_surrogate(unit) && !is_low_surrogate(unit);
    *code_point = right ? (uint32_t)unit : 0xfffd;
    *replaced += !right;
    return p;
}

/* The character that an escape stands for; returns its end. */
static const char *take_escape(const char *p, const char *end, uint32_t *code_point,
                               uint64_t *replaced) {
    static const char pairs[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    if (end - p < 2) {
        return NULL;
    }
    if (p[1] == 'u') {
        return take_unicode(p, end, code_point, replaced);
    }
    for (size_t i = 0; i + 1 < sizeof pairs; i += 2) {
        if (pairs[i] == p[1]) {
            *code_point = (unsigned char)pairs[i + 1];
            return p + 2;
        }
    }
    return NULL;
}

/* One character of a string that is not its end. *raw: its bytes can stay. */
static const char *take_character(const char *p, const char *end, uint32_t *code_point, bool *raw,
                                  uint64_t *replaced) {
    *raw = *p != '\\';
    if (!*raw) {
        return take_escape(p, end, code_point, replaced);
    }
    size_t n = utf8_decode(p, (size_t)(end - p), code_point);
    if (n == 0) {
        *raw = false;
        *code_point = 0xfffd;
        ++*replaced;
        n = 1;
    }
    return *code_point < 0x20 ? NULL : p + n;
}

/* The first byte of a string that ends it, or needs more than a step further. */
static const char *find_special(const char *p, const char *end) {
    for (; end - p >= WORD_BYTES; p += WORD_BYTES) {
        uint64_t w = word_load(p);
        uint64_t special =
            word_equal(w, '"') | word_equal(w, '\\') | word_less(w, 0x20) | (w & word_of(0x80));
        if (special) {
            return p + word_first(special);
        }
    }
    while (p < end && (signed char)*p >= 0x20 && *p != '"' && *p != '\\') {
        p++;
    }
    return p;
}

static const char *take_string(const char *p, const char *end, struct tape_value *v,
                               uint64_t *replaced) {
    const char *start = ++p;
    v->kind = TAPE_STRING;
    v->extent = 1;
    for (;;) {
        p = find_special(p, end);
        if (p == end) {
            return NULL;
        }
        if (*p == '"') {
            v->len = (uint32_t)(p - start);
            return p + 1;
        }
        uint32_t code_point;
        bool raw;
        p = take_character(p, end, &code_point, &raw, replaced);
        if (!p) {
            return NULL;
        }
        if (!raw) {
            v->kind = TAPE_ESCAPED;
        }
    }
}

static const char *skip_digits(const char *p, const char *end) {
    while (p < end && is_digit(*p)) {
        p++;
    }
    return p;
}

/* What follows a number's integer digits: a fraction, an exponent, or too many of them. */
static const char *take_long_number(const char *p, const char *end, size_t digits,
                                    struct tape_value *v, uint64_t *replaced) {
    const char *start = p;
    if (p < end && *p == '.') {
        p = skip_digits(++start, end);
        if (p == start) {
            return NULL;
        }
        digits += (size_t)(p - start);
    }
    bool exponent = p < end && (*p == 'e' || *p == 'E');
    if (exponent) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        start = p;
        p = skip_digits(p, end);
        if (p == start) {
            return NULL;
        }
    }
    bool text = exponent || digits > SAFE_DIGITS;
    v->kind = text ? TAPE_STRING : TAPE_REAL;
    *replaced += text;
    return p;
}

static const char *take_number(const char *p, const char *end, struct tape_value *v,
                               uint64_t *replaced) {
    const char *start = p;
    p += *p == '-';
    const char *first = p;
    uint64_t n = 0;
    for (; p < end && is_digit(*p); p++) {
        n = n * 10 + (uint64_t)(*p - '0');
    }
    size_t digits = (size_t)(p - first);
    if (digits == 0 || (digits > 1 && *first == '0')) {
        return NULL;
    }
    v->extent = 1;
    if (digits <= SAFE_DIGITS && (p == end || (*p != '.' && *p != 'e' && *p != 'E'))) {
        v->kind = TAPE_INTEGER;
        v->integer = first > start ? -(int64_t)n : (int64_t)n;
        return p;
    }
    p = take_long_number(p, end, digits, v, replaced);
    v->len = p ? (uint32_t)(p - start) : 0;
    return p;
}

static const char *take_word(const char *p, const char *end, struct tape_value *v) {
    static const struct {
        const char text[6];
        uint8_t len, kind;
    } words[] = {{"true", 4, TAPE_TRUE}, {"false", 5, TAPE_FALSE}, {"null", 4, TAPE_NULL}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = words[i].len;
        if ((size_t)(end - p) >= len && memcmp(p, words[i].text, len) == 0) {
            v->kind = words[i].kind;
            v->extent = 1;
            return p + len;
        }
    }
    return NULL;
}

/* ---- the text ---- */

struct taking {
    struct tape *t;
    const char *end;
    uint32_t values; /* as the validator counts them: names are none */
    bool no_memory;
    uint32_t *open; /* the containers that p is in, outermost first */
    size_t depth;
};

static const char *skip_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
        p++;
    }
    return p;
}

static bool make_room(struct taking *k) {
    k->no_memory = !VEC_RESERVE(&k->t->values, 1);
    return !k->no_memory;
}

static inline struct tape_value *add_value(struct taking *k, const char *p) {
    struct tape *t = k->t;
    if (t->values.len == t->values.cap && !make_room(k)) {
        return NULL;
    }
    struct tape_value *v = &t->values.data[t->values.len++];
    v->at = (uint32_t)(p - t->text);
    return v;
}

/* A member's name and its colon. */
static const char *take_key(struct taking *k, const char *p) {
    struct tape_value *v;
    p = skip_space(p, k->end);
    if (p == k->end || *p != '"' || !(v = add_value(k, p + 1))) {
        return NULL;
    }
    p = take_string(p, k->end, v, &k->t->replaced);
    p = p ? skip_space(p, k->end) : NULL;
    return p && p < k->end && *p == ':' ? p + 1 : NULL;
}

/* A value that is no container, or the bracket of one. */
static const char *take_value(struct taking *k, const char *p) {
    p = skip_space(p, k->end);
    if (p == k->end || ++k->values > SCAN_VALUES_MAX) {
        return NULL;
    }
    bool string = *p == '"';
    struct tape_value *v = add_value(k, p + string);
    if (!v) {
        return NULL;
    }
    if (string) {
        return take_string(p, k->end, v, &k->t->replaced);
    }
    if (is_digit(*p) || *p == '-') {
        return take_number(p, k->end, v, &k->t->replaced);
    }
    if (*p != '{' && *p != '[') {
        return take_word(p, k->end, v);
    }
    if (k->depth == DUMP_DEPTH_MAX) {
        return NULL;
    }
    v->kind = *p == '{' ? TAPE_OBJECT : TAPE_ARRAY;
    v->count = 0;
    k->open[k->depth++] = (uint32_t)(k->t->values.len - 1);
    return p + 1;
}

/* What stands between values: brackets that close, until there is one to come. With the last
 * bracket the depth is 0. */
static const char *take_between(struct taking *k, const char *p, bool opened) {
    while (k->depth > 0) {
        uint32_t index = k->open[k->depth - 1];
        struct tape_value *container = &k->t->values.data[index];
        bool object = container->kind == TAPE_OBJECT;
        p = skip_space(p, k->end);
        if (p == k->end) {
            return NULL;
        }
        if (*p == (object ? '}' : ']')) {
            container->extent = (uint32_t)(k->t->values.len - index) & 0xffffff;
            k->depth--;
            opened = false;
            p++;
            continue;
        }
        if (!opened && *p++ != ',') {
            return NULL;
        }
        container->count++;
        return object ? take_key(k, p) : p;
    }
    return p;
}

static const char *take_text(struct taking *k, const char *p) {
    p = skip_space(p, k->end);
    if (p == k->end || *p != '{') {
        return NULL;
    }
    do {
        size_t depth = k->depth;
        p = take_value(k, p);
        p = p ? take_between(k, p, k->depth > depth) : NULL;
    } while (p && k->depth > 0);
    p = p ? skip_space(p, k->end) : NULL;
    return p == k->end ? p : NULL;
}

enum st tape_read(struct tape *t, const char *text, size_t len, struct err *e) {
    enum { BYTES_A_VALUE = 6 }; /* of dumps with symbols; those without have longer numbers */
    uint32_t open[DUMP_DEPTH_MAX];
    struct taking k = {.t = t, .end = text + len, .open = open};
    *t = (struct tape){.text = text};
    if (!VEC_RESERVE(&t->values, len / BYTES_A_VALUE)) {
        return err_nomem(e);
    }
    if (!take_text(&k, text)) {
        tape_release(t);
        return k.no_memory ? err_nomem(e) : ST_NONE;
    }
    return ST_OK;
}

void tape_release(struct tape *t) {
    VEC_RELEASE(&t->values);
    *t = (struct tape){0};
}

/* ---- look-ups ---- */

const struct tape_value *tape_element(const struct tape_value *array, size_t index) {
    if (!tape_is(array, TAPE_ARRAY) || index >= array->count) {
        return NULL;
    }
    const struct tape_value *v = tape_first(array);
    while (index-- > 0) {
        v = tape_next(v);
    }
    return v;
}

static bool is_name(const struct tape *t, const struct tape_value *key,
                    const struct tape_name *name) {
    const char *text = t->text + key->at;
    if (key->kind == TAPE_STRING) {
        return key->len == name->len && memcmp(text, name->text, name->len) == 0;
    }
    return span_is((struct span){text - 1, text + key->len + 1}, name->text);
}

void tape_members(const struct tape *t, const struct tape_value *object,
                  const struct tape_name *names, size_t count, const struct tape_value **values) {
    size_t likely = 0; /* the name behind the last one that was found */
    for (size_t i = 0; i < count; i++) {
        values[i] = NULL;
    }
    if (!tape_is(object, TAPE_OBJECT)) {
        return;
    }
    const struct tape_value *end = tape_end(object);
    for (const struct tape_value *key = tape_first(object); key < end; key = tape_next(key + 1)) {
        size_t tried = 0, i = likely;
        while (tried < count && !is_name(t, key, &names[i])) {
            i = i + 1 < count ? i + 1 : 0;
            tried++;
        }
        if (tried < count) {
            values[i] = key + 1;
            likely = i + 1 < count ? i + 1 : 0;
        }
    }
}

const struct tape_value *tape_member(const struct tape *t, const struct tape_value *object,
                                     const char *name) {
    const struct tape_name one = {name, strlen(name)};
    const struct tape_value *value;
    tape_members(t, object, &one, 1, &value);
    return value;
}

/* ---- text ---- */

char *tape_string(const struct tape *t, const struct tape_value *string, struct arena *arena,
                  size_t *len) {
    const char *p = t->text + string->at, *end = p + string->len;
    if (string->kind == TAPE_STRING) {
        *len = string->len;
        return arena_strdup(arena, p, string->len);
    }
    char *copy = arena_array(arena, (size_t)string->len + 1, 3); /* a wrong byte becomes three */
    *len = 0;
    while (copy && p && p < end) {
        uint32_t code_point = 0;
        uint64_t replaced = 0;
        bool raw;
        p = take_character(p, end, &code_point, &raw, &replaced);
        *len += utf8_encode(code_point, copy + *len);
    }
    return copy;
}
