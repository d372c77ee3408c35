/* Where the linker put the code of one object file of a debug map. */
#ifndef STALLKIT_DEBUG_LINK_SPANS_H
#define STALLKIT_DEBUG_LINK_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug_map.h"
#include "debug/ranges.h"
#include "object/object.h"

/* Code of the object file at [low, high) is at `to` in the linked file. */
struct link_span {
    uint64_t low, high, to;
};

/* Zero-initialised = none. */
struct link_spans {
    struct link_span *data; /* malloc'ed; disjoint, ascending */
    size_t len;
    uint64_t work; /* spans that may still be visited for the object file */
};

/* Finds the functions by their names among the symbols of the object file. A name that the file has
 * at several addresses is left out. ST_ERR: no memory, or none of them is there. Never ST_NONE. */
enum st link_spans_read(struct link_spans *out, const struct map_function *functions, size_t count,
                        const struct object_slice *object, struct err *e) BASE_MUST_USE;
void link_spans_release(struct link_spans *s);

/* The index of the first span that ends above the address. */
size_t link_spans_above(const struct link_spans *s, uint64_t address);
/* The address in the linked file; false: the code is not there. */
bool link_spans_address(const struct link_spans *s, uint64_t address, uint64_t *out);
/* Appends what is left of a range, in the linked file. */
enum st link_spans_range(struct link_spans *s, struct debug_range r, struct range_vec *out,
                         struct err *e) BASE_MUST_USE;
/* Charges one visit. Those of sound files are visited a few times for each range and sequence,
 * hostile ones could cross all of them each time. */
enum st link_spans_charge(struct link_spans *s, struct err *e) BASE_MUST_USE;
/* Allows the visits of so many more ranges and rows. */
void link_spans_allow(struct link_spans *s, size_t items);

#endif
