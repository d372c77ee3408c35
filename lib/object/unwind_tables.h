/* Functions that a file's unwind tables name by their addresses. */
#ifndef STALLKIT_OBJECT_UNWIND_TABLES_H
#define STALLKIT_OBJECT_UNWIND_TABLES_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "object/object.h"

/* high 0: the table does not say where the function ends. */
typedef VEC(struct object_extent) extent_vec;

/* Appends the functions of .eh_frame (LSB 5.0, "Exception Frames"), in the order of the table.
 * ST_NONE: there is none. ST_ERR: it is damaged; what stands before the damage was appended. */
enum st eh_frame_functions(const struct object_slice *s, extent_vec *out,
                           struct err *e) BASE_MUST_USE;

/* Appends the starts in __unwind_info (mach-o/compact_unwind_encoding.h). Linkers join neighbours
 * that are unwound alike, so some starts are missing. Statuses as above. */
enum st unwind_info_functions(const struct object_slice *s, extent_vec *out,
                              struct err *e) BASE_MUST_USE;

#endif
