/* Reading /proc/self/task/TID/... without allocation. */
#include "proc_linux.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct text {
    const char *at, *end;
};

static bool take_char_async(struct text *t, char c) {
    if (t->at == t->end || *t->at != c) {
        return false;
    }
    t->at++;
    return true;
}

static int digit_async(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static bool take_number_async(struct text *t, unsigned base, uint64_t *value) {
    const char *from = t->at;
    *value = 0;
    while (t->at < t->end && digit_async(*t->at) < (int)base && t->at - from < 16) {
        *value = *value * base + (uint64_t)digit_async(*t->at++);
    }
    return t->at > from;
}

static bool take_hex_async(struct text *t, uint64_t *value) {
    return take_char_async(t, ' ') && take_char_async(t, '0') && take_char_async(t, 'x') &&
           take_number_async(t, 16, value);
}

bool proc_parse_syscall_async(const char *text, size_t size, struct proc_syscall *out) {
    struct text t = {text, text + size};
    struct proc_syscall call = {.number = -1};
    if (take_char_async(&t, '-')) {
        if (!take_char_async(&t, '1')) {
            return false;
        }
    } else {
        uint64_t number;
        if (!take_number_async(&t, 10, &number) || number > INT32_MAX) {
            return false;
        }
        call.number = (int64_t)number;
        for (unsigned i = 0; i < 6; i++) {
            if (!take_hex_async(&t, &call.args[i])) {
                return false;
            }
        }
    }
    if (!take_hex_async(&t, &call.sp) || !take_hex_async(&t, &call.pc) ||
        !take_char_async(&t, '\n') || t.at != t.end) {
        return false;
    }
    *out = call;
    return true;
}

enum rec_thread_state proc_parse_state_async(const char *text, size_t size) {
    size_t at = size;
    while (at > 0 && text[at - 1] != ')') { /* the last one: the name may hold others */
        at--;
    }
    if (at == 0 || size - at < 2 || text[at] != ' ') {
        return REC_STATE_UNKNOWN;
    }
    switch (text[at + 1]) {
    case 'R':
        return REC_STATE_RUNNING;
    case 'S':
        return REC_STATE_WAITING;
    case 'D':
        return REC_STATE_BLOCKED;
    case 'T':
    case 't':
        return REC_STATE_STOPPED;
    default:
        return REC_STATE_UNKNOWN;
    }
}

bool proc_parse_blocked_async(const char *text, size_t size, int signal_number) {
    static const char key[] = "\nSigBlk:\t";
    struct text t = {text, text + size};
    for (; (size_t)(t.end - t.at) > sizeof key; t.at++) {
        uint64_t mask;
        if (memcmp(t.at, key, sizeof key - 1) == 0) {
            t.at += sizeof key - 1;
            return !take_number_async(&t, 16, &mask) || (mask >> (signal_number - 1) & 1);
        }
    }
    return true;
}

/* "/proc/self/task/TID/NAME"; empty if it has no room. */
static void make_path_async(char *path, size_t room, pid_t tid, const char *name) {
    static const char folder[] = "/proc/self/task/";
    char digits[12];
    size_t n = sizeof digits, size = sizeof folder - 1, name_size = strlen(name) + 1;
    uint32_t left = tid > 0 ? (uint32_t)tid : 0;
    do {
        digits[--n] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    *path = '\0';
    if (size + (sizeof digits - n) + 1 + name_size > room) {
        return;
    }
    memcpy(path, folder, size);
    memcpy(path + size, digits + n, sizeof digits - n);
    size += sizeof digits - n;
    path[size++] = '/';
    memcpy(path + size, name, name_size);
}

static void open_async(struct proc_file *f) {
    struct stat sb;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd >= 0 && fstat(f->fd, &sb) == 0) {
        f->device = sb.st_dev;
        f->inode = sb.st_ino;
    }
}

static bool is_open_async(const struct proc_file *f) {
    struct stat sb;
    return f->fd >= 0 && fstat(f->fd, &sb) == 0 && sb.st_dev == f->device && sb.st_ino == f->inode;
}

void proc_file_open_async(struct proc_file *f, pid_t tid, const char *name) {
    make_path_async(f->path, sizeof f->path, tid, name);
    open_async(f);
}

void proc_file_close_async(struct proc_file *f) {
    if (is_open_async(f)) {
        close(f->fd);
    }
    f->fd = -1;
}

size_t proc_file_read_async(const struct proc_file *f, char *buffer, size_t size) {
    ssize_t n = !is_open_async(f) ? -1 : pread(f->fd, buffer, size, 0);
    return n > 0 ? (size_t)n : 0;
}

void proc_file_check_async(struct proc_file *f) {
    if (!is_open_async(f)) {
        open_async(f); /* the number is not ours any more, so it is not closed */
    }
}
