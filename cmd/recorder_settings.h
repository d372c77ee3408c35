/* What stallrec is asked to record, and how: the options that reach the library in the program. */
#ifndef STALLKIT_CMD_RECORDER_SETTINGS_H
#define STALLKIT_CMD_RECORDER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "base/strbuf.h"
#include "recorder/stallrec.h"

struct recorder_settings {
    const char *directory;              /* of dumps */
    const char *trace;                  /* to write; NULL: none */
    const char *replay;                 /* a trace; NULL: none */
    const char *preset;                 /* NULL: the default */
    uint32_t threshold_ms;              /* 0: the preset's */
    uint32_t sample_ms, ring, check_ms; /* the same */
    uint32_t detectors;                 /* bits; 0: the preset's */
    uint32_t max_threads;               /* in one dump; 0: the preset's */
    uint32_t cpu_percent;               /* of one processor; 0: the preset's */
    struct strbuf loop_at;              /* one a line */
    struct strbuf context;              /* KEY=VALUE, one a line */
    unsigned context_count;
    uint64_t keep_days, keep_bytes, keep_files; /* 0 = no limit */
    bool follow, quiet, verbose;
    uint32_t pid;         /* of a process that runs; 0: a program is run */
    uint64_t for_seconds; /* how long it is recorded; 0: until it ends */
    bool attach;          /* nothing is loaded into the program */
    bool top;             /* a line each second */
    const char *threads;  /* "all", or a glob on names of threads; NULL: the main thread */
};

/* Each takes the value of an option, for its row of the table: `settings` is a struct
 * recorder_settings. False after a printed usage error. A preset's name is borrowed. */
bool settings_preset(void *settings, struct cli_parser *p);
bool settings_detectors(void *settings, struct cli_parser *p);
bool settings_loop_at(void *settings, struct cli_parser *p);
bool settings_context(void *settings, struct cli_parser *p);

/* Do the settings fit together, and has each a detector that uses it? False after a printed
 * usage error. */
bool settings_check(const struct recorder_settings *s, const struct cli_tool *tool);

/* The configuration of a recorder with these settings; its strings are the settings'. */
void settings_config(const struct recorder_settings *s, struct stallrec_config *out);

/* How long the loop has to be busy for a stall; 0: no detector watches that. */
uint64_t settings_stall_ms(const struct recorder_settings *s);

void settings_release(struct recorder_settings *s);

#endif
