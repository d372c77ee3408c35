/* Computes exact shares of integers. */
#ifndef STALLKIT_FLAME_WEIGH_H
#define STALLKIT_FLAME_WEIGH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Returns floor(a * b / c) without overflow in between; *remainder, if not NULL, becomes a * b mod
 * c. c must be > 0, and a <= c or b <= c, so that the result fits. */
uint64_t weigh_muldiv(uint64_t a, uint64_t b, uint64_t c, uint64_t *remainder);

/* Returns 10^places; places <= 19. */
uint64_t weigh_power_of_ten(unsigned places);

/* Splits total in proportion to counts[n] into out[n], whose sum is exactly total, by the method of
 * the largest remainder (Hamilton); of equal remainders the lower index wins. out may be counts. If
 * all counts are 0, out[0] gets everything. n >= 1. ST_ERR: ERR_LIMIT if the counts' sum passes 64
 * bits, ERR_NOMEM. */
enum st weigh_split(uint64_t total, const uint64_t *counts, size_t n, uint64_t *out,
                    struct err *e) BASE_MUST_USE;

/* State for splitting `to` in proportion to weights that come one by one and add up to `from`. Each
 * share is the difference of two running sums, both rounded down, so the shares add up exactly. Set
 * from and to; weigh_next returns the share of the next weight. */
struct weigh_running {
    uint64_t from, to;
    uint64_t seen, given;
};
uint64_t weigh_next(struct weigh_running *r, uint64_t weight);

#endif
