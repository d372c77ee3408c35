/* Parses the lines of Apple's text reports that give threads and frames. */
#ifndef STALLKIT_DUMP_REPORT_CRASH_PRIVATE_H
#define STALLKIT_DUMP_REPORT_CRASH_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "dump/json/span_private.h"

struct report;

/* A thread's heading. name points into the line and ends at the end of the line. */
struct crash_heading {
    uint64_t id;
    const char *name; /* text after "name:", "Thread 3::" or "Thread 3 Crashed:"; NULL = none */
    bool is_name;     /* true: "Thread 3 name: …"; the heading before the frames of the thread is
                         another line */
    bool crashed;     /* "Thread 3 Crashed:" */
    bool attributed;  /* "Thread 3 Attributed:": the thread that used too much of a resource */
    bool unnumbered;  /* "Call stack:", Cr4shed's: the thread that the head says crashed */
};
/* Parses "Call stack:", "Thread 3:", "Thread 3 WORD:", "Thread 3 name: …" or "Thread 3:: …". False:
 * the line is another one, such as "Thread 0 crashed with ARM Thread State (64-bit):". */
bool crash_heading(struct span line, struct crash_heading *out);

/* A frame's line; its texts are in the draft's arena. */
struct crash_frame {
    uint64_t index;
    /* address is meaningful with has_address; base, the image's load address, with has_base */
    uint64_t address, base;
    bool has_address, has_base;
    bool joined;        /* another frame follows in the line, which lost its line feed */
    const char *image;  /* NULL = the report does not give it, or gives "???" */
    const char *symbol; /* "NAME + 24", "NAME (File.m:12)" or "NAME"; NULL = none */
    size_t digits;      /* length of the address's text, with its "0x" */
};
/* Parses a NUL-terminated line "0 Shop 0x0000000100125780 0x100070000 + 743296"; false: the line
 * does not begin with an index. */
bool crash_frame_line(struct report *r, const char *line, struct crash_frame *out);

/* Does the line have an address among its words? */
bool crash_has_address(const char *line);
/* Does the line begin a frame? It does if it has an index and an address. It also does, without an
 * address, if its index is `next` or that of the frame before, because the rest may be folded to
 * the next line. */
bool crash_is_frame(const char *line, uint64_t next);
/* Mail folds a frame at a blank. May `frame` continue with `line`, which is not a frame by itself?
 * It may if the frame still lacks an address, a closing bracket, or both an offset and a source
 * line; and with a `line` that begins with a bracket, if the frame does not end with one. */
bool crash_frame_goes_on(const char *frame, const char *line);

/* The images that the frames of a text name; those that the text does not list are added to the
 * draft. Zero-initialised = none. */
struct crash_images {
    struct map index;  /* name and load address -> index into list */
    struct map placed; /* name of an image whose load address is given -> its index into list */
    VEC(struct crash_image) list;
};
/* Notes the image of a frame that has an image's name and an address other than 0. Once 4096 images
 * are noted, further frames are not read. */
void crash_images_note(struct crash_images *images, struct report *r, const struct crash_frame *f);
/* Adds to the draft the images that it does not have. listed: the text lists images; then only
 * images whose load address is in a frame are added. Without a load address an image is placed
 * where its frames are. Returns how many images the draft did not have, added or not. */
size_t crash_images_add(struct crash_images *images, struct report *r, bool listed);
void crash_images_release(struct crash_images *images);

#endif
