/* Stalls counted by who had them: by stratum (class of device and system) and, in it, by one of 64
 * groups of users. What a statistical test needs in order to know that stalls of one user are not
 * independent, in a fixed size and mergeable exactly, which the users themselves would not be: the
 * sums of random groups vary as their users do (random groups, Wolter, "Introduction to Variance
 * Estimation", 2007, chapter 2).
 *
 * A stratum's number is a hash: whatever devices call themselves, there are at most 4,096. Two
 * strata of the same number are taken together. */
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

/* Zero-initialised = empty. Only cells in use take memory. */
struct clusters {
    SMALL_VEC(struct cluster_cell) cells;
};

void clusters_release(struct clusters *c);
/* Adds to a cell < CLUSTER_CELLS; sums as in sum.h. False: out of memory, nothing counted. */
bool clusters_add(struct clusters *c, uint32_t cell, uint64_t count, uint64_t ms);
/* Adds what `from` holds. False: out of memory, c may hold a part. */
bool clusters_merge(struct clusters *c, const struct clusters *from);

/* The stratum of a device: its model's family ("iPhone13,3" is an "iPhone13"; a model without a
 * comma stands for itself by its processors, as there are thousands of names) and its system's
 * major version ("iOS 18.7" is "iOS 18"). model and os may be NULL, cpus -1: unknown is a stratum,
 * too. */
uint32_t cluster_stratum(const char *model, const char *os, int64_t cpus);
/* The cell of a user, by the hash of the name. */
uint32_t cluster_cell_of(uint32_t stratum, uint64_t user_hash);

#endif
