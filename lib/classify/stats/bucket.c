/* Buckets, and where they are kept. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

static void release_evidence(struct evidence *e) {
    free(e->id);
    SMALL_VEC_RELEASE(&e->stack);
}

void bucket_drop(struct bucket *b) {
    tally_release(&b->tally);
    b->tally = (struct tally){0};
    SMALL_VEC_RELEASE(&b->aliases);
    SMALL_VEC_RELEASE(&b->actions);
    SMALL_VEC_RELEASE(&b->children);
    free(b->frames);
    b->frames = NULL;
    b->frame_count = 0;
    release_evidence(&b->evidence);
    b->evidence = (struct evidence){0};
}

static void bucket_free(struct bucket *b) {
    bucket_drop(b);
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
    size_t low;
    LOWER_BOUND(low, b->actions.len, b->actions.data[low].action, action);
    if (low == b->actions.len || b->actions.data[low].action != action) {
        if (!SMALL_VEC_INSERT(&b->actions, low)) {
            return false;
        }
        b->actions.data[low] = (struct action_share){.action = action};
    }
    sum_add(&b->actions.data[low].ms, ms);
    return true;
}

bool bucket_add_alias(struct bucket *b, uint64_t alias) {
    size_t low;
    LOWER_BOUND(low, b->aliases.len, b->aliases.data[low], alias);
    if (low < b->aliases.len && b->aliases.data[low] == alias) {
        return true;
    }
    if (b->aliases.len == ALIASES_MAX) {
        if (low == ALIASES_MAX) {
            return true;
        }
        b->aliases.len--; /* the largest */
    }
    if (!SMALL_VEC_INSERT(&b->aliases, low)) {
        return false;
    }
    b->aliases.data[low] = alias;
    return true;
}

bool bucket_add_ways(struct bucket *b, const struct stall_key *key, size_t level) {
    for (size_t way = 0; way < KEY_WAYS; way++) {
        if (key->was[way][level] && !bucket_add_alias(b, key->was[way][level])) {
            return false;
        }
    }
    return true;
}

bool bucket_adopt(struct bucket *parent, struct bucket *child) {
    if (child->parent != NO_INDEX) {
        return true;
    }
    child->parent = parent->index;
    return SMALL_VEC_PUSH(&parent->children, child->index);
}

/* ---- evidence ---- */

bool bucket_offers_better(const struct bucket *b, const struct evidence *offer) {
    const struct evidence *have = &b->evidence;
    if (!have->id || offer->span_ms != have->span_ms) {
        return !have->id || offer->span_ms > have->span_ms;
    }
    int c = strcmp(offer->id, have->id);
    return c ? c < 0 : offer->hash < have->hash;
}

bool bucket_take_evidence(struct bucket *b, const struct evidence *offer) {
    struct evidence copy = *offer;
    copy.id = strdup(offer->id);
    copy.stack.data = calloc(offer->stack.len + 1, sizeof *copy.stack.data);
    copy.stack.cap = offer->stack.len + 1;
    if (!copy.id || !copy.stack.data) {
        release_evidence(&copy);
        return false;
    }
    if (offer->stack.len) {
        memcpy(copy.stack.data, offer->stack.data, offer->stack.len * sizeof *copy.stack.data);
    }
    release_evidence(&b->evidence);
    b->evidence = copy;
    return true;
}
