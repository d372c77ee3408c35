/* Stores what a triage keeps of dumps to show it, as on the page: for each bucket of level 1 the
 * newest dump, the one with the longest span, and the worst of each of its newest versions; its
 * time by stack, version, day and screen; and the symbols of the app's images.
 *
 * Texts, frames and stacks are stored once. The stored bytes have a limit: once it is reached, no
 * further dump is stored, and the dumps left out are counted. None of this is part of a partial. */
#ifndef STALLKIT_CLASSIFY_STORED_DUMPS_H
#define STALLKIT_CLASSIFY_STORED_DUMPS_H

#include "base/map.h"
#include "base/vec.h"
#include "classify/keys/key.h"
#include "dump/dump.h"

enum {
    /* Maximum number of versions of a bucket for which a dump is stored: the highest versions. */
    STORED_VERSIONS = 6,
    /* Maximum number of threads of a dump; the main one and holders of locks first. */
    STORED_THREADS = 64,
    STORED_FRAMES = 200, /* maximum number of frames of a stack: the innermost ones */
    STORED_SAMPLES = 24, /* maximum number of stacks of a dump: those sampled most */
    /* Number of stacks of a bucket that are kept. When a bucket has more than twice as many, all
     * but the heaviest are dropped. */
    STORED_STACKS = 128,
    /* Maximum number of versions, of days and of screens of a bucket, and of all buckets together;
     * later ones are not counted. */
    STORED_VALUES = 400,
    STORED_IMAGES = 256, /* maximum number of pairs of an image of the app and its symbols */
    STORED_TEXT = 1000 /* maximum number of bytes of a text; a longer one is cut, and "…" follows */
};
#define STORED_NONE UINT32_MAX /* index that stands for nothing */

/* A line of a stack. Its texts are indexes. */
struct stored_frame {
    uint32_t function; /* the function's name, "Shop+0x1a2b" if it has none */
    uint32_t image;    /* STORED_NONE = the frame is in no image */
    uint32_t file;     /* index of a text; STORED_NONE = unknown */
    uint32_t line;
    uint32_t flags;
};
enum { STORED_IN_APP = 1, STORED_INLINED = 2, STORED_NAMELESS = 4 };

struct stored_thread {
    int64_t id, owner; /* owner: id of the thread that holds the lock for which the stored thread
                          waits; -1 = unknown */
    int64_t cpu_permille;
    /* Texts; waits: the kind of object for which the thread waits, such as "mutex". */
    uint32_t name, state, waits;
    uint32_t stack;
    bool main;
};

struct stored_sample {
    uint32_t stack;
    uint64_t count;
};

struct stored_dump {
    uint32_t id, time, version, build, os, device, screen, reason; /* indexes of texts */
    enum rule_cause cause;
    int64_t span_ms, duration_ms; /* in ms; -1 = unknown */
    bool fatal;
    unsigned owners;                         /* number of places that refer to the dump */
    uint32_t threads_left;                   /* number of threads that were not stored */
    SMALL_VEC(struct stored_thread) threads; /* main thread first */
    SMALL_VEC(struct stored_sample) samples; /* the most sampled stack first */
};

/* The counts of one version, day or screen. */
struct stored_value {
    uint32_t text;
    uint64_t dumps, ms;
};
enum stored_facet { STORED_VERSION, STORED_DAY, STORED_SCREEN, STORED_FACETS };
/* Counts by value, in the order of the values' arrival. */
struct stored_values {
    SMALL_VEC(struct stored_value) values;
};

/* A stack of a bucket, and the stalled time in it. */
struct stored_weight {
    uint32_t stack;
    uint64_t ms, samples;
};

/* The stored dumps of a bucket. Zero-initialised = none. */
struct stored_bucket {
    struct stored_dump *worst, *newest;
    SMALL_VEC(struct stored_dump *) of_version; /* worst dump of each version; versions ascend */
    struct stored_values by[STORED_FACETS];
    SMALL_VEC(struct stored_weight) stacks; /* in no particular order */
    uint64_t dropped_ms; /* stalled time, in ms, of stacks that were dropped because there were too
                            many */
    uint64_t chosen; /* number of dumps that stored_dumps_show stored; if it is not 0, the stacks
                        are those of these dumps alone */
};

/* The symbols of an image of the app, and the number of dumps with them. */
struct stored_image {
    uint32_t name, id; /* indexes of texts */
    enum dump_symbols symbols;
    uint64_t dumps;
};

/* A cache entry: a stack of the current dump. Each stack is looked up twice, for its weight and for
 * the copy. */
struct stored_recent {
    const uint64_t *frames; /* frames of the stack; NULL = the entry is empty */
    uint32_t stack;
};
enum { STORED_RECENT = 64 };

/* All stored dumps. Empty if zero-initialised except for `limit`. */
struct stored_dumps {
    size_t limit;      /* maximum number of bytes stored; 0: nothing is stored */
    size_t used;       /* bytes of dumps; texts, frames and stacks are counted separately */
    uint64_t left_out; /* number of dumps that came after the limit was reached */
    struct map texts, frames, stacks;       /* interned: a stack is an array of indexes of frames */
    struct stored_values by[STORED_FACETS]; /* for all buckets together */
    VEC(struct stored_image) images;        /* in the order of their arrival */
    struct stored_recent recent[STORED_RECENT]; /* private, as recent_count */
    size_t recent_count;
};

void stored_dumps_release(struct stored_dumps *s);
/* Frees the stored dumps of a bucket. b may be NULL. s may be NULL, too, if it will store nothing
 * more: its `used` then stays as it is. */
void stored_bucket_free(struct stored_dumps *s, struct stored_bucket *b);
/* Stores the parts of a ranked dump that are shown in *b, which is made if it is NULL. ms: the
 * stalled time that the dump counts. With the limit 0 nothing is stored; once the limit is reached,
 * the dump is only counted in s->left_out. False: out of memory. */
bool stored_dumps_add(struct stored_dumps *s, struct stored_bucket **b, const struct dump *d,
                      const struct stall_key *key, uint64_t ms) BASE_MUST_USE;
/* Stores a dump that was chosen among dumps which are counted elsewhere: as stored_dumps_add, but
 * its values and images are not counted, b->chosen is, and with the limit 0 it counts as left out.
 * False: out of memory. */
bool stored_dumps_show(struct stored_dumps *s, struct stored_bucket **b, const struct dump *d,
                       const struct stall_key *key, uint64_t ms) BASE_MUST_USE;
/* Adds counts of a value to facet f of the bucket *b, which is made if it is NULL. If b is NULL,
 * they are added to those of all buckets together. v->text is not used; text is the value, and an
 * empty one adds nothing. False: out of memory. */
bool stored_value_add(struct stored_dumps *s, struct stored_bucket **b, enum stored_facet f,
                      const struct stored_value *v, const char *text) BASE_MUST_USE;
/* Moves the stored dumps of `from`, a bucket of the same s or NULL, to *b, and frees `from`; if *b
 * is NULL, it becomes `from`. False: out of memory. */
bool stored_bucket_merge(struct stored_dumps *s, struct stored_bucket **b,
                         struct stored_bucket *from) BASE_MUST_USE;

/* Returns the text of an index; "" for STORED_NONE. */
const char *stored_text(const struct stored_dumps *s, uint32_t text);
/* Returns the frames of a stack, innermost first, as *count indexes; NULL and 0 for STORED_NONE. */
const uint32_t *stored_stack(const struct stored_dumps *s, uint32_t stack, size_t *count);
const struct stored_frame *stored_frame_at(const struct stored_dumps *s, uint32_t frame);

/* Returns the bytes that a stored dump takes, without its texts, frames and stacks. */
size_t stored_dump_size(const struct stored_dump *d);
/* Stores d (NULL = none) in a place, which becomes an owner of it. The dump that was there loses an
 * owner, and is freed without any. */
void stored_dump_put(struct stored_dumps *s, struct stored_dump **at, struct stored_dump *d);

/* stored_frames.c. Set *out to the index of a text (NULL or "": STORED_NONE), of which STORED_TEXT
 * bytes are kept, and of a stack (without frames: STORED_NONE). False: out of memory. */
bool stored_put_text(struct stored_dumps *s, const char *text, uint32_t *out);
bool stored_put_stack(struct stored_dumps *s, const struct dump *d, const struct dump_stack *stack,
                      uint32_t *out);

#endif
