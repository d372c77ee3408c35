/* The dump parser's function for the members that describe the stall, the app, the device and the
 * bucket. */
#ifndef STALLKIT_DUMP_HEAD_PRIVATE_H
#define STALLKIT_DUMP_HEAD_PRIVATE_H

#include "dump/dump_build_private.h"

/* Fills in id, time, lack, user, threads_left_out, app, device, stall and class of the dump from
 * its root, an object. */
void build_head(struct dump_build *b, const struct tape_value *root);

#endif
