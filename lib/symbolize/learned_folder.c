/* Reads and rewrites the learned names of a folder. */
#include "symbolize/learned_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "index/store.h"
#include "symbolize/learned_text.h"

enum { LEARNED_FILE_MAX = 256 << 20 };

static enum st learned_folder_path(const char *folder, struct strbuf *path, struct err *e) {
    strbuf_addf(path, "%s/learned", folder);
    return strbuf_check(path, e);
}

/* Writes the path of an image's file; *parts gets the length of its folder's path. ST_ERR: out of
 * memory. */
static enum st learned_file_path(const char *folder, const struct image_id *id, struct strbuf *path,
                                 size_t *parts, struct err *e) {
    char text[IMAGE_ID_TEXT];
    image_id_text(id, text);
    strbuf_addf(path, "%s/learned/%.2s", folder, text);
    *parts = path->len;
    strbuf_addf(path, "/%s.names", text);
    return strbuf_check(path, e);
}

bool learned_folder_is(const char *folder) {
    char path[PATH_MAX]; /* a longer one names no file */
    struct stat is;
    int len = snprintf(path, sizeof path, "%s/learned", folder);
    return len > 0 && len < PATH_MAX && stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

/* Joins the names of a file to n. *text gets the file's content. ST_NONE: there is no file. ST_ERR:
 * the file cannot be read, is damaged or not regular, or out of memory. */
static enum st learned_read_file(const char *path, const struct image_id *id,
                                 struct learned_names *n, struct strbuf *text, struct err *e) {
    struct filemap file;
    enum st st = filemap_open_regular(&file, path, LEARNED_FILE_MAX, e);
    if (st != ST_OK) {
        return st;
    }
    /* copied, because another process may truncate the mapped file */
    strbuf_add(text, file.data, file.size);
    filemap_release(&file);
    st = strbuf_check(text, e);
    if (st == ST_OK) {
        st = learned_text_read(n, id, strbuf_cstr(text), text->len, e);
    }
    return st == ST_OK ? ST_OK : err_context(e, "%s", path);
}

enum st learned_folder_read(const char *folder, const struct image_id *id, struct learned_names *n,
                            struct err *e) {
    struct strbuf path = {0}, text = {0};
    size_t parts;
    enum st st = learned_file_path(folder, id, &path, &parts, e);
    if (st == ST_OK) {
        st = learned_read_file(strbuf_cstr(&path), id, n, &text, e);
    }
    strbuf_release(&path);
    strbuf_release(&text);
    return st;
}

/* ---- writing ---- */

static enum st learned_make_folder(const char *path, struct err *e) {
    return mkdir(path, 0777) == 0 || errno == EEXIST ? ST_OK
                                                     : err_sys(e, errno, "cannot make '%s'", path);
}

/* Prints the names that `of` has for an image to *out. ST_NONE: it has none. ST_ERR: out of memory.
 */
static enum st learned_print_image(struct learned_names *of, const struct image_id *id,
                                   struct strbuf *out, struct err *e) {
    struct learned_list list = {0};
    enum st st = learned_names_list(of, id, &list, e);
    if (st == ST_OK) {
        learned_text_print(id, &list, out);
        st = strbuf_check(out, e);
    }
    VEC_RELEASE(&list);
    return st;
}

/* Joins the names of an image in n to those in `all`. ST_NONE: n has none. ST_ERR: out of memory.
 */
static enum st learned_join_image(struct learned_names *all, struct learned_names *n,
                                  const struct image_id *id, struct err *e) {
    struct learned_list list = {0};
    enum st st = learned_names_list(n, id, &list, e);
    for (size_t i = 0; st == ST_OK && i < list.len; i++) {
        st = learned_names_add(all, &(struct learned_fact){id, list.data[i]}, 1, e);
    }
    VEC_RELEASE(&list);
    return st;
}

static enum st learned_rewrite_file(const char *path, const struct image_id *id,
                                    struct learned_names *n, struct err *e) {
    struct learned_names *all = NULL;
    struct strbuf old = {0}, new = {0};
    enum st st = learned_names_new(&all, e);
    if (st == ST_OK && learned_read_file(path, id, all, &old, e) == ST_ERR) {
        st = ST_ERR;
    }
    if (st == ST_OK) {
        st = learned_join_image(all, n, id, e);
    }
    if (st == ST_OK) {
        st = learned_print_image(all, id, &new, e);
    }
    bool same = st == ST_OK && old.len == new.len &&memcmp(old.data, new.data, new.len) == 0;
    if (st == ST_OK && !same) {
        st = store_replace_file(path, &new, e);
    }
    strbuf_release(&old);
    strbuf_release(&new);
    learned_names_free(all);
    return st;
}

static enum st learned_add_image(const char *folder, const struct image_id *id,
                                 struct learned_names *n, struct err *e) {
    struct strbuf path = {0};
    size_t parts = 0;
    enum st st = learned_file_path(folder, id, &path, &parts, e);
    if (st == ST_OK) {
        path.data[parts] = '\0';
        st = learned_make_folder(path.data, e);
        path.data[parts] = '/';
    }
    if (st == ST_OK) {
        st = learned_rewrite_file(path.data, id, n, e);
    }
    strbuf_release(&path);
    return st;
}

/* Opens the lock file of the folder's learned names and waits for the lock, which is released when
 * the descriptor is closed. Returns the descriptor; -1: error. */
static int learned_take_lock(const char *folder, struct err *e) {
    struct strbuf path = {0};
    int fd = -1;
    if (store_is_anothers(folder)) {
        (void)err_set(e, ERR_IO, "cannot write '%s': the store is another user's", folder);
        return -1;
    }
    enum st st = learned_folder_path(folder, &path, e);
    if (st == ST_OK && !store_make_folders(path.data, 0777)) {
        st = err_sys(e, errno, "cannot make '%s'", path.data);
    }
    if (st == ST_OK) {
        strbuf_addstr(&path, "/lock");
        st = strbuf_check(&path, e);
    }
    if (st == ST_OK) {
        fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 || flock(fd, LOCK_EX) != 0) {
            err_sys(e, errno, "cannot write '%s'", strbuf_cstr(&path));
            if (fd >= 0) {
                close(fd);
            }
            fd = -1;
        }
    }
    strbuf_release(&path);
    return fd;
}

enum st learned_folder_add(const char *folder, struct learned_names *n, struct err *e) {
    size_t count = learned_names_image_count(n);
    int lock = learned_take_lock(folder, e);
    if (lock < 0) {
        return ST_ERR;
    }
    enum st st = ST_OK;
    for (size_t i = 0; i < count; i++) {
        if (learned_add_image(folder, learned_names_image_id(n, i), n, e) != ST_OK) {
            st = ST_ERR; /* the first error sticks; the other images are independent of it */
        }
    }
    close(lock);
    return st;
}
