/* Frames of Python in the stacks of a process, this one or another: they stand in place of those of
 * the interpreter's loop. Found by the symbols that every CPython exports, and read by layout
 * (python_layout.h); of a version whose layout is not known nothing is read. */
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

/* The process that the interpreter is in. */
struct python_host {
    void *arg;
    /* Copies memory of it; false: not all of it can be read. */
    bool (*read_async)(void *arg, uint64_t address, void *to, size_t size);
    /* As place_symbols_async, among its modules. */
    bool (*symbols_async)(void *arg, struct dynamic_symbol *symbols, unsigned count);
    /* As rec_capture.image_at. */
    bool (*image_async)(void *arg, uint64_t address, struct rec_image *out);
};

/* host is copied; what it refers to is borrowed. main_tid: the watched thread's kernel id, as the
 * process knows it, like all such ids here; main_self: its pthread_self(), 0 = not known: up
 * to 3.10 no other thing tells threads apart. NULL when there is no memory. */
struct python_linux *python_linux_new(const struct python_host *host, pid_t main_tid,
                                      uint64_t main_self);
void python_linux_free(struct python_linux *py);

/* Puts the Python frames of a thread into its native ones, which were unwound from `stack`, by
 * modules of this generation. *end as of unwind_async; becomes UNWIND_FULL if not all fit `max`.
 * Returns how many frames there are now. A Python frame's pc is the address of its bytecode
 * instruction with the bit PYTHON_PC_BIT turned over, so that it lies in no image, and its function
 * is the code object. */
size_t python_linux_merge_async(struct python_linux *py, uint64_t generation, pid_t tid,
                                const struct cfi_stack *stack, struct unwind_frame *frames,
                                size_t count, size_t max, enum unwind_end *end);

enum { PYTHON_PC_BIT = 47 };

/* rec_capture.name_code, for such frames. */
void python_linux_name_async(struct python_linux *py, struct rec_code_name *names, uint32_t count);

/* Does the interpreter's own code lie in this image? */
bool python_linux_is_in_async(const struct python_linux *py, const struct rec_image *image);

/* What cannot be read: "python 3.8, whose frames are not known"; NULL if there is nothing to say.
 * Valid until python_linux_free. */
const char *python_linux_lack_async(const struct python_linux *py);

#endif
