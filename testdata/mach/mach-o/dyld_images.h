/* What the recorder uses of <mach-o/dyld_images.h>, at the same offsets; the rest is room. */
#ifndef STANDIN_DYLD_IMAGES_H
#define STANDIN_DYLD_IMAGES_H

#include <stddef.h>
#include <stdint.h>

struct mach_header;

struct dyld_image_info {
    const struct mach_header *imageLoadAddress;
    const char *imageFilePath;
    uintptr_t imageFileModDate;
};

struct dyld_all_image_infos {
    uint32_t version, infoArrayCount;
    const struct dyld_image_info *infoArray;
    void *notification;
    uint64_t flags;
    const struct mach_header *dyldImageLoadAddress;
    uint64_t room[18];
    uint64_t infoArrayChangeTimestamp;
    const char *dyldPath;
    uint64_t more_room[21];
};

#endif
