/* Finds the ring's heaviest stack, which stands for the stall. */
#ifndef STALLREC_HEAVIEST_H
#define STALLREC_HEAVIEST_H

#include "core/ring.h"

struct rec_heaviest {
    const struct rec_slot *slot; /* a sample with the heaviest stack; NULL: no sample has a frame */
    uint32_t index;              /* the slot's index for rec_ring_at */
    uint32_t repeats; /* number of samples with the same innermost function, this sample included */
};

/* Finds the function that is innermost in most samples, and its newest sample; ties go to the
 * newest. Raw program counters are not compared: in a busy loop they always differ. Source: the
 * heaviest stack of ARMS and Matrix ("point stack"). See stallkit-design(7), RECORDER RULES, 10. */
struct rec_heaviest rec_heaviest_find(const struct rec_ring *ring);

#endif
