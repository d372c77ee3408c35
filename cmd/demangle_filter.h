/* Implements stalladdr --demangle: c++filt for all languages that stallkit demangles. */
#ifndef STALLKIT_CMD_DEMANGLE_FILTER_H
#define STALLKIT_CMD_DEMANGLE_FILTER_H

#include <stddef.h>

#include "cli.h"
#include "demangle/demangle.h"

/* Writes each operand, a name or text with names, as a line with readable names; for "-", or
 * without operands, copies stdin and makes only its names readable, each part as soon as it is
 * read, but a word that may continue only when its end is read. Failures are printed and counted.
 * Returns CLI_OK; CLI_USAGE, with the error printed, if there are no operands and stdin is a
 * terminal, or as cli_for_each_input does. */
int demangle_filter(const struct cli_tool *tool, char **operands, size_t count,
                    enum demangle_style style, struct cli_output *output,
                    struct cli_failures *failures);

#endif
