/* Declares the options of stallrec that are settings of the recorder. */
#ifndef STALLKIT_CMD_RECORDER_SETTINGS_H
#define STALLKIT_CMD_RECORDER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "base/strbuf.h"
#include "recorder/stallrec.h"

struct recorder_settings {
    const char *directory;              /* folder of dumps */
    const char *trace;                  /* trace to write; NULL: none */
    const char *replay;                 /* trace to replay; NULL: none */
    const char *preset;                 /* NULL: the default preset */
    uint32_t threshold_ms;              /* 0: the preset's threshold */
    uint32_t sample_ms, ring, check_ms; /* each 0: the preset's value */
    uint32_t detectors;                 /* bits of detectors; 0: the preset's */
    uint32_t max_threads;  /* maximum number of threads in one dump; 0: the preset's value */
    uint32_t cpu_percent;  /* maximum percentage of one processor; 0: the preset's value */
    struct strbuf loop_at; /* the places of loops, one on each line */
    struct strbuf context; /* KEY=VALUE, one on each line */
    unsigned context_count;
    uint64_t keep_days, keep_bytes, keep_files; /* limits of stored dumps; 0 = no limit */
    uint32_t file_mode;                         /* see struct stallrec_config */
    bool follow, quiet, verbose;
    uint32_t pid;         /* running process to record; 0: a program is run */
    uint64_t for_seconds; /* length of the recording; 0: until the process ends */
    bool attach;          /* the program is recorded from outside, without the library */
    bool top;             /* --top was given: a line is printed each second */
    /* "all", or a glob for names of threads; NULL: only the main thread is watched. */
    const char *threads;
};

/* Each of these functions takes an option's value, for the option's row of the table; `settings`
 * is a struct recorder_settings. A preset's name is borrowed. False after a printed usage error. */
bool settings_preset(void *settings, struct cli_parser *p);
bool settings_detectors(void *settings, struct cli_parser *p);
bool settings_loop_at(void *settings, struct cli_parser *p);
bool settings_mode(void *settings, struct cli_parser *p);
bool settings_context(void *settings, struct cli_parser *p);

/* Are the settings compatible, and are the detectors of --threshold and --cpu-limit on if these are
 * given? False after a printed usage error. */
bool settings_check(const struct recorder_settings *s, const struct cli_tool *tool);

/* Sets *out to the configuration of a recorder with the settings s, without a share of users or a
 * quota of uploads, and without the detector launch unless s->detectors names it; *out borrows
 * strings of s. */
void settings_config(const struct recorder_settings *s, struct stallrec_config *out);

/* Returns the glob for names of threads; NULL: only the main thread is watched. */
const char *settings_thread_glob(const struct recorder_settings *s);

/* Returns the least number of ms after which the detectors runloop (threshold_ms) and semaphore
 * (sem_ms times sem_count) report a stall, of those that are on; 0: neither is on. */
uint64_t settings_stall_ms(const struct recorder_settings *s);

/* Frees the texts of s. */
void settings_release(struct recorder_settings *s);

#endif
