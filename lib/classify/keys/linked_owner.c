/* Tells a Java library that is part of the app from the app, by the owner of its package. An app
 * whose id is com.acme.shop has packages of com.acme, and those of others are libraries. */
#include "classify/keys/keyer_private.h"

static bool is_apps_owner(const struct keyer *k, const struct frame_info *info) {
    return info->owner_len == k->owner_len && memcmp(info->function, k->owner, k->owner_len) == 0;
}

bool link_other_owners(struct keyer *k, const struct judged_stack *s) {
    bool own = false, others = false;
    for (size_t i = 0; k->owner_len && i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        k->has_packages = k->has_packages || info->owner_len;
        if (info->owner_len && is_apps_owner(k, info)) {
            own = own || info->place == PLACE_KEEP;
        } else {
            others = others || info->owner_len;
        }
    }
    if (!own || !others) {
        return true;
    }
    for (size_t i = 0; i < s->cut; i++) {
        struct judged_frame *f = &k->frames.data[s->first + i];
        if (f->info->owner_len && !is_apps_owner(k, f->info) &&
            !(f->info = frame_as_linked(&k->table, f->info))) {
            return false;
        }
    }
    return true;
}
