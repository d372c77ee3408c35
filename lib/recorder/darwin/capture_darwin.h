/* The recorder's platform functions on Darwin: struct rec_capture over Mach calls. */
#ifndef STALLREC_CAPTURE_DARWIN_H
#define STALLREC_CAPTURE_DARWIN_H

#include "core/capture.h"
#include "platform.h"
#include "stallrec.h"

struct capture_darwin;

/* Makes a capture of the calling thread. max_frames: the maximum number of frames of a stack.
 * `loop` is borrowed. *out is written on STALLREC_OK only. STALLREC_ERR_MEMORY: out of memory. */
enum stallrec_error capture_darwin_new(struct capture_darwin **out, uint32_t max_frames,
                                       const struct stallrec_loop *loop);
/* Frees the capture; c may be NULL. */
void capture_darwin_free(struct capture_darwin *c);

/* Returns the table of the capture's functions, with ctx set; valid until capture_darwin_free. */
struct rec_capture capture_darwin_table(struct capture_darwin *c);

/* Returns the counts of the samples since capture_darwin_new. */
struct capture_counts capture_darwin_counts(const struct capture_darwin *c);

#endif
