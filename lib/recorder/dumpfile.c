/* Dumps as files in a folder. */
#include "dumpfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rec_gzip.h"
#include "rec_text.h"

/* "/stall-20261121T100000.123Z-01234567-4294967295.json.gz", and more digits than a seq can have.
 */
enum { NAME_MAX_LEN = 96 };

struct rec_dumpfile {
    size_t directory_len;
    bool plain;
    int fd;
    char path[REC_PATH_MAX + NAME_MAX_LEN];
    char temporary[REC_PATH_MAX + NAME_MAX_LEN];
    alignas(max_align_t) unsigned char gzip[];
};

size_t rec_dumpfile_size(void) {
    return sizeof(struct rec_dumpfile) + rec_gzip_size();
}

/* --- names
 * ---------------------------------------------------------------------------------------- */

static char *append(char *at, const char *text) {
    size_t len = strlen(text);
    memcpy(at, text, len + 1);
    return at + len;
}

static char *append_number(char *at, uint32_t value) {
    char text[11] = "";
    size_t i = sizeof text - 1;
    do {
        text[--i] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return append(at, text + i);
}

/* Sorts by time, needs no character that a shell or another file system minds. */
static void name_files(struct rec_dumpfile *file, const struct rec_dump *dump) {
    char time[REC_TIME_TEXT], id[REC_UUID_TEXT], stamp[REC_TIME_TEXT];
    rec_time_text(dump->wall_ms, time);
    size_t len = 0;
    for (const char *t = time; *t != '\0'; t++) {
        if (*t != '-' && *t != ':') {
            stamp[len++] = *t;
        }
    }
    stamp[len] = '\0';
    rec_uuid_text(dump->id, id);
    id[8] = '\0';

    char *at = append(file->path + file->directory_len, "/stall-");
    at = append(at, stamp);
    at = append(at, "-");
    at = append(at, id);
    at = append(at, "-");
    at = append_number(at, dump->stall.seq);
    append(at, file->plain ? ".json" : ".json.gz");

    /* Hidden, and not *.json: nothing that collects dumps takes it for one. */
    at = append(file->temporary + file->directory_len, "/.stall-");
    at = append(at, id);
    append(at, ".part");
}

/* --- start
 * ---------------------------------------------------------------------------------------- */

/* The folder's absolute path: the program may change its working directory later. */
static bool keep_directory(struct rec_dumpfile *file, const char *directory) {
    size_t len = 0;
    if (directory[0] != '/') {
        if (getcwd(file->path, REC_PATH_MAX) == NULL) {
            return false;
        }
        len = strlen(file->path);
        file->path[len++] = '/';
    }
    size_t more = strlen(directory);
    if (more == 0 || more >= REC_PATH_MAX - len) {
        errno = more == 0 ? ENOENT : ENAMETOOLONG;
        return false;
    }
    memcpy(file->path + len, directory, more + 1);
    file->directory_len = len + more;
    memcpy(file->temporary, file->path, file->directory_len + 1);
    return true;
}

static bool make_directory(const char *path) {
    struct stat st;
    if (mkdir(path, 0777) == 0) {
        return true;
    }
    if (errno != EEXIST) {
        return false;
    }
    if (stat(path, &st) != 0) {
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return access(path, W_OK | X_OK) == 0;
}

static bool discard(void *ctx, const void *bytes, size_t len) {
    (void)ctx, (void)bytes, (void)len;
    return true;
}

enum stallrec_error rec_dumpfile_init(struct rec_dumpfile **out, void *memory,
                                      const char *directory, uint32_t flags) {
    struct rec_dumpfile *file = memory;
    if (!keep_directory(file, directory) || !make_directory(file->path)) {
        return STALLREC_ERR_DIRECTORY;
    }
    /* A zlib that does not work in our memory is no reason to lose dumps. */
    struct rec_out nowhere = {.write = discard};
    struct rec_gzip *gzip = rec_gzip_open(file->gzip, &nowhere);
    file->plain = (flags & STALLREC_PLAIN_JSON) != 0 || gzip == NULL || !rec_gzip_close(gzip);
    *out = file;
    return STALLREC_OK;
}

/* --- writing
 * -------------------------------------------------------------------------------------- */

static bool write_fd(void *ctx, const void *bytes, size_t len) {
    const struct rec_dumpfile *file = ctx;
    const char *from = bytes;
    while (len > 0) {
        ssize_t n = write(file->fd, from, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        from += n;
        len -= (size_t)n;
    }
    return true;
}

static bool encode(struct rec_dumpfile *file, const struct rec_dump *dump,
                   const struct rec_about *about) {
    struct rec_out out = {.write = write_fd, .ctx = file};
    if (file->plain) {
        rec_dump_json(&out, dump, about);
        return !out.failed;
    }
    struct rec_gzip *gzip = rec_gzip_open(file->gzip, &out);
    if (gzip == NULL) {
        errno = ENOMEM;
        return false;
    }
    rec_dump_json(rec_gzip_out(gzip), dump, about);
    return rec_gzip_close(gzip);
}

enum stallrec_error rec_dumpfile_write(struct rec_dumpfile *file, const struct rec_dump *dump,
                                       const struct rec_about *about, const char **path) {
    name_files(file, dump);
    if (path != NULL) {
        *path = file->path;
    }
    file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        return STALLREC_ERR_WRITE;
    }
    bool ok = encode(file, dump, about);
    int why = errno;
    if (close(file->fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && rename(file->temporary, file->path) != 0) {
        ok = false;
        why = errno;
    }
    if (!ok) {
        unlink(file->temporary);
        errno = why;
    }
    return ok ? STALLREC_OK : STALLREC_ERR_WRITE;
}
