/* Keeps the monitor's signal out of the calls in which a thread waits. The kernel restarts neither
 * poll nor select, epoll_wait or nanosleep after a signal's handler (signal(7)), so such a call
 * would fail with EINTR, or end early. */
#ifndef STALLREC_GUARD_H
#define STALLREC_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum guard_state {
    GUARD_FREE,    /* the thread may be signalled */
    GUARD_WAITS,   /* the thread is in a call that waits, and is not signalled */
    GUARD_SENDING, /* the monitor sends a signal */
    GUARD_SENT     /* the signal is sent; the handler has not begun */
};
/* Reports that the calling thread is about to make a call that waits. If a signal is on its way,
 * the function first looks at *guard, without a system call and for some ms at most, until the
 * signal has been handled. */
void guard_wait_begins(_Atomic uint32_t *guard);
/* Reports that the call has ended. */
void guard_wait_ends(_Atomic uint32_t *guard);
/* Called by the monitor before it sends a signal to the thread; false: the thread waits, or another
 * signal is being sent, and the monitor must not send one. After true, guard_sent_async must
 * follow. NULL: the thread has no guard, and true is returned. */
bool guard_send_async(_Atomic uint32_t *guard);
/* Called by the monitor after it has sent the signal (sent) or failed to. NULL: nothing is done. */
void guard_sent_async(_Atomic uint32_t *guard, bool sent);
/* Marks the signal as handled, so that the thread may be signalled again. Called by the signal's
 * handler, on the thread. NULL: nothing is done. */
static inline void guard_handled_async(_Atomic uint32_t *guard) {
    uint32_t state = GUARD_SENT;
    if (guard == NULL || atomic_compare_exchange_strong(guard, &state, GUARD_FREE)) {
        return;
    }
    if (state == GUARD_SENDING) {
        atomic_compare_exchange_strong(guard, &state, GUARD_FREE);
    }
}

#endif
