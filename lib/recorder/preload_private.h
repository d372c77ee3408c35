/* What the files of the preloaded library share. */
#ifndef STALLREC_PRELOAD_PRIVATE_H
#define STALLREC_PRELOAD_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload.h"

enum { PRELOAD_NAMES = 16, PRELOAD_PATH = 4096, PRELOAD_CONTEXT = 4096 };

/* What stallrec(1) asked for. */
struct preload_config {
    char directory[PRELOAD_PATH];
    char
        names[PRELOAD_TEXT * PRELOAD_NAMES]; /* --loop-at: NUL-terminated each, then an empty one */
    char preset[PRELOAD_TEXT];               /* "": the default */
    uint32_t threshold_ms;                   /* 0: the preset's */
    uint32_t keep_days, keep_files;          /* 0: no limit */
    uint64_t keep_bytes;
    char context[PRELOAD_CONTEXT]; /* "KEY=VALUE", NUL-terminated each, then an empty one */
    struct preload_report *report; /* never NULL */
};

/* Reads the environment, and unless --follow takes all that is ours out of it, so that what the
 * program runs is not recorded. False when this process is not to be recorded. Main thread, once.
 */
bool preload_read_environment(struct preload_config *config);

/* Finds the functions that exec is passed on to. Main thread, as early as can be. */
void preload_resolve_exec(void);

#endif
