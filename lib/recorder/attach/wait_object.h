/* Reads the object on which a wait waits, from its arguments and the memory to which they point.
 * Pure, except for the function that reads. */
#ifndef STALLREC_WAIT_OBJECT_H
#define STALLREC_WAIT_OBJECT_H

#include "attach/wait_call.h"
#include "loop/loop_finder.h"

/* Sets *out to the object on which the call waits. If a set of descriptors cannot be read, is
 * empty, has more than 1,024 entries, or was seen to be overwritten meanwhile, it is taken to hold
 * all descriptors (finder_object.unread), and false is returned: waits at the same place then count
 * as waits on the same object. */
bool wait_object_read(const struct wait_call *call, const uint64_t args[6], wait_read_fn *read,
                      void *arg, struct finder_object *out);

#endif
