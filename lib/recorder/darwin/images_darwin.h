/* The table of the loaded images, with the members that a dump has for each, and of their
 * functions.
 *
 * dyld's list is read as debuggers read it (TASK_DYLD_INFO, <mach-o/dyld_images.h>, both public):
 * with checked reads, on the monitor's thread, without dyld's lock, which a thread that stalls in
 * dlopen holds. A callback of _dyld_register_func_for_add_image would run in the app's threads
 * under that lock, and could never be removed. */
#ifndef STALLREC_IMAGES_DARWIN_H
#define STALLREC_IMAGES_DARWIN_H

#include "core/capture.h"
#include "darwin/fp_walk.h"

struct images;

/* Makes an empty table; NULL: out of memory. dyld's list is not read yet, as that is the monitor's
 * task. */
struct images *images_new(void);
/* Frees the table; images may be NULL. */
void images_free(struct images *images);

/* Reads dyld's list again if an image was loaded or unloaded since the last call. An unloaded
 * image stays known if a frame was in it. Of the list the first 4096 images are read, and those in
 * which a frame was are known, up to 1024. Does not allocate. */
void images_refresh_async(struct images *images);

/* Finds the image that holds the address, a loaded one before an unloaded one. out->path is valid
 * until the next refresh. False: no image holds the address. */
bool images_find_async(struct images *images, uint64_t address, struct rec_image *out);

/* Implements fp_code.function_async; `images` is a struct images. */
bool images_function_async(void *images, uint64_t address, struct fp_function *out);

#endif
