/* Makes symbolicated dumps for tests, frame by frame. */
#ifndef STALLKIT_CLASSIFY_FIXTURE_DUMP_TEST_H
#define STALLKIT_CLASSIFY_FIXTURE_DUMP_TEST_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump.h"

enum { FIXTURE_FRAMES = 256, FIXTURE_IMAGES = 32, FIXTURE_STACKS = 32 };

/* A dump that is being made. Zero-initialise it, then call fixture_frame for each frame of a stack,
 * innermost first, then fixture_stack. Arrays have a fixed size and strings are borrowed, so that
 * nothing has to be released. */
struct fixture {
    struct dump d;
    struct dump_image images[FIXTURE_IMAGES];
    struct dump_location locations[FIXTURE_FRAMES];
    struct dump_line lines[FIXTURE_FRAMES];
    uint64_t frames[FIXTURE_FRAMES];
    uint32_t indexes[FIXTURE_FRAMES];
    struct dump_stack stacks[FIXTURE_STACKS];
    struct dump_thread thread;
    size_t used, stack_start;
};

static inline int32_t fixture_image(struct fixture *f, const char *name, bool in_app) {
    for (size_t i = 0; i < f->d.image_count; i++) {
        if (strcmp(f->images[i].name, name) == 0 && f->images[i].in_app == in_app) {
            return (int32_t)i;
        }
    }
    assert(f->d.image_count < FIXTURE_IMAGES);
    struct dump_image *image = &f->images[f->d.image_count];
    *image = (struct dump_image){
        .name = name, .in_app = in_app, .load = 0x10000000 * (f->d.image_count + 1)};
    image->id = (struct image_id){
        .kind = IMAGE_ID_BUILD, .len = 2, .bytes = {0xab, (uint8_t)f->d.image_count}};
    f->d.images = f->images;
    return (int32_t)f->d.image_count++;
}

/* Adds a frame. function NULL: the frame has no name, only this offset. */
static inline void fixture_frame(struct fixture *f, const char *image, bool in_app,
                                 const char *function, uint64_t offset) {
    assert(f->used < FIXTURE_FRAMES);
    size_t i = f->used++;
    f->lines[i] =
        (struct dump_line){.function = function, .file = "src/app.c", .line = 10 + (uint32_t)i};
    f->locations[i] = (struct dump_location){.image = fixture_image(f, image, in_app),
                                             .offset = offset + 8,
                                             .start = offset,
                                             .lines = &f->lines[i],
                                             .line_count = function != NULL};
    f->indexes[i] = (uint32_t)i;
    f->frames[i] = f->images[f->locations[i].image].load + offset + 8;
    f->d.locations = f->locations;
    f->d.location_count = f->used;
}

/* Makes the frames that were added since the last call a sampled stack of the main thread. */
static inline void fixture_stack(struct fixture *f, uint64_t count) {
    assert(f->d.sample_count < FIXTURE_STACKS);
    f->stacks[f->d.sample_count++] = (struct dump_stack){.count = count,
                                                         .frames = f->frames + f->stack_start,
                                                         .frame_count = f->used - f->stack_start,
                                                         .locations = f->indexes + f->stack_start};
    f->stack_start = f->used;
    f->d.samples = f->stacks;
    f->d.heaviest = -1;
}

/* Adds a sample of named frames, innermost first; a name after '!' is that of a system library's
 * function. */
static inline void fixture_names(struct fixture *f, const char *const *names, size_t n,
                                 uint64_t count) {
    for (size_t i = 0; i < n; i++) {
        bool system = names[i][0] == '!';
        fixture_frame(f, system ? "libsys.so" : "Shop", !system, names[i] + system,
                      0x100 * (i + 1));
    }
    fixture_stack(f, count);
}

#endif
