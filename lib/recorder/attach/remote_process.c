/* Reads another process: proc(5), process_vm_readv(2), pidfd_open(2). */
#include "attach/remote_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/proc_linux.h"
#include "linux/signal_linux.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* the number is the same on every processor */
#endif

enum {
    COPY_AT_ONCE = 64 * 1024, /* the most bytes that one call of stack_copy_mapped_async copies */
    CHILDREN_TEXT = 16 * 1024 /* bytes read at a time of a thread's list of children */
};

bool remote_process_is_foreign(void) {
    pid_t listed = proc_listed_pid_async();
    return listed != 0 && listed != getpid();
}

bool remote_process_open(struct remote_process *process, pid_t pid) {
    char path[32];
    *process = REMOTE_PROCESS_NONE;
    process->pid = pid;
    if (remote_process_is_foreign()) {
        errno = ESRCH;
        return false;
    }
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    process->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process->folder < 0) {
        errno = errno == ENOENT ? ESRCH : errno;
        return false;
    }
    process->ends_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process->ends_fd < 0) {
        int why = errno;
        remote_process_close(process);
        errno = why;
        return false;
    }
    fcntl(process->ends_fd, F_SETFD, FD_CLOEXEC);
    return true;
}

void remote_process_close(struct remote_process *process) {
    if (process->folder >= 0) {
        close(process->folder);
    }
    if (process->ends_fd >= 0) {
        close(process->ends_fd);
    }
    *process = REMOTE_PROCESS_NONE;
}

bool remote_process_ended(const struct remote_process *process) {
    struct pollfd end = {.fd = process->ends_fd, .events = POLLIN};
    return poll(&end, 1, 0) == 1;
}

int remote_process_file(const struct remote_process *process, const char *name) {
    return openat(process->folder, name, O_RDONLY | O_CLOEXEC);
}

int remote_thread_file(const struct remote_process *process, pid_t tid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "task/%d/%s", (int)tid, name);
    return remote_process_file(process, path);
}

uint64_t remote_process_inode(const struct remote_process *process, uint32_t descriptor) {
    char name[32];
    struct stat sb;
    snprintf(name, sizeof name, "fd/%u", (unsigned)descriptor);
    bool known = fstatat(process->folder, name, &sb, 0) == 0 && (sb.st_mode & S_IFMT) != 0;
    return known ? (uint64_t)sb.st_ino : 0;
}

bool remote_process_is_open(const struct remote_process *process, uint32_t descriptor) {
    char name[32];
    struct stat sb;
    snprintf(name, sizeof name, "fd/%u", (unsigned)descriptor);
    return fstatat(process->folder, name, &sb, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

size_t remote_text(int fd, char *text, size_t room) {
    ssize_t n = fd < 0 ? -1 : pread(fd, text, room - 1, 0);
    size_t size = n > 0 ? (size_t)n : 0;
    text[size] = '\0';
    return size;
}

bool remote_number(const char *text, uint64_t *value) {
    const char *at = text;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *value = *value * 10 + digit;
    }
    return at > text;
}

void remote_process_program(const struct remote_process *process, char *path, size_t room) {
    static const char deleted[] = " (deleted)";
    ssize_t n = readlinkat(process->folder, "exe", path, room - 1);
    size_t size = n > 0 ? (size_t)n : 0, mark = sizeof deleted - 1;
    path[size] = '\0';
    if (size > mark && strcmp(path + size - mark, deleted) == 0) {
        path[size - mark] = '\0';
    }
}

bool remote_read(const struct remote_process *process, uint64_t address, void *to, size_t size) {
    return proc_read_memory_async(process->pid, address, to, size);
}

size_t remote_read_some(const struct remote_process *process, uint64_t address, uint8_t *to,
                        size_t size) {
    size_t done = 0;
    while (done < size) {
        size_t want = size - done < COPY_AT_ONCE ? size - done : COPY_AT_ONCE;
        size_t got = (size_t)stack_copy_mapped_async(process->pid, to + done, address + done, want);
        done += got;
        if (got < want) {
            break;
        }
    }
    return done;
}

static int by_thread_id(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

size_t remote_threads(const struct remote_process *process, pid_t **out) {
    pid_t *ids = NULL;
    size_t count = 0, room = 0;
    int fd = openat(process->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder && fd >= 0) {
        close(fd);
    }
    for (struct dirent *e; folder && (e = readdir(folder)) != NULL;) {
        uint64_t id;
        if (!remote_number(e->d_name, &id) || id == 0 || id > INT32_MAX) {
            continue;
        }
        if (count == room) {
            room = room ? room * 2 : 64;
            pid_t *more = realloc(ids, room * sizeof *ids);
            if (!more) {
                break;
            }
            ids = more;
        }
        ids[count++] = (pid_t)id;
    }
    if (folder) {
        closedir(folder);
    }
    if (count > 1) {
        qsort(ids, count, sizeof *ids, by_thread_id);
    }
    *out = ids;
    return count;
}

/* Appends the numbers from 1 to INT32_MAX in a text to a list that grows. False: out of memory. */
static bool add_process_ids(const char *text, pid_t **ids, size_t *count) {
    size_t most = strlen(text) / 2 + 1;
    uint64_t id;
    pid_t *more = realloc(*ids, (*count + most) * sizeof **ids);
    if (!more) {
        return false;
    }
    *ids = more;
    while (remote_number(text, &id)) {
        if (id > 0 && id <= INT32_MAX) {
            more[(*count)++] = (pid_t)id;
        }
        text += strspn(text, "0123456789");
        text += strspn(text, " ");
    }
    return true;
}

/* Appends the ids in a file, each with a space behind it, to a list that grows. What is read at a
 * time may end within an id, whose first digits are kept for the next part. False: out of memory.
 */
static bool read_process_ids(int fd, pid_t **ids, size_t *count) {
    char text[CHILDREN_TEXT];
    size_t kept = 0;
    for (ssize_t n; (n = read(fd, text + kept, sizeof text - 1 - kept)) > 0;) {
        size_t size = kept + (size_t)n;
        text[size] = '\0';
        char *space = strrchr(text, ' ');
        size_t whole = space ? (size_t)(space - text) + 1 : 0;
        if (space) {
            *space = '\0';
        }
        if (space && !add_process_ids(text, ids, count)) {
            return false;
        }
        kept = size - whole;
        memmove(text, text + whole, kept);
    }
    return true;
}

size_t remote_children(const struct remote_process *process, pid_t **out) {
    pid_t *threads = NULL;
    size_t thread_count = remote_threads(process, &threads), count = 0;
    bool room = true;
    *out = NULL;
    for (size_t i = 0; i < thread_count && room; i++) {
        int fd = remote_thread_file(process, threads[i], "children");
        if (fd >= 0) {
            room = read_process_ids(fd, out, &count);
            close(fd);
        }
    }
    free(threads);
    return count;
}

bool remote_status_number(const char *status, const char *name, bool last, uint64_t *value) {
    const char *at = status;
    size_t size = strlen(name);
    bool found = false;
    while (at && strncmp(at, name, size) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    for (at = at ? at + size : NULL; at && (*at == '\t' || *at == ' ') && (last || !found);) {
        if (!remote_number(++at, value)) {
            return false;
        }
        found = true;
        at += strspn(at, "0123456789");
    }
    return found;
}
