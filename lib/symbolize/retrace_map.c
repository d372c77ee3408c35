/* Reads mapping.txt:
 *
 *     # pg_map_id: 7e5f1a2
 *     com.example.shop.Cart -> a.b:
 *     # {"id":"sourceFile","fileName":"Cart.kt"}
 *         int count -> a
 *         1:3:void add(int):20:22 -> c
 *         4:4:void com.example.shop.Util.check(int):7:7 -> c     inlined …
 *         4:4:void add(int):23 -> c                              … into this one
 *         void clear() -> d
 *         0:65535:void drop():40:40 -> e                         all its lines
 *         5:5:void com.example.shop.Cart.sum():31:31 -> f
 *         5:5:void run():1 -> f
 *         # {"id":"com.android.tools.r8.synthesized"}            run() is not in the source
 *     a.b$$Outline -> a.o:
 *         1:2:int outline():0 -> a
 *         # {"id":"com.android.tools.r8.outline"}                code moved out of other methods
 *     com.example.shop.Main -> a.c:
 *         27:27:void pay():0:0 -> s                              calls the outline
 *         #
 * {"id":"com.android.tools.r8.outlineCallsite","positions":{"1":4,"2":5},"outline":"La/o;a()I"}
 *         4:4:void pay():23:23 -> s                              where the outline's line 1 was
 *
 * Numbers in front are lines of the short method, those after it are the source's. */
#include "symbolize/retrace_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/parse.h"
#include "base/vec.h"

struct retrace_text {
    const char *p;
    size_t len;
};

struct retrace_method {
    struct retrace_text short_name, class_name, name; /* class_name empty: the class around it */
    struct retrace_text signature;                    /* type, name and arguments, as they stand */
    uint32_t from, to;               /* lines of the short method, 0:65535 being all */
    uint32_t source_from, source_to; /* lines of the source; 0 = unknown */
    bool ranged;                     /* from and to were told */
    bool sourced;                    /* source_from was told; else lines are the source's own */
    bool synthesized;                /* R8 made the method, it is not in the source */
    bool outline;                    /* R8 moved its code out of other methods */
    struct retrace_text positions;   /* of a call of an outline: the members of "positions" */
};

struct retrace_class {
    struct retrace_text name, file;
    size_t first, count; /* its part of retrace_map.methods */
    /* next: index of the next class with the same short name; last: in the first of these classes,
     * index of the last one; 0 = none */
    size_t next, last;
};

struct retrace_map {
    struct retrace_text id;
    struct map by_short_name; /* short name of a class -> index in classes */
    struct map by_name;       /* the source's name of a class -> index in classes */
    VEC(struct retrace_class) classes;
    VEC(struct retrace_method) methods;
    bool after_method; /* the last line that is no comment was a method */
};

static const char id_key[] = "# pg_map_id: ";

static bool line_begins_with(struct retrace_text t, const char *with) {
    size_t len = strlen(with);
    return t.len >= len && memcmp(t.p, with, len) == 0;
}

/* Takes the next line off the text, without blanks at its end. False: the text is at its end. */
static bool take_mapping_line(struct retrace_text *text, struct retrace_text *line) {
    if (text->len == 0) {
        return false;
    }
    const char *feed = memchr(text->p, '\n', text->len);
    size_t len = feed ? (size_t)(feed - text->p) : text->len;
    *line = (struct retrace_text){text->p, len};
    text->p += len + (feed != NULL);
    text->len -= len + (feed != NULL);
    while (line->len > 0 && strchr(" \t\r", line->p[line->len - 1])) {
        line->len--;
    }
    return true;
}

/* Returns the id in a line "# pg_map_id: ID"; empty for any other line. */
static struct retrace_text id_of_line(struct retrace_text line) {
    struct retrace_text id = {0};
    if (line_begins_with(line, id_key)) {
        id = (struct retrace_text){line.p + sizeof id_key - 1, line.len - (sizeof id_key - 1)};
    }
    return id;
}

bool retrace_map_is(const char *bytes, size_t len) {
    struct retrace_text text = {bytes, len}, line;
    while (take_mapping_line(&text, &line) && (line.len == 0 || *line.p == '#')) {
        if (id_of_line(line).len > 0) {
            return true;
        }
    }
    return false;
}

/* ---- lines ---- */

/* Splits a line at the last " -> ". False: there is none, or a side is empty. */
static bool split_arrow(struct retrace_text line, struct retrace_text *left,
                        struct retrace_text *right) {
    for (size_t i = line.len; i-- > 4;) {
        if (memcmp(line.p + i - 4, " -> ", 4) == 0) {
            *left = (struct retrace_text){line.p, i - 4};
            *right = (struct retrace_text){line.p + i, line.len - i};
            return left->len > 0 && right->len > 0;
        }
    }
    return false;
}

/* Takes a number of at most 32 bits and, if `colon`, the colon after it off the start of the text.
 * False: the text does not begin so. */
static bool take_line_number(struct retrace_text *t, bool colon, uint32_t *out) {
    uint64_t value;
    size_t digits = 0;
    while (digits < t->len && t->p[digits] >= '0' && t->p[digits] <= '9') {
        digits++;
    }
    if ((colon && (digits == t->len || t->p[digits] != ':')) ||
        !parse_u64(t->p, digits, UINT32_MAX, &value)) {
        return false;
    }
    *out = (uint32_t)value;
    t->p += digits + colon;
    t->len -= digits + colon;
    return true;
}

/* Reads the source's lines after a method's brackets, ":20:22" or ":20". */
static void take_source_lines(struct retrace_text rest, struct retrace_method *m) {
    if (rest.len == 0 || *rest.p != ':') {
        return;
    }
    rest = (struct retrace_text){rest.p + 1, rest.len - 1};
    if (!take_line_number(&rest, false, &m->source_from)) {
        return;
    }
    m->sourced = true;
    m->source_to = m->source_from;
    if (rest.len > 1 && *rest.p == ':') {
        rest = (struct retrace_text){rest.p + 1, rest.len - 1};
        (void)take_line_number(&rest, false, &m->source_to);
    }
}

/* Reads a method, such as "1:3:void com.example.Util.check(int):20:22". False: it is a field. */
static bool take_method(struct retrace_text left, struct retrace_method *m) {
    struct retrace_text range = left;
    if (take_line_number(&range, true, &m->from) && take_line_number(&range, true, &m->to)) {
        left = range;
        m->ranged = true;
    } else {
        m->from = m->to = 0;
    }
    const char *open = memchr(left.p, '(', left.len);
    const char *close = open ? memchr(open, ')', left.len - (size_t)(open - left.p)) : NULL;
    const char *space = memchr(left.p, ' ', left.len);
    if (!close || !space || space >= open) {
        return false;
    }
    const char *name = open;
    while (name > space + 1 && name[-1] != '.') {
        name--;
    }
    m->name = (struct retrace_text){name, (size_t)(open - name)};
    if (name > space + 1) {
        m->class_name = (struct retrace_text){space + 1, (size_t)(name - 1 - (space + 1))};
    }
    m->signature = (struct retrace_text){left.p, (size_t)(close + 1 - left.p)};
    take_source_lines((struct retrace_text){close + 1, left.len - (size_t)(close + 1 - left.p)}, m);
    return m->name.len > 0;
}

/* Returns the file name in a comment # {"id":"sourceFile","fileName":"Cart.kt"}; empty for others.
 */
static struct retrace_text file_of_comment(struct retrace_text line) {
    static const char key[] = "\"fileName\":\"", kind[] = "\"sourceFile\"";
    struct retrace_text file = {0};
    bool is_file = false;
    for (size_t i = 0; i < line.len; i++) {
        const struct retrace_text rest = {line.p + i, line.len - i};
        is_file = is_file || line_begins_with(rest, kind);
        if (line_begins_with(rest, key)) {
            file.p = rest.p + sizeof key - 1;
            const char *quote = memchr(file.p, '"', rest.len - (sizeof key - 1));
            file.len = quote ? (size_t)(quote - file.p) : 0;
        }
    }
    return is_file ? file : (struct retrace_text){0};
}

/* Returns what follows the words in a line; empty: the line lacks them, or ends with them. */
static struct retrace_text retrace_after(struct retrace_text line, const char *words) {
    size_t len = strlen(words);
    for (; line.len > len; line.p++, line.len--) {
        if (line_begins_with(line, words)) {
            return (struct retrace_text){line.p + len, line.len - len};
        }
    }
    return (struct retrace_text){0};
}

/* Reads what a comment tells of the method above it. */
static void take_method_comment(struct retrace_text line, struct retrace_method *m) {
    const struct retrace_text made = retrace_after(line, "com.android.tools.r8.synthesized");
    const struct retrace_text kind = retrace_after(line, "com.android.tools.r8.outline");
    m->synthesized = m->synthesized || made.len > 0;
    m->outline = m->outline || (kind.len > 0 && (*kind.p == '"' || *kind.p == '\''));
    if (line_begins_with(kind, "Callsite")) {
        struct retrace_text members = retrace_after(kind, "positions");
        members = retrace_after(members, "{");
        const char *close = members.len > 0 ? memchr(members.p, '}', members.len) : NULL;
        m->positions = (struct retrace_text){members.p, close ? (size_t)(close - members.p) : 0};
    }
}

static enum st add_class(struct retrace_map *m, struct retrace_text line, struct err *e) {
    struct retrace_text name, short_name;
    bool added;
    m->after_method = false;
    if (line.p[line.len - 1] != ':' || !split_arrow(line, &name, &short_name)) {
        return ST_OK;
    }
    const struct retrace_class c = {.name = name, .first = m->methods.len};
    const struct map_entry *entry =
        map_put(&m->by_short_name, short_name.p, short_name.len - 1, m->classes.len, &added);
    if (!entry || !map_put(&m->by_name, name.p, name.len, m->classes.len, &added)) {
        return err_nomem(e);
    }
    if (!VEC_PUSH(&m->classes, c)) {
        return err_nomem(e);
    }
    size_t at = m->classes.len - 1;
    if (entry->value != at) { /* R8 may name a class twice, with other methods */
        struct retrace_class *same = &m->classes.data[entry->value];
        m->classes.data[same->last > 0 ? same->last : entry->value].next = at;
        same->last = at;
    }
    return ST_OK;
}

static enum st add_member(struct retrace_map *m, struct retrace_text line, struct err *e) {
    struct retrace_method method = {0};
    struct retrace_text left;
    m->after_method = false;
    if (m->classes.len == 0 || !split_arrow(line, &left, &method.short_name) ||
        !take_method(left, &method)) {
        return ST_OK;
    }
    m->classes.data[m->classes.len - 1].count++;
    m->after_method = true;
    return VEC_PUSH(&m->methods, method) ? ST_OK : err_nomem(e);
}

static enum st take_line_of_map(struct retrace_map *m, struct retrace_text line, struct err *e) {
    bool indented = line.len > 0 && (*line.p == ' ' || *line.p == '\t');
    while (line.len > 0 && (*line.p == ' ' || *line.p == '\t')) {
        line = (struct retrace_text){line.p + 1, line.len - 1};
    }
    if (line.len == 0) {
        return ST_OK;
    }
    if (*line.p != '#') {
        return indented ? add_member(m, line, e) : add_class(m, line, e);
    }
    if (m->after_method && m->methods.len > 0) {
        take_method_comment(line, &m->methods.data[m->methods.len - 1]);
    }
    struct retrace_text id = id_of_line(line), file = file_of_comment(line);
    m->id = m->id.len > 0 ? m->id : id;
    if (file.len > 0 && m->classes.len > 0) {
        m->classes.data[m->classes.len - 1].file = file;
    }
    return ST_OK;
}

enum st retrace_map_open(struct retrace_map **out, const char *text, size_t len, struct err *e) {
    struct retrace_text rest = {text, len}, line;
    struct retrace_map *m = calloc(1, sizeof *m);
    enum st st = m ? ST_OK : err_nomem(e);
    while (st == ST_OK && take_mapping_line(&rest, &line)) {
        st = take_line_of_map(m, line, e);
    }
    if (st == ST_OK && m->id.len == 0) {
        st = ST_NONE;
    }
    if (st != ST_OK) {
        retrace_map_close(m);
        return st;
    }
    *out = m;
    return ST_OK;
}

void retrace_map_close(struct retrace_map *m) {
    if (m) {
        map_release(&m->by_short_name);
        map_release(&m->by_name);
        VEC_RELEASE(&m->classes);
        VEC_RELEASE(&m->methods);
        free(m);
    }
}

/* ---- look-up ---- */

bool retrace_map_is_named(const struct retrace_map *m, const char *id) {
    return id && strncmp(id, m->id.p, m->id.len) == 0;
}

static bool text_equal(struct retrace_text a, struct retrace_text b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* Returns the source's line for a line of a short method: the same line if the mapping has no range
 * of source lines for the method; the line at the same distance from the start if both ranges have
 * one length and line is not 0; else the start of the source's range. */
static uint32_t source_line(const struct retrace_method *m, uint32_t line) {
    if (!m->sourced) {
        return line;
    }
    bool parallel = line > 0 && m->ranged && m->source_to - m->source_from == m->to - m->from;
    return parallel ? m->source_from + (line - m->from) : m->source_from;
}

/* Returns the source file of a class, or, if the mapping has none for a nested class "A$B", that of
 * class A; empty: the mapping has neither. */
static struct retrace_text file_of_class(const struct retrace_map *map, struct retrace_text name) {
    const struct map_entry *home = map_get(&map->by_name, name.p, name.len);
    struct retrace_text file = {0};
    if (home) {
        file = map->classes.data[home->value].file;
    }
    const char *inner = memchr(name.p, '$', name.len);
    if (file.len == 0 && inner && inner > name.p) {
        home = map_get(&map->by_name, name.p, (size_t)(inner - name.p));
        file = home ? map->classes.data[home->value].file : file;
    }
    return file;
}

static void put_retraced_line(const struct retrace_map *map, const struct retrace_class *c,
                              const struct retrace_method *m, uint32_t line,
                              struct retrace_line *out) {
    const struct retrace_text name = m->class_name.len > 0 ? m->class_name : c->name;
    const struct retrace_text file = file_of_class(map, name);
    *out = (struct retrace_line){.class_name = name.p,
                                 .class_len = name.len,
                                 .method = m->name.p,
                                 .method_len = m->name.len,
                                 .file = file.p,
                                 .file_len = file.len,
                                 .line = line};
}

/* Did R8 make this method of the class? A comment on one of its entries counts for all. */
static bool is_synthesized(const struct retrace_map *map, const struct retrace_class *c,
                           const struct retrace_method *m) {
    bool found = m->synthesized;
    for (size_t i = 0; i < c->count && !found; i++) {
        const struct retrace_method *other = &map->methods.data[c->first + i];
        found = other->synthesized && text_equal(other->short_name, m->short_name) &&
                text_equal(other->signature, m->signature);
    }
    return found;
}

/* Finds the methods with this short name whose range contains `line`, innermost first, at most
 * RETRACE_LINES_MAX. A range contains 0 only if it begins with 0. The outermost method is left out
 * if R8 made it and others are inlined into it. False: there are none. */
static bool find_by_line(const struct retrace_map *m, const struct retrace_class *c,
                         struct retrace_text name, uint32_t line, struct retrace_line *out,
                         size_t *count) {
    const struct retrace_method *outermost = NULL;
    *count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct retrace_method *method = &m->methods.data[c->first + i];
        if (text_equal(method->short_name, name) && method->ranged && line >= method->from &&
            line <= method->to) {
            size_t at = *count < RETRACE_LINES_MAX ? (*count)++ : RETRACE_LINES_MAX - 1;
            put_retraced_line(m, c, method, source_line(method, line), &out[at]);
            outermost = method;
        }
    }
    if (*count > 1 && is_synthesized(m, c, outermost)) {
        (*count)--;
    }
    return *count > 0;
}

/* Finds the method of the class that has the short name, inlined ones of other classes left out.
 * False: none, or methods of different names. */
static bool find_by_name(const struct retrace_map *m, const struct retrace_class *c,
                         struct retrace_text name, uint32_t line, struct retrace_line *out) {
    const struct retrace_method *only = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct retrace_method *method = &m->methods.data[c->first + i];
        bool foreign = method->class_name.len > 0 && !text_equal(method->class_name, c->name);
        if (!text_equal(method->short_name, name) || foreign) {
            continue;
        }
        if (only && !text_equal(only->name, method->name)) {
            return false;
        }
        only = method;
    }
    if (only) { /* a method without lines in the mapping keeps the source's lines */
        uint32_t own = only->source_from > 0 ? only->source_from : line;
        put_retraced_line(m, c, only, only->ranged ? 0 : own, out);
    }
    return only != NULL;
}

/* Returns the first class with the short name of a symbol "a.b.c", whose method's name *name
 * becomes; NULL: the mapping lacks it. */
static const struct retrace_class *class_of(const struct retrace_map *m, const char *symbol,
                                            struct retrace_text *name) {
    const char *dot = strrchr(symbol, '.');
    const struct map_entry *entry =
        dot ? map_get(&m->by_short_name, symbol, (size_t)(dot - symbol)) : NULL;
    *name = dot ? (struct retrace_text){dot + 1, strlen(dot + 1)} : (struct retrace_text){0};
    return entry ? &m->classes.data[entry->value] : NULL;
}

/* Returns the next class with the same short name; NULL: there is none. */
static const struct retrace_class *next_class(const struct retrace_map *m,
                                              const struct retrace_class *c) {
    return c->next > 0 ? &m->classes.data[c->next] : NULL;
}

/* Returns what a call's "positions", such as "1":4,"2":5, have for a line of the outline; 0: none.
 */
static uint32_t position_of(struct retrace_text positions, uint32_t line) {
    uint32_t key, value = 0;
    while (positions.len > 0) {
        if (!take_line_number(&positions, false, &key)) {
            positions = (struct retrace_text){positions.p + 1, positions.len - 1};
            continue;
        }
        while (positions.len > 0 && strchr("\"' :", *positions.p) && *positions.p) {
            positions = (struct retrace_text){positions.p + 1, positions.len - 1};
        }
        if (take_line_number(&positions, false, &value) && key == line) {
            return value;
        }
    }
    return 0;
}

uint32_t retrace_map_callsite(const struct retrace_map *m, const char *symbol, uint32_t line,
                              const char *outline, uint32_t outline_line) {
    struct retrace_text name;
    uint32_t found = 0;
    bool of_outline = false;
    for (const struct retrace_class *c = class_of(m, outline, &name); c; c = next_class(m, c)) {
        for (size_t i = 0; i < c->count && !of_outline; i++) {
            const struct retrace_method *method = &m->methods.data[c->first + i];
            of_outline = method->outline && text_equal(method->short_name, name);
        }
    }
    for (const struct retrace_class *c = class_of(m, symbol, &name); c; c = next_class(m, c)) {
        for (size_t i = 0; i < c->count && of_outline && found == 0; i++) {
            const struct retrace_method *method = &m->methods.data[c->first + i];
            bool calls = method->positions.len > 0 && line >= method->from && line <= method->to;
            found = calls && text_equal(method->short_name, name)
                        ? position_of(method->positions, outline_line)
                        : 0;
        }
    }
    return found;
}

size_t retrace_map_find(const struct retrace_map *m, const char *symbol, uint32_t line,
                        struct retrace_line *out) {
    struct retrace_text name;
    const struct retrace_class *first = class_of(m, symbol, &name);
    size_t count = 0;
    if (!first) {
        return 0;
    }
    for (const struct retrace_class *c = first; c; c = next_class(m, c)) {
        if (find_by_line(m, c, name, line, out, &count)) {
            return count;
        }
    }
    for (const struct retrace_class *c = first; c; c = next_class(m, c)) {
        if (find_by_name(m, c, name, line, out)) {
            return 1;
        }
    }
    const struct retrace_method same = {.name = name};
    put_retraced_line(m, first, &same, 0, out);
    return 1;
}
