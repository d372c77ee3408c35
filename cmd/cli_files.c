/* Finds and opens the inputs of the commands, and opens and closes their outputs. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cli_archives.h"

enum { FOLDER_DEPTH_MAX = 64, TEMPORARIES_MAX = 100, OUTPUT_LINKS_MAX = 40, REPLACED_MAX = 4 };

/* ---- inputs ---- */

struct input_walk {
    const struct cli_tool *tool;
    cli_on_input on_input;
    cli_on_failure on_failure;
    void *ctx;
    dev_t device; /* device of the folder that is being read */
};

static void fail_path(const struct input_walk *w, const char *path, int errno_value) {
    struct err e = {0};
    err_set(&e, errno_value == ENOMEM ? ERR_NOMEM : ERR_IO, "%s", strerror(errno_value));
    w->on_failure(w->ctx, path, &e);
}

static void fail_text(const struct input_walk *w, const char *path, const char *text) {
    struct err e = {0};
    err_set(&e, ERR_USAGE, "%s", text);
    w->on_failure(w->ctx, path, &e);
}

static bool cli_is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Passes an open input, or the members of an archive, to on_input, but fails for the regular file
 * to which stdout goes: reading that would never end, as each line read adds another one to it. */
static void pass_input(struct input_walk *w, int fd, const char *name, bool found) {
    struct stat in, out;
    if (fstat(fd, &in) == 0 && S_ISREG(in.st_mode) && fstat(STDOUT_FILENO, &out) == 0 &&
        cli_is_same_file(&in, &out)) {
        close(fd);
        fail_text(w, name, "is the output, too: not read");
        return;
    }
    if (cli_read_archive(fd, name, w->on_input, w->on_failure, w->ctx)) {
        close(fd);
    } else {
        w->on_input(w->ctx, fd, name, found);
    }
}

/* The files that outputs will replace, which a folder of inputs may hold from an earlier run: the
 * path without links at its end, and its state. */
static struct {
    char *path;
    struct stat st;
} replaced[REPLACED_MAX];
static size_t replaced_count;

static const char *entry_of(const char *path, size_t *len, struct stat *folder);

/* Are both paths one name in one folder? True also if the folder of either is not found. */
static bool is_entry(const char *path, const char *of) {
    struct stat folder, of_folder;
    size_t len, of_len;
    const char *name = entry_of(path, &len, &folder), *of_name = entry_of(of, &of_len, &of_folder);
    return !name || !of_name ||
           (cli_is_same_file(&folder, &of_folder) && len == of_len &&
            memcmp(name, of_name, len) == 0);
}

/* Is the entry of a folder a file that an output will replace, or, with `link`, a symbolic link to
 * such a file? Another hard link to the file does not count, as it keeps what is in the file. */
static bool output_replaces(const char *path, const struct stat *st, bool link) {
    for (size_t i = 0; i < replaced_count; i++) {
        if (cli_is_same_file(st, &replaced[i].st) && (link || is_entry(path, replaced[i].path))) {
            return true;
        }
    }
    return false;
}

static int cli_compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void walk_input(struct input_walk *w, const char *path, int depth, bool named);

static void cli_walk_folder(struct input_walk *w, const char *path, int fd, int depth) {
    DIR *dir = fdopendir(fd);
    if (!dir) {
        fail_path(w, path, errno);
        close(fd);
        return;
    }
    VEC(char *) names = {0};
    int why = 0;
    errno = 0;
    for (struct dirent *entry; why == 0 && (entry = readdir(dir)) != NULL; errno = 0) {
        if (entry->d_name[0] != '.') {
            struct strbuf full = {0};
            strbuf_addf(&full, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
                        entry->d_name);
            char *name = strbuf_take(&full);
            if (!name || !VEC_PUSH(&names, name)) {
                free(name);
                why = ENOMEM;
            }
        }
    }
    why = why ? why : errno; /* readdir left its error in errno */
    if (why) {
        fail_path(w, path, why);
    }
    closedir(dir);
    if (names.len) {
        qsort(names.data, names.len, sizeof *names.data, cli_compare_names);
    }
    for (size_t i = 0; i < names.len; i++) {
        walk_input(w, names.data[i], depth + 1, false);
        free(names.data[i]);
    }
    VEC_RELEASE(&names);
}

static void walk_input(struct input_walk *w, const char *path, int depth, bool named) {
    struct stat st;
    if ((named ? stat(path, &st) : lstat(path, &st)) != 0) {
        fail_path(w, path, errno);
        return;
    }
    bool link = S_ISLNK(st.st_mode);
    if (!named && link && (stat(path, &st) != 0 || S_ISDIR(st.st_mode))) {
        return; /* in a folder, dangling links and links to folders are skipped */
    }
    if (!named && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        return;
    }
    if (!named && output_replaces(path, &st, link)) {
        cli_say(w->tool->name, "%s: not read, as the output replaces it", path);
        return;
    }
    if (depth > FOLDER_DEPTH_MAX) {
        fail_text(w, path, "folders are nested too deep");
        return;
    }
    if (!named && S_ISDIR(st.st_mode) && st.st_dev != w->device && !filemap_is_stored(path)) {
        return; /* in a folder such as /, file systems such as /proc are skipped */
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail_path(w, path, errno);
    } else if (S_ISDIR(st.st_mode)) {
        dev_t above = w->device;
        w->device = st.st_dev;
        cli_walk_folder(w, path, fd, depth);
        w->device = above;
    } else {
        pass_input(w, fd, path, !named);
    }
}

const char *cli_file_of(const char *value) {
    return strcmp(value, "-") == 0 ? "/dev/stdin" : value;
}

int cli_for_each_input(const struct cli_tool *tool, char **operands, size_t count,
                       cli_on_input on_input, cli_on_failure on_failure, void *ctx) {
    struct input_walk w = {tool, on_input, on_failure, ctx, 0};
    if (count == 0 && isatty(STDIN_FILENO) == 1) {
        return cli_usage_error(tool,
                               "nothing to read: name a file or a folder, or pipe something in");
    }
    for (size_t i = 0; i < count || (count == 0 && i == 0); i++) {
        if (count == 0 || strcmp(operands[i], "-") == 0) {
            int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
            if (fd < 0) {
                fail_path(&w, "<stdin>", errno);
            } else {
                pass_input(&w, fd, "<stdin>", false);
            }
        } else if (operands[i][0] == 0) {
            fail_path(&w, "''", ENOENT);
        } else {
            walk_input(&w, operands[i], 0, true);
        }
    }
    return CLI_OK;
}

/* ---- output ---- */

/* Returns the length of a path without slashes at its end. */
static size_t length_unslashed(const char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    return len;
}

/* Sets *folder to the state of the folder in which the path is an entry, and *len to the length of
 * the entry's name. Returns the name; NULL: there is no such folder. */
static const char *entry_of(const char *path, size_t *len, struct stat *folder) {
    char above[PATH_MAX];
    size_t end = length_unslashed(path), start = end;
    for (; start > 0 && path[start - 1] != '/'; start--) {
    }
    *len = end - start;
    bool fits = start < sizeof above;
    memcpy(above, path, fits ? start : 0);
    above[fits ? start : 0] = '\0';
    return fits && stat(start > 0 ? above : ".", folder) == 0 ? path + start : NULL;
}

bool cli_is_one_place(const char *a, const char *b) {
    struct stat x, y;
    size_t a_len, b_len;
    if (!a || !b || strcmp(a, "-") == 0 || strcmp(b, "-") == 0) {
        return false;
    }
    bool a_exists = stat(a, &x) == 0, b_exists = stat(b, &y) == 0;
    if (a_exists || b_exists) {
        return a_exists && b_exists && (S_ISREG(x.st_mode) || S_ISDIR(x.st_mode)) &&
               cli_is_same_file(&x, &y);
    }
    const char *a_name = entry_of(a, &a_len, &x), *b_name = entry_of(b, &b_len, &y);
    return a_name && b_name && cli_is_same_file(&x, &y) && a_len == b_len &&
           memcmp(a_name, b_name, a_len) == 0;
}

/* Path of the temporary file of the only output, which the signal handler removes, and the process
 * group that it kills; 0 = none. */
static const char *volatile doomed;
static volatile pid_t doomed_group;

static void remove_doomed(int signal_number) {
    if (doomed) {
        unlink(doomed);
    }
    if (doomed_group > 0) {
        (void)kill(-doomed_group, SIGKILL);
    }
    signal(signal_number, SIG_DFL);
    /* The signal is delivered when this handler returns, as it is blocked until then. */
    raise(signal_number);
}

/* Makes signals that end the process clean up first. Ignored signals (nohup) stay ignored. */
static void catch_interruptions(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now, ours = {.sa_handler = remove_doomed};
        sigemptyset(&ours.sa_mask);
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            sigaction(signals[i], &ours, NULL);
        }
    }
}

void cli_kill_when_interrupted(pid_t group) {
    doomed_group = group;
    if (group > 0) {
        catch_interruptions();
    }
}

static enum st write_out(void *ctx, const void *bytes, size_t len, struct err *e) {
    struct cli_output *o = ctx;
    const char *p = bytes;
    while (len > 0) {
        ssize_t n = write(o->fd, p, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            o->broken_pipe = errno == EPIPE;
            return err_sys(e, errno, "cannot write");
        }
        p += n;
        len -= (size_t)n;
    }
    return ST_OK;
}

/* Returns the standard descriptor, stdout or stderr, that already refers to the file at path, or
 * -1. The file behind /dev/stdout must be written in place, as replacing it would replace the link
 * in /dev. */
static int already_open(const struct stat *path) {
    static const int standard[] = {STDOUT_FILENO, STDERR_FILENO};
    struct stat st;
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++) {
        if (fstat(standard[i], &st) == 0 && cli_is_same_file(&st, path)) {
            return standard[i];
        }
    }
    return -1;
}

/* Is the entry a temporary file of the output NAME: ".NAME.", digits, ".", digits, ".tmp"? */
static bool is_temporary_of(const char *name, const char *entry) {
    size_t len = strlen(name);
    if (entry[0] != '.' || strncmp(entry + 1, name, len) != 0) {
        return false;
    }
    const char *p = entry + 1 + len;
    for (int i = 0; i < 2; i++) {
        size_t digits = *p == '.' ? strspn(p + 1, "0123456789") : 0;
        if (digits == 0) {
            return false;
        }
        p += 1 + digits;
    }
    return strcmp(p, ".tmp") == 0;
}

/* Removes a temporary file unless a living run holds its lock. */
static void remove_if_left(int folder, const char *entry) {
    int fd = openat(folder, entry, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            unlinkat(folder, entry, 0);
        }
        close(fd);
    }
}

/* Removes temporary files of this output that killed processes have left. */
static void remove_left(const char *target, const char *name) {
    struct strbuf path = {0};
    strbuf_add(&path, target, (size_t)(name - target));
    strbuf_addc(&path, '.');
    DIR *folder = path.failed ? NULL : opendir(path.data);
    const struct dirent *d;
    while (folder && (d = readdir(folder)) != NULL) {
        if (is_temporary_of(name, d->d_name)) {
            remove_if_left(dirfd(folder), d->d_name);
        }
    }
    if (folder) {
        closedir(folder);
    }
    strbuf_release(&path);
}

/* Takes the lock that remove_if_left tests. Returns false if another process removed the file
 * before the lock was taken. */
static bool lock_temporary(int fd) {
    struct stat st;
    (void)flock(fd, LOCK_EX | LOCK_NB); /* a file system without locks is no failure: remove_if_left
                                           removes nothing there */
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

/* Opens a new file beside o->target; -1: error, in errno. The file's name begins with '.', so that
 * it is no input of its folder. Others cannot read it while it is to replace a file, whose rights
 * it gets when it is complete. Such files of ended runs are removed first. */
static int cli_open_temporary(struct cli_output *o) {
    const char *slash = strrchr(o->target, '/');
    const char *name = slash ? slash + 1 : o->target;
    remove_left(o->target, name);
    for (int i = 0; i < TEMPORARIES_MAX; i++) {
        struct strbuf b = {0};
        strbuf_addf(&b, "%.*s.%s.%ld.%d.tmp", (int)(name - o->target), o->target, name,
                    (long)getpid(), i);
        free(o->temporary);
        o->temporary = strbuf_take(&b);
        if (!o->temporary) {
            errno = ENOMEM;
            return -1;
        }
        int fd =
            open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, o->replaces ? 0600 : 0666);
        if (fd >= 0 && !lock_temporary(fd)) {
            close(fd);
        } else if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

/* Appends the folder of a path, with '/' behind it; "" for a name alone. */
static void add_folder_of(struct strbuf *b, const char *path) {
    const char *slash = strrchr(path, '/');
    strbuf_add(b, path, slash ? (size_t)(slash + 1 - path) : 0);
}

/* Checks that no other user has put the file or link where the output goes. In a folder where
 * everybody may make names, and whose sticky bit keeps users from removing each other's names, only
 * files of the output's own user and of the folder's owner are accepted. The kernel has the same
 * rule for programs that write in place (fs.protected_symlinks, protected_regular,
 * protected_fifos). ST_ERR: another user made it, stat(2) failed, or out of memory. */
static enum st check_not_planted(const char *path, const struct stat *there, struct err *e) {
    struct strbuf folder = {0};
    struct stat above;
    add_folder_of(&folder, path);
    strbuf_addc(&folder, '.');
    enum st st = strbuf_check(&folder, e);
    if (st == ST_OK && stat(folder.data, &above) != 0) {
        st = err_set(e, ERR_IO, "%s", strerror(errno));
    } else if (st == ST_OK && (above.st_mode & S_ISVTX) && (above.st_mode & S_IWOTH) &&
               there->st_uid != geteuid() && there->st_uid != above.st_uid) {
        const char *what = S_ISLNK(there->st_mode) ? "link" : "file";
        st = err_set(e, ERR_IO, "another user made this %s in a folder that all may write to",
                     S_ISDIR(there->st_mode) ? "folder" : what);
    }
    strbuf_release(&folder);
    return st;
}

/* Drops the slashes behind a path other than "/", by which a link would be followed at once. */
static void drop_slashes(struct strbuf *path) {
    while (path->len > 1 && path->data[path->len - 1] == '/') {
        strbuf_truncate(path, path->len - 1);
    }
}

/* Follows the links at the end of *target, as open(2) does, to the name of a file, or of a folder
 * if `folder`; there->st_mode is 0 if none exists. ST_ERR as open(2), check_not_planted. */
static enum st follow_output(struct strbuf *target, bool folder, struct stat *there,
                             struct err *e) {
    char link[PATH_MAX];
    for (int links = 0; links <= OUTPUT_LINKS_MAX; links++) {
        if (strbuf_check(target, e) != ST_OK) {
            return ST_ERR;
        }
        if (lstat(target->data, there) != 0) {
            *there = (struct stat){0};
            return errno == ENOENT ? ST_OK : err_set(e, ERR_IO, "%s", strerror(errno));
        }
        if (S_ISDIR(there->st_mode) && !folder) {
            return err_set(e, ERR_IO, "%s", strerror(EISDIR));
        }
        if (check_not_planted(target->data, there, e) != ST_OK) {
            return ST_ERR;
        }
        if (!S_ISLNK(there->st_mode)) {
            return ST_OK;
        }
        ssize_t len = readlink(target->data, link, sizeof link);
        if (len <= 0 || (size_t)len == sizeof link) {
            return err_set(e, ERR_IO, "%s", strerror(len < 0 ? errno : ENAMETOOLONG));
        }
        struct strbuf next = {0};
        if (link[0] != '/') {
            add_folder_of(&next, target->data);
        }
        strbuf_add(&next, link, (size_t)len);
        drop_slashes(&next);
        strbuf_release(target);
        *target = next;
    }
    return err_set(e, ERR_IO, "%s", strerror(ELOOP));
}

enum st cli_check_folder(const char *path, struct err *e) {
    struct strbuf target = {0};
    struct stat there;
    strbuf_addstr(&target, path);
    drop_slashes(&target);
    enum st st = follow_output(&target, true, &there, e);
    strbuf_release(&target);
    return st;
}

void cli_output_expect(const char *path) {
    struct strbuf target = {0};
    struct stat there;
    struct err e = {0};
    if (!path || strcmp(path, "-") == 0 || replaced_count == REPLACED_MAX) {
        return;
    }
    strbuf_addstr(&target, path);
    if (follow_output(&target, false, &there, &e) == ST_OK && S_ISREG(there.st_mode) &&
        already_open(&there) < 0) {
        replaced[replaced_count].st = there;
        replaced[replaced_count].path = strbuf_take(&target);
        replaced_count += replaced[replaced_count].path != NULL;
    }
    strbuf_release(&target);
}

/* Opens a temporary file that replaces the one at o->path, or behind its links, when complete; what
 * is no regular file is written in place. Returns the descriptor. -1: error, in e or errno.
 * behind: state of the file that open(2) would open; NULL: there is none. */
static int cli_open_file(struct cli_output *o, const struct stat *behind, struct err *e) {
    struct strbuf target = {0};
    struct stat there = {0};
    int fd = -1;
    strbuf_addstr(&target, o->path);
    enum st st = follow_output(&target, false, &there, e);
    if (st == ST_OK && behind && !S_ISREG(behind->st_mode)) {
        fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else if (st == ST_OK && behind && there.st_mode == 0) {
        errno = ENOENT; /* this is a file without a name, behind a link of /proc */
    } else if (st == ST_OK) {
        o->replaces = there.st_mode != 0;
        o->mode = there.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
        o->owner = there.st_uid;
        o->group = there.st_gid;
        o->target = strbuf_take(&target);
        fd = o->target ? cli_open_temporary(o) : -1;
        if (fd >= 0) {
            doomed = o->temporary;
            catch_interruptions();
        }
    }
    int why = errno;
    strbuf_release(&target);
    errno = why;
    return fd;
}

/* Gives the complete file the owner and the rights of the one that it replaces, as far as this user
 * may: a group that cannot be kept loses its rights. */
static void keep_rights(const struct cli_output *o) {
    struct stat now;
    bool same = fstat(o->fd, &now) == 0 && now.st_uid == o->owner && now.st_gid == o->group;
    bool kept =
        same || fchown(o->fd, o->owner, o->group) == 0 || fchown(o->fd, (uid_t)-1, o->group) == 0;
    (void)fchmod(o->fd, kept ? o->mode : o->mode & ~(mode_t)S_IRWXG);
}

static void release_output(struct cli_output *o) {
    doomed = NULL;
    free(o->path);
    free(o->target);
    free(o->temporary);
    *o = (struct cli_output){.fd = -1};
}

bool cli_output_open(struct cli_output *o, const char *path, struct cli_failures *failures) {
    struct stat st;
    struct err e = {0};
    *o = (struct cli_output){.fd = -1};
    if (!path || strcmp(path, "-") == 0) {
        path = NULL;
        o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    } else if (!path[0]) {
        errno = ENOENT; /* open(2) sets the same errno for an empty path */
    } else if ((o->path = strdup(path)) != NULL) {
        bool exists = stat(path, &st) == 0;
        int same = exists ? already_open(&st) : -1;
        if (same >= 0) {
            o->fd = fcntl(same, F_DUPFD_CLOEXEC, 3);
        } else {
            o->fd = cli_open_file(o, exists ? &st : NULL, &e);
        }
    }
    if (o->fd < 0) {
        if (!err_is(&e)) {
            err_set(&e, ERR_IO, "%s", strerror(errno));
        }
        cli_fail_output(failures, path ? path : "<stdout>", &e);
        release_output(o);
        return false;
    }
    o->sink = sink_to_function(write_out, o);
    return true;
}

void cli_output_close(struct cli_output *o, bool complete, struct cli_failures *failures) {
    struct err e = {0};
    bool ok = sink_close(&o->sink, &e) == ST_OK;
    if (ok && complete && o->replaces) {
        keep_rights(o);
    }
    if (close(o->fd) != 0 && ok) { /* a network file system may report errors only here */
        err_sys(&e, errno, "cannot write");
        ok = false;
    }
    if (ok && complete && o->temporary && rename(o->temporary, o->target) != 0) {
        err_sys(&e, errno, "cannot rename '%s'", o->temporary);
        ok = false;
    }
    if (o->temporary && (!ok || !complete)) {
        unlink(o->temporary);
    }
    if (!ok && o->broken_pipe) {
        failures->count++;
    } else if (!ok) {
        cli_fail_output(failures, o->path ? o->path : "<stdout>", &e);
    }
    release_output(o);
}
