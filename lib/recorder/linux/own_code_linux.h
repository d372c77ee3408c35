/* The recorder's own code on the app's stacks. A program waits in its loop through functions of
 * the recorder: those of the adapters, and of the preloaded library all. They are no frames of a
 * dump, which is about the program. */
#ifndef STALLREC_OWN_CODE_LINUX_H
#define STALLREC_OWN_CODE_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/images_linux.h"
#include "unwind/unwind.h"

struct code_range {
    uint64_t lo, hi; /* hi == lo: none */
};

struct own_code {
    struct code_range waits, library;
};

/* Finds it. Neither part of it is ever unloaded before the recorder ends. */
void own_code_find(struct own_code *own, const struct images *images);

/* Removes its frames; returns how many of `count` are left. If the innermost was one of them, the
 * thread is told to be in the call of it. */
size_t own_code_drop_async(const struct own_code *own, struct unwind_frame *frames, size_t count);

#endif
