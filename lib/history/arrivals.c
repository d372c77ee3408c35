/* Returns, one by one, the files that other processes rename into a folder, and moves each away
 * when it was read. */
#include "history/arrivals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum {
    /* move_to appends numbers below this one to a name that is already in use, and make_slot names
     * folders by numbers below it */
    ARRIVALS_NUMBERS_MAX = 1000000,
    ARRIVALS_BEHIND = 7 + 7 /* bytes that may be appended to a name: ".999999" and then ".reason" */
};

struct arrivals {
    char *folder;
    VEC(char *)
    names; /* names below `folder` that were found when it was last listed: those in
              slots, ascending, then the others, ascending */
    size_t next;
    struct strbuf path, target, slot;
    int lock; /* descriptor of the file that arrivals_next returned last, with its lock; -1 = none
               */
};

static const char done[] = "done", refused[] = "refused", taking[] = "taking";
const char *const arrivals_folders[] = {done, refused, taking, NULL};

/* Makes a folder unless it exists, and checks that files can be moved into it. */
static enum st make_folder(struct arrivals *a, const char *name, struct err *e) {
    struct stat above, st;
    strbuf_reset(&a->path);
    strbuf_addf(&a->path, "%s/%s", a->folder, name);
    if (a->path.failed) {
        return err_nomem(e);
    }
    if (mkdir(a->path.data, 0700) != 0 && errno != EEXIST) {
        return err_sys(e, errno, "cannot make '%s'", a->path.data);
    }
    if (stat(a->path.data, &st) == 0 && !S_ISDIR(st.st_mode)) {
        return err_set(e, ERR_IO, "cannot move files to '%s': it is a file, not a folder",
                       a->path.data);
    }
    if (stat(a->path.data, &st) != 0 || stat(a->folder, &above) != 0 ||
        faccessat(AT_FDCWD, a->path.data, R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
        return err_sys(e, errno, "cannot move files to '%s'", a->path.data);
    }
    if (st.st_dev != above.st_dev) {
        return err_sys(e, EXDEV, "cannot move files to '%s'", a->path.data);
    }
    return ST_OK;
}

enum st arrivals_open(struct arrivals **out, const char *folder, struct err *e) {
    struct arrivals *a = calloc(1, sizeof *a);
    if (!a || !(a->folder = strdup(folder))) {
        free(a);
        return err_nomem(e);
    }
    a->lock = -1;
    for (size_t i = 0; arrivals_folders[i]; i++) {
        if (make_folder(a, arrivals_folders[i], e) != ST_OK) {
            arrivals_close(a);
            return ST_ERR;
        }
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

static void let_go(struct arrivals *a) {
    if (a->lock >= 0) {
        close(a->lock);
        a->lock = -1;
    }
}

void arrivals_close(struct arrivals *a) {
    if (a) {
        let_go(a);
        forget_names(a);
        VEC_RELEASE(&a->names);
        strbuf_release(&a->path);
        strbuf_release(&a->target);
        strbuf_release(&a->slot);
        free(a->folder);
        free(a);
    }
}

static int by_arrival_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the names from this one on. */
static void sort_names(struct arrivals *a, size_t from) {
    if (a->names.len > from) {
        qsort(a->names.data + from, a->names.len - from, sizeof *a->names.data, by_arrival_name);
    }
}

static bool is_file(int dir, const char *name) {
    struct stat st;
    return name[0] != '.' && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode);
}

/* Adds the files of a folder to a->names, with `prefix` in front of each name. A folder that does
 * not exist has none. */
static enum st list_files(struct arrivals *a, const char *prefix, struct err *e) {
    enum st st = ST_OK;
    const struct dirent *entry;
    strbuf_reset(&a->path);
    strbuf_addf(&a->path, "%s/%s", a->folder, prefix);
    if (a->path.failed) {
        return err_nomem(e);
    }
    DIR *dir = opendir(a->path.data);
    if (!dir) {
        return errno == ENOENT ? ST_OK : err_sys(e, errno, "cannot read '%s'", a->path.data);
    }
    while (st == ST_OK && (entry = readdir(dir))) {
        if (!is_file(dirfd(dir), entry->d_name)) {
            continue;
        }
        struct strbuf name = {0};
        strbuf_addf(&name, "%s%s", prefix, entry->d_name);
        if (name.failed || !VEC_PUSH(&a->names, name.data)) {
            strbuf_release(&name);
            st = err_nomem(e);
        }
    }
    closedir(dir);
    return st;
}

/* Adds the files in slots: those that a watcher was reading when it was killed, and those that
 * another watcher is reading, which lock_file leaves alone. */
static enum st list_taken(struct arrivals *a, struct err *e) {
    char slot[sizeof "taking//" + NAME_MAX];
    enum st st = ST_OK;
    strbuf_reset(&a->path);
    strbuf_addf(&a->path, "%s/taking", a->folder);
    if (a->path.failed) {
        return err_nomem(e);
    }
    DIR *dir = opendir(a->path.data);
    const struct dirent *entry;
    if (!dir) {
        return err_sys(e, errno, "cannot read '%s'", a->path.data);
    }
    while (st == ST_OK && (entry = readdir(dir))) {
        size_t digits = strspn(entry->d_name, "0123456789");
        if (digits > 0 && digits <= 6 && entry->d_name[digits] == '\0') {
            snprintf(slot, sizeof slot, "taking/%s/", entry->d_name);
            st = list_files(a, slot, e);
        }
    }
    closedir(dir);
    return st;
}

static enum st look_for_arrivals(struct arrivals *a, struct err *e) {
    struct stat folder;
    if (stat(a->folder, &folder) != 0) {
        return err_sys(e, errno, "cannot read '%s'", a->folder);
    }
    enum st st = list_taken(a, e);
    sort_names(a, 0);
    size_t taken = a->names.len;
    if (st == ST_OK) {
        st = list_files(a, "", e);
    }
    sort_names(a, taken);
    return st;
}

/* ---- taking ---- */

/* Makes a new folder for one file, a->slot, which nobody else writes to. */
static enum st make_slot(struct arrivals *a, struct err *e) {
    for (unsigned n = 0; n < ARRIVALS_NUMBERS_MAX; n++) {
        strbuf_reset(&a->slot);
        strbuf_addf(&a->slot, "%s/taking/%u", a->folder, n);
        if (a->slot.failed) {
            return err_nomem(e);
        }
        if (mkdir(a->slot.data, 0700) == 0) {
            return ST_OK;
        }
        if (errno != EEXIST) {
            return err_sys(e, errno, "cannot make '%s'", a->slot.data);
        }
    }
    return err_set(e, ERR_LIMIT, "too many files are being taken in '%s'", a->folder);
}

/* Did rename(2) or link(2) fail with ENOENT because the file is missing, rather than because the
 * folder that it goes to is missing? */
static bool file_is_gone(const char *path, int why) {
    struct stat st;
    return why == ENOENT && lstat(path, &st) != 0 && errno == ENOENT;
}

static const char *arrival_base_name(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Moves the file `name` of the folder into a slot, and sets a->path to its new path. From then on
 * another file may arrive under the same name. ST_NONE: another process took the file. */
static enum st move_to_slot(struct arrivals *a, const char *name, struct err *e) {
    enum st st = make_slot(a, e);
    if (st != ST_OK) {
        return st;
    }
    strbuf_reset(&a->target);
    strbuf_addf(&a->target, "%s/%s", a->folder, name);
    strbuf_reset(&a->path);
    strbuf_addf(&a->path, "%s/%s", strbuf_cstr(&a->slot), name);
    if (a->target.failed || a->path.failed) {
        rmdir(a->slot.data);
        return err_nomem(e);
    }
    if (rename(a->target.data, a->path.data) == 0) {
        return ST_OK;
    }
    int why = errno;
    rmdir(a->slot.data);
    return file_is_gone(a->target.data, why)
               ? ST_NONE
               : err_sys(e, why, "cannot move '%s' to '%s'", a->target.data, a->path.data);
}

/* Sets a->path and a->slot to a file that is in a slot already. */
static enum st find_in_slot(struct arrivals *a, const char *name, struct err *e) {
    strbuf_reset(&a->path);
    strbuf_addf(&a->path, "%s/%s", a->folder, name);
    strbuf_reset(&a->slot);
    strbuf_addf(&a->slot, "%s/%.*s", a->folder, (int)(arrival_base_name(name) - 1 - name), name);
    return a->path.failed || a->slot.failed ? err_nomem(e) : ST_OK;
}

/* Locks the file at a->path, so that two watchers of one folder never read the same file. False:
 * another watcher has locked the file, or has moved it away. The result is true, too, for a file
 * that exists but cannot be opened, because the caller, which will read it, then reports the
 * reason. */
static bool lock_file(struct arrivals *a) {
    struct stat opened, named;
    int fd = open(a->path.data, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno != ENOENT;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &opened) != 0 ||
        stat(a->path.data, &named) != 0 || opened.st_ino != named.st_ino) {
        close(fd);
        return false;
    }
    a->lock = fd;
    return true;
}

enum st arrivals_next(struct arrivals *a, const char **path, struct err *e) {
    let_go(a);
    if (a->next == 0 && look_for_arrivals(a, e) != ST_OK) {
        forget_names(a);
        return ST_ERR;
    }
    while (a->next < a->names.len) {
        const char *name = a->names.data[a->next++];
        bool in_slot = strchr(name, '/') != NULL;
        enum st st = in_slot ? find_in_slot(a, name, e) : move_to_slot(a, name, e);
        if (st == ST_ERR) {
            return st;
        }
        if (st == ST_OK && lock_file(a)) {
            *path = strbuf_cstr(&a->path);
            return ST_OK;
        }
    }
    forget_names(a);
    return ST_NONE;
}

/* ---- settling ---- */

/* Returns the length to which a name has to be cut before a number and ".reason" are appended. It
 * is the whole length, unless the name would then be longer than the file system allows. */
static size_t kept_length(const struct arrivals *a, const char *name) {
    long most = pathconf(a->folder, _PC_NAME_MAX);
    size_t len = strlen(name), room = most > ARRIVALS_BEHIND ? (size_t)most - ARRIVALS_BEHIND : 1;
    if (most < 0 || len <= room) {
        return len;
    }
    while (room > 1 && ((unsigned char)name[room] & 0xc0) == 0x80) {
        room--; /* a name must not be cut inside a UTF-8 character */
    }
    return room;
}

/* False: errno has the reason. */
static bool put_reason_text(int fd, const char *text) {
    ssize_t n;
    for (size_t len = strlen(text); len > 0; len -= (size_t)n, text += n) {
        n = write(fd, text, len);
        if (n < 0) {
            return false;
        }
    }
    return true;
}

/* Makes a file with the reason at the path target.reason, and leaves a->target as it was. ST_NONE:
 * there is a file of that name. */
static enum st write_reason(struct arrivals *a, const char *reason, struct err *e) {
    const size_t target = a->target.len;
    strbuf_addstr(&a->target, ".reason");
    if (a->target.failed) {
        return err_nomem(e);
    }
    enum st st = ST_OK;
    int fd = open(a->target.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST) {
        st = ST_NONE;
    } else if (fd < 0 || !put_reason_text(fd, reason) || !put_reason_text(fd, "\n")) {
        st = err_sys(e, errno, "cannot write '%s'", a->target.data);
        if (fd >= 0) {
            unlink(a->target.data);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    strbuf_truncate(&a->target, target);
    return st;
}

static void remove_reason(struct arrivals *a) {
    strbuf_addstr(&a->target, ".reason");
    if (!a->target.failed) {
        unlink(a->target.data);
    }
}

/* Gives the file the name a->target, too, after the reason, if there is one, was written beside
 * it. ST_NONE: one of the two names is in use. */
static enum st link_with_reason(struct arrivals *a, const char *reason, struct err *e) {
    enum st st = reason ? write_reason(a, reason, e) : ST_OK;
    if (st != ST_OK || link(a->path.data, a->target.data) == 0) {
        return st;
    }
    st = errno == EEXIST
             ? ST_NONE
             : err_sys(e, errno, "cannot move '%s' to '%s'", a->path.data, a->target.data);
    if (reason) {
        remove_reason(a);
    }
    return st;
}

/* Moves the file into `folder` ("done" or "refused") under its own name, which kept_length may
 * shorten. If the name is in use, the lowest free number is appended. */
static enum st move_to(struct arrivals *a, const char *folder, const char *reason, struct err *e) {
    const char *name = arrival_base_name(a->names.data[a->next - 1]);
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
        enum st st = link_with_reason(a, reason, e);
        if (st == ST_OK && unlink(a->path.data) != 0 && errno != ENOENT) {
            st = err_sys(e, errno, "cannot remove '%s'", a->path.data);
        }
        if (st != ST_NONE) {
            return st;
        }
    }
    return err_set(e, ERR_LIMIT, "too many files are called '%s'", name);
}

enum st arrivals_settle(struct arrivals *a, const char *reason, struct err *e) {
    struct err why = {0};
    enum st st = move_to(a, reason ? refused : done, reason, &why);
    if (st == ST_ERR && file_is_gone(a->path.data, ENOENT)) {
        st = ST_OK; /* another process took the file */
    }
    if (st != ST_OK) {
        err_copy(e, &why);
    }
    rmdir(a->slot.data); /* rmdir fails if a file is in the slot */
    let_go(a);
    return st;
}

void arrivals_leave(struct arrivals *a) {
    let_go(a);
    forget_names(a);
}
