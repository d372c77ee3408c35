/* Reads and writes the store of symbol indexes. */
#include "index/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/owned.h"
#include "index/fingerprint.h"
#include "index/mapped.h"
#include "index/store_trim.h"

enum {
    TOUCH_SECONDS = 3600, /* an index whose time is this long ago or less is not touched */
    TRIES = 100           /* attempts to lock a temporary file that other processes remove */
};

struct index_store {
    char *path;
    uint64_t cap;
    unsigned threads;
    bool permanent, unnamed;
    bool closed; /* nothing is written any more, because writing failed or the store belongs to
                    another user */
    int held;    /* descriptor of the lock of index_store_hold; -1 = none */
    struct err trouble;
};

enum st index_store_new(struct index_store **out, const struct store_options *options,
                        struct err *e) {
    struct index_store *s = calloc(1, sizeof *s);
    char *path = strdup(options->path);
    if (!s || !path) {
        free(s);
        free(path);
        return err_nomem(e);
    }
    *s = (struct index_store){.path = path,
                              .cap = options->permanent ? 0 : options->cap,
                              .threads = options->threads ? options->threads : 1,
                              .permanent = options->permanent,
                              .unnamed = options->unnamed,
                              .held = -1};
    *out = s;
    return ST_OK;
}

enum st index_store_again(struct index_store **out, const struct index_store *s, unsigned threads,
                          struct err *e) {
    const struct store_options options = {.path = s->path,
                                          .cap = s->cap,
                                          .threads = threads,
                                          .permanent = s->permanent,
                                          .unnamed = s->unnamed};
    return index_store_new(out, &options, e);
}

void index_store_free(struct index_store *s) {
    if (s) {
        if (s->held >= 0) {
            close(s->held);
        }
        free(s->path);
        free(s);
    }
}

const char *index_store_trouble(const struct index_store *s) {
    return s && err_is(&s->trouble) ? s->trouble.text : NULL;
}

static void note_trouble(struct index_store *s, int errno_value, const char *what,
                         const char *path) {
    s->closed = true;
    err_sys(&s->trouble, errno_value, "%s '%s'", what, path);
}

/* ---- names ---- */

static void add_file(uint64_t *print, const struct object_slice *s) {
    size_t size;
    if (s) {
        const uint8_t *bytes = object_slice_file(s, &size);
        fingerprint_add(print, bytes, size);
    }
    if (s && object_bcsymbolmap(s)) {
        const uint8_t *names = bcsymbolmap_bytes(object_bcsymbolmap(s), &size);
        fingerprint_add(print, names, size);
    }
}

/* Mixes the time of an object file of the debug map into a fingerprint. A fingerprint samples only
 * parts of a file, and two links of one program may differ in nothing but these times. */
static bool add_object_time(void *ctx, const struct object_stab *stab) {
    uint64_t *print = ctx;
    if (stab->type == STAB_OBJECT_FILE) {
        *print = hash_u64(*print ^ stab->value);
    }
    return true;
}

enum st index_store_key(const struct object_slice *slice, const struct object_slice *paired,
                        const struct object_slice *alt, struct strbuf *key, uint64_t *fingerprint,
                        struct err *e) {
    const struct image_id *id = object_slice_id(slice);
    uint64_t print = (uint64_t)(paired != NULL) << 1 | (uint64_t)(alt != NULL);
    const struct object_slice *all[] = {slice, paired, alt};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        add_file(&print, all[i]);
    }
    /* A file whose symbol table cannot be read has no debug map. */
    (void)!object_stabs(slice, add_object_time, &print, NULL);
    for (size_t i = 0; i < id->len; i++) {
        strbuf_addf(key, "%02x", id->bytes[i]);
    }
    strbuf_addf(key, "%s-", id->len ? "" : "00");
    for (const char *c = object_slice_arch(slice); *c; c++) {
        strbuf_addc(key, *c == '/' || *c == '.' ? '_' : *c);
    }
    strbuf_addf(key, "-%016" PRIx64, print);
    *fingerprint = print;
    return strbuf_check(key, e);
}

static void add_key_path(const struct index_store *s, const char *key, const char *suffix,
                         struct strbuf *out) {
    strbuf_addf(out, "%s/%.2s/%s%s", s->path, key, key, suffix);
}

void index_store_path(const struct index_store *s, const char *key, struct strbuf *out) {
    add_key_path(s, key, ".index", out);
}

/* ---- which users may have written the files ---- */

enum st index_store_check(const struct index_store *s, struct err *e) {
    return owned_folder_check(s->path, e);
}

bool index_store_is_unnamed(const struct index_store *s) {
    return s->unnamed;
}

bool index_store_trusts(const struct index_store *s, const char *ab) {
    if (!s->unnamed) {
        return true;
    }
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/%.2s", s->path, ab);
    bool own = !path.failed && owned_folder_alone(path.data);
    strbuf_release(&path);
    return own;
}

bool store_is_anothers(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_uid != geteuid();
}

/* Returns the mode of new files. */
static mode_t file_mode(const struct index_store *s) {
    return s->unnamed ? 0600 : 0666;
}

/* ---- reading ---- */

/* Opens the index of the key at the path. ST_NONE: there is none, or it may not be trusted, see
 * index_store_trusts. */
static enum st open_index_file(const struct index_store *s, const char *key, const char *path,
                               struct lookup_source **out, struct err *e) {
    if (!s->unnamed) {
        return mapped_open(out, path, e);
    }
    return index_store_trusts(s, key) ? mapped_open_owned(out, path, e) : ST_NONE;
}

void index_store_touch(const char *path) {
    struct stat st;
    time_t now = time(NULL);
    if (stat(path, &st) == 0 && (st.st_mtime > now || now - st.st_mtime > TOUCH_SECONDS)) {
        /* fails for another user's file, whose time of last use then stays */
        (void)!utimensat(AT_FDCWD, path, NULL, 0);
    }
}

enum st index_store_open(struct index_store *s, const char *key, uint64_t fingerprint,
                         struct lookup_source **out, struct err *e) {
    struct strbuf path = {0};
    struct err why = {0};
    struct lookup_source *source = NULL;
    index_store_path(s, key, &path);
    enum st st = strbuf_check(&path, e);
    if (st != ST_OK) {
        strbuf_release(&path);
        return st;
    }
    st = open_index_file(s, key, strbuf_cstr(&path), &source, &why);
    if (st == ST_OK && (mapped_header(source)->fingerprint != fingerprint ||
                        mapped_header(source)->builder < INDEX_BUILDER)) {
        lookup_close(source);
        st = ST_NONE;
    } else if (st == ST_OK) {
        index_store_touch(strbuf_cstr(&path));
        *out = source;
    } else if (why.code == ERR_NOMEM) {
        st = err_nomem(e);
    } else if (why.code != ERR_NONE) {
        if (why.code != ERR_IO && why.code != ERR_UNSUPPORTED) {
            index_store_remove(s, key);
        }
        st = ST_NONE;
    }
    strbuf_release(&path);
    return st;
}

void index_store_remove(struct index_store *s, const char *key) {
    struct strbuf path = {0};
    index_store_path(s, key, &path);
    if (!path.failed && !store_is_anothers(s->path)) {
        (void)unlink(strbuf_cstr(&path));
    }
    strbuf_release(&path);
}

/* ---- files that are written whole ---- */

bool store_write_synced(int fd, const struct strbuf *text) {
    for (size_t at = 0; at < text->len;) {
        ssize_t n = write(fd, text->data + at, text->len - at);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0;
}

enum st store_replace_file(const char *path, const struct strbuf *text, struct err *e) {
    struct strbuf temporary = {0};
    strbuf_addf(&temporary, "%s.new", path);
    enum st st = strbuf_check(&temporary, e);
    if (st == ST_OK) {
        /* Removes a temporary file that a killed writer left, or a link that an attacker made. */
        (void)unlink(strbuf_cstr(&temporary));
        int fd = open(strbuf_cstr(&temporary), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        bool written = fd >= 0 && store_write_synced(fd, text);
        written = fd >= 0 && close(fd) == 0 && written;
        if (!written || rename(strbuf_cstr(&temporary), path) != 0) {
            st = err_sys(e, errno, "cannot write '%s'", path);
            (void)unlink(strbuf_cstr(&temporary));
        }
    }
    strbuf_release(&temporary);
    return st;
}

/* ---- folders ---- */

bool store_make_folders(char *path, mode_t mode) {
    if (mkdir(path, mode) == 0 || errno == EEXIST) {
        return true;
    }
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        bool made = mkdir(path, mode) == 0 || errno == EEXIST || errno == EISDIR || errno == EROFS;
        *slash = '/';
        if (!made) {
            return false;
        }
    }
    return mkdir(path, mode) == 0 || errno == EEXIST;
}

/* Makes the folder STORE/NAME. False: the folder cannot be made, a link is in its place, other
 * users may write to the folder although the store is unnamed, the store is closed, or the store is
 * another user's. Another user's store is read but not written, because root would leave files in
 * it that its owner cannot remove. */
static bool make_inside(struct index_store *s, const char *name, size_t len) {
    struct strbuf path = {0};
    struct stat is;
    bool made = false;
    if (s->closed) {
        return false;
    }
    if (store_is_anothers(s->path)) {
        s->closed = true;
        return false;
    }
    strbuf_addf(&path, "%s/%.*s", s->path, (int)len, name);
    if (!path.failed) {
        made = store_make_folders(path.data, s->unnamed ? 0700 : 0777) &&
               (!s->unnamed || owned_folder_alone(path.data));
    }
    if (made && lstat(path.data, &is) == 0 && S_ISLNK(is.st_mode)) {
        errno = ELOOP;
        made = false;
    }
    if (!made) {
        bool anothers = s->unnamed && errno == EPERM;
        note_trouble(s, errno, anothers ? "others may write to" : "cannot make",
                     strbuf_cstr(&path));
    }
    strbuf_release(&path);
    return made;
}

const char *index_store_folder(const struct index_store *s) {
    return s->path;
}

enum st index_store_make_folder(struct index_store *s, const char *name) {
    return make_inside(s, name, strlen(name)) ? ST_OK : ST_NONE;
}

enum st index_store_hold(struct index_store *s, bool alone) {
    struct strbuf path = {0};
    if (!make_inside(s, "tmp", 3)) {
        return ST_NONE;
    }
    strbuf_addf(&path, "%s/gc.lock", s->path);
    int fd = path.failed
                 ? -1
                 : open(strbuf_cstr(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    int locked = -1;
    do {
        locked = fd < 0 ? -1 : flock(fd, alone ? LOCK_EX : LOCK_SH);
    } while (fd >= 0 && locked != 0 && errno == EINTR);
    if (locked == 0) {
        s->held = fd;
    } else {
        note_trouble(s, errno, "cannot lock", strbuf_cstr(&path));
        if (fd >= 0) {
            close(fd);
        }
    }
    strbuf_release(&path);
    return locked == 0 ? ST_OK : ST_NONE;
}

/* ---- writing ---- */

struct writer {
    struct index_store *store;
    const char *key;
    struct strbuf temporary, target;
    int fd;
};

static enum st write_bytes(void *ctx, const void *bytes, size_t len, struct err *e) {
    const struct writer *w = ctx;
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(w->fd, at, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            note_trouble(w->store, errno, "cannot write", strbuf_cstr(&w->temporary));
            return err_set(e, ERR_IO, "%s", w->store->trouble.text);
        }
        at += n;
        len -= (size_t)n;
    }
    return ST_OK;
}

/* Opens and locks the temporary file. ST_ERR: another process has locked the file and `wait` is
 * false, or the file cannot be opened, locked or emptied. ST_NONE: the locked file is no temporary
 * file any more, and must not be touched: its former writer has renamed it, or another process
 * removed it as a dead writer's; a retry may succeed. */
static enum st open_temporary(struct writer *w, bool wait) {
    const char *path = strbuf_cstr(&w->temporary);
    struct stat ours, there;
    w->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, file_mode(w->store));
    if (w->fd < 0) {
        note_trouble(w->store, errno, "cannot write", path);
        return ST_ERR;
    }
    int locked;
    do {
        locked = flock(w->fd, LOCK_EX | (wait ? 0 : LOCK_NB));
    } while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno != EWOULDBLOCK) {
        note_trouble(w->store, errno, "cannot lock",
                     path); /* some network file systems do not support locks */
    }
    bool still = locked == 0 && fstat(w->fd, &ours) == 0 && lstat(path, &there) == 0 &&
                 ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
    /* A new file is not truncated: ext4 writes a truncated one to disk as soon as it is closed. */
    if (still && (ours.st_size == 0 || ftruncate(w->fd, 0) == 0)) {
        return ST_OK;
    }
    close(w->fd);
    return locked == 0 && !still ? ST_NONE : ST_ERR;
}

/* Opens the index of the key at the path if it is undamaged, has this fingerprint and was made by
 * this version of the builder or a later one; NULL: there is no such index. */
static struct lookup_source *open_usable(const struct index_store *s, const char *key,
                                         const char *path, uint64_t fingerprint) {
    struct lookup_source *source = NULL;
    if (open_index_file(s, key, path, &source, NULL) != ST_OK) {
        return NULL;
    }
    const struct index_header *h = mapped_header(source);
    if (h->fingerprint == fingerprint && h->builder >= INDEX_BUILDER && mapped_is_sound(source)) {
        return source;
    }
    lookup_close(source);
    return NULL;
}

/* Is the index in the temporary file incomplete, and does the store have one with more debug info?
 * Both are of one source, but some of the source's files may have been removed since the first was
 * built. */
static bool is_poorer(const struct writer *w, uint64_t fingerprint) {
    const struct index_store *s = w->store;
    struct lookup_source *before = open_usable(s, w->key, strbuf_cstr(&w->target), fingerprint);
    struct lookup_source *now =
        before ? open_usable(s, w->key, strbuf_cstr(&w->temporary), fingerprint) : NULL;
    bool poorer = now && now->incomplete &&
                  mapped_header(before)->sections[INDEX_DATA].size >
                      mapped_header(now)->sections[INDEX_DATA].size;
    lookup_close(before);
    lookup_close(now);
    return poorer;
}

/* Renames the complete temporary file to the index's path, unless is_poorer holds: then the
 * temporary file is removed, and the store's index stays. ST_NONE: renaming failed. */
static enum st publish(struct writer *w, uint64_t fingerprint) {
    if (is_poorer(w, fingerprint)) {
        (void)unlink(strbuf_cstr(&w->temporary));
        return ST_OK;
    }
    if (rename(strbuf_cstr(&w->temporary), strbuf_cstr(&w->target)) != 0) {
        note_trouble(w->store, errno, "cannot write", strbuf_cstr(&w->target));
        return ST_NONE;
    }
    return ST_OK;
}

static enum st write_index(struct writer *w, const struct index_source *source, struct err *why,
                           struct err *e) {
    struct sink sink = sink_to_function(write_bytes, w);
    struct err failure = {0};
    enum st st = index_build(source, w->store->threads, &sink, &failure);
    enum st closed = sink_close(&sink, &failure);
    if (failure.code == ERR_NOMEM) {
        err_nomem(e);
        st = ST_ERR;
    } else if (st != ST_OK || closed != ST_OK) {
        if (st == ST_NONE) {
            (void)err_set(&failure, ERR_UNREAD, "no symbol of code, and no debug info");
        }
        if (why && !(failure.code == ERR_IO && index_store_trouble(w->store))) {
            *why = failure;
        }
        st = ST_NONE;
    } else {
        st = publish(w, source->fingerprint);
    }
    if (st != ST_OK) {
        (void)unlink(strbuf_cstr(&w->temporary));
    }
    close(w->fd);
    return st;
}

/* Does the store have a usable index of the key that lacks no files? An incomplete index is built
 * again, because the files that it lacks may exist now. */
static bool exists(const struct index_store *s, const char *key, uint64_t fingerprint) {
    struct strbuf path = {0};
    index_store_path(s, key, &path);
    struct lookup_source *source =
        path.failed ? NULL : open_usable(s, key, strbuf_cstr(&path), fingerprint);
    bool good = source && !source->incomplete;
    lookup_close(source);
    strbuf_release(&path);
    return good;
}

/* Opens the temporary file to write to, in at most TRIES attempts. False: the file cannot be had,
 * or, if *found becomes true, another process has written the index meanwhile. */
static bool begin_writing(struct writer *w, const char *key, uint64_t fingerprint, bool wait,
                          bool *found) {
    enum st st = ST_NONE;
    *found = false;
    for (int tries = 0; st == ST_NONE && !*found && tries < TRIES; tries++) {
        st = open_temporary(w, wait);
        *found = st != ST_OK && exists(w->store, key, fingerprint);
    }
    return st == ST_OK;
}

enum st index_store_add(struct index_store *s, const struct index_source *source, const char *key,
                        bool wait, struct err *why, struct err *e) {
    struct writer w = {.store = s, .key = key, .fd = -1};
    if (exists(s, key, source->fingerprint)) {
        return ST_OK;
    }
    if (!make_inside(s, "tmp", 3) || !make_inside(s, key, 2)) {
        return ST_NONE;
    }
    strbuf_addf(&w.temporary, "%s/tmp/%s", s->path, key);
    index_store_path(s, key, &w.target);
    enum st st = strbuf_check(&w.temporary, e) == ST_OK ? strbuf_check(&w.target, e) : ST_ERR;
    if (st == ST_OK) {
        bool found;
        bool begun = begin_writing(&w, key, source->fingerprint, wait, &found);
        st = found ? ST_OK : ST_NONE;
        if (begun) {
            st = write_index(&w, source, why, e);
        }
    }
    if (st == ST_OK && !s->permanent && store_trim_is_due(s->path)) {
        store_trim(s->path, s->cap, strbuf_cstr(&w.target));
    } else if (st == ST_OK) {
        store_tidy(s->path);
    }
    strbuf_release(&w.temporary);
    strbuf_release(&w.target);
    return st;
}

/* Flushes the whole file system, which takes as long as flushing some ten files; a dyld cache makes
 * thousands of indexes. */
enum st index_store_flush(const struct index_store *s, struct err *e) {
    int fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(e, errno, "cannot open '%s'", s->path);
    }
#ifdef SYS_syncfs /* glibc hides its own function behind _GNU_SOURCE */
    bool done = syscall(SYS_syncfs, fd) == 0;
#else
    bool done = true;
    sync();
#endif
    int why = errno;
    close(fd);
    return done ? ST_OK : err_sys(e, why, "cannot flush '%s'", s->path);
}

/* ---- costs ---- */

uint64_t index_store_use(struct index_store *s, const char *key) {
    struct strbuf path = {0};
    uint8_t bytes[8] = {0};
    uint64_t cost = 0;
    add_key_path(s, key, ".use", &path);
    int fd = path.failed ? -1 : open(strbuf_cstr(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    strbuf_release(&path);
    if (fd < 0) {
        return 0;
    }
    if (read(fd, bytes, sizeof bytes) == sizeof bytes) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            cost |= (uint64_t)bytes[i] << 8 * i;
        }
    }
    close(fd);
    return cost;
}

void index_store_set_use(struct index_store *s, const char *key, uint64_t cost) {
    struct strbuf path = {0};
    uint8_t bytes[8];
    if (!make_inside(s, key, 2)) {
        return;
    }
    add_key_path(s, key, ".use", &path);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(cost >> 8 * i);
    }
    /* Of two concurrent runs one may overwrite the cost of the other; the index is then built a
     * little later. */
    int fd = path.failed
                 ? -1
                 : open(strbuf_cstr(&path),
                        O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, file_mode(s));
    if (fd >= 0) {
        if (write(fd, bytes, sizeof bytes) < 0) {
            note_trouble(s, errno, "cannot write", strbuf_cstr(&path));
        }
        close(fd);
    }
    strbuf_release(&path);
}
