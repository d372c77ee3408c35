/* The causes of a stall, one row each: adding one is adding a row, and saying in cause.c or in a
 * rule what tells it. */
#ifndef STALLKIT_CLASSIFY_CAUSES_H
#define STALLKIT_CLASSIFY_CAUSES_H

#include <stdbool.h>
#include <stddef.h>

/* The name; the word in rules and in every output; what a thread does, where a rule gives no reason
 * of its own; the colour in a picture, a class of flame.css; the place in the picture's legend, 0 =
 * not there. Rules tell those down to IDLE; the others are concluded from more than frames. The
 * order of the rows is part of rules_hash and breaks ties between causes. */
#define RULE_CAUSES(X)                                                                             \
    X(NONE, "", "", "", 0)                                                                         \
    X(LOCK, "lock", "waits for a lock", "a1", 1)                                                   \
    X(DISK, "disk", "waits for files", "c2", 3)                                                    \
    X(NETWORK, "network", "waits for the network", "j2", 4)                                        \
    X(IO, "io", "reads or writes", "d1", 5) /* the frame does not tell what */                     \
    X(IPC, "ipc", "waits for another process", "k2", 6)                                            \
    X(RENDER, "render", "lays out or draws", "g2", 7)                                              \
    X(COMPUTE, "compute", "computes", "e3", 8)                                                     \
    X(SLEEP, "sleep", "sleeps", "i1", 9)                                                           \
    X(LAUNCH, "launch", "starts the program", "l1", 10)                                            \
    X(IDLE, "idle", "waits for work", "x0", 12) /* the loop, and nothing inside it: no stall */    \
    X(DEADLOCK, "deadlock", "threads wait for each other", "a3", 2)                                \
    X(STARVED, "starved", "gets no processor", "b2", 11) /* ready to run, and not running */       \
    X(UNKNOWN, "unknown", "no frame tells", "", 0)

/* Why a thread does not get on. */
enum rule_cause {
#define CAUSE_NAME(name, word, reason, colour, legend) CAUSE_##name,
    RULE_CAUSES(CAUSE_NAME)
#undef CAUSE_NAME
        CAUSE_COUNT,
    CAUSE_OF_RULES_END = CAUSE_IDLE + 1
};

/* "lock", "disk" …; "" for none. */
const char *rule_cause_text(enum rule_cause c);
/* What a frame of this cause is at, where its rule gives no reason: "waits for a lock". */
const char *rule_cause_reason(enum rule_cause c);
/* The cause of a word; "" is CAUSE_NONE. False: there is no such cause, or word is NULL. */
bool rule_cause_parse(const char *word, size_t len, enum rule_cause *out);
/* The colour of a cause in pictures, two characters; "" = none of its own. */
const char *rule_cause_colour(enum rule_cause c);
/* The causes that have colours, in the order of a picture's legend: the i-th; CAUSE_NONE behind the
 * last. */
enum rule_cause rule_cause_of_legend(size_t i);

#endif
