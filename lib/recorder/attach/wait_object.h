/* What a wait waits on, by its arguments and the memory that they name. Pure over a function that
 * reads. */
#ifndef STALLREC_WAIT_OBJECT_H
#define STALLREC_WAIT_OBJECT_H

#include "attach/wait_call.h"
#include "loop/loop_finder.h"

/* Fills *out. Sets that cannot be read, or have been overwritten meanwhile, hold every descriptor:
 * waits at the same place are then on the same. */
void wait_object_read(const struct wait_call *call, const uint64_t args[6], wait_read_fn *read,
                      void *arg, struct finder_object *out);

#endif
