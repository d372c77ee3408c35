/* Checks a text and converts it to a tape in one pass. */
#include "dump/json/tape.h"

#include <string.h>

#include "dump/json/scan_private.h"
#include "dump/json/span_private.h"

_Static_assert(2 * SCAN_VALUES_MAX < 1 << 24, "with a name each, values fit an extent");
_Static_assert(DUMP_TEXT_MAX <= UINT32_MAX, "every byte of a text has a place");

/* ---- reading ---- */

/* The text that is being read. It ends with a bracket, which ends any number, word or white space;
 * so only the reader of strings has to check for the end of the text. */
struct tape_text {
    const char *start, *end;
    size_t depth_max;
    bool spaced;        /* white space stands between tokens */
    struct token token; /* last token that token_read has read */
};

static const char *skip_blanks(struct tape_text *t, const char *p) {
    while ((unsigned char)*p <= ' ' && token_is_space(*p)) {
        t->spaced = true;
        p++;
    }
    return p;
}

static void tape_fill(struct tape_value *v, size_t at, enum value_kind kind, uint32_t extent) {
    v->at = (uint32_t)at;
    v->kind = (uint32_t)kind & 0xff;
    v->extent = extent & 0xffffff;
}

/* Reads the token at p into v, whatever its kind, and returns its end; NULL: there is none.
 * read_string, read_number and read_scalar are its fast paths. */
static const char *read_any(struct tape_text *t, const char *p, struct tape_value *v) {
    p = token_read(p, t->end, &t->token);
    if (p) {
        tape_fill(v, (size_t)(t->token.text - t->start), t->token.kind, 1);
        if (t->token.kind == VALUE_INTEGER) {
            v->integer = t->token.integer;
        } else {
            v->len = t->token.len;
        }
    }
    return p;
}

static inline const char *read_string(struct tape_text *t, const char *p, struct tape_value *v) {
    const char *end = token_skip_plain(p + 1, t->end);
    if (end == t->end || *end != '"') {
        return read_any(t, p, v);
    }
    tape_fill(v, (size_t)(p + 1 - t->start), VALUE_STRING, 1);
    v->len = (uint32_t)(end - p - 1);
    return end + 1;
}

static inline const char *read_number(struct tape_text *t, const char *p, struct tape_value *v) {
    const char *first = p, *digit = p + 1;
    uint64_t n = (uint64_t)(*p - '0');
    if (token_is_digit(*digit)) { /* a third of the numbers have one digit */
        n = n * 10 + (uint64_t)(*digit++ - '0');
    }
    if (token_is_digit(*digit)) {
        for (; t->end - digit >= WORD_BYTES && word_is_digits(word_load(digit));
             digit += WORD_BYTES) {
            n = n * 100000000 + word_number(word_load(digit));
        }
        for (; token_is_digit(*digit); digit++) {
            n = n * 10 + (uint64_t)(*digit - '0');
        }
    }
    size_t digits = (size_t)(digit - first);
    if (digits > TOKEN_DIGITS_MAX || (digits > 1 && *first == '0') || *digit == '.' ||
        *digit == 'e' || *digit == 'E') {
        return read_any(t, p, v);
    }
    tape_fill(v, (size_t)(p - t->start), VALUE_INTEGER, 1);
    v->integer = (int64_t)n;
    return digit;
}

static inline const char *read_scalar(struct tape_text *t, const char *p, struct tape_value *v) {
    if (*p == '"') {
        return read_string(t, p, v);
    }
    return token_is_digit(*p) ? read_number(t, p, v) : read_any(t, p, v);
}

/* Reads a member's name and the colon after it, and returns where the value begins; NULL: something
 * else stands there. */
static inline const char *read_name(struct tape_text *t, const char *p, struct tape_value *v) {
    p = *p == '"' ? read_string(t, p, v) : NULL;
    if (!p) {
        return NULL;
    }
    p = skip_blanks(t, p);
    return *p == ':' ? skip_blanks(t, p + 1) : NULL;
}

/* The open containers around the next value, outermost first. */
struct tape_open {
    uint32_t index[DUMP_DEPTH_MAX];
    size_t depth;
    char closer;    /* closing bracket of the innermost container */
    uint32_t count; /* elements or members of the innermost container so far */
};

/* Opens a container. Its `extent` holds the outer container's count until it is closed. */
static inline void open_container(struct tape_open *open, const struct tape_text *t, const char *p,
                                  const struct tape_value *values, struct tape_value *v) {
    tape_fill(v, (size_t)(p - t->start), *p == '{' ? VALUE_OBJECT : VALUE_ARRAY, open->count);
    open->index[open->depth++] = (uint32_t)(v - values);
    open->closer = *p == '{' ? '}' : ']';
    open->count = 0;
}

/* Closes the innermost container, which ends before the value `next`. */
static inline void close_container(struct tape_open *open, struct tape_value *values,
                                   const struct tape_value *next) {
    struct tape_value *v = &values[open->index[--open->depth]];
    uint32_t outer = v->extent;
    v->extent = (uint32_t)(next - v) & 0xffffff;
    v->count = open->count;
    if (open->depth > 0) {
        open->count = outer;
        open->closer = values[open->index[open->depth - 1]].kind == VALUE_OBJECT ? '}' : ']';
    }
}

/* Lets the reader read the container at p if it is the value of the reader's member of the root,
 * whose name is the value before v. NULL: it is not, or the reader gave up. */
static const char *read_apart(const struct tape_reader *reader, const struct tape_text *t,
                              const char *p, struct tape_value *v, uint32_t *values) {
    const struct tape_value *name = v - 1;
    if (name->kind != VALUE_STRING || name->len != strlen(reader->name) ||
        memcmp(t->start + name->at, reader->name, name->len) != 0) {
        return NULL;
    }
    const char *end = reader->read(reader->ctx, p, t->end, values);
    tape_fill(v, (size_t)(p - t->start), VALUE_ARRAY, 1);
    v->count = 0;
    return end && end < t->end ? end : NULL; /* the root's bracket has to follow */
}

enum tape_end { TAPE_WHOLE, TAPE_REFUSED, TAPE_NO_ROOM };

/* Reads the document whose bracket is at p. The result does not tell which error was found:
 * scan_check then finds the error and its position. */
static enum tape_end read_document(struct tape *tape, struct tape_text *t, const char *p) {
    struct tape_open open;
    uint32_t values = 0;
    struct tape_value *v = tape->values.data, *limit = v + tape->values.cap;
    open.depth = open.count = 0;
    open.closer = 0;
    for (;;) {
        if (limit - v < 2) { /* room for a name and a value */
            tape->values.len = (size_t)(v - tape->values.data);
            if (!VEC_RESERVE(&tape->values, 2)) {
                return TAPE_NO_ROOM;
            }
            v = tape->values.data + tape->values.len;
            limit = tape->values.data + tape->values.cap;
        }
        p = skip_blanks(t, p);
        if (open.closer == '}' && !(p = read_name(t, p, v++))) {
            return TAPE_REFUSED;
        }
        open.count++;
        if (values++ == SCAN_VALUES_MAX) {
            return TAPE_REFUSED;
        }
        if (*p == '{' || *p == '[') {
            const char *after = NULL;
            if (tape->reader && open.depth == 1 && open.closer == '}') {
                uint32_t inside = 0;
                after = read_apart(tape->reader, t, p, v, &inside);
                values += after ? inside : 0;
            }
            if (open.depth == t->depth_max || values > SCAN_VALUES_MAX) {
                return TAPE_REFUSED;
            }
            if (!after) {
                open_container(&open, t, p, tape->values.data, v++);
                p = skip_blanks(t, p + 1);
                if (*p != open.closer) {
                    continue;
                }
            } else {
                p = after;
                v++;
            }
        } else if (!(p = read_scalar(t, p, v++))) {
            return TAPE_REFUSED;
        }
        while (*(p = skip_blanks(t, p)) != ',') {
            if (*p++ != open.closer) {
                return TAPE_REFUSED;
            }
            close_container(&open, tape->values.data, v);
            if (open.depth == 0 || p == t->end) {
                tape->values.len = (size_t)(v - tape->values.data);
                return open.depth == 0 && p == t->end ? TAPE_WHOLE : TAPE_REFUSED;
            }
        }
        p++;
    }
}

enum st tape_read(struct tape *t, const char *text, size_t len, struct err *e) {
    /* average number of bytes of text for each value in dumps with symbols; in dumps without
     * symbols the average is larger, because addresses are long */
    enum { BYTES_A_VALUE = 6 };
    text = text ? text : ""; /* an empty text may have no address, to which nothing can be added */
    struct tape_text whole = {.start = text,
                              .end = text + len,
                              .depth_max = t->depth_max ? t->depth_max : DUMP_DEPTH_MAX};
    const char *p = token_skip_space(text, whole.end);
    t->text = text;
    t->values.len = 0;
    while (whole.end > p && token_is_space(whole.end[-1])) {
        whole.end--;
    }
    bool bracketed = whole.end - p > 1 && (*p == '{' || *p == '[') &&
                     (whole.end[-1] == '}' || whole.end[-1] == ']');
    if (bracketed && !VEC_RESERVE(&t->values, len / BYTES_A_VALUE + 2)) {
        return err_nomem(e);
    }
    enum tape_end end = bracketed ? read_document(t, &whole, p) : TAPE_REFUSED;
    t->replaced = whole.token.repairs;
    t->spaced = whole.spaced;
    if (end == TAPE_WHOLE) {
        return ST_OK;
    }
    t->values.len = 0;
    if (end == TAPE_NO_ROOM) {
        return err_nomem(e);
    }
    enum st st = scan_check(text, len, t->depth_max, e);
    return st != ST_OK ? st : err_set(e, ERR_INTERNAL, "the readers of JSON disagree");
}

/* Are two names of the object equal? The function must not be called for an object whose names have
 * escapes. */
static bool has_plain_twin(const struct tape *t, const struct tape_value *object) {
    const struct tape_value *end = tape_end(object);
    for (const struct tape_value *key = tape_first(object); key < end; key = tape_next(key + 1)) {
        for (const struct tape_value *twin = tape_next(key + 1); twin < end;
             twin = tape_next(twin + 1)) {
            if (key->len == twin->len &&
                memcmp(t->text + key->at, t->text + twin->at, key->len) == 0) {
                return true;
            }
        }
    }
    return false;
}

bool tape_names_differ(const struct tape *t) {
    /* maximum number of names of an object that is searched for equal ones, because each name is
     * compared with every other */
    enum { COMPARED_MAX = 64 };
    const struct tape_value *end = t->values.data + t->values.len;
    for (const struct tape_value *v = t->values.data; v < end; v++) {
        if (v->kind != VALUE_OBJECT) {
            continue;
        }
        bool plain = v->count <= COMPARED_MAX;
        for (const struct tape_value *key = tape_first(v); plain && key < tape_end(v);
             key = tape_next(key + 1)) {
            plain = key->kind == VALUE_STRING;
        }
        if (!plain || has_plain_twin(t, v)) {
            return false;
        }
    }
    return true;
}

void tape_release(struct tape *t) {
    VEC_RELEASE(&t->values);
    *t = (struct tape){.depth_max = t->depth_max};
}

/* ---- look-ups ---- */

const struct tape_value *tape_element(const struct tape_value *array, size_t index) {
    if (!tape_is(array, VALUE_ARRAY) || index >= array->count) {
        return NULL;
    }
    const struct tape_value *v = tape_first(array);
    while (index-- > 0) {
        v = tape_next(v);
    }
    return v;
}

/* Are two texts of this length equal? memcmp takes longer for the few bytes of a name. The bytes
 * after the last whole word are compared as part of the word that ends with them. */
static inline bool is_same_text(const char *a, const char *b, size_t len) {
    if (len < WORD_BYTES / 2) {
        return len == 0 || (a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1]);
    }
    if (len < WORD_BYTES) {
        uint32_t words[2][2];
        memcpy(&words[0][0], a, sizeof words[0][0]);
        memcpy(&words[0][1], a + len - sizeof words[0][0], sizeof words[0][0]);
        memcpy(&words[1][0], b, sizeof words[0][0]);
        memcpy(&words[1][1], b + len - sizeof words[0][0], sizeof words[0][0]);
        return words[0][0] == words[1][0] && words[0][1] == words[1][1];
    }
    for (size_t i = 0; i + WORD_BYTES < len; i += WORD_BYTES) {
        if (word_load(a + i) != word_load(b + i)) {
            return false;
        }
    }
    return word_load(a + len - WORD_BYTES) == word_load(b + len - WORD_BYTES);
}

static inline bool is_name(const struct tape *t, const struct tape_value *key,
                           const struct tape_name *name) {
    const char *text = t->text + key->at;
    if (key->kind == VALUE_STRING) {
        return key->len == name->len && is_same_text(text, name->text, name->len);
    }
    return span_is((struct span){text - 1, text + key->len + 1}, name->text);
}

size_t tape_which(const struct tape *t, const struct tape_value *key, const void *rows,
                  size_t count, size_t row_size, size_t likely) {
    const char *first = rows, *end = first + count * row_size;
    const char *row = likely < count ? first + likely * row_size : first;
    for (size_t tried = 0; tried < count; tried++) {
        if (is_name(t, key, (const struct tape_name *)(const void *)row)) {
            return (size_t)(row - first) / row_size;
        }
        row += row_size;
        row = row < end ? row : first;
    }
    return count;
}

void tape_members(const struct tape *t, const struct tape_value *object,
                  const struct tape_name *names, size_t count, const struct tape_value **values) {
    size_t likely = 0; /* index of the name after the last one found */
    for (size_t i = 0; i < count; i++) {
        values[i] = NULL;
    }
    if (!tape_is(object, VALUE_OBJECT)) {
        return;
    }
    const struct tape_value *end = tape_end(object);
    for (const struct tape_value *key = tape_first(object); key < end; key = tape_next(key + 1)) {
        size_t i = likely < count && is_name(t, key, &names[likely])
                       ? likely
                       : tape_which(t, key, names, count, sizeof *names, likely);
        if (i < count) {
            values[i] = key + 1;
            likely = i + 1;
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
    const char *text = t->text + string->at;
    if (string->kind != VALUE_ESCAPED) {
        *len = string->len;
        return arena_strdup(arena, text, string->len);
    }
    char *copy = arena_array(arena, (size_t)string->len + 1, 3);
    *len = copy ? token_decode(text, string->len, copy) : 0;
    return copy;
}
