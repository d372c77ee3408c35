/* Adding the object files of an archive to a finder. */
#include <string.h>

#include "base/strbuf.h"
#include "object/find.h"
#include "object/find_private.h"
#include "object/object_private.h"
#include "object/packed.h"

struct archive_visit {
    struct finder *finder;
    const char *path;
    find_complain complain;
    void *ctx;
};

/* ARCHIVE/MEMBER. A member may be called anything: it is only ever shown. */
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

/* Keeps the map as long as the finder. */
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

static enum st take(void *ctx, const char *name, struct filemap *map, struct err *e) {
    struct archive_visit *v = ctx;
    struct object *o = NULL;
    struct strbuf path = {0};
    struct err why = {0};
    const struct filemap *member = NULL;
    enum st st = member_path(v, name, &path, e);
    if (st == ST_OK) {
        st = object_open_bytes(&o, path.data, map->data, map->size, &why);
        if (st == ST_ERR && why.code != ERR_NOMEM) {
            if (why.code != ERR_UNSUPPORTED) {
                archive_tell(v, name, &why);
            }
            st = ST_NONE;
        }
        if (st == ST_OK) {
            st = keep_member(v->finder, map, &member, &why);
        }
        if (st == ST_OK) {
            st = finder_add_object(v->finder, o, member, NULL, true, v->complain, v->ctx, &why);
        }
        if (st == ST_ERR) {
            err_set(e, why.code, "%s", why.text);
        }
    }
    object_close(o);
    strbuf_release(&path);
    return st == ST_NONE ? ST_OK : st;
}

enum st finder_add_archive(struct finder *f, const char *path, find_complain tell_caller, void *ctx,
                           struct err *e) {
    struct archive_visit visit = {f, path, tell_caller, ctx};
    struct packed_visitor v = {&visit, wants, take, complain};
    return packed_read(path, &f->spill, &v, e);
}
