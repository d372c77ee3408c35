/* Adds files, dSYM bundles and folders, and the archives in them, to a finder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "object/find/find.h"
#include "object/find/find_private.h"
#include "object/object_private.h"
#include "object/find/packed.h"

static const char BUNDLE_FOLDER[] = "Contents/Resources/DWARF";

struct find_walk {
    struct finder *finder;
    find_complain complain;
    void *ctx;
    size_t told;    /* complaints so far */
    size_t skipped; /* files and folders skipped because they were visited before */
    size_t cache_parts;
    dev_t device; /* device of the folder that is being walked */
    bool limit_told;
};

typedef VEC(char *) name_list;

static void walk_complain(struct find_walk *w, const char *path, const struct err *why) {
    w->told++;
    if (w->complain) {
        w->complain(w->ctx, path, why);
    }
}

static bool is_junk(const char *name) {
    return find_is_junk(name, strlen(name));
}

static bool has_suffix(const char *path, const char *suffix) {
    size_t len = strlen(path), suffix_len = strlen(suffix);
    while (len > 0 && path[len - 1] == '/') {
        len--;
    }
    return len > suffix_len && strncmp(path + len - suffix_len, suffix, suffix_len) == 0;
}

/* ---- files ---- */

/* Kind of a file, by its first bytes. */
struct sniffed {
    bool object, cache;
    enum packed_kind packed;
};

static enum st sniff(const char *path, struct sniffed *out, struct err *e) {
    /* O_NONBLOCK, because path may have become a pipe since it was checked. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return err_sys(e, errno, "cannot open '%s'", path);
    }
    uint8_t head[PACKED_HEAD];
    ssize_t got = read(fd, head, sizeof head);
    int why = errno;
    close(fd);
    if (got < 0) {
        return err_sys(e, why, "cannot read '%s'", path);
    }
    size_t len = (size_t)got;
    out->object =
        elffile_is(head, len) || macho_is_thin(head, len) || macho_is_universal(head, len);
    out->cache = dyld_cache_is(head, len);
    out->packed = packed_kind_of(head, len);
    return ST_OK;
}

/* Adds an archive that was found in a folder. If archives cannot be read, the first file that is
 * certainly one (zip, tar, or a tar's name) is reported; a packed file that may be no archive is
 * skipped silently. */
static enum st add_found_archive(struct find_walk *w, const char *path, enum packed_kind kind,
                                 struct err *e) {
    if (!packed_supported()) {
        bool certain = kind == PACKED_CERTAIN || packed_is_tar_name(path);
        bool tell = certain && !w->finder->archives_told;
        w->finder->archives_told = w->finder->archives_told || tell;
        return tell ? finder_add_archive(w->finder, path, false, w->complain, w->ctx, e) : ST_NONE;
    }
    return finder_add_archive(w->finder, path, false, w->complain, w->ctx, e);
}

/* Adds a file that was found in a folder; its errors are reported to complain, but a part of a dyld
 * cache without its first file is only counted. ST_ERR: out of memory. */
static enum st add_found_file(struct find_walk *w, const char *path, struct err *e) {
    struct err why = {0};
    struct sniffed is = {0};
    struct image_id id;
    bool is_part = false; /* the file is one of a dyld cache, but not its first */
    if (find_names_id(path, &id)) {
        return finder_add_names(w->finder, path, &id, NULL, e);
    }
    enum st st = sniff(path, &is, &why);
    if (st == ST_OK && is.object) {
        st = finder_add_file(w->finder, path, NULL, true, w->complain, w->ctx, &why);
    } else if (st == ST_OK && is.cache) {
        st = finder_add_cache(w->finder, path, NULL, w->complain, w->ctx, &why);
        is_part = st == ST_ERR && why.code == ERR_UNSUPPORTED;
        w->cache_parts += is_part;
    } else if (st == ST_OK && is.packed != PACKED_NOT) {
        st = add_found_archive(w, path, is.packed, &why);
    }
    if (st != ST_ERR || is_part) {
        return ST_OK;
    }
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    walk_complain(w, path, &why);
    return ST_OK;
}

/* ---- folders ---- */

static void free_names(name_list *names) {
    for (size_t i = 0; i < names->len; i++) {
        free(names->data[i]);
    }
    VEC_RELEASE(names);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the names in a folder without junk, sorted, so that every host finds in the same order. */
static enum st list_folder(const char *path, name_list *names, struct err *e) {
    DIR *dir = opendir(path);
    if (!dir) {
        return err_sys(e, errno, "cannot open folder '%s'", path);
    }
    enum st st = ST_OK;
    struct dirent *entry;
    errno = 0;
    while (st == ST_OK && (entry = readdir(dir)) != NULL) {
        char *name = is_junk(entry->d_name) ? NULL : strdup(entry->d_name);
        if (!is_junk(entry->d_name) && (!name || !VEC_PUSH(names, name))) {
            free(name);
            st = err_nomem(e);
        }
        errno = 0;
    }
    if (st == ST_OK && errno != 0) {
        st = err_sys(e, errno, "cannot read folder '%s'", path);
    }
    closedir(dir);
    if (names->len > 0) {
        qsort(names->data, names->len, sizeof *names->data, compare_names);
    }
    return st;
}

static enum st walk_entry(struct find_walk *w, struct strbuf *path, unsigned depth, struct err *e);

/* Adds everything in a folder. ST_ERR: the folder cannot be listed, or memory ran out. */
static enum st walk_folder(struct find_walk *w, struct strbuf *path, unsigned depth,
                           struct err *e) {
    name_list names = {0};
    enum st st = list_folder(strbuf_cstr(path), &names, e);
    size_t len = path->len;
    bool *taken = calloc(names.len + 1, sizeof *taken);
    if (st == ST_OK) {
        st = taken ? finder_take_layouts(w->finder, strbuf_cstr(path), names.data, names.len, taken,
                                         w->complain, w->ctx, e)
                   : err_nomem(e);
    }
    for (size_t i = 0; i < names.len && st == ST_OK; i++) {
        if (taken[i]) {
            continue;
        }
        if (path->data[len - 1] != '/') {
            strbuf_addc(path, '/');
        }
        strbuf_addstr(path, names.data[i]);
        st = strbuf_check(path, e);
        if (st == ST_OK) {
            st = walk_entry(w, path, depth + 1, e);
        }
        strbuf_truncate(path, len);
    }
    free(taken);
    free_names(&names);
    return st;
}

/* Returns the sum of the candidates found, the entries skipped and the complaints made so far. */
static size_t files_met(const struct find_walk *w) {
    return finder_count(w->finder) + w->skipped + w->told;
}

/* Walks only the debug files of a dSYM bundle, not the plists around them. ST_NONE: there is no
 * debug file, as in a folder X.dSYM that an upload tool made around bundles. */
static enum st walk_bundle(struct find_walk *w, struct strbuf *path, unsigned depth,
                           struct err *e) {
    size_t len = path->len, before = files_met(w);
    struct stat sb;
    strbuf_addc(path, '/');
    strbuf_addstr(path, BUNDLE_FOLDER);
    enum st st = strbuf_check(path, e);
    if (st == ST_OK && (stat(strbuf_cstr(path), &sb) != 0 || !S_ISDIR(sb.st_mode))) {
        st = ST_NONE;
    }
    if (st == ST_OK) {
        st = walk_folder(w, path, depth, e);
    }
    strbuf_truncate(path, len);
    if (st == ST_OK && files_met(w) == before) {
        st = ST_NONE;
    }
    return st;
}

static enum st walk_folder_or_bundle(struct find_walk *w, struct strbuf *path, unsigned depth,
                                     struct err *e) {
    const char *text = strbuf_cstr(path);
    if (depth > FIND_DEPTH_LIMIT) {
        return err_set(e, ERR_LIMIT, "folder '%s' is nested too deeply", text);
    }
    if (!has_suffix(text, ".dSYM")) {
        return walk_folder(w, path, depth, e);
    }
    size_t before = files_met(w);
    enum st st = walk_bundle(w, path, depth, e);
    if (st == ST_NONE) {
        st = walk_folder(w, path, depth, e);
    }
    if (st == ST_OK && files_met(w) == before) {
        return err_set(e, ERR_FORMAT, "no debug file in %s of bundle '%s'", BUNDLE_FOLDER,
                       strbuf_cstr(path));
    }
    return st;
}

/* Adds an entry of a folder. Only lack of memory is an error here; a symbolic link to nothing, and
 * what is no file and no folder, is skipped. */
static enum st walk_entry(struct find_walk *w, struct strbuf *path, unsigned depth, struct err *e) {
    struct err why = {0};
    struct stat sb;
    const char *text = strbuf_cstr(path);
    if (w->finder->entries >= FIND_ENTRY_LIMIT) {
        if (!w->limit_told) {
            w->limit_told = true;
            err_set(&why, ERR_LIMIT, "more than %d files: '%s' and what follows is left out",
                    FIND_ENTRY_LIMIT, text);
            walk_complain(w, text, &why);
        }
        return ST_OK;
    }
    if (++w->finder->entries % FIND_PROGRESS == 0 && w->finder->progress) {
        w->finder->progress(w->finder->progress_ctx, w->finder->entries);
    }
    if (stat(text, &sb) != 0 || !(S_ISDIR(sb.st_mode) || S_ISREG(sb.st_mode))) {
        return ST_OK;
    }
    enum st st = finder_visit(w->finder, (uint64_t)sb.st_dev, (uint64_t)sb.st_ino, e);
    if (st != ST_OK) {
        w->skipped += st == ST_NONE;
        return st == ST_NONE ? ST_OK : st;
    }
    if (S_ISREG(sb.st_mode)) {
        return add_found_file(w, text, e);
    }
    dev_t above = w->device;
    if (sb.st_dev != above && !filemap_is_stored(text)) {
        return ST_OK;
    }
    w->device = sb.st_dev;
    st = walk_folder_or_bundle(w, path, depth, &why);
    w->device = above;
    if (st == ST_ERR && why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st == ST_ERR) {
        walk_complain(w, strbuf_cstr(path), &why);
    }
    return ST_OK;
}

/* ---- what the caller names ---- */

static enum st add_named_file(struct find_walk *w, const char *path, struct err *e) {
    struct image_id id;
    if (find_names_id(path, &id)) {
        return finder_add_names(w->finder, path, &id, NULL, e);
    }
    enum st st = finder_add_file(w->finder, path, NULL, false, w->complain, w->ctx, e);
    struct sniffed is = {0};
    if (st == ST_NONE && sniff(path, &is, e) != ST_OK) {
        return ST_ERR;
    }
    if (st == ST_NONE && is.packed != PACKED_NOT) {
        st = finder_add_archive(w->finder, path, true, w->complain, w->ctx, e);
    }
    return st == ST_NONE ? err_set(e, ERR_FORMAT, "'%s' is no object file", path) : st;
}

/* Reports that files of a dyld cache were found without its first file, without which they cannot
 * be read. */
static void complain_parts(struct find_walk *w, const char *path) {
    struct err why = {0};
    (void)err_set(&why, ERR_IO, "%zu file%s of a dyld cache, but not its first one", w->cache_parts,
                  w->cache_parts == 1 ? "" : "s");
    walk_complain(w, path, &why);
}

enum st finder_add(struct finder *f, const char *path, find_complain tell, void *ctx,
                   struct err *e) {
    struct find_walk w = {.finder = f, .complain = tell, .ctx = ctx};
    struct stat sb;
    if (stat(path, &sb) != 0) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return absent ? ST_NONE : err_sys(e, errno, "cannot open '%s'", path);
    }
    if (!S_ISDIR(sb.st_mode) && !S_ISREG(sb.st_mode)) {
        return err_set(e, ERR_UNSUPPORTED, "'%s' is neither a file nor a folder", path);
    }
    enum st st = finder_visit(f, (uint64_t)sb.st_dev, (uint64_t)sb.st_ino, e);
    if (st != ST_OK) {
        return st == ST_NONE ? ST_OK : st;
    }
    if (S_ISREG(sb.st_mode)) {
        return add_named_file(&w, path, e);
    }
    w.device = sb.st_dev;
    struct strbuf b = {0};
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--; /* a path may end with slashes, as "App.dSYM/" */
    }
    strbuf_add(&b, path, len);
    st = strbuf_check(&b, e);
    if (st == ST_OK) {
        st = walk_folder_or_bundle(&w, &b, 0, e);
    }
    if (st == ST_OK && w.cache_parts > 0 && f->caches.len == 0) {
        complain_parts(&w, path);
    }
    strbuf_release(&b);
    return st;
}
