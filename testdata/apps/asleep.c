/* Programs that idle in a system call that is no known wait of an event loop, and poll for replies
 * in their handlers alone: `asleep WHERE CASE`. Each prints the stalls that it made, "stall BEGIN
 * END" in ns of CLOCK_MONOTONIC, and ends with 77 where the system lacks the call. WHERE says how
 * far out on the stack the program idles:
 *
 *     outer    in the function that calls the handlers, which need more stack
 *     beside   in a function beside the one that polls, with the same caller
 *     seldom   as `beside`, but it idles and polls for longer
 *     once     the other way round: a loop that polls, beside which it sleeps in the call only once
 *     tasks    a loop whose polls are a library's, further in; in each third turn the loop waits in
 *              the call for a task, which is a stall
 *     each     the same, but in each turn, once the loop can be known
 *     rests    the same, but for the rest of what the library polls for
 *
 * CASE is the call:
 *
 *     timer      read(2) of a timerfd
 *     event      read(2) of an eventfd
 *     pipe       read(2) of a pipe
 *     pause      pause(2)
 *     suspend    sigsuspend(2)
 *     ring       io_uring_enter(2)
 *     message    msgrcv(2)
 *     queue      mq_receive(3)
 *     child      wait4(2) for one child
 *     children   wait4(2) for any child
 *     futex      futex(2) by syscall(2)
 *     room       write(2) to a full pipe
 *     lock       flock(2)
 *     fifo       open(2) of a FIFO
 *     accept     accept(2) of a socket, whose clients' sockets the handlers poll */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app.h"

enum { STALL_MS = 600, REPLY_MS = 50, TURNS = 12, FIRST = 3, SECOND = 8, EARLY = 6 };
enum { LACKING = 77 };

static int idle_ms = 300, reply_ms = REPLY_MS;
static int replies[2], orders[2], things[2], client = -1, descriptor, message_queue, ring_size;
static mqd_t named_queue;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size;

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void lack(void) {
    exit(LACKING);
}

/* ---- another process, which ends the waits ---- */

/* Makes a process that calls `act` idle_ms after each order, and ends with this one. */
static void start_helper(void (*act)(void)) {
    pid_t parent = getpid(), helper = -1;
    if (pipe(orders) != 0 || (helper = fork()) < 0) {
        die("fork");
    }
    if (helper == 0) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent && read(orders[0], &byte, 1) == 1) {
            sleep_ms(idle_ms);
            act();
        }
        _exit(0);
    }
}

static void order(void) {
    if (write(orders[1], "", 1) != 1) {
        die("write");
    }
}

static void write_thing(void) {
    if (write(things[1], "12345678", 8) != 8) {
        die("write");
    }
}

static void send_message(void) {
    const struct {
        long type;
        char text;
    } message = {.type = 1};
    msgsnd(message_queue, &message, sizeof message.text, 0);
}

static void send_to_queue(void) {
    mq_send(named_queue, "", 1, 0);
}

static void connect_once(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, address_size) != 0) {
        die("connect");
    }
}

/* ---- the calls ---- */

static void ignore_signal(int number) {
    (void)number;
}

static void begin_timer(void) {
    if ((descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) < 0) {
        lack();
    }
}

static void idle_in_timer(void) {
    const struct itimerspec once = {.it_value.tv_nsec = idle_ms * 1000000L};
    uint64_t count;
    timerfd_settime(descriptor, 0, &once, NULL);
    if (read(descriptor, &count, sizeof count) != sizeof count) {
        die("read");
    }
}

static void begin_event(void) {
    things[0] = things[1] = eventfd(0, EFD_CLOEXEC);
    start_helper(write_thing);
}

static void begin_pipe(void) {
    if (pipe(things) != 0) {
        die("pipe");
    }
    start_helper(write_thing);
}

static void idle_in_read(void) {
    char bytes[8];
    order();
    if (read(things[0], bytes, sizeof bytes) != sizeof bytes) {
        die("read");
    }
}

static void begin_signals(void) {
    sigset_t set;
    signal(SIGALRM, ignore_signal);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void set_alarm(void) {
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = idle_ms * 1000}, NULL);
}

static void idle_in_pause(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    set_alarm();
    pause();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void idle_in_suspend(void) {
    sigset_t set;
    sigemptyset(&set);
    set_alarm();
    sigsuspend(&set);
}

static char *ring, *completions;
static struct io_uring_params ring_of = {.sq_entries = 0};
static struct io_uring_sqe *ring_entries;

static void begin_ring(void) {
    descriptor = (int)syscall(SYS_io_uring_setup, 4, &ring_of);
    if (descriptor < 0) {
        lack();
    }
    int access = PROT_READ | PROT_WRITE;
    ring = mmap(NULL, ring_of.sq_off.array + ring_of.sq_entries * sizeof(uint32_t), access,
                MAP_SHARED, descriptor, IORING_OFF_SQ_RING);
    completions = mmap(NULL, ring_of.cq_off.cqes + ring_of.cq_entries * sizeof(struct io_uring_cqe),
                       access, MAP_SHARED, descriptor, IORING_OFF_CQ_RING);
    ring_entries = mmap(NULL, ring_of.sq_entries * sizeof *ring_entries, access, MAP_SHARED,
                        descriptor, IORING_OFF_SQES);
    if (ring == MAP_FAILED || completions == MAP_FAILED || ring_entries == MAP_FAILED) {
        die("mmap");
    }
}

static void idle_in_ring(void) {
    const int64_t once[2] = {0, idle_ms * 1000000L};
    uint32_t number = (uint32_t)ring_size++, at = number & (ring_of.sq_entries - 1);
    ring_entries[at] = (struct io_uring_sqe){
        .opcode = IORING_OP_TIMEOUT, .fd = -1, .addr = (uint64_t)(uintptr_t)once, .len = 1};
    ((uint32_t *)(void *)(ring + ring_of.sq_off.array))[at] = at;
    __atomic_store_n((uint32_t *)(void *)(ring + ring_of.sq_off.tail), number + 1,
                     __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, descriptor, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) {
        die("io_uring_enter");
    }
    __atomic_store_n((uint32_t *)(void *)(completions + ring_of.cq_off.head), number + 1,
                     __ATOMIC_RELEASE);
}

static void remove_messages(void) {
    msgctl(message_queue, IPC_RMID, NULL);
}

static void begin_message(void) {
    if ((message_queue = msgget(IPC_PRIVATE, 0600)) < 0) {
        lack();
    }
    atexit(remove_messages);
    start_helper(send_message);
}

static void idle_in_message(void) {
    struct {
        long type;
        char text;
    } message;
    order();
    if (msgrcv(message_queue, &message, sizeof message.text, 0, 0) != 1) {
        die("msgrcv");
    }
}

static void begin_queue(void) {
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
    char name[64];
    snprintf(name, sizeof name, "/asleep-%d", (int)getpid());
    if ((named_queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr)) < 0) {
        lack();
    }
    mq_unlink(name);
    start_helper(send_to_queue);
}

static void idle_in_queue(void) {
    char byte;
    order();
    if (mq_receive(named_queue, &byte, 1, NULL) != 1) {
        die("mq_receive");
    }
}

static void begin_child(void) {
}

static pid_t start_child(void) {
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(idle_ms);
        _exit(0);
    }
    if (child < 0) {
        die("fork");
    }
    return child;
}

static void idle_in_child(void) {
    pid_t child = start_child();
    if (waitpid(child, NULL, 0) != child) {
        die("waitpid");
    }
}

static void idle_in_children(void) {
    pid_t child = start_child();
    if (waitpid(-1, NULL, 0) != child) {
        die("waitpid");
    }
}

static void make_room(void) {
    char bytes[PIPE_BUF];
    if (read(things[0], bytes, sizeof bytes) != sizeof bytes) {
        die("read");
    }
}

static void begin_room(void) {
    static const char bytes[PIPE_BUF];
    if (pipe2(things, O_NONBLOCK) != 0) {
        die("pipe");
    }
    while (write(things[1], bytes, sizeof bytes) == sizeof bytes) {
    }
    fcntl(things[1], F_SETFL, 0);
    start_helper(make_room);
}

static void idle_in_room(void) {
    static const char bytes[PIPE_BUF];
    order();
    if (write(things[1], bytes, sizeof bytes) != sizeof bytes) {
        die("write");
    }
}

static char file_name[] = "/tmp/asleep.XXXXXX";

static void remove_file(void) {
    unlink(file_name);
}

/* A child holds the lock for idle_ms. */
static void begin_lock(void) {
    if ((descriptor = mkstemp(file_name)) < 0) {
        die("mkstemp");
    }
    atexit(remove_file);
}

static void idle_in_lock(void) {
    char byte;
    int locked[2];
    pid_t child = pipe(locked) == 0 ? fork() : -1;
    if (child == 0) {
        int own = open(file_name, O_RDWR);
        flock(own, LOCK_EX);
        close(locked[0]);
        close(locked[1]);
        sleep_ms(idle_ms);
        _exit(0);
    }
    close(locked[1]);
    if (child < 0 || read(locked[0], &byte, 1) != 0 || flock(descriptor, LOCK_EX) != 0) {
        die("flock");
    }
    flock(descriptor, LOCK_UN);
    close(locked[0]);
    waitpid(child, NULL, 0);
}

static void open_other_end(void) {
    close(open(file_name, O_WRONLY));
}

static void begin_fifo(void) {
    close(mkstemp(file_name));
    unlink(file_name);
    if (mkfifo(file_name, 0600) != 0) {
        die("mkfifo");
    }
    atexit(remove_file);
    start_helper(open_other_end);
}

static void idle_in_fifo(void) {
    order();
    close(open(file_name, O_RDONLY));
}

static void idle_in_futex(void) {
    const struct timespec t = {.tv_nsec = idle_ms * 1000000L};
    static uint32_t word;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static void begin_accept(void) {
    address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                               (size_t)snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                                "asleep-%d", (int)getpid()));
    descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, address_size) != 0 ||
        listen(descriptor, 8) != 0) {
        die("listen");
    }
    start_helper(connect_once);
}

static void idle_in_accept(void) {
    order();
    int next = accept(descriptor, NULL, NULL);
    if (next < 0) {
        die("accept");
    }
    close(client);
    client = next;
}

/* ---- loops ---- */

OWN_FRAME static void wait_for_reply(int ms) {
    struct pollfd p[] = {{.fd = replies[0], .events = POLLIN}, {.fd = client, .events = POLLIN}};
    poll(p, 2, ms);
    KEEP_FRAME();
}

/* Needs stack, as a handler that calls a library does, or a library that polls. */
OWN_FRAME static void handle_deeper(int ms) {
    volatile char room[2048];
    room[0] = 0;
    wait_for_reply(ms);
    room[1] = room[0];
}

static void tell(int ms, long long begin) {
    if (ms == STALL_MS) {
        printf("stall %lld %lld\n", begin, now_ns());
        fflush(stdout);
    }
}

OWN_FRAME static void idle_and_handle(void (*idle)(void), void (*handle)(int ms)) {
    for (int i = 0; i < TURNS; i++) {
        int ms = i == FIRST || i == SECOND ? STALL_MS : reply_ms;
        idle();
        long long begin = now_ns();
        handle(ms);
        tell(ms, begin);
    }
    KEEP_FRAME();
}

/* Sleeps in a turn of n turns each, once the loop can be known. */
OWN_FRAME static void poll_and_sleep(int n, void (*poll_for)(int ms), void (*sleep)(void)) {
    for (int i = 0; i < 3 * TURNS; i++) {
        poll_for(REPLY_MS);
        if (i >= EARLY && i % n == n - 1) {
            long long begin = now_ns();
            sleep();
            tell(STALL_MS, begin);
        }
    }
    KEEP_FRAME();
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*begin)(void), (*idle)(void);
    } cases[] = {
        {"timer", begin_timer, idle_in_timer},       {"event", begin_event, idle_in_read},
        {"pipe", begin_pipe, idle_in_read},          {"pause", begin_signals, idle_in_pause},
        {"suspend", begin_signals, idle_in_suspend}, {"ring", begin_ring, idle_in_ring},
        {"message", begin_message, idle_in_message}, {"queue", begin_queue, idle_in_queue},
        {"child", begin_child, idle_in_child},       {"children", begin_child, idle_in_children},
        {"futex", begin_child, idle_in_futex},       {"accept", begin_accept, idle_in_accept},
        {"room", begin_room, idle_in_room},          {"lock", begin_lock, idle_in_lock},
        {"fifo", begin_fifo, idle_in_fifo}};
    const char *where = argc > 2 ? argv[1] : "", *name = argc > 2 ? argv[2] : "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(name, cases[i].name) != 0 || pipe(replies) != 0) {
            continue;
        }
        if (strcmp(where, "seldom") == 0) {
            idle_ms = 900;
            reply_ms = 220;
        }
        cases[i].begin();
        if (strcmp(where, "once") == 0) {
            poll_and_sleep(2 * TURNS, wait_for_reply, cases[i].idle);
        } else if (strcmp(where, "tasks") == 0) {
            poll_and_sleep(3, handle_deeper, cases[i].idle);
        } else if (strcmp(where, "each") == 0) {
            poll_and_sleep(1, handle_deeper, cases[i].idle);
        } else if (strcmp(where, "rests") == 0) {
            client = things[0];
            poll_and_sleep(1, handle_deeper, cases[i].idle);
        } else {
            idle_and_handle(cases[i].idle,
                            strcmp(where, "outer") == 0 ? handle_deeper : wait_for_reply);
        }
        return 0;
    }
    fputs("usage: asleep outer|beside|seldom|once|tasks|each|rests CASE\n", stderr);
    return 2;
}
