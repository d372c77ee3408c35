/* Fakes the recorder for tests of the adapters: a loop that tests can inspect, a clock that
 * advances by 1 us at each reading, and a poster that is only stored, so that tests can call it. */
#ifndef STALLREC_FAKE_LOOP_TEST_H
#define STALLREC_FAKE_LOOP_TEST_H

#include <stdbool.h>
#include <string.h>

#include "stallrec.h"

static struct {
    struct stallrec_loop loop;
    uint64_t clock;
    stallrec_poster post;
    void *ctx;
    uint64_t answered; /* number of the last answered ping */
    unsigned answers;
} fake;

/* A recorder whose contents nobody reads. */
#define FAKE_REC ((struct stallrec *)(void *)&fake)

uint64_t stallrec_clock_ns(void) {
    return __atomic_add_fetch(&fake.clock, 1000, __ATOMIC_SEQ_CST);
}

void stallrec_loop_notify_(struct stallrec_loop *loop, uint64_t now) {
    (void)loop, (void)now;
}

struct stallrec_loop *stallrec_main_loop(struct stallrec *rec) {
    (void)rec;
    return &fake.loop;
}

void stallrec_set_poster(struct stallrec *rec, stallrec_poster post, void *ctx) {
    (void)rec;
    fake.post = post;
    fake.ctx = ctx;
}

void stallrec_ping_done(struct stallrec *rec, uint64_t number) {
    if (rec != NULL) {
        fake.answered = number;
        fake.answers++;
    }
}

static inline void fake_clear(void) {
    memset(&fake, 0, sizeof fake);
}

static inline uint64_t fake_state(void) {
    return __atomic_load_n(&fake.loop.state_, __ATOMIC_SEQ_CST);
}

static inline bool fake_busy(void) {
    return (fake_state() & 1) != 0;
}

#endif
