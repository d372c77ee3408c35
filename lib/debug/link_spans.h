/* Spans of code: where the linker put the code of one object file of a debug map. */
#ifndef STALLKIT_DEBUG_LINK_SPANS_H
#define STALLKIT_DEBUG_LINK_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug_map.h"
#include "debug/ranges.h"
#include "object/object.h"

/* Code at [low, high) in the object file is at `to` in the linked file. */
struct link_span {
    uint64_t low, high, to;
};

/* The spans of one object file. Zero-initialised = none. */
struct link_spans {
    struct link_span *data; /* malloc'ed array; disjoint, ascending */
    size_t len;
    uint64_t work; /* visits of spans and rows that are still allowed for the object file */
};

/* Finds the map's functions by their names among the symbols of the object file. A name with
 * several addresses in the file is left out. ST_NONE: the file is of another build than the one
 * that was linked: it lacks all names that the map has at one address, or has a function of another
 * size. ST_ERR: out of memory, or the symbols cannot be read. *out needs link_spans_release in any
 * case. */
enum st link_spans_read(struct link_spans *out, const struct map_function *functions, size_t count,
                        const struct object_slice *object, struct err *e) BASE_MUST_USE;
/* Frees the spans; *s is then empty. */
void link_spans_release(struct link_spans *s);

/* Returns the index of the first span that ends above the address; s->len: none does. */
size_t link_spans_above(const struct link_spans *s, uint64_t address);
/* Sets *out to the address in the linked file of an address in the object file. False: the linked
 * file does not have this code. */
bool link_spans_address(const struct link_spans *s, uint64_t address, uint64_t *out);
/* Appends the parts of range r that are in the linked file, at their addresses there. ST_ERR: no
 * visits are left, or out of memory. */
enum st link_spans_range(struct link_spans *s, struct debug_range r, struct range_vec *out,
                         struct err *e) BASE_MUST_USE;
/* Charges one visit of a span or of a row in it. Spans of undamaged files are visited a few times
 * for each range and sequence; damaged ones could cause a visit of all spans each time. ST_ERR: no
 * visits are left. */
enum st link_spans_charge(struct link_spans *s, struct err *e) BASE_MUST_USE;
/* Allows the visits for `items` more ranges and rows. */
void link_spans_allow(struct link_spans *s, size_t items);

#endif
