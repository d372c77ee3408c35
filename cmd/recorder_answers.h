/* What stallrec answers without running a program. Each prints to the standard output; false: after
 * a message in the tool's name. */
#ifndef STALLKIT_CMD_RECORDER_ANSWERS_H
#define STALLKIT_CMD_RECORDER_ANSWERS_H

#include <stdbool.h>

/* What can be detected. */
bool recorder_list_detectors(const char *tool);
/* The presets, with all values that have an effect in them and their sources. */
bool recorder_list_presets(const char *tool);
/* Prints what the recorder would do over a trace, a file or "-". preset: the initial settings; NULL
 * = the default. */
bool recorder_replay(const char *tool, const char *trace, const char *preset);

#endif
