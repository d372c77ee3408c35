/* Reads the headers of a loaded Mach-O image: UUID, address range, and the places of its unwind
 * information and function starts. Also finds functions, and decides which paths belong to the app.
 *
 * Pure code over memory that is read with checks, as an image may be unloaded meanwhile. Source:
 * <mach-o/loader.h>. Only 64-bit little-endian images are read, which is all that Darwin runs
 * today. */
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

/* Reads the header and load commands at `load` into *out. False: there is no such image, or it is
 * damaged, and *out is not written. */
bool macho_image_read_async(const struct memory *memory, uint64_t load, struct macho_image *out);

/* Returns "arm64", "arm64e", "x86_64" or "x86_64h"; NULL for any other processor. */
const char *macho_arch_async(uint32_t cpu_type, uint32_t cpu_subtype);

/* Marks in an image's LC_FUNCTION_STARTS, which is a list of differences: places that earlier
 * look-ups passed, from which reading can start. Zero-initialised = none. The marks belong to one
 * image as long as they are used. */
enum { MACHO_MARKS = 256 };
struct macho_marks {
    uint32_t count;
    struct {
        uint32_t start; /* start of a function, from load */
        uint32_t next;  /* offset in the list of the difference that follows this start */
    } marks[MACHO_MARKS];
};

/* Finds the function that holds `address`: it reaches from its first byte to the next function's,
 * or to the end of __TEXT. Reads the list from the last mark at or before the address, and adds
 * marks where it reads; if `marks` is NULL, it reads from the front. False: the address lies before
 * the first function or outside __TEXT, or there is no list. At a damaged place the list ends, and
 * the function before it reaches to the end of __TEXT. */
bool macho_function_async(const struct memory *memory, const struct macho_image *image,
                          struct macho_marks *marks, uint64_t address, uint64_t *start,
                          uint64_t *end);

/* Did the image at `path` come with the app, of which `program` is the main executable's path? It
 * did if it is the program, or lies in the program's bundle, or, if there is none, in the program's
 * folder or below, but in no folder of the system. Swift's run-time libraries (libswift…) belong to
 * the system anywhere. */
bool macho_in_app_async(const char *path, const char *program);

#endif
