/* JUnit's XML, as build servers read it: one suite of test cases. What is written is valid under
 * both of the schemas that are around, windyroad's (of Ant) and Jenkins' (junit-10.xsd), which is
 * why attributes that say little are there. Errors stick to the sink. */
#ifndef STALLKIT_CLASSIFY_JUNIT_XML_H
#define STALLKIT_CLASSIFY_JUNIT_XML_H

#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "base/strbuf.h"

/* Set out, the rest zero; junit_end releases. */
struct junit_xml {
    struct sink *out; /* borrowed */
    struct strbuf scratch;
};

struct junit_suite {
    const char *name, *package;
    size_t tests, failures, skipped;
    const char *time; /* when, RFC 3339; of anything else 1970 is written */
    uint64_t ms;      /* how long */
};

struct junit_case {
    const char *class, *name;
    uint64_t ms;
    const char *type;    /* of a failure */
    const char *failure; /* why it failed; NULL = it did not */
    const char *skipped; /* why it was not run; NULL = it was */
};

/* A report is written by these calls in this order: the beginning, properties, the cases, text of
 * the output, the end. */
void junit_begin(struct junit_xml *x, const struct junit_suite *s);
void junit_property(struct junit_xml *x, const char *name, const char *value);
void junit_begin_cases(struct junit_xml *x);
void junit_case(struct junit_xml *x, const struct junit_case *c);
void junit_begin_output(struct junit_xml *x);
/* Text of the output, of any lines: escapes what XML would read, and what it cannot hold. */
void junit_text(struct junit_xml *x, const char *text);
/* A lack of memory becomes the sink's error at the end. */
void junit_end(struct junit_xml *x);

#endif
