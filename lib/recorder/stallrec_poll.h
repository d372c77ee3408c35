/* libstallrec in a program with a loop of its own: the system's waits with the hooks around them,
 * and a descriptor that lets the loop answer pings.
 *
 *     struct stallrec_loop *loop = stallrec_main_loop(rec);
 *     for (;;) {
 *         int n = stallrec_epoll_wait(loop, fd, events, max, timeout);
 *         …                                           // handle the events
 *     }
 *
 * Each function behaves as the function without stallrec_ in its name: same result, errno and
 * EINTR. It tells the recorder that the loop is idle meanwhile, or, with a timeout of zero, that
 * another turn begins. It is only for the loop's own wait, on the watched thread: a wait for a
 * single reply in a handler is part of the loop's work. */
#ifndef STALLREC_POLL_H
#define STALLREC_POLL_H

#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif

#include "stallrec.h"

#ifdef __cplusplus
extern "C" {
#endif

STALLREC_API int stallrec_poll(struct stallrec_loop *loop, struct pollfd *fds, nfds_t count,
                               int timeout_ms);
STALLREC_API int stallrec_select(struct stallrec_loop *loop, int count, fd_set *in, fd_set *out,
                                 fd_set *except, struct timeval *timeout);
STALLREC_API int stallrec_pselect(struct stallrec_loop *loop, int count, fd_set *in, fd_set *out,
                                  fd_set *except, const struct timespec *timeout,
                                  const sigset_t *mask);

#ifdef __linux__
STALLREC_API int stallrec_ppoll(struct stallrec_loop *loop, struct pollfd *fds, nfds_t count,
                                const struct timespec *timeout, const sigset_t *mask);
STALLREC_API int stallrec_epoll_wait(struct stallrec_loop *loop, int fd, struct epoll_event *events,
                                     int max, int timeout_ms);
STALLREC_API int stallrec_epoll_pwait(struct stallrec_loop *loop, int fd,
                                      struct epoll_event *events, int max, int timeout_ms,
                                      const sigset_t *mask);

/* Makes a descriptor for STALLREC_DETECT_PING that becomes readable when the recorder pings the
 * loop. The program adds it to the descriptors for which the loop waits (EPOLLIN), level-triggered,
 * and calls stallrec_ping_fd_answer when it is readable. Without it, or another adapter that
 * answers pings, the detector is off. The call replaces the poster of stallrec_set_poster, until
 * the detach. *fd is written on STALLREC_OK only and belongs to the recorder. STALLREC_ERR_RUNNING:
 * there is such a descriptor already. STALLREC_ERR_UNSUPPORTED: no descriptor is free, see errno.
 * rec NULL: *fd never becomes readable. It must be called on the watched thread. */
STALLREC_API enum stallrec_error stallrec_attach_ping_fd(struct stallrec *rec, int *fd);
/* Answers the recorder's ping; no effect if there is none. It must be called on the watched
 * thread. */
STALLREC_API void stallrec_ping_fd_answer(void);
/* Closes the descriptor and removes the poster. It must be called before stallrec_stop, on the
 * watched thread, after the loop has ceased to wait for the descriptor. No effect if there is
 * none. */
STALLREC_API void stallrec_detach_ping_fd(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
