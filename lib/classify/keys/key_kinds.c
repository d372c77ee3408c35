/* Makes the keys of a stack, of the kind that the options ask for. */
#include "classify/keys/keyer_private.h"

static void set_name(struct key *key, const struct frame_info *name) {
    key->frames[key->count] = (struct key_frame){.info = name};
    key->count++;
}

/* Adds names that are not functions to the keys: the name of a slow action, after the frames of the
 * code that worked in it, and, before the action's name, the name of a thread that used the
 * processor and has no stack in the dump. */
static void add_names(const struct keyer *k, struct key keys[KEY_LEVELS], struct key *action) {
    for (size_t n = 0; n < KEY_LEVELS; n++) {
        if (k->culprit) {
            set_name(&keys[n], k->culprit);
        }
        if (k->action) {
            keys[n].count -= keys[n].count == KEY_FRAMES_MAX;
            set_name(&keys[n], k->action);
        }
    }
    if (k->action) {
        action->count = 0;
        set_name(action, k->action);
    }
}

static void clear_keys(struct key keys[KEY_LEVELS], struct key *action) {
    for (size_t n = 0; n < KEY_LEVELS; n++) {
        keys[n].count = 0;
    }
    action->count = 0;
}

bool stack_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
                struct key *action) {
    bool by_app = k->options.rules && k->options.kind == KEY_OF_APP;
    clear_keys(keys, action);
    bool ok = by_app ? app_keys(k, s, keys, action) : frames_keys(k, s, keys, action);
    if (s->stack && s->stack->incomplete && s->cut == s->count) {
        /* The action is unknown, because the stack lacks its outer frames and shows no loop. */
        action->count = 0;
    }
    return ok;
}

bool make_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
               struct key *action) {
    bool ok = true;
    clear_keys(keys, action);
    if (!k->culprit && !k->nothing_worked && !(k->action && s->idle)) {
        ok = stack_keys(k, s, keys, action);
    }
    add_names(k, keys, action);
    return ok;
}
