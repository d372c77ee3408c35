/* Stores the names of a trace, numbered in the order in which they were added. They are found by
 * hash, since a recorded trace may have very many. */
#ifndef STALLREC_REPLAY_NAMES_H
#define STALLREC_REPLAY_NAMES_H

#include <stdbool.h>
#include <stdint.h>

enum { REPLAY_NAME = 48 };

/* A set of names; zero-initialised = empty. */
struct replay_names {
    char (*names)[REPLAY_NAME];
    uint32_t count, cap;
    uint32_t *slots; /* [2 * cap] number of a name + 1; 0 = free */
};

/* Finds a name's number. False: there is no such name. */
bool replay_names_find(const struct replay_names *names, const char *name, uint32_t *number);
/* Adds a name of less than REPLAY_NAME bytes; a name that exists already gets the new number.
 * False: out of memory, or there are max names already. */
bool replay_names_add(struct replay_names *names, const char *name, uint32_t max);
/* Frees the names; the set is then empty. */
void replay_names_release(struct replay_names *names);

#endif
