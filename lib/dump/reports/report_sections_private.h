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
    bool app; /* the executable is in an app's bundle that is no extension and not the system's */
    bool suspended; /* suspended by the system, so not meant to run */
    bool front;
    uint64_t unresponsive_s; /* seconds without a response before the samples; 0 = not given */
    uint64_t blocked;        /* samples in which the main thread was blocked by another */
    uint64_t cpu_ms;         /* processor time in ms; 0 = not given */
    uint64_t samples;        /* samples of the process; 0 = not given */
    bool images;             /* the section's images are listed, which end it */
    bool cut;                /* the report ends within the section of another process */
};

/* The process that is asked for; NULL = not given. An id without a name finds a process only if
 * `either` is true. */
struct report_wanted {
    const char *name, *pid;
    bool either; /* true: name or id has to fit; false: the name has to, and the id decides among
                    several */
};

/* Finds the section of the wanted process. If wanted has neither name nor pid, finds that of the
 * most blocked app: the one that did not respond for longest, else the one whose main thread was
 * blocked in most samples, else the one in front, else the one that ran most, else that of most
 * samples, else the first. Suspended apps, and then other processes, are taken only if there is no
 * such app. False: there is none. */
bool report_choose_section(struct span text, const struct report_wanted *wanted,
                           struct report_section *out);
/* Returns in words why report_choose_section took this section when no process was wanted. */
const char *report_section_why(const struct report_section *s);

#endif
