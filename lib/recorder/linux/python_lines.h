/* Finds the line of a bytecode instruction of Python, by the table of its code object. */
#ifndef STALLREC_PYTHON_LINES_H
#define STALLREC_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "linux/python_layout.h"

/* Returns the line of the instruction at byte `offset` of a code object, by its line table of
 * `size` bytes, which is untrusted; 0 = the table has no line for it. first_line is the code
 * object's. The time is proportional to `size`. */
uint32_t python_line_async(enum python_lines form, const uint8_t *table, size_t size,
                           uint32_t first_line, uint64_t offset);

#endif
