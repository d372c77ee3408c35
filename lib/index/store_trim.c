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
    const char *keep;
    time_t now;
    uint64_t total;
    VEC(struct stored_entry) entries;
};

/* Calls on_file with the path of each file of a folder whose name does not begin with a dot. A link
 * in the place of a store's folder, which might lead out of the store, is not followed: flags are 0
 * or O_NOFOLLOW. */
static void each_file(const char *folder, int flags, void (*on_file)(void *ctx, const char *path),
                      void *ctx) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && fd >= 0) {
        close(fd);
    }
    for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
        struct strbuf path = {0};
        if (f->d_name[0] == '.') {
            continue;
        }
        strbuf_addf(&path, "%s/%s", folder, f->d_name);
        if (!path.failed) {
            on_file(ctx, strbuf_cstr(&path));
        }
        strbuf_release(&path);
    }
    if (d) {
        closedir(d);
    }
}

/* Removes a file in tmp unless its writer lives, who holds a lock on it. */
static void remove_if_dead(void *ctx, const char *path) {
    (void)ctx;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return;
    }
    struct stat ours, there;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 && lstat(path, &there) == 0 &&
        ours.st_ino == there.st_ino) {
        (void)unlink(path);
    }
    close(fd);
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static void note_file(void *ctx, const char *path) {
    struct trim *t = ctx;
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        return;
    }
    if ((ends_with(path, ".use") && t->now - st.st_mtime > USE_SECONDS) ||
        (ends_with(path, ".miss") && t->now - st.st_mtime > MISS_SECONDS)) {
        (void)unlink(path);
    }
    if (!ends_with(path, ".index") && !ends_with(path, ".debug")) {
        return;
    }
    t->total += (uint64_t)st.st_size;
    struct stored_entry e = {strdup(path), (uint64_t)st.st_size, st.st_mtime};
    if (!e.path || !VEC_PUSH(&t->entries, e)) {
        free(e.path);
    }
}

static int by_use(const void *a, const void *b) {
    const struct stored_entry *x = a, *y = b;
    int order = COMPARE(x->used, y->used);
    return order ? order : strcmp(x->path, y->path);
}

/* Visits the files of a folder that is named by two hexadecimal digits, in which indexes lie. */
static void note_folder(void *ctx, const char *path) {
    const char *name = strrchr(path, '/') + 1;
    if (strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2) {
        each_file(path, O_NOFOLLOW, note_file, ctx);
    }
}

static void evict(struct trim *t, const char *path, uint64_t cap) {
    each_file(path, 0, note_folder, t);
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
        each_file(strbuf_cstr(&tmp), O_NOFOLLOW, remove_if_dead, NULL);
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
