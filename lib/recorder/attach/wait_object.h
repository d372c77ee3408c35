/* Reads the object on which a wait waits, from its arguments and the memory to which they point.
 * Pure, except for the function that reads. */
#ifndef STALLREC_WAIT_OBJECT_H
#define STALLREC_WAIT_OBJECT_H

#include "attach/wait_call.h"
#include "loop/loop_finder.h"

/* Sets *out to the object on which the call waits. If a set of descriptors cannot be read, is
 * empty, has more than 1,024 entries, or was seen to be overwritten meanwhile, it is taken to hold
 * all descriptors (finder_object.unread), and false is returned: waits at the same place then count
 * as waits on the same object. A call to which no set is given is a sleep (wait_call_is_sleep). */
bool wait_object_read(const struct wait_call *call, const uint64_t args[6], wait_read_fn *read,
                      void *arg, struct finder_object *out);

enum { WAIT_ARRAYS = 16 };

/* Arrays of descriptors, given to poll, and the sets that they held when they were read last.
 * Zeroed: none was read. */
struct wait_arrays {
    struct wait_array {
        uint64_t address, count; /* address 0: the entry is free */
        struct finder_object object;
    } at[WAIT_ARRAYS]; /* each at the index that its address gives */
};

/* Keeps the set that a call of poll waits for, which was read (`ok`); or, if it could not be read
 * because the call is over, sets *object to the set that the same array held when it was read last,
 * if that is known. Returns whether *object is known. A loop and a handler that it calls, and that
 * polls, too, use different arrays, so that both sets are kept. No effect for other calls. */
bool wait_arrays_recall(struct wait_arrays *arrays, const struct wait_call *call,
                        const uint64_t args[6], bool ok, struct finder_object *object);

/* Returns the calls that wait on an object of this kind, bit n for wait_call_at(n); none for other
 * kinds than descriptors and condition variables. */
uint32_t wait_object_calls(enum finder_kind kind);

#endif
