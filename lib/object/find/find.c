/* The finder keeps candidates by identity and chooses among them. find_walk.c walks folders, and
 * find_add.c adds the files found there. */
#include "object/find/find.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "object/find/find_private.h"
#include "object/object_private.h"

enum st finder_new(struct finder **out, struct err *e) {
    struct finder *f = calloc(1, sizeof *f);
    if (!f) {
        return err_nomem(e);
    }
    int why = pthread_mutex_init(&f->lock, NULL);
    if (why != 0) {
        free(f);
        return err_sys(e, why, "cannot make a lock");
    }
    *out = f;
    return ST_OK;
}

void finder_use_temporary_folder(struct finder *f, const char *folder) {
    f->spill.folder = folder;
}

void finder_free(struct finder *f) {
    if (!f) {
        return;
    }
    for (size_t i = 0; i < f->members.len; i++) {
        filemap_release(f->members.data[i]);
    }
    for (size_t i = 0; i < f->caches.len; i++) {
        dyld_cache_close(f->caches.data[i]);
    }
    VEC_RELEASE(&f->members);
    VEC_RELEASE(&f->caches);
    spill_release(&f->spill);
    VEC_RELEASE(&f->files);
    VEC_RELEASE(&f->next_of_id);
    VEC_RELEASE(&f->names);
    VEC_RELEASE(&f->originals);
    VEC_RELEASE(&f->roots);
    map_release(&f->by_id);
    map_release(&f->seen);
    map_release(&f->tried);
    arena_release(&f->arena);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* ---- folders that are laid out by id ---- */

/* Adds the slices of the file at path that have this id, or all of the bundle at path. Files that
 * cannot be read are reported to root->complain. ST_NONE: no file is there. ST_ERR: out of memory.
 */
static enum st try_layout_path(struct finder *f, const struct find_root *root, const char *path,
                               const struct image_id *id, struct err *e) {
    struct err why = {0};
    struct stat is;
    char real[PATH_MAX];
    if (stat(path, &is) != 0) {
        return ST_NONE;
    }
    /* A symbolic link is resolved, because its target has the image's name, except in the system's
     * folders (root->complain is NULL). */
    const char *target = root->complain && realpath(path, real) ? real : path;
    enum st st = S_ISDIR(is.st_mode)
                     ? finder_add(f, target, root->complain, root->ctx, &why)
                     : finder_add_file(f, target, id, false, root->complain, root->ctx, &why);
    if (st == ST_ERR && why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st == ST_ERR && root->complain) {
        root->complain(root->ctx, path, &why);
    }
    return ST_OK;
}

/* Looks for a build-id under one root. In the system's folders (root->complain is NULL) only the
 * name with ".debug" is tried, and an unreadable file, or one of another id, adds nothing. */
static enum st try_build_id(struct finder *f, const struct find_root *root,
                            const struct image_id *id, struct err *e) {
    static const char *const suffixes[] = {".debug", ""};
    size_t ways = root->complain ? 2 : 1;
    enum st st = ST_NONE;
    for (size_t i = 0; i < ways && st == ST_NONE; i++) {
        struct strbuf path = {0};
        find_build_id_path(root->path, id, suffixes[i], &path);
        st = strbuf_check(&path, e);
        if (st == ST_OK) {
            st = path.len > 0 ? try_layout_path(f, root, path.data, id, e) : ST_NONE;
        }
        strbuf_release(&path);
    }
    return st;
}

static enum st try_uuid(struct finder *f, const struct find_root *root, const struct image_id *id,
                        struct err *e) {
    enum st st = ST_NONE;
    for (unsigned way = 0; way < FIND_UUID_WAYS && st == ST_NONE; way++) {
        struct strbuf path = {0};
        find_uuid_path(root, id, way, &path);
        st = strbuf_check(&path, e);
        if (st == ST_OK) {
            st = path.len > 0 ? try_layout_path(f, root, strbuf_cstr(&path), id, e) : ST_NONE;
        }
        strbuf_release(&path);
    }
    return st;
}

/* Adds the files of this id that lie under the roots; does nothing if that was tried for the id
 * before. ST_ERR: out of memory. */
static enum st try_roots(struct finder *f, const struct image_id *id, struct err *e) {
    uint8_t key[FIND_ID_KEY_SIZE];
    bool added;
    if (f->roots.len == 0) {
        return ST_OK;
    }
    if (!map_put(&f->tried, key, find_id_key(id, key), 0, &added)) {
        return err_nomem(e);
    }
    /* A folder that is added in this loop may append roots, which are then tried too. */
    for (size_t i = 0; added && i < f->roots.len; i++) {
        const struct find_root root = f->roots.data[i];
        enum st st = ST_NONE;
        if (root.layout == FIND_BUILD_IDS && id->kind == IMAGE_ID_BUILD) {
            st = try_build_id(f, &root, id, e);
        } else if (root.layout != FIND_BUILD_IDS && id->kind == IMAGE_ID_UUID) {
            st = try_uuid(f, &root, id, e);
        }
        if (st == ST_ERR) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- choosing ---- */

/* Does the candidate have both DWARF and lines? If so, the roots need not be searched. */
static bool is_whole(const struct find_candidate *c) {
    return c->dwarf && c->lines;
}

static bool is_better(const struct find_candidate *a, const struct find_candidate *b) {
    if (a->dwarf != b->dwarf) {
        return a->dwarf;
    }
    if (a->dwarf && a->lines != b->lines) {
        return a->lines;
    }
    if (a->symbols != b->symbols) {
        return a->symbols;
    }
    return a->order < b->order;
}

/* Writes the best `max` files of an id into out, best first; returns how many. */
static size_t best_of_id(const struct finder *f, const struct image_id *id,
                         const struct find_candidate **out, size_t max) {
    uint8_t key[FIND_ID_KEY_SIZE];
    const struct map_entry *first = map_get(&f->by_id, key, find_id_key(id, key));
    size_t count = 0;
    for (size_t i = first ? first->value + 1 : 0; i != 0; i = f->next_of_id.data[i - 1]) {
        const struct find_candidate *c = f->files.data[i - 1];
        size_t at = count;
        while (at > 0 && is_better(c, out[at - 1])) {
            at--;
        }
        if (at >= max) {
            continue;
        }
        count += count < max;
        memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof *out);
        out[at] = c;
    }
    return count;
}

enum st finder_find(struct finder *f, const struct image_id *id, const struct find_candidate **out,
                    struct err *e) {
    if (image_id_is_zero(id)) {
        return ST_NONE;
    }
    const struct find_candidate *best = NULL;
    enum st st = ST_OK;
    pthread_mutex_lock(&f->lock);
    if (best_of_id(f, id, &best, 1) == 0 || !is_whole(best)) {
        st = try_roots(f, id, e);
        best_of_id(f, id, &best, 1);
    }
    pthread_mutex_unlock(&f->lock);
    if (st != ST_OK) {
        return st;
    }
    if (!best) {
        return ST_NONE;
    }
    *out = best;
    return ST_OK;
}

void finder_find_all(struct finder *f, const struct image_id *id, const struct find_candidate **out,
                     size_t max, size_t *count) {
    *count = 0;
    if (max == 0 || image_id_is_zero(id)) {
        return;
    }
    pthread_mutex_lock(&f->lock);
    if (best_of_id(f, id, out, 1) == 0 || !is_whole(out[0])) {
        (void)try_roots(f, id, NULL); /* without memory the roots add nothing */
    }
    *count = best_of_id(f, id, out, max);
    pthread_mutex_unlock(&f->lock);
}

/* ---- the nearest, for verdicts ---- */

/* Returns the length of a name without its last extension. */
static size_t stem_length(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? (size_t)(dot - name) : strlen(name);
}

/* Returns 2 for equal names, 1 for names that are equal without an extension, 0 for others. */
static unsigned name_likeness(const char *a, const char *b) {
    if (strcmp(a, b) == 0) {
        return 2;
    }
    size_t a_full = strlen(a), b_full = strlen(b), a_stem = stem_length(a), b_stem = stem_length(b);
    bool like = (a_stem == b_stem && strncmp(a, b, a_stem) == 0) ||
                (a_full == b_stem && strncmp(a, b, a_full) == 0) ||
                (a_stem == b_full && strncmp(a, b, b_full) == 0);
    return like ? 1 : 0;
}

const struct find_candidate *finder_nearest(const struct finder *f, const char *name,
                                            const char *arch) {
    const char *wanted = path_base(name);
    const struct find_candidate *best = NULL;
    unsigned best_score = 0;
    for (size_t i = 0; i < f->files.len; i++) {
        const struct find_candidate *c = f->files.data[i];
        unsigned likeness = name_likeness(wanted, c->name);
        if (likeness == 0) {
            continue;
        }
        bool same_arch = arch && object_arch_equal(arch, c->arch);
        unsigned score = 2 * likeness + same_arch;
        if (score > best_score || (score == best_score && is_better(c, best))) {
            best = c;
            best_score = score;
        }
    }
    return best;
}

void finder_on_progress(struct finder *f, find_progress tell, void *ctx) {
    f->progress = tell;
    f->progress_ctx = ctx;
}

enum st finder_open(const struct find_candidate *c, struct object **out, struct err *e) {
    if (c->cache) {
        return dyld_cache_open_image(c->cache, c->image, out, e);
    }
    return c->member ? object_open_bytes(out, c->path, c->member->data, c->member->size, e)
                     : object_open(out, c->path, e);
}

const struct find_candidate *finder_candidate(const struct finder *f, size_t i) {
    return i < f->files.len ? f->files.data[i] : NULL;
}

/* ---- the only object file at a path ---- */

/* Does the last part of the bundle's or archive's path begin with the file's name and a '.', as
 * "…/Shop.app.dSYM" and "…/Shop.dSYM" do for "Shop"? */
static bool is_named_for(const char *bundle, const char *file) {
    size_t len = strlen(bundle), file_len = strlen(file);
    while (len > 0 && bundle[len - 1] == '/') {
        len--;
    }
    size_t start = len;
    while (start > 0 && bundle[start - 1] != '/') {
        start--;
    }
    return len - start > file_len && strncmp(bundle + start, file, file_len) == 0 &&
           bundle[start + file_len] == '.';
}

/* Are candidates a and b of one file? The slices of a file share a path and are neighbours in
 * f->files. */
static bool same_file(const struct finder *f, size_t a, size_t b) {
    return strcmp(f->files.data[a]->path, f->files.data[b]->path) == 0;
}

/* Is each candidate a slice of the file of candidate `of`, or has it the id of one of that file's
 * slices, as a binary and its dSYM have one id? */
static bool is_all_there_is(const struct finder *f, size_t of) {
    size_t first = of, end = of + 1;
    while (first > 0 && same_file(f, first - 1, of)) {
        first--;
    }
    while (end < f->files.len && same_file(f, end, of)) {
        end++;
    }
    for (size_t i = 0; i < f->files.len; i++) {
        const struct image_id *id = &f->files.data[i]->id;
        bool known = i >= first && i < end;
        for (size_t k = first; k < end && !known; k++) {
            known = !image_id_is_zero(id) && image_id_equal(id, &f->files.data[k]->id);
        }
        if (!known) {
            return false;
        }
    }
    return true;
}

/* Returns the only file (of a binary and its debug file the better candidate), else the one that is
 * named like the bundle or archive at path. NULL: several files, none of them named so. */
static const struct find_candidate *choose_single(const struct finder *f, const char *path) {
    const struct find_candidate *named = NULL;
    size_t best = 0;
    for (size_t i = 0; i < f->files.len; i++) {
        const struct find_candidate *c = f->files.data[i];
        if (is_named_for(path, c->name) && (!named || is_better(c, named))) {
            named = c;
        }
        best = is_better(c, f->files.data[best]) ? i : best;
    }
    const struct find_candidate *single = is_all_there_is(f, best) ? f->files.data[best] : named;
    if (single && !image_id_is_zero(&single->id)) {
        (void)best_of_id(f, &single->id, &single, 1);
    }
    return single;
}

/* Opens a candidate so that the object may outlive the finder: the object takes over the bytes of
 * an archive member. */
static enum st open_for_good(struct finder *f, const struct find_candidate *c, struct object **out,
                             struct err *e) {
    for (size_t i = 0; c->member && i < f->members.len; i++) {
        if (f->members.data[i] == c->member) {
            struct filemap map = *f->members.data[i];
            *f->members.data[i] = (struct filemap){0};
            return object_open_map(out, c->path, &map, e);
        }
    }
    return finder_open(c, out, e);
}

enum st find_single(const char *path, const char *temporary, find_complain complain, void *ctx,
                    struct object **out, struct err *e) {
    struct finder *f = NULL;
    enum st st = find_static_member(path, out, e);
    if (st != ST_NONE) {
        return st;
    }
    st = finder_new(&f, e);
    if (st == ST_OK) {
        finder_use_temporary_folder(f, temporary);
        st = finder_add(f, path, complain, ctx, e);
    }
    if (st == ST_OK && finder_count(f) == 0) {
        st = err_set(e, ERR_FORMAT, "no object file in '%s'", path);
    }
    if (st == ST_OK) {
        const struct find_candidate *single = choose_single(f, path);
        st = single ? open_for_good(f, single, out, e)
                    : err_set(e, ERR_USAGE, "several object files in '%s': name one", path);
    }
    if (st == ST_OK) {
        st = finder_give_names(f, *out, complain, ctx, e);
        if (st != ST_OK) {
            object_close(*out);
            *out = NULL;
        }
    }
    finder_free(f);
    return st;
}
