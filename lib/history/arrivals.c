/* Returns, one by one, the files that other processes rename into a folder. */
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
    /* Largest number that is appended to a name that is already in use. */
    ARRIVALS_NUMBERS_MAX = 1000000,
    ARRIVALS_BEHIND = 7 + 7 /* length of ".999999" and of ".reason" */
};

struct arrivals {
    char *folder;
    VEC(char *) names; /* names found when the folder was last listed, ascending */
    size_t next;
    struct strbuf path, target;
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
    return strbuf_check(&a->path, e);
}

/* Returns the length to which a name is cut, so that a number and ".reason" can be appended: the
 * whole length, unless the name is nearly as long as the file system allows. */
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

/* Moves the file into `folder` (done or refused) under its own name (kept_length), with the lowest
 * free number appended if the name is in use. ST_NONE: the file no longer exists. */
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
        if (link(a->path.data, a->target.data) == 0) {
            return unlink(a->path.data) == 0 || errno == ENOENT
                       ? ST_OK
                       : err_sys(e, errno, "cannot remove '%s'", a->path.data);
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
