/* Puts Python frames into the stacks of a process, this one or another, in place of the native
 * frames of the interpreter's loop. The interpreter is found by symbols that every CPython
 * exports, and read by its version's layout (python_layout.h); a version whose layout is not known
 * is not read. */
#ifndef STALLREC_PYTHON_LINUX_H
#define STALLREC_PYTHON_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/capture.h"
#include "linux/place_linux.h"
#include "unwind/unwind.h"

struct python_linux;

/* Access to the process with the interpreter. */
struct python_host {
    void *arg;
    /* Copies the process's memory; false: not all of it can be read. */
    bool (*read_async)(void *arg, uint64_t address, void *to, size_t size);
    /* Finds symbols in the process's modules as place_symbols_async does. */
    bool (*symbols_async)(void *arg, struct dynamic_symbol *symbols, unsigned count);
    /* Finds the image of an address as rec_capture.image_at does. */
    bool (*image_async)(void *arg, uint64_t address, struct rec_image *out);
};

/* Makes a reader of Python frames. *host is copied; what its members refer to is borrowed.
 * main_tid: the watched thread's kernel id, which, as all thread ids here, is that in the
 * process's own namespace; main_self: its pthread_self(), 0 = not known; up to 3.10 nothing else
 * identifies a thread. NULL: out of memory. */
struct python_linux *python_linux_new(const struct python_host *host, pid_t main_tid,
                                      uint64_t main_self);
void python_linux_free(struct python_linux *py);

/* Puts the Python frames of a thread into frames[0 .. count), its native frames, which were unwound
 * from `stack` by modules of this generation. *end is that of unwind_async; an UNWIND_OUTERMOST
 * becomes UNWIND_FULL if the frames fill `max`, or 1024, which is the most that stacks with Python
 * frames get. Returns the new number of frames; they stay as they are if the thread has no Python
 * frames, or these cannot be read. The pc of a Python frame is the address of its bytecode
 * instruction with bit PYTHON_PC_BIT inverted, so that it lies in no image; its function is the
 * code object. */
size_t python_linux_merge_async(struct python_linux *py, uint64_t generation, pid_t tid,
                                const struct cfi_stack *stack, struct unwind_frame *frames,
                                size_t count, size_t max, enum unwind_end *end);

/* Returns the number of Python frames of a thread that is in a call out of the interpreter, up to
 * 1024; 0: it has none, or they cannot be read. */
size_t python_linux_depth_async(struct python_linux *py, uint64_t generation, pid_t tid);

enum { PYTHON_PC_BIT = 47 };

/* Sets the names of the Python frames among names[], as rec_capture.name_code does. */
void python_linux_name_async(struct python_linux *py, struct rec_code_name *names, uint32_t count);

/* Is this image the one with the interpreter's own code? */
bool python_linux_is_in_async(const struct python_linux *py, const struct rec_image *image);

/* Returns a text about frames that cannot be read, such as "python 3.8, whose frames are not
 * known"; NULL if there are none. Valid until python_linux_free. */
const char *python_linux_lack_async(const struct python_linux *py);

#endif
