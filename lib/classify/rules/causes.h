/* Lists the causes of a stall, one row each. A new cause needs a row, and code in cause.c or a rule
 * that finds it. */
#ifndef STALLKIT_CLASSIFY_CAUSES_H
#define STALLKIT_CLASSIFY_CAUSES_H

#include <stdbool.h>
#include <stddef.h>

/* The columns: the name; the word in rules and in every output; the default reason;
 * the colour in a picture, a class of flame_colours.css; the place in its legend, 0 = none. Rules
 * can set the causes up to IDLE; the others are concluded from more than frames. The order of the
 * rows is part of rules_hash and breaks ties between causes. */
#define RULE_CAUSES(X)                                                                             \
    X(NONE, "", "", "", 0)                                                                         \
    X(LOCK, "lock", "waits for a lock", "a1", 1)                                                   \
    X(DISK, "disk", "waits for files", "c2", 3)                                                    \
    X(NETWORK, "network", "waits for the network", "j2", 4)                                        \
    X(IO, "io", "reads or writes", "d1", 5) /* the frame tells no device */                        \
    X(IPC, "ipc", "waits for another process", "k2", 6)                                            \
    X(RENDER, "render", "lays out or draws", "g2", 7)                                              \
    X(COMPUTE, "compute", "computes", "e3", 8)                                                     \
    X(SLEEP, "sleep", "sleeps", "i1", 9)                                                           \
    X(LAUNCH, "launch", "starts the program", "l1", 10)                                            \
    X(IDLE, "idle", "waits for work", "x0", 12) /* only the loop is on the stack: no stall */      \
    X(DEADLOCK, "deadlock", "threads wait for each other", "a3", 2)                                \
    X(STARVED, "starved", "gets no processor", "b2", 11) /* ready to run, but not running */       \
    X(INPUT, "input", "waits for input", "k2", 0)        /* from a terminal or standard input */   \
    X(UNKNOWN, "unknown", "no frame tells", "", 0)

/* The cause of a stall: why a thread does not proceed. */
enum rule_cause {
#define CAUSE_NAME(name, word, reason, colour, legend) CAUSE_##name,
    RULE_CAUSES(CAUSE_NAME)
#undef CAUSE_NAME
        CAUSE_COUNT,
    CAUSE_OF_RULES_END = CAUSE_IDLE + 1
};

/* Returns the word for a cause, "lock", "disk" …; "" for CAUSE_NONE. */
const char *rule_cause_text(enum rule_cause c);
/* Returns the reason for a frame of this cause whose rule gives none: "waits for a lock". */
const char *rule_cause_reason(enum rule_cause c);
/* Sets *out to the cause of a word; "" is CAUSE_NONE. False: no cause has this word, or word is
 * NULL. */
bool rule_cause_parse(const char *word, size_t len, enum rule_cause *out);
/* Returns the colour of a cause in pictures, two characters; "" = the cause has none. */
const char *rule_cause_colour(enum rule_cause c);
/* Returns the i-th cause of a picture's legend; CAUSE_NONE after the last. */
enum rule_cause rule_cause_of_legend(size_t i);

#endif
