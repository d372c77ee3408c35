/* Compares the objects on which a loop waits. */
#include "loop/loop_finder.h"

/* Do two sets have a descriptor in common? The lowest descriptor does not count if it now refers
 * to another file, but does if it refers to the same file as the other set's. */
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
    return a->kind == FINDER_SET ? sets_share(a, b) : a->id == b->id;
}
