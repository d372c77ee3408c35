/* Finds the lock, thread or input for which a thread is blocked. */
#include "linux/thread_wait_linux.h"

#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/rec_text.h"

enum {
    PATH_ROOM = 64,
    TARGET_ROOM = 64,
    POLLED_MAX = 16, /* descriptors of a poll that are looked at */
    SET_WORD = 64    /* descriptors of a select that are looked at */
};

/* Reads the name of the process's descriptor, such as "pipe:[1234]", into `target`; a longer name
 * is cut. False: it has no name, or the name may not be read. */
static bool descriptor_name_async(pid_t pid, uint64_t descriptor, char target[TARGET_ROOM]) {
    char path[PATH_ROOM];
    char *at = rec_put_text(path, "/proc/");
    at = rec_put_number(at, (uint64_t)pid);
    at = rec_put_text(at, "/fd/");
    rec_put_number(at, descriptor);
    ssize_t n = readlink(path, target, TARGET_ROOM - 1);
    target[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool is_terminal(const char *name) {
    static const char *const terminals[] = {"/dev/pts/", "/dev/tty", "/dev/console"};
    for (size_t i = 0; i < sizeof terminals / sizeof *terminals; i++) {
        if (rec_skip_text(name, terminals[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_pipe_or_socket(const char *name) {
    return rec_skip_text(name, "pipe:[") != NULL || rec_skip_text(name, "socket:[") != NULL;
}

/* Returns which input comes through a descriptor. */
static enum rec_wait_kind input_of_async(pid_t pid, uint64_t descriptor) {
    char name[TARGET_ROOM], input[TARGET_ROOM];
    if (!descriptor_name_async(pid, descriptor, name)) {
        return REC_WAIT_NONE;
    }
    if (is_terminal(name)) {
        return REC_WAIT_TERMINAL;
    }
    bool same = is_pipe_or_socket(name) && descriptor_name_async(pid, STDIN_FILENO, input) &&
                strcmp(name, input) == 0;
    return same ? REC_WAIT_STDIN : REC_WAIT_NONE;
}

static enum rec_wait_kind polled_input_async(pid_t pid, const struct proc_syscall *call) {
    struct pollfd fds[POLLED_MAX];
    uint64_t count = call->args[1] < POLLED_MAX ? call->args[1] : POLLED_MAX;
    enum rec_wait_kind kind = REC_WAIT_NONE;
    if (count == 0 || !proc_read_memory_async(pid, call->args[0], fds, count * sizeof *fds)) {
        return REC_WAIT_NONE;
    }
    for (uint64_t i = 0; i < count && kind == REC_WAIT_NONE; i++) {
        if (fds[i].fd >= 0 && (fds[i].events & POLLIN) != 0) {
            kind = input_of_async(pid, (uint64_t)fds[i].fd);
        }
    }
    return kind;
}

static enum rec_wait_kind selected_input_async(pid_t pid, const struct proc_syscall *call) {
    uint64_t word, count = call->args[0] < SET_WORD ? call->args[0] : SET_WORD;
    enum rec_wait_kind kind = REC_WAIT_NONE;
    if (call->args[1] == 0 || !proc_read_memory_async(pid, call->args[1], &word, sizeof word)) {
        return REC_WAIT_NONE;
    }
    for (uint64_t i = 0; i < count && kind == REC_WAIT_NONE; i++) {
        if ((word >> i & 1) != 0) {
            kind = input_of_async(pid, i);
        }
    }
    return kind;
}

enum rec_wait_kind thread_input_async(pid_t pid, const struct proc_syscall *call) {
    switch (call->number) {
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        return input_of_async(pid, call->args[0]);
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        return polled_input_async(pid, call);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
        return selected_input_async(pid, call);
    default:
        return REC_WAIT_NONE;
    }
}

struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call) {
    struct rec_wait wait = lock_wait_async(layout, pid, waiter, call);
    if (wait.kind == REC_WAIT_NONE) {
        wait.kind = thread_input_async(pid, call);
    }
    return wait;
}
