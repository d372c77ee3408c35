/* Implements poll, select and pselect with the loop hooks around them. The hooks keep errno. */
#include "stallrec_poll.h"

#include "loop/adapter_wait.h"

REC_WAITS int stallrec_poll(struct stallrec_loop *loop, struct pollfd *fds, nfds_t count,
                            int timeout_ms) {
    rec_wait_begin(loop, timeout_ms != 0);
    int result = poll(fds, count, timeout_ms);
    stallrec_loop_wake(loop);
    return result;
}

REC_WAITS int stallrec_select(struct stallrec_loop *loop, int count, fd_set *in, fd_set *out,
                              fd_set *except, struct timeval *timeout) {
    rec_wait_begin(loop, timeout == NULL || timeout->tv_sec != 0 || timeout->tv_usec != 0);
    int result = select(count, in, out, except, timeout);
    stallrec_loop_wake(loop);
    return result;
}

REC_WAITS int stallrec_pselect(struct stallrec_loop *loop, int count, fd_set *in, fd_set *out,
                               fd_set *except, const struct timespec *timeout,
                               const sigset_t *mask) {
    rec_wait_begin(loop, rec_wait_blocks(timeout));
    int result = pselect(count, in, out, except, timeout, mask);
    stallrec_loop_wake(loop);
    return result;
}
