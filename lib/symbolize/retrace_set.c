/* Keeps the mappings of a run, and translates names of a dump to lines of the source with them. */
#include "symbolize/retrace_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct retrace_file {
    struct filemap text;
    struct retrace_map *map;
};

struct retrace_set {
    VEC(struct retrace_file) files;
};

enum st retrace_set_new(struct retrace_set **out, struct err *e) {
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : err_nomem(e);
}

static void release_file(struct retrace_file *f) {
    retrace_map_close(f->map);
    filemap_release(&f->text);
}

void retrace_set_free(struct retrace_set *set) {
    if (set) {
        for (size_t i = 0; i < set->files.len; i++) {
            release_file(&set->files.data[i]);
        }
        VEC_RELEASE(&set->files);
        free(set);
    }
}

enum st retrace_set_add(struct retrace_set *set, const char *path, struct err *e) {
    enum { HEAD = 4096 };
    struct retrace_file f = {0};
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        return ST_NONE; /* the path is a folder, for example; the reader of debug files reports
                           errors of reading */
    }
    struct err why = {0};
    if (filemap_open(&f.text, path, 0, &why) != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    const char *text = (const char *)f.text.data;
    size_t size = f.text.size;
    enum st st = size > 0 && retrace_map_is(text, size < HEAD ? size : HEAD)
                     ? retrace_map_open(&f.map, text, size, e)
                     : ST_NONE;
    if (st == ST_OK && !VEC_PUSH(&set->files, f)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        release_file(&f);
    }
    return st;
}

const char *retrace_id_of(const struct dump *d) {
    static const char prefix[] = "r8-map-id-";
    for (size_t i = 0; i < d->name_count; i++) {
        const char *file = d->names[i].file;
        if (file && strncmp(file, prefix, sizeof prefix - 1) == 0) {
            return file + sizeof prefix - 1;
        }
    }
    return NULL;
}

const struct retrace_map *retrace_set_find(const struct retrace_set *set, const struct dump *d) {
    const char *id = set && set->files.len > 0 ? retrace_id_of(d) : NULL;
    for (size_t i = 0; id && i < set->files.len; i++) {
        if (retrace_map_is_named(set->files.data[i].map, id)) {
            return set->files.data[i].map;
        }
    }
    return NULL;
}

static enum st make_line(const struct retrace_line *from, struct arena *arena, struct dump_line *to,
                         struct err *e) {
    struct strbuf text = {0};
    strbuf_add(&text, from->class_name, from->class_len);
    strbuf_addc(&text, '.');
    strbuf_add(&text, from->method, from->method_len);
    size_t name_len = text.len;
    strbuf_add(&text, from->file, from->file_len);
    enum st st = strbuf_check(&text, e);
    if (st == ST_OK) {
        to->function = arena_strdup(arena, text.data, name_len);
        bool has_file = from->line > 0 && from->file_len > 0;
        to->file = has_file ? arena_strdup(arena, text.data + name_len, from->file_len) : NULL;
        to->line = from->line;
        st = to->function && (to->file || !has_file) ? ST_OK : err_nomem(e);
    }
    strbuf_release(&text);
    return st;
}

enum st retrace_lines(const struct retrace_map *m, const struct dump_name *name,
                      const struct dump_name *callee, struct arena *arena, struct dump_line **lines,
                      size_t *count, struct err *e) {
    struct retrace_line found[RETRACE_LINES_MAX];
    uint32_t moved =
        callee ? retrace_map_callsite(m, name->symbol, name->line, callee->symbol, callee->line)
               : 0;
    size_t n = retrace_map_find(m, name->symbol, moved > 0 ? moved : name->line, found);
    if (n == 0) {
        return ST_NONE;
    }
    *lines = arena_array(arena, n, sizeof **lines);
    if (!*lines) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < n; i++) {
        if (make_line(&found[i], arena, &(*lines)[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    *count = n;
    return ST_OK;
}
