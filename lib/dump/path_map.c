/* Replaces the beginnings of paths. */
#include "dump/path_map.h"

#include <string.h>

#include "base/hash.h"

/* Returns the length of a path without the slashes at its end; the path "/" keeps its slash. */
static size_t trimmed(const char *path, size_t len) {
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    return len;
}

enum st path_map_add(struct path_map *m, const char *rule, struct err *e) {
    const char *equals = strchr(rule, '=');
    if (!equals || equals == rule) {
        return err_set(e, ERR_USAGE, "a rule for paths is OLD=NEW, not '%s'", rule);
    }
    const struct path_rule r = {.from = rule,
                                .from_len = trimmed(rule, (size_t)(equals - rule)),
                                .to = equals + 1,
                                .to_len = trimmed(equals + 1, strlen(equals + 1))};
    return VEC_PUSH(&m->rules, r) ? ST_OK : err_nomem(e);
}

void path_map_release(struct path_map *m) {
    VEC_RELEASE(&m->rules);
}

static bool is_separator(char c) {
    return c == '/' || c == '\\';
}

static bool path_rule_fits(const struct path_rule *r, const char *path) {
    if (strncmp(path, r->from, r->from_len) != 0) {
        return false;
    }
    char next = path[r->from_len];
    return next == '\0' || is_separator(next) || is_separator(r->from[r->from_len - 1]);
}

enum st path_map_apply(const struct path_map *m, const char *path, struct strbuf *out,
                       struct err *e) {
    for (size_t i = 0; i < m->rules.len; i++) {
        const struct path_rule *r = &m->rules.data[i];
        if (!path_rule_fits(r, path)) {
            continue;
        }
        const char *rest = path + r->from_len;
        rest += is_separator(*rest);
        strbuf_add(out, r->to, r->to_len);
        if (r->to_len > 0 && *rest && !is_separator(r->to[r->to_len - 1])) {
            strbuf_addc(out, '/');
        }
        strbuf_addstr(out, r->to_len == 0 && !*rest ? "." : rest);
        return strbuf_check(out, e);
    }
    return ST_NONE;
}

/* ---- the files of a dump ---- */

enum { MAPPED_PATHS = 64 };

/* The state of mapping one dump's paths. Many locations share a path's string, so most paths are
 * found in `known` by the address of the string. */
struct path_mapping {
    const struct path_map *map;
    struct arena *arena;
    struct strbuf scratch;
    struct {
        const char *from, *to; /* from: path in the dump, NULL = the slot is free; to: the path that
                                  the rules make of it */
    } known[MAPPED_PATHS];
};

/* Replaces *path by the path that the rules make of it; *path may be NULL. */
static enum st map_one(struct path_mapping *w, const char **path, struct err *e) {
    if (!*path) {
        return ST_OK;
    }
    size_t slot = (size_t)(hash_u64((uint64_t)(uintptr_t)*path) % MAPPED_PATHS);
    if (w->known[slot].from != *path) {
        strbuf_clear(&w->scratch);
        const char *to = *path;
        enum st st = path_map_apply(w->map, *path, &w->scratch, e);
        if (st == ST_OK) {
            to = arena_strdup(w->arena, strbuf_cstr(&w->scratch), w->scratch.len);
            st = to ? ST_OK : err_nomem(e);
        }
        if (st == ST_ERR) {
            return ST_ERR;
        }
        w->known[slot].from = *path;
        w->known[slot].to = to;
    }
    *path = w->known[slot].to;
    return ST_OK;
}

static enum st map_lines(struct path_mapping *w, struct dump_line *lines, size_t count,
                         struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        st = map_one(w, &lines[i].file, e);
    }
    return st;
}

enum st dump_map_paths(struct dump *d, const struct path_map *m, struct err *e) {
    struct path_mapping w = {.map = m, .arena = &d->arena};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < d->location_count; i++) {
        st = map_lines(&w, d->locations[i].lines, d->locations[i].line_count, e);
    }
    for (size_t i = 0; st == ST_OK && i < d->name_count; i++) {
        st = map_one(&w, &d->names[i].file, e);
        st = st == ST_OK ? map_lines(&w, d->names[i].inlined, d->names[i].inlined_count, e) : st;
    }
    for (size_t i = 0; st == ST_OK && i < d->image_count; i++) {
        st = map_one(&w, &d->images[i].symbols_file, e);
    }
    strbuf_release(&w.scratch);
    return st;
}
