/* Writes the XML of a test suite. */
#include "classify/text/junit_xml.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"

/* Writes text with `end` in place of line feeds; a line feed at the end of the text is left out
 * unless `end` is one. XML's own characters, and those that it cannot hold, are escaped line by
 * line. */
static void put_lines(struct junit_xml *x, const char *text, char end) {
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        strbuf_clear(&x->scratch);
        xml_text_add(&x->scratch, text, len);
        sink_write(x->out, strbuf_cstr(&x->scratch), x->scratch.len);
        if (text[len] == '\n' && (end == '\n' || text[len + 1])) {
            sink_char(x->out, end);
        }
    }
}

void junit_text(struct junit_xml *x, const char *text) {
    put_lines(x, text, '\n');
}

static void put_attribute(struct junit_xml *x, const char *name, const char *value) {
    sink_printf(x->out, " %s=\"", name);
    put_lines(x, value, ' ');
    sink_char(x->out, '"');
}

/* Writes an attribute "time" in seconds, as a decimal number. */
static void put_time(struct junit_xml *x, uint64_t ms) {
    sink_printf(x->out, " time=\"%" PRIu64 ".%03" PRIu64 "\"", ms / 1000, ms % 1000);
}

/* Writes an attribute "timestamp" as "2026-11-20T10:00:00", the only form that windyroad's schema
 * allows: the first 19 bytes of `time`. If `time` is shorter, or has no T after the day,
 * 1970-01-01T00:00:00 is written. */
static void put_timestamp(struct junit_xml *x, const char *time) {
    enum { SECONDS = 19 };
    char text[] = "1970-01-01T00:00:00";
    if (strlen(time) >= SECONDS && time[10] == 'T') {
        memcpy(text, time, SECONDS);
    }
    put_attribute(x, "timestamp", text);
}

void junit_begin(struct junit_xml *x, const struct junit_suite *s) {
    sink_str(x->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    put_attribute(x, "name", s->name);
    put_attribute(x, "package", s->package);
    sink_printf(x->out, " id=\"0\" hostname=\"localhost\" tests=\"%zu\" failures=\"%zu\"", s->tests,
                s->failures);
    if (s->skipped) {
        sink_printf(x->out, " skipped=\"%zu\"", s->skipped);
    }
    sink_str(x->out, " errors=\"0\"");
    put_timestamp(x, s->time);
    put_time(x, s->ms);
    sink_str(x->out, ">\n    <properties>\n");
}

void junit_property(struct junit_xml *x, const char *name, const char *value) {
    sink_str(x->out, "      <property");
    put_attribute(x, "name", name);
    put_attribute(x, "value", value);
    sink_str(x->out, "/>\n");
}

void junit_begin_cases(struct junit_xml *x) {
    sink_str(x->out, "    </properties>\n");
}

void junit_case(struct junit_xml *x, const struct junit_case *c) {
    sink_str(x->out, "    <testcase");
    put_attribute(x, "classname", c->class);
    put_attribute(x, "name", c->name);
    put_time(x, c->ms);
    if (!c->failure && !c->skipped) {
        sink_str(x->out, "/>\n");
        return;
    }
    sink_str(x->out, c->failure ? ">\n      <failure" : ">\n      <skipped");
    if (c->failure) {
        put_attribute(x, "type", c->type);
    }
    put_attribute(x, "message", c->failure ? c->failure : c->skipped);
    sink_str(x->out, "/>\n    </testcase>\n");
}

void junit_begin_output(struct junit_xml *x) {
    sink_str(x->out, "    <system-out>");
}

void junit_end(struct junit_xml *x) {
    sink_str(x->out, "</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
    (void)strbuf_check(&x->scratch, &x->out->err);
    strbuf_release(&x->scratch);
}
