/* Programs that wait for requests, or for replies, in calls that read: `requests CASE`. Each prints
 * the stalls that it made, "stall BEGIN END" in ns of CLOCK_MONOTONIC. Other processes are their
 * clients and what they ask, and answer or come after WAIT_MS.
 *
 * Idle in the call that reads, and polls with a timeout for replies only:
 *
 *     accepts       accepts one client after the other, of a named socket
 *     accepts-tcp   the same of TCP
 *     serves        reads the requests of one client that it accepted
 *     serves-tcp    the same of TCP
 *     fifo          reads a FIFO that has a name
 *     signals       reads a signalfd(2)
 *
 * The loop polls for requests, and a turn reads what makes it wait, which is its stall:
 *
 *     slow-client   the rest of a request of a client for which the loop waits
 *     slow-first    a client that it has just accepted
 *     slow-epoll    the same with epoll_wait(2)
 *     slow-paused   the same with poll(2), after a wait for none of them
 *     asks          the reply of a server, at a place as deep as that of the loop
 *     asks-deeper   the loop polls a pipe, and the reply is read deeper down
 *
 * Not told by what the descriptor is:
 *
 *     commands      reads commands from a pipe at a shallower place than that of its polls */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "app.h"

enum { WAIT_MS = 600, WORK_MS = 400, REPLY_MS = 20, REQUESTS = 4, TURN_MS = 20, TURNS = 6 };

static int server; /* what the program asks: a socket whose other end echoes after REPLY_MS */

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void tell_stall(long long begin) {
    printf("stall %lld %lld\n", begin, now_ns());
    fflush(stdout);
}

OWN_FRAME static void stall(long ms) {
    long long begin = now_ns();
    sleep_ms(ms);
    tell_stall(begin);
}

static void send_byte(int fd) {
    if (write(fd, "", 1) != 1) {
        die("write");
    }
}

OWN_FRAME static bool read_byte(int fd) {
    char byte;
    ssize_t n = read(fd, &byte, 1);
    KEEP_FRAME();
    return n == 1;
}

/* Runs in another process that ends with this one. */
static void beside(void (*run)(int fd), int fd) {
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
        die("fork");
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            run(fd);
        }
        _exit(0);
    }
}

static void echo(int fd) {
    while (read_byte(fd)) {
        sleep_ms(REPLY_MS);
        send_byte(fd);
    }
}

static void echo_late(int fd) {
    while (read_byte(fd)) {
        sleep_ms(WAIT_MS);
        send_byte(fd);
    }
}

/* Returns the socket of a server process. */
static int start_server(void (*run)(int fd)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        die("socketpair");
    }
    beside(run, ends[1]);
    close(ends[1]);
    return ends[0];
}

OWN_FRAME static void await_reply(void) {
    struct pollfd p = {.fd = server, .events = POLLIN};
    while (poll(&p, 1, 1000) == 0) {
    }
    read_byte(server);
    KEEP_FRAME();
}

/* Asks the server, from deeper down than any wait for requests. */
OWN_FRAME static void ask(int times) {
    volatile char room[4096];
    room[0] = 0;
    for (int i = 0; i < times; i++) {
        send_byte(server);
        await_reply();
    }
    room[1] = room[0];
}

OWN_FRAME static void work(int request) {
    ask(4);
    if (request % 2 == 1) {
        stall(WORK_MS);
    }
}

/* ---- addresses ---- */

static union {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in tcp;
} address;
static socklen_t address_size;
static char folder[] = "/tmp/requests.XXXXXX";

static void leave_folder(void) {
    unlink(address.local.sun_path);
    rmdir(folder);
}

static void make_name(const char *name) {
    if (mkdtemp(folder) == NULL) {
        die("mkdtemp");
    }
    address.local.sun_family = AF_UNIX;
    snprintf(address.local.sun_path, sizeof address.local.sun_path, "%s/%s", folder, name);
    address_size = sizeof address.local;
    atexit(leave_folder);
}

static int listen_at(bool tcp) {
    if (tcp) {
        address.tcp.sin_family = AF_INET;
        address.tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address_size = sizeof address.tcp;
    } else {
        make_name("socket");
    }
    int fd = socket(address.any.sa_family, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, &address.any, address_size) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, &address.any, &address_size) != 0) {
        die("listen");
    }
    return fd;
}

static int connect_to(void) {
    int fd = socket(address.any.sa_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, &address.any, address_size) != 0) {
        die("connect");
    }
    return fd;
}

/* ---- clients ---- */

/* Sends a request WAIT_MS after the last reply, each on a connection of its own. */
static void connect_often(int fd) {
    (void)fd;
    for (;;) {
        sleep_ms(WAIT_MS);
        int own = connect_to();
        send_byte(own);
        read_byte(own);
        close(own);
    }
}

static void connect_once(int fd) {
    (void)fd;
    int own = connect_to();
    do {
        sleep_ms(WAIT_MS);
        send_byte(own);
    } while (read_byte(own));
}

/* Sends the first byte of a request at once, the second WAIT_MS later. */
static void send_slowly(int fd) {
    (void)fd;
    int own = connect_to();
    for (;;) {
        send_byte(own);
        sleep_ms(WAIT_MS);
        send_byte(own);
        read_byte(own);
        sleep_ms(TURNS * TURN_MS);
    }
}

static void write_often(int fd) {
    for (;;) {
        sleep_ms(WAIT_MS);
        send_byte(fd);
    }
}

static void signal_often(int fd) {
    (void)fd;
    for (;;) {
        sleep_ms(WAIT_MS);
        kill(getppid(), SIGUSR1);
    }
}

/* ---- programs that read for requests ---- */

static void accept_each(bool tcp) {
    int listener = listen_at(tcp);
    beside(connect_often, -1);
    for (int i = 0; i < REQUESTS; i++) {
        int client = accept(listener, NULL, NULL);
        read_byte(client);
        work(i);
        send_byte(client);
        close(client);
    }
}

static void read_each(bool tcp) {
    int listener = listen_at(tcp);
    beside(connect_once, -1);
    int client = accept(listener, NULL, NULL);
    for (int i = 0; i < REQUESTS; i++) {
        read_byte(client);
        work(i);
        send_byte(client);
    }
}

static void read_commands(int fd) {
    for (int i = 0; i < REQUESTS; i++) {
        read_byte(fd);
        work(i);
    }
}

static void accepts(void) {
    accept_each(false);
}

static void accepts_tcp(void) {
    accept_each(true);
}

static void serves(void) {
    read_each(false);
}

static void serves_tcp(void) {
    read_each(true);
}

static void fifo(void) {
    make_name("fifo");
    int fd = mkfifo(address.local.sun_path, 0600) == 0 ? open(address.local.sun_path, O_RDWR) : -1;
    if (fd < 0) {
        die("mkfifo");
    }
    beside(write_often, fd);
    read_commands(fd);
}

static void signals(void) {
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, 0);
    beside(signal_often, -1);
    for (int i = 0; i < REQUESTS; i++) {
        if (read(fd, &info, sizeof info) != sizeof info) {
            die("read");
        }
        work(i);
    }
}

static void commands(void) {
    int ends[2];
    if (pipe(ends) != 0) {
        die("pipe");
    }
    beside(write_often, ends[1]);
    read_commands(ends[0]);
}

/* ---- programs whose loop polls for requests ---- */

/* Waits in the same function for a client, and for what it sends. */
static void poll_and_serve(void (*client)(int fd), bool polls_client) {
    struct pollfd p[2] = {{.fd = listen_at(false), .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    for (int i = 0; i < TURNS; i++) {
        poll(p, 1, TURN_MS);
    }
    beside(client, -1);
    for (int served = 0; served < 2;) {
        if (poll(p, 2, TURN_MS) <= 0) {
            continue;
        }
        if (p[0].revents != 0) {
            p[1].fd = accept(p[0].fd, NULL, NULL);
        }
        if (p[1].revents == 0 && (polls_client || served > 0)) {
            continue;
        }
        long long begin = now_ns();
        read_byte(p[1].fd);
        read_byte(p[1].fd);
        tell_stall(begin);
        send_byte(p[1].fd);
        served++;
    }
    for (int i = 0; i < TURNS; i++) {
        poll(p, 1, TURN_MS);
    }
}

static void slow_client(void) {
    poll_and_serve(send_slowly, true);
}

static void slow_first(void) {
    poll_and_serve(send_slowly, false);
}

OWN_FRAME static int wait_poll(struct pollfd *p, nfds_t n) {
    int ready = poll(p, n, TURN_MS);
    KEEP_FRAME();
    return ready;
}

/* The loop has no descriptors in the turn before the read. */
static void slow_paused(void) {
    struct pollfd p = {.fd = listen_at(false), .events = POLLIN};
    for (int i = 0; i < TURNS; i++) {
        wait_poll(&p, 1);
    }
    beside(send_slowly, -1);
    while (wait_poll(&p, 1) <= 0) {
    }
    int client = accept(p.fd, NULL, NULL);
    wait_poll(&p, 0);
    long long begin = now_ns();
    read_byte(client);
    read_byte(client);
    tell_stall(begin);
    for (int i = 0; i < TURNS; i++) {
        wait_poll(&p, 1);
    }
}

OWN_FRAME static int wait_epoll(int epoll, int ms) {
    struct epoll_event event;
    int n = epoll_wait(epoll, &event, 1, ms);
    KEEP_FRAME();
    return n;
}

/* The wait is deeper than the read of the client, which the loop never waits for. */
static void slow_epoll(void) {
    int listener = listen_at(false), epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (int i = 0; i < TURNS; i++) {
        wait_epoll(epoll, TURN_MS);
    }
    beside(send_slowly, -1);
    while (wait_epoll(epoll, TURN_MS) <= 0) {
    }
    int client = accept(listener, NULL, NULL);
    long long begin = now_ns();
    char bytes[2];
    if (recv(client, bytes, 2, MSG_WAITALL) != 2) {
        die("recv");
    }
    tell_stall(begin);
    for (int i = 0; i < TURNS; i++) {
        wait_epoll(epoll, TURN_MS);
    }
}

static void asks(void) {
    int listener = listen_at(false), epoll = epoll_create1(0), late = start_server(echo_late);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < TURNS; k++) {
            wait_epoll(epoll, TURN_MS);
        }
        long long begin = now_ns();
        char byte;
        if (send(late, "", 1, 0) != 1 || recv(late, &byte, 1, 0) != 1) {
            die("recv");
        }
        tell_stall(begin);
    }
    for (int k = 0; k < TURNS; k++) {
        wait_epoll(epoll, TURN_MS);
    }
}

OWN_FRAME static void ask_late(int late) {
    volatile char room[4096];
    room[0] = 0;
    long long begin = now_ns();
    send_byte(late);
    read_byte(late);
    tell_stall(begin);
    room[1] = room[0];
}

static void asks_deeper(void) {
    int ends[2], late = start_server(echo_late);
    if (pipe(ends) != 0) {
        die("pipe");
    }
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < 3 * TURNS; i++) {
        poll(&p, 1, TURN_MS);
        if (i % TURNS == TURNS - 1) {
            ask_late(late);
        }
    }
    poll(&p, 1, TURN_MS);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"accepts", accepts},
                 {"accepts-tcp", accepts_tcp},
                 {"serves", serves},
                 {"serves-tcp", serves_tcp},
                 {"fifo", fifo},
                 {"signals", signals},
                 {"slow-client", slow_client},
                 {"slow-first", slow_first},
                 {"slow-epoll", slow_epoll},
                 {"slow-paused", slow_paused},
                 {"asks", asks},
                 {"asks-deeper", asks_deeper},
                 {"commands", commands}};
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(name, cases[i].name) == 0) {
            server = start_server(echo);
            cases[i].run();
            return 0;
        }
    }
    fputs("usage: requests CASE\n", stderr);
    return 2;
}
