/* Chooses which process to read from a report of samples. */
#ifndef STALLKIT_DUMP_REPORT_SECTIONS_PRIVATE_H
#define STALLKIT_DUMP_REPORT_SECTIONS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/json/span_private.h"

/* The facts from the section of one process. */
struct report_section {
    size_t number;     /* number in the report, from 1; 0 = none */
    size_t count;      /* number of all sections */
    struct span value; /* the process, "Shop [301]", borrowed from the text */
    bool app; /* the executable is in the bundle of an app that is neither an extension nor part of
                 the system */
    bool suspended; /* the system had suspended the process, so that it was not meant to run */
    bool front;
    bool stack;              /* the section has a line of a stack */
    uint64_t unresponsive_s; /* seconds without a response before the samples; 0 = not given */
    uint64_t blocked;        /* samples in which, as the text says, the main thread was blocked */
    uint64_t cpu_ms;         /* processor time in ms; 0 = not given */
    uint64_t samples;        /* samples of the process; 0 = not given */
    bool images; /* the section's list of images was read; it is the end of the section */
    bool cut; /* the report ends inside the section of its last process, which is not this one, so
                 that further sections may be missing */
};

/* The process that the caller asks for; NULL = not given. If only the id is given, the id has to
 * match. */
struct report_wanted {
    const char *name, *pid;
    bool either; /* true: the name or the id has to match; false: the name, if given, has to match,
                    and the id decides among several processes of that name */
};

/* Finds the section of the wanted process. If wanted has neither name nor pid, finds that of the
 * most blocked app: the one that did not respond for longest, else the one whose main thread was
 * blocked in most samples, else the one in front, else the one that ran most, else that of most
 * samples, else the first. Suspended apps, and then other processes, are taken only if there is no
 * such app. False: there is none; out->count is set all the same. */
bool report_choose_section(struct span text, const struct report_wanted *wanted,
                           struct report_section *out);
/* Returns in words why report_choose_section took this section when no process was wanted. */
const char *report_section_why(const struct report_section *s);

#endif
