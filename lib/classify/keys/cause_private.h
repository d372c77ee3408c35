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

/* cause_waits.c. Appends " in FUNCTION" to the reason. FUNCTION is the one that represents the
 * stack; if none of its frames has a name, nothing is appended. */
void cause_add_in(const struct judge *j, const struct judged_stack *s);
/* Appends "771 worker", or "main", to the reason. */
void cause_add_thread(const struct judge *j, const struct dump_thread *t);
/* Judges a stall by the waits that the dump gives: which thread waits for which. ST_NONE: the dump
 * gives none. */
enum st judge_waits(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Judges a deadlock: the judged thread waits for a signal; another thread runs a closure of the
 * function in which the judged thread waits, and waits, as the dump says, for the judged thread.
 * That other thread becomes the guess. ST_NONE: there is no such deadlock. */
enum st judge_mutual_wait(const struct judge *j, struct stall_key *out,
                          struct err *e) BASE_MUST_USE;
/* Judges a deadlock: by their frames, all threads at work wait for each other. If there is only one
 * other thread, it becomes the guess. ST_NONE: a thread may continue. */
enum st judge_standstill(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Appends the work of other threads in the app's code to the reason. ST_ERR: out of memory. */
enum st cause_add_app_threads(const struct judge *j, struct err *e) BASE_MUST_USE;
/* For a wait for a database's lock: appends the thread that is guessed to hold the lock to the
 * reason. ST_ERR: out of memory. */
enum st cause_add_database_holder(const struct judge *j, struct err *e) BASE_MUST_USE;

#endif
