/* Finds the part of a dump that the recorder has written, as opposed to commands on a host. */
#ifndef STALLKIT_DUMP_CAPTURED_PRIVATE_H
#define STALLKIT_DUMP_CAPTURED_PRIVATE_H

#include "base/vec.h"
#include "dump/dump.h"
#include "dump/json/tape.h"

/* The cuts of one dump, while they are collected. */
struct captured_cuts {
    VEC(struct dump_cut) cuts;
};

/* Fills captured_size and the cuts of a dump whose text is on the tape; room: memory that is reused
 * for the next dump. ST_ERR: out of memory. */
enum st dump_find_captured(struct dump *d, const struct tape *t, struct captured_cuts *room,
                           struct err *e) BASE_MUST_USE;

#endif
