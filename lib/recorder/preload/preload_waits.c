/* Interposes the waiting functions of libc, and reports the waits of watched threads to the finders
 * of their loops.
 *
 * A poll or select to which no array or set is given is a sleep. A call of a thread that is not
 * recorded is passed on as a tail call; in any other call this library has a frame, which dumps
 * leave out (own_code_linux.h), and the thread is not signalled meanwhile (guard.h). */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "loop/adapter_wait.h"
#include "preload/preload_private.h"

#define INTERPOSED __attribute__((visibility("default")))

/* Makes a struct preload_caller of the call of the function in which this macro is used, and in
 * which frame_pointer is the result of waits_begin. */
#define CALLER(blocks) ENDLESS_CALLER(blocks, false)
/* Makes a struct preload_caller as CALLER does, with the member `endless`, of a wait for a
 * condition variable or for signals. */
#define ENDLESS_CALLER(blocks, endless)                                                            \
    (&(struct preload_caller){__builtin_return_address(0), __builtin_dwarf_cfa(), frame_pointer,   \
                              (blocks), (endless)})

/* Reports that the wait of the function in which this macro is used has ended. */
#define END_WAIT() preload_end_wait(__builtin_dwarf_cfa())

/* The real functions. Any thread may be the first to look them up, so they are atomic, and poll is
 * stored last, so that a thread that finds it also finds the others. */
static struct {
    _Atomic(int (*)(struct pollfd *, nfds_t, int)) poll;
    _Atomic(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) ppoll;
    _Atomic(int (*)(int, struct epoll_event *, int, int)) epoll_wait;
    _Atomic(int (*)(int, struct epoll_event *, int, int, const sigset_t *)) epoll_pwait;
    _Atomic(int (*)(int, struct epoll_event *, int, const struct timespec *,
                    const sigset_t *)) epoll_pwait2;
    _Atomic(int (*)(int, fd_set *, fd_set *, fd_set *, struct timeval *)) select;
    _Atomic(int (*)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
                    const sigset_t *)) pselect;
    _Atomic(int (*)(struct pollfd *, nfds_t, int, size_t)) poll_chk;
    _Atomic(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
                    size_t)) ppoll_chk;
    _Atomic(int (*)(int)) epoll_create, epoll_create1;
    _Atomic(int (*)(pthread_cond_t *, pthread_mutex_t *)) cond_wait;
    _Atomic(int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) cond_timedwait;
    _Atomic(int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                    const struct timespec *)) cond_clockwait;
    _Atomic(int (*)(const sigset_t *, int *)) sigwait;
    _Atomic(int (*)(const sigset_t *, siginfo_t *)) sigwaitinfo;
    _Atomic(int (*)(const sigset_t *, siginfo_t *, const struct timespec *)) sigtimedwait;
    _Atomic(int (*)(sem_t *)) sem_wait, sem_trywait;
    _Atomic(int (*)(sem_t *, const struct timespec *)) sem_timedwait;
    _Atomic(int (*)(sem_t *, clockid_t, const struct timespec *)) sem_clockwait;
    _Atomic(int (*)(const struct timespec *, struct timespec *)) nanosleep;
    _Atomic(int (*)(clockid_t, int, const struct timespec *, struct timespec *)) clock_nanosleep;
    _Atomic(int (*)(useconds_t)) usleep;
    _Atomic(unsigned (*)(unsigned)) sleep;
} real;

/* Looks up the real functions. It may run before this library's constructor, as constructors of
 * other libraries may wait. */
void preload_resolve_waits(void) {
    preload_resolve("ppoll", &real.ppoll);
    preload_resolve("epoll_wait", &real.epoll_wait);
    preload_resolve("epoll_pwait", &real.epoll_pwait);
    preload_resolve("epoll_pwait2", &real.epoll_pwait2);
    preload_resolve("select", &real.select);
    preload_resolve("pselect", &real.pselect);
    preload_resolve("__poll_chk", &real.poll_chk);
    preload_resolve("__ppoll_chk", &real.ppoll_chk);
    preload_resolve("epoll_create", &real.epoll_create);
    preload_resolve("epoll_create1", &real.epoll_create1);
    preload_resolve("pthread_cond_wait", &real.cond_wait);
    preload_resolve("pthread_cond_timedwait", &real.cond_timedwait);
    preload_resolve("pthread_cond_clockwait", &real.cond_clockwait);
    preload_resolve("sigwait", &real.sigwait);
    preload_resolve("sigwaitinfo", &real.sigwaitinfo);
    preload_resolve("sigtimedwait", &real.sigtimedwait);
    preload_resolve("sem_wait", &real.sem_wait);
    preload_resolve("sem_trywait", &real.sem_trywait);
    preload_resolve("sem_timedwait", &real.sem_timedwait);
    preload_resolve("sem_clockwait", &real.sem_clockwait);
    preload_resolve("nanosleep", &real.nanosleep);
    preload_resolve("clock_nanosleep", &real.clock_nanosleep);
    preload_resolve("usleep", &real.usleep);
    preload_resolve("sleep", &real.sleep);
    preload_resolve("poll", &real.poll);
}

static bool waits(const struct timespec *timeout) {
    return !timeout || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
}

/* Looks up the real functions once, and returns the caller's frame pointer. It must be the first
 * statement of its function. */
static inline __attribute__((always_inline)) uint64_t waits_begin(void) {
    uint64_t frame_pointer = rec_wait_saves_frame_pointer();
    if (!real.poll) {
        preload_resolve_waits();
    }
    return frame_pointer;
}

/* ---- waits for descriptors ---- */

INTERPOSED int poll(struct pollfd *fds, nfds_t n, int timeout) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_poll(CALLER(timeout != 0), fds, n)) {
        return real.poll(fds, n, timeout);
    }
    int result = real.poll(fds, n, timeout);
    END_WAIT();
    return result;
}

INTERPOSED int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                     const sigset_t *mask) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_poll(CALLER(waits(timeout)), fds, n)) {
        return real.ppoll(fds, n, timeout, mask);
    }
    int result = real.ppoll(fds, n, timeout, mask);
    END_WAIT();
    return result;
}

INTERPOSED int epoll_wait(int fd, struct epoll_event *events, int max, int timeout) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_epoll(CALLER(timeout != 0), fd)) {
        return real.epoll_wait(fd, events, max, timeout);
    }
    int result = real.epoll_wait(fd, events, max, timeout);
    END_WAIT();
    return result;
}

INTERPOSED int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout,
                           const sigset_t *mask) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_epoll(CALLER(timeout != 0), fd)) {
        return real.epoll_pwait(fd, events, max, timeout, mask);
    }
    int result = real.epoll_pwait(fd, events, max, timeout, mask);
    END_WAIT();
    return result;
}

INTERPOSED int epoll_pwait2(int fd, struct epoll_event *events, int max,
                            const struct timespec *timeout, const sigset_t *mask) {
    const uint64_t frame_pointer = waits_begin();
    if (!real.epoll_pwait2) {
        errno = ENOSYS; /* libc is older than 2.35 */
        return -1;
    }
    if (!preload_begin_epoll(CALLER(waits(timeout)), fd)) {
        return real.epoll_pwait2(fd, events, max, timeout, mask);
    }
    int result = real.epoll_pwait2(fd, events, max, timeout, mask);
    END_WAIT();
    return result;
}

INTERPOSED int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout) {
    const uint64_t frame_pointer = waits_begin();
    bool blocking = !timeout || timeout->tv_sec != 0 || timeout->tv_usec != 0;
    if (!preload_begin_select(CALLER(blocking), n, in, out, except)) {
        return real.select(n, in, out, except, timeout);
    }
    int result = real.select(n, in, out, except, timeout);
    END_WAIT();
    return result;
}

INTERPOSED int pselect(int n, fd_set *in, fd_set *out, fd_set *except,
                       const struct timespec *timeout, const sigset_t *mask) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_select(CALLER(waits(timeout)), n, in, out, except)) {
        return real.pselect(n, in, out, except, timeout, mask);
    }
    int result = real.pselect(n, in, out, except, timeout, mask);
    END_WAIT();
    return result;
}

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
INTERPOSED int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_poll(CALLER(timeout != 0), fds, n)) {
        return real.poll_chk(fds, n, timeout, room);
    }
    int result = real.poll_chk(fds, n, timeout, room);
    END_WAIT();
    return result;
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                size_t room);
INTERPOSED int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                           const sigset_t *mask, size_t room) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_poll(CALLER(waits(timeout)), fds, n)) {
        return real.ppoll_chk(fds, n, timeout, mask, room);
    }
    int result = real.ppoll_chk(fds, n, timeout, mask, room);
    END_WAIT();
    return result;
}

/* ---- epoll instances ---- */

INTERPOSED int epoll_create(int size) {
    waits_begin();
    int fd = real.epoll_create(size);
    preload_epoll_is_born(fd);
    return fd;
}

INTERPOSED int epoll_create1(int flags) {
    waits_begin();
    int fd = real.epoll_create1(flags);
    preload_epoll_is_born(fd);
    return fd;
}

/* ---- waits for conditions and signals ---- */

INTERPOSED int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_condition(ENDLESS_CALLER(true, true), cond)) {
        return real.cond_wait(cond, mutex);
    }
    int result = real.cond_wait(cond, mutex);
    END_WAIT();
    return result;
}

INTERPOSED int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                      const struct timespec *until) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_condition(CALLER(true), cond)) {
        return real.cond_timedwait(cond, mutex, until);
    }
    int result = real.cond_timedwait(cond, mutex, until);
    END_WAIT();
    return result;
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until);
INTERPOSED int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                      const struct timespec *until) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_condition(CALLER(true), cond)) {
        return real.cond_clockwait(cond, mutex, clock, until);
    }
    int result = real.cond_clockwait(cond, mutex, clock, until);
    END_WAIT();
    return result;
}

INTERPOSED int sigwait(const sigset_t *set, int *signal) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_signals(ENDLESS_CALLER(true, true))) {
        return real.sigwait(set, signal);
    }
    int result = real.sigwait(set, signal);
    END_WAIT();
    return result;
}

INTERPOSED int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_signals(ENDLESS_CALLER(true, true))) {
        return real.sigwaitinfo(set, info);
    }
    int result = real.sigwaitinfo(set, info);
    END_WAIT();
    return result;
}

INTERPOSED int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_signals(ENDLESS_CALLER(waits(timeout), !timeout))) {
        return real.sigtimedwait(set, info, timeout);
    }
    int result = real.sigtimedwait(set, info, timeout);
    END_WAIT();
    return result;
}

/* ---- locks ---- */

/* Takes the semaphore if it is free, so that there is no wait to report. As sem_wait does, it acts
 * upon a request to cancel the thread before. errno is kept. */
static bool take_free(sem_t *sem) {
    int saved_errno = errno;
    pthread_testcancel();
    bool taken = real.sem_trywait(sem) == 0;
    errno = saved_errno;
    return taken;
}

INTERPOSED int sem_wait(sem_t *sem) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_loops_on_lock() && take_free(sem)) {
        return 0;
    }
    if (!preload_begin_lock(CALLER(true))) {
        return real.sem_wait(sem);
    }
    int result = real.sem_wait(sem);
    END_WAIT();
    return result;
}

INTERPOSED int sem_timedwait(sem_t *sem, const struct timespec *until) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_lock(CALLER(true))) {
        return real.sem_timedwait(sem, until);
    }
    int result = real.sem_timedwait(sem, until);
    END_WAIT();
    return result;
}

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until);
INTERPOSED int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until) {
    const uint64_t frame_pointer = waits_begin();
    if (!real.sem_clockwait) {
        errno = ENOSYS; /* libc is older than 2.30 */
        return -1;
    }
    if (!preload_begin_lock(CALLER(true))) {
        return real.sem_clockwait(sem, clock, until);
    }
    int result = real.sem_clockwait(sem, clock, until);
    END_WAIT();
    return result;
}

/* ---- sleeps ---- */

INTERPOSED int nanosleep(const struct timespec *time, struct timespec *left) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_sleep(CALLER(waits(time)))) {
        return real.nanosleep(time, left);
    }
    int result = real.nanosleep(time, left);
    END_WAIT();
    return result;
}

INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                               struct timespec *left) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_sleep(CALLER(waits(time)))) {
        return real.clock_nanosleep(clock, flags, time, left);
    }
    int result = real.clock_nanosleep(clock, flags, time, left);
    END_WAIT();
    return result;
}

INTERPOSED int usleep(useconds_t us) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_sleep(CALLER(us != 0))) {
        return real.usleep(us);
    }
    int result = real.usleep(us);
    END_WAIT();
    return result;
}

INTERPOSED unsigned sleep(unsigned seconds) {
    const uint64_t frame_pointer = waits_begin();
    if (!preload_begin_sleep(CALLER(seconds != 0))) {
        return real.sleep(seconds);
    }
    unsigned result = real.sleep(seconds);
    END_WAIT();
    return result;
}
