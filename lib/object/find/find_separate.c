/* Finds the separate debug file of a stripped ELF file (GDB manual, "Separate Debug Files"), and
 * the supplementary file to which dwz(1) moved debug information. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "object/find/find.h"
#include "object/find/find_private.h"

static bool is_regular(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

enum st find_check_id(const char *path, const struct image_id *id, struct err *e) {
    struct object *o = NULL;
    struct err why = {0};
    if (!is_regular(path)) {
        return ST_NONE;
    }
    enum st st = object_open(&o, path, &why);
    if (st == ST_OK) {
        st = object_slice_by_id(o, id) ? ST_OK : ST_NONE;
        object_close(o);
        return st;
    }
    /* A damaged file counts as absent; only lack of memory is an error. */
    return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
}

static enum st find_by_build_id(const struct image_id *id, const char *const *roots,
                                size_t root_count, char **path, struct err *e) {
    enum st st = ST_NONE;
    if (id->kind != IMAGE_ID_BUILD || image_id_is_zero(id)) {
        return ST_NONE;
    }
    for (size_t i = 0; i < root_count && st == ST_NONE; i++) {
        struct strbuf candidate = {0};
        find_build_id_path(roots[i], id, ".debug", &candidate);
        st = strbuf_check(&candidate, e);
        if (st == ST_OK) {
            st = candidate.len > 0 ? find_check_id(candidate.data, id, e) : ST_NONE;
        }
        if (st == ST_OK) {
            *path = strbuf_take(&candidate);
            st = *path ? ST_OK : err_nomem(e);
        }
        strbuf_release(&candidate);
    }
    return st;
}

/* A search for a file with this name and CRC-32 that is not the stripped file itself. */
struct link_search {
    const char *name, *self;
    uint32_t crc;
    char **path;
};

/* Checks the file whose path is in b, and gives that path to *link->path if it fits. */
static enum st try_link(const struct link_search *link, struct strbuf *b, struct err *e) {
    enum st st = strbuf_check(b, e);
    if (st != ST_OK) {
        return st;
    }
    const char *candidate = strbuf_cstr(b);
    if (!is_regular(candidate) || is_same_file(candidate, link->self)) {
        return ST_NONE;
    }
    struct filemap m = {0};
    struct err why = {0};
    st = filemap_open(&m, candidate, 0, &why);
    bool fits = st == ST_OK && crc32_z(0, m.data, m.size) == link->crc;
    filemap_release(&m);
    if (!fits) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    *link->path = strbuf_take(b);
    return *link->path ? ST_OK : err_nomem(e);
}

static enum st try_folders(const struct link_search *link, const char *const *roots,
                           size_t root_count, struct err *e) {
    struct strbuf b = {0};
    char real[PATH_MAX];
    const char *slash = strrchr(link->self, '/');
    int folder_len = slash ? (int)(slash - link->self) : 0; /* a path is shorter than PATH_MAX */
    const char *folder = slash ? link->self : ".";
    folder_len = slash ? folder_len : 1;
    strbuf_addf(&b, "%.*s/%s", folder_len, folder, link->name);
    enum st st = try_link(link, &b, e);
    if (st == ST_NONE) {
        strbuf_clear(&b);
        strbuf_addf(&b, "%.*s/.debug/%s", folder_len, folder, link->name);
        st = try_link(link, &b, e);
    }
    bool resolved = st == ST_NONE && realpath(link->self, real) != NULL;
    if (resolved) {
        *strrchr(real, '/') = '\0';
    }
    for (size_t i = 0; resolved && i < root_count && st == ST_NONE; i++) {
        strbuf_clear(&b);
        strbuf_addf(&b, "%s%s/%s", roots[i], real, link->name);
        st = try_link(link, &b, e);
    }
    strbuf_release(&b);
    return st;
}

enum st find_separate_debug(const struct object_slice *s, const char *object_file_path,
                            const char *const *roots, size_t root_count, char **path,
                            struct err *e) {
    enum st st = find_by_build_id(object_slice_id(s), roots, root_count, path, e);
    if (st != ST_NONE) {
        return st;
    }
    struct link_search link = {.self = object_file_path, .path = path};
    st = object_debuglink(s, &link.name, &link.crc, e);
    if (st != ST_OK) {
        return st;
    }
    /* A name that the file contains must not lead to another folder. */
    if (strchr(link.name, '/') || strcmp(link.name, "..") == 0 ||
        strlen(object_file_path) >= PATH_MAX) {
        return ST_NONE;
    }
    return try_folders(&link, roots, root_count, e);
}

/* Gives the path in b to *path if the file there has this id; else ST_NONE. */
static enum st try_supplementary(struct strbuf *b, const struct image_id *id, char **path,
                                 struct err *e) {
    enum st st = strbuf_check(b, e);
    if (st == ST_OK) {
        st = find_check_id(strbuf_cstr(b), id, e);
    }
    if (st == ST_OK) {
        *path = strbuf_take(b);
        st = *path ? ST_OK : err_nomem(e);
    }
    return st;
}

/* Looks for the file at `name` if that is absolute, else in the folder of the file `self`, then in
 * that of the file that `self` is a symbolic link to. */
static enum st find_named_supplementary(const char *name, const char *self,
                                        const struct image_id *id, char **path, struct err *e) {
    struct strbuf b = {0};
    char real[PATH_MAX];
    const char *slash = strrchr(self, '/');
    if (name[0] != '/' && slash) {
        strbuf_add(&b, self, (size_t)(slash - self) + 1);
    }
    strbuf_addstr(&b, name);
    enum st st = try_supplementary(&b, id, path, e);
    if (st == ST_NONE && name[0] != '/' && realpath(self, real)) {
        strbuf_clear(&b);
        strbuf_add(&b, real, (size_t)(strrchr(real, '/') - real) + 1);
        strbuf_addstr(&b, name);
        st = try_supplementary(&b, id, path, e);
    }
    strbuf_release(&b);
    return st;
}

enum st find_supplementary(const struct object_slice *s, const char *object_file_path,
                           const char *const *roots, size_t root_count, char **path,
                           struct err *e) {
    const char *name = NULL;
    struct image_id id = {0};
    enum st st = object_debugaltlink(s, &name, &id, e);
    if (st != ST_OK) {
        return st;
    }
    st = find_named_supplementary(name, object_file_path, &id, path, e);
    return st == ST_NONE ? find_by_build_id(&id, roots, root_count, path, e) : st;
}
