/* Maps or reads whole files as read-only bytes. */
#include "base/filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/owned.h"
#include "base/strbuf.h"

#define DEFAULT_MAX (UINT64_C(64) << 30)

enum { READ_STEP = 64 * 1024 };

static const uint8_t no_bytes[1];

static enum st too_large(const char *path, uint64_t max, struct err *e) {
    return err_set(e, ERR_LIMIT, "'%s' is larger than %llu bytes", path, (unsigned long long)max);
}

/* Reads what cannot be mapped: pipes, devices, and files whose stated size is 0, as that of /proc's
 * files is. */
static enum st read_stream(struct filemap *m, int fd, const char *path, uint64_t max,
                           struct err *e) {
    struct strbuf all = {0};
    enum st st = ST_ERR;
    char *step = malloc(READ_STEP);
    if (!step) {
        return err_nomem(e);
    }
    for (;;) {
        ssize_t n = read(fd, step, READ_STEP);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            err_sys(e, errno, "cannot read '%s'", path);
            goto out;
        }
        if (n == 0) {
            break;
        }
        if ((uint64_t)n > max - all.len) {
            too_large(path, max, e);
            goto out;
        }
        strbuf_add(&all, step, (size_t)n);
        if (strbuf_check(&all, e) != ST_OK) {
            goto out;
        }
    }
    m->size = all.len;
    m->data = all.len ? (const uint8_t *)strbuf_take(&all) : no_bytes;
    m->mapped = false;
    st = ST_OK;
out:
    strbuf_release(&all);
    free(step);
    return st;
}

static enum st map_all(struct filemap *m, int fd, const char *path, uint64_t size, struct err *e) {
    if (size > SIZE_MAX) {
        return too_large(path, SIZE_MAX, e);
    }
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        return err_sys(e, errno, "cannot map '%s'", path);
    }
    m->data = p;
    m->size = (size_t)size;
    m->mapped = true;
    return ST_OK;
}

/* Maps or reads an open file. */
static enum st take_file(struct filemap *m, int fd, const struct stat *info, const char *path,
                         uint64_t max, struct err *e) {
    if (S_ISDIR(info->st_mode)) {
        return err_set(e, ERR_IO, "'%s' is a folder", path);
    }
    if (S_ISREG(info->st_mode) && (uint64_t)info->st_size > max) {
        return too_large(path, max, e);
    }
    if (S_ISREG(info->st_mode) && info->st_size > 0) {
        return map_all(m, fd, path, (uint64_t)info->st_size, e);
    }
    return read_stream(m, fd, path, max, e);
}

/* What a file must be to be mapped or read. */
enum file_rule { FILE_ANY, FILE_REGULAR, FILE_OWNED };

static enum st open_by_rule(struct filemap *m, const char *path, enum file_rule rule,
                            uint64_t max_size, struct err *e) {
    static const int more_flags[] = {[FILE_ANY] = 0,
                                     [FILE_REGULAR] =
                                         O_NONBLOCK, /* open(2) of a pipe would wait for a writer */
                                     [FILE_OWNED] = O_NONBLOCK | O_NOFOLLOW};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | more_flags[rule]);
    if (fd < 0) {
        if (errno == ENOENT || errno == ENOTDIR || (rule == FILE_OWNED && errno == ELOOP)) {
            return ST_NONE;
        }
        return err_sys(e, errno, "cannot open '%s'", path);
    }
    struct stat info;
    enum st st;
    if (fstat(fd, &info) != 0) {
        st = err_sys(e, errno, "cannot read '%s'", path);
    } else if (rule == FILE_OWNED && !(S_ISREG(info.st_mode) && owned_alone(&info))) {
        st = ST_NONE;
    } else if (rule == FILE_REGULAR && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        st = err_set(e, ERR_IO, "'%s' is no regular file", path);
    } else {
        st = take_file(m, fd, &info, path, max_size ? max_size : DEFAULT_MAX, e);
    }
    close(fd);
    return st;
}

enum st filemap_open(struct filemap *m, const char *path, uint64_t max_size, struct err *e) {
    return open_by_rule(m, path, FILE_ANY, max_size, e);
}

enum st filemap_open_regular(struct filemap *m, const char *path, uint64_t max_size,
                             struct err *e) {
    return open_by_rule(m, path, FILE_REGULAR, max_size, e);
}

enum st filemap_open_owned(struct filemap *m, const char *path, uint64_t max_size, struct err *e) {
    return open_by_rule(m, path, FILE_OWNED, max_size, e);
}

void filemap_release(struct filemap *m) {
    if (m->mapped) {
        /* The cast drops const, as munmap and free take pointers to non-const. */
        munmap((void *)(uintptr_t)m->data, m->size);
    } else if (m->data != no_bytes) {
        free((void *)(uintptr_t)m->data);
    }
    *m = (struct filemap){0};
}

void filemap_forget(const struct filemap *m) {
    if (m->mapped) {
        /* The mapped pages are unchanged copies of the file. If madvise fails, they only stay in
         * memory. */
        (void)madvise((void *)(uintptr_t)m->data, m->size, MADV_DONTNEED);
    }
}

bool filemap_is_stored(const char *path) {
    struct statvfs fs;
    return statvfs(path, &fs) != 0 || fs.f_blocks > 0;
}
