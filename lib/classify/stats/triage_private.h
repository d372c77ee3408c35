/* The interface between the parts of triage: counting, pending stalls, printing. */
#ifndef STALLKIT_CLASSIFY_TRIAGE_PRIVATE_H
#define STALLKIT_CLASSIFY_TRIAGE_PRIVATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "classify/stats/seen_ids.h"
#include "classify/stats/tally.h"
#include "classify/stats/triage.h"
#include "classify/stats/usage.h"

#define NO_INDEX UINT32_MAX

enum { ALIASES_MAX = 4096 }; /* of a bucket */

/* A frame as it is printed; strings are interned in the triage, and so are the frames: equal ones
 * are one. */
struct bucket_frame {
    const char *image, *function;
    const char *image_name, *file; /* from the evidence; file NULL = unknown */
    const char *call; /* of a framework, from the evidence: its function; NULL = none has a name */
    uint32_t line;
    bool in_app, resolved;
};

/* The stalled time of a bucket that one action led to. */
struct action_share {
    uint32_t action, rank; /* rank: the action's own, once finished */
    uint64_t ms;
};

/* The dump to look at: the one with the longest span, of equal ones the smallest id, and without
 * ids the smallest hash, so that the order of the dumps never decides. */
struct evidence {
    char *id; /* malloc'ed; NULL = none yet, "" = it has none */
    uint64_t span_ms;
    uint64_t hash; /* of its text */
    enum rule_cause cause;
    const char *reason; /* of the cause, interned in the triage; NULL = none */
    SMALL_VEC(uint32_t)
    stack; /* of level 2: its pieces, see exemplar.h, by their indexes in the
              triage; empty = none */
};

struct bucket {
    char id[KEY_ID_SIZE];
    uint32_t index;     /* its position in the bucket_set */
    uint64_t text_hash; /* of the key's text, which its frames have (bucket_compare) */
    struct tally tally;
    uint64_t users;                     /* of tally.users, once finished */
    const struct bucket_frame **frames; /* the array is malloc'ed, the frames are the triage's */
    size_t frame_count;
    struct evidence evidence;
    SMALL_VEC(uint64_t) aliases; /* ids that its key had before names came, as numbers, ascending */
    uint32_t parent;             /* of level 2: index of its level 1 */
    SMALL_VEC(struct action_share) actions;
    SMALL_VEC(uint32_t) children; /* of level 1: indexes of level 2, ranked once finished */
    uint64_t kept_ms; /* of bucket_set.fold.ms what is of foldings that this bucket stayed in */
    uint32_t joined;  /* buckets that it took in because they are the same, see aliases.c */
    uint64_t waiters; /* of a holder: threads that it kept waiting, a sum over its dumps */
};

/* Buckets of one level, of actions, or of holders of locks. */
struct bucket_set {
    /* Foldings into one bucket "other" (triage_fold), in partials that were merged, too: how many
     * there were, how many buckets were folded, and the time that the largest of each had. */
    struct {
        uint64_t folds, buckets, ms;
    } fold;
    char level;      /* '1', '2', 'a', 'i', 'h' */
    uint32_t *slots; /* index + 1 into buckets, by text_hash; 0 = free */
    size_t slot_count;
    VEC(struct bucket *) buckets;
    uint32_t *ranked; /* order, once finished */
};

/* One dump's share of a stall that has more dumps. */
struct stall_part {
    uint32_t level2, action;       /* NO_INDEX = not ranked, no action */
    uint32_t level1;               /* of a ranked one, once its stall is counted */
    uint32_t holder;               /* NO_INDEX = it is no wait for a lock */
    uint32_t cell;                 /* of its user, see clusters.h */
    uint32_t facets[USAGE_FACETS]; /* strings; NO_INDEX = nobody knows */
    uint64_t ms;
    bool fatal; /* the process died in the stall */
};

/* A stall of which not all dumps were seen yet. */
struct pending_stall {
    uint64_t hash;        /* of its id */
    uint64_t seen_ms;     /* spans so far */
    uint64_t duration_ms; /* of the whole stall, 0 = no dump told yet */
    VEC(struct stall_part) parts;
};

/* Open addressing by hash; removed entries are closed up, so it never degrades. */
struct pending_table {
    struct pending_stall *slots;
    size_t slot_count, used;
};

enum { PENDING_MAX = 1 << 18 }; /* more stalls are counted as they are */

/* The shortest duration that was looked for of a kind of stalls. */
struct threshold {
    uint32_t kind; /* index of a string */
    int64_t ms;    /* -1 = no dump says it */
    bool unsaid;   /* a dump does not say it */
};

struct triage {
    struct triage_options options;
    struct bucket_set level[KEY_LEVELS], actions;
    struct bucket_set idle; /* dumps that were set apart as idle or late, by innermost function */
    struct bucket_set holders; /* who holds the locks that stalls waited for: see lock_holder.h */
    struct tally total;
    uint64_t total_users;
    struct clusters exposure; /* launches, and ms in the foreground */
    struct app_usage usage;   /* the same by version, system and device, and what stalled of it */
    uint64_t dumps_read;
    uint64_t apart[APART_COUNT];
    uint64_t unresolved;  /* ranked dumps whose key has frames without a name */
    int64_t threshold_ms; /* the smallest one of the ranked dumps; -1 = none says its own */
    VEC(struct threshold) thresholds; /* the smallest of each kind of stall, by the kind's text */
    struct pending_table pending;
    struct seen_set seen;
    struct stall_ledger ledger;
    struct map strings; /* interned: versions, names, files */
    struct map frames;  /* interned: struct bucket_frame */
    struct map pieces;  /* interned: of stacks, see exemplar.h */
    struct strbuf scratch;
};

/* For each bucket the index, in its set, of the one that takes it in, its own if none does. NULL:
 * no bucket of this set is taken in. */
struct triage_into {
    uint32_t *level[KEY_LEVELS], *actions;
};
/* Makes buckets one, as if their dumps had been counted in the one that takes them in; its key, its
 * evidence and its aliases stay its own. False: out of memory; t is only good for triage_free. */
bool triage_take_in(struct triage *t, const struct triage_into *into);
/* How the buckets of a triage were sorted anew, and where the rest of it goes. */
struct triage_rest {
    uint32_t *texts, *pieces; /* for each string and piece its index in the other triage */
    uint32_t *level2;         /* for each bucket the one of the other; NO_INDEX = it is idle */
    const struct key *const *named; /* for each action the key that it has now; NULL = its own */
    uint32_t *actions;              /* filled in: for each action the one of the other; malloc'ed */
};
/* Adds to t what `from` has counted beside levels 1 and 2 and what is kept of all dumps together:
 * actions, holders, idle dumps, stalls that are not complete, dumps set apart. from's buckets of
 * these are empty then. False: out of memory. */
bool triage_merge_rest(struct triage *t, struct triage *from, struct triage_rest *rest);
/* Counts dumps without symbols in the bucket that the same stalls have with symbols: what a bucket
 * with frames that have no names was called is an alias of exactly one bucket in which more have
 * names. A bucket of level 2 goes with its level 1, or stays. False: out of memory; t is only good
 * for triage_free. */
bool triage_join_aliases(struct triage *t);

/* Maps earlier ids of a set's buckets to the buckets. */
struct alias {
    uint64_t number;
    uint32_t bucket;
};
struct alias_index {
    VEC(struct alias) aliases; /* ascending by number, then by bucket */
};
/* False: out of memory. */
bool alias_index_build(struct alias_index *index, const struct bucket_set *set);
void alias_index_release(struct alias_index *index);
/* Orders aliases that were added at the end. */
void alias_index_sort(struct alias_index *index);
/* The bucket that once had b's id and has names for more of its frames; NULL if there is none, or
 * several. b may be of another triage. */
const struct bucket *alias_index_find(const struct alias_index *index, const struct bucket_set *set,
                                      const struct bucket *b);

/* Notes that stalls of this kind (NULL = not said) were looked for from this duration on; -1 =
 * nobody knows. False: out of memory. */
bool triage_note_threshold(struct triage *t, const char *kind, int64_t threshold_ms);
/* Notes all that `from` has noted. False: out of memory. */
bool triage_merge_thresholds(struct triage *t, const struct triage *from);
/* The string's index, equal for equal texts; NO_INDEX = out of memory. */
uint32_t triage_string(struct triage *t, const char *s);
/* The interned copy of a string; NULL = out of memory, or s is NULL. */
const char *triage_intern(struct triage *t, const char *s);
/* The interned copy of a frame whose strings are interned; NULL = out of memory. */
const struct bucket_frame *triage_frame(struct triage *t, const struct bucket_frame *f);
/* Cuts a stack into pieces and notes them; false: out of memory, `stack` may hold a part. */
bool triage_cut_stack(struct triage *t, const struct dump *d, const struct dump_stack *stack,
                      struct evidence *e);
/* For each string of one map its index in another, which has them all; NULL = out of memory. */
uint32_t *triage_map_strings(struct map *to, const struct map *from);
/* The bucket of a key, made with its frames if it is new; NULL = out of memory. */
struct bucket *triage_bucket(struct triage *t, struct bucket_set *set, const struct key *key);
/* Takes what the bucket shows of its frames from its evidence: names of images, files, lines.
 * False: out of memory. */
bool triage_show(struct triage *t, struct bucket *b, const struct key *key);
/* Is it the one that others were folded into? */
bool bucket_is_other(const struct bucket *b);
/* The one of a set; NULL = nothing was folded. */
struct bucket *bucket_find_other(const struct bucket_set *set);
/* How much of the bucket's time may have been folded into "other", at most; 0: none. */
uint64_t bucket_error_ms(const struct bucket_set *set, const struct bucket *b);
/* Lets the buckets for others say how many they stand for. False: out of memory. */
bool triage_name_others(struct triage *t);
/* Ranks a set's buckets into set->ranked, which it frees: most time first. False: out of memory. */
bool rank_set(struct bucket_set *set);
/* The same of `count` indexes into the set, in place. */
bool rank_indexes(const struct bucket_set *set, uint32_t *indexes, size_t count);
/* The order of two buckets' key texts, as strcmp has it. */
int bucket_compare(const struct bucket *a, const struct bucket *b);
/* The bucket of a key text, made if it is new (*added): then it gets the frames of this text before
 * the set is asked again. NULL = out of memory. */
struct bucket *bucket_put(struct bucket_set *set, const char *text, size_t len, bool *added);
/* The bucket that has the key of another set's bucket; NULL = none. */
struct bucket *bucket_find(const struct bucket_set *set, const struct bucket *like);
/* The bucket of a key text; NULL = none. */
struct bucket *bucket_find_text(const struct bucket_set *set, const char *text, size_t len);
/* Gives a bucket whose key the set lacks to the set. False: out of memory, nothing changed. */
bool bucket_move(struct bucket_set *set, struct bucket *b);
/* Counts that an action led to this much of a bucket's time. False: out of memory. */
bool bucket_add_action(struct bucket *b, uint32_t action, uint64_t ms);
/* Is this a better evidence than the one that is there (an empty one: none)? */
bool evidence_is_better(const struct evidence *offer, const struct evidence *have);
/* Is it better than the one the bucket has? */
bool bucket_offers_better(const struct bucket *b, const struct evidence *offer);
/* Makes it the evidence: a copy, but for the reason, which is one of the triage's strings. False:
 * out of memory, nothing changed. */
bool bucket_take_evidence(struct bucket *b, const struct evidence *offer);
/* Adds earlier ids of the bucket. Of more than ALIASES_MAX the smallest numbers are kept: an
 * arbitrary choice, but independent of their order. False: out of memory. */
bool bucket_add_alias(struct bucket *b, uint64_t alias);
/* The aliases that a key of this level (KEY_LEVELS: the action) has. False: out of memory. */
bool bucket_add_ways(struct bucket *b, const struct stall_key *key, size_t level);
/* Makes level 2's bucket `child` one of level 1's bucket `parent` if it has none yet. False: out of
 * memory. */
bool bucket_adopt(struct bucket *parent, struct bucket *child);
/* Frees what was counted of it, and its evidence; its key, index and parent stay. */
void bucket_drop(struct bucket *b);
/* NULL is allowed. */
void bucket_free(struct bucket *b);
void bucket_set_release(struct bucket_set *set);

/* Counts a whole stall, with its ranked parts and their time, where rates are told. False: out of
 * memory. */
bool stall_count_usage(struct triage *t, const struct stall_part *parts, size_t count, uint64_t ms);
/* Some dumps of the stall of this hash: it counts when the spans of its dumps add up to its
 * duration (0 = not known yet). False: out of memory. */
bool stalls_join(struct triage *t, uint64_t hash, uint64_t seen_ms, uint64_t duration_ms,
                 const struct stall_part *parts, size_t count);
/* A dump's share, not capped, joins its stall, which counts when the spans of its dumps add up to
 * its duration; what is incomplete waits, and is counted by stalls_flush at the latest. One that
 * was counted is not counted again. False: out of memory. */
bool stalls_add(struct triage *t, const struct dump *d, const struct stall_count *c,
                struct stall_part part);
bool stalls_flush(struct triage *t);

/* The entry for a stall, made if it is new; NULL = out of memory. Valid until the next call on the
 * table. */
struct pending_stall *pending_get(struct pending_table *p, uint64_t hash);
void pending_remove(struct pending_table *p, struct pending_stall *s);
void pending_release(struct pending_table *p);

#endif
