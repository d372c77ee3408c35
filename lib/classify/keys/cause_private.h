/* Between the parts that find out why a thread did not get on. */
#ifndef STALLKIT_CLASSIFY_CAUSE_PRIVATE_H
#define STALLKIT_CLASSIFY_CAUSE_PRIVATE_H

#include "classify/keys/keyer_private.h"

struct judge {
    struct keyer *k;
    const struct dump *d;
    const struct judged_stack *chosen;
    /* The main thread, or the one that worked, where the dump is about those; NULL = none. */
    const struct dump_thread *thread;
    bool current;       /* the chosen stack is what it showed when it was captured */
    struct strbuf *why; /* the reason; empty when a judgement begins */
    struct holder_guess *guess;
};

/* cause_waits.c. Adds " in FUNCTION", the function that represents a stack; nothing if none of its
 * frames has a name. */
void cause_add_in(const struct judge *j, const struct judged_stack *s);
/* Adds "771 worker", or "main". */
void cause_add_thread(const struct judge *j, const struct dump_thread *t);
/* Judges a stall by the waits that the dump states: which thread waits for which. ST_NONE: it
 * states none. */
enum st judge_waits(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* All that work wait for each other, as their frames say; if only one other does, it is the guess.
 * ST_NONE: somebody may go on. */
enum st judge_standstill(const struct judge *j, struct stall_key *out, struct err *e) BASE_MUST_USE;
/* Adds what other threads are at in the app's code. ST_ERR: out of memory. */
enum st cause_add_app_threads(const struct judge *j, struct err *e) BASE_MUST_USE;
/* Appends to the reason of a wait for a database's lock which thread is guessed to hold it.
 * ST_ERR: out of memory. */
enum st cause_add_database_holder(const struct judge *j, struct err *e) BASE_MUST_USE;

#endif
