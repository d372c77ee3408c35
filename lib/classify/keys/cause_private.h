/* Declares the interface between the files that find the cause of a stall. */
#ifndef STALLKIT_CLASSIFY_CAUSE_PRIVATE_H
#define STALLKIT_CLASSIFY_CAUSE_PRIVATE_H

#include "classify/keys/keyer_private.h"

struct judge {
    struct keyer *k;
    const struct dump *d;
    const struct judged_stack *chosen;
    /* The main thread, or the thread that worked in a dump about such threads
     * (dump_is_about_threads); NULL = none. */
    const struct dump_thread *thread;
    bool current;       /* the chosen stack is the thread's stack at its capture */
    struct strbuf *why; /* text of the reason, to which each function appends; empty at the start of
                           judge_cause */
    struct holder_guess *guess;
};

/* cause_waits.c. Appends " in FUNCTION" to the reason. FUNCTION is the stack's innermost named
 * function of the app that has PLACE_KEEP; if there is none, s->top. Nothing is appended if there
 * is no such function of the app, and s->top is NULL or has no name. */
void cause_add_in(const struct judge *j, const struct judged_stack *s);
/* Appends a thread to the reason: "main", its number and name ("771 worker"), or its number if it
 * has no name. */
void cause_add_thread(const struct judge *j, const struct dump_thread *t);
/* Judges a stall by the waits that the dump gives: which thread waits for which. ST_NONE: the dump
 * states no wait of the judged thread, or j->current is false. ST_ERR: out of memory. */
enum st judge_waits(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Judges a deadlock: the judged thread waits for a signal; another thread runs a closure of the
 * function in which the judged thread waits, and waits, as the dump says, for the judged thread.
 * That other thread becomes the guess. ST_NONE: there is no such deadlock. ST_ERR: out of
 * memory. */
enum st judge_mutual_wait(const struct judge *j, struct stall_key *out,
                          struct err *e) BASE_MUST_USE;
/* Judges a deadlock in a stall in which the process died: by the frames of all threads, no thread
 * is at work that could end the judged thread's wait. If the judged thread waits for a lock, and
 * exactly one other thread does, that one becomes the guess. ST_NONE: the wait may end, the process
 * did not die, the judged thread was running, j->current is false, the dump has fewer than two
 * threads, or it lacks some. ST_ERR: out of memory. */
enum st judge_standstill(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Appends the activities of up to three threads that have the app on their stacks and are not idle
 * to the reason; the main thread is left out. ST_ERR: out of memory. */
enum st cause_add_app_threads(const struct judge *j, struct err *e) BASE_MUST_USE;
/* For a wait for a database's lock: appends to the reason the first other thread whose frames show
 * that it holds the lock, and do not show that it waits for one. This thread becomes the guess,
 * unless there is a second such thread. ST_ERR: out of memory. */
enum st cause_add_database_holder(const struct judge *j, struct err *e) BASE_MUST_USE;

/* Judges another thread's stack. Its processor time is not known, and not used. */
enum st cause_judge_other(const struct judge *j, const struct dump_thread *t,
                          struct judged_stack *s, struct err *e) BASE_MUST_USE;
/* Does the stack wait for something that another thread holds, that is, a mutex or a serial queue?
 * A frame that waits for one does not count if it lies outside of a callout or of the app's
 * code; a language's runtime that is linked into the app is not the app's code. */
bool cause_waits_for_holder(const struct keyer *k, const struct judged_stack *s);
/* Did the app's own code ask for the lock that the stack waits for? Then only a thread that has the
 * app on its stack can hold it. */
bool cause_lock_is_the_apps(const struct keyer *k, const struct judged_stack *s);
/* Has the stack a function of the app? */
bool cause_has_app(const struct keyer *k, const struct judged_stack *s);
/* Returns the frame that caused the wait of a stack: the app's innermost frame with PLACE_KEEP,
 * else s->top, which may be NULL. */
const struct frame_info *cause_asking_frame(const struct keyer *k, const struct judged_stack *s);
/* Does stack a wait in a method of a type, and stack b in a method of the same type? Functions up
 * to the innermost relevant frame of the app are compared. */
bool cause_waits_in_same_type(const struct keyer *k, const struct judged_stack *a,
                              const struct judged_stack *b);
/* Is the stack in a closure that was written in this function, or, if this function is a closure,
 * in the function in which it was written? A frame of the function itself does not count. */
bool cause_is_in_closure_of(const struct keyer *k, const struct judged_stack *s,
                            const struct frame_info *function);

/* cause_runs.c. How surely did the thread run, in permille, as its state and the innermost frames
 * of its stacks show? Not asked if its processor time is known. 0 = that does not show. */
unsigned cause_ran(const struct judge *j);
/* Appends to the reason what shows that the thread ran; cause_ran must not be 0. */
void cause_add_ran(const struct judge *j);

/* cause_worker.c. For a wait for a signal, as for a semaphore or a future, that the app's own code
 * asked for: sets the cause to what the thread is at that works for it, and appends that thread to
 * the reason. It is the thread in a closure of the function that waits, or in a method of the same
 * type, if all such threads are at the same; else the only thread of the app that is at work, if
 * its frames tell at what: that a thread runs does not show that it runs for the judged one.
 * ST_NONE: there is no such thread, or the judged one waits for what a thread holds, or does not
 * wait. ST_ERR: out of memory. */
enum st cause_follow_wait(const struct judge *j, struct stall_key *out,
                          struct err *e) BASE_MUST_USE;

#endif
