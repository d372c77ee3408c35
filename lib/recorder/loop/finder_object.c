/* Compares the objects on which a loop waits, and keeps the core of a candidate's sets. */
#include "loop/loop_finder.h"

enum {
    CORE_WAITS = 16, /* number of waits in a row after which a descriptor of all of them belongs to
                        the core */
    CORE_ASKED = 8   /* number of descriptors about which is_open is asked in one comparison, at
                        most */
};

/* Do two sets have a descriptor in common? Two sets whose lowest descriptors refer to one known
 * file do, even by two descriptors. A lowest descriptor that both share does not count if it refers
 * to two known files. */
static bool sets_share(const struct finder_object *a, const struct finder_object *b) {
    if (a->file != 0 && a->file == b->file) {
        return true;
    }
    bool replaced = a->file != 0 && b->file != 0 && a->lowest == b->lowest && a->file != b->file;
    for (uint32_t i = 0; i < FINDER_SET_WORDS; i++) {
        uint64_t common = a->set[i] & b->set[i];
        if (replaced && i == a->lowest / 64 % FINDER_SET_WORDS) {
            common &= ~(UINT64_C(1) << a->lowest % 64);
        }
        if (common != 0) {
            return true;
        }
    }
    return false;
}

bool finder_same_object(const struct finder_object *a, const struct finder_object *b) {
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == FINDER_SET) {
        return sets_share(a, b);
    }
    return a->id == b->id && (a->file == 0 || b->file == 0 || a->file == b->file);
}

static bool has_core(const struct finder_object *object) {
    return object->kind == FINDER_SET && !object->unread && !object->folded;
}

bool finder_is_narrower(const struct loop_finder *f, const struct finder_candidate *c,
                        const struct finder_object *object) {
    unsigned asked = 0;
    if (f->is_open == NULL || !has_core(object) || !has_core(&c->object)) {
        return false;
    }
    for (uint32_t i = 0; i < FINDER_SET_WORDS; i++) {
        uint64_t lost = c->core[i] & ~object->set[i];
        for (; lost != 0 && asked < CORE_ASKED; lost &= lost - 1, asked++) {
            if (f->is_open(f->open_ctx, i * 64 + (uint32_t)__builtin_ctzll(lost))) {
                return true;
            }
        }
    }
    return false;
}

void finder_count_core(struct finder_candidate *c, const struct finder_object *object) {
    bool first = c->all_waits == 0;
    if (!has_core(object)) {
        return;
    }
    c->recent_waits++;
    for (uint32_t i = 0; i < FINDER_SET_WORDS; i++) {
        bool begins = first || c->recent_waits == 1;
        c->recent[i] = begins ? object->set[i] : c->recent[i] & object->set[i];
        c->core[i] = first ? object->set[i] : c->core[i] & object->set[i];
        c->core[i] |= c->recent_waits == CORE_WAITS ? c->recent[i] : 0;
    }
    c->recent_waits %= CORE_WAITS;
}
