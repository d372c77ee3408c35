/* Implements buckets and sets of them. A bucket's frames have the texts of its key, so the key's
 * text is not stored. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

static void release_evidence(struct evidence *e) {
    free(e->id);
    SMALL_VEC_RELEASE(&e->stack);
}

void bucket_drop(struct bucket *b) {
    tally_free(b->tally);
    b->tally = NULL;
    SMALL_VEC_RELEASE(&b->aliases);
    SMALL_VEC_RELEASE(&b->alias_dumps);
    SMALL_VEC_RELEASE(&b->near);
    SMALL_VEC_RELEASE(&b->actions);
    SMALL_VEC_RELEASE(&b->children);
    release_evidence(&b->evidence);
    b->evidence = (struct evidence){0};
}

void bucket_free(struct bucket *b) {
    if (b) {
        bucket_drop(b);
        stored_bucket_free(NULL, b->stored);
        free(b->frames);
        free(b);
    }
}

void bucket_set_release(struct bucket_set *set) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        bucket_free(set->buckets.data[i]);
    }
    VEC_RELEASE(&set->buckets);
    free(set->slots);
    free(set->ranked);
    set->slots = set->ranked = NULL;
    set->slot_count = 0;
}

/* ---- keys ---- */

enum { TEXT_PIECES = 4 /* number of pieces of one frame's text, as key_text_add writes it */ };

/* Returns piece i of a key's text. */
static const char *text_piece(const struct bucket *b, size_t i) {
    const struct bucket_frame *f = b->frames[i / TEXT_PIECES];
    const char *const pieces[TEXT_PIECES] = {f->image, "\t", f->function, "\n"};
    return pieces[i % TEXT_PIECES];
}

int bucket_compare(const struct bucket *a, const struct bucket *b) {
    size_t i = 0, k, a_count = a->frame_count * TEXT_PIECES, b_count = b->frame_count * TEXT_PIECES;
    while (i < a_count && i < b_count && text_piece(a, i) == text_piece(b, i)) {
        i++; /* skips equal pieces, which are usually the same interned text */
    }
    const char *x = "", *y = "";
    for (k = i;; x++, y++) {
        while (!*x && i < a_count) {
            x = text_piece(a, i++);
        }
        while (!*y && k < b_count) {
            y = text_piece(b, k++);
        }
        if (*x != *y || !*x) {
            return COMPARE((unsigned char)*x, (unsigned char)*y);
        }
    }
}

static bool bucket_has_text(const struct bucket *b, const char *text, size_t len) {
    for (size_t i = 0; i < b->frame_count * TEXT_PIECES; i++) {
        const char *piece = text_piece(b, i);
        size_t size = strlen(piece);
        if (size > len || memcmp(piece, text, size) != 0) {
            return false;
        }
        text += size;
        len -= size;
    }
    return len == 0;
}

/* A key to look up: a text, or the key of another bucket. */
struct bucket_key {
    uint64_t hash;
    const char *text; /* NULL: the key of `like` */
    size_t len;
    const struct bucket *like;
};

static bool has_key(const struct bucket *b, const struct bucket_key *key) {
    return b->text_hash == key->hash && (key->text ? bucket_has_text(b, key->text, key->len)
                                                   : bucket_compare(b, key->like) == 0);
}

/* Returns the slot of the key; if the set lacks the key, the free slot in which it belongs. Some
 * slots are always free (bucket_make_room), so the search ends. */
static uint32_t *bucket_slot(const struct bucket_set *set, const struct bucket_key *key) {
    size_t mask = set->slot_count - 1, at = hash_slot(set->slots, set->slot_count, key->hash);
    while (set->slots[at] && !has_key(set->buckets.data[set->slots[at] - 1], key)) {
        at = (at + 1) & mask;
    }
    return &set->slots[at];
}

/* Makes room for one more bucket, after which at least a third of the slots, rounded down, are
 * still free. False: out of memory. */
static bool bucket_make_room(struct bucket_set *set) {
    enum { FIRST_SLOTS = 16 };
    if (set->buckets.len < set->slot_count - set->slot_count / 3) {
        return true;
    }
    size_t count = set->slot_count ? set->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    for (size_t i = 0; slots && i < set->buckets.len; i++) {
        size_t at = hash_slot(slots, count, set->buckets.data[i]->text_hash);
        while (slots[at]) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (uint32_t)(i + 1);
    }
    if (slots) {
        free(set->slots);
        set->slots = slots;
        set->slot_count = count;
    }
    return slots != NULL;
}

/* Adds a bucket whose key the set does not have. False: out of memory, or the set has NO_INDEX
 * buckets. */
static bool add_bucket(struct bucket_set *set, struct bucket *b, const struct bucket_key *key) {
    if (set->buckets.len >= NO_INDEX || !bucket_make_room(set) || !VEC_PUSH(&set->buckets, b)) {
        return false;
    }
    b->index = (uint32_t)(set->buckets.len - 1);
    *bucket_slot(set, key) = b->index + 1;
    return true;
}

struct bucket *bucket_find(const struct bucket_set *set, const struct bucket *like) {
    const struct bucket_key key = {.hash = like->text_hash, .like = like};
    uint32_t index = set->slot_count ? *bucket_slot(set, &key) : 0;
    return index ? set->buckets.data[index - 1] : NULL;
}

struct bucket *bucket_find_text(const struct bucket_set *set, const char *text, size_t len) {
    const struct bucket_key key = {.hash = hash_bytes(text, len), .text = text, .len = len};
    uint32_t index = set->slot_count ? *bucket_slot(set, &key) : 0;
    return index ? set->buckets.data[index - 1] : NULL;
}

bool bucket_move(struct bucket_set *set, struct bucket *b) {
    const struct bucket_key key = {.hash = b->text_hash, .like = b};
    return add_bucket(set, b, &key);
}

struct bucket *bucket_put(struct bucket_set *set, const char *text, size_t len, bool *added) {
    const struct bucket_key key = {.hash = hash_bytes(text, len), .text = text, .len = len};
    struct bucket *b = bucket_find_text(set, text, len);
    *added = b == NULL;
    if (b) {
        return b;
    }
    b = calloc(1, sizeof *b);
    if (!b || !(b->tally = tally_new()) || !add_bucket(set, b, &key)) {
        bucket_free(b);
        return NULL;
    }
    b->text_hash = key.hash;
    b->parent = NO_INDEX;
    key_number_text(key_number_of(set->level, key.hash), b->id);
    return b;
}

/* ---- frames of keys ---- */

bool bucket_frame_equals(const struct bucket_frame *a, const struct bucket_frame *b) {
    return strcmp(a->image, b->image) == 0 && strcmp(a->function, b->function) == 0;
}

bool bucket_frame_is_named(const struct bucket_frame *f) {
    return f->in_app && f->resolved && f->function[0];
}

uint64_t bucket_frame_hash(uint64_t hash, const struct bucket_frame *f) {
    hash = hash_u64(hash ^ hash_bytes(f->image, strlen(f->image)));
    return hash_u64(hash ^ hash_bytes(f->function, strlen(f->function)));
}

uint64_t bucket_frames_hash(const struct bucket *b, size_t count, size_t without) {
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = i == without ? hash : bucket_frame_hash(hash, b->frames[i]);
    }
    return hash;
}

bool bucket_begins_without(const struct bucket *more, size_t without, const struct bucket *less) {
    size_t rest = more->frame_count - 1;
    bool same = less->frame_count == rest || less->frame_count == more->frame_count;
    for (size_t i = 0; same && i < rest; i++) {
        same = bucket_frame_equals(more->frames[i + (i >= without)], less->frames[i]);
    }
    return same;
}

/* ---- the content of a bucket ---- */

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

bool bucket_add_alias(struct bucket *b, uint64_t alias, uint64_t dumps) {
    size_t low;
    LOWER_BOUND(low, b->aliases.len, b->aliases.data[low], alias);
    if (low < b->aliases.len && b->aliases.data[low] == alias) {
        sum_add(&b->alias_dumps.data[low], dumps);
        return true;
    }
    if (b->aliases.len == ALIASES_MAX) {
        if (low == ALIASES_MAX) {
            return true;
        }
        b->aliases.len--; /* drops the largest alias */
        b->alias_dumps.len--;
    }
    if (!SMALL_VEC_INSERT(&b->alias_dumps, low)) {
        return false;
    }
    b->alias_dumps.data[low] = dumps;
    if (!SMALL_VEC_INSERT(&b->aliases, low)) {
        return false;
    }
    b->aliases.data[low] = alias;
    return true;
}

bool bucket_add_near(struct bucket *b, const struct near_id *add) {
    char id[KEY_ID_SIZE];
    size_t low;
    key_number_text(add->number, id);
    LOWER_BOUND(low, b->near.len, b->near.data[low].number, add->number);
    if (strcmp(id, b->id) == 0) {
        return true;
    }
    if (low < b->near.len && b->near.data[low].number == add->number) {
        sum_add(&b->near.data[low].dumps, add->dumps);
        sum_add(&b->near.data[low].most, add->most);
        sum_add(&b->near.data[low].shares, add->shares);
        return true;
    }
    if (b->near.len == NEAR_MAX) {
        if (low == NEAR_MAX) {
            return true;
        }
        b->near.len--; /* drops the largest number */
    }
    if (!SMALL_VEC_INSERT(&b->near, low)) {
        return false;
    }
    b->near.data[low] = *add;
    return true;
}

bool bucket_add_key_near(struct bucket *b, const struct stall_key *key, size_t level) {
    for (size_t i = 0; i < key->near_count; i++) {
        unsigned share = key->near[i].share;
        const struct near_id near = {key->near[i].number[level], 1, share > 500, share};
        if (!bucket_add_near(b, &near)) {
            return false;
        }
    }
    return true;
}

bool bucket_add_all_near(struct bucket *b, const struct bucket *from) {
    for (size_t i = 0; i < from->near.len; i++) {
        if (!bucket_add_near(b, &from->near.data[i])) {
            return false;
        }
    }
    return true;
}

const struct near_id *bucket_near(const struct bucket *b, uint64_t number) {
    size_t low;
    LOWER_BOUND(low, b->near.len, b->near.data[low].number, number);
    return low < b->near.len && b->near.data[low].number == number ? &b->near.data[low] : NULL;
}

bool bucket_mostly_has(const struct bucket *b, size_t alias) {
    uint64_t dumps = b->tally ? b->tally->dumps : 0;
    return b->alias_dumps.data[alias] >= dumps - dumps / 2;
}

bool bucket_add_ways(struct bucket *b, const struct stall_key *key, size_t level, uint64_t dumps) {
    for (size_t way = 0; way < KEY_WAYS; way++) {
        uint64_t was = key->was[way][level];
        bool told = false; /* another way has told it, and the dump counts once */
        for (size_t i = 0; i < way; i++) {
            told = told || key->was[i][level] == was;
        }
        if (was && !told && !bucket_add_alias(b, was, dumps)) {
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

void bucket_share_tally(struct bucket *parent, const struct bucket *child) {
    if (parent->children.len == 1 && parent->tally != child->tally &&
        tally_equals(parent->tally, child->tally)) {
        tally_share(&parent->tally, child->tally);
    }
}

/* ---- evidence ---- */

bool evidence_is_better(const struct evidence *offer, const struct evidence *have) {
    if (!have->id || offer->span_ms != have->span_ms) {
        return !have->id || offer->span_ms > have->span_ms;
    }
    int c = strcmp(offer->id, have->id);
    return c ? c < 0 : offer->hash < have->hash;
}

bool bucket_offers_better(const struct bucket *b, const struct evidence *offer) {
    return evidence_is_better(offer, &b->evidence);
}

bool bucket_take_evidence(struct bucket *b, const struct evidence *offer) {
    struct evidence copy = *offer;
    copy.id = strdup(offer->id);
    copy.stack.data = offer->stack.len ? calloc(offer->stack.len, sizeof *copy.stack.data) : NULL;
    copy.stack.cap = offer->stack.len;
    if (!copy.id || (offer->stack.len && !copy.stack.data)) {
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
