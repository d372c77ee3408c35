/* Removes the recorder's own code from the app's stacks. A program waits in its loop through
 * functions of the recorder: those of the adapters, or those of the preloaded library. A dump is
 * about the program, so their frames are left out. */
#ifndef STALLREC_OWN_CODE_LINUX_H
#define STALLREC_OWN_CODE_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/images_linux.h"
#include "unwind/unwind.h"

struct code_range {
    uint64_t lo, hi; /* addresses [lo, hi); hi == lo: empty */
};

struct own_code {
    struct code_range waits, library;
};

/* Finds the recorder's code: the section of the adapters' waits, and the image of this code, if
 * that image is the preloaded library. Neither is unloaded before the recorder ends. */
void own_code_find(struct own_code *own, const struct images *images);

/* Removes the recorder's frames from frames[0 .. count); returns the number of frames left. If the
 * innermost frame was removed, the first frame left, unless it is exact already, becomes exact: its
 * pc becomes the last byte of its call into the recorder. */
size_t own_code_drop_async(const struct own_code *own, struct unwind_frame *frames, size_t count);

#endif
