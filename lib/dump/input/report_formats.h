/* Converts reports of other tools to stall dumps: those of the built-in formats (KSCrash and
 * Matrix, MetricKit, Apple's .ips and .crash, Android, perf and others), and those that a map
 * describes (report_map.h). stall-reports(5) lists the members of a dump that each format gives,
 * and the values that are assumed for the others. */
#ifndef STALLKIT_DUMP_REPORT_FORMATS_H
#define STALLKIT_DUMP_REPORT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "dump/maps/report_map.h"
#include "dump/reports/report_take.h"

struct report_format;

/* Returns the format of the text report that starts with these bytes; NULL: no text report starts
 * with them. *more is set if they are too few for an answer. */
const struct report_format *report_text_format_of(const char *bytes, size_t len, bool *more);

/* A report format in words, for listings. */
struct report_format_words {
    const char *name;   /* name in the dump's "report" */
    const char *source; /* the tool that writes the format */
    const char *since;  /* the first version of Stallkit that reads the format */
};
/* Describes built-in format i; maps are not among them. False: there are no more. */
bool report_format_describe(size_t i, struct report_format_words *out);
/* Returns built-in format i; NULL: there are no more. */
const struct report_format *report_format_at(size_t i);
/* Does this format recognise the document as one of its own? */
bool report_format_claims(const struct report_format *f, const char *text, size_t len);

/* Does a reader recognise the document? maps: as in report_convert. */
bool report_is_recognised(const char *text, size_t len, const struct report_maps *maps);

/* Converts one document, as dump_stream_next returns it, into the dumps that it holds, in order:
 * one, or one for each diagnostic of a MetricKit payload, each report of a list or an envelope, or
 * each object that a map's `each` finds. Each dump keeps the document in its member "report".
 * ST_NONE: the document is no report. ST_ERR: it is damaged, past a limit of dump.h, or has no
 * usable stack (ERR_UNSUPPORTED, or ERR_NOTHING if reports of its kind hold no stall); the
 * undamaged rest of a payload or list has been taken. maps may be NULL; users' maps
 * (report_maps_add) are tried before the built-in formats, built-in maps after them. Thread safe
 * once dump_library_init has run. */
enum st report_convert(const char *text, size_t len, const struct report_maps *maps,
                       report_take take, void *ctx, struct err *e) BASE_MUST_USE;
/* How a document is to be converted. Zero-initialised = as report_convert does. */
struct report_choice {
    /* Of a report of several processes, the one with this name or id is read, and a report that
     * lacks it is refused. NULL: the process that the report is about, see stall-reports(5). */
    const char *process;
    /* Number of the document in its input. It becomes a part of the ids of stalls that are written
     * without a time, because equal stalls would else have equal ids; 0 = not known. */
    uint64_t number;
};
/* Converts as report_convert does. */
enum st report_convert_chosen(const char *text, size_t len, const struct report_maps *maps,
                              const struct report_choice *choice, report_take take, void *ctx,
                              struct err *e) BASE_MUST_USE;

#endif
