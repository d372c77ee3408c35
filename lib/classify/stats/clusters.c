/* Counts stalls, or exposure, by stratum and group of users, in a sorted array. */
#include "classify/stats/clusters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"
#include "classify/stats/sum.h"

void clusters_release(struct clusters *c) {
    SMALL_VEC_RELEASE(&c->cells);
}

bool clusters_add(struct clusters *c, uint32_t cell, uint64_t count, uint64_t ms) {
    size_t low = c->cells.len;
    if (low && c->cells.data[low - 1].cell >= cell) {
        LOWER_BOUND(low, c->cells.len, c->cells.data[low].cell, cell);
    }
    if (low == c->cells.len || c->cells.data[low].cell != cell) {
        if (!SMALL_VEC_INSERT(&c->cells, low)) {
            return false;
        }
        c->cells.data[low] = (struct cluster_cell){.cell = cell};
    }
    sum_add(&c->cells.data[low].count, count);
    sum_add(&c->cells.data[low].ms, ms);
    return true;
}

bool clusters_merge(struct clusters *c, const struct clusters *from) {
    for (size_t i = 0; i < from->cells.len; i++) {
        const struct cluster_cell *cell = &from->cells.data[i];
        if (!clusters_add(c, cell->cell, cell->count, cell->ms)) {
            return false;
        }
    }
    return true;
}

bool clusters_equal(const struct clusters *a, const struct clusters *b) {
    bool equal = a->cells.len == b->cells.len;
    for (size_t i = 0; equal && i < a->cells.len; i++) {
        const struct cluster_cell *x = &a->cells.data[i], *y = &b->cells.data[i];
        equal = x->cell == y->cell && x->count == y->count && x->ms == y->ms;
    }
    return equal;
}

uint32_t cluster_stratum(const char *model, const char *os, int64_t cpus) {
    enum { PART_MAX = 60 }; /* bytes of a name; a longer one is cut */
    char text[160];
    model = model ? model : "";
    os = os ? os : "";
    size_t family = strcspn(model, ","), major = strcspn(os, "0123456789");
    major += strspn(os + major, "0123456789");
    family = family < PART_MAX ? family : PART_MAX;
    major = major < PART_MAX ? major : PART_MAX;
    int len = model[family] == ','
                  ? snprintf(text, sizeof text, "%.*s\n%.*s", (int)family, model, (int)major, os)
                  : snprintf(text, sizeof text, "%" PRId64 "\n%.*s", cpus, (int)major, os);
    return (uint32_t)(hash_bytes(text, (size_t)len) % CLUSTER_STRATA);
}

uint32_t cluster_cell_of(uint32_t stratum, uint64_t user_hash) {
    return stratum << CLUSTER_GROUP_BITS | (uint32_t)(user_hash % CLUSTER_GROUPS);
}
