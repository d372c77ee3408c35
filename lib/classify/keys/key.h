/* Identifies the stall of a dump: the relevant frames of its most important stack. */
#ifndef STALLKIT_CLASSIFY_KEY_H
#define STALLKIT_CLASSIFY_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "classify/keys/lock_holder.h"
#include "classify/rules/rules.h"
#include "dump/dump.h"

enum {
    KEY_LEVELS = 2,
    KEY_FRAMES_MAX = 16, /* of one key: four, prefixes, and the nearest frame of the app */
    KEY_FUNCTION_MAX =
        512, /* bytes of a function in a key; a longer one ends in … and a hash of the whole */
    KEY_WANTED_MAX = 8,    /* most relevant frames of a level */
    KEY_REASON_SIZE = 320, /* bytes of a cause's reason with its NUL; a longer one ends in … */
    KEY_ID_SIZE = 13       /* 12 hex digits and a NUL */
};

/* A frame as keys see it. Made once per distinct (image, function) and owned by the keyer. */
struct frame_info {
    const char *image; /* for keys: "app", the vendor, the normalised image name, or an unresolved
                          frame's image id */
    const char
        *function; /* normalised; "+0x1a2b" (the function's offset in its image) if unresolved */
    const char *qualified;  /* function with its module, where that is known; else NULL */
    const char *image_name; /* normalised name, for people; "?" = none */
    bool in_app, resolved;
    bool said_in_app; /* by the dump; rules may say otherwise */
    bool by_caller;   /* place and cause depend on the caller: use frame_from */
    bool callout;     /* calls code that somebody handed over: what waits outside of it does not */
    bool hidden;      /* in no stack */
    bool exclusive;   /* waits for what one thread at a time holds */
    bool memory;      /* touches memory, and makes no system call */
    bool waits;       /* waits for what its cause says, and does no work of its own */
    bool modal;       /* of PLACE_CUT: a nested loop that waits for the user */
    bool loop_image;  /* in an image that has a loop that waits for work */
    enum rule_side side;
    enum rule_place place;
    enum rule_cause cause;
    unsigned confidence;   /* of the cause, permille; 0 = no cause */
    const char *reason;    /* of the cause, in words; "" = no cause */
    const char *vendor;    /* of SIDE_VENDOR, else NULL */
    const char *framework; /* public name of the framework, "" = runtime code, which is none */
    const char *made_for;  /* of an app's frame that is a library's generic: the app's
                              type in it, as the dump has it; else NULL */
    const struct rule *by[RULE_KINDS]; /* the rules that decided; NULL = none */
    uint64_t enclosing; /* hash of the function that a closure was written in, or of itself */
    struct frame_info *canonical; /* the first info with this image and function: compare these */
    size_t index;                 /* private, as those below */
    enum rule_os os;
    uint64_t vote_epoch, votes, newest;
};

struct key_frame {
    const struct frame_info *info;
    const struct frame_info
        *call;        /* of a framework, which has no function in a key: the frame of it
                         that the app called, for people; NULL = this is a function */
    const char *file; /* of this dump, borrowed from it; NULL = unknown. Not part of the key */
    uint32_t line;
};

/* Frames run innermost first. */
struct key {
    struct key_frame frames[KEY_FRAMES_MAX];
    size_t count;
};

enum key_status {
    KEY_OK,
    KEY_NO_STACK, /* the dump has no frames, or rules hide them all */
    KEY_IDLE,     /* most samples show nothing but the loop that waits for work: no stall */
    KEY_LATE      /* there are no samples, and when the dump was taken the loop waited again */
};

/* What may be unknown of a stack. */
enum key_way {
    KEY_NAMELESS,    /* no symbol file has named a frame */
    KEY_NOT_INLINED, /* nobody tells what was inlined */
    KEY_STARTLESS,   /* nobody tells where functions without a name start */
    KEY_WAYS
};

/* The thread that holds the lock for which a stall waits. */
struct lock_holder {
    enum holder_status status;
    const struct dump_thread *waiter; /* borrowed from the dump: the chain of waits begins with it;
                                         NULL = nobody tells */
    const struct dump_thread *inferred; /* of HOLDER_INFERRED: the holder, borrowed from the dump */
    uint64_t waiters; /* threads of the dump that the holder keeps waiting, if only through others;
                         0 = unknown */
    struct key key;   /* see lock_holder.h */
};

struct stall_key {
    enum key_status status;
    struct key level[KEY_LEVELS]; /* by key_options.kind, with fewer and with more frames */
    struct key action; /* the outermost frame of the app: what the user did; may be empty */
    bool unresolved;   /* a frame of level 1 has no name: the key will change when symbols come */
    const struct dump_stack *stack; /* the one classified, borrowed from the dump */
    uint64_t samples, hits;         /* sampled stacks, and those whose level 1 is this one */
    int64_t truth;                  /* hits / samples in permille; -1 without samples */
    enum rule_cause cause;          /* CAUSE_UNKNOWN, not CAUSE_NONE, where nothing tells */
    unsigned confidence;            /* of the cause, in permille */
    char reason[KEY_REASON_SIZE];   /* of the cause, in words; "" = none */
    struct lock_holder holder;
    /* Ids that level 1, level 2 and the action have by less that is known of the stack, as numbers;
     * 0 = the same. */
    uint64_t was[KEY_WAYS][KEY_LEVELS + 1];
};

enum key_kind {
    KEY_OF_APP,   /* the framework that the app called, and the innermost frames of the app */
    KEY_OF_FRAMES /* the innermost relevant frames of the stack */
};

struct key_options {
    /* NULL: the published WeChat rule, the innermost two and four frames as they are, of the stack
     * that the device chose, with nothing skipped, folded, normalised or added. Else borrowed for
     * the keyer's life. */
    const struct rules *rules;
    /* Frames of each level, relevant ones or the app's, ascending, at most KEY_WANTED_MAX; 0 0: two
     * and four. */
    unsigned wanted[KEY_LEVELS];
    /* What a key is made of, with rules. */
    enum key_kind kind;
    bool inlines; /* functions that were inlined count as frames */
    bool aliases; /* fill in stall_key.was */
};

/* Keeps what was found out about each distinct function. Not thread safe: one per thread. */
struct keyer;

/* Options are copied. */
enum st keyer_new(struct keyer **out, const struct key_options *o, struct err *e) BASE_MUST_USE;
/* NULL is allowed. Frame infos die here. */
void keyer_free(struct keyer *k);

/* The key of a dump, its cause, and how much of its samples it is about. Symbolicated or not:
 * without locations the dump's own names are used, and (image id, offset) where there is none.
 * ST_ERR: out of memory. */
enum st keyer_key(struct keyer *k, const struct dump *d, struct stall_key *out,
                  struct err *e) BASE_MUST_USE;

/* Takes the frames that rules hide out of the stacks of d, the dump of the last keyer_key, whose
 * stall_key.stack may have them: for whoever shows stacks. ST_ERR: out of memory. */
enum st keyer_hide_frames(struct keyer *k, struct dump *d, struct err *e) BASE_MUST_USE;

/* Appends the key's text, "image\tfunction\n" per frame: equal keys have equal texts, and nothing
 * else is in it. */
void key_text(const struct key *key, struct strbuf *out);
/* One frame of it. */
void key_text_add(struct strbuf *out, const char *image, const char *function);
/* Writes the short id of a key text at a level ('1', '2', or 'a' for the action): the upper 48 bits
 * of a SipHash over the text's SipHash and the level, so that equal texts of two levels have
 * different ids. */
void key_id(char level, const char *text, size_t len, char out[KEY_ID_SIZE]);
/* key_number returns the same id as a number, key_number_of that of a text of which the hash is
 * known (hash_bytes); key_number_text writes the digits of such a number. */
uint64_t key_number(char level, const char *text, size_t len);
uint64_t key_number_of(char level, uint64_t text_hash);
void key_number_text(uint64_t number, char out[KEY_ID_SIZE]);

#endif
