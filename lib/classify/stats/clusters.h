/* Counts stalls, or exposure, by stratum (class of device and system) and, within it, by one of 64
 * groups of users. A statistical test needs to know that stalls of one user are not independent,
 * and the sums of random groups vary as their users do (random groups, Wolter, "Introduction to
 * Variance Estimation", 2007, chapter 2); unlike users, groups have a fixed size and merge exactly.
 *
 * A stratum's number is a hash: whatever names devices have, there are at most 4,096 strata. Two
 * strata with the same number are counted together. */
#ifndef STALLKIT_CLASSIFY_CLUSTERS_H
#define STALLKIT_CLASSIFY_CLUSTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
    CLUSTER_GROUP_BITS = 6,
    CLUSTER_GROUPS = 1 << CLUSTER_GROUP_BITS,
    CLUSTER_STRATA = 4096,
    CLUSTER_CELLS = CLUSTER_STRATA * CLUSTER_GROUPS
};

struct cluster_cell {
    uint32_t cell; /* stratum * CLUSTER_GROUPS + group, ascending */
    uint64_t count, ms;
};

/* The counts of all cells. Zero-initialised = empty. Only cells in use take memory. */
struct clusters {
    SMALL_VEC(struct cluster_cell) cells;
};

void clusters_release(struct clusters *c);
/* Adds to a cell, a number below CLUSTER_CELLS; the sums saturate as in sum.h. False: out of
 * memory, and nothing was counted. */
bool clusters_add(struct clusters *c, uint32_t cell, uint64_t count, uint64_t ms);
/* Adds all counts of `from`. False: out of memory, and c may hold a part of them. */
bool clusters_merge(struct clusters *c, const struct clusters *from);
bool clusters_equal(const struct clusters *a, const struct clusters *b);

/* Returns the stratum of a device: its model's family ("iPhone13" of "iPhone13,3"; a model without
 * a comma, of which there are thousands, is replaced by its number of processors) and its system's
 * major version ("iOS 18" of "iOS 18.7"); at most 60 bytes of each are used. model and os may be
 * NULL, and cpus may be -1: devices with unknown values form a stratum, too. */
uint32_t cluster_stratum(const char *model, const char *os, int64_t cpus);
/* Returns the cell of a user in a stratum, by the hash of the user's name. */
uint32_t cluster_cell_of(uint32_t stratum, uint64_t user_hash);

#endif
