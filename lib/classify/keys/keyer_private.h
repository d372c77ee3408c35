/* Declares the interface between the files of the keyer: stack choice, keys, cause. */
#ifndef STALLKIT_CLASSIFY_KEYER_PRIVATE_H
#define STALLKIT_CLASSIFY_KEYER_PRIVATE_H

#include <string.h>

#include "classify/keys/frame_info.h"
#include "classify/keys/key.h"

/* A frame of a stack, or one of the functions inlined there, if the options count these. */
struct judged_frame {
    struct frame_info *info;
    const struct dump_line *line; /* line of the frame; NULL = unknown */
    bool fileless; /* the line, or the name that the device gave, is of no known source file */
};

/* A stack whose frames were looked up in the cache and judged by the rules; without rules it is
 * only looked up. */
struct judged_stack {
    const struct dump_stack *stack;
    size_t first,
        count; /* position and number of the stack's frames in keyer.frames, innermost first */
    /* Frames from this index on belong to the loop, or to the thread's first function, and make up
     * no key if others are relevant; count = there are no such frames. */
    size_t cut;
    /* Frames below this index are not shared by the samples, and are no part of the key. */
    size_t inner;
    /* Position and number of the stack's functions in keyer.outer, outermost first; set only while
     * frames are compared that samples share. */
    size_t outer_first, outer_count;
    /* Index of the innermost frame at k->loop_place, and of the innermost one in its image;
     * SIZE_MAX = none. */
    size_t place, in_place_image;
    bool at_place;          /* the stack waits at the place of a loop that no rule names */
    struct frame_info *top; /* innermost relevant function, or the loop that waits; NULL = none */
    bool idle; /* true: the stack shows only the loop, which waits for work or, by the thread's
                  processor time, was not at work (scan_is_idle) */
    /* Frame that shows the cause; NULL = there is none. */
    const struct frame_info *told;
    /* A loop that runs inside of another one, and waits; NULL = none. */
    const struct frame_info *nested;
    size_t ballot;   /* index of the ballot that the stack votes for; SIZE_MAX = none */
    uint64_t votes;  /* number of the stack's votes */
    uint64_t newest; /* position in time: the larger, the later the stack was seen */
    const struct dump_thread
        *worker; /* the thread of the stack, in a dump about threads that worked; else NULL */
};

/* A candidate for which samples vote: a key of level 1, or, with KEY_OF_FRAMES, the innermost
 * relevant function. */
struct ballot {
    /* epoch: number of the count to which the votes belong; votes of an earlier count are void. */
    uint64_t epoch, votes, newest;
};

/* A function of a stack, of which a run of calls of itself is one, as samples of a recursion are
 * taken at any depth. inner: index in the stack of the run's innermost frame. */
struct outer_function {
    struct frame_info *function;
    size_t inner;
};

/* A ballot of a busy thread's samples: the index of its first sample, and its votes. */
struct near_ballot {
    size_t sample;
    uint64_t votes;
};

struct keyer {
    struct frame_table table;
    struct key_options options;
    /* Infos of the current dump's locations, by location; NULL = not looked up yet. */
    VEC(struct frame_info *) by_location;
    /* The stack whose nameless frames are asked for several times, NULL = there is none, and the
     * infos of its frames, by frame; NULL = not looked up yet. */
    const struct dump_stack *former;
    VEC(struct frame_info *) by_former;
    VEC(struct judged_frame) frames;  /* frames of the current dump's stacks */
    VEC(struct dump_vote) votes;      /* the current dump's votes */
    VEC(struct judged_stack) samples; /* stacks of `votes`, in the same order */
    uint64_t epoch; /* number of the last count of votes, of which a dump may have several; it voids
                       the votes of earlier ones */
    struct map ballot_of; /* candidate, as indexes of canonical infos -> index in ballots */
    VEC(struct ballot) ballots;
    VEC(struct outer_function) outer; /* functions of stacks whose frames are compared */
    VEC(struct near_ballot) near;     /* the ballots of the current dump's samples, if it is busy */
    uint64_t near_votes;              /* sum of their votes */
    /* Share of the stall, in permille, that the main thread was on a processor, or, if
     * about_threads, the thread of the stack that was judged last; perhaps only an upper bound,
     * from the whole process; -1 = unknown. */
    int64_t cpu_permille;
    bool cpu_of_process; /* cpu_permille is the whole process's, not the thread's */
    /* Share of the stall, in permille, for which the main thread was on a processor; the result of
     * judged_own_cpu. -1 = unknown. */
    int64_t ran_permille;
    bool about_threads; /* the dump is about threads that worked, see dump_votes */
    /* The dump is about a loop that did not proceed: its kind is neither cpu nor slow-action. */
    bool watches_main;
    bool nothing_worked; /* the dump is a slow action in which certainly no thread worked */
    const struct frame_info *action; /* name of the current dump's slow action; NULL = none */
    /* Thread that used the processor but has no stack in the dump; NULL = none. */
    const struct frame_info *culprit;
    /* The owner of the app's Java packages, by app.id of the current dump. */
    const char *owner;
    size_t owner_len;
    /* Return address, in the current dump, of the wait of the loop that the recorder believed in,
     * and the index of its image; 0 = unknown. */
    uint64_t loop_place;
    int32_t loop_image;
    bool place_counts; /* s->cut of a stack of the current dump depends on loop_place */
    bool of_others;    /* the stacks that are judged are of other threads than the loop's */
    bool has_packages; /* a frame of the current dump is in a Java package that has an owner */
    bool sampled;      /* the dump has samples of the stall, or about_threads is true */
    /* The dump has no samples and was captured after the stall's end, so that the thread's
     * processor time is no evidence about its stack. */
    bool came_late;
    /* The state of the thread whose stack is judged says that it waited when that stack was taken,
     * or is no word of stall-dump(5) that could say so; false if there is no state, or if it is of
     * another moment than the stack. */
    bool may_stand;
    /* The main thread did not wait in its loop, even if its stack shows that wait, because its
     * processor time or its state in the loop shows that it ran. Never true together with
     * came_late. */
    bool loop_ran;
    struct strbuf text;
};

/* Share of a stall on a processor, in permille: from CPU_COMPUTES on the thread worked, below
 * CPU_WAITS it waited; below CPU_HARDLY, it more probably waited than worked. */
enum { CPU_COMPUTES = 600, CPU_HARDLY = 200, CPU_WAITS = 100 };

/* From this number of samples on, the share of those in which the thread ran is that of the time.
 */
enum { SAMPLES_TELL = 5 };

static inline bool judged_is(const char *s, const char *what) {
    return s && strcmp(s, what) == 0;
}
/* Returns the share of the stall, in permille, for which the main thread was on a processor. If the
 * share of the whole process is smaller, or the only known one, it is returned instead. -1 =
 * unknown, or only the share of the process is known and is above one processor. The thread's time
 * counts from the stall's start. */
int64_t judged_cpu(const struct dump *d, const struct dump_thread *main);
/* Is the share of the stall for which the main thread was on a processor unknown? */
bool judged_knows_no_thread(const struct dump *d, const struct dump_thread *main);
/* Returns the share of the stall, in permille, for which the main thread alone was on a processor.
 * If the share of the whole process is smaller, it is returned instead. If only the share of the
 * process is known, it is returned if it is below CPU_WAITS, so that the thread must have waited;
 * else the result is -1. -1 = unknown. */
int64_t judged_own_cpu(const struct dump *d, const struct dump_thread *main);

/* By its state, did the thread wait when it was captured? False also if the state is not known, or
 * is no word of stall-dump(5), such as a virtual machine's `Native`. */
static inline bool judged_stands(const struct dump_thread *t) {
    return judged_is(t->state, "waiting") || judged_is(t->state, "blocked") ||
           judged_is(t->state, "stopped");
}

/* May the thread have waited when it was captured, by its state? Of a word that is not one of
 * stall-dump(5) nobody knows what it says. False also if there is no state. */
static inline bool judged_may_stand(const struct dump_thread *t) {
    return t->state && t->state[0] && !judged_is(t->state, "running");
}

/* loop_place.c. Finds the current dump's place of the loop. */
void place_begin(struct keyer *k, const struct dump *d);
/* Notes that frame i of s->stack, whose functions begin at index `at` of the judged frames, is at
 * the loop's place or in its image. */
void place_note(const struct keyer *k, const struct dump *d, struct judged_stack *s, size_t i,
                size_t at);

/* stack_scan.c. Sets s->cut to the index where the loop begins, or, if no loop is known, the
 * thread's first function; s->count = neither is known. */
void scan_cut(const struct keyer *k, struct judged_stack *s);
/* Sets s->at_place: the stack waits at the place of the believed loop, and no rule names a loop. If
 * a rule names one, and the image of the believed loop is only further out, the loop is a nested
 * one, and does not decide s->cut; k->place_counts is set then. */
void scan_place(struct keyer *k, struct judged_stack *s);
/* Does the stack show only the loop, which waits for work or, by the thread's processor time, was
 * not at work? s->cut must be set. */
bool scan_is_idle(const struct keyer *k, const struct judged_stack *s);
/* Returns the frame that shows why the thread does not continue; NULL = none. *nested is set to a
 * loop that runs inside of another one and in which the thread waits; NULL = none. s->cut must be
 * set. */
const struct frame_info *scan_cause(const struct keyer *k, const struct judged_stack *s,
                                    const struct frame_info **nested);
/* By the frame's cause, does the thread wait in it for another thread, process or device, or for a
 * time? */
bool scan_claims_wait(const struct frame_info *info);
/* Is the stack's innermost frame a function that touches memory and makes no system call? */
bool scan_touches_memory(const struct keyer *k, const struct judged_stack *s);
/* Is the stack's innermost frame code that runs in user space: neither a system call, nor runtime
 * code that could wait? */
bool scan_is_in_own_code(const struct keyer *k, const struct judged_stack *s);
/* Does the stack's innermost frame show that the thread ran, or was ready to, when the stack was
 * taken: is it code that makes no system call, in which alone a thread can wait? False if the
 * thread's state or processor time shows that it waited, and for code that lies in no image: what
 * an interpreter or a native method waits for has no frame there. */
bool scan_runs(const struct keyer *k, const struct judged_stack *s);
/* Returns the share of the current dump's samples, in permille, whose innermost frame shows that
 * the thread ran, by scan_runs; 0 without samples. *total: their number. */
unsigned samples_that_run(const struct keyer *k, uint64_t *total);
/* Is the frame a function of the app itself, rather than of a library that was linked into the
 * app? */
static inline bool frame_is_app(const struct frame_info *info) {
    return info->in_app && !info->linked;
}

/* app_key.c. Makes both levels (the framework that the app called, and the app's innermost frames)
 * and the action of a stack. If the stack has no frame of the app that counts, frames of a vendor,
 * of linked libraries or, at last, of the system take its place. False: out of memory. */
bool app_keys(struct keyer *k, const struct judged_stack *s, struct key levels[KEY_LEVELS],
              struct key *action) BASE_MUST_USE;
/* Adds the innermost frame's image to the keys of a stack that has only callouts. app_keys makes no
 * key for it, so that such a stack, if it is a sample, does not vote. A stack without frames gets
 * no key. False: out of memory. */
bool callout_keys(struct keyer *k, const struct judged_stack *s,
                  struct key levels[KEY_LEVELS]) BASE_MUST_USE;

/* frames_key.c. Makes both levels and the action of a stack: with rules, from the innermost
 * relevant frames; without rules, from the innermost frames. False: out of memory. */
bool frames_keys(struct keyer *k, const struct judged_stack *s, struct key levels[KEY_LEVELS],
                 struct key *action) BASE_MUST_USE;

/* key_kinds.c. Makes the keys of a stack, of the kind that the options ask for, from its frames
 * alone. False: out of memory. */
bool stack_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
                struct key *action) BASE_MUST_USE;
/* Makes the keys of the dump's stack, of the kind that the options ask for, with the names of a
 * slow action or of a thread without a stack. False: out of memory. */
bool make_keys(struct keyer *k, const struct judged_stack *s, struct key keys[KEY_LEVELS],
               struct key *action) BASE_MUST_USE;

/* key_parts.c. Does the key have a frame with this function? */
bool key_has(const struct key *key, const struct frame_info *info);
/* Appends a frame to the key if there is room for it. */
void key_add(struct key *key, const struct key_frame *f);
struct key_frame key_frame_of(const struct judged_frame *from);
/* Returns the number of a key's id; 0: it has no frames. Out of memory sticks to k->text. */
uint64_t keyer_number(struct keyer *k, char level, const struct key *key);

/* linked_owner.c. Makes functions of Java packages of other owners than the app's those of linked
 * libraries, if the stack has a function of the app's owner. Sets k->has_packages if the app has an
 * owner and a frame is in the package of any. s->cut must be set. False: out of memory. */
bool link_other_owners(struct keyer *k, const struct judged_stack *s) BASE_MUST_USE;

/* linked_program.c. Makes functions of the library from which the program was built those of the
 * app: of the library in whose folder the source of the program's first function lies, if the stack
 * has no other function of the app. False: out of memory. */
bool own_program(struct keyer *k, const struct judged_stack *s) BASE_MUST_USE;

/* stack_choice.c. Looks up the frames of a stack and, with rules, finds where its loop begins,
 * whether it is idle, and which frames show the cause. ST_ERR: out of memory. */
enum st judge_stack(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                    struct judged_stack *out, struct err *e) BASE_MUST_USE;
/* judge_stack for the stack of another thread than the loop's. */
enum st judge_other_stack(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                          struct judged_stack *out, struct err *e) BASE_MUST_USE;
/* Fills k->samples with the dump's samples, or, if the dump is about threads that worked, with the
 * stacks of those threads; judges each that has a weight, and sets whether and how it votes, and
 * how new it is. ST_ERR: out of memory. */
enum st judge_samples(struct keyer *k, const struct dump *d, struct err *e) BASE_MUST_USE;
/* Chooses the stack that the dump is about: the one that the samples elect, else that of a thread
 * that worked, else the one that the device chose. ST_NONE: the dump has none. ST_ERR: out of
 * memory. */
enum st choose_stack(struct keyer *k, const struct dump *d, struct judged_stack *out,
                     struct err *e) BASE_MUST_USE;
/* Returns frame i of a stack. */
static inline const struct judged_frame *judged_at(const struct keyer *k,
                                                   const struct judged_stack *s, size_t i) {
    return &k->frames.data[s->first + i];
}

/* Chooses the stack anew among the samples, after some lost their ballot; *chosen stays if none has
 * one. */
void choose_again(struct keyer *k, struct judged_stack *chosen);
/* Returns the info of frame i of a stack without locations, which is looked up once if the stack is
 * k->former. NULL: out of memory. */
struct frame_info *former_address(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                                  size_t i);
/* Sets *whole to the number of the stack's outermost frames that, with the functions inlined there,
 * are in its outermost `functions` judged frames. False: out of memory. */
bool whole_frames(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                  size_t functions, size_t *whole) BASE_MUST_USE;

/* shared_frames.c. Does nothing unless the keys are KEY_OF_APP, the dump is no slow action and not
 * about threads that worked, the thread ran in the stall, or was ready to, and at least half of the
 * samples have the same outermost function of the app. Then samples with another outermost function
 * of the app lose their vote, and so do those, with up to 15 % of the votes left, that lie outside
 * of the function in which the others are; *chosen is chosen anew among the others. If these have
 * several keys, only the frames that they share with the chosen stack can make up the key; they
 * then vote for it, and out->others is set. ST_ERR: out of memory. */
enum st share_frames(struct keyer *k, const struct dump *d, struct judged_stack *chosen,
                     struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Restricts a stack's key, which is made as if less was known about its frames, to the frames that
 * the stack shares with the samples of now->others; named: the locations of these samples count.
 * ST_ERR: out of memory. */
enum st share_former(struct keyer *k, const struct dump *d, const struct stall_key *now, bool named,
                     struct judged_stack *s, struct err *e) BASE_MUST_USE;

/* loop_helpers.c. Is frame i, which no rule names as a loop's, a function of the system that
 * overrides the loop's function at i - 1, which it calls and whose name it has, or one without a
 * name between two functions of loops? */
bool helper_is_override(const struct keyer *k, const struct judged_stack *s, size_t i);
/* Returns what the function's name says, if the function may be a wrapper of the system call in
 * which a loop waits; else WAIT_NAME_NONE. */
enum wait_name helper_wait_name(const struct frame_info *info);
/* Is frame i a function of the loop's own library that belongs to the loop further out by its name,
 * as a method of the same class does, and that claims nothing? s->cut must be set. */
bool helper_is_of_loop(const struct keyer *k, const struct judged_stack *s, size_t i);

/* near_keys.c. Notes the keys for which the samples that still have a ballot vote. False: out of
 * memory. */
bool near_collect(struct keyer *k) BASE_MUST_USE;
/* Sets out->near to those of them with most votes, if there are several. ST_ERR: out of memory. */
enum st near_keys(struct keyer *k, struct stall_key *out, struct err *e) BASE_MUST_USE;

/* former_key.c. Sets the ids that the dump had without symbol files, without inlined functions, and
 * without the starts of nameless functions. An id counts only if its key has a frame that tells
 * which code it is, by its name or by its place in an image, and that is in the present key or
 * further inside; else it stays 0. ST_ERR: out of memory. */
enum st find_former_keys(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                         struct stall_key *out, struct err *e) BASE_MUST_USE;

/* cause.c. Sets cause, confidence and reason of a dump whose stack is chosen. ST_ERR: out of
 * memory. */
enum st judge_cause(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                    struct stall_key *out, struct err *e) BASE_MUST_USE;

#endif
