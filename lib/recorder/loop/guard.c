/* Keeps the monitor's signal out of the calls in which a thread waits. */
#include "loop/guard.h"

#include <stddef.h>

enum { GUARD_SPINS = 1 << 17 }; /* number of looks for the end of a signal, some 3 ms in all */

void guard_wait_begins(_Atomic uint32_t *guard) {
    for (unsigned i = 0; i < GUARD_SPINS; i++) {
        uint32_t state = GUARD_FREE;
        if (atomic_compare_exchange_strong(guard, &state, GUARD_WAITS) ||
            state == GUARD_WAITS) { /* an earlier wait was left by longjmp */
            return;
        }
    }
    /* The signal was blocked meanwhile, or the monitor has no processor. */
    atomic_store(guard, GUARD_WAITS);
}

void guard_wait_ends(_Atomic uint32_t *guard) {
    atomic_store(guard, GUARD_FREE);
}

bool guard_send_async(_Atomic uint32_t *guard) {
    uint32_t state = GUARD_FREE;
    if (guard == NULL || atomic_compare_exchange_strong(guard, &state, GUARD_SENDING)) {
        return true;
    }
    return state == GUARD_SENT && atomic_compare_exchange_strong(guard, &state, GUARD_SENDING);
}

/* The state stays if it is no longer GUARD_SENDING: the handler may have run before, or the thread
 * may have stopped waiting for it. */
void guard_sent_async(_Atomic uint32_t *guard, bool sent) {
    uint32_t state = GUARD_SENDING;
    if (guard != NULL) {
        atomic_compare_exchange_strong(guard, &state, sent ? GUARD_SENT : GUARD_FREE);
    }
}
