/* Reports of other tools as stall dumps: KSCrash and Matrix, MetricKit, Apple's .ips and .crash.
 * What each of them gives, and what is assumed where it says nothing, stands in stall-reports(5).
 */
#ifndef STALLKIT_DUMP_REPORT_FORMATS_H
#define STALLKIT_DUMP_REPORT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "dump/reports/report_take.h"

/* Does an input that starts with these bytes hold a text report? *more: these bytes are too few to
 * tell. */
bool report_is_text(const char *bytes, size_t len, bool *more);

/* Converts one document, as the stream hands it out, into the dumps that it holds: one, or for a
 * MetricKit payload or a list one for each diagnostic or report, in their order. The document is
 * kept in them, in the member "report". ST_NONE: it is no report. ST_ERR: damaged, past a limit of
 * dump.h, or a report without a stack to speak of (ERR_UNSUPPORTED); of a payload or list the
 * undamaged rest has been taken. Thread safe as long as dump_library_init ran. */
enum st report_convert(const char *text, size_t len, report_take take, void *ctx,
                       struct err *e) BASE_MUST_USE;

#endif
