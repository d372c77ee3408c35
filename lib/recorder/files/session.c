/* Writes the record of a session into its file, and gives the files of dead processes their final
 * names. */
#include "files/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files/folder.h"
#include "files/retention.h"

static bool to_text(void *ctx, const void *bytes, size_t len) {
    struct rec_session_file *file = ctx;
    if (len > sizeof file->text - file->len) {
        errno = EFBIG;
        return false;
    }
    memcpy(file->text + file->len, bytes, len);
    file->len += (uint32_t)len;
    return true;
}

static struct flock whole_file(void) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* Opens the session's file again after the program closed its descriptor, which also released the
 * lock. The file has its final name if another process took this process for dead. Another file of
 * that name is left alone. False: neither name is that of the session's own file, or it cannot be
 * opened. */
static bool open_again(struct rec_session_file *file, int dir, const struct rec_session *session) {
    struct flock lock = whole_file();
    struct rec_fd before = file->fd;
    for (int live = 1; live >= 0; live--) {
        char name[REC_FILE_NAME];
        rec_session_name(name, session->id, session->start_ms, live);
        struct rec_fd fd =
            rec_fd_hold_async(openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        if (fd.fd >= 0 && fd.device == before.device && fd.inode == before.inode) {
            fcntl(fd.fd, F_SETLK, &lock);
            file->fd = fd;
            return true;
        }
        rec_fd_close_async(&fd);
    }
    return false;
}

bool rec_session_update(struct rec_session_file *file, int dir, const struct rec_session *session,
                        const struct rec_about *about) {
    struct rec_out out = {.write = to_text, .ctx = file};
    uint32_t before = file->len;
    if (file->fd.fd < 0 || (!rec_fd_is_ours_async(&file->fd) && !open_again(file, dir, session))) {
        return false;
    }
    file->len = 0;
    rec_session_json(&out, session, about);
    if (out.failed) {
        file->len = before;
        return false;
    }
    /* The text is padded to the length of the earlier one, so that no part of the earlier text is
     * left after it. */
    while (file->len < before && file->len < sizeof file->text) {
        file->text[file->len - 1] = ' ';
        file->text[file->len++] = '\n';
    }
    return pwrite(file->fd.fd, file->text, file->len, 0) == (ssize_t)file->len;
}

bool rec_session_open(struct rec_session_file *file, int dir, uint32_t mode,
                      const struct rec_session *session, const struct rec_about *about) {
    char name[REC_FILE_NAME];
    struct flock lock = whole_file();
    rec_session_name(name, session->id, session->start_ms, true);
    file->len = 0;
    file->fd = rec_fd_hold_async(
        openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, rec_file_mode(mode)));
    if (file->fd.fd < 0) {
        return false;
    }
    fcntl(file->fd.fd, F_SETLK, &lock); /* the lock lasts as long as this process */
    if (!rec_session_update(file, dir, session, about)) {
        int why = errno;
        unlinkat(dir, name, 0);
        rec_fd_close_async(&file->fd);
        errno = why;
        return false;
    }
    return true;
}

bool rec_session_close(struct rec_session_file *file, int dir, const struct rec_session *session,
                       const struct rec_about *about) {
    char live[REC_FILE_NAME], final[REC_FILE_NAME];
    if (file->fd.fd < 0) {
        return false;
    }
    rec_session_name(live, session->id, session->start_ms, true);
    rec_session_name(final, session->id, session->start_ms, false);
    bool ok = rec_session_update(file, dir, session, about);
    ok = renameat(dir, live, dir, final) == 0 && ok;
    rec_fd_close_async(&file->fd);
    return ok;
}

/* ---- sessions of dead processes ---- */

/* Sets final to the final name of the file ".session-….live"; false for any other file name. */
static bool final_name(const char *live, char final[REC_FILE_NAME]) {
    size_t len = strlen(live), end = sizeof ".live" - 1;
    if (live[0] != '.' || len <= end + 1 || len >= REC_FILE_NAME ||
        strcmp(live + len - end, ".live") != 0) {
        return false;
    }
    memcpy(final, live + 1, len - end - 1);
    memcpy(final + len - end - 1, ".json", sizeof ".json"); /* ".json" is as long as ".live" */
    return rec_file_name_read(final).kind == REC_FILE_SESSION;
}

/* Does the file end in a complete line? It is empty if the process was killed before its first
 * write. False, too, if it cannot be read. */
static bool session_is_whole(int dir, const char *name) {
    char last = '\0';
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    off_t end = lseek(fd, 0, SEEK_END);
    bool whole = end > 0 && pread(fd, &last, 1, end - 1) == 1 && last == '\n';
    close(fd);
    return whole;
}

void rec_session_recover(int dir) {
    char final[REC_FILE_NAME];
    DIR *folder = rec_folder_list(dir);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        if (!final_name(e->d_name, final) || rec_file_is_held(dir, e->d_name)) {
            continue;
        }
        if (session_is_whole(dir, e->d_name)) {
            renameat(dir, e->d_name, dir, final);
        } else {
            unlinkat(dir, e->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}
