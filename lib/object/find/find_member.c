/* Opens a member of a static archive: "lib.a(x.o)", or the only object file of "lib.a". */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/filemap.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "object/find/find_private.h"
#include "object/find/static_archive.h"
#include "object/object_private.h"

static bool is_object_file(const struct archive_member *m) {
    return m->apart || elffile_is(m->bytes, m->len) || macho_is_thin(m->bytes, m->len) ||
           macho_is_universal(m->bytes, m->len);
}

/* Is `name` the member's name, or the last part of the path that a member of a thin archive has as
 * its name? */
static bool is_named(const struct archive_member *m, const char *name, size_t len) {
    size_t before = m->name_len >= len ? m->name_len - len : 0;
    bool whole = before == 0 || (m->apart && m->name[before - 1] == '/');
    return m->name_len >= len && whole && memcmp(m->name + before, name, len) == 0;
}

/* Counts the members with this name, or all object files if name is NULL; *first is the first of
 * them. */
static enum st find_fitting(struct static_archive *a, const char *name, size_t name_len,
                            struct archive_member *first, size_t *count, struct err *e) {
    struct archive_member m;
    enum st st;
    *count = 0;
    while ((st = static_archive_next(a, &m, e)) == ST_OK) {
        bool fits = name ? is_named(&m, name, name_len) : is_object_file(&m);
        if (fits && (*count)++ == 0) {
            *first = m;
        }
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Opens a copy of the member's bytes, because the archive is unmapped afterwards. */
static enum st open_member_copy(const char *archive, const struct archive_member *m,
                                struct object **out, struct err *e) {
    struct strbuf path = {0}, bytes = {0};
    strbuf_addf(&path, "%s(%.*s)", archive, (int)m->name_len, m->name);
    strbuf_add(&bytes, (const char *)m->bytes, m->len);
    enum st st = path.failed || bytes.failed ? err_nomem(e) : ST_OK;
    if (st == ST_OK) {
        struct filemap map = {.size = bytes.len};
        map.data = (const uint8_t *)strbuf_take(&bytes);
        st = map.data ? object_open_map(out, path.data, &map, e) : err_nomem(e);
    }
    if (st == ST_NONE) {
        st = err_set(e, ERR_FORMAT, "'%s' is no object file", path.data);
    }
    strbuf_release(&path);
    strbuf_release(&bytes);
    return st;
}

/* Opens the file of a thin archive's member. */
static enum st open_member_file(const char *archive, const struct archive_member *m,
                                struct object **out, struct err *e) {
    struct strbuf path = {0};
    if (m->name_len > 0 && m->name[0] != '/') {
        strbuf_add(&path, archive, (size_t)(path_base(archive) - archive));
    }
    strbuf_add(&path, m->name, m->name_len);
    enum st st = strbuf_check(&path, e);
    if (st == ST_OK) {
        st = object_open(out, strbuf_cstr(&path), e);
    }
    if (st == ST_NONE) {
        st = err_set(e, ERR_FORMAT, "'%s' is no object file", strbuf_cstr(&path));
    }
    if (st == ST_ERR) {
        err_context(e, "member of the thin archive '%s'", archive);
    }
    strbuf_release(&path);
    return st;
}

static enum st open_member_of(const char *archive, const struct filemap *map, const char *name,
                              size_t name_len, struct object **out, struct err *e) {
    struct static_archive a;
    struct archive_member first = {0};
    size_t count;
    enum st st = static_archive_open(&a, archive, map->data, map->size);
    if (st == ST_OK) {
        st = find_fitting(&a, name, name_len, &first, &count, e);
    }
    if (st != ST_OK) {
        return st;
    }
    if (count == 0) {
        return err_set(e, ERR_USAGE, name ? "no such member in '%s'" : "no object file in '%s'",
                       archive);
    }
    if (count > 1) {
        return err_set(e, ERR_USAGE,
                       name ? "%zu members of '%s' have this name"
                            : "%zu object files in '%s': name one, as in LIB.a(MEMBER.o)",
                       count, archive);
    }
    return first.apart ? open_member_file(archive, &first, out, e)
                       : open_member_copy(archive, &first, out, e);
}

enum st find_static_member(const char *path, struct object **out, struct err *e) {
    struct stat is;
    struct strbuf archive = {0};
    struct filemap map = {0};
    const char *name = stat(path, &is) == 0 ? NULL : static_archive_member_name(path);
    strbuf_add(&archive, path, name ? (size_t)(name - path) - 1 : strlen(path));
    enum st st = strbuf_check(&archive, e);
    if (st == ST_OK && (stat(archive.data, &is) != 0 || !S_ISREG(is.st_mode))) {
        st = ST_NONE;
    }
    if (st == ST_OK) {
        st = filemap_open(&map, archive.data, 0, e);
    }
    if (st == ST_OK) {
        st = open_member_of(archive.data, &map, name, name ? strlen(name) - 1 : 0, out, e);
        filemap_release(&map);
    }
    strbuf_release(&archive);
    return st;
}
