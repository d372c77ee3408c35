/* Finds the buckets of two runs that are the same stall, although their keys may differ. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/gate/gate_private.h"

struct matching {
    struct gate_match *m;
    const struct triage *const *run;
    size_t level;
    size_t full; /* see gate_match_buckets; at least 1 */
};

/* A condition of a match: may b be compared with `other`? */
typedef bool matching_fits(const struct matching *x, const struct bucket *b,
                           const struct bucket *other);

static const struct bucket_set *matching_set(const struct matching *x, size_t run) {
    return &x->run[run]->level[x->level];
}

static bool is_alone(const struct matching *x, size_t run, const struct bucket *b) {
    return x->m->other[run][x->level][b->index] == NO_INDEX;
}

/* ---- numbers ---- */

static bool number_bucket(struct alias_index *n, uint64_t number, const struct bucket *b) {
    return VEC_PUSH(&n->aliases, ((struct alias){.number = number, .bucket = b->index}));
}

/* Searches for the buckets that have this number and that `fits` (NULL: any) accepts. Sets *found
 * to one of them. *several is set if *found was another bucket before; so a caller that searches by
 * several numbers knows whether the match is unique. */
static void note_candidates(const struct matching *x, const struct alias_index *n, uint64_t number,
                            const struct bucket_set *set, const struct bucket *b,
                            matching_fits *fits, const struct bucket **found, bool *several) {
    size_t low;
    LOWER_BOUND(low, n->aliases.len, n->aliases.data[low].number, number);
    for (; !*several && low < n->aliases.len && n->aliases.data[low].number == number; low++) {
        const struct bucket *other = set->buckets.data[n->aliases.data[low].bucket];
        if (!fits || fits(x, b, other)) {
            *several = *several || (*found && *found != other);
            *found = other;
        }
    }
}

/* ---- equal keys, and buckets whose frames once had no names ---- */

static void match_equal(const struct matching *x) {
    const struct bucket_set *base = matching_set(x, RATES_BASE), *now = matching_set(x, RATES_NOW);
    for (size_t i = 0; i < now->buckets.len; i++) {
        const struct bucket *b = now->buckets.data[i];
        const struct bucket *other = bucket_find(base, b);
        if (other) {
            x->m->other[RATES_NOW][x->level][b->index] = other->index;
            x->m->other[RATES_BASE][x->level][other->index] = b->index;
        }
    }
}

/* Matches each unmatched bucket that has nameless frames with the bucket of the other run that
 * knows more of these frames (alias_index_find), even if that one is matched already. False: out of
 * memory. */
static bool match_nameless(const struct matching *x) {
    for (size_t run = 0; run < RATES_RUNS; run++) {
        struct alias_index index;
        if (!alias_index_build(&index, matching_set(x, !run))) {
            return false;
        }
        for (size_t i = 0; i < matching_set(x, run)->buckets.len; i++) {
            const struct bucket *b = matching_set(x, run)->buckets.data[i];
            const struct bucket *other =
                is_alone(x, run, b) ? alias_index_find(&index, matching_set(x, !run), b) : NULL;
            if (other) {
                x->m->other[run][x->level][b->index] = other->index;
                uint32_t *back = &x->m->other[!run][x->level][other->index];
                *back = *back == NO_INDEX ? b->index : *back;
            }
        }
        alias_index_release(&index);
    }
    return true;
}

/* ---- single stacks that one run counts in another bucket ---- */

static bool number_all(const struct matching *x, size_t run, struct alias_index *n) {
    for (size_t i = 0; i < matching_set(x, run)->buckets.len; i++) {
        const struct bucket *b = matching_set(x, run)->buckets.data[i];
        uint64_t own;
        if (parse_hex(b->id, strlen(b->id), &own) && !number_bucket(n, own, b)) {
            return false;
        }
    }
    alias_index_sort(n);
    return true;
}

static const struct bucket *find_by_id(const struct matching *x, const struct alias_index *n,
                                       size_t run, const char *id) {
    const struct bucket *found = NULL;
    bool several = false;
    uint64_t number;
    if (parse_hex(id, strlen(id), &number)) {
        note_candidates(x, n, number, matching_set(x, run), NULL, NULL, &found, &several);
    }
    return several ? NULL : found;
}

/* Matches each bucket that has no match with the bucket in which the other run counts its key,
 * because that run has only single stacks of it (triage_join_single_stacks): it is not new. False:
 * out of memory. */
static bool match_joined(const struct matching *x) {
    struct alias_index of[RATES_RUNS] = {0};
    bool ok =
        number_all(x, RATES_BASE, &of[RATES_BASE]) && number_all(x, RATES_NOW, &of[RATES_NOW]);
    for (size_t run = 0; ok && run < RATES_RUNS; run++) {
        for (size_t i = 0; i < x->run[!run]->joined_stacks.len; i++) {
            const struct joined_stacks *j = &x->run[!run]->joined_stacks.data[i];
            const struct bucket *b = find_by_id(x, &of[run], run, j->id);
            const struct bucket *other = find_by_id(x, &of[!run], !run, j->into);
            if (b && other && is_alone(x, run, b)) {
                x->m->other[run][x->level][b->index] = other->index;
                uint32_t *back = &x->m->other[!run][x->level][other->index];
                *back = *back == NO_INDEX ? b->index : *back;
            }
        }
    }
    alias_index_release(&of[RATES_BASE]);
    alias_index_release(&of[RATES_NOW]);
    return ok;
}

/* ---- shared ids ---- */

static bool number_ids(const struct matching *x, size_t run, struct alias_index *n) {
    for (size_t i = 0; i < matching_set(x, run)->buckets.len; i++) {
        const struct bucket *b = matching_set(x, run)->buckets.data[i];
        uint64_t own;
        if (parse_hex(b->id, strlen(b->id), &own) && !number_bucket(n, own, b)) {
            return false;
        }
        for (size_t k = 0; k < b->aliases.len; k++) {
            if (bucket_mostly_has(b, k) && !number_bucket(n, b->aliases.data[k], b)) {
                return false;
            }
        }
    }
    alias_index_sort(n);
    return true;
}

/* Returns the bucket of the other run that has this number as its id, or that alone has it as an
 * alias, whether it is matched or not. NULL: none, or several. */
static const struct bucket *find_by_number(const struct matching *x, const struct alias_index *n,
                                           size_t run, uint64_t number) {
    const struct bucket *found = NULL;
    size_t low, several = 0;
    LOWER_BOUND(low, n->aliases.len, n->aliases.data[low].number, number);
    for (; low < n->aliases.len && n->aliases.data[low].number == number; low++) {
        const struct bucket *b = matching_set(x, run)->buckets.data[n->aliases.data[low].bucket];
        if (gate_is_own_id(b, number)) {
            return b;
        }
        several += found && found != b;
        found = b;
    }
    return several ? NULL : found;
}

/* Returns the only bucket of the other run that shares an id with b and that `alone` has as
 * unmatched; NULL if there are none or several. */
static const struct bucket *find_by_ids(const struct matching *x, const struct alias_index *others,
                                        const bool *alone, size_t run, const struct bucket *b) {
    const struct bucket *found = NULL;
    uint64_t own;
    bool has_own = parse_hex(b->id, strlen(b->id), &own);
    for (size_t i = 0; i < b->aliases.len + has_own; i++) {
        if (i < b->aliases.len && !bucket_mostly_has(b, i)) {
            continue;
        }
        uint64_t number = i < b->aliases.len ? b->aliases.data[i] : own;
        const struct bucket *other = find_by_number(x, others, !run, number);
        if (!other || !alone[other->index] ||
            !gate_may_be_one(x->run[run], b, x->run[!run], other, number)) {
            continue;
        }
        if (found && found != other) {
            return NULL;
        }
        found = other;
    }
    return found;
}

/* Sets *out to an array, malloc'ed, that tells which buckets of a run have no match yet. False: out
 * of memory. */
static bool list_alone(const struct matching *x, size_t run, bool **out) {
    const struct bucket_set *set = matching_set(x, run);
    *out = calloc(set->buckets.len + 1, sizeof **out);
    for (size_t i = 0; *out && i < set->buckets.len; i++) {
        (*out)[i] = is_alone(x, run, set->buckets.data[i]);
    }
    return *out != NULL;
}

/* Matches each bucket that has no match with the bucket of the other run with which it shares an
 * id, if there is exactly one. Aliases that less than half of a bucket's dumps tell do not count,
 * because one forged dump could tell any alias; nor does an alias that several buckets of the other
 * run have, even if all but one have a match, because the one that is left may be another stall.
 * Several buckets may match the same bucket, for instance when the later run knows that one
 * function was inlined at several places. False: out of memory. */
static bool match_ids(const struct matching *x) {
    struct alias_index of[RATES_RUNS] = {0};
    bool *alone[RATES_RUNS] = {NULL}, ok = true;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        ok = number_ids(x, run, &of[run]) && list_alone(x, run, &alone[run]) && ok;
    }
    for (size_t run = RATES_RUNS; ok && run-- > 0;) {
        for (size_t i = 0; i < matching_set(x, run)->buckets.len; i++) {
            const struct bucket *b = matching_set(x, run)->buckets.data[i];
            const struct bucket *other =
                is_alone(x, run, b) ? find_by_ids(x, &of[!run], alone[!run], run, b) : NULL;
            if (other) {
                x->m->other[run][x->level][b->index] = other->index;
                uint32_t *back = &x->m->other[!run][x->level][other->index];
                *back = *back == NO_INDEX ? b->index : *back;
            }
        }
    }
    for (size_t run = 0; run < RATES_RUNS; run++) {
        alias_index_release(&of[run]);
        free(alone[run]);
    }
    return ok;
}

/* ---- keys that differ by one function ---- */

/* Minimum number of functions of the app that both keys must have in common, unless calls_alike. */
enum { EQUAL_FRAMES_MIN = 2 };

static size_t count_functions(const struct bucket *b, size_t frames) {
    size_t n = 0;
    for (size_t i = 0; i < frames; i++) {
        n += b->frames[i]->in_app && b->frames[i]->function[0];
    }
    return n;
}

/* Is the function at index `helper` of `more` the innermost of all of the app's functions in its
 * stack, which call the same function of the framework in both keys? A key that is not full has all
 * of them. */
static bool calls_alike(const struct matching *x, const struct bucket *more, size_t helper,
                        const struct bucket *less) {
    const struct bucket_frame *one = more->frames[0], *two = less->frames[0];
    return helper == 1 && !one->function[0] && !two->function[0] && one->call && two->call &&
           strcmp(one->call, two->call) == 0 && count_functions(more, more->frame_count) < x->full;
}

/* Is the list of frames of `more`, without the frame at index `helper`, equal to that of `less`?
 * `less` may have one frame more at its end if `more` is full: the number of frames in a key is
 * limited, so that an added function pushes the outermost frame out. */
static bool begins_without(const struct matching *x, const struct bucket *more, size_t helper,
                           const struct bucket *less) {
    size_t rest = more->frame_count - 1;
    bool cut = less->frame_count != rest;
    if ((cut && count_functions(more, more->frame_count) < x->full) ||
        !bucket_begins_without(more, helper, less)) {
        return false;
    }
    size_t equal = count_functions(less, rest);
    return equal >= EQUAL_FRAMES_MIN || (equal > 0 && !cut && calls_alike(x, more, helper, less));
}

/* Does `more` have one function of the app more than `less`, with all other frames equal? The
 * framework, which is a frame without a function, must be equal, too. */
static bool has_one_more(const struct matching *x, const struct bucket *more,
                         const struct bucket *less) {
    for (size_t i = 0; i < more->frame_count; i++) {
        if (more->frames[i]->in_app && more->frames[i]->function[0] &&
            begins_without(x, more, i, less)) {
            return true;
        }
    }
    return false;
}

static bool has_one_less(const struct matching *x, const struct bucket *less,
                         const struct bucket *more) {
    return has_one_more(x, more, less);
}

/* Files each bucket of a run that has no match under hashes of its frames: of all frames, and of
 * all but the last. With `helpers`, under hashes of all frames but one, once for each frame. False:
 * out of memory. */
static bool number_frames(const struct matching *x, size_t run, bool helpers,
                          struct alias_index *n) {
    for (size_t i = 0; i < matching_set(x, run)->buckets.len; i++) {
        const struct bucket *b = matching_set(x, run)->buckets.data[i];
        size_t count = b->frame_count;
        if (!is_alone(x, run, b) || count == 0) {
            continue;
        }
        for (size_t k = 0; helpers && k < count; k++) {
            if (!number_bucket(n, bucket_frames_hash(b, count, k), b)) {
                return false;
            }
        }
        if (!helpers && (!number_bucket(n, bucket_frames_hash(b, count, SIZE_MAX), b) ||
                         !number_bucket(n, bucket_frames_hash(b, count - 1, SIZE_MAX), b))) {
            return false;
        }
    }
    alias_index_sort(n);
    return true;
}

struct helper_index {
    struct alias_index begins[RATES_RUNS], without[RATES_RUNS];
};

/* Returns the only bucket of the other run whose key differs from b's by one function; NULL if
 * there are none or several. */
static const struct bucket *find_by_helper(const struct matching *x, const struct helper_index *h,
                                           size_t run, const struct bucket *b) {
    const struct bucket_set *others = matching_set(x, !run);
    const struct bucket *found = NULL;
    bool several = false;
    size_t count = b->frame_count;
    for (size_t k = 0; k < count; k++) {
        note_candidates(x, &h->begins[!run], bucket_frames_hash(b, count, k), others, b,
                        has_one_more, &found, &several);
    }
    for (size_t less = 0; count && less < 2; less++) {
        note_candidates(x, &h->without[!run], bucket_frames_hash(b, count - less, SIZE_MAX), others,
                        b, has_one_less, &found, &several);
    }
    return several ? NULL : found;
}

/* Matches the level-2 buckets of the two runs that differ by one function, where each is the
 * other's only candidate. False: out of memory. */
static bool match_helpers(const struct matching *x) {
    struct helper_index h = {0};
    const struct bucket_set *now = matching_set(x, RATES_NOW);
    bool ok = true;
    for (size_t run = 0; ok && run < RATES_RUNS; run++) {
        ok = number_frames(x, run, false, &h.begins[run]) &&
             number_frames(x, run, true, &h.without[run]);
    }
    /* All pairs are found before the first one is matched, because a match would change the set of
     * unmatched buckets that the indexes hold. */
    uint32_t *pair = ok ? calloc(now->buckets.len + 1, sizeof *pair) : NULL;
    ok = pair != NULL;
    for (size_t i = 0; ok && i < now->buckets.len; i++) {
        const struct bucket *b = now->buckets.data[i];
        const struct bucket *other =
            is_alone(x, RATES_NOW, b) ? find_by_helper(x, &h, RATES_NOW, b) : NULL;
        bool mutual = other && find_by_helper(x, &h, RATES_BASE, other) == b;
        pair[i] = mutual ? other->index : NO_INDEX;
    }
    for (size_t i = 0; ok && i < now->buckets.len; i++) {
        if (pair[i] != NO_INDEX) {
            x->m->other[RATES_NOW][x->level][i] = pair[i];
            x->m->other[RATES_BASE][x->level][pair[i]] = (uint32_t)i;
        }
    }
    free(pair);
    for (size_t run = 0; run < RATES_RUNS; run++) {
        alias_index_release(&h.begins[run]);
        alias_index_release(&h.without[run]);
    }
    return ok;
}

/* ---- keys with nameless functions of another build ---- */

static bool is_nameless(const struct bucket_frame *f) {
    return f->in_app && !f->resolved;
}

/* Are the frames of both keys equal, but for nameless ones, which lie in other builds of one image?
 * There must be a nameless frame, and a named function of the app, because two functions of the app
 * may call the same framework. */
static bool is_other_build(const struct matching *x, const struct bucket *b,
                           const struct bucket *other) {
    size_t equal = 0, named = 0;
    (void)x;
    for (size_t i = 0; i < b->frame_count && b->frame_count == other->frame_count; i++) {
        const struct bucket_frame *one = b->frames[i], *two = other->frames[i];
        if (bucket_frame_equals(one, two) && one->resolved) {
            equal++;
            named += one->in_app && one->function[0];
        } else if (!is_nameless(one) || !is_nameless(two) || strcmp(one->image, two->image) == 0 ||
                   strcmp(one->image_name, two->image_name) != 0) {
            return false;
        }
    }
    return named > 0 && equal < b->frame_count && b->frame_count == other->frame_count;
}

/* Returns a hash of the frames in which a nameless frame is its image's name; 0: there is none. */
static uint64_t hash_of_any_build(const struct bucket *b) {
    uint64_t hash = 0;
    bool nameless = false;
    for (size_t i = 0; i < b->frame_count; i++) {
        const struct bucket_frame *f = b->frames[i];
        bool unknown = is_nameless(f);
        const char *image = unknown ? f->image_name : f->image;
        const char *function = unknown ? "+" : f->function;
        nameless = nameless || unknown;
        hash = hash_u64(hash ^ hash_bytes(image, strlen(image)));
        hash = hash_u64(hash ^ hash_bytes(function, strlen(function)));
    }
    return nameless ? hash | 1 : 0;
}

static const struct bucket *find_other_build(const struct matching *x,
                                             const struct alias_index *others, size_t run,
                                             const struct bucket *b) {
    const struct bucket *found = NULL;
    bool several = false;
    uint64_t hash = is_alone(x, run, b) ? hash_of_any_build(b) : 0;
    if (hash) {
        note_candidates(x, others, hash, matching_set(x, !run), b, is_other_build, &found,
                        &several);
    }
    return several ? NULL : found;
}

/* Matches the level-2 buckets of the two runs whose nameless functions are of other builds, where
 * each is the other's only candidate. A match takes only its two buckets, which are no other's
 * candidates. False: out of memory. */
static bool match_builds(const struct matching *x) {
    struct alias_index of[RATES_RUNS] = {0};
    bool ok = true;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        const struct bucket_set *set = matching_set(x, run);
        for (size_t i = 0; ok && i < set->buckets.len; i++) {
            const struct bucket *b = set->buckets.data[i];
            uint64_t hash = is_alone(x, run, b) ? hash_of_any_build(b) : 0;
            ok = !hash || number_bucket(&of[run], hash, b);
        }
        alias_index_sort(&of[run]);
    }
    const struct bucket_set *now = matching_set(x, RATES_NOW);
    for (size_t i = 0; ok && i < now->buckets.len; i++) {
        const struct bucket *b = now->buckets.data[i];
        const struct bucket *other = find_other_build(x, &of[RATES_BASE], RATES_NOW, b);
        if (other && find_other_build(x, &of[RATES_NOW], RATES_BASE, other) == b) {
            x->m->other[RATES_NOW][x->level][b->index] = other->index;
            x->m->other[RATES_BASE][x->level][other->index] = b->index;
        }
    }
    alias_index_release(&of[RATES_BASE]);
    alias_index_release(&of[RATES_NOW]);
    return ok;
}

/* Returns the level-1 bucket of the other run that contains the matches of all level-2 buckets of
 * b; NO_INDEX: there is no such bucket, or the matches are in several. */
static uint32_t parent_by_children(const struct gate_match *m,
                                   const struct triage *const run[RATES_RUNS], size_t of,
                                   const struct bucket *b) {
    uint32_t found = NO_INDEX;
    for (size_t i = 0; i < b->children.len; i++) {
        uint32_t child = m->other[of][1][b->children.data[i]];
        uint32_t parent =
            child == NO_INDEX ? NO_INDEX : run[!of]->level[1].buckets.data[child]->parent;
        if (parent == NO_INDEX || (found != NO_INDEX && parent != found)) {
            return NO_INDEX;
        }
        found = parent;
    }
    return found;
}

/* Matches level-1 buckets by their level-2 buckets: two unmatched level-1 buckets match if all
 * level-2 buckets of each have a match in the other. */
static void match_parents(const struct matching *x) {
    const struct bucket_set *now = matching_set(x, RATES_NOW), *base = matching_set(x, RATES_BASE);
    for (size_t i = 0; i < now->buckets.len; i++) {
        const struct bucket *b = now->buckets.data[i];
        uint32_t other =
            is_alone(x, RATES_NOW, b) ? parent_by_children(x->m, x->run, RATES_NOW, b) : NO_INDEX;
        if (other != NO_INDEX && is_alone(x, RATES_BASE, base->buckets.data[other]) &&
            parent_by_children(x->m, x->run, RATES_BASE, base->buckets.data[other]) == i) {
            x->m->other[RATES_NOW][0][i] = other;
            x->m->other[RATES_BASE][0][other] = (uint32_t)i;
        }
    }
}

/* ---- all matches ---- */

/* Returns the largest number of the app's functions in a key of the level. */
static size_t most_functions(const struct triage *const run[RATES_RUNS], size_t level) {
    size_t most = 1;
    for (size_t of = 0; of < RATES_RUNS; of++) {
        const struct bucket_set *set = &run[of]->level[level];
        for (size_t i = 0; i < set->buckets.len; i++) {
            const struct bucket *b = set->buckets.data[i];
            size_t n = count_functions(b, b->frame_count);
            most = n > most ? n : most;
        }
    }
    return most;
}

bool gate_match_buckets(struct gate_match *m, const struct triage *const run[RATES_RUNS],
                        size_t full, const double exposure[RATES_RUNS]) {
    *m = (struct gate_match){0};
    for (size_t of = 0; of < RATES_RUNS; of++) {
        for (size_t level = 0; level < KEY_LEVELS; level++) {
            size_t count = run[of]->level[level].buckets.len;
            uint32_t *other = m->other[of][level] = calloc(count + 1, sizeof *other);
            for (size_t i = 0; other && i < count; i++) {
                other[i] = NO_INDEX;
            }
            if (!other) {
                return false;
            }
        }
    }
    for (size_t level = KEY_LEVELS; level-- > 0;) {
        const struct matching x = {m, run, level, full ? full : most_functions(run, level)};
        match_equal(&x);
        if (!match_nameless(&x) || !match_joined(&x) || !match_ids(&x) ||
            (level == 1 && (!match_helpers(&x) || !match_builds(&x) ||
                            !gate_match_inlined(m, run, x.full, exposure)))) {
            return false;
        }
        if (level == 0) {
            match_parents(&x);
        }
    }
    return true;
}

void gate_match_release(struct gate_match *m) {
    for (size_t run = 0; run < RATES_RUNS; run++) {
        for (size_t level = 0; level < KEY_LEVELS; level++) {
            free(m->other[run][level]);
            m->other[run][level] = NULL;
        }
    }
}
