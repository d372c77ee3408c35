/* Evicts indexes and fetched files from the store, and removes leftovers. */
#include "index/store_trim.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/search.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { USE_SECONDS = 90 * 24 * 3600, MISS_SECONDS = 3600, TRIM_SECONDS = 30 };

struct stored_entry {
    char *path;
    uint64_t size;
    time_t used;
};

struct trim {
    const char *store, *keep;
    const char *folder; /* name of the folder of indexes that is being visited */
    time_t now;
    uint64_t total;
    VEC(struct stored_entry) entries;
};

/* Calls on_file for each entry of a folder, except entries whose names begin with a dot, with the
 * folder's descriptor, which stays the same folder whatever is renamed to its path meanwhile. A
 * link in the place of a store's folder, which might lead out of the store, is not followed: flags
 * are 0 or O_NOFOLLOW. */
static void each_file(int at, const char *folder, int flags,
                      void (*on_file)(void *ctx, int dir, const char *name), void *ctx) {
    int fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && fd >= 0) {
        close(fd);
    }
    for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
        if (f->d_name[0] != '.') {
            on_file(ctx, fd, f->d_name);
        }
    }
    if (d) {
        closedir(d);
    }
}

/* Removes a file in tmp unless its writer lives, who holds a lock on it. */
static void remove_if_dead(void *ctx, int dir, const char *name) {
    (void)ctx;
    int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct stat ours, there;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 &&
        fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == there.st_ino) {
        (void)unlinkat(dir, name, 0);
    }
    close(fd);
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static void note_file(void *ctx, int dir, const char *name) {
    struct trim *t = ctx;
    struct stat st;
    struct strbuf path = {0};
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) {
        return;
    }
    if ((ends_with(name, ".use") && t->now - st.st_mtime > USE_SECONDS) ||
        (ends_with(name, ".miss") && t->now - st.st_mtime > MISS_SECONDS)) {
        (void)unlinkat(dir, name, 0);
    }
    if (!ends_with(name, ".index") && !ends_with(name, ".debug")) {
        return;
    }
    t->total += (uint64_t)st.st_size;
    strbuf_addf(&path, "%s/%s/%s", t->store, t->folder, name);
    struct stored_entry e = {strbuf_take(&path), (uint64_t)st.st_size, st.st_mtime};
    if (!e.path || !VEC_PUSH(&t->entries, e)) {
        free(e.path);
    }
    strbuf_release(&path);
}

static int by_use(const void *a, const void *b) {
    const struct stored_entry *x = a, *y = b;
    int order = COMPARE(x->used, y->used);
    return order ? order : strcmp(x->path, y->path);
}

/* Visits the files of a folder that is named by two hexadecimal digits, in which indexes lie. */
static void note_folder(void *ctx, int dir, const char *name) {
    struct trim *t = ctx;
    if (strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2) {
        t->folder = name;
        each_file(dir, name, O_NOFOLLOW, note_file, t);
    }
}

static void evict(struct trim *t, const char *path, uint64_t cap) {
    t->store = path;
    each_file(AT_FDCWD, path, 0, note_folder, t);
    if (t->entries.len > 1) {
        qsort(t->entries.data, t->entries.len, sizeof *t->entries.data, by_use);
    }
    for (size_t i = 0; i < t->entries.len; i++) {
        struct stored_entry *e = &t->entries.data[i];
        if (cap > 0 && t->total > cap && strcmp(e->path, t->keep) != 0 && unlink(e->path) == 0) {
            t->total -= e->size;
        }
        free(e->path);
    }
    VEC_RELEASE(&t->entries);
}

/* Has the store a catalog? An index that it lists must stay, as its source may be gone. */
static bool is_permanent(const char *path) {
    struct strbuf catalog = {0};
    strbuf_addf(&catalog, "%s/catalog", path);
    bool is = catalog.failed || access(strbuf_cstr(&catalog), F_OK) == 0;
    strbuf_release(&catalog);
    return is;
}

/* Takes the store's lock, for one process at a time; -1: another one has it, or the store may not
 * be written. */
static int lock_store(const char *path) {
    struct strbuf lock = {0};
    strbuf_addf(&lock, "%s/lock", path);
    int fd = lock.failed
                 ? -1
                 : open(strbuf_cstr(&lock), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    strbuf_release(&lock);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void remove_leftovers(const char *path) {
    struct strbuf tmp = {0};
    strbuf_addf(&tmp, "%s/tmp", path);
    if (!tmp.failed) {
        each_file(AT_FDCWD, strbuf_cstr(&tmp), O_NOFOLLOW, remove_if_dead, NULL);
    }
    strbuf_release(&tmp);
}

void store_trim(const char *path, uint64_t cap, const char *keep) {
    struct trim t = {.keep = keep, .now = time(NULL)};
    int fd = lock_store(path);
    if (fd < 0) {
        return;
    }
    remove_leftovers(path);
    if (!is_permanent(path)) {
        evict(&t, path, cap);
    }
    (void)futimens(fd, NULL); /* store_trim_is_due reads this time */
    close(fd);
}

void store_tidy(const char *path) {
    int fd = lock_store(path);
    if (fd >= 0) {
        remove_leftovers(path);
        close(fd);
    }
}

bool store_trim_is_due(const char *path) {
    struct strbuf lock = {0};
    struct stat st;
    time_t now = time(NULL);
    strbuf_addf(&lock, "%s/lock", path);
    bool recent = !lock.failed && stat(strbuf_cstr(&lock), &st) == 0 && st.st_mtime <= now &&
                  now - st.st_mtime < TRIM_SECONDS;
    strbuf_release(&lock);
    return !recent;
}
