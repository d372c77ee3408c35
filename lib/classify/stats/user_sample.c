/* Samples users by their hashes. */
#include "classify/stats/user_sample.h"

#include <stdlib.h>

#include "base/search.h"
#include "classify/stats/hourly.h"
#include "classify/stats/sum.h"

const unsigned user_percentiles[USER_PERCENTILES] = {500, 900, 950, 990};

void user_sample_release(struct user_sample *s) {
    VEC_RELEASE(&s->users);
    s->cut = false;
}

bool user_sample_add(struct user_sample *s, uint64_t hash, uint64_t foreground_ms,
                     uint64_t stalled_ms) {
    size_t low;
    LOWER_BOUND(low, s->users.len, s->users.data[low].hash, hash);
    if (low == s->users.len || s->users.data[low].hash != hash) {
        if (s->users.len == USER_SAMPLE_MAX) {
            s->cut = true;
            if (low == USER_SAMPLE_MAX) {
                return true;
            }
            s->users.len--; /* drops the largest hash */
        }
        if (!VEC_INSERT(&s->users, low)) {
            return false;
        }
        s->users.data[low] = (struct user_sum){.hash = hash};
    }
    sum_add(&s->users.data[low].foreground_ms, foreground_ms);
    sum_add(&s->users.data[low].stalled_ms, stalled_ms);
    return true;
}

bool user_sample_merge(struct user_sample *s, const struct user_sample *from) {
    for (size_t i = 0; i < from->users.len; i++) {
        const struct user_sum *u = &from->users.data[i];
        if (!user_sample_add(s, u->hash, u->foreground_ms, u->stalled_ms)) {
            return false;
        }
    }
    s->cut = s->cut || from->cut;
    return true;
}

static int user_by_rate(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

/* Estimates the number of users with time in the foreground. If k users are sampled and the largest
 * hash is the fraction h of the range of hashes, there are about (k - 1) / h users (Bar-Yossef and
 * others, 2002). Their share of users in the foreground is taken to be that of the sample. */
static uint64_t estimate_users(const struct user_sample *s, uint64_t sampled) {
    if (!s->cut) {
        return sampled;
    }
    uint64_t largest = s->users.data[s->users.len - 1].hash;
    unsigned __int128 all = ((unsigned __int128)(s->users.len - 1) << 64) / (largest | 1);
    unsigned __int128 users = all * sampled / s->users.len;
    return users < SUM_MAX ? (uint64_t)users : SUM_MAX;
}

bool user_sample_rates(const struct user_sample *s, struct user_rates *out) {
    *out = (struct user_rates){0};
    uint64_t *rates = calloc(s->users.len + 1, sizeof *rates);
    if (!rates) {
        return false;
    }
    for (size_t i = 0; i < s->users.len; i++) {
        const struct user_sum *u = &s->users.data[i];
        if (u->foreground_ms == 0) {
            out->unwatched += u->stalled_ms > 0;
            continue;
        }
        out->never += u->stalled_ms == 0;
        rates[out->sampled++] = hourly_ms(u->stalled_ms, u->foreground_ms);
    }
    qsort(rates, out->sampled, sizeof *rates, user_by_rate);
    for (size_t p = 0; p < USER_PERCENTILES && out->sampled; p++) {
        uint64_t rank = (out->sampled * user_percentiles[p] + 999) / 1000; /* counts from 1 */
        out->ms_per_hour[p] = rates[rank - 1];
    }
    out->users = out->sampled ? estimate_users(s, out->sampled) : 0;
    free(rates);
    return true;
}
