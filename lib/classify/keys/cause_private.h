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

/* cause_waits.c. Appends " in FUNCTION" to the reason, the function that represents a stack;
 * nothing if none of its frames has a name. */
void cause_add_in(const struct judge *j, const struct judged_stack *s);
/* Appends "771 worker", or "main", to the reason. */
void cause_add_thread(const struct judge *j, const struct dump_thread *t);
/* Judges a stall by the waits that the dump states: which thread waits for which. ST_NONE: the
 * dump states none. */
enum st judge_waits(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Judges a deadlock: the judged thread waits for a signal, and a thread that runs a closure of the
 * function in which it waits does, as the dump states, wait for the judged thread; that one becomes
 * the guess. ST_NONE: it is no such deadlock. */
enum st judge_mutual_wait(const struct judge *j, struct stall_key *out,
                          struct err *e) BASE_MUST_USE;
/* Judges a deadlock: all threads at work wait for each other, by their frames; if there is only one
 * other, it becomes the guess. ST_NONE: a thread may continue. */
enum st judge_standstill(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Appends the work of other threads in the app's code to the reason. ST_ERR: out of memory. */
enum st cause_add_app_threads(const struct judge *j, struct err *e) BASE_MUST_USE;
/* Appends to the reason of a wait for a database's lock the thread that is guessed to hold it.
 * ST_ERR: out of memory. */
enum st cause_add_database_holder(const struct judge *j, struct err *e) BASE_MUST_USE;

#endif
