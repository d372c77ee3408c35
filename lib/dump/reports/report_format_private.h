/* A report format: how it is recognised, and its reader. report_formats in report_formats.c has a
 * row for each. */
#ifndef STALLKIT_DUMP_REPORT_FORMAT_PRIVATE_H
#define STALLKIT_DUMP_REPORT_FORMAT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "dump/json/span_private.h"
#include "dump/reports/report_take.h"

struct report_maps;

/* A document whose format is known, and the callback that receives its dumps. */
struct report_document {
    struct span text; /* the unchanged document; not empty */
    report_take take;
    void *ctx;
    /* maps for the reports inside a list or an envelope; may be NULL */
    const struct report_maps *maps;
    const char *process; /* name or id of the process to read from a report of several; NULL = the
                            format chooses */
    uint64_t number;     /* number of the document in its input; 0 = not known */
};

enum { REPORT_MEMBERS_MAX = 32, REPORT_LOOK_MAX = 16 * 1024 };

struct report_format {
    /* name in --list-formats: the name in the dump's "report", or two of them with a comma */
    const char *name;
    const char *source; /* name of the tool that writes the format, as people know it */
    const char *since;  /* the first version of Stallkit that reads the format */
    /* JSON formats: names of the members that identify it, ended by NULL. NULL: a text format. */
    const char *const *members;
    /* JSON formats: does an object with these members (bit i: members[i]) have this format? */
    bool (*recognise)(unsigned present);
    /* Text formats: beginnings of its first line, ended by NULL. NULL: a JSON format, or one that
     * only `begins` recognises. */
    const char *const *heads;
    /* Text formats: do the first lines show this format? At most REPORT_LOOK_MAX bytes are read.
     * *more is set if the text is too short for an answer; otherwise it is not written. */
    bool (*begins)(struct span text, bool *more);
    /* Text formats with `begins`: `report` has the lines of a report so far; does `line`, which
     * follows them, belong to something else? Of these formats only report_text_format has NULL:
     * text_report.c finds where its reports end. */
    bool (*ends)(struct span report, struct span line);
    bool in_log; /* reports stand in a log, and the log's other lines are skipped */
    /* Converts a document, as report_convert does. */
    enum st (*read)(const struct report_document *d, struct err *e);
};

/* Returns which of these names the object has as members, as a bit mask for `recognise`. An object
 * with a member "format" is a dump or another record of Stallkit, and gives 0. */
unsigned report_members(struct span object, const char *const *names);

extern const struct report_format report_kscrash_format;
extern const struct report_format report_metrickit_format;
extern const struct report_format report_metrics_format;
extern const struct report_format report_ips_format;
extern const struct report_format report_text_format;
extern const struct report_format report_android_format;
extern const struct report_format report_sample_format;
extern const struct report_format report_perf_format;
extern const struct report_format report_seastar_format;

/* Is the text the first line of an .ips, to which a body belongs? No text of more than 64 KiB is.
 */
bool report_is_ips_header(struct span text);
/* Reads an .ips, which may be a part of another document. */
enum st report_read_ips(const struct report_document *d, struct err *e) BASE_MUST_USE;

#endif
