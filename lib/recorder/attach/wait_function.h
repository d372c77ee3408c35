/* Tells what a function of the C library waits for in futex(2): the same call is used to wait for
 * condition variables, semaphores, read-write locks and the end of threads. */
#ifndef STALLREC_WAIT_FUNCTION_H
#define STALLREC_WAIT_FUNCTION_H

#include <stdint.h>

#include "attach/remote_images.h"

enum wait_function {
    WAIT_FUNCTION_OTHER, /* waits for something else, or is not known */
    WAIT_FUNCTION_CONDITION,
    WAIT_FUNCTION_LOCK /* waits for a semaphore */
};

enum { WAIT_FUNCTIONS = 8 };

/* Functions that were looked up. Zeroed: none was. */
struct wait_functions {
    struct wait_function_found {
        uint64_t function; /* 0: the entry is free */
        enum wait_function what;
    } at[WAIT_FUNCTIONS]; /* each at the index that its address gives */
};

/* Returns what the function that begins at this address waits for. */
enum wait_function wait_function_find(struct wait_functions *known,
                                      const struct remote_images *images, uint64_t function);

#endif
