/* Prints stallrec's lists, a replay, and the stalls that were found in a program. */
#ifndef STALLKIT_CMD_RECORDER_ANSWERS_H
#define STALLKIT_CMD_RECORDER_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/recorder_settings.h"
#include "record/watched_text.h"

/* The functions from here to recorder_replay run no program and print to the standard output.
 * They return false on a failure, after a message that begins with the tool's name. */

/* Prints the detectors. */
bool recorder_list_detectors(const char *tool);
/* Prints the presets, each with the values that have an effect in it and their sources. */
bool recorder_list_presets(const char *tool);
/* Replays a trace, a file or "-", and prints what the recorder would do. preset: the initial
 * settings; NULL = the default. */
bool recorder_replay(const char *tool, const char *trace, const char *preset);

struct preload_report;
struct recover_counts;
struct unwatched_processes;

/* Prints that `lost` dumps were lost. error: errno of the last one; 0: more dumps were open at once
 * than the recorder keeps. */
void recorder_say_lost(uint64_t lost, int error);
/* Prints that the program `name` was ended by the signal `number`. for_us: it may have been in a
 * system call that it made for the recorder. */
void recorder_say_signal(const char *name, int number, bool for_us);
/* How the program ended, and when it began and ended. ran: it could be run. */
struct recorder_ending {
    bool ran;
    int signal; /* signal that ended the program; 0: none */
    int pid;
    int64_t began_ms;            /* Unix time of the program's start */
    uint64_t began_ns, ended_ns; /* times of CLOCK_MONOTONIC */
    uint32_t left;               /* number of processes of unwatched_left */
};

/* Prints a line for each stall that began, ended or was taken back in the recorded processes since
 * the last call, unless a later item of the news has overwritten it. *heard: number of the last
 * item that was printed or passed over, 0 at first. now_ns: ns since the program's start. */
void recorder_say_news(const struct preload_report *report, uint64_t *heard, uint64_t now_ns);
/* Prints the line of a stall of this kind: one that continues, or, if `ended`, one that is over.
 * now_ns: ns since the program's start; age_ms: the stall's length so far. */
void recorder_say_stall(uint64_t now_ns, const char *kind, uint64_t age_ms, bool ended);
/* Prints that a stall whose line was printed, with the length was_ms, turned out to be none. */
void recorder_say_taken_back(uint64_t now_ns, uint64_t was_ms);

/* Prints the number of threads that should have been watched but were not. */
void recorder_say_unwatched(uint32_t threads);

/* Prints that a dump had no room for this number of threads. */
void recorder_say_cut(uint32_t threads);

/* Prints to stderr the stalls that were found, the share of the time that was watched, and errors;
 * with set->quiet only errors, and that no event loop was seen. report is a copy, to which no
 * process writes; its data of a killed process may be somewhat old, and `end` has the program's own
 * end. got: the dumps that were recovered from the folder. name: the program's name; others: the
 * processes in which nothing watched, whose time counts. */
void recorder_say_summary(const struct preload_report *report, const struct recorder_ending *end,
                          const struct recover_counts *got, const struct recorder_settings *set,
                          const char *name, const struct unwatched_processes *others);

#endif
