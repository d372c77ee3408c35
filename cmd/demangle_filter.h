/* stalladdr --demangle: c++filt for all the languages that we read. */
#ifndef STALLKIT_CMD_DEMANGLE_FILTER_H
#define STALLKIT_CMD_DEMANGLE_FILTER_H

#include <stddef.h>

#include "cli.h"
#include "demangle/demangle.h"

/* Writes each operand, a name or text with names, as a line with readable names; without operands,
 * and at "-", stdin, byte for byte but for the names, each part as soon as it is read. Failures are
 * printed and counted. CLI_USAGE if stdin is a terminal; else CLI_OK. */
int demangle_filter(const struct cli_tool *tool, char **operands, size_t count,
                    enum demangle_style style, struct cli_output *output,
                    struct cli_failures *failures);

#endif
