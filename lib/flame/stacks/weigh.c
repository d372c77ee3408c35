/* Computes exact shares with 128-bit products and the method of the largest remainder. */
#include "flame/stacks/weigh.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/search.h"

/* Integers of 128 bits are a GNU extension that gcc and clang have for every 64-bit target. */
__extension__ typedef unsigned __int128 wide_uint;

uint64_t weigh_muldiv(uint64_t a, uint64_t b, uint64_t c, uint64_t *remainder) {
    wide_uint product = (wide_uint)a * b;
    if (remainder) {
        *remainder = (uint64_t)(product % c);
    }
    return (uint64_t)(product / c);
}

uint64_t weigh_power_of_ten(unsigned places) {
    uint64_t power = 1;
    for (; places > 0; places--) {
        power *= 10;
    }
    return power;
}

struct weigh_share {
    uint64_t remainder;
    size_t index;
};

static int larger_remainder_first(const void *a, const void *b) {
    const struct weigh_share *x = a, *y = b;
    int order = COMPARE(y->remainder, x->remainder);
    return order ? order : COMPARE(x->index, y->index);
}

enum st weigh_split(uint64_t total, const uint64_t *counts, size_t n, uint64_t *out,
                    struct err *e) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!checked_add_u64(sum, counts[i], &sum)) {
            return err_set(e, ERR_LIMIT, "the sum of the sample counts passes 64 bits");
        }
    }
    if (sum == 0) {
        memset(out, 0, n * sizeof *out);
        out[0] = total;
        return ST_OK;
    }
    struct weigh_share *shares = calloc(n, sizeof *shares);
    if (!shares) {
        return err_nomem(e);
    }
    uint64_t left = total;
    for (size_t i = 0; i < n; i++) {
        shares[i].index = i;
        out[i] = weigh_muldiv(total, counts[i], sum, &shares[i].remainder);
        left -= out[i];
    }
    /* The remainders add up to left * sum, and each is less than sum, so that more than `left` of
     * them are above 0 unless `left` is 0. */
    qsort(shares, n, sizeof *shares, larger_remainder_first);
    for (size_t i = 0; i < left; i++) {
        out[shares[i].index]++;
    }
    free(shares);
    return ST_OK;
}

uint64_t weigh_next(struct weigh_running *r, uint64_t weight) {
    r->seen += weight;
    uint64_t sum = r->from == r->to ? r->seen : weigh_muldiv(r->seen, r->to, r->from, NULL);
    uint64_t share = sum - r->given;
    r->given = sum;
    return share;
}
