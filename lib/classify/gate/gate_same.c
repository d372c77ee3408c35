/* Compares the frames and systems of two buckets, which former ids may wrongly call one stall. */
#include <string.h>

#include "base/parse.h"
#include "classify/gate/gate_private.h"

bool gate_is_own_id(const struct bucket *b, uint64_t number) {
    uint64_t own;
    return parse_hex(b->id, strlen(b->id), &own) && own == number;
}

/* ---- systems ---- */

/* Returns the bit of the kind of system that a value names. Distributions of Linux, which have any
 * name, are one kind with what is unknown. */
static unsigned system_bit(const char *os) {
    static const char *const kinds[] = {"Windows", "Android", "OS", "Darwin"};
    size_t len = strcspn(os, "0123456789");
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = strstr(os, kinds[i]);
        if (at && (size_t)(at - os) < len) {
            return i < 2 ? 1U << i : 1U << 2; /* "iOS", "iPadOS", "macOS" and "Darwin" are one */
        }
    }
    return 1U << 3;
}

static unsigned systems_of(const struct triage *t, const struct bucket *b) {
    const struct facet *f = &b->tally->facets[FACET_OS];
    unsigned bits = 0;
    for (size_t i = 0; i < f->values.len; i++) {
        bits |= system_bit(map_string(&t->strings, f->values.data[i].text));
    }
    return bits;
}

/* ---- names ---- */

/* Returns the innermost function of the app in the key, or, if there is none, the innermost
 * function. NULL: the key has libraries only, or a frame without a name. */
static const struct bucket_frame *innermost_function(const struct bucket *b) {
    const struct bucket_frame *found = NULL;
    for (size_t i = 0; i < b->frame_count; i++) {
        const struct bucket_frame *f = b->frames[i];
        if (!f->resolved) {
            return NULL;
        }
        if (f->function[0] && (!found || (f->in_app && !found->in_app))) {
            found = f;
        }
    }
    return found;
}

static bool has_frame(const struct bucket *b, const struct bucket_frame *f) {
    for (size_t i = 0; i < b->frame_count; i++) {
        if (bucket_frame_equals(b->frames[i], f)) {
            return true;
        }
    }
    return false;
}

bool gate_may_be_one(const struct triage *t, const struct bucket *b, const struct triage *of,
                     const struct bucket *other, uint64_t number) {
    const struct bucket_frame *mine = innermost_function(b), *its = innermost_function(other);
    if (!mine || !its) {
        return true;
    }
    unsigned here = systems_of(t, b), there = systems_of(of, other);
    if (here && there && !(here & there)) {
        return false;
    }
    return gate_is_own_id(b, number) || gate_is_own_id(other, number) || has_frame(other, mine) ||
           has_frame(b, its);
}
