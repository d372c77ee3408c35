/* Declares the interface between the files of triage: counting, pending stalls, partials,
 * printing. */
#ifndef STALLKIT_CLASSIFY_TRIAGE_PRIVATE_H
#define STALLKIT_CLASSIFY_TRIAGE_PRIVATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "classify/stats/seen_ids.h"
#include "classify/stored/stored_dumps.h"
#include "classify/stats/tally.h"
#include "classify/stats/triage.h"
#include "classify/stats/usage.h"

#define NO_INDEX UINT32_MAX

enum { ALIASES_MAX = 4096 }; /* maximum number of aliases of a bucket */
enum { NEAR_MAX = 1024 };    /* maximum number of other keys of a bucket's samples */

/* A frame as it is printed. The frame and its strings are interned in the triage, so that equal
 * frames have the same pointer. */
struct bucket_frame {
    const char *image, *function;
    const char *image_name, *file; /* from the evidence; file: NULL = unknown */
    /* The function of the framework that was called, taken from the evidence; NULL = it has no
     * name. */
    const char *call;
    uint32_t line;
    bool in_app, resolved;
};

/* The part of a bucket's stalled time that came from one action. */
struct action_share {
    uint32_t action, rank; /* index and, once finished, rank of the action */
    uint64_t ms;
};

/* The id of a key, as a number, for which samples of a bucket vote one by one. */
struct near_id {
    uint64_t number;
    /* Number of dumps that have such samples, of those in which they are more than half, and the
     * sum over the dumps of their share in permille. */
    uint64_t dumps, most, shares;
};

/* The dump of a bucket that is shown: the one with the longest span; of equal spans the one with
 * the smallest id, where no id comes first; of equal ids the one with the smallest hash. So the
 * order of the dumps never decides. */
struct evidence {
    char *id; /* malloc'ed; NULL = there is no dump yet, "" = the dump has none */
    uint64_t span_ms;
    uint64_t hash; /* hash of the dump's text as the device wrote it, see dump_write_captured */
    enum rule_cause cause;
    const char *reason; /* reason of the cause, interned in the triage; NULL = none */
    SMALL_VEC(uint32_t)
    stack; /* for level 2: the stack's pieces (exemplar.h), as indexes in the triage; empty = none
            */
};

struct bucket {
    char id[KEY_ID_SIZE];
    uint32_t index;      /* position in the bucket_set */
    uint64_t text_hash;  /* hash of the key's text, which the frames have (bucket_compare) */
    struct tally *tally; /* for level 1: shared with the bucket's only child as long as both tallies
                            are equal */
    uint64_t users;      /* number of distinct users; set by triage_finish */
    /* The array is malloc'ed, the frames belong to the triage. */
    const struct bucket_frame **frames;
    size_t frame_count;
    struct evidence evidence;
    /* Earlier ids of the bucket, as numbers, ascending: from when less was known about its frames
     * (enum key_way), and from before a renaming. Each is computed from frames. An id that a dump
     * says (its member `class`) is none of them: one dump could claim any bucket's id. */
    SMALL_VEC(uint64_t) aliases;
    /* For each alias, the number of dumps whose frames tell it; a number above that of the bucket's
     * dumps stands for all of them. */
    SMALL_VEC(uint64_t) alias_dumps;
    /* Ids of other keys for which samples of busy threads vote (struct key_near), ascending by
     * number. */
    SMALL_VEC(struct near_id) near;
    uint32_t parent; /* for level 2: index of its level-1 bucket */
    SMALL_VEC(struct action_share) actions;
    /* The indexes of the level-2 buckets of a level-1 bucket; triage_finish ranks them. */
    SMALL_VEC(uint32_t) children;
    uint64_t kept_ms; /* the part of bucket_set.fold.ms that comes from foldings in which this
                         bucket was kept */
    uint32_t joined;  /* number of buckets that were joined to this one, see aliases.c */
    uint32_t kinds;   /* the kinds of those that were inferred: bit of each enum join_kind */
    struct stored_bucket *stored; /* for level 1: its stored dumps; NULL = none */
    /* The number of threads that a holder kept waiting, summed over its dumps. */
    uint64_t waiters;
};

/* A set of buckets: of one level, of actions, of idle dumps, or of holders of locks. */
struct bucket_set {
    /* The foldings into the bucket "other" (triage_fold), including those in merged partials: their
     * number, the number of folded buckets, and the sum, over all foldings, of the largest folded
     * bucket's time. */
    struct {
        uint64_t folds, buckets, ms;
    } fold;
    char level;      /* '1', '2', 'a' (actions), 'i' (idle), 'h' (holders) */
    uint32_t *slots; /* index in buckets plus 1, at the slot that text_hash chooses; 0 = free */
    size_t slot_count;
    VEC(struct bucket *) buckets;
    uint32_t *ranked; /* indexes in the order of output; set by triage_finish */
};

/* The part of a stall that one of its several dumps accounts for. */
struct stall_part {
    uint32_t level2, action; /* indexes of the buckets; NO_INDEX = not ranked, no action */
    /* Index of the level-1 bucket of a ranked part, set once its stall is counted. */
    uint32_t level1;
    /* Index of the holder's bucket; NO_INDEX = the dump does not wait for a lock. */
    uint32_t holder;
    uint32_t cell;                 /* cell of the stall's user, see clusters.h */
    uint32_t facets[USAGE_FACETS]; /* indexes of strings; NO_INDEX = unknown */
    int32_t day;                   /* as usage_day.day, or USAGE_UNTOLD_DAY */
    uint64_t ms;
    bool fatal; /* the process died in the stall */
};

/* A stall of which some dumps were not read yet. */
struct pending_stall {
    uint64_t hash;        /* hash of the stall (struct stall_count) */
    uint64_t seen_ms;     /* sum of the spans of the dumps so far, in ms */
    uint64_t duration_ms; /* length of the whole stall in ms; 0 = no dump has given it yet */
    VEC(struct stall_part) parts;
};

/* The pending stalls, in a hash table with open addressing. A removed entry leaves no gap, so that
 * searches stay short. */
struct pending_table {
    struct pending_stall *slots;
    size_t slot_count, used;
};

/* Maximum number of pending stalls. When there are so many, all are counted as they are before
 * another part is added, even if the part's stall is one of them. */
enum { PENDING_MAX = 1 << 18 };

/* The shortest duration at which stalls of a kind are detected. */
struct threshold {
    uint32_t kind; /* index of the kind's string */
    int64_t ms;    /* the threshold in ms; -1 = no dump gives it */
    bool unsaid;   /* a dump of this kind does not give its threshold */
};
/* A struct threshold with the text of its kind. */
struct kind_threshold {
    const char *kind;
    int64_t ms;
    bool unsaid;
};

/* A bucket that was joined to another one, see triage_join_single_stacks and triage_join_versions.
 */
struct joined_stacks {
    char id[KEY_ID_SIZE], into[KEY_ID_SIZE];
    enum join_kind kind;
};

struct triage {
    struct triage_options options;
    struct bucket_set level[KEY_LEVELS], actions;
    struct bucket_set idle; /* dumps that were set apart as idle or late, by innermost function */
    struct bucket_set holders; /* holders of the locks for which stalls waited, see lock_holder.h */
    struct tally total;
    uint64_t total_users;
    struct clusters exposure; /* launches, and ms in the foreground */
    /* Exposure and stalls by version, system and device, and stalls by cause and kind. */
    struct app_usage usage;
    uint64_t dumps_read;
    uint64_t apart[APART_COUNT];
    uint64_t unresolved;  /* ranked dumps whose key has frames without a name */
    int64_t threshold_ms; /* smallest threshold of the ranked dumps; -1 = no dump has one */
    /* Smallest threshold of each kind of stall, ascending by the kind's index. */
    VEC(struct threshold) thresholds;
    VEC(struct joined_stacks) joined_stacks; /* in no order */
    struct pending_table pending;
    struct seen_set seen;
    struct id_sketch ids; /* ids of the dumps that were counted */
    struct stall_ledger ledger;
    struct map strings; /* interned: versions, names, files */
    struct map frames;  /* interned: struct bucket_frame */
    struct map pieces;  /* interned: pieces of stacks, see exemplar.h */
    struct stored_dumps stored;
    struct strbuf scratch;
    /* Memory ran out while buckets were moved, so that the triage is inconsistent and can only be
     * freed. */
    bool torn;
};

/* Describes which buckets are joined: for each bucket, the index in its set of the bucket to which
 * it is joined, or its own index. NULL: no bucket of this set is joined. */
struct triage_into {
    uint32_t *level[KEY_LEVELS], *actions;
};
/* Joins buckets, as if their dumps had been counted in the bucket to which they are joined. That
 * bucket keeps its key and evidence, and gets the aliases of the others, too. False: out of memory,
 * and t can only be freed. */
bool triage_take_in(struct triage *t, const struct triage_into *into);
/* The new positions of a triage's buckets after they were sorted again, used to merge its other
 * counts. */
struct triage_rest {
    uint32_t *texts, *pieces; /* for each string and piece its index in the new triage */
    uint32_t *level2; /* for each bucket its index in the new triage; NO_INDEX = it is idle */
    /* For each action its new key; NULL = the action keeps its key. */
    const struct key *const *named;
    uint32_t *actions; /* result: for each action its index in the new triage; malloc'ed */
};
/* Adds to t the counts of `from` other than those of levels 1 and 2 and the total: actions,
 * holders, idle dumps, incomplete stalls, and the numbers of dumps that were read and set apart.
 * The buckets of actions, holders and idle dumps move out of `from`. False: out of memory, and t
 * can only be freed. */
bool triage_merge_rest(struct triage *t, struct triage *from, struct triage_rest *rest);
/* Joins buckets of stalls without symbols to those of the same stalls with symbols: the id of a
 * bucket with nameless frames is an alias of exactly one bucket, which has names for more frames,
 * or for as many but also knows where its nameless functions start. A level-2 bucket is joined only
 * to one whose level-1 bucket is the same, or is joined with its own. Dumps that so get names leave
 * t->unresolved. False: out of memory, and t can only be freed. */
bool triage_join_aliases(struct triage *t);
/* Must a level-1 bucket stay one of its own, as by a mark that somebody gave it? */
bool triage_must_stay(const struct triage *t, const struct bucket *b);
/* Notes that b is joined to `into`, which gets its id as an alias. False: out of memory. */
bool triage_note_join(struct triage *t, const struct bucket *b, struct bucket *into,
                      enum join_kind kind);
/* Joins buckets of different versions of the app whose keys differ by one function, which one of
 * the versions has inlined without a trace, see stallclassify(1). A bucket that must stay is not
 * joined. False: out of memory, and t can only be freed. */
bool triage_join_versions(struct triage *t);
/* Joins buckets of one busy function, see stallclassify(1). First, level-1 buckets without a
 * framework to those of the same functions with the framework that most samples call. Then buckets
 * of single stacks, which no dump with samples is in, or of few dumps with samples, to those of the
 * functions that were busy: a level-1 bucket with all of its level-2 buckets, each to one whose key
 * is its own without helpers or the framework, as far as that goes. A bucket that must stay
 * (triage_options.stays) is not joined. The ids become aliases. False: out of memory, and t can
 * only be freed. */
bool triage_join_single_stacks(struct triage *t);
/* The busy functions of a finished triage, to which triage_join_single_stacks would join dumps that
 * it does not have. It is not changed by look-ups, so threads may share it. */
struct busy_functions;
/* Finds the busy functions of t, which is borrowed and must not change. False: out of memory, and
 * *out is NULL. */
bool busy_functions_new(struct busy_functions **out, struct triage *t);
/* Frees busy functions, which may be NULL. */
void busy_functions_free(struct busy_functions *f);
/* Sets *out to the level-2 bucket to which a bucket of this key alone, whose id of level 2 is
 * given, would be joined; NULL: none. False: out of memory. */
bool busy_functions_find(const struct busy_functions *f, const struct stall_key *key,
                         const char *id, const struct bucket **out);
struct alias_index;
/* HELPERS_MAX: a helper and a helper's helper; so in a key of the usual four functions the busy
 * function and its caller are left, which are the whole key of level 1. */
enum { HELPERS_MAX = 2, FUNCTIONS_MIN = 2 };

/* Returns the framework's frame of a key; NULL: it has none. */
const struct bucket_frame *busy_framework(const struct bucket *b);
/* Returns the index of the key's first frame that is not the framework's. */
size_t busy_first_function(const struct bucket *b);
/* Are all frames after the framework functions of the app that have names? */
bool busy_has_only_functions(const struct bucket *b);
/* Does the cause tell of no wait? Code that draws may compute, and a dump that does not tell how
 * long the thread ran may have no cause. */
bool cause_may_be_busy(enum rule_cause cause);
/* Do samples show the bucket's key, at least half of them, and does its main cause tell of no
 * wait? */
bool busy_shows_own_key(const struct bucket *b);
/* Do the samples of a level-2 bucket say that its function is busy? Its level-1 bucket must have
 * samples, too, as a partial may say otherwise. */
bool busy_is_proven(const struct triage *t, const struct bucket *b);
/* Returns the number of single stacks for which a bucket's samples are enough. */
uint64_t busy_stacks_for(const struct bucket *b);
/* Orders buckets by their evidence, the most first. */
int busy_compare_evidence(const struct bucket *a, const struct bucket *b);
/* Returns the bucket of the set with this id, where the index has all of the set's ids; NULL: there
 * is none. */
const struct bucket *busy_bucket_of_number(const struct alias_index *ids,
                                           const struct bucket_set *set, uint64_t number);

/* A triage, and the index of the own ids of its level-2 buckets. */
struct busy_ids {
    const struct triage *t;
    const struct alias_index *ids;
};
/* Returns the bucket of a function that the function of b, a level-2 bucket, calls, if so many
 * samples of b's dumps are in it, and so few in any other, that by chance only the caller's key is
 * theirs. Which of the two has more dumps does not matter, so that their ids do not change as these
 * numbers grow. NULL: there is none. */
const struct bucket *busy_find_inner(const struct busy_ids *j, const struct bucket *b);
/* Returns an array, malloc'ed, that maps each bucket of the set to itself. NULL = out of memory. */
uint32_t *bucket_set_identity(const struct bucket_set *set);

/* An earlier id of a bucket; alias_index maps those of a set to its buckets. */
struct alias {
    uint64_t number;
    uint32_t bucket;
};
struct alias_index {
    VEC(struct alias) aliases; /* ascending by number, then by bucket */
};
/* Collects the aliases of a set's buckets, and sorts them. False: out of memory, and the index is
 * released. */
bool alias_index_build(struct alias_index *index, const struct bucket_set *set);
void alias_index_release(struct alias_index *index);
/* Files each bucket of the set that has at least `least_dumps` under the hash (bucket_frame_hash)
 * of each named function of the app in its key, and sorts the index. False: out of memory; the
 * caller releases the index in any case. */
bool alias_index_functions(struct alias_index *index, const struct bucket_set *set,
                           uint64_t least_dumps);
/* Returns the only bucket besides this one (NULL: of all) that alias_index_functions filed under
 * the function; NULL: there are none or several. */
const struct bucket *alias_index_only_with(const struct alias_index *index,
                                           const struct bucket_set *set,
                                           const struct bucket_frame *f,
                                           const struct bucket *besides);
/* Sorts an index to which aliases were appended. */
void alias_index_sort(struct alias_index *index);
/* Returns the only bucket of the set, of another id, that has this id as an alias and has at most
 * `nameless` frames without a name, as many as the key with the id has. NULL if there is none, or
 * several, or if nameless is 0. */
const struct bucket *alias_index_find_id(const struct alias_index *index,
                                         const struct bucket_set *set, const char *id,
                                         size_t nameless);
/* alias_index_find_id for the id of b, which may belong to another triage. */
const struct bucket *alias_index_find(const struct alias_index *index, const struct bucket_set *set,
                                      const struct bucket *b);

/* Notes that stalls of this kind (NULL and "" stand for "hang") were detected from this duration
 * on; -1 = the dump does not give a threshold. False: out of memory. */
bool triage_note_threshold(struct triage *t, const char *kind, int64_t threshold_ms);
/* Returns the thresholds, of which there are t->thresholds.len, in the order of their kinds' text;
 * malloc'ed, NULL = out of memory. The kinds are strings of t. */
struct kind_threshold *triage_thresholds(const struct triage *t);
struct jsonw;
/* Writes the member "no_threshold": the kinds among these `count` thresholds of which some dump
 * gives none. */
void triage_put_unsaid(struct jsonw *w, const struct kind_threshold *all, size_t count);
/* Merges the thresholds of `from` into t. False: out of memory. */
bool triage_merge_thresholds(struct triage *t, const struct triage *from);
/* Returns the index of a string; equal texts have the same index. NO_INDEX = out of memory. */
uint32_t triage_string(struct triage *t, const char *s);
/* Returns the interned copy of a string; NULL = out of memory, or s is NULL. */
const char *triage_intern(struct triage *t, const char *s);
/* Returns the interned copy of a frame whose strings are interned; NULL = out of memory. */
const struct bucket_frame *triage_frame(struct triage *t, const struct bucket_frame *f);
/* Cuts the stack of a dump's key into pieces and appends them to e->stack. False: out of memory,
 * and e->stack may hold a part. */
bool triage_cut_stack(struct triage *t, const struct dump *d, const struct stall_key *key,
                      struct evidence *e);
/* Adds to `to` the strings of `from` that it lacks, and returns an array, malloc'ed, with the index
 * in `to` of each string of `from`. NULL = out of memory. */
uint32_t *triage_map_strings(struct map *to, const struct map *from);
/* Returns the bucket of a key; a new one is made with the frames of the key. NULL = out of
 * memory. */
struct bucket *triage_bucket(struct triage *t, struct bucket_set *set, const struct key *key);
/* Sets the names of images, files and lines of a bucket's frames from the key of its evidence.
 * False: out of memory. */
bool triage_show(struct triage *t, struct bucket *b, const struct key *key);
/* Is the bucket the bucket "other", into which others were folded? */
bool bucket_is_other(const struct bucket *b);
/* Returns the bucket "other" of a set, into which others were folded; NULL = none were. */
struct bucket *bucket_find_other(const struct bucket_set *set);
/* Returns an upper bound of the bucket's time that was folded into "other"; 0: none was. */
uint64_t bucket_error_ms(const struct bucket_set *set, const struct bucket *b);
/* Sets the names of the buckets "other" to the numbers of buckets folded into them. False: out
 * of memory. */
bool triage_name_others(struct triage *t);
/* Replaces set->ranked by the indexes of the set's buckets in order, the heaviest first and "other"
 * last, and sets the buckets' `users`. False: out of memory. */
bool rank_set(struct bucket_set *set, enum tally_weight weight);
/* Orders `count` indexes into the set in place, the heaviest first and "other" last. False: out of
 * memory. */
bool rank_indexes(const struct bucket_set *set, enum tally_weight weight, uint32_t *indexes,
                  size_t count);
/* Returns the tally's weight by which the triage ranks. */
static inline uint64_t triage_weight(const struct triage *t, const struct tally *tally) {
    return tally_weight_of(tally, t->options.weight);
}
/* Are two frames of keys the same function of the same image? */
bool bucket_frame_equals(const struct bucket_frame *a, const struct bucket_frame *b);
/* Is the frame a function of the app that has a name? */
bool bucket_frame_is_named(const struct bucket_frame *f);
/* Continues the hash of a list of frames, which begins with any number, by a frame. */
uint64_t bucket_frame_hash(uint64_t hash, const struct bucket_frame *f);
/* Returns the hash, begun with 0, of the first `count` frames of the key without the one at index
 * `without`; SIZE_MAX: of all of them. */
uint64_t bucket_frames_hash(const struct bucket *b, size_t count, size_t without);
/* Are the frames of `more` without the one at index `without` those with which the key of `less`
 * begins, and is the rest of that at most one frame? */
bool bucket_begins_without(const struct bucket *more, size_t without, const struct bucket *less);
/* Compares the key texts of two buckets, as strcmp does. */
int bucket_compare(const struct bucket *a, const struct bucket *b);
/* Returns the bucket of a key text. If it is new, *added is true, and the caller must set its
 * frames, which have this text, before the set is used again. NULL = out of memory. */
struct bucket *bucket_put(struct bucket_set *set, const char *text, size_t len, bool *added);
/* Returns the bucket with the key of `like`, a bucket of another set; NULL = none. */
struct bucket *bucket_find(const struct bucket_set *set, const struct bucket *like);
/* Returns the bucket of a key text; NULL = none. */
struct bucket *bucket_find_text(const struct bucket_set *set, const char *text, size_t len);
/* Moves a bucket whose key the set lacks into the set. False: out of memory, and nothing
 * changed. */
bool bucket_move(struct bucket_set *set, struct bucket *b);
/* Adds the time that an action accounts for to a bucket. False: out of memory. */
bool bucket_add_action(struct bucket *b, uint32_t action, uint64_t ms);
/* Is `offer` better evidence than `have`? `have` may be empty. */
bool evidence_is_better(const struct evidence *offer, const struct evidence *have);
/* Is `offer` better evidence than the bucket's? */
bool bucket_offers_better(const struct bucket *b, const struct evidence *offer);
/* Replaces the bucket's evidence by a copy of `offer`, whose reason is a string of the triage
 * and is not copied. False: out of memory, and nothing changed. */
bool bucket_take_evidence(struct bucket *b, const struct evidence *offer);
/* Adds an earlier id to the bucket, which so many dumps tell. If there are more than ALIASES_MAX,
 * the smallest are kept, so that the order in which they come does not matter. False: out of
 * memory. */
bool bucket_add_alias(struct bucket *b, uint64_t alias, uint64_t dumps);
/* Adds the id of another key for which samples vote to the bucket; its own id is left out. If there
 * are more than NEAR_MAX, those with the smallest numbers are kept. False: out of memory. */
bool bucket_add_near(struct bucket *b, const struct near_id *add);
/* Adds the other keys of this level for which samples of a dump's busy thread vote to its bucket.
 * False: out of memory. */
bool bucket_add_key_near(struct bucket *b, const struct stall_key *key, size_t level);
/* Adds all that another bucket has. False: out of memory. */
bool bucket_add_all_near(struct bucket *b, const struct bucket *from);
/* Returns what the bucket knows of the id; NULL: no sample votes for it. */
const struct near_id *bucket_near(const struct bucket *b, uint64_t number);
/* Do at least half of the bucket's dumps tell its alias at this index? */
bool bucket_mostly_has(const struct bucket *b, size_t alias);
/* Adds the former ids of a key at this level (KEY_LEVELS: the action) to the bucket, each once,
 * which so many dumps tell. False: out of memory. */
bool bucket_add_ways(struct bucket *b, const struct stall_key *key, size_t level, uint64_t dumps);
/* Makes the level-2 bucket `child` a child of the level-1 bucket `parent` unless it has a
 * parent. False: out of memory; the triage can only be freed then. */
bool bucket_adopt(struct bucket *parent, struct bucket *child);
/* Gives a level-1 bucket the tally of its only child if both are equal. Most buckets have one
 * child, so this saves memory. Code that changes a bucket's tally calls tally_own first, unless the
 * change is meant for both. */
void bucket_share_tally(struct bucket *parent, const struct bucket *child);
/* Frees the tally, aliases, actions, children and evidence of a bucket; its key, index, parent and
 * stored dumps stay. */
void bucket_drop(struct bucket *b);
/* Frees a bucket, which may be NULL. */
void bucket_free(struct bucket *b);
void bucket_set_release(struct bucket_set *set);

/* Adds a whole stall, with its ranked parts and their time, to the sums from which rates are
 * computed. False: out of memory. */
bool stall_count_usage(struct triage *t, const struct stall_part *parts, size_t count, uint64_t ms);
/* Finds which stalls are in no rate, because no time in the foreground is known of their version
 * and day (usage_outside), or only a small part of what a day of the version has, and notes it in
 * the usage of the triage; triage_finish calls it. False: out of memory. */
bool usage_settle(struct triage *t);
/* Adds dumps of the stall of this hash, whose spans have the sum seen_ms. The stall counts, and
 * stops pending, once the spans of all its dumps add up to its duration (0 = unknown). If
 * PENDING_MAX stalls are pending, stalls_flush counts them first. False: out of memory. */
bool stalls_join(struct triage *t, uint64_t hash, uint64_t seen_ms, uint64_t duration_ms,
                 const struct stall_part *parts, size_t count);
/* Adds a dump's part, not capped, to its stall, which counts at once if c->whole, else once the
 * spans of its dumps add up to its duration; stalls_flush counts incomplete ones. A stall that was
 * counted before is not counted again. False: out of memory. */
bool stalls_add(struct triage *t, const struct dump *d, const struct stall_count *c,
                struct stall_part part);
bool stalls_flush(struct triage *t);

/* Returns the entry of a stall; a new one is added. It is valid until the next call on the table.
 * NULL = out of memory. */
struct pending_stall *pending_get(struct pending_table *p, uint64_t hash);
void pending_remove(struct pending_table *p, struct pending_stall *s);
void pending_release(struct pending_table *p);

#endif
