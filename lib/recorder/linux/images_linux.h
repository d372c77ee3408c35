/* The loaded images with what a dump says of them: path, build-id, load address, size. */
#ifndef STALLREC_IMAGES_LINUX_H
#define STALLREC_IMAGES_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"

struct images;

/* Reads the loaded images. NULL when there is no memory. */
struct images *images_new(void);
void images_free(struct images *images);

/* Brings the table up to date if a module came or went since the last call; a look costs some 10
 * ns. An image that was unloaded stays known, so that older samples keep their images, until its
 * place or its address is needed. Does not allocate. Returns modules_generation_async() as of the
 * table. */
uint64_t images_refresh_async(struct images *images);

/* The image that holds the address: a loaded one before an unloaded one. out->path is valid until
 * the next refresh. False if none does. */
bool images_find_async(const struct images *images, uint64_t address, struct rec_image *out);

/* The GNU build-id in `size` bytes of notes (ELF gABI, note section); its size, 0 if there is none
 * or it is longer than REC_IMAGE_ID_MAX. */
uint8_t images_build_id_async(const uint8_t *notes, size_t size, uint8_t id[REC_IMAGE_ID_MAX]);

/* Is the path that of the library which stallrec(1) preloads? */
bool images_is_preload_async(const char *path);

/* True for a path that belongs to the app rather than to the system. */
bool images_in_app_async(const char *path, const char *program);

#endif
