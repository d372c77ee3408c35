/* Reports of other tools as stall dumps: KSCrash and Matrix, MetricKit, Apple's .ips and .crash.
 * What each of them gives, and what is assumed where it says nothing, stands in stall-reports(5).
 */
#ifndef STALLKIT_DUMP_REPORT_H
#define STALLKIT_DUMP_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum report_format {
    REPORT_NONE = 0,  /* no report: a dump, a session record, or nothing that we know */
    REPORT_KSCRASH,   /* KSCrash JSON, also as Matrix and others extend it */
    REPORT_METRICKIT, /* a diagnostic payload, one diagnostic, or one call stack tree */
    REPORT_IPS,       /* Apple's .ips: a line of JSON, then JSON or text; or its JSON alone */
    REPORT_CRASH,     /* Apple's text (.crash) */
    REPORT_LIST       /* a JSON array of reports */
};

/* What a document is, by its first line or the names of its members. It may still be damaged. */
enum report_format report_recognise(const char *text, size_t len);

/* Does an input that starts with these bytes hold a text report? *more: these bytes are too few to
 * tell. */
bool report_is_text(const char *bytes, size_t len, bool *more);

/* Gets a dump: one line of JSON (stall-dump/1) without a line feed, borrowed for the call. An error
 * ends the conversion. */
typedef enum st (*report_take)(void *ctx, const char *text, size_t len, struct err *e);

/* Converts one document, as the stream hands it out, into the dumps that it holds: one, or for a
 * MetricKit payload or a list one for each diagnostic or report, in their order. The document is
 * kept in them, in the member "report". ST_NONE: it is no report. ST_ERR: damaged, past a limit of
 * dump.h, or a report without a stack to speak of (ERR_UNSUPPORTED); of a payload or list the
 * undamaged rest has been taken. Thread safe as long as dump_library_init ran. */
enum st report_convert(const char *text, size_t len, report_take take, void *ctx,
                       struct err *e) BASE_MUST_USE;

#endif
