/* Reads a dump's "locations" in the form in which dump_write_spliced writes them, without a tape.
 * In a dump with symbols they are most of the text, and of the tape. */
#ifndef STALLKIT_DUMP_WRITTEN_LOCATIONS_PRIVATE_H
#define STALLKIT_DUMP_WRITTEN_LOCATIONS_PRIVATE_H

#include "base/vec.h"
#include "dump/dump.h"

enum { WRITTEN_NAMES = 3 }; /* texts of a line: function, linkage and file */

/* A line of a location: indexes into the dump's strings, -1 = none. No index was checked. */
struct written_line {
    int32_t names[WRITTEN_NAMES];
    uint32_t line, column;
};
/* A location; its lines are the next line_count ones. `image` was not checked. */
struct written_location {
    uint64_t offset, start;
    int32_t image;
    uint32_t line_count;
    enum dump_source source;
    bool in_app;
};

/* The last array that was read. Zero-initialised = none. */
struct written_locations {
    const char *text; /* bracket of the array in the dump's text; NULL = none was read */
    VEC(struct written_location) locations;
    VEC(struct written_line) lines;
};

void written_release(struct written_locations *w);
/* Returns the number of bytes of memory that w has. */
size_t written_size(const struct written_locations *w);
/* A tape_reader: reads the array whose bracket is at p, in ctx, a struct written_locations. Returns
 * the array's end, and adds the number of the values in it to *values. NULL: the array has another
 * form, perhaps one that is no JSON, or memory ran out; then the tape has to read it. */
const char *written_read(void *ctx, const char *p, const char *end, uint32_t *values);

#endif
