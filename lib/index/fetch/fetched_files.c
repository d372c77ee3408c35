/* Puts fetched debug files into the store. */
#include "index/fetch/fetched_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/owned.h"
#include "object/find/find.h"
#include "object/find/packed.h"

/* FETCH_LEFT_SECONDS: a fetch's folder that is older was left by a killed run. */
enum { FETCH_LEFT_SECONDS = 3600, TREE_DEPTH = 16 };

static void add_lower_hex(const struct image_id *id, struct strbuf *out) {
    for (size_t i = 0; i < id->len; i++) {
        strbuf_addf(out, "%02x", id->bytes[i]);
    }
}

/* Appends STORE/ab/<id>. */
static void add_stem(const char *store, const struct image_id *id, struct strbuf *out) {
    strbuf_addf(out, "%s/%02x/", store, id->bytes[0]);
    add_lower_hex(id, out);
}

/* ---- files in the store ---- */

/* Is STORE/ab a folder that only this user and root may write to? */
static bool id_folder_is_own(const char *store, const struct image_id *id) {
    struct strbuf folder = {0};
    strbuf_addf(&folder, "%s/%02x", store, id->bytes[0]);
    bool own = !folder.failed && owned_folder_alone(folder.data);
    strbuf_release(&folder);
    return own;
}

enum st fetched_files_find(const char *store, bool own, const struct image_id *id,
                           struct strbuf *path, struct err *e) {
    struct stat st;
    add_stem(store, id, path);
    strbuf_addstr(path, ".debug");
    if (strbuf_check(path, e) != ST_OK) {
        return ST_ERR;
    }
    if (lstat(strbuf_cstr(path), &st) != 0 || !S_ISREG(st.st_mode)) {
        return ST_NONE;
    }
    if (own && !(owned_alone(&st) && id_folder_is_own(store, id))) {
        return ST_NONE;
    }
    /* fails for another user's file, whose time of last use then stays */
    (void)!utimensat(AT_FDCWD, strbuf_cstr(path), NULL, 0);
    return ST_OK;
}

static void add_miss(const char *store, const struct image_id *id, uint64_t command,
                     struct strbuf *out) {
    add_stem(store, id, out);
    strbuf_addf(out, "-%016" PRIx64 ".miss", command);
}

bool fetched_files_missed(const char *store, const struct image_id *id, uint64_t command) {
    struct strbuf path = {0};
    struct stat st;
    time_t now = time(NULL);
    add_miss(store, id, command, &path);
    /* The kernel may read a finer clock for files than time(), so that a new file may be of the
     * next second. */
    bool missed = !path.failed && stat(strbuf_cstr(&path), &st) == 0 && st.st_mtime <= now + 1 &&
                  now - st.st_mtime < FETCH_MISS_SECONDS;
    strbuf_release(&path);
    return missed;
}

/* Makes the folder STORE/ab; the store itself was made by a fetch. */
static void make_id_folder(const char *store, const struct image_id *id) {
    struct strbuf folder = {0};
    strbuf_addf(&folder, "%s/%02x", store, id->bytes[0]);
    if (!folder.failed) {
        (void)mkdir(strbuf_cstr(&folder),
                    0777); /* a failure shows when a file is made in the folder */
    }
    strbuf_release(&folder);
}

void fetched_files_note_miss(const char *store, const struct image_id *id, uint64_t command) {
    struct strbuf path = {0};
    make_id_folder(store, id);
    add_miss(store, id, command, &path);
    int fd = path.failed
                 ? -1
                 : open(strbuf_cstr(&path),
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd >= 0) {
        (void)futimens(fd, NULL);
        close(fd);
    }
    strbuf_release(&path);
}

/* ---- one fetch ---- */

/* Removes a folder and its content, down to TREE_DEPTH levels: fetch commands write files there,
 * not trees. */
static void remove_tree(const char *path, unsigned depth) {
    DIR *d = opendir(path);
    for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
        struct strbuf entry = {0};
        struct stat st;
        if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0) {
            continue;
        }
        strbuf_addf(&entry, "%s/%s", path, f->d_name);
        if (!entry.failed && unlink(strbuf_cstr(&entry)) != 0 && depth < TREE_DEPTH &&
            lstat(strbuf_cstr(&entry), &st) == 0 && S_ISDIR(st.st_mode)) {
            remove_tree(strbuf_cstr(&entry), depth + 1);
        }
        strbuf_release(&entry);
    }
    if (d) {
        closedir(d);
    }
    (void)rmdir(path);
}

/* Removes the folders of fetches that are older than FETCH_LEFT_SECONDS, which killed runs have
 * left. */
static void remove_left_fetches(const char *folder) {
    DIR *d = opendir(folder);
    time_t now = time(NULL);
    for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
        struct strbuf path = {0};
        struct stat st;
        strbuf_addf(&path, "%s/%s", folder, f->d_name);
        if (f->d_name[0] != '.' && !path.failed && lstat(strbuf_cstr(&path), &st) == 0 &&
            now - st.st_mtime > FETCH_LEFT_SECONDS) {
            remove_tree(strbuf_cstr(&path), 0);
        }
        strbuf_release(&path);
    }
    if (d) {
        closedir(d);
    }
}

enum st fetched_files_begin(const char *store, const struct image_id *id, uint64_t number,
                            struct strbuf *path, struct err *e) {
    strbuf_addf(path, "%s/fetch", store);
    if (strbuf_check(path, e) != ST_OK) {
        return ST_ERR;
    }
    if (mkdir(strbuf_cstr(path), 0777) != 0 && errno != EEXIST) {
        return err_sys(e, errno, "cannot make '%s'", strbuf_cstr(path));
    }
    remove_left_fetches(strbuf_cstr(path));
    strbuf_addc(path, '/');
    add_lower_hex(id, path);
    strbuf_addf(path, "-%" PRIu64, number);
    if (strbuf_check(path, e) != ST_OK) {
        return ST_ERR;
    }
    if (mkdir(strbuf_cstr(path), 0700) != 0) {
        return err_sys(e, errno, "cannot make '%s'", strbuf_cstr(path));
    }
    strbuf_addstr(path, "/file");
    return strbuf_check(path, e);
}

/* Does the file begin as an archive or a packed file does, in a build or on a host that cannot read
 * these (packed_supported)? False if it cannot be read. */
static bool is_packed_in_vain(const char *path) {
    uint8_t head[PACKED_HEAD];
    int fd = packed_supported() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof head);
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 && packed_kind_of(head, (size_t)got) != PACKED_NOT;
}

/* Does the fetched file, which may be an archive, have an object file of this id? A file that other
 * users could write to is first made unwritable for them. ST_NONE: there is no file. ST_ERR: the
 * file has no such object file, is empty, damaged or no plain file, or belongs to others; or out of
 * memory. */
static enum st check_fetched(const char *path, const struct image_id *id, const char *temporary,
                             struct err *e) {
    struct finder *f = NULL;
    struct stat st;
    struct err why = {0};
    if (lstat(path, &st) != 0) {
        return ST_NONE;
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(e, ERR_FORMAT, "what was fetched is no plain file");
    }
    if (st.st_size == 0) {
        return err_set(e, ERR_FORMAT, "what was fetched is an empty file");
    }
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) &&
        chmod(path, st.st_mode & ~(mode_t)(S_IFMT | S_IWGRP | S_IWOTH)) != 0) {
        return err_sys(e, errno, "what was fetched belongs to others");
    }
    enum st found = finder_new(&f, e);
    if (found == ST_OK) {
        const struct find_candidate *c;
        finder_use_temporary_folder(f, temporary);
        found = finder_add(f, path, NULL, NULL, &why);
        if (found == ST_ERR) { /* the error names the path, from which the file will be removed */
            if (why.code == ERR_NOMEM) {
                err_nomem(e);
            } else if (is_packed_in_vain(path)) {
                err_set(e, ERR_UNSUPPORTED,
                        "what was fetched is packed, and cannot be read: the build or the host "
                        "lacks libarchive");
            } else {
                err_set(e, why.code, "what was fetched is no debug file, or is damaged");
            }
        }
        if (found == ST_OK && finder_find(f, id, &c, e) != ST_OK) {
            found = err_set(e, ERR_FORMAT, "what was fetched is of another id");
        }
    }
    finder_free(f);
    return found;
}

enum st fetched_files_end(const char *store, const struct image_id *id, const char *path,
                          const char *temporary, struct strbuf *filed, struct err *e) {
    struct strbuf folder = {0};
    enum st st = check_fetched(path, id, temporary, e);
    if (st == ST_OK) {
        make_id_folder(store, id);
        add_stem(store, id, filed);
        strbuf_addstr(filed, ".debug");
        st = strbuf_check(filed, e);
    }
    if (st == ST_OK && rename(path, strbuf_cstr(filed)) != 0) {
        st = err_sys(e, errno, "cannot write '%s'", strbuf_cstr(filed));
    }
    strbuf_addf(&folder, "%.*s", (int)(strlen(path) - strlen("/file")), path);
    if (!folder.failed) {
        remove_tree(strbuf_cstr(&folder), 0);
    }
    strbuf_release(&folder);
    return st;
}
