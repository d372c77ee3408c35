/* Linux's waiting calls with the loop hooks around them, and pings through an eventfd. */
#include "stallrec_poll.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loop/adapter_wait.h"

REC_WAITS int stallrec_ppoll(struct stallrec_loop *loop, struct pollfd *fds, nfds_t count,
                             const struct timespec *timeout, const sigset_t *mask) {
    rec_wait_begin(loop, rec_wait_blocks(timeout));
    int result = ppoll(fds, count, timeout, mask);
    stallrec_loop_wake(loop);
    return result;
}

REC_WAITS int stallrec_epoll_wait(struct stallrec_loop *loop, int fd, struct epoll_event *events,
                                  int max, int timeout_ms) {
    rec_wait_begin(loop, timeout_ms != 0);
    int result = epoll_wait(fd, events, max, timeout_ms);
    stallrec_loop_wake(loop);
    return result;
}

REC_WAITS int stallrec_epoll_pwait(struct stallrec_loop *loop, int fd, struct epoll_event *events,
                                   int max, int timeout_ms, const sigset_t *mask) {
    rec_wait_begin(loop, timeout_ms != 0);
    int result = epoll_pwait(fd, events, max, timeout_ms, mask);
    stallrec_loop_wake(loop);
    return result;
}

/* ---- pings ---- */

/* State of the pings. A process has one recorder, and one descriptor to which it posts. */
static struct {
    /* Guards answering a ping against the detach, as another thread may run a GMainContext. The
     * monitor never takes the lock. */
    pthread_mutex_t lock;
    struct stallrec *rec;
    int fd;         /* -1: not attached */
    uint64_t asked; /* number of the ping to answer; 0 = none */
} ping = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* Posts a ping through the eventfd. It runs on the monitor thread, so it takes no lock, which the
 * watched thread might hold, and allocates nothing. The counter of the eventfd cannot be full, as
 * the recorder posts one ping and waits for its answer. */
static int epoll_post(void *ctx, uint64_t number) {
    const uint64_t one = 1;
    (void)ctx;
    __atomic_store_n(&ping.asked, number, __ATOMIC_SEQ_CST);
    return write(ping.fd, &one, sizeof one) == sizeof one;
}

enum stallrec_error stallrec_attach_ping_fd(struct stallrec *rec, int *fd) {
    enum stallrec_error st = STALLREC_ERR_RUNNING;
    pthread_mutex_lock(&ping.lock);
    if (ping.fd < 0) {
        ping.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        st = ping.fd >= 0 ? STALLREC_OK : STALLREC_ERR_UNSUPPORTED;
    }
    if (st == STALLREC_OK) {
        ping.rec = rec;
        ping.asked = 0;
        *fd = ping.fd;
    }
    pthread_mutex_unlock(&ping.lock);
    if (st == STALLREC_OK) {
        stallrec_set_poster(rec, epoll_post, NULL);
    }
    return st;
}

void stallrec_ping_fd_answer(void) {
    int saved_errno = errno;
    pthread_mutex_lock(&ping.lock);
    if (ping.fd >= 0) {
        uint64_t count;
        ssize_t n = read(ping.fd, &count, sizeof count);
        uint64_t number = __atomic_load_n(&ping.asked, __ATOMIC_SEQ_CST);
        if (n == sizeof count) {
            stallrec_ping_done(ping.rec, number);
        }
    }
    pthread_mutex_unlock(&ping.lock);
    errno = saved_errno;
}

void stallrec_detach_ping_fd(void) {
    if (ping.fd < 0) {
        return;
    }
    stallrec_set_poster(ping.rec, NULL,
                        NULL); /* from here on no ping is written to the descriptor */
    pthread_mutex_lock(&ping.lock);
    close(ping.fd);
    ping.fd = -1;
    pthread_mutex_unlock(&ping.lock);
}
