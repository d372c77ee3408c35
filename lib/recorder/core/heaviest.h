/* Which of the ring's stacks the stall is about. */
#ifndef STALLREC_HEAVIEST_H
#define STALLREC_HEAVIEST_H

#include "core/ring.h"

struct rec_heaviest {
    const struct rec_slot *slot; /* NULL: no sample has a stack */
    uint32_t index;              /* the slot, as for rec_ring_at */
    uint32_t repeats;            /* samples with the same top function, this one included */
};

/* Samples are the same if the function on top is. The one seen most often wins, and stands in its
 * newest sample; ties go to the newest. Raw program counters are not compared: in a busy loop they
 * always differ. Source: the heaviest stack of ARMS and Matrix ("point stack").
 * See stallkit-design(7), RECORDER RULES, 10. */
struct rec_heaviest rec_heaviest_find(const struct rec_ring *ring);

#endif
