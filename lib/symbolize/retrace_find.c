/* Looks up lines of short methods in a mapping. */
#include <string.h>

#include "symbolize/retrace_map.h"
#include "symbolize/retrace_map_private.h"

bool retrace_map_is_named(const struct retrace_map *m, const char *id) {
    return id && strncmp(id, m->id.p, m->id.len) == 0;
}

/* Returns the source's line for a line of a short method: the same line if the mapping has no line
 * of the source, the line at the same distance from the start if both ranges are equally long, else
 * the start of the source's range. */
static uint32_t source_line(const struct retrace_method *m, uint32_t line) {
    if (!m->sourced) {
        return line;
    }
    bool parallel = line > 0 && m->ranged && m->source_to - m->source_from == m->to - m->from;
    return parallel ? m->source_from + (line - m->from) : m->source_from;
}

/* Returns the source file of a class; if the mapping has none for a nested class, the file of the
 * class whose name ends before the first '$'. Empty: the mapping has neither. */
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

/* Returns the class's entries with this short name; NULL: the class has none. */
static const struct retrace_group *group_of_name(const struct retrace_map *m,
                                                 const struct retrace_class *c,
                                                 struct retrace_text name) {
    const struct retrace_group *groups = m->groups.data + c->first_group;
    size_t low = 0, high = c->group_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = retrace_text_compare(groups[middle].short_name, name);
        if (order == 0) {
            return &groups[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* The search for a line. */
struct line_search {
    const struct retrace_map *map;
    const struct retrace_class *c; /* the class whose entries are searched */
    uint32_t line;
    /* Number of steps that may still be done, so that no mapping makes a look-up slow. */
    size_t work;
    /* Takes an entry whose lines contain `line`. */
    void (*take)(struct line_search *s, const struct retrace_method *method);
    struct retrace_line *out; /* this member, count and outermost are for retrace_map_find */
    size_t count;
    const struct retrace_method *outermost;
    uint32_t outline_line, found; /* both are for retrace_map_callsite */
};

enum { LINE_SEARCH_WORK = 4096 };

/* Passes the entries whose lines contain the line to s->take, in the file's order. The entries are
 * a tree: the root is in the middle, the halves beside it are its subtrees, and each root knows the
 * bounds of the lines in its tree. Entries of a method ascend in what R8 writes, so that few trees
 * are searched. */
static void find_entries(struct line_search *s, const struct retrace_method *methods,
                         size_t count) {
    const struct retrace_method *root = &methods[count / 2];
    if (count == 0 || s->work == 0 || s->line < root->tree_from || s->line > root->tree_to) {
        return;
    }
    s->work--;
    find_entries(s, methods, count / 2);
    if (s->line >= root->from && s->line <= root->to) {
        s->take(s, root);
    }
    find_entries(s, root + 1, count - count / 2 - 1);
}

/* Passes the entries of class c that have this short name, and whose lines contain the line, to
 * s->take. */
static void search_class(struct line_search *s, const struct retrace_class *c,
                         struct retrace_text name) {
    const struct retrace_group *g = s->work > 0 ? group_of_name(s->map, c, name) : NULL;
    s->c = c;
    s->work -= s->work > 0;
    if (g) {
        find_entries(s, &s->map->methods.data[g->first], g->count);
    }
}

/* Adds a method to the output of retrace_map_find, which has at most RETRACE_LINES_MAX; an entry
 * without a range is left for find_by_name. */
static void take_retraced_method(struct line_search *s, const struct retrace_method *method) {
    if (!method->ranged) {
        return;
    }
    if (s->count < RETRACE_LINES_MAX) {
        put_retraced_line(s->map, s->c, method, source_line(method, s->line), &s->out[s->count++]);
    }
    s->outermost = method;
}

/* Finds the methods with this short name whose range contains the line; 0 is only in a range that
 * begins with 0. A method that R8 made is left out if others are inlined into it. False: there are
 * none. */
static bool find_by_line(struct line_search *s, const struct retrace_class *c,
                         struct retrace_text name) {
    search_class(s, c, name);
    if (s->count == RETRACE_LINES_MAX) { /* this last line stands for the lines that are cut */
        put_retraced_line(s->map, c, s->outermost, source_line(s->outermost, s->line),
                          &s->out[RETRACE_LINES_MAX - 1]);
    }
    if (s->count > 1 && s->outermost->synthesized) {
        s->count--;
    }
    return s->count > 0;
}

/* Finds the method of the class that has the short name; methods of other classes that were inlined
 * are ignored. False: there is none, or there are several with different names. */
static bool find_by_name(const struct retrace_map *m, const struct retrace_class *c,
                         struct retrace_text name, uint32_t line, struct retrace_line *out) {
    const struct retrace_group *g = group_of_name(m, c, name);
    if (!g || g->own == SIZE_MAX || g->several) {
        return false;
    }
    /* A method without lines in the mapping keeps the source's lines. One with a range gets line 0,
     * because its range does not contain `line`. */
    const struct retrace_method *only = &m->methods.data[g->own];
    uint32_t own = only->source_from > 0 ? only->source_from : line;
    put_retraced_line(m, c, only, only->ranged ? 0 : own, out);
    return true;
}

/* Splits a symbol "a.b.c" into a class and a method. Returns the first class with this short name,
 * and sets *name to the method's name; NULL: the mapping lacks the class, or the symbol has no dot.
 */
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
        if (!retrace_take_number(&positions, false, &key)) {
            positions = (struct retrace_text){positions.p + 1, positions.len - 1};
            continue;
        }
        while (positions.len > 0 && strchr("\"' :", *positions.p) && *positions.p) {
            positions = (struct retrace_text){positions.p + 1, positions.len - 1};
        }
        if (retrace_take_number(&positions, false, &value) && key == line) {
            return value;
        }
    }
    return 0;
}

/* Sets s->found to the position that an entry has for s->outline_line, if no entry before it gave
 * one and s->work suffices to read the entry's positions. */
static void take_position(struct line_search *s, const struct retrace_method *method) {
    if (s->found == 0 && method->positions.len > 0 && method->positions.len <= s->work) {
        s->work -= method->positions.len;
        s->found = position_of(method->positions, s->outline_line);
    }
}

uint32_t retrace_map_callsite(const struct retrace_map *m, const char *symbol, uint32_t line,
                              const char *outline, uint32_t outline_line) {
    struct retrace_text name;
    bool of_outline = false;
    size_t classes = LINE_SEARCH_WORK;
    struct line_search s = {.map = m,
                            .line = line,
                            .work = LINE_SEARCH_WORK,
                            .take = take_position,
                            .outline_line = outline_line};
    for (const struct retrace_class *c = class_of(m, outline, &name); c && classes-- > 0;
         c = next_class(m, c)) {
        const struct retrace_group *g = group_of_name(m, c, name);
        of_outline = of_outline || (g && g->outline);
    }
    for (const struct retrace_class *c = of_outline ? class_of(m, symbol, &name) : NULL;
         c && s.work > 0 && s.found == 0; c = next_class(m, c)) {
        search_class(&s, c, name);
    }
    return s.found;
}

size_t retrace_map_find(const struct retrace_map *m, const char *symbol, uint32_t line,
                        struct retrace_line *out) {
    struct retrace_text name;
    const struct retrace_class *first = class_of(m, symbol, &name);
    size_t classes = LINE_SEARCH_WORK;
    struct line_search s = {
        .map = m, .line = line, .work = LINE_SEARCH_WORK, .take = take_retraced_method, .out = out};
    if (!first) {
        return 0;
    }
    for (const struct retrace_class *c = first; c && s.work > 0; c = next_class(m, c)) {
        if (find_by_line(&s, c, name)) {
            return s.count;
        }
    }
    for (const struct retrace_class *c = first; c && classes-- > 0; c = next_class(m, c)) {
        if (find_by_name(m, c, name, line, out)) {
            return 1;
        }
    }
    const struct retrace_method same = {.name = name};
    put_retraced_line(m, first, &same, 0, out);
    return 1;
}
