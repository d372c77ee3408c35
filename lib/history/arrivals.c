/* Hands out the files that others rename into a folder. */
#include "history/arrivals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum {
    ARRIVALS_NUMBERS_MAX = 1000000, /* largest number behind a name that is taken */
    ARRIVALS_BEHIND = 7 + 7         /* length of ".999999" and of ".reason" */
};

struct arrivals {
    char *folder;
    VEC(char *) names; /* names found by the last look, ascending */
    size_t next;
    struct strbuf path, target;
    struct stat handed_out; /* the file that arrivals_next handed out last */
};

static enum st make_folder(struct arrivals *a, const char *name, struct err *e) {
    strbuf_reset(&a->path);
    strbuf_addf(&a->path, "%s/%s", a->folder, name);
    if (a->path.failed) {
        return err_nomem(e);
    }
    if (mkdir(a->path.data, 0700) != 0 && errno != EEXIST) {
        return err_sys(e, errno, "cannot make '%s'", a->path.data);
    }
    return ST_OK;
}

enum st arrivals_open(struct arrivals **out, const char *folder, struct err *e) {
    struct arrivals *a = calloc(1, sizeof *a);
    if (!a || !(a->folder = strdup(folder))) {
        free(a);
        return err_nomem(e);
    }
    if (make_folder(a, "done", e) != ST_OK || make_folder(a, "refused", e) != ST_OK) {
        arrivals_close(a);
        return ST_ERR;
    }
    *out = a;
    return ST_OK;
}

static void forget_names(struct arrivals *a) {
    for (size_t i = 0; i < a->names.len; i++) {
        free(a->names.data[i]);
    }
    a->names.len = 0;
    a->next = 0;
}

void arrivals_close(struct arrivals *a) {
    if (a) {
        forget_names(a);
        VEC_RELEASE(&a->names);
        strbuf_release(&a->path);
        strbuf_release(&a->target);
        free(a->folder);
        free(a);
    }
}

static int by_arrival_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_file(int dir, const char *name) {
    struct stat st;
    return name[0] != '.' && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode);
}

static enum st look_for_arrivals(struct arrivals *a, struct err *e) {
    DIR *dir = opendir(a->folder);
    enum st st = dir ? ST_OK : err_sys(e, errno, "cannot read '%s'", a->folder);
    const struct dirent *entry;
    while (st == ST_OK && (entry = readdir(dir))) {
        if (!is_file(dirfd(dir), entry->d_name)) {
            continue;
        }
        char *name = strdup(entry->d_name);
        if (!name || !VEC_PUSH(&a->names, name)) {
            free(name);
            st = err_nomem(e);
        }
    }
    if (dir) {
        closedir(dir);
    }
    if (a->names.len) {
        qsort(a->names.data, a->names.len, sizeof *a->names.data, by_arrival_name);
    }
    return st;
}

enum st arrivals_next(struct arrivals *a, const char **path, struct err *e) {
    if (a->next == 0 && look_for_arrivals(a, e) != ST_OK) {
        forget_names(a);
        return ST_ERR;
    }
    if (a->next == a->names.len) {
        forget_names(a);
        return ST_NONE;
    }
    strbuf_reset(&a->path);
    strbuf_addf(&a->path, "%s/%s", a->folder, a->names.data[a->next++]);
    *path = strbuf_cstr(&a->path);
    if (strbuf_check(&a->path, e) != ST_OK) {
        return ST_ERR;
    }
    if (lstat(*path, &a->handed_out) != 0) {
        a->handed_out = (struct stat){0}; /* it is gone: its reader finds that, too */
    }
    return ST_OK;
}

/* Returns how much of a name is kept, so that a number and ".reason" fit behind it: the whole name,
 * or less of one that is nearly as long as the file system allows, without its last characters. */
static size_t kept_length(const struct arrivals *a, const char *name) {
    long most = pathconf(a->folder, _PC_NAME_MAX);
    size_t len = strlen(name), room = most > ARRIVALS_BEHIND ? (size_t)most - ARRIVALS_BEHIND : 1;
    if (most < 0 || len <= room) {
        return len;
    }
    while (room > 1 && ((unsigned char)name[room] & 0xc0) == 0x80) {
        room--; /* does not cut inside of a UTF-8 character */
    }
    return room;
}

static bool is_handed_out(const struct arrivals *a, const char *path) {
    struct stat now;
    const struct stat *then = &a->handed_out;
    return lstat(path, &now) == 0 && now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
           now.st_size == then->st_size && now.st_mtime == then->st_mtime;
}

/* Gives a file that was moved to a->target, but came under the name of the one that was read, back
 * to the folder, under its name or, if a third file has that, with a number behind it. */
static enum st give_file_back(struct arrivals *a, const char *name, struct err *e) {
    const int kept = (int)kept_length(a, name);
    for (unsigned n = 0; n < ARRIVALS_NUMBERS_MAX; n++) {
        strbuf_reset(&a->path);
        strbuf_addf(&a->path, "%s/%.*s", a->folder, n ? kept : (int)strlen(name), name);
        if (n) {
            strbuf_addf(&a->path, ".%u", n);
        }
        if (a->path.failed) {
            return err_nomem(e);
        }
        if (link(a->target.data, a->path.data) == 0) {
            return unlink(a->target.data) == 0
                       ? ST_NONE
                       : err_sys(e, errno, "cannot remove '%s'", a->target.data);
        }
        if (errno != EEXIST) {
            return err_sys(e, errno, "cannot move '%s' to '%s'", a->target.data, a->path.data);
        }
    }
    return err_set(e, ERR_LIMIT, "too many files are called '%s'", name);
}

/* Makes an empty file, to which another is renamed. */
static bool reserve_place(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* Moves the file into `folder` (done or refused) under its own name (kept_length), with the lowest
 * free number behind it if the name is taken. ST_NONE: the file is gone, and another one
 * that has come under its name meanwhile stays for the next look. */
static enum st move_to(struct arrivals *a, const char *folder, struct err *e) {
    const char *name = a->names.data[a->next - 1];
    const int kept = (int)kept_length(a, name);
    for (unsigned n = 0; n < ARRIVALS_NUMBERS_MAX; n++) {
        strbuf_reset(&a->target);
        strbuf_addf(&a->target, "%s/%s/%.*s", a->folder, folder, kept, name);
        if (n) {
            strbuf_addf(&a->target, ".%u", n);
        }
        if (a->target.failed) {
            return err_nomem(e);
        }
        if (reserve_place(a->target.data)) {
            if (rename(a->path.data, a->target.data) == 0) {
                return is_handed_out(a, a->target.data) ? ST_OK : give_file_back(a, name, e);
            }
            int why = errno;
            unlink(a->target.data);
            errno = why;
        }
        if (errno == ENOENT) {
            return ST_NONE; /* another process took the file */
        }
        if (errno != EEXIST) {
            return err_sys(e, errno, "cannot move '%s' to '%s'", a->path.data, a->target.data);
        }
    }
    return err_set(e, ERR_LIMIT, "too many files are called '%s'", name);
}

static enum st write_reason(struct arrivals *a, const char *reason, struct err *e) {
    strbuf_addstr(&a->target, ".reason");
    if (a->target.failed) {
        return err_nomem(e);
    }
    int fd = open(a->target.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t len = strlen(reason);
    bool ok = fd >= 0 && write(fd, reason, len) == (ssize_t)len && write(fd, "\n", 1) == 1;
    int why = errno;
    if (fd >= 0) {
        close(fd);
    }
    return ok ? ST_OK : err_sys(e, why, "cannot write '%s'", a->target.data);
}

enum st arrivals_settle(struct arrivals *a, const char *reason, struct err *e) {
    enum st st = move_to(a, reason ? "refused" : "done", e);
    if (st == ST_OK && reason) {
        st = write_reason(a, reason, e);
    }
    return st == ST_NONE ? ST_OK : st;
}
