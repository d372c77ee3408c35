/* Finds the lock, thread or input for which a thread is blocked. */
#include "linux/thread_wait_linux.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/rec_text.h"

enum {
    PATH_ROOM = 64,
    TARGET_ROOM = 64,
    POLLED_MAX = 16, /* maximum number of descriptors of a poll that are looked at */
    SET_WORD = 64,   /* the descriptors of a select that are looked at are those below this
                        number */
    LOOKED_MAX = 32, /* maximum number of descriptors of a loop that are looked at */
    LINE_ROOM = 256, /* size of a line of a file of /proc, with its NUL; a longer line is cut */
    PIECE_ROOM = 4096,
    BYTES_MAX = 1 << 20 /* maximum number of bytes of a file of /proc that are looked at */
};

/* ---- descriptors ---- */

/* Writes the path of the process's folder with `rest` after it, and a number after that. */
static void make_proc_path_async(char path[PATH_ROOM], pid_t pid, const char *rest,
                                 uint64_t number) {
    rec_put_number(rec_put_text(proc_put_folder_async(path, pid), rest), number);
}

/* Reads the name of the process's descriptor, such as "pipe:[1234]", into `target`; a longer name
 * is cut. False: it has no name, or the name may not be read. */
static bool descriptor_name_async(pid_t pid, uint64_t descriptor, char target[TARGET_ROOM]) {
    char path[PATH_ROOM];
    make_proc_path_async(path, pid, "/fd/", descriptor);
    ssize_t n = readlink(path, target, TARGET_ROOM - 1);
    target[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool is_terminal_async(const char *name) {
    static const char *const terminals[] = {"/dev/pts/", "/dev/tty", "/dev/console"};
    for (size_t i = 0; i < sizeof terminals / sizeof *terminals; i++) {
        if (rec_skip_text(name, terminals[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_pipe_or_socket_async(const char *name) {
    return rec_skip_text(name, "pipe:[") != NULL || rec_skip_text(name, "socket:[") != NULL;
}

/* ---- input ---- */

/* Returns which input comes through a descriptor. */
static enum rec_wait_kind input_of_async(pid_t pid, uint64_t descriptor) {
    char name[TARGET_ROOM], input[TARGET_ROOM];
    if (!descriptor_name_async(pid, descriptor, name)) {
        return REC_WAIT_NONE;
    }
    if (is_terminal_async(name)) {
        return REC_WAIT_TERMINAL;
    }
    bool same = is_pipe_or_socket_async(name) && descriptor_name_async(pid, STDIN_FILENO, input) &&
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

/* ---- lines of /proc ---- */

/* Returns the field of a line with this number, from 0; "" if there are fewer. */
static const char *line_field_async(const char *line, unsigned number) {
    for (;; number--) {
        while (*line == ' ' || *line == '\t') {
            line++;
        }
        if (number == 0 || *line == '\0') {
            return line;
        }
        while (*line != ' ' && *line != '\t' && *line != '\0') {
            line++;
        }
    }
}

/* Returns the number at the start of the text, and sets *end to what follows it. */
static uint64_t number_at_async(const char *text, unsigned base, const char **end) {
    uint64_t value = 0;
    int digit;
    for (; (digit = rec_any_hex_digit_async(*text)) >= 0 && (unsigned)digit < base; text++) {
        value = value * base + (unsigned)digit;
    }
    *end = text;
    return value;
}

typedef void (*line_fn)(void *arg, const char *line);

/* Calls take_async for each line in the first BYTES_MAX bytes of the file, without its newline and
 * cut to LINE_ROOM - 1 bytes; a last line without a newline is left out. */
static void read_lines_async(const char *path, line_fn take_async, void *arg) {
    char piece[PIECE_ROOM], line[LINE_ROOM];
    size_t used = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    for (off_t at = 0; at < BYTES_MAX && (n = pread(fd, piece, sizeof piece, at)) > 0; at += n) {
        for (ssize_t i = 0; i < n; i++) {
            if (piece[i] == '\n') {
                line[used] = '\0';
                take_async(arg, line);
                used = 0;
            } else if (used < sizeof line - 1) {
                line[used++] = piece[i];
            }
        }
    }
    close(fd);
}

/* ---- sockets ---- */

/* Sockets of a process, among which one that listens or was accepted is searched for. */
struct socket_search {
    uint64_t inodes[LOOKED_MAX];
    uint32_t count;
    uint64_t ports[LOOKED_MAX]; /* local ports of the TCP sockets that do not listen */
    uint32_t port_count;
    bool found;
};

static bool is_one_of_async(uint64_t value, const uint64_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == value) {
            return true;
        }
    }
    return false;
}

/* Looks at a line of /proc/PID/net/unix. An accepted socket has the name of the one that listens; a
 * client has no name, or one that the kernel made: "@" and five digits. */
static void take_unix_line_async(void *arg, const char *line) {
    enum { TYPE = 4, INODE = 6, NAME = 7, MADE = 6 };
    struct socket_search *s = arg;
    const char *end, *name = line_field_async(line, NAME);
    bool stream = number_at_async(line_field_async(line, TYPE), 16, &end) != 2;
    if (stream && *name != '\0' && (*name != '@' || strlen(name) != MADE) &&
        is_one_of_async(number_at_async(line_field_async(line, INODE), 10, &end), s->inodes,
                        s->count)) {
        s->found = true;
    }
}

enum { TCP_LOCAL = 1, TCP_STATE = 3, TCP_INODE = 9, TCP_LISTENS = 10 };

static uint64_t tcp_port_async(const char *line) {
    const char *end;
    number_at_async(line_field_async(line, TCP_LOCAL), 16, &end);
    return *end == ':' ? number_at_async(end + 1, 16, &end) : 0;
}

static bool tcp_listens_async(const char *line) {
    const char *end;
    return number_at_async(line_field_async(line, TCP_STATE), 16, &end) == TCP_LISTENS;
}

/* Looks at a line of /proc/PID/net/tcp for one of the sockets. */
static void take_tcp_line_async(void *arg, const char *line) {
    struct socket_search *s = arg;
    const char *end;
    uint64_t inode = number_at_async(line_field_async(line, TCP_INODE), 10, &end);
    if (inode == 0 || !is_one_of_async(inode, s->inodes, s->count)) {
        return;
    }
    if (tcp_listens_async(line)) {
        s->found = true;
    } else if (s->port_count < LOOKED_MAX) {
        s->ports[s->port_count++] = tcp_port_async(line);
    }
}

/* Looks at a line of /proc/PID/net/tcp for a socket that listens on the port of one of the
 * sockets, which was accepted from it. */
static void take_listener_line_async(void *arg, const char *line) {
    struct socket_search *s = arg;
    s->found |=
        tcp_listens_async(line) && is_one_of_async(tcp_port_async(line), s->ports, s->port_count);
}

static bool search_sockets_async(pid_t pid, struct socket_search *s) {
    static const struct {
        const char *name;
        line_fn take_async;
    } files[] = {{"/net/unix", take_unix_line_async},
                 {"/net/tcp", take_tcp_line_async},
                 {"/net/tcp6", take_tcp_line_async},
                 {"/net/tcp", take_listener_line_async},
                 {"/net/tcp6", take_listener_line_async}};
    for (size_t i = 0; i < sizeof files / sizeof *files && s->count > 0 && !s->found; i++) {
        char path[PATH_ROOM];
        rec_put_text(proc_put_folder_async(path, pid), files[i].name);
        if (files[i].take_async != take_listener_line_async || s->port_count > 0) {
            read_lines_async(path, files[i].take_async, s);
        }
    }
    return s->found;
}

/* ---- requests ---- */

/* Is the file a FIFO? It is opened by O_PATH alone, because another open could block. */
static bool is_fifo_async(pid_t pid, uint64_t descriptor) {
    char path[PATH_ROOM];
    struct stat sb;
    make_proc_path_async(path, pid, "/fd/", descriptor);
    int fd = open(path, O_PATH | O_CLOEXEC);
    bool is_fifo = fd >= 0 && fstat(fd, &sb) == 0 && S_ISFIFO(sb.st_mode);
    if (fd >= 0) {
        close(fd);
    }
    return is_fifo;
}

/* Do requests come through one of the descriptors? */
static bool take_requests_async(pid_t pid, const uint64_t *descriptors, uint32_t count) {
    static const char *const sources[] = {"anon_inode:inotify", "anon_inode:[signalfd]",
                                          "anon_inode:[fanotify]"};
    struct socket_search s = {.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        char name[TARGET_ROOM];
        const char *end;
        if (!descriptor_name_async(pid, descriptors[i], name)) {
            continue;
        }
        if (input_of_async(pid, descriptors[i]) != REC_WAIT_NONE ||
            (*name == '/' && is_fifo_async(pid, descriptors[i]))) {
            return true;
        }
        for (size_t k = 0; k < sizeof sources / sizeof *sources; k++) {
            if (strcmp(name, sources[k]) == 0) {
                return true;
            }
        }
        const char *inode = rec_skip_text(name, "socket:[");
        if (inode != NULL && s.count < LOOKED_MAX) {
            s.inodes[s.count++] = number_at_async(inode, 10, &end);
        }
    }
    return search_sockets_async(pid, &s);
}

/* ---- the loop ---- */

/* The descriptors for which a loop waits. */
struct loop_descriptors {
    uint64_t at[LOOKED_MAX];
    uint32_t count;
    uint64_t wanted; /* the descriptor that is looked for among all those of the loop */
    bool has_wanted;
};

static void add_loop_descriptor_async(struct loop_descriptors *d, uint64_t descriptor) {
    d->has_wanted |= descriptor == d->wanted;
    if (d->count < LOOKED_MAX) {
        d->at[d->count++] = descriptor;
    }
}

/* Looks at a line of /proc/PID/fdinfo of an epoll instance: "tfd:        5 events: …". */
static void take_epoll_line_async(void *arg, const char *line) {
    const char *number = rec_skip_text(line, "tfd:"), *end;
    if (number != NULL) {
        add_loop_descriptor_async(arg, number_at_async(line_field_async(number, 0), 10, &end));
    }
}

/* Does the set hold all descriptors, as the set of a call whose descriptors could not be read
 * does? */
static bool is_unread_async(const struct finder_object *object) {
    uint64_t all = UINT64_MAX;
    for (uint32_t i = 0; i < FINDER_SET_WORDS; i++) {
        all &= object->set[i];
    }
    return all == UINT64_MAX;
}

static void list_loop_async(pid_t pid, const struct finder_object *object,
                            struct loop_descriptors *out) {
    if (object->kind == FINDER_EPOLL) {
        char path[PATH_ROOM];
        make_proc_path_async(path, pid, "/fdinfo/", object->id);
        read_lines_async(path, take_epoll_line_async, out);
    }
    if (object->kind != FINDER_SET || is_unread_async(object)) {
        return;
    }
    for (uint32_t i = 0; i < FINDER_SET_WORDS * 64; i++) {
        if ((object->set[i / 64] >> i % 64 & 1) != 0) {
            add_loop_descriptor_async(out, i);
        }
    }
}

/* Is a wait that receives something part of a turn of the loop? It is if the loop waits for the
 * same descriptor (*continues), or, unless the wait is for what no other program sends (`own`), for
 * requests. */
static bool is_within_turn_async(pid_t pid, const struct finder_wait *loop, uint64_t descriptor,
                                 bool own, bool *continues) {
    struct loop_descriptors d = {.wanted = descriptor};
    if (loop == NULL) {
        return false;
    }
    list_loop_async(pid, &loop->object, &d);
    *continues = d.has_wanted;
    return d.has_wanted || (!own && (loop->object.kind == FINDER_SIGNALS ||
                                     take_requests_async(pid, d.at, d.count)));
}

/* ---- room ---- */

/* Returns the argument of a call that is the descriptor to which it writes; -1: it writes to
 * none. */
static int written_argument_async(int64_t number) {
    switch (number) {
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_vmsplice:
        return 0;
    case SYS_tee:
        return 1;
    case SYS_splice:
        return 2;
    default:
        return -1;
    }
}

bool thread_waits_for_room_async(pid_t pid, const struct proc_syscall *call) {
    char name[TARGET_ROOM];
    int written = written_argument_async(call->number);
    if (written >= 0) {
        uint64_t descriptor = (uint32_t)call->args[written];
        return descriptor_name_async(pid, descriptor, name) &&
               (is_pipe_or_socket_async(name) || is_terminal_async(name));
    }
    switch (call->number) {
    case SYS_msgsnd:
    case SYS_mq_timedsend:
    case SYS_flock:
        return true;
    case SYS_fcntl:
        return call->args[1] == F_SETLKW || call->args[1] == F_OFD_SETLKW;
    default:
        return false;
    }
}

/* ---- rests ---- */

enum receive_kind { RECEIVES_NOTHING, RECEIVES_CLIENTS, RECEIVES_DATA, RECEIVES_MESSAGES };

static enum receive_kind receive_kind_async(int64_t number) {
    switch (number) {
#ifdef SYS_accept
    case SYS_accept:
#endif
    case SYS_accept4:
        return RECEIVES_CLIENTS;
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
        return RECEIVES_DATA;
    case SYS_msgrcv:
    case SYS_mq_timedreceive:
        return RECEIVES_MESSAGES;
    default:
        return RECEIVES_NOTHING;
    }
}

/* Calls in which a thread may idle, besides those of receive_kind_async, futex(2) and
 * io_uring_enter(2). */
static const int16_t idle_calls[] = {
#ifdef SYS_pause
    SYS_pause,
#endif
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_select
    SYS_select,
#endif
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_wait4,           SYS_waitid,
    SYS_ppoll,         SYS_pselect6,        SYS_epoll_pwait,     SYS_nanosleep,
    SYS_semtimedop,    SYS_semop,           SYS_clock_nanosleep, SYS_io_getevents};

bool thread_may_idle_async(pid_t pid, const struct proc_syscall *call) {
    enum { MUTEX_WAITED = 2 };
    char name[TARGET_ROOM];
    if (call->number == SYS_futex) { /* mutexes of C libraries and languages wait while their word
                                        is 2 */
        return (uint32_t)call->args[2] != MUTEX_WAITED;
    }
    if (call->number == SYS_io_uring_enter) {
        return call->args[2] > 0; /* the number of events that it waits for */
    }
    for (size_t i = 0; i < sizeof idle_calls / sizeof *idle_calls; i++) {
        if (call->number == idle_calls[i]) {
            return true;
        }
    }
    enum receive_kind kind = receive_kind_async(call->number);
    bool stored = kind == RECEIVES_DATA &&
                  descriptor_name_async(pid, (uint32_t)call->args[0], name) && *name == '/' &&
                  rec_skip_text(name, "/dev/") == NULL;
    return kind != RECEIVES_NOTHING ? !stored : thread_waits_for_room_async(pid, call);
}

/* How much further out on the stack than the loop's wait a place has to be. */
enum farness {
    AS_FAR_OUT,
    FURTHER_OUT,
    CLEARLY_FURTHER_OUT /* by so much that both are no functions with one caller */
};

/* Is the place that far out on the stack? False if that is not known. Frames of an interpreter that
 * are known of one of both alone leave it unknown, but are not needed for FURTHER_OUT. */
static bool is_as_far_out_async(const struct finder_place *place, const struct finder_wait *loop,
                                enum farness far) {
    enum { CLEAR_BYTES = 512 };
    if (loop == NULL) {
        return true;
    }
    if (place->depth == 0 || loop->depth == 0) {
        return false;
    }
    bool comparable = (place->inner == 0) == (loop->inner == 0);
    if (comparable && place->inner != loop->inner) {
        return place->inner + (far == CLEARLY_FURTHER_OUT) < loop->inner;
    }
    switch (far) {
    case AS_FAR_OUT:
        return comparable && place->depth >= loop->depth;
    case FURTHER_OUT:
        return place->depth > loop->depth;
    default:
        return comparable && place->depth > loop->depth + CLEAR_BYTES;
    }
}

enum rec_rest thread_rest_async(pid_t pid, const struct proc_syscall *call,
                                enum thread_unseen unseen, const struct finder_place *place,
                                const struct finder_wait *loop, bool *aside) {
    enum receive_kind kind = receive_kind_async(call->number);
    uint64_t descriptor = kind == RECEIVES_MESSAGES ? UINT64_MAX : (uint32_t)call->args[0];
    char name[TARGET_ROOM];
    bool continues = false;
    bool for_room = unseen == THREAD_SLEEPS && thread_waits_for_room_async(pid, call);
    *aside = false;
    if (thread_input_async(pid, call) != REC_WAIT_NONE) {
        return REC_REST_INPUT;
    }
    bool data = kind == RECEIVES_DATA && descriptor_name_async(pid, descriptor, name);
    bool others = data && is_pipe_or_socket_async(name);
    bool requests = kind == RECEIVES_CLIENTS || (data && take_requests_async(pid, &descriptor, 1));
    bool own = data && !others && !requests;
    bool within =
        kind != RECEIVES_NOTHING && is_within_turn_async(pid, loop, descriptor, own, &continues);
    if (requests && !within) {
        return REC_REST_INPUT;
    }
    int written = written_argument_async(call->number);
    if (written >= 0) {
        is_within_turn_async(pid, loop, (uint32_t)call->args[written], true, &continues);
    }
    *aside = unseen == THREAD_SLEEPS && !continues &&
             is_as_far_out_async(place, loop, for_room ? CLEARLY_FURTHER_OUT : AS_FAR_OUT);
    bool unknown = others || kind == RECEIVES_MESSAGES;
    bool further = unseen == THREAD_SLEEPS && is_as_far_out_async(place, loop, FURTHER_OUT);
    bool unclear =
        unseen == THREAD_PARKED ? is_as_far_out_async(place, loop, AS_FAR_OUT) : unknown && further;
    return unclear && !within ? REC_REST_UNCLEAR : REC_REST_NONE;
}

struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call) {
    struct rec_wait wait = lock_wait_async(layout, pid, waiter, call);
    if (wait.kind == REC_WAIT_NONE) {
        wait.kind = thread_input_async(pid, call);
    }
    return wait;
}
