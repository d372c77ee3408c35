/* What stallrec is asked to record, and how: the options that reach the library in the program. */
#ifndef STALLKIT_CMD_RECORDER_SETTINGS_H
#define STALLKIT_CMD_RECORDER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "base/strbuf.h"

struct recorder_settings {
    const char *preset;    /* NULL: the default */
    uint32_t threshold_ms; /* 0: the preset's */
    uint32_t detectors;    /* bits; 0: the preset's */
    uint32_t cpu_limit;    /* in permille; 0: the preset's */
    struct strbuf loop_at; /* one a line */
    struct strbuf context; /* KEY=VALUE, one a line */
    unsigned context_count;
    uint64_t keep_days, keep_bytes, keep_files; /* 0 = no limit */
    bool follow;
};

/* Each takes an option's value; false after a printed usage error. A preset's name is borrowed. */
bool settings_preset(struct recorder_settings *s, const struct cli_tool *tool, const char *name);
bool settings_detectors(struct recorder_settings *s, const struct cli_tool *tool,
                        const char *names);
bool settings_loop_at(struct recorder_settings *s, const struct cli_tool *tool, const char *place);
bool settings_context(struct recorder_settings *s, const struct cli_tool *tool, const char *pair);

/* Does each setting have a detector that uses it? False after a printed usage error. */
bool settings_check(const struct recorder_settings *s, const struct cli_tool *tool);

/* How long the loop has to be busy for a stall; 0: no detector watches that. */
uint64_t settings_stall_ms(const struct recorder_settings *s);

void settings_release(struct recorder_settings *s);

#endif
