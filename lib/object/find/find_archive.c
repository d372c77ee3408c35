/* Adds the object files of an archive to a finder. */
#include <string.h>

#include "base/strbuf.h"
#include "object/find/find.h"
#include "object/find/find_private.h"
#include "object/object_private.h"
#include "object/find/packed.h"

struct archive_visit {
    struct finder *finder;
    const char *path;
    find_complain complain;
    void *ctx;
};

/* Writes ARCHIVE/MEMBER, the name under which a member is shown, with '?' for control characters.
 */
static enum st member_path(const struct archive_visit *v, const char *name, struct strbuf *out,
                           struct err *e) {
    strbuf_addf(out, "%s/", v->path);
    for (; *name; name++) {
        bool control = (unsigned char)*name < ' ' || *name == 0x7f;
        strbuf_addc(out, control ? '?' : *name);
    }
    return strbuf_check(out, e);
}

static bool wants(void *ctx, const char *name) {
    (void)ctx;
    while (*name) {
        size_t len = strcspn(name, "/");
        if (len > 0 && strncmp(name, "..", len) != 0 && find_is_junk(name, len)) {
            return false;
        }
        name += len + (name[len] == '/');
    }
    return true;
}

static bool wants_names(void *ctx, const char *name) {
    (void)ctx;
    return find_is_for_names(name);
}

static void archive_tell(const struct archive_visit *v, const char *name, const struct err *why) {
    struct strbuf path = {0};
    if (v->complain) {
        v->complain(v->ctx, member_path(v, name, &path, NULL) == ST_OK ? path.data : name, why);
    }
    strbuf_release(&path);
}

static void complain(void *ctx, const char *name, const struct err *why) {
    archive_tell(ctx, name, why);
}

/* Moves the map to the finder, which keeps it; *out is its new place. */
static enum st keep_member(struct finder *f, struct filemap *map, const struct filemap **out,
                           struct err *e) {
    struct filemap *own = arena_alloc(&f->arena, sizeof *own);
    if (!own || !VEC_PUSH(&f->members, own)) {
        return err_nomem(e);
    }
    *own = *map;
    *map = (struct filemap){0};
    *out = own;
    return ST_OK;
}

/* Adds a .bcsymbolmap file, or the original UUID in a UUID.plist. ST_NONE: the file is neither, or
 * the plist has no original UUID. */
static enum st take_names(struct finder *f, const char *path, struct filemap *map, struct err *e) {
    struct image_id id;
    const struct filemap *member = NULL;
    if (!find_names_id(path, &id)) {
        return finder_add_original(f, path, map->data, map->size, e);
    }
    enum st st = keep_member(f, map, &member, e);
    return st == ST_OK ? finder_add_names(f, path, &id, member, e) : st;
}

/* Adds an object file in an archive. ST_NONE: the member is no object file, or a damaged one, which
 * is reported. */
static enum st take_object(const struct archive_visit *v, const char *name, const char *path,
                           struct filemap *map, struct err *e) {
    struct object *o = NULL;
    struct err why = {0};
    const struct filemap *member = NULL;
    enum st st = object_open_bytes(&o, path, map->data, map->size, &why);
    if (st == ST_ERR && why.code != ERR_NOMEM) {
        archive_tell(v, name, &why);
        return ST_NONE;
    }
    if (st == ST_OK) {
        st = keep_member(v->finder, map, &member, &why);
    }
    if (st == ST_OK) {
        st = finder_add_object(v->finder, o, member, NULL, true, v->complain, v->ctx, &why);
    }
    object_close(o);
    return st == ST_ERR ? err_copy(e, &why) : st;
}

static enum st take(void *ctx, const char *name, struct filemap *map, struct err *e) {
    struct archive_visit *v = ctx;
    struct strbuf path = {0};
    if (map->size == 0) {
        return ST_OK; /* an empty file of names adds nothing */
    }
    enum st st = member_path(v, name, &path, e);
    struct err why = {0};
    if (st == ST_OK) {
        st = take_names(v->finder, path.data, map, &why);
    }
    if (st == ST_ERR && why.code == ERR_UNREAD) {
        archive_tell(v, name, &why);
        st = ST_OK;
    } else if (err_is(&why)) {
        (void)err_copy(e, &why);
    }
    if (st == ST_NONE) {
        st = take_object(v, name, path.data, map, e);
    }
    strbuf_release(&path);
    return st == ST_NONE ? ST_OK : st;
}

enum st finder_add_archive(struct finder *f, const char *path, bool named,
                           find_complain tell_caller, void *ctx, struct err *e) {
    struct archive_visit visit = {f, path, tell_caller, ctx};
    struct packed_visitor v = {.ctx = &visit,
                               .wants = wants,
                               .wants_any = wants_names,
                               .take = take,
                               .complain = complain,
                               .single = true,
                               .strict = named};
    return packed_read(path, &f->spill, &v, e);
}
