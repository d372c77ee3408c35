/* Prints the formats that the commands read. */
#ifndef STALLKIT_CMD_CLI_FORMATS_H
#define STALLKIT_CMD_CLI_FORMATS_H

#include "cli_dumps.h"

/* Prints to the file `output` (NULL: stdout) a line for each format that the commands read,
 * including loaded maps (cli_maps_load): its name, the first version of Stallkit that read it, and
 * the tool that writes it. Returns CLI_OK, or CLI_FAILED after a message. */
int cli_formats_list(struct cli_dumps *d, const char *output);

#endif
