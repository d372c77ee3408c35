/* Writes dumps as files into a folder. */
#include "files/dumpfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/dumpname.h"
#include "support/rec_gzip.h"
#include "support/rec_text.h"
#include "support/rec_fd.h"

struct rec_dumpfile {
    size_t directory_len;
    bool plain;
    uint32_t mode; /* file_mode of struct stallrec_config */
    int fd;
    char path[REC_PATH_MAX + REC_FILE_NAME + 1];
    char temporary[REC_PATH_MAX + REC_FILE_NAME + 1];
    alignas(max_align_t) unsigned char gzip[];
};

size_t rec_dumpfile_size(void) {
    return sizeof(struct rec_dumpfile) + rec_gzip_size();
}

/* ---- names ---- */

static void name_files(struct rec_dumpfile *file, const struct rec_dump *dump, bool local) {
    char *at = file->path + file->directory_len;
    *at++ = '/';
    rec_dump_name(at, dump, local, !file->plain);

    /* The temporary name is hidden and does not end in .json, so that collectors of dumps skip the
     * unfinished file. */
    at = file->temporary + file->directory_len;
    memcpy(at, "/.stall-", 8);
    rec_hex_text(dump->id, 4, at + 8);
    memcpy(at + 16, ".part", 6);
}

/* ---- start ---- */

/* Stores the folder's absolute path, since the program may change its working directory later.
 * False: the path is empty or too long, or the working directory is not known; see errno. */
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

/* Makes the folder, with access for the owner and for those who may read the files; an existing
 * folder keeps its mode. False (errno): it cannot be made, is no folder, or cannot be written
 * to. */
static bool make_directory(const char *path, uint32_t mode) {
    struct stat st;
    if (mkdir(path, rec_folder_mode(mode)) == 0) {
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
                                      const char *directory, uint32_t flags, uint32_t mode) {
    struct rec_dumpfile *file = memory;
    if (!keep_directory(file, directory) || !make_directory(file->path, mode)) {
        return STALLREC_ERR_DIRECTORY;
    }
    /* If zlib refuses this memory, no dump is lost: dumps are written uncompressed. */
    struct rec_out nowhere = {.write = discard};
    struct rec_gzip *gzip = rec_gzip_open(file->gzip, &nowhere);
    file->plain = (flags & STALLREC_PLAIN_JSON) != 0 || gzip == NULL || !rec_gzip_close(gzip);
    file->mode = mode;
    *out = file;
    return STALLREC_OK;
}

/* ---- writing ---- */

static bool write_fd(void *ctx, const void *bytes, size_t len) {
    const struct rec_dumpfile *file = ctx;
    return rec_write_all(file->fd, bytes, len);
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

const char *rec_dumpfile_directory(const struct rec_dumpfile *file, char path[REC_PATH_MAX]) {
    memcpy(path, file->path, file->directory_len);
    path[file->directory_len] = '\0';
    return path;
}

enum stallrec_error rec_dumpfile_write(struct rec_dumpfile *file, const struct rec_dump *dump,
                                       const struct rec_about *about, const char **path) {
    name_files(file, dump, about->over_quota);
    if (path != NULL) {
        *path = file->path;
    }
    file->fd =
        open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rec_file_mode(file->mode));
    if (file->fd < 0) {
        return STALLREC_ERR_WRITE;
    }
    /* The lock, which ends with the process, tells other processes that the file is in use. */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(file->fd, F_SETLK, &lock);
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
