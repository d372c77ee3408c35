/* Runs a whole command for a fuzzer; one input is one file that the command reads. Linux, for
 * tests only. */
#ifndef STALLKIT_CMD_FUZZ_COMMAND_H
#define STALLKIT_CMD_FUZZ_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fuzz/command_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The words of a command line, NULL-terminated. INPUT stands for the file, STORE for the folder's
 * symbol store. */
struct command_words {
    const char *words[12];
    bool may_ask; /* status 2 is allowed, as it may say that the file needs an option that chooses a
                     part of it */
};
#define STORE "<store>"

/* Runs `command` with one of `count` command lines on the input. The size of the input chooses the
 * line, so that a corpus file stays what its format says. Aborts if the command reports a wrong
 * usage, unless the line may ask, or a status that it does not document, fails with status 1 or 2
 * without a message, or gives another status or output when it is run again (after an empty output,
 * and about one other in sixteen). A gzip that inflates to more than 256 KiB is left out, for time.
 * Returns 0, for libFuzzer. Not thread safe. */
int fuzz_command(int (*command)(int argc, char **argv), const struct command_words *lines,
                 size_t count, const uint8_t *data, size_t size);

/* Returns the path of a folder that the first call makes, and that is removed at exit. The
 * first call sets the environment of the commands: XDG_CACHE_HOME and TMPDIR are this folder, and
 * COLUMNS and DEBUGINFOD_URLS are unset. */
const char *fuzz_folder(void);
/* Makes the symbol store that STORE stands for from two debug files of testdata/objects, unless
 * the store exists. */
void fuzz_make_store(void);
/* Removes the symbol store that STORE stands for. */
void fuzz_remove_store(void);

/* Aborts if `holds` is false. */
void fuzz_insist(bool holds);

#endif
