/* Looks up and adds single frames of a key. */
#include "classify/keys/keyer_private.h"

bool key_has(const struct key *key, const struct frame_info *info) {
    for (size_t i = 0; i < key->count; i++) {
        if (key->frames[i].info->canonical == info->canonical) {
            return true;
        }
    }
    return false;
}

void key_add(struct key *key, const struct key_frame *f) {
    if (key->count < KEY_FRAMES_MAX) {
        key->frames[key->count++] = *f;
    }
}

struct key_frame key_frame_of(const struct judged_frame *from) {
    struct key_frame f = {.info = from->info};
    if (from->line) {
        f.file = from->line->line ? from->line->file : NULL;
        f.line = from->line->line;
    }
    return f;
}
