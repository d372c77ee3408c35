/* The images of another process and what its unwinder needs of them, all of it read from its
 * memory: no file is opened, so programs in containers and files that were replaced or removed are
 * as good as others. The bytes are the process's, and may be anything. */
#ifndef STALLREC_REMOTE_IMAGES_H
#define STALLREC_REMOTE_IMAGES_H

#include "attach/remote_process.h"
#include "core/capture.h"
#include "linux/place_linux.h"
#include "unwind/unwind.h"

struct remote_images;

/* `process` is borrowed until remote_images_free. NULL: no memory. */
struct remote_images *remote_images_new(const struct remote_process *process);
void remote_images_free(struct remote_images *images);

/* Reads the process's mappings anew. An image that was unloaded stays known, so that older stacks
 * keep theirs, until another one is loaded there. False: they cannot be read (errno). */
bool remote_images_refresh(struct remote_images *images);
/* Forgets all images: the process runs another program. */
void remote_images_forget(struct remote_images *images);

/* The image that holds the address; false if there is none. out->path is valid until the next
 * refresh. */
bool remote_images_find(const struct remote_images *images, uint64_t address,
                        struct rec_image *out);

/* Is the address on the main thread's stack? True also if that is not known. */
bool remote_images_on_stack(const struct remote_images *images, uint64_t address);
/* Where the first image lies; false: there is none. */
bool remote_images_first(const struct remote_images *images, uint64_t *load);

/* The modules for an unwinder: its functions refer to `images`. A miss looks at the mappings again,
 * at most once between two calls of remote_images_look. */
struct unwind_modules remote_images_modules(struct remote_images *images);
void remote_images_look(struct remote_images *images);

/* As place_symbols_async. */
bool remote_images_symbols(const struct remote_images *images, struct dynamic_symbol *symbols,
                           unsigned count);
/* Another number once images were loaded or unloaded. */
uint64_t remote_images_generation(const struct remote_images *images);

/* The dynamic symbol that covers the address, or "" into name[0 .. room). */
void remote_images_symbol(const struct remote_images *images, uint64_t address, char *name,
                          size_t room);

#endif
