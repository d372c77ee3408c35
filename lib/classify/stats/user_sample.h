/* Keeps the stalled time of each user in a sample of the users: the 4,096 whose names have the
 * smallest hashes (a bottom-k sketch; Cohen and Kaplan, "Summarizing data using bottom-k sketches",
 * 2007), or all users if there are no more. For each of these users it has the sums over all of the
 * user's sessions and stalls. A user who is in the sample of the whole is also in the sample of
 * each part that has the user, so samples merge exactly and in any order. Hashes do not depend on
 * stalls, so percentiles over the sample estimate those over all users. One standard error is 0.8 %
 * of the ranks at the median, and 0.16 % at p99. */
#ifndef STALLKIT_CLASSIFY_USER_SAMPLE_H
#define STALLKIT_CLASSIFY_USER_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { USER_SAMPLE_MAX = 4096 };

struct user_sum {
    uint64_t hash; /* hash of the user's name */
    uint64_t foreground_ms,
        stalled_ms; /* both in ms: foreground time of all the user's sessions; stalled time of all
                       the user's stalls, each counted up to the cap */
};

/* A sample of users. Zero-initialised = empty. */
struct user_sample {
    VEC(struct user_sum) users; /* ascending by hash */
    bool cut;                   /* true: there are more users than the sample has */
};

void user_sample_release(struct user_sample *s);
/* Adds to a user's sums, which saturate (sum.h). If the sample is full of smaller hashes, only
 * `cut` is set. False: out of memory, and nothing was counted. */
bool user_sample_add(struct user_sample *s, uint64_t hash, uint64_t foreground_ms,
                     uint64_t stalled_ms);
/* Adds all users of `from`. False: out of memory, and s may hold a part. */
bool user_sample_merge(struct user_sample *s, const struct user_sample *from);

enum { USER_PERCENTILES = 4 };
/* The percentiles of ms_per_hour, in permille: 500, 900, 950, 990. */
extern const unsigned user_percentiles[USER_PERCENTILES];

/* The users' stalled time per hour in the foreground. */
struct user_rates {
    /* Number of users with time in the foreground; an estimate (1.6 % standard error) if the sample
     * is cut. */
    uint64_t users;
    /* Number of these users in the sample; the percentiles are computed over them. */
    uint64_t sampled;
    uint64_t never; /* number of the `sampled` users without stalled time: they had no stall, or
                       only stalls of unknown length */
    /* Number of other users in the sample, with stalled time but no known time in the foreground.
     */
    uint64_t unwatched;
    uint64_t ms_per_hour[USER_PERCENTILES]; /* nearest rank, including users without a stall */
};
/* Computes the rates of the sampled users; if none has time in the foreground, all members but
 * `unwatched` are 0. False: out of memory. */
bool user_sample_rates(const struct user_sample *s, struct user_rates *out);

#endif
