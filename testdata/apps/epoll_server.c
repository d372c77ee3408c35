/* A server around one epoll_wait, with the recorder's wrapper of it: `epoll_server DIRECTORY WHAT`,
 * see recorded.h. Its client is a thread of its own, which sends one request a step. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recorded.h"
#include "stallrec_poll.h"

STALL(stall_in_request)
STALL(stall_after_reply)

static bool stopped;
static int64_t spin_until; /* until this time the loop polls without waiting */

static void handle(char request) {
    switch (request) {
    case 's':
        stall_in_request();
        break;
    case 'r':
        stall_after_reply();
        break;
    case 'p':
        spin_until = now_ms() + 2 * THRESHOLD_MS;
        break;
    case 'q':
        stopped = true;
        break;
    default:
        sleep_ms(1);
    }
}

struct client {
    int fd;
    const char *requests;
};

static void *run_client(void *arg) {
    const struct client *client = arg;
    for (const char *r = client->requests; *r; r++) {
        char reply;
        sleep_ms(*r == 'w' || *r == 'q' ? 3 * THRESHOLD_MS : STEP_MS);
        if (write(client->fd, r, 1) != 1 || read(client->fd, &reply, 1) != 1) {
            die("client");
        }
    }
    return NULL;
}

static void watch(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        die("epoll_ctl");
    }
}

static void answer(int fd) {
    char request;
    if (read(fd, &request, 1) != 1) {
        die("request");
    }
    handle(request);
    if (write(fd, &request, 1) != 1) {
        die("reply");
    }
}

OWN_FRAME static void serve(struct stallrec_loop *loop, int epoll, int ping_fd) {
    while (!stopped) {
        struct epoll_event events[8];
        int timeout = now_ms() < spin_until ? 0 : -1;
        int n = stallrec_epoll_wait(loop, epoll, events, 8, timeout);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == ping_fd) {
                stallrec_ping_fd_answer();
            } else {
                answer(events[i].data.fd);
            }
        }
    }
    KEEP_FRAME();
}

int main(int argc, char **argv) {
    const char *what = argc == 3 ? argv[2] : "";
    int fds[2], ping_fd = -1;
    pthread_t thread;
    struct client client = {.requests = strcmp(what, "healthy") == 0  ? "hwhphw"
                                        : strcmp(what, "stalls") == 0 ? "hshrh"
                                        : strcmp(what, "ping") == 0   ? "hwhs"
                                                                      : NULL};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (client.requests == NULL || epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
        fprintf(stderr, "usage: epoll_server DIRECTORY healthy|stalls|ping\n");
        return 2;
    }
    char requests[16];
    snprintf(requests, sizeof requests, "%sq", client.requests);
    client.requests = requests;
    client.fd = fds[1];
    struct stallrec *rec = start_recorder(argv[1], what);
    attached(stallrec_attach_ping_fd(rec, &ping_fd));
    watch(epoll, ping_fd);
    watch(epoll, fds[0]);
    if (pthread_create(&thread, NULL, run_client, &client) != 0) {
        die("pthread_create");
    }
    serve(stallrec_main_loop(rec), epoll, ping_fd);
    stallrec_detach_ping_fd();
    stallrec_stop(rec);
    pthread_join(thread, NULL);
    close(epoll);
    return 0;
}
