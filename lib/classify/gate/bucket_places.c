/* Finds the bucket of a triage in which a dump is counted, by the ids of its keys. */
#include "classify/gate/bucket_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/number_map.h"
#include "base/parse.h"
#include "classify/stats/triage_private.h"

struct place_set {
    const struct bucket_set *set;
    /* Key: the id of a bucket of the set, or of one that was joined to it; value: its index in the
     * set. */
    struct number_map ids;
    struct alias_index former; /* aliases of the set's buckets */
};

struct bucket_places {
    struct place_set sets[KEY_LEVELS + 1]; /* levels 1 and 2, and the actions */
    const struct triage *t;
    struct busy_functions *busy;
};

/* ---- all ids of a triage ---- */

static bool place_file_id(struct place_set *s, const char *id, size_t bucket) {
    uint64_t number;
    size_t at;
    bool added;
    return !parse_hex(id, strlen(id), &number) ||
           number_map_put(&s->ids, number, bucket, &at, &added);
}

static bool place_of_id(const struct place_set *s, const char *id, size_t *bucket) {
    uint64_t number;
    return parse_hex(id, strlen(id), &number) && number_map_get(&s->ids, number, bucket);
}

/* Files the buckets that were joined to others. They were joined in steps, each of which may join
 * the buckets that the one before has left, so the last ones are filed first. */
static bool place_file_joined(struct place_set *s, const struct triage *t) {
    for (size_t i = t->joined_stacks.len; i-- > 0;) {
        const struct joined_stacks *j = &t->joined_stacks.data[i];
        size_t into;
        if (place_of_id(s, j->into, &into) && !place_file_id(s, j->id, into)) {
            return false;
        }
    }
    return true;
}

static bool place_file_all(struct place_set *s, const struct triage *t,
                           const struct bucket_set *set) {
    s->set = set;
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i];
        if (!bucket_is_other(b) && !place_file_id(s, b->id, i)) {
            return false;
        }
    }
    return place_file_joined(s, t) && alias_index_build(&s->former, set);
}

enum st bucket_places_new(struct bucket_places **out, struct triage *t, struct err *e) {
    struct bucket_places *p = calloc(1, sizeof *p);
    bool ok = p && place_file_all(&p->sets[KEY_LEVELS], t, &t->actions) &&
              busy_functions_new(&p->busy, t);
    for (size_t level = 0; ok && level < KEY_LEVELS; level++) {
        ok = place_file_all(&p->sets[level], t, &t->level[level]);
    }
    if (!ok) {
        bucket_places_free(p);
        return err_nomem(e);
    }
    p->t = t;
    *out = p;
    return ST_OK;
}

void bucket_places_free(struct bucket_places *p) {
    if (p) {
        busy_functions_free(p->busy);
    }
    for (size_t level = 0; p && level <= KEY_LEVELS; level++) {
        number_map_release(&p->sets[level].ids);
        alias_index_release(&p->sets[level].former);
    }
    free(p);
}

/* ---- the place of a dump ---- */

/* Returns the bucket of the set in which dumps of a key are counted whose id is this; NULL: one of
 * its own, which the set does not have. */
static const struct bucket *place_of_key(const struct place_set *s, const struct key *key,
                                         const char *id) {
    size_t at, nameless = 0;
    if (place_of_id(s, id, &at)) {
        return s->set->buckets.data[at];
    }
    for (size_t i = 0; i < key->count; i++) {
        nameless += !key->frames[i].info->resolved;
    }
    return alias_index_find_id(&s->former, s->set, id, nameless);
}

/* Finds the buckets of both levels of a dump that the triage has no bucket of level 2 for, if they
 * are those of a busy function: the dump alone decides only where there is no bucket of level 1,
 * either. */
static bool place_in_busy(const struct bucket_places *p, const struct stall_key *key,
                          const char *id, const struct bucket *found[KEY_LEVELS + 1]) {
    const struct bucket *busy;
    if (!busy_functions_find(p->busy, key, id, &busy)) {
        return false;
    }
    if (busy && (!found[0] || found[0]->index == busy->parent)) {
        found[0] = p->t->level[0].buckets.data[busy->parent];
        found[1] = busy;
    }
    return true;
}

static void note_place(struct bucket_place *place, const struct bucket *found) {
    if (found && strcmp(found->id, place->id) != 0) {
        place->other = found;
        memcpy(place->id, found->id, sizeof place->id);
    }
}

enum st bucket_places_find(const struct bucket_places *p, const struct stall_key *key,
                           struct dump_place *out, struct err *e) {
    struct strbuf text = {0};
    const struct bucket *found[KEY_LEVELS + 1] = {NULL};
    for (size_t i = 0; i <= KEY_LEVELS; i++) {
        const struct key *own = i < KEY_LEVELS ? &key->level[i] : &key->action;
        out->level[i] = (struct bucket_place){.other = NULL};
        if (own->count > 0) {
            strbuf_clear(&text);
            key_text(own, &text);
            key_id("12a"[i], strbuf_cstr(&text), text.len, out->level[i].id);
            found[i] = p ? place_of_key(&p->sets[i], own, out->level[i].id) : NULL;
        }
    }
    if (found[1] && (!found[0] || found[1]->parent != found[0]->index)) {
        found[1] = NULL;
    }
    bool ok = !text.failed;
    if (p && !found[1] && key->level[1].count > 0) {
        ok = place_in_busy(p, key, out->level[1].id, found) && ok;
    }
    strbuf_release(&text);
    for (size_t i = 0; i <= KEY_LEVELS; i++) {
        note_place(&out->level[i], found[i]);
    }
    return ok ? ST_OK : err_nomem(e);
}
