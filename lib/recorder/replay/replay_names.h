/* Names of a trace and their numbers, in the order in which they came: found by hash, since a
 * recorded trace may have a great many. */
#ifndef STALLREC_REPLAY_NAMES_H
#define STALLREC_REPLAY_NAMES_H

#include <stdbool.h>
#include <stdint.h>

enum { REPLAY_NAME = 48 };

/* Zero-initialised = none. */
struct replay_names {
    char (*names)[REPLAY_NAME];
    uint32_t count, cap;
    uint32_t *slots; /* [2 * cap] number + 1; 0 = free */
};

/* False: no such name. */
bool replay_names_find(const struct replay_names *names, const char *name, uint32_t *number);
/* Adds a name of less than REPLAY_NAME bytes; one that is there already gets the new number. False:
 * out of memory, or more than max. */
bool replay_names_add(struct replay_names *names, const char *name, uint32_t max);
void replay_names_release(struct replay_names *names);

#endif
