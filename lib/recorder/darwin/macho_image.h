/* What a loaded Mach-O image says of itself: UUID, extent, where its unwind information and its
 * function starts are; and which paths belong to the app.
 *
 * Pure code over memory that is read with checks: an image may be unloaded meanwhile. Source:
 * <mach-o/loader.h>. 64-bit little-endian images only, which is all that Darwin runs today. */
#ifndef STALLREC_MACHO_IMAGE_H
#define STALLREC_MACHO_IMAGE_H

#include "darwin/memory_read.h"

struct macho_image {
    uint64_t load;      /* address of the Mach header */
    uint64_t text_size; /* bytes of __TEXT, from load */
    bool has_uuid;
    uint8_t uuid[16];
    uint32_t cpu_type, cpu_subtype;
    uint64_t unwind, unwind_size; /* run-time address of __unwind_info; size 0: none */
    uint64_t starts, starts_size; /* run-time address of LC_FUNCTION_STARTS' data; size 0: none */
};

/* Reads the header and load commands at `load`. False when there is no such image, or it is
 * damaged. *out is written on true only. */
bool macho_image_read_async(const struct memory *memory, uint64_t load, struct macho_image *out);

/* "arm64", "arm64e", "x86_64", "x86_64h"; NULL for any other. */
const char *macho_arch_async(uint32_t cpu_type, uint32_t cpu_subtype);

/* Marks in an image's LC_FUNCTION_STARTS, a list of differences: places that earlier look-ups
 * passed, at which reading can begin. Zero-initialised = none; they belong to one image for as long
 * as it is used. */
enum { MACHO_MARKS = 256 };
struct macho_marks {
    uint32_t count;
    struct {
        uint32_t start; /* a function's, from load */
        uint32_t next;  /* offset in the list of what comes after it */
    } marks[MACHO_MARKS];
};

/* The function that holds `address`: from its first byte to the next function's, or the end of
 * __TEXT. Reads the list from the last mark before the address, and leaves marks where it had not
 * been before; `marks` NULL: from the front. False when the address lies before the first function
 * or outside __TEXT, or the list is damaged. */
bool macho_function_async(const struct memory *memory, const struct macho_image *image,
                          struct macho_marks *marks, uint64_t address, uint64_t *start,
                          uint64_t *end);

/* True for an image that came with the app: inside the bundle of `program`, the main executable's
 * path, or beside a program that has no bundle. Copies of Swift's run-time libraries in a bundle
 * are the system's. */
bool macho_in_app_async(const char *path, const char *program);

#endif
