/* Finds the package of an installed file in dpkg's own lists: one path a line in PACKAGE.list. */
#include "index/fetch/debug_packages.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/filemap.h"
#include "base/map.h"

enum { LIST_MAX = 64 << 20 };

/* Returns a path without its leading /usr, as some lists have it. */
static const char *merged_path(const char *path) {
    return strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
}

/* Is the line from start to end this path, or this path without its leading /usr? */
static bool is_line_of(const char *start, const char *end, const char *path) {
    const size_t len = (size_t)(end - start);
    const char *merged = merged_path(path);
    return (len == strlen(path) && memcmp(start, path, len) == 0) ||
           (len == strlen(merged) && memcmp(start, merged, len) == 0);
}

static bool lists_any(const struct filemap *list, const char *const *paths, size_t count) {
    const char *at = (const char *)list->data, *end = at + list->size;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        for (size_t i = 0; i < count; i++) {
            if (is_line_of(at, line_end, paths[i])) {
                return true;
            }
        }
        at = line_end + 1;
    }
    return false;
}

/* Adds the package of a list that has one of the paths, as "libc6-dbgsym" for "libc6:amd64.list". A
 * file that is no list, is no regular file, cannot be read, or has more than LIST_MAX bytes is
 * skipped. */
static enum st look_in_list(const char *info, const char *file, const char *const *paths,
                            size_t count, struct map *found, struct err *e) {
    const size_t len = strlen(file), suffix = strlen(".list");
    struct strbuf path = {0}, name = {0};
    struct filemap list = {0};
    if (len <= suffix || strcmp(file + len - suffix, ".list") != 0) {
        return ST_OK;
    }
    strbuf_addf(&path, "%s/%s", info, file);
    enum st st = strbuf_check(&path, e);
    if (st == ST_OK && filemap_open_regular(&list, strbuf_cstr(&path), LIST_MAX, NULL) == ST_OK) {
        if (lists_any(&list, paths, count)) {
            const char *arch = memchr(file, ':', len - suffix);
            size_t name_len = arch ? (size_t)(arch - file) : len - suffix;
            strbuf_add(&name, file, name_len);
            strbuf_addstr(&name, "-dbgsym");
            bool kept = !name.failed && map_put(found, name.data, name.len, 0, NULL);
            st = kept ? ST_OK : err_nomem(e);
        }
        filemap_release(&list);
    }
    strbuf_release(&path);
    strbuf_release(&name);
    return st;
}

static int compare_package_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum st print_names(const struct map *found, struct strbuf *out, struct err *e) {
    const char **names = calloc(found->count, sizeof *names);
    if (!names) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < found->count; i++) {
        names[i] = found->entries[i].key;
    }
    qsort(names, found->count, sizeof *names, compare_package_names);
    for (size_t i = 0; i < found->count; i++) {
        strbuf_addf(out, "%s%s", i > 0 ? " " : "", names[i]);
    }
    free(names);
    return strbuf_check(out, e);
}

enum st debug_packages_find(const char *info, const char *const *paths, size_t count,
                            struct strbuf *names, struct err *e) {
    struct map found = {0};
    enum st st = ST_OK;
    DIR *d = count > 0 ? opendir(info) : NULL;
    if (!d) {
        return ST_NONE;
    }
    for (struct dirent *f; st == ST_OK && (f = readdir(d)) != NULL;) {
        st = look_in_list(info, f->d_name, paths, count, &found, e);
    }
    closedir(d);
    if (st == ST_OK) {
        st = found.count > 0 ? print_names(&found, names, e) : ST_NONE;
    }
    map_release(&found);
    return st;
}
