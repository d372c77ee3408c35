/* What stallrec prints: its lists, a replay, and what it found in a program. */
#ifndef STALLKIT_CMD_RECORDER_ANSWERS_H
#define STALLKIT_CMD_RECORDER_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder_settings.h"

/* The functions down to recorder_replay run no program and print to the standard output. They
 * return false on a failure, after a message that begins with the tool's name. */

/* Prints what can be detected. */
bool recorder_list_detectors(const char *tool);
/* Prints the presets, each with the values that have an effect in it and where these come from. */
bool recorder_list_presets(const char *tool);
/* Prints what the recorder would do over a trace, a file or "-". preset: the initial settings; NULL
 * = the default. */
bool recorder_replay(const char *tool, const char *trace, const char *preset);

struct preload_report;
struct recover_counts;
struct strbuf;

/* What a loop of this enum finder_kind is called. */
const char *recorder_loop_kind(uint32_t kind);
/* Adds "; not watched: launch 0.9 s, …" to a line: the reasons of at least 50 ms. unwatched_ms: as
 * enum rec_unwatched. */
void recorder_add_reasons(struct strbuf *line, const uint64_t *unwatched_ms);

/* How the program ended. */
struct recorder_ending {
    bool ran;
    int signal; /* that ended it; 0: none did */
    int pid;
    int64_t began_ms;            /* Unix time */
    uint64_t began_ns, ended_ns; /* of CLOCK_MONOTONIC */
};

/* Says a line for each stall that began or ended in the recorded processes since the last call.
 * *heard: 0 at first. now_ns: since the program's start. */
void recorder_say_news(const struct preload_report *report, uint64_t *heard, uint64_t now_ns);
/* One such line: of a stall of this kind that was found, or that ended. age_ms: so far, or its
 * length. */
void recorder_say_stall(uint64_t now_ns, const char *kind, uint64_t age_ms, bool ended);

/* Says that a dump had no room for so many threads. */
void recorder_say_cut(uint32_t threads);

/* Says to stderr what was found, how much of the time was watched, and what went wrong. report: a
 * copy, which no process writes to; one that died told its part some time before, but the program's
 * own end is known. got: what was recovered from its folder. name: of the program. */
void recorder_say_summary(const struct preload_report *report, const struct recorder_ending *end,
                          const struct recover_counts *got, const struct recorder_settings *set,
                          const char *name);

#endif
