/* Frames of Python in the stacks of this process: they stand in place of those of the interpreter's
 * loop. Found by the symbols that every CPython exports, and read by layout (python_layout.h); of a
 * version whose layout is not known nothing is read. */
#ifndef STALLREC_PYTHON_LINUX_H
#define STALLREC_PYTHON_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/capture.h"
#include "linux/images_linux.h"
#include "unwind/unwind.h"

struct python_linux;

/* main_tid, main_self: the watched thread's kernel id and pthread_self(). images are borrowed. NULL
 * when there is no memory. */
struct python_linux *python_linux_new(pid_t pid, pid_t main_tid, uint64_t main_self,
                                      const struct images *images);
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
