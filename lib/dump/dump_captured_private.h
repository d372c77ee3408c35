/* Measures the part of a dump that the recorder, and no command on a host, has written. */
#ifndef STALLKIT_DUMP_CAPTURED_PRIVATE_H
#define STALLKIT_DUMP_CAPTURED_PRIVATE_H

#include "dump/dump.h"
#include "dump/json/tape.h"

/* Returns how many bytes dump_write_captured writes for the dump on the tape, whose text is len
 * bytes long. */
uint64_t dump_captured_size(const struct tape *t, size_t len);

#endif
