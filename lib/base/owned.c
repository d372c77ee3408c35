/* Resolves paths step by step, and checks the owner and mode of each step. */
#include "base/owned.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

enum { OWNED_STEPS_MAX = 4096, OWNED_LINKS_MAX = 40 };

/* A path that is being resolved: `at` is a folder without links, "" for the root; `rest` is to be
 * followed from there; `next` is the name that is being followed, later its path. */
struct owned_walk {
    struct strbuf at, rest, next;
    unsigned links;
};

static bool owner_is_trusted(const struct stat *st) {
    return st->st_uid == geteuid() || st->st_uid == 0;
}

bool owned_alone(const struct stat *st) {
    return owner_is_trusted(st) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool owned_folder_alone(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0) {
        return false;
    }
    if (!S_ISDIR(st.st_mode) || !owned_alone(&st)) {
        errno = EPERM;
        return false;
    }
    return true;
}

/* Checks a folder or a link of the path: no user but this one and root may own it. A folder may be
 * writable to others only if it is sticky and not the last one of the path. */
static enum st check_step(const char *path, const struct stat *st, bool last, struct err *e) {
    if (!owner_is_trusted(st)) {
        return err_set(e, ERR_IO, "'%s' belongs to another user", path);
    }
    bool sticky = !last && (st->st_mode & S_ISVTX);
    if (S_ISDIR(st->st_mode) && !sticky && !owned_alone(st)) {
        return err_set(e, ERR_IO, "others may write to '%s'", path);
    }
    return ST_OK;
}

/* Moves the first name of `rest` to `next`, in place of what that had. False: `rest` has no name
 * left. */
static bool take_name(struct owned_walk *w) {
    const char *name = strbuf_cstr(&w->rest);
    name += strspn(name, "/");
    size_t len = strcspn(name, "/");
    strbuf_reset(&w->next);
    strbuf_add(&w->next, name, len);
    struct strbuf rest = {0};
    strbuf_addstr(&rest, name + len);
    strbuf_release(&w->rest);
    w->rest = rest;
    return len > 0;
}

/* Puts the target of the link `next` in front of `rest`. ST_ERR: the link cannot be read, is one
 * more than OWNED_LINKS_MAX, or out of memory. */
static enum st follow_link(struct owned_walk *w, struct err *e) {
    char target[PATH_MAX];
    ssize_t len = readlink(strbuf_cstr(&w->next), target, sizeof target - 1);
    if (len < 0 || ++w->links > OWNED_LINKS_MAX) {
        return err_sys(e, len < 0 ? errno : ELOOP, "cannot read '%s'", strbuf_cstr(&w->next));
    }
    struct strbuf rest = {0};
    strbuf_add(&rest, target, (size_t)len);
    strbuf_addf(&rest, "/%s", strbuf_cstr(&w->rest));
    strbuf_release(&w->rest);
    w->rest = rest;
    if (target[0] == '/') {
        strbuf_reset(&w->at);
    }
    return strbuf_check(&w->rest, e);
}

/* Follows the name in `next` from `at`. ST_NONE: there is no folder or link of this name, or the
 * folder `at` may not be searched. */
static enum st follow_name(struct owned_walk *w, struct err *e) {
    struct stat st;
    const char *name = strbuf_cstr(&w->next);
    if (strbuf_check(&w->next, e) != ST_OK || strbuf_check(&w->rest, e) != ST_OK) {
        return ST_ERR;
    }
    if (strcmp(name, ".") == 0) {
        return ST_OK;
    }
    if (strcmp(name, "..") == 0) {
        const char *slash = strrchr(strbuf_cstr(&w->at), '/');
        strbuf_truncate(&w->at, slash ? (size_t)(slash - strbuf_cstr(&w->at)) : 0);
        return ST_OK;
    }
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/%s", strbuf_cstr(&w->at), name);
    strbuf_release(&w->next);
    w->next = path;
    if (strbuf_check(&w->next, e) != ST_OK) {
        return ST_ERR;
    }
    if (lstat(strbuf_cstr(&w->next), &st) != 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? ST_NONE
                   : err_sys(e, errno, "cannot read '%s'", strbuf_cstr(&w->next));
    }
    if (!S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode)) {
        return ST_NONE;
    }
    bool last = strspn(strbuf_cstr(&w->rest), "/") == w->rest.len;
    if (check_step(strbuf_cstr(&w->next), &st, last, e) != ST_OK) {
        return ST_ERR;
    }
    if (S_ISLNK(st.st_mode)) {
        return follow_link(w, e);
    }
    strbuf_reset(&w->at);
    strbuf_addstr(&w->at, strbuf_cstr(&w->next));
    return strbuf_check(&w->at, e);
}

enum st owned_folder_check(const char *path, struct err *e) {
    struct owned_walk w = {0};
    struct stat st;
    strbuf_addstr(&w.rest, path);
    enum st result = strbuf_check(&w.rest, e);
    if (result == ST_OK && (path[0] != '/' || lstat("/", &st) != 0)) {
        result = err_set(e, ERR_USAGE, "'%s' is no absolute path", path);
    }
    if (result == ST_OK) {
        result = check_step("/", &st, false, e);
    }
    for (unsigned steps = 0; result == ST_OK && take_name(&w); steps++) {
        result = steps < OWNED_STEPS_MAX ? follow_name(&w, e)
                                         : err_set(e, ERR_LIMIT, "'%s' has too many steps", path);
    }
    strbuf_release(&w.at);
    strbuf_release(&w.rest);
    strbuf_release(&w.next);
    return result;
}
