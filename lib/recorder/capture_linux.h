/* The recorder's platform side on Linux: struct rec_capture over /proc, a signal and the unwinder.
 */
#ifndef STALLREC_CAPTURE_LINUX_H
#define STALLREC_CAPTURE_LINUX_H

#include "capture.h"
#include "stallrec.h"

struct capture_linux;

/* How samples were had, since the start. */
struct capture_counts {
    uint64_t reused;      /* the thread had not run */
    uint64_t blocked;     /* read from the outside, without disturbing it */
    uint64_t signalled;   /* copied by the signal handler */
    uint64_t unavailable; /* neither worked */
};

/* Makes a capture of the calling thread. signal_number: 0 = SIGURG. max_frames: of any stack that
 * will be asked for. `loop` is borrowed. *out is written on STALLREC_OK only. */
enum stallrec_error capture_linux_new(struct capture_linux **out, int signal_number,
                                      uint32_t max_frames, const struct stallrec_loop *loop);
/* The signal handler stays, inert. */
void capture_linux_free(struct capture_linux *c);

/* The functions, with ctx set; valid until capture_linux_free. */
struct rec_capture capture_linux_table(struct capture_linux *c);

struct capture_counts capture_linux_counts(const struct capture_linux *c);

#endif
