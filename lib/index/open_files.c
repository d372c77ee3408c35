/* Opens files once and keeps them. */
#include "index/open_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/search.h"
#include "base/strbuf.h"

static const char *const debug_roots[] = {"/usr/lib/debug"};

/* Is the path a regular file that is not empty? A dump may name any path of this host as an
 * image's: a pipe would block, a device or a file of /proc may never end. */
static bool is_plain_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* Looks up the entry of a path, and adds one if there is none. ST_NONE: an entry was added. ST_OK
 * with *out = NULL: an earlier attempt to open the path failed. */
static enum st recall(struct open_files *f, const char *path, struct map_entry **entry,
                      struct object **out, struct err *e) {
    bool added = false;
    *out = NULL;
    *entry = map_put(&f->by_path, path, strlen(path), SIZE_MAX, &added);
    if (!*entry) {
        return err_nomem(e);
    }
    if (!added && (*entry)->value != SIZE_MAX) {
        *out = f->objects.data[(*entry)->value];
    }
    return added ? ST_NONE : ST_OK;
}

/* Keeps an open object under its entry. ST_ERR: out of memory, and the object is closed. member:
 * the map of the archive member that the object is in; NULL = it has a file of its own. */
static enum st keep_open(struct open_files *f, struct map_entry *entry, struct object *o,
                         const struct filemap *member, struct err *e) {
    if (!VEC_RESERVE(&f->members, 1) || !VEC_PUSH(&f->objects, o)) {
        object_close(o);
        return err_nomem(e);
    }
    if (member) {
        f->members.data[f->members.len++] = member;
    }
    entry->value = f->objects.len - 1;
    return ST_OK;
}

/* Opens candidate c, or the file at path if c is NULL, unless that was tried before. */
static enum st open_once(struct open_files *f, const char *path, const struct find_candidate *c,
                         bool hint, struct object **out, struct err *why) {
    struct map_entry *entry;
    struct object *o = NULL;
    struct err damage = {0};
    enum st st = recall(f, path, &entry, out, why);
    if (st != ST_NONE) {
        return st == ST_OK && !*out ? ST_NONE : st;
    }
    if (c) {
        st = finder_open(c, &o, &damage);
    } else {
        st = hint && !is_plain_file(path) ? ST_NONE : object_open(&o, path, &damage);
    }
    if (st == ST_OK && (st = keep_open(f, entry, o, c ? c->member : NULL, why)) == ST_OK) {
        *out = o;
        return ST_OK;
    }
    if (damage.code == ERR_NOMEM || err_is(why)) {
        return err_nomem(why);
    }
    if (st == ST_ERR && !hint) {
        *why = damage;
    }
    return ST_NONE;
}

enum st open_files_path(struct open_files *f, const char *path, bool hint, struct object **out,
                        struct err *why) {
    return open_once(f, path, NULL, hint, out, why);
}

enum st open_files_candidate(struct open_files *f, const struct find_candidate *c,
                             struct object **out, struct err *why) {
    return open_once(f, c->path, c, false, out, why);
}

enum st open_files_adopt(struct open_files *f, struct object *o, struct err *e) {
    struct map_entry *entry;
    struct object *known;
    enum st st = recall(f, object_path(o), &entry, &known, e);
    if (st == ST_ERR || known) {
        object_close(o);
        return st;
    }
    return keep_open(f, entry, o, NULL, e);
}

enum st open_files_supplementary(struct open_files *f, struct finder *finder,
                                 const struct object_slice *s, const struct object_slice **out,
                                 const char **name, struct err *e) {
    const struct find_candidate *c = NULL;
    struct image_id id = {0};
    struct object *o = NULL;
    struct err why = {0};
    char *path = NULL;
    *out = NULL;
    *name = NULL;
    enum st st = object_debugaltlink(s, name, &id, &why);
    if (st != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    st = ST_NONE;
    if (finder && finder_find(finder, &id, &c, &why) == ST_OK) {
        st = open_files_candidate(f, c, &o, &why);
    }
    if (st == ST_NONE &&
        find_supplementary(s, object_slice_path(s), debug_roots,
                           sizeof debug_roots / sizeof *debug_roots, &path, &why) == ST_OK) {
        st = open_files_path(f, path, true, &o, &why);
    }
    free(path);
    *out = st == ST_OK ? object_slice_by_id(o, &id) : NULL;
    if (why.code == ERR_NOMEM) {
        *name = NULL;
        return err_nomem(e);
    }
    return *out ? ST_OK
                : err_set(e, ERR_IO, "supplementary file '%s' is not there: names are lost", *name);
}

void open_files_release(struct open_files *f) {
    for (size_t i = 0; i < f->objects.len; i++) {
        object_close(f->objects.data[i]);
    }
    for (size_t i = 0; i < f->members.len; i++) {
        filemap_forget(f->members.data[i]);
    }
    VEC_RELEASE(&f->objects);
    VEC_RELEASE(&f->members);
    map_release(&f->by_path);
}

/* ---- split DWARF: where LLVM and GDB look, and beside the file ---- */

/* Opens the path in b, and empties b. ST_NONE: no file of the slice's architecture is there. The
 * caller holds the lock. */
static enum st try_path(struct split_files *f, struct strbuf *b, const struct object_slice *s,
                        const struct object_slice **out, struct err *e) {
    struct object *o = NULL;
    enum st st = strbuf_check(b, e);
    if (st == ST_OK) {
        st = open_files_path(&f->files, strbuf_cstr(b), true, &o, e);
    }
    strbuf_clear(b);
    if (st != ST_OK) {
        return st;
    }
    *out = object_slice_by_arch(o, object_slice_arch(s));
    return *out ? ST_OK : ST_NONE;
}

/* ---- packages ---- */

/* Appends the n-th path at which a package is looked for, or nothing if that path does not apply.
 * False: there are no more. */
static bool package_path(const struct object_slice *s, int n, struct strbuf *b) {
    static const char suffix[] = ".debug";
    const char *path = object_slice_path(s);
    const struct image_id *id = object_slice_id(s);
    size_t len = strlen(path), tail = sizeof suffix - 1;
    switch (n) {
    case 0:
        strbuf_addf(b, "%s.dwp", path);
        return true;
    case 1:
        if (len > tail && strcmp(path + len - tail, suffix) == 0) {
            strbuf_addf(b, "%.*s.dwp", (int)(len - tail), path);
        }
        return true;
    case 2:
    case 3:
        if (id->kind == IMAGE_ID_BUILD && !image_id_is_zero(id)) {
            find_build_id_path(debug_roots[0], id, n == 2 ? ".dwp" : ".debug.dwp", b);
        }
        return true;
    default:
        return false;
    }
}

/* Opens the path in b as try_path does. ST_ERR: the file there is no package of the slice's
 * architecture, or out of memory. */
static enum st try_package(struct split_files *f, struct strbuf *b, const struct object_slice *s,
                           const struct object_slice **out, struct err *e) {
    struct err why = {0};
    struct stat is;
    bool there = !b->failed && stat(strbuf_cstr(b), &is) == 0 && S_ISREG(is.st_mode);
    (void)err_set(&why, ERR_FORMAT, "'%s' is no package of split DWARF for %s", strbuf_cstr(b),
                  object_slice_arch(s));
    enum st st = try_path(f, b, s, out, e);
    struct err unread = {0};
    if (st == ST_OK && object_section(*out, "debug_cu_index", &(const uint8_t *){NULL},
                                      &(size_t){0}, NULL, &unread) == ST_OK) {
        return ST_OK;
    }
    if (unread.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st == ST_ERR || !there) {
        return st;
    }
    return err_copy(e, &why);
}

static enum st find_package(void *ctx, const struct object_slice *s,
                            const struct object_slice **out, struct err *e) {
    struct split_files *f = ctx;
    struct strbuf b = {0};
    enum st st = ST_NONE;
    pthread_mutex_lock(&f->lock);
    for (int i = 0; st == ST_NONE && package_path(s, i, &b); i++) {
        if (b.len > 0 || b.failed) {
            st = try_package(f, &b, s, out, e);
        }
    }
    pthread_mutex_unlock(&f->lock);
    strbuf_release(&b);
    return st;
}

/* ---- files of single units ---- */

/* Appends the path of the folder that the slice's file is in, with its slash. */
static void add_folder(struct strbuf *b, const struct object_slice *s) {
    const char *path = object_slice_path(s);
    strbuf_add(b, path, (size_t)(path_base(path) - path));
}

/* A file that debug information names. */
struct named_file {
    const char *folder; /* folder of a relative path; NULL = unknown */
    const char *path;
    const char *base; /* file name to look for beside the slice's file; NULL = do not, as another
                         file may have it */
    /* with `folder` unknown, do not try a relative path from the working directory */
    bool unplaced;
};

/* Sets b to the n-th path at which the file is looked for, or leaves it empty if that path does not
 * apply. False: there are no more. */
static bool named_place(const struct object_slice *s, const struct named_file *file, int n,
                        struct strbuf *b) {
    bool relative = file->path[0] != '/';
    strbuf_clear(b);
    switch (n) {
    case 0:
        if (relative && file->folder) {
            strbuf_addf(b, "%s/", file->folder);
        }
        if (!relative || !file->unplaced) {
            strbuf_addstr(b, file->path);
        }
        return true;
    case 1:
        if (relative) {
            add_folder(b, s);
            strbuf_addstr(b, file->path);
        }
        return true;
    case 2:
        if (file->base) {
            add_folder(b, s);
            strbuf_addstr(b, file->base);
        }
        return true;
    default:
        return false;
    }
}

static enum st find_file(void *ctx, const struct object_slice *s, const char *name,
                         const char *comp_dir, const struct object_slice **out, struct err *e) {
    struct split_files *f = ctx;
    const struct named_file file = {.folder = comp_dir, .path = name, .base = path_base(name)};
    struct strbuf b = {0};
    enum st st = ST_NONE;
    pthread_mutex_lock(&f->lock);
    for (int i = 0; st == ST_NONE && named_place(s, &file, i, &b); i++) {
        if (b.len > 0 || b.failed) {
            st = try_path(f, &b, s, out, e);
        }
    }
    pthread_mutex_unlock(&f->lock);
    strbuf_release(&b);
    return st;
}

/* ---- object files of a debug map ---- */

/* Returns the number of bytes of the folders in the name of a thin archive's member; a debug map
 * has the member's name without its folders. 0 for a member of another archive. */
static size_t folders_len(const struct archive_member *m) {
    size_t len = m->name_len;
    while (len > 0 && m->name[len - 1] != '/') {
        len--;
    }
    return m->apart ? len : 0;
}

static int compare_members(const struct archive_member *x, const struct archive_member *y) {
    size_t x_at = folders_len(x), y_at = folders_len(y);
    size_t x_len = x->name_len - x_at, y_len = y->name_len - y_at;
    int order = memcmp(x->name + x_at, y->name + y_at, x_len < y_len ? x_len : y_len);
    return order ? order : COMPARE(x_len, y_len);
}

static int by_member(const void *a, const void *b) {
    const struct archive_member *x = a, *y = b;
    int order = compare_members(x, y);
    return order ? order : COMPARE(x->name, y->name); /* both names point into one archive */
}

/* Maps an archive and lists its members up to the first damage. ST_NONE: the file is no archive or
 * cannot be read. *out needs release_archive in any case. */
static enum st list_archive(struct listed_archive *out, const char *path, struct err *e) {
    struct static_archive a;
    struct archive_member member;
    struct err why = {0};
    enum st st = is_plain_file(path) ? filemap_open(&out->map, path, 0, &why) : ST_NONE;
    if (st == ST_OK) {
        st = static_archive_open(&a, path, out->map.data, out->map.size);
    }
    if (st != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    while ((st = static_archive_next(&a, &member, &why)) == ST_OK) {
        if (!VEC_PUSH(&out->members, member)) {
            return err_nomem(e);
        }
    }
    if (out->members.len > 1) {
        qsort(out->members.data, out->members.len, sizeof member, by_member);
    }
    return ST_OK;
}

static void release_archive(struct listed_archive *a) {
    filemap_release(&a->map);
    VEC_RELEASE(&a->members);
}

static enum st open_archive(struct split_files *f, const char *path, size_t len,
                            const struct listed_archive **out, struct err *e) {
    struct object_archives *archives = &f->archives;
    struct listed_archive a = {0};
    bool added = false;
    struct map_entry *entry = map_put(&archives->by_path, path, len, SIZE_MAX, &added);
    if (!entry) {
        return err_nomem(e);
    }
    if (added) {
        enum st st = list_archive(&a, entry->key, e);
        if (st != ST_OK || !VEC_PUSH(&archives->all, a)) {
            release_archive(&a);
            return st == ST_OK ? err_nomem(e) : st;
        }
        entry->value = archives->all.len - 1;
    }
    if (entry->value == SIZE_MAX) {
        return ST_NONE;
    }
    *out = &archives->all.data[entry->value];
    return ST_OK;
}

/* Finds the only member with this name and, unless time is 0, this time, and sets *out, which is
 * valid only with DEBUG_OBJECT_FOUND. The time of a thin archive's member is not compared here,
 * because that of its file counts. DEBUG_OBJECT_CHANGED: members have the name and none the time.
 * DEBUG_OBJECT_MISSING: no member has the name, or several have both. */
static enum debug_object_state find_member(const struct listed_archive *a, const char *name,
                                           size_t len, uint64_t time,
                                           const struct archive_member **out) {
    struct archive_member key = {.name = name, .name_len = len};
    size_t i, same_name = 0, same_time = 0;
    LOWER_BOUND(i, a->members.len, compare_members(&a->members.data[i], &key), 0)
    for (; i < a->members.len && compare_members(&a->members.data[i], &key) == 0; i++) {
        same_name++;
        if (time == 0 || a->members.data[i].apart || a->members.data[i].time == time) {
            same_time++;
            *out = &a->members.data[i];
        }
    }
    if (same_name == 0 || same_time > 1) {
        return DEBUG_OBJECT_MISSING; /* no member has the name, or several have name and time */
    }
    return same_time == 1 ? DEBUG_OBJECT_FOUND : DEBUG_OBJECT_CHANGED;
}

/* Returns the state of the file at a path: missing if it is no regular file, changed if it has
 * another time of modification (time 0: any fits). */
static enum debug_object_state look_at_file(const char *path, uint64_t time) {
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode)) {
        return DEBUG_OBJECT_MISSING;
    }
    return time == 0 || (uint64_t)file.st_mtime == time ? DEBUG_OBJECT_FOUND : DEBUG_OBJECT_CHANGED;
}

/* Replaces *path, that of a thin archive's member, "DIR/lib.a(x.o)", by the path of the member's
 * file; a member's name that is a relative path counts from the archive's folder. */
static enum st name_apart(struct strbuf *path, const struct archive_member *m, struct err *e) {
    struct strbuf file = {0};
    if (m->name[0] != '/') {
        const char *text = strbuf_cstr(path), *name = static_archive_member_name(text);
        size_t len = (size_t)(name - text) - 1;
        while (len > 0 && text[len - 1] != '/') {
            len--;
        }
        strbuf_add(&file, text, len);
    }
    strbuf_add(&file, m->name, m->name_len);
    strbuf_clear(path);
    strbuf_add(path, file.data, file.len);
    enum st st = strbuf_check(&file, e) == ST_OK ? strbuf_check(path, e) : ST_ERR;
    strbuf_release(&file);
    return st;
}

/* Finds the state of the file or archive member at *path. *member becomes the member if the archive
 * contains its bytes, else NULL; if a member of a thin archive was found, *path becomes that of the
 * member's file. */
static enum st look_at(struct split_files *f, struct strbuf *path, uint64_t time,
                       enum debug_object_state *state, const struct archive_member **member,
                       struct err *e) {
    const struct listed_archive *archive = NULL;
    const char *text = strbuf_cstr(path);
    const char *name = static_archive_member_name(text);
    *member = NULL;
    *state = look_at_file(text, time);
    if (!name || *state != DEBUG_OBJECT_MISSING) {
        return ST_OK;
    }
    enum st st = open_archive(f, text, (size_t)(name - text) - 1, &archive, e);
    if (st != ST_OK) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    *state = find_member(archive, name, strlen(name) - 1, time, member);
    if (*state == DEBUG_OBJECT_FOUND && (*member)->apart) {
        st = name_apart(path, *member, e);
        *state = st == ST_OK ? look_at_file(strbuf_cstr(path), time) : DEBUG_OBJECT_MISSING;
        *member = NULL;
    }
    return st;
}

/* Looks for an object file at its possible places, until one has it. *state becomes
 * DEBUG_OBJECT_FOUND, with its *path and *member, else DEBUG_OBJECT_CHANGED if a place has a file
 * or member of another time, else DEBUG_OBJECT_MISSING. The caller holds the lock. */
static enum st find_object(struct split_files *f, const struct object_slice *s,
                           const struct debug_object_name *name, struct strbuf *path,
                           enum debug_object_state *state, const struct archive_member **member,
                           struct err *e) {
    /* If the folder of a relative path is unknown (-oso_prefix), a file found by its name is the
     * right one only if it has the map's time. */
    const struct named_file file = {.path = name->path,
                                    .base = name->unique ? debug_object_base(name->path) : NULL,
                                    .unplaced = name->time == 0};
    *state = DEBUG_OBJECT_MISSING;
    for (int i = 0; *state != DEBUG_OBJECT_FOUND && named_place(s, &file, i, path); i++) {
        enum debug_object_state here = DEBUG_OBJECT_MISSING;
        if (strbuf_check(path, e) != ST_OK) {
            return ST_ERR;
        }
        if (path->len > 0 && look_at(f, path, name->time, &here, member, e) != ST_OK) {
            return ST_ERR;
        }
        *state = here != DEBUG_OBJECT_MISSING ? here : *state;
    }
    return ST_OK;
}

static enum st object_state(void *ctx, const struct object_slice *s,
                            const struct debug_object_name *name, enum debug_object_state *state,
                            struct err *e) {
    struct split_files *f = ctx;
    struct strbuf path = {0};
    const struct archive_member *member;
    pthread_mutex_lock(&f->lock);
    enum st st = find_object(f, s, name, &path, state, &member, e);
    pthread_mutex_unlock(&f->lock);
    strbuf_release(&path);
    return st;
}

/* Opens an archive member once. ST_NONE: the member is no object file, or an earlier attempt to
 * open the member failed. */
static enum st open_member(struct split_files *f, const char *path, const struct archive_member *m,
                           struct object **out, struct err *e) {
    struct map_entry *entry;
    enum st st = recall(&f->files, path, &entry, out, e);
    if (st != ST_NONE) {
        return st == ST_OK && !*out ? ST_NONE : st;
    }
    st = object_open_bytes(out, path, m->bytes, m->len, e);
    return st == ST_OK ? keep_open(&f->files, entry, *out, NULL, e) : st;
}

static enum st open_map_object(void *ctx, const struct object_slice *s,
                               const struct debug_object_name *name,
                               const struct object_slice **out, struct err *e) {
    struct split_files *f = ctx;
    struct strbuf path = {0};
    enum debug_object_state state;
    const struct archive_member *member;
    struct object *o = NULL;
    pthread_mutex_lock(&f->lock);
    enum st st = find_object(f, s, name, &path, &state, &member, e);
    if (st == ST_OK && state != DEBUG_OBJECT_FOUND) {
        st = ST_NONE;
    }
    if (st == ST_OK) {
        st = member ? open_member(f, strbuf_cstr(&path), member, &o, e)
                    : open_files_path(&f->files, strbuf_cstr(&path), true, &o, e);
    }
    pthread_mutex_unlock(&f->lock);
    strbuf_release(&path);
    if (st == ST_OK) {
        *out = object_slice_by_arch(o, object_slice_arch(s));
        st = *out ? ST_OK : ST_NONE;
    }
    return st;
}

/* ---- all files of split DWARF and debug maps ---- */

void split_files_init(struct split_files *f) {
    *f =
        (struct split_files){.finder = {f, find_package, find_file, open_map_object, object_state}};
    pthread_mutex_init(&f->lock, NULL);
}

void split_files_release(struct split_files *f) {
    open_files_release(&f->files);
    for (size_t i = 0; i < f->archives.all.len; i++) {
        release_archive(&f->archives.all.data[i]);
    }
    VEC_RELEASE(&f->archives.all);
    map_release(&f->archives.by_path);
    pthread_mutex_destroy(&f->lock);
}
