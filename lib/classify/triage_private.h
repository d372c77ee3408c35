/* Between the parts of triage: counting, pending stalls, printing. */
#ifndef STALLKIT_CLASSIFY_TRIAGE_PRIVATE_H
#define STALLKIT_CLASSIFY_TRIAGE_PRIVATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "classify/distinct.h"
#include "classify/histogram.h"
#include "classify/triage.h"

enum { TIME_SIZE = 32 };
#define NO_INDEX UINT32_MAX

/* What is known of a set of stalls. Every member is a sum, a set, or an extreme under a total
 * order. */
struct tally {
    uint64_t dumps, stalls, ms; /* ms: after the cap */
    uint64_t max_ms;            /* longest stall, before the cap */
    struct histogram durations; /* per stall, before the cap */
    struct distinct users;
    const char *first_version, *last_version; /* lowest and highest, interned; NULL = none */
    char first_time[TIME_SIZE], last_time[TIME_SIZE]; /* "" = none */
};

/* A frame as it is printed; strings are interned in the triage. */
struct bucket_frame {
    const char *image, *function, *image_name;
    const char *file; /* from the evidence; NULL = unknown */
    uint32_t line;
    bool in_app, resolved;
};

/* The stalled time of a bucket that one action led to. */
struct action_share {
    uint32_t action, rank; /* rank: the action's own, once finished */
    uint64_t ms;
};

struct bucket {
    char id[KEY_ID_SIZE];
    const char *text; /* the key's text, owned by the map */
    struct tally tally;
    uint64_t users; /* of tally.users, once finished */
    struct bucket_frame *frames;
    size_t frame_count;
    uint64_t
        evidence_ms;     /* span of the evidence: the dump with the longest, then the smallest id */
    char *evidence;      /* its id, malloc'ed; NULL = none yet, "" = it has none */
    uint32_t rank_index; /* scratch of the ranking */
    uint32_t parent;     /* of level 2: index of its level 1 */
    VEC(struct action_share) actions;
    VEC(uint32_t) children; /* of level 1: indexes of level 2, ranked once finished */
};

/* Buckets of one level, or of actions. */
struct bucket_set {
    char level; /* '1', '2', 'a' */
    struct map by_text;
    VEC(struct bucket *) buckets;
    uint32_t *ranked; /* order, once finished */
};

/* One dump's share of a stall that has more dumps. */
struct stall_part {
    uint32_t level2, action; /* NO_INDEX = not ranked, no action */
    uint64_t ms;
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

/* Dump ids seen: two generations of hashes, so memory has a bound and the last 2^18 ids are always
 * known. */
enum { SEEN_GENERATION = 1 << 18, PENDING_MAX = 1 << 18 };
struct seen_set {
    uint64_t *slots[2]; /* [0] the current generation; 0 = free */
    size_t slot_count[2], used;
};

struct triage {
    struct triage_options options;
    struct bucket_set level[KEY_LEVELS], actions;
    struct tally total;
    uint64_t total_users;
    uint64_t dumps_read;
    uint64_t apart[APART_COUNT];
    uint64_t unresolved; /* ranked dumps whose key has frames without a name */
    struct pending_table pending;
    struct seen_set seen;
    struct map strings; /* interned: versions, names, files */
    struct strbuf scratch;
};

/* False: out of memory. */
bool seen_before(struct seen_set *s, uint64_t hash, bool *seen);
void seen_release(struct seen_set *s);

/* The entry for a stall, made if it is new; NULL = out of memory. Valid until the next call on the
 * table. */
struct pending_stall *pending_get(struct pending_table *p, uint64_t hash);
void pending_remove(struct pending_table *p, struct pending_stall *s);
void pending_release(struct pending_table *p);

/* A percentile of the stalls' durations; never above the longest one. */
uint64_t tally_percentile(const struct tally *t, unsigned permille);

/* Natural order of versions: digits as numbers ("5.9" < "5.10"), then bytes. */
int version_compare(const char *a, const char *b);

#endif
