/* Composes paths of the files of a line table. */
#include <string.h>

#include "debug/line_table.h"

void line_files_release(struct line_files *f) {
    VEC_RELEASE(&f->paths);
    VEC_RELEASE(&f->folders);
    VEC_RELEASE(&f->files);
}

/* Returns the name of folder or file `number` of a list; NULL: the list has no such element, or the
 * element has no name. */
static const char *line_name_text(const struct line_files *f, const struct line_names *list,
                                  uint64_t number) {
    uint64_t text = number < list->len ? list->data[number].text : LINE_NO_TEXT;
    if (list->section != SECTION_LINE) {
        return section_string(f->sections, list->section, text);
    }
    const char *lines = (const char *)f->sections->of[SECTION_LINE].data;
    return text == LINE_NO_TEXT ? NULL : section_shown(f->sections, lines + text);
}

static bool is_absolute(const char *path) {
    return path[0] == '/' || (path[0] && path[1] == ':' && (path[2] == '\\' || path[2] == '/'));
}

/* Sets parts[0] and parts[1] to the parts of a folder's path, and returns how many there are, 0 if
 * the folder is not known. Folder 0 is comp_dir: before DWARF 5 it is not in the list. From DWARF 5
 * on the list's folder 0 is used as it is, not relative to comp_dir (§6.2.4), which matters where
 * builds call it ".". */
static size_t folder_parts(const struct line_files *f, uint64_t number, const char **parts) {
    const char *name = line_name_text(f, &f->folders, number), *own = f->comp_dir;
    if (number == 0 && !name && f->folders.len > 0) {
        name = own;
    }
    if (!name) {
        return 0;
    }
    if (number == 0 || !own || !own[0] || is_absolute(name)) {
        own = NULL;
    }
    parts[0] = own ? own : name;
    parts[1] = name;
    return own ? 2 : 1;
}

static size_t append_part(char *path, size_t at, const char *part) {
    size_t len = strnlen(part, SECTION_STRING_MAX);
    if (at > 0 && path[at - 1] != '/') {
        path[at++] = '/';
    }
    memcpy(path + at, part, len);
    return at + len;
}

/* Sets *out to the parts of a folder's path and a name in the folder, joined by '/', in memory of
 * the arena. ST_ERR: the path needs more than f->path_budget (ERR_LIMIT), or out of memory. */
static enum st join_path(struct line_files *f, struct arena *arena, const char *const *parts,
                         size_t count, const char *name, const char **out, struct err *e) {
    size_t at = 0, size = strnlen(name, SECTION_STRING_MAX) + 1;
    for (size_t i = 0; i < count; i++) {
        size += strnlen(parts[i], SECTION_STRING_MAX) + 1;
    }
    if (size > f->path_budget) {
        return err_set(e, ERR_LIMIT, "paths of the line table need too much memory");
    }
    f->path_budget -= size;
    char *path = arena_alloc(arena, size);
    if (!path) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < count; i++) {
        at = append_part(path, at, parts[i]);
    }
    at = append_part(path, at < SECTION_STRING_MAX ? at : SECTION_STRING_MAX, name);
    path[at] = '\0';
    *out = path;
    return ST_OK;
}

static enum st compose_path(struct line_files *f, struct arena *arena, size_t number,
                            struct err *e) {
    struct line_name *file = &f->files.data[number];
    const char *name = line_name_text(f, &f->files, number), *parts[2];
    file->composed = true;
    if (!name || !name[0]) {
        return ST_OK;
    }
    size_t count = is_absolute(name) ? 0 : folder_parts(f, file->folder, parts);
    if (count == 0 || !parts[0][0]) {
        f->paths.data[number] = name;
        return ST_OK;
    }
    return join_path(f, arena, parts, count, name, &f->paths.data[number], e);
}

enum st line_files_path(struct line_files *f, struct arena *arena, uint64_t number,
                        const char **path, struct err *e) {
    *path = NULL;
    if (number >= f->files.len) {
        return ST_NONE;
    }
    if (!f->files.data[number].composed && compose_path(f, arena, (size_t)number, e) != ST_OK) {
        return ST_ERR;
    }
    *path = f->paths.data[number];
    return *path ? ST_OK : ST_NONE;
}

enum st line_files_compose(struct line_files *f, struct arena *arena, struct err *e) {
    for (size_t i = 0; i < f->files.len; i++) {
        const struct line_name *file = &f->files.data[i];
        if (file->used && !file->composed && compose_path(f, arena, i, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}
