/* The images of another process and the parts of them that its unwinder reads. They are read from
 * the process's memory, so that programs in containers, and files that were replaced or removed,
 * are handled like others. A file is opened only for its section headers, where the program headers
 * lack the build id or the call frame information. The bytes are the process's, and are untrusted.
 */
#ifndef STALLREC_REMOTE_IMAGES_H
#define STALLREC_REMOTE_IMAGES_H

#include "attach/remote_process.h"
#include "core/capture.h"
#include "linux/place_linux.h"
#include "unwind/unwind.h"

struct remote_images;

/* Makes an empty table; `process` is borrowed until remote_images_free. NULL: out of memory. */
struct remote_images *remote_images_new(const struct remote_process *process);
void remote_images_free(struct remote_images *images);

/* Reads the process's mappings again. An unloaded image stays in the table, for stacks that were
 * taken before, until another image is loaded at its addresses. At most 262,144 mappings are read,
 * and images that do not fit into the table (16,384, or less if memory runs out) are not known.
 * False: the mappings cannot be read (errno; 0: the list of mappings is empty). */
bool remote_images_refresh(struct remote_images *images);
/* Forgets all images, because the process runs another program. */
void remote_images_forget(struct remote_images *images);

/* Finds the image that holds the address, a loaded one before an unloaded one; false if there is
 * none. out->path is valid until the images are read again or forgotten. */
bool remote_images_find(const struct remote_images *images, uint64_t address,
                        struct rec_image *out);

/* Is the address on the main thread's stack, which is taken to be 128 MiB large? True also if the
 * stack is not known. */
bool remote_images_on_stack(const struct remote_images *images, uint64_t address);
/* Sets *load to the load address of the first image; false: there is no image. */
bool remote_images_first(const struct remote_images *images, uint64_t *load);

/* Returns the modules for an unwinder, whose functions refer to `images`. An address in no known
 * image makes them read the mappings again, at most once between two calls of
 * remote_images_look. */
struct unwind_modules remote_images_modules(struct remote_images *images);
void remote_images_look(struct remote_images *images);

/* Finds symbols in the first loaded image that has symbols[0], as place_symbols_async does; false:
 * no image has it. */
bool remote_images_symbols(const struct remote_images *images, struct dynamic_symbol *symbols,
                           unsigned count);
/* Returns a number that changes when an image is added, or all are forgotten. */
uint64_t remote_images_generation(const struct remote_images *images);

/* Copies the name of the dynamic symbol that covers the address into name[0 .. room); "" if none
 * does. */
void remote_images_symbol(const struct remote_images *images, uint64_t address, char *name,
                          size_t room);

#endif
