/* Runs a command's main in this process, on bytes in memory, for fuzzers and for the sweep of cut
 * files, which is some twenty times as fast as starting the program. Linux, for tests only. */
#ifndef STALLKIT_CMD_COMMAND_RUN_H
#define STALLKIT_CMD_COMMAND_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The main functions of the commands, which are compiled under these names. */
int stalladdr_main(int argc, char **argv);
int stallclassify_main(int argc, char **argv);
int stallflame_main(int argc, char **argv);
int stallsym_main(int argc, char **argv);

/* The exit status and the output of a run. */
struct command_output {
    int status;
    uint64_t out;  /* hash of stdout; 0 if that is empty */
    size_t length; /* bytes of stdout */
    size_t lines;  /* lines on stderr */
};

/* Runs `command`, a main function, with the words of a NULL-terminated list, in which INPUT stands
 * for a file with the bytes. The files are in memory, made by the first call and emptied by each;
 * an error of the system aborts. Not thread safe. */
struct command_output command_run(int (*command)(int argc, char **argv), const char *const *words,
                                  const void *bytes, size_t len);
#define INPUT "<input>"

#endif
