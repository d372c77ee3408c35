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
 *         # {"id":"com.android.tools.r8.outlineCallsite","positions":{"1":4,"2":5}, …}
 *         4:4:void pay():23:23 -> s                              where the outline's line 1 was
 *
 * Numbers in front of a method are lines of the short method, those after the arguments are lines
 * of the source. */
#include "symbolize/retrace_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "symbolize/retrace_map_private.h"

static const char id_key[] = "# pg_map_id: ";

/* ---- parts of a text ---- */

bool retrace_text_equal(struct retrace_text a, struct retrace_text b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

int retrace_text_compare(struct retrace_text a, struct retrace_text b) {
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.p, b.p, len) : 0;
    return order != 0 ? order : COMPARE(a.len, b.len);
}

bool retrace_take_number(struct retrace_text *t, bool colon, uint32_t *out) {
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

/* Reads the source's lines after a method's arguments, ":20:22" or ":20". m stays unchanged if
 * there are none. */
static void take_source_lines(struct retrace_text rest, struct retrace_method *m) {
    if (rest.len == 0 || *rest.p != ':') {
        return;
    }
    rest = (struct retrace_text){rest.p + 1, rest.len - 1};
    if (!retrace_take_number(&rest, false, &m->source_from)) {
        return;
    }
    m->sourced = true;
    m->source_to = m->source_from;
    if (rest.len > 1 && *rest.p == ':') {
        rest = (struct retrace_text){rest.p + 1, rest.len - 1};
        (void)retrace_take_number(&rest, false, &m->source_to);
    }
}

/* Reads a method, such as "1:3:void com.example.Util.check(int):20:22". False: the text is no
 * method, for instance a field. */
static bool take_method(struct retrace_text left, struct retrace_method *m) {
    struct retrace_text range = left;
    if (retrace_take_number(&range, true, &m->from) && retrace_take_number(&range, true, &m->to)) {
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

/* Reads what a comment says about the method above it. */
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
    if (entry->value != at) { /* R8 may list a class twice, each time with other methods */
        struct retrace_class *same = &m->classes.data[entry->value];
        m->classes.data[same->last > 0 ? same->last : entry->value].next = at;
        same->last = at;
    }
    return ST_OK;
}

static enum st add_member(struct retrace_map *m, struct retrace_text line, struct err *e) {
    struct retrace_method method = {.order = m->methods.len};
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

/* ---- the index ---- */

static int compare_signatures(const void *x, const void *y) {
    const struct retrace_method *a = x, *b = y;
    int order = retrace_text_compare(a->short_name, b->short_name);
    return order != 0 ? order : retrace_text_compare(a->signature, b->signature);
}

static int compare_orders(const void *x, const void *y) {
    const struct retrace_method *a = x, *b = y;
    int order = retrace_text_compare(a->short_name, b->short_name);
    return order != 0 ? order : COMPARE(a->order, b->order);
}

/* Marks all entries of a method that R8 made: a comment on one of them counts for all. Leaves the
 * entries sorted by compare_signatures. */
static void share_synthesized(struct retrace_method *methods, size_t count) {
    qsort(methods, count, sizeof *methods, compare_signatures);
    for (size_t i = 0, end; i < count; i = end) {
        bool made = methods[i].synthesized;
        for (end = i + 1; end < count && compare_signatures(&methods[i], &methods[end]) == 0;
             end++) {
            made = made || methods[end].synthesized;
        }
        for (size_t k = i; k < end; k++) {
            methods[k].synthesized = made;
        }
    }
}

/* Sets the bounds of the lines in a tree of entries, and returns the tree's root; NULL: the tree is
 * empty. */
static struct retrace_method *bound_tree(struct retrace_method *methods, size_t count) {
    if (count == 0) {
        return NULL;
    }
    struct retrace_method *root = &methods[count / 2];
    const struct retrace_method *sides[] = {bound_tree(methods, count / 2),
                                            bound_tree(root + 1, count - count / 2 - 1)};
    root->tree_from = root->from;
    root->tree_to = root->to;
    for (size_t i = 0; i < 2; i++) {
        if (sides[i] && sides[i]->tree_from < root->tree_from) {
            root->tree_from = sides[i]->tree_from;
        }
        if (sides[i] && sides[i]->tree_to > root->tree_to) {
            root->tree_to = sides[i]->tree_to;
        }
    }
    return root;
}

/* Adds the group of the entries from index `first` on, which ends before index `end`. ST_ERR: out
 * of memory. */
static enum st add_group(struct retrace_map *m, const struct retrace_class *c, size_t first,
                         size_t end, struct err *e) {
    struct retrace_group g = {.short_name = m->methods.data[first].short_name,
                              .first = first,
                              .count = end - first,
                              .own = SIZE_MAX};
    for (size_t i = first; i < end; i++) {
        const struct retrace_method *method = &m->methods.data[i];
        g.outline = g.outline || method->outline;
        if (method->class_name.len > 0 && !retrace_text_equal(method->class_name, c->name)) {
            continue; /* a method of another class that was inlined */
        }
        g.several = g.several || (g.own < SIZE_MAX &&
                                  !retrace_text_equal(m->methods.data[g.own].name, method->name));
        g.own = i;
    }
    (void)bound_tree(&m->methods.data[first], g.count);
    return VEC_PUSH(&m->groups, g) ? ST_OK : err_nomem(e);
}

/* Sorts the entries of a class into groups by their short names. ST_ERR: out of memory. */
static enum st index_class(struct retrace_map *m, struct retrace_class *c, struct err *e) {
    enum st st = ST_OK;
    c->first_group = m->groups.len;
    if (c->count == 0) {
        return ST_OK;
    }
    share_synthesized(&m->methods.data[c->first], c->count);
    qsort(&m->methods.data[c->first], c->count, sizeof *m->methods.data, compare_orders);
    const size_t behind = c->first + c->count;
    for (size_t i = c->first, end; st == ST_OK && i < behind; i = end) {
        const struct retrace_text name = m->methods.data[i].short_name;
        for (end = i + 1; end < behind && retrace_text_equal(m->methods.data[end].short_name, name);
             end++) {
        }
        st = add_group(m, c, i, end, e);
    }
    c->group_count = m->groups.len - c->first_group;
    return st;
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
    for (size_t i = 0; st == ST_OK && i < m->classes.len; i++) {
        st = index_class(m, &m->classes.data[i], e);
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
        VEC_RELEASE(&m->groups);
        free(m);
    }
}
