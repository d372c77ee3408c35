/* Finds buckets that appeared with a new system or device, rather than with the new release. */
#include <string.h>

#include "classify/gate/gate_private.h"

/* Returns the length of the part of a facet's value that names the platform: a system's name and
 * major version ("iOS 18" of "iOS 18.7"), a model's family ("iPhone13" of "iPhone13,3"; a model
 * without a comma is a family of its own). */
size_t gate_platform_len(enum tally_facet f, const char *value) {
    if (f != FACET_OS) {
        return strcspn(value, ",");
    }
    size_t len = strcspn(value, "0123456789");
    return len + strspn(value + len, "0123456789");
}

static bool base_has(const struct triage *base, enum tally_facet f, const char *value) {
    const struct facet *facet = &base->total.facets[f];
    size_t len = gate_platform_len(f, value);
    for (size_t i = 0; i < facet->values.len; i++) {
        const char *other = map_string(&base->strings, facet->values.data[i].text);
        if (gate_platform_len(f, other) == len && memcmp(other, value, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Do all dumps of the bucket have a value of this facet, and does the base have none of the
 * platforms of these values? */
static bool is_of_platform(const struct gate *g, const struct bucket *b, enum tally_facet f) {
    const struct facet *facet = &b->tally->facets[f];
    uint64_t dumps = 0;
    if (g->run[RATES_BASE]->total.facets[f].values.len == 0) {
        return false; /* the base has no dump with a value of this facet */
    }
    for (size_t i = 0; i < facet->values.len; i++) {
        const struct facet_value *v = &facet->values.data[i];
        if (base_has(g->run[RATES_BASE], f, map_string(&g->run[RATES_NOW]->strings, v->text))) {
            return false;
        }
        dumps += v->dumps;
    }
    return dumps && dumps >= b->tally->dumps;
}

void gate_find_platforms(struct gate *g) {
    static const enum tally_facet platforms[] = {FACET_OS, FACET_DEVICE};
    for (size_t i = 0; i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        for (size_t k = 0; row->bucket && row->stalls[RATES_BASE] == 0 && !row->platform && k < 2;
             k++) {
            row->facet = platforms[k];
            row->platform = is_of_platform(g, row->bucket, platforms[k]);
        }
    }
}
