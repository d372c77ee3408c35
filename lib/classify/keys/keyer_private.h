/* The interface between the parts of the keyer: stack choice, frames, cause. */
#ifndef STALLKIT_CLASSIFY_KEYER_PRIVATE_H
#define STALLKIT_CLASSIFY_KEYER_PRIVATE_H

#include <string.h>

#include "classify/keys/frame_info.h"
#include "classify/keys/key.h"

/* A frame; with inlined functions asked for, one for each of them. */
struct judged_frame {
    struct frame_info *info;
    const struct dump_line *line; /* NULL = unknown */
};

/* A stack, looked at frame by frame. */
struct judged_stack {
    const struct dump_stack *stack;
    size_t first, count; /* its frames in keyer.frames, innermost first */
    size_t cut;          /* those before it are inside the loop, or the thread's first function */
    struct frame_info
        *top;  /* its innermost relevant function, or the loop that waits; NULL = none */
    bool idle; /* the latter */
    const struct frame_info *told;   /* the frame that tells the cause; NULL = none does */
    const struct frame_info *nested; /* the loop inside of another that waits; NULL = none */
    size_t ballot;                   /* what it votes for, SIZE_MAX = nothing */
    uint64_t votes;                  /* how many votes it has */
    uint64_t newest;                 /* higher = seen later */
    const struct dump_thread
        *worker; /* of a thread that worked, where the dump is about those; else NULL */
};

/* What samples can vote for: a key of level 1. */
struct ballot {
    uint64_t epoch, votes, newest; /* votes of an earlier epoch are void */
};

struct keyer {
    struct frame_table table;
    struct key_options options;
    VEC(struct frame_info *) by_location; /* of the current dump; NULL = not computed yet */
    VEC(struct judged_frame) frames;      /* of its stacks */
    VEC(struct dump_vote) votes;          /* … */
    VEC(struct judged_stack) samples;     /* … and those of them that vote, in the same order */
    uint64_t epoch;                       /* one per dump; it invalidates votes of earlier dumps */
    struct map ballot_of; /* a key of level 1, as indexes of frame infos -> index of its ballot */
    VEC(struct ballot) ballots;
    int64_t
        cpu_permille; /* of the dump at hand: how much of the stall its thread ran, -1 = unknown */
    int64_t ran_permille; /* how much of it the main thread itself surely ran, -1 = unknown */
    bool about_threads;   /* the dump at hand is about threads that worked: see dump_votes */
    bool watches_main; /* it is about a loop that did not get on: not of kind cpu or slow-action */
    bool nothing_worked;              /* it is a slow action in which nobody did, as is known */
    const struct frame_info *action;  /* of the dump at hand: the name of a slow action; … */
    const struct frame_info *culprit; /* … the thread that burned the processor, if its stack is
                                         not in the dump; NULL = none */
    bool sampled;                     /* it has samples of the stall */
    bool came_late; /* it has none, and was captured after the stall's end: what the thread did
                       before is no evidence of what it does there */
    bool loop_ran;  /* by its processor time, or its state in the loop, the main thread did not wait
                       there, even if its stack shows a wait; never if came_late */
    struct strbuf text;
};

/* Permille of a stall on a processor: from this on its thread worked, below the other it waited. */
enum { CPU_COMPUTES = 600, CPU_WAITS = 100 };

static inline bool judged_is(const char *s, const char *what) {
    return s && strcmp(s, what) == 0;
}
/* How much of the stall the main thread, or else the process, was on a processor, in permille; -1 =
 * unknown. The thread's time is since the stall's start. */
int64_t judged_cpu(const struct dump *d, const struct dump_thread *main);
/* The same of the main thread alone: unknown where only the process's is, unless that is so little
 * that the thread's is, too. */
int64_t judged_own_cpu(const struct dump *d, const struct dump_thread *main);

/* stack_scan.c. Where the loop, or the thread's first function, begins; fills in s->cut. */
void scan_cut(const struct keyer *k, struct judged_stack *s);
/* Is this a stack of the loop that waits for work, and of nothing else? s->cut is known. */
bool scan_is_idle(const struct keyer *k, const struct judged_stack *s);
/* The frame that tells why the thread does not get on; NULL = none. *nested = a loop inside of
 * another, in which it waits; NULL = none. s->cut is known. */
const struct frame_info *scan_cause(const struct keyer *k, const struct judged_stack *s,
                                    const struct frame_info **nested);
/* Is its innermost frame a function that touches memory and makes no system call? */
bool scan_touches_memory(const struct keyer *k, const struct judged_stack *s);
/* Is its innermost frame code that runs in user space, and no system call or runtime code that
 * could wait? */
bool scan_is_in_own_code(const struct keyer *k, const struct judged_stack *s);
/* Is it a function of the app's own, and no library's that was linked into it? */
static inline bool frame_is_app(const struct frame_info *info) {
    return info->in_app && !info->by[RULE_FRAMEWORK];
}

/* app_key.c. Level 1 and 2 (the framework that the app called, and the innermost frames of the app)
 * and the action of a stack. False: out of memory. */
bool app_keys(struct keyer *k, const struct judged_stack *s, struct key levels[KEY_LEVELS],
              struct key *action) BASE_MUST_USE;
/* Adds the innermost frame's image: the key of a stack of nothing but callouts, for which app_keys
 * finds none, so that as a sample it does not vote. A stack without frames gets no key. False: out
 * of memory. */
bool callout_keys(struct keyer *k, const struct judged_stack *s,
                  struct key levels[KEY_LEVELS]) BASE_MUST_USE;

/* frames_key.c. The same of the innermost frames that matter; without rules of the innermost ones.
 */
bool frames_keys(struct keyer *k, const struct judged_stack *s, struct key levels[KEY_LEVELS],
                 struct key *action) BASE_MUST_USE;

/* key_kinds.c. The keys of a stack, of the kind that the options ask for, whatever the dump is
 * about. False: out of memory. */
bool stack_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
                struct key *action) BASE_MUST_USE;
/* The keys of the dump's stack, of the kind that the options ask for. False: out of memory. */
bool make_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
               struct key *action) BASE_MUST_USE;

/* key_parts.c. Does the key have this function? */
bool key_has(const struct key *key, const struct frame_info *info);
/* Adds a frame if there is room for one more. */
void key_add(struct key *key, const struct key_frame *f);
struct key_frame key_frame_of(const struct judged_frame *from);

/* stack_choice.c. Looks at a stack's frames. ST_ERR: out of memory. */
enum st judge_stack(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                    struct judged_stack *out, struct err *e) BASE_MUST_USE;
/* Looks at all stacks that vote. */
enum st judge_samples(struct keyer *k, const struct dump *d, struct err *e) BASE_MUST_USE;
/* The stack that the dump is about. ST_NONE: it has none. */
enum st choose_stack(struct keyer *k, const struct dump *d, struct judged_stack *out,
                     struct err *e) BASE_MUST_USE;
/* Frame i of a stack. */
static inline const struct judged_frame *judged_at(const struct keyer *k,
                                                   const struct judged_stack *s, size_t i) {
    return &k->frames.data[s->first + i];
}

/* cause.c. Fills in cause, confidence and reason of a dump whose stack is known. */
enum st judge_cause(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                    struct stall_key *out, struct err *e) BASE_MUST_USE;

#endif
