/* Identifies the stall of a dump by the relevant frames of its most important stack. */
#ifndef STALLKIT_CLASSIFY_KEY_H
#define STALLKIT_CLASSIFY_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "classify/keys/lock_holder.h"
#include "classify/rules/rules.h"
#include "names/names.h"
#include "dump/dump.h"

enum {
    KEY_LEVELS = 2,
    KEY_FRAMES_MAX = 16,    /* maximum number of frames of one key: up to KEY_WANTED_MAX relevant
                               ones, prefixes, the nearest frame of the app, and names */
    KEY_FUNCTION_MAX = 512, /* maximum bytes of a function in a key; a longer one ends in "…" and a
                               hash of the whole */
    KEY_OTHERS_MAX = 3,     /* maximum number of samples that a key keeps beside its stack */
    KEY_NEAR_MAX = 8,       /* maximum number of other keys that a key's samples vote for */
    KEY_WANTED_MAX = 8,     /* maximum number of relevant frames of a level */
    KEY_REASON_SIZE = 320,  /* bytes of a cause's reason with its NUL; a longer one ends in "…" */
    KEY_ID_SIZE = 13        /* 12 hex digits and a NUL */
};

/* The facts about a frame as keys need them: made once for each distinct frame of the dumps and, if
 * by_caller, once more for each distinct pair of callers; owned by the keyer. Several infos may
 * have one image and one function; they have the same `canonical`. */
struct frame_info {
    /* Image in keys: the image id of an unresolved frame, if it is known; else "app", the vendor,
     * the framework that a rule names, the linked library, or image_name. */
    const char *image;
    const char *function;   /* normalised; "+0x1a2b", its offset in the image, if unresolved; "" =
                               a whole library */
    const char *qualified;  /* function with its module, where that is known; else NULL */
    const char *image_name; /* normalised image name, for people; "?" = no image */
    bool in_app, resolved;
    bool said_in_app; /* the dump marks the frame as in the app; rules may decide otherwise */
    bool in_image;    /* the frame lies in an image: its code is neither interpreted nor made at run
                         time */
    bool by_caller;   /* place and cause depend on the caller: use frame_from */
    /* Calls code that was passed to it as a callback; a wait in an outer frame is not a wait of
     * that code. */
    bool callout;
    bool hidden;    /* rules remove the frame from all stacks */
    bool exclusive; /* the function waits for something that only one thread at a time can hold */
    bool memory;    /* the function touches memory and makes no system call */
    bool waits;  /* the function waits, for the reason that its cause gives, and does no work itself
                  */
    bool kernel; /* the function may be a system call, or make one, in which a thread can wait */
    bool modal;  /* with PLACE_CUT: the function runs a nested loop that waits for the user */
    bool loop_image;          /* the frame lies in an image that has a loop that waits for work */
    enum wait_name wait_name; /* what the function's name tells of a wait for events */
    enum rule_side side;
    enum rule_place place;
    enum rule_cause cause;
    unsigned confidence; /* confidence of the cause, in permille; 0 = no cause */
    const char *reason;  /* text of the cause; "" = no cause */
    const char *vendor;  /* with SIDE_VENDOR: name of the vendor; else NULL */
    /* Public name of the framework, else the name of the linked library, the vendor or the image;
     * "" = runtime code, which is no framework, or code that has none of these. */
    const char *framework;
    /* The function is in the app, and part of a library that was linked into it: a framework by a
     * rule, or a library by its source file. */
    bool linked;
    /* Number of bytes of `function` that name the owner of a Java package, in a frame of the app,
     * see names_owner; 0 = none. */
    size_t owner_len;
    /* The function is the first of a program, by its name, or one of Go's package main. */
    bool starts_program;
    /* The member that a witness of a Swift protocol calls, `body.getter`, see names_witness; NULL =
     * the function is no witness. */
    const char *witness;
    /* private: the info of this function as one of a linked library, and as one of the app; NULL =
     * not made yet */
    struct frame_info *as_linked, *as_app;
    /* The app's type for which a library's generic function in the app was made, as in the dump;
     * else NULL. */
    const char *made_for;
    const struct rule *by[RULE_KINDS]; /* rule that decided, for each kind; NULL = none */
    /* Hash of the function in which this closure was written; for any other function, its own
     * hash. */
    uint64_t enclosing;
    /* First info with this image and function; its address identifies the pair in comparisons. */
    struct frame_info *canonical;
    size_t index; /* private, as the members below */
    enum rule_os os;
    uint64_t vote_epoch, votes, newest;
};

struct key_frame {
    const struct frame_info *info;
    const struct frame_info *call; /* if info is a whole library: the frame of it that stands for
                                      the library, for people; NULL = info is no library, or is
                                      that of an idle stack's innermost frame */
    /* Source file in this dump, borrowed from it; NULL = unknown. It is no part of the key. */
    const char *file;
    uint32_t line;
};

/* The frames of a key, innermost first. */
struct key {
    struct key_frame frames[KEY_FRAMES_MAX];
    size_t count;
};

enum key_status {
    KEY_OK,
    KEY_NO_STACK, /* the dump has no frames, or rules hide all of them */
    KEY_IDLE,     /* most samples show only the loop that waits for work: there was no stall */
    KEY_LATE /* there are no samples, and the dump was taken when the loop waited for work again */
};

/* The facts about a stack that were unknown when a former key was made. */
enum key_way {
    KEY_NAMELESS,    /* no symbol file named the frames */
    KEY_NOT_INLINED, /* inlined functions were unknown */
    KEY_STARTLESS,   /* the starts of nameless functions were unknown */
    KEY_WAYS
};

/* The thread that holds the lock for which a stall waits. */
struct lock_holder {
    enum holder_status status;
    /* With HOLDER_KNOWN and HOLDER_DEADLOCK: the thread that the dump is about, with which the
     * chain of waits that leads to the holder begins, borrowed from the dump; else NULL. */
    const struct dump_thread *waiter;
    /* With HOLDER_INFERRED: the holder, borrowed from the dump. */
    const struct dump_thread *inferred;
    /* Number of the dump's threads that wait for the holder, directly or through others; always 1
     * with HOLDER_INFERRED; 0 = unknown. */
    uint64_t waiters;
    struct key key; /* key of the holder, see lock_holder.h */
};

/* A sample that differs from the classified stack in the frame next to the shared outer frames. */
struct key_other {
    const struct dump_stack *stack; /* borrowed from the dump */
    /* Number of the outermost frames that have the same functions in both stacks, the functions
     * inlined there included; shared: as frames of the classified stack, own: as frames of
     * `stack`. */
    size_t shared, own;
};

/* A key for which samples of a busy thread vote one by one. */
struct key_near {
    uint64_t number[KEY_LEVELS]; /* its ids, as numbers */
    unsigned share;              /* share of the votes that are for it, in permille */
};

struct stall_key {
    enum key_status status;
    /* The keys of both levels, with fewer and with more frames; their kind is key_options.kind. */
    struct key level[KEY_LEVELS];
    /* Name of the slow action, or the outermost frame of the app, which identifies the user's
     * action; may be empty. */
    struct key action;
    /* A frame of level 1 has no name, so that the key will change once symbols are known. */
    bool unresolved;
    const struct dump_stack *stack; /* the classified stack, borrowed from the dump; NULL with
                                       KEY_NO_STACK */
    /* The samples that show which of the stack's frames the samples of a busy thread share; none if
     * the key is that of the stack alone. */
    struct key_other others[KEY_OTHERS_MAX];
    size_t other_count;
    /* Of a busy thread whose samples vote for several keys, those with most votes; `level` may be
     * one of them. */
    struct key_near near[KEY_NEAR_MAX];
    size_t near_count;
    /* The owner of the app's Java packages, the first owner_len bytes of the dump's app.id; NULL =
     * app.id names none, or no frame is in a Java package. An exemplar keeps it, because later
     * rules or names may ask for it. */
    const char *owner;
    size_t owner_len;
    /* The dump's stall.loop_at, if the keys depend on it; else NULL. */
    const char *loop_at;
    bool loop_ran;          /* the stack shows a loop that waits, but the thread ran */
    uint64_t samples, hits; /* number of sampled stacks, and of those with this key of level 1 */
    int64_t truth;          /* hits / samples, in permille; -1 without samples */
    enum rule_cause cause;  /* CAUSE_UNKNOWN, never CAUSE_NONE, if no evidence gives a cause */
    unsigned confidence;    /* confidence of the cause, in permille */
    char reason[KEY_REASON_SIZE]; /* reason of the cause, as text; "" = none */
    struct lock_holder holder;
    /* Numbers of the ids that level 1, level 2 and the action have if less is known about the
     * stack; 0 = the id is the same, that key has no frames, or key_options.aliases is false. */
    uint64_t was[KEY_WAYS][KEY_LEVELS + 1];
};

enum key_kind {
    KEY_OF_APP,   /* the framework that the app called, and the innermost frames of the app */
    KEY_OF_FRAMES /* the innermost relevant frames of the stack */
};

struct key_options {
    /* The rules, borrowed for the keyer's life. NULL: the published WeChat rule, by which a key
     * is the innermost two and four frames as they are, of the stack that the device chose,
     * without skipping, folding or normalising. */
    const struct rules *rules;
    /* The number of relevant frames, or of the app's, in each level, ascending, at most
     * KEY_WANTED_MAX; 0 0: two and four. */
    unsigned wanted[KEY_LEVELS];
    /* The kind of the keys, if there are rules. */
    enum key_kind kind;
    bool inlines; /* inlined functions count as frames, if there are rules */
    bool aliases; /* stall_key.was is filled in */
};

/* Makes keys, and caches the facts found about each distinct function, some 1 kB for each. Not
 * thread safe: each thread has its own. */
struct keyer;

/* Makes a keyer, which the caller frees; the options are copied. ST_ERR: out of memory. */
enum st keyer_new(struct keyer **out, const struct key_options *o, struct err *e) BASE_MUST_USE;
/* Frees a keyer, which may be NULL, and all of its frame infos. */
void keyer_free(struct keyer *k);
/* Returns the number of relevant frames, or of the app's, in a key of the level (0: level 1, 1:
 * level 2), which key_options.wanted or the default gave. */
unsigned keyer_wanted(const struct keyer *k, size_t level);
/* Bounds the memory of a keyer: once *k has cached KEYER_FUNCTIONS_MAX functions, or keys, it is
 * replaced by a new one with the same options, and *retired is the old one, which the caller frees
 * once none of its keys is used; otherwise *retired is NULL. ST_ERR: out of memory, and *k is
 * unchanged. */
enum { KEYER_FUNCTIONS_MAX = 1 << 16 };
enum st keyer_renew(struct keyer **k, struct keyer **retired, struct err *e) BASE_MUST_USE;

/* Makes the keys of a dump, and finds its cause, the holder of the lock for which it waits, and the
 * share of the samples that show its key. *out borrows from k and d. A dump without locations is
 * keyed by its own names, and a frame without a name by (image id, offset). ST_ERR: out of memory.
 */
enum st keyer_key(struct keyer *k, const struct dump *d, struct stall_key *out,
                  struct err *e) BASE_MUST_USE;

/* Removes the frames that rules hide from the stacks of d, which must be the dump of the last
 * keyer_key. It is for callers that show stacks; stall_key.stack keeps these frames. ST_ERR: out of
 * memory. */
enum st keyer_hide_frames(struct keyer *k, struct dump *d, struct err *e) BASE_MUST_USE;

/* Appends the text of a key, "image\tfunction\n" for each frame: texts are equal if and only if
 * keys are. */
void key_text(const struct key *key, struct strbuf *out);
/* Appends one frame of a key's text. */
void key_text_add(struct strbuf *out, const char *image, const char *function);
/* Writes the short id of a key's text at a level ('1', '2', or 'a' for the action): the upper 48
 * bits of a SipHash over (the text's SipHash xor the level), so that the ids of equal texts of two
 * levels are equal only by chance. */
void key_id(char level, const char *text, size_t len, char out[KEY_ID_SIZE]);
/* key_number returns the id of a key's text as a number, key_number_of that of a text whose
 * hash_bytes is known; key_number_text writes the digits of such a number. */
uint64_t key_number(char level, const char *text, size_t len);
uint64_t key_number_of(char level, uint64_t text_hash);
void key_number_text(uint64_t number, char out[KEY_ID_SIZE]);

#endif
