/* Finds the lock, thread or input for which a thread is blocked. */
#include "linux/thread_wait_linux.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/rec_text.h"

enum { PATH_ROOM = 64, TARGET_ROOM = 64 };

static bool is_read(int64_t number) {
    return number == SYS_read || number == SYS_readv || number == SYS_recvfrom ||
           number == SYS_recvmsg;
}

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

static enum rec_wait_kind input_kind_async(pid_t pid, const struct proc_syscall *call) {
    char name[TARGET_ROOM], input[TARGET_ROOM];
    if (!is_read(call->number) || !descriptor_name_async(pid, call->args[0], name)) {
        return REC_WAIT_NONE;
    }
    if (is_terminal(name)) {
        return REC_WAIT_TERMINAL;
    }
    bool same = is_pipe_or_socket(name) && descriptor_name_async(pid, STDIN_FILENO, input) &&
                strcmp(name, input) == 0;
    return same ? REC_WAIT_STDIN : REC_WAIT_NONE;
}

struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call) {
    struct rec_wait wait = lock_wait_async(layout, pid, waiter, call);
    if (wait.kind == REC_WAIT_NONE) {
        wait.kind = input_kind_async(pid, call);
    }
    return wait;
}
