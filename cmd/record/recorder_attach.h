/* Implements stallrec -p and --attach, which record a process from outside. */
#ifndef STALLKIT_CMD_RECORDER_ATTACH_H
#define STALLKIT_CMD_RECORDER_ATTACH_H

#include "record/recorder_settings.h"

/* Records the process settings->pid until it ends, settings->for_seconds (if not 0) have passed, or
 * SIGHUP, SIGINT, SIGQUIT or SIGTERM comes. With settings->follow, the processes that it starts are
 * recorded, too, for up to two seconds after its own end. Returns the exit status: 0, or 125 if the
 * process cannot be recorded. */
int recorder_attach_process(const struct recorder_settings *settings);

/* Runs the program argv, whose file is `path`, records it until it ends or settings->for_seconds
 * (if not 0) have passed, and waits for its end. Returns the exit status: the program's, 128 plus
 * the signal that ended it, 126 if it cannot be run, or 125 if it cannot be started or recorded. */
int recorder_attach_program(const struct recorder_settings *settings, const char *path,
                            char **argv);

#endif
