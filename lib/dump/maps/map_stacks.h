/* The images and stacks that a map finds in a document, on their way into a draft. A frame is given
 * by an address, an offset in an image, or a name alone; a frame or an image without an address
 * gets a made-up one above all known addresses below 2^46. If a frame has an address that no placed
 * image holds, and the load address of its image is unknown, the frame keeps its address and moves
 * to a second image that is marked as unplaced. */
#ifndef STALLKIT_DUMP_MAP_STACKS_H
#define STALLKIT_DUMP_MAP_STACKS_H

#include "base/number_map.h"
#include "dump/maps/map_private.h"

/* An upper bound for offsets in an image, in bytes; no image is as large as this. */
#define MAP_OFFSET_END (UINT64_C(1) << 32)

enum frame_kind {
    FRAME_UNREAD,   /* none of these is known: an address, an offset in a known image, a symbol, a
                       file */
    FRAME_ABSOLUTE, /* the frame is known by its address */
    FRAME_RELATIVE, /* the frame is known by its offset in its image */
    FRAME_NAMED     /* the frame is known by its symbol or file alone, because it has no address or
                       offset that can be used */
};

struct map_frame {
    enum frame_kind kind;
    uint64_t address, offset;
    size_t image; /* index of the frame's image, SIZE_MAX = not known */
    const char *symbol, *file;
    uint32_t line;
    uint64_t symbol_offset;
    bool in_app;
};

struct map_image {
    struct report_image image;
    bool placed;  /* the image's load address is known */
    bool told;    /* the document gives the load address */
    bool unsure;  /* its frames imply different load addresses, or one that is negative or no
                     multiple of 4096 */
    bool made_up; /* the image holds made-up addresses of names */
    uint64_t end; /* largest offset of its frames, plus one; 0 = no offset is known */
    /* Of an image that holds the addresses of frames in another one, whose load address is not
     * known (image.unplaced): */
    size_t origin; /* index of the other image */
    uint64_t low,
        high;  /* both inclusive; low: the lowest start of a frame's function or, where that is not
                  known, one byte below the frame's address; high: the highest address of a frame */
    bool torn; /* addresses low … high overlap another image, or high - low is more than
                  MAP_OFFSET_END, so that this image is not placed */
};

struct map_thread {
    struct report_thread thread;
    size_t first, count; /* the stack's part of frames, innermost first */
    uint64_t samples;    /* samples that had this stack; 0 = not given */
    const json_t *tree;  /* the thread's object, if it has call trees; else NULL */
};

struct map_stacks {
    struct report *r;
    const struct report_map *map;
    struct map by_key; /* key, of one of the kinds that map_stacks.c lists -> index of image */
    struct number_map nodes; /* address of a call tree's JSON node -> index of frame */
    struct map by_name;      /* image, symbol, file and line -> made-up offset in that image, or,
                                without an image, among the names without one */
    VEC(struct map_image) images;
    VEC(struct map_frame) frames;
    VEC(struct map_thread) threads;
    bool app_told;   /* a flag in the document says which images or frames are the app's */
    bool per_thread; /* each thread has its own samples, of which only the main thread's are used */
};

void map_stacks_release(struct map_stacks *s);
/* Read one image or thread of the document. index: number of the image in the lists of the
 * document, from 0. first_source: no thread was found on an earlier path of the map. ST_ERR: out of
 * memory, or a limit. */
enum st map_stacks_add_image(struct map_stacks *s, const json_t *image,
                             uint64_t index) BASE_MUST_USE;
enum st map_stacks_add_thread(struct map_stacks *s, const json_t *thread,
                              bool first_source) BASE_MUST_USE;
/* Returns the index of the image with this key, SIZE_MAX if there is none; map_stacks.c lists the
 * kinds of key. */
size_t map_stacks_find(struct map_stacks *s, char kind, const void *bytes, size_t len);
/* Adds an image and returns its index. SIZE_MAX: there are too many images, or memory ran out; then
 * r->e or r->no_memory is set. */
size_t map_stacks_new_image(struct map_stacks *s, const struct map_image *image);
/* Reads a frame and appends it to the frames. */
enum st map_stacks_read_frame(struct map_stacks *s, const json_t *frame) BASE_MUST_USE;
/* Places the images and fills the draft. ST_ERR: ERR_FORMAT if there is no frame, ERR_LIMIT or
 * ERR_NOMEM. app_uuid and app_path, text or NULL, are those of the executable; they decide which
 * images are the app's if no flag in the document does. */
enum st map_stacks_finish(struct map_stacks *s, const char *app_uuid,
                          const char *app_path) BASE_MUST_USE;

#endif
