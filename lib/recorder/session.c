/* The record of a session in its file. */
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "retention.h"

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

bool rec_session_update(struct rec_session_file *file, const struct rec_session *session,
                        const struct rec_about *about) {
    struct rec_out out = {.write = to_text, .ctx = file};
    uint32_t before = file->len;
    if (file->fd < 0) {
        return false;
    }
    file->len = 0;
    rec_session_json(&out, session, about);
    if (out.failed) {
        file->len = before;
        return false;
    }
    /* Never shorter than before: nothing of the old text stands behind the new. */
    while (file->len < before && file->len < sizeof file->text) {
        file->text[file->len - 1] = ' ';
        file->text[file->len++] = '\n';
    }
    return pwrite(file->fd, file->text, file->len, 0) == (ssize_t)file->len;
}

bool rec_session_open(struct rec_session_file *file, int dir, const struct rec_session *session,
                      const struct rec_about *about) {
    char name[REC_FILE_NAME];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    rec_session_name(name, session->id, session->start_ms, true);
    file->len = 0;
    file->fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file->fd < 0) {
        return false;
    }
    fcntl(file->fd, F_SETLK, &lock); /* as long as this process lives */
    if (!rec_session_update(file, session, about)) {
        int why = errno;
        unlinkat(dir, name, 0);
        close(file->fd);
        file->fd = -1;
        errno = why;
        return false;
    }
    return true;
}

bool rec_session_close(struct rec_session_file *file, int dir, const struct rec_session *session,
                       const struct rec_about *about) {
    char live[REC_FILE_NAME], final[REC_FILE_NAME];
    if (file->fd < 0) {
        return false;
    }
    rec_session_name(live, session->id, session->start_ms, true);
    rec_session_name(final, session->id, session->start_ms, false);
    bool ok = rec_session_update(file, session, about);
    ok = renameat(dir, live, dir, final) == 0 && ok;
    close(file->fd);
    file->fd = -1;
    return ok;
}

/* ---- sessions of the dead ---- */

/* The final name of ".session-….live"; false for any other file. */
static bool final_name(const char *live, char final[REC_FILE_NAME]) {
    size_t len = strlen(live), end = sizeof ".live" - 1;
    if (live[0] != '.' || len <= end + 1 || len >= REC_FILE_NAME ||
        strcmp(live + len - end, ".live") != 0) {
        return false;
    }
    memcpy(final, live + 1, len - end - 1);
    memcpy(final + len - end - 1, ".json", sizeof ".json"); /* as long as ".live" */
    return rec_file_name_read(final).kind == REC_FILE_SESSION;
}

/* Has it a whole line? One that was killed before its first write is empty. */
static bool is_whole(int dir, const char *name) {
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
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        if (!final_name(e->d_name, final) || rec_file_is_held(dir, e->d_name)) {
            continue;
        }
        if (is_whole(dir, e->d_name)) {
            renameat(dir, e->d_name, dir, final);
        } else {
            unlinkat(dir, e->d_name, 0);
        }
    }
    closedir(folder);
}
