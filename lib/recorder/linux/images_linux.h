/* The table of the loaded images, with the members that a dump has for each: path, build-id, load
 * address, size. */
#ifndef STALLREC_IMAGES_LINUX_H
#define STALLREC_IMAGES_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"

struct images;

/* Reads the loaded images. NULL: out of memory. */
struct images *images_new(void);
void images_free(struct images *images);

/* Updates the table if a module came or went since the last call; a call without such a change
 * costs some 10 ns. An unloaded image stays known, so that older samples keep their images, until
 * its entry or its address is needed, or the paths take over three quarters of their room. The
 * table holds at most 4096 images and 1 MiB of paths; an image that does not fit is not known, or
 * has no path. Does not allocate. Returns modules_generation_async() as of the table. */
uint64_t images_refresh_async(struct images *images);

/* Finds the image that holds the address, a loaded one before an unloaded one. out->path is valid
 * until the next refresh. False: no image holds the address. */
bool images_find_async(const struct images *images, uint64_t address, struct rec_image *out);

/* Copies the GNU build-id from `size` bytes of notes (ELF gABI, note section); returns its size, 0
 * if there is none or it is longer than REC_IMAGE_ID_MAX. */
uint8_t images_build_id_async(const uint8_t *notes, size_t size, uint8_t id[REC_IMAGE_ID_MAX]);

/* Is the path that of the library that stallrec(1) preloads? */
bool images_is_preload_async(const char *path);

/* Does the path belong to the app rather than to the system? program: the path of the main
 * program. */
bool images_in_app_async(const char *path, const char *program);

#endif
