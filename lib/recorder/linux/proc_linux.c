/* Reads /proc/self/task/TID/... without allocation. */
#include "linux/proc_linux.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/rec_text.h"

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

/* Returns the index of the space between name and state in a text of stat; `size` if there is
 * none. */
static size_t behind_name_async(const char *text, size_t size) {
    size_t at = size;
    /* The last ')' ends the name, because the name may contain further brackets. */
    while (at > 0 && text[at - 1] != ')') {
        at--;
    }
    return at == 0 || size - at < 2 || text[at] != ' ' ? size : at;
}

uint64_t proc_parse_start_async(const char *text, size_t size) {
    enum { FIELDS_BEFORE = 20 }; /* number of spaces from the name's end to field 22 of proc(5) */
    size_t at = behind_name_async(text, size);
    for (int spaces = 0; at < size; at++) {
        spaces += text[at] == ' ';
        if (spaces == FIELDS_BEFORE) {
            break;
        }
    }
    uint64_t value = 0;
    size_t first = at + 1;
    for (at = first; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
        value = value < UINT64_MAX / 16 ? value * 10 + (uint64_t)(text[at] - '0') : value;
    }
    return at > first && at < size && text[at] == ' ' ? value : UINT64_MAX;
}

enum rec_thread_state proc_parse_state_async(const char *text, size_t size) {
    size_t at = behind_name_async(text, size);
    if (at == size) {
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

bool proc_same_call_async(const struct proc_syscall *a, const struct proc_syscall *b) {
    return a->number == b->number && a->sp == b->sp && a->pc == b->pc &&
           memcmp(a->args, b->args, sizeof a->args) == 0;
}

bool proc_parse_dead_async(const char *text, size_t size) {
    size_t at = behind_name_async(text, size);
    return at < size && (text[at + 1] == 'Z' || text[at + 1] == 'X');
}

/* Reads the number after `key`, such as "\nSigBlk:\t". False: the text has no such number. */
static bool find_number_async(const char *text, size_t size, const char *key, unsigned base,
                              uint64_t *number) {
    struct text t = {text, text + size};
    size_t length = strlen(key);
    for (; (size_t)(t.end - t.at) > length; t.at++) {
        if (memcmp(t.at, key, length) == 0) {
            t.at += length;
            return take_number_async(&t, base, number);
        }
    }
    return false;
}

bool proc_parse_blocked_async(const char *text, size_t size, int signal_number) {
    uint64_t blocked;
    return !find_number_async(text, size, "\nSigBlk:\t", 16, &blocked) ||
           (blocked >> (signal_number - 1) & 1);
}

bool proc_parse_handling_async(const char *text, size_t size) {
    uint64_t blocked, caught;
    return !find_number_async(text, size, "\nSigBlk:\t", 16, &blocked) ||
           !find_number_async(text, size, "\nSigCgt:\t", 16, &caught) || (blocked & caught) != 0;
}

bool proc_parse_filtered_async(const char *text, size_t size) {
    uint64_t mode;
    return size == 0 || (find_number_async(text, size, "\nSeccomp:\t", 10, &mode) && mode != 0);
}

/* ---- the process in /proc ---- */

/* Returns the number at the end of a symbolic link's target; 0: there is none. */
static pid_t number_in_link_async(const char *path) {
    char target[64];
    ssize_t size = readlink(path, target, sizeof target);
    uint32_t number = 0;
    for (ssize_t i = 0; i < size; i++) {
        bool digit = target[i] >= '0' && target[i] <= '9';
        number = digit ? number * 10 + (uint32_t)(target[i] - '0') : 0;
    }
    return (pid_t)number;
}

pid_t proc_listed_pid_async(void) {
    return number_in_link_async("/proc/self");
}

char *proc_put_folder_async(char *to, pid_t pid) {
    if (pid == getpid()) {
        return rec_put_text(to, "/proc/self");
    }
    return rec_put_number(rec_put_text(to, "/proc/"), (uint64_t)pid);
}

/* Returns the id that /proc has for a thread of this process, if that is the main thread or the
 * calling one; else `tid`, also if that is no id, because gettid is refused. */
static pid_t listed_tid_async(pid_t tid) {
    if (tid <= 0) {
        return tid;
    }
    pid_t listed = tid == getpid()   ? proc_listed_pid_async()
                   : tid == gettid() ? number_in_link_async("/proc/thread-self")
                                     : 0;
    return listed != 0 ? listed : tid;
}

/* Writes "/proc/self/task/TID/NAME" to `path`; if it does not fit, `path` becomes "". */
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
    f->fd = rec_fd_hold_async(open(f->path, O_RDONLY | O_CLOEXEC));
}

void proc_file_open_async(struct proc_file *f, pid_t tid, const char *name) {
    make_path_async(f->path, sizeof f->path, listed_tid_async(tid), name);
    open_async(f);
}

void proc_file_close_async(struct proc_file *f) {
    rec_fd_close_async(&f->fd);
}

size_t proc_file_read_async(const struct proc_file *f, char *buffer, size_t size) {
    ssize_t n = !rec_fd_is_ours_async(&f->fd) ? -1 : pread(f->fd.fd, buffer, size, 0);
    return n > 0 ? (size_t)n : 0;
}

void proc_file_check_async(struct proc_file *f) {
    if (!rec_fd_is_ours_async(&f->fd)) {
        open_async(f); /* opens without closing the number, which another file may have by now */
    }
}

bool proc_read_memory_async(pid_t pid, uint64_t from, void *to, size_t size) {
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}
