/* The state that the recorder keeps from one start to the next: the day, its number of dumps, and
 * an identity for an app that names no user. POSIX only. */
#ifndef STALLREC_STATE_H
#define STALLREC_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum { REC_INSTALL_SIZE = 16, REC_STATE_TEXT = 160 };

struct rec_state {
    uint8_t
        install[REC_INSTALL_SIZE]; /* random, made at the first start; never leaves the device */
    int64_t day;                   /* the latest day that was seen: days since 1970-01-01, UTC */
    uint32_t dumps;                /* of that day */
};

/* Reads the state of the folder `dir` (a descriptor). False: there is none, or it is damaged. */
bool rec_state_load(int dir, struct rec_state *out);

/* Reads it, or makes one of this installation; of several processes that start at once, one does.
 * On the app's thread, so it waits for no disk, and for a lock 500 ms at most: after a power loss
 * there may be none again. False: it could not be stored; *state is good for this start alone. */
bool rec_state_open(int dir, struct rec_state *state, const uint8_t install[REC_INSTALL_SIZE]);

/* Replaces it: a reader, or a start after a crash or power loss, sees the old one or the new one.
 * False: see errno; the old one stays. */
bool rec_state_store(int dir, const struct rec_state *state);

/* Counts one more dump at the wall time, across all processes that use the folder: reads, adds and
 * replaces under a lock. A day before the one that was seen is taken for that one, so that a clock
 * set back refills nothing. False: it could not be remembered; *state is counted on alone. */
bool rec_state_count(int dir, struct rec_state *state, int64_t wall_ms);

/* The text of a state and a NUL; returns its length. Reads exactly what that writes. */
uint32_t rec_state_format(const struct rec_state *state, char text[REC_STATE_TEXT]);
bool rec_state_parse(const char *text, uint32_t len, struct rec_state *out);

#endif
