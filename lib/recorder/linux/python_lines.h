/* The line of an instruction of Python's bytecode, by the table of its code object. */
#ifndef STALLREC_PYTHON_LINES_H
#define STALLREC_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "linux/python_layout.h"

/* table: `size` bytes of it, any bytes; first_line: the code object's; offset: of the instruction,
 * in bytes. 0 = the table has no line for it. Takes time in proportion to `size`. */
uint32_t python_line_async(enum python_lines form, const uint8_t *table, size_t size,
                           uint32_t first_line, uint64_t offset);

#endif
