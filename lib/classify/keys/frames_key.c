/* Makes keys of the innermost relevant frames, whoever owns their code, and the keys of the
 * published rule, which are the innermost frames unchanged. */
#include "classify/keys/keyer_private.h"

static bool key_has_app(const struct key *key) {
    for (size_t i = 0; i < key->count; i++) {
        if (key->frames[i].info->in_app) {
            return true;
        }
    }
    return false;
}

/* A level that is filled from the innermost frame outwards: first with relevant frames, then, if
 * none of them is the app's, with the nearest frame of the app. */
struct level {
    struct key *key;
    size_t wanted, counted;
};

static void level_offer(struct level *l, const struct key_frame *f) {
    bool full = l->counted >= l->wanted;
    if (key_has(l->key, f->info)) {
        return; /* the key has the function already: the recursion is direct or mutual */
    }
    if (!full) {
        /* One slot stays free for a frame of the app. */
        if (l->key->count < KEY_FRAMES_MAX - 1) {
            key_add(l->key, f);
        }
        l->counted += f->info->place == PLACE_KEEP;
    } else if (f->info->in_app && !key_has_app(l->key)) {
        key_add(l->key, f);
    }
}

/* Fills the levels of a stack without relevant frames with the stack's innermost frames as they
 * are, up to and with the frame that a rule cuts at. */
static void all_frames(const struct keyer *k, const struct judged_stack *s,
                       struct level levels[KEY_LEVELS]) {
    for (size_t i = 0; i < s->count && i <= s->cut; i++) {
        struct key_frame f = key_frame_of(judged_at(k, s, i));
        for (size_t n = 0; n < KEY_LEVELS; n++) {
            if (!key_has(levels[n].key, f.info) && levels[n].counted < levels[n].wanted) {
                key_add(levels[n].key, &f);
                levels[n].counted++;
            }
        }
    }
}

/* For a stack without a frame of the app that counts: adds to the levels the app's type for which a
 * generic function of a library was made. Of the frames that rules skip, the innermost one with
 * such a type is used, if rules leave that type in the app and no frame with PLACE_CUT is further
 * inside. False: out of memory. */
static bool add_made_for(struct keyer *k, const struct judged_stack *s,
                         struct level levels[KEY_LEVELS]) {
    const struct judged_frame *f = NULL;
    for (size_t i = 0; i < s->count && !f; i++) {
        const struct judged_frame *at = judged_at(k, s, i);
        if (at->info->place == PLACE_CUT) {
            return true;
        }
        f = at->info->made_for && at->info->place == PLACE_SKIP ? at : NULL;
    }
    struct frame_info *type = f ? frame_of_type(&k->table, f->info) : NULL;
    struct key_frame frame = {.info = type};
    for (size_t n = 0; type && type->in_app && n < KEY_LEVELS; n++) {
        key_add(levels[n].key, &frame);
    }
    return type || !f;
}

static bool relevant_frames(struct keyer *k, const struct judged_stack *s,
                            struct level levels[KEY_LEVELS], struct key *action) {
    for (size_t i = 0; i < s->cut; i++) {
        struct key_frame f = key_frame_of(judged_at(k, s, i));
        if (f.info->place == PLACE_SKIP) {
            continue;
        }
        for (size_t n = 0; n < KEY_LEVELS; n++) {
            level_offer(&levels[n], &f);
        }
        if (f.info->in_app) {
            action->frames[0] = f; /* the last frame seen is the outermost */
            action->count = 1;
        }
    }
    if (levels[0].key->count == 0) {
        all_frames(k, s, levels);
    }
    return action->count || add_made_for(k, s, levels);
}

/* Fills the levels by the published rule: with the innermost frames, even if they say nothing about
 * the stall. */
static void raw_frames(const struct keyer *k, const struct judged_stack *s,
                       struct level levels[KEY_LEVELS]) {
    for (size_t i = 0; i < s->count; i++) {
        struct key_frame f = key_frame_of(judged_at(k, s, i));
        for (size_t n = 0; n < KEY_LEVELS; n++) {
            if (i < levels[n].wanted) {
                key_add(levels[n].key, &f);
            }
        }
    }
}

bool frames_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
                 struct key *action) {
    struct level levels[KEY_LEVELS];
    for (size_t n = 0; n < KEY_LEVELS; n++) {
        levels[n] = (struct level){&keys[n], k->options.wanted[n], 0};
    }
    if (!k->options.rules) {
        raw_frames(k, s, levels);
        return true;
    }
    return relevant_frames(k, s, levels, action);
}
