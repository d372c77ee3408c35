/* The keys of a stack, of the kind that is asked for. */
#include "classify/keys/keyer_private.h"

bool make_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
               struct key *action) {
    for (size_t n = 0; n < KEY_LEVELS; n++) {
        keys[n].count = 0;
    }
    action->count = 0;
    return k->options.rules && k->options.kind == KEY_OF_APP ? app_keys(k, s, keys, action)
                                                             : frames_keys(k, s, keys, action);
}
