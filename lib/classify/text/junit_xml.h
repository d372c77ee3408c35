/* Writes JUnit's XML for build servers: one suite of test cases. The output is valid under both
 * common schemas, windyroad's (of Ant) and Jenkins' (junit-10.xsd), and so has attributes without
 * information. Errors stick to the sink. */
#ifndef STALLKIT_CLASSIFY_JUNIT_XML_H
#define STALLKIT_CLASSIFY_JUNIT_XML_H

#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "base/strbuf.h"

/* A report that is being written. The caller sets out and zeroes the rest; junit_end releases
 * it. */
struct junit_xml {
    struct sink *out; /* borrowed: takes the XML */
    struct strbuf scratch;
};

struct junit_suite {
    const char *name, *package;
    size_t tests, failures, skipped;
    /* Start of the run as RFC 3339 text, of which the first 19 bytes are written; if the text is
     * shorter or lacks the T, 1970-01-01T00:00:00 is written. */
    const char *time;
    uint64_t ms; /* duration of the run in ms */
};

struct junit_case {
    const char *class, *name;
    uint64_t ms;
    const char *type;    /* type of the failure; not used if failure is NULL */
    const char *failure; /* why the case failed; NULL = it did not */
    const char *skipped; /* why the case was skipped; NULL = it was run; not used if it failed */
};

/* The calls that write a report, in this order: the beginning, properties, the cases, text of the
 * output, the end. */
void junit_begin(struct junit_xml *x, const struct junit_suite *s);
void junit_property(struct junit_xml *x, const char *name, const char *value);
void junit_begin_cases(struct junit_xml *x);
void junit_case(struct junit_xml *x, const struct junit_case *c);
void junit_begin_output(struct junit_xml *x);
/* Writes text of the output, of one or more lines, escaped for XML. */
void junit_text(struct junit_xml *x, const char *text);
/* Ends the report. Out of memory becomes the sink's error here. */
void junit_end(struct junit_xml *x);

#endif
