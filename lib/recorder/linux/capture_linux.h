/* The recorder's platform functions on Linux: struct rec_capture by /proc, a signal and the
 * unwinder. */
#ifndef STALLREC_CAPTURE_LINUX_H
#define STALLREC_CAPTURE_LINUX_H

#include "core/capture.h"
#include "platform.h"
#include "stallrec.h"

struct capture_linux;

/* Makes a capture of the calling thread. signal_number: the signal to use; 0: the capture chooses
 * one, or none, see signal_linux_choose. max_frames: the maximum number of frames of a stack.
 * `loop` is borrowed. *out is written on STALLREC_OK only. STALLREC_ERR_MEMORY: out of memory.
 * STALLREC_ERR_UNSUPPORTED: the signal handler cannot be installed, see errno. */
enum stallrec_error capture_linux_new(struct capture_linux **out, int signal_number,
                                      uint32_t max_frames, const struct stallrec_loop *loop);
/* Makes a capture of the calling thread beside `first`, with which it shares the state about the
 * process; `first` must be freed after it. Otherwise as capture_linux_new. */
enum stallrec_error capture_linux_new_beside(struct capture_linux **out,
                                             const struct capture_linux *first,
                                             const struct stallrec_loop *loop);
/* Implements rec_platform_compare. */
void capture_linux_compare(struct capture_linux *c, struct rec_loop_latest *latest);
/* Frees the capture, which may be NULL. The signal handler stays installed, and only passes signals
 * on to the program's. */
void capture_linux_free(struct capture_linux *c);

/* Reads the size of the alternate signal stack of the calling thread, which must be the one that
 * started the recorder. It is called when that stack changes, where this can be noticed; otherwise
 * the next sample by a signal learns the size. */
void capture_linux_look_at_alternate(void);

/* Returns the table of the capture's functions, with ctx set; valid until capture_linux_free. */
struct rec_capture capture_linux_table(struct capture_linux *c);

struct capture_counts capture_linux_counts(const struct capture_linux *c);

struct copy;
/* Returns the copy from which the last sample with REC_SAMPLE_OK was unwound, valid until the next
 * capture of any thread. It is for tests that unwind the copy in another way. */
const struct copy *capture_linux_copy(const struct capture_linux *c);

#endif
