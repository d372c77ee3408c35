/* Buckets, and where they are kept. */
#include <stdlib.h>
#include <string.h>

#include "classify/triage_private.h"

static void bucket_free(struct bucket *b) {
    tally_release(&b->tally);
    VEC_RELEASE(&b->aliases);
    VEC_RELEASE(&b->actions);
    VEC_RELEASE(&b->children);
    free(b->frames);
    free(b->evidence.id);
    free(b->evidence.reason);
    free(b);
}

void bucket_set_release(struct bucket_set *set) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        bucket_free(set->buckets.data[i]);
    }
    VEC_RELEASE(&set->buckets);
    map_release(&set->by_text);
    free(set->ranked);
    set->ranked = NULL;
}

struct bucket *bucket_put(struct bucket_set *set, const char *text, size_t len, bool *added) {
    struct map_entry *entry = map_put(&set->by_text, text, len, set->buckets.len, added);
    if (!entry) {
        return NULL;
    }
    if (!*added) {
        return entry->value < set->buckets.len ? set->buckets.data[entry->value] : NULL;
    }
    struct bucket *b = calloc(1, sizeof *b);
    if (!b || !VEC_PUSH(&set->buckets, b)) {
        free(b);
        return NULL;
    }
    b->text = entry->key;
    b->index = (uint32_t)entry->value;
    b->parent = NO_INDEX;
    key_id(set->level, entry->key, entry->len, b->id);
    return b;
}

bool bucket_add_action(struct bucket *b, uint32_t action, uint64_t ms) {
    size_t low = 0, high = b->actions.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->actions.data[middle].action < action) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == b->actions.len || b->actions.data[low].action != action) {
        if (!VEC_INSERT(&b->actions, low)) {
            return false;
        }
        b->actions.data[low] = (struct action_share){.action = action};
    }
    b->actions.data[low].ms += ms;
    return true;
}

bool bucket_offers_better(const struct bucket *b, uint64_t span_ms, const char *id) {
    const struct evidence *e = &b->evidence;
    return !e->id || span_ms > e->span_ms || (span_ms == e->span_ms && strcmp(id, e->id) < 0);
}

bool bucket_take_evidence(struct bucket *b, uint64_t span_ms, const char *id,
                          enum stall_cause cause, const char *reason) {
    char *id_copy = strdup(id), *reason_copy = strdup(reason);
    if (!id_copy || !reason_copy) {
        free(id_copy);
        free(reason_copy);
        return false;
    }
    free(b->evidence.id);
    free(b->evidence.reason);
    b->evidence = (struct evidence){id_copy, span_ms, cause, reason_copy};
    return true;
}
