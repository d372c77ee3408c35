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

#endif
