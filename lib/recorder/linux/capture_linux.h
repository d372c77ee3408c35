/* The recorder's platform side on Linux: struct rec_capture over /proc, a signal and the unwinder.
 */
#ifndef STALLREC_CAPTURE_LINUX_H
#define STALLREC_CAPTURE_LINUX_H

#include "core/capture.h"
#include "platform.h"
#include "stallrec.h"

struct capture_linux;

/* Makes a capture of the calling thread. signal_number: 0 = chosen. max_frames: of any stack that
 * will be asked for. `loop` is borrowed. *out is written on STALLREC_OK only. */
enum stallrec_error capture_linux_new(struct capture_linux **out, int signal_number,
                                      uint32_t max_frames, const struct stallrec_loop *loop);
/* Frees the capture. The signal handler stays installed, without effect. */
void capture_linux_free(struct capture_linux *c);

/* Called by the watched thread when it changes its alternate signal stack, where that can be seen;
 * otherwise the next sample by a signal learns it. */
void capture_linux_look_at_alternate(void);

/* The functions, with ctx set; valid until capture_linux_free. */
struct rec_capture capture_linux_table(struct capture_linux *c);

struct capture_counts capture_linux_counts(const struct capture_linux *c);

struct copy;
/* The copy that the last sample that was REC_SAMPLE_OK was unwound from, valid until the next
 * capture of any thread. For tests that unwind it in another way. */
const struct copy *capture_linux_copy(const struct capture_linux *c);

#endif
