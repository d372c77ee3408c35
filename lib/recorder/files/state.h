/* The state that the recorder keeps from one start to the next: the day, its number of dumps, and
 * an identity for an app that names no user. POSIX only. */
#ifndef STALLREC_STATE_H
#define STALLREC_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum { REC_INSTALL_SIZE = 16, REC_STATE_TEXT = 160 };

struct rec_state {
    uint8_t
        install[REC_INSTALL_SIZE]; /* random, made at the first start; it never leaves the device */
    int64_t day;                   /* the latest day that was seen, in days since 1970-01-01, UTC */
    uint32_t dumps;                /* number of dumps on that day */
};

/* Reads the state of the folder `dir` (a descriptor). False: there is no state, or it
 * cannot be read or is damaged. */
bool rec_state_load(int dir, struct rec_state *out);

/* Reads the state, or makes the state of this installation with the identity `install`; if several
 * processes start at once, one of them makes it. It runs on the app's thread, so it does not flush
 * to the disk, and a new state may be gone after a power loss; it waits at most 500 ms for a lock.
 * False: the state could not be stored, and *state holds for this start only. */
bool rec_state_open(int dir, struct rec_state *state, const uint8_t install[REC_INSTALL_SIZE]);

/* Replaces the stored state, so that a reader, or a start after a crash or power loss, sees the
 * old or the new one. False: see errno; the old one stays. */
bool rec_state_store(int dir, const struct rec_state *state);

/* Counts one more dump at the wall time, across all processes that use the folder: reads, adds and
 * replaces under a lock. A day before the stored day is taken for the stored day, so that setting
 * the clock back renews no quota. It waits at most 2 s for the lock. False: it got no lock, or the
 * count could not be stored, and only *state has it. */
bool rec_state_count(int dir, struct rec_state *state, int64_t wall_ms);

/* Writes the text of a state and a NUL, and returns the text's length. rec_state_parse accepts
 * exactly the texts that rec_state_format writes. */
uint32_t rec_state_format(const struct rec_state *state, char text[REC_STATE_TEXT]);
bool rec_state_parse(const char *text, uint32_t len, struct rec_state *out);

#endif
