/* JUnit's XML, as build servers read it: a test case for each bucket. Written to be valid under
 * both of the schemas that are around, windyroad's (Ant) and Jenkins', which is why attributes that
 * say little are there, and what a case has to say stands in the suite's system-out. */
#include <inttypes.h>
#include <string.h>

#include "base/xml_text.h"
#include "classify/triage_text.h"

struct junit {
    const struct triage *t;
    const struct triage_view *v;
    struct sink *out;
    struct strbuf text, xml; /* scratch */
};

static void put_escaped(struct junit *j, const char *s) {
    strbuf_clear(&j->xml);
    xml_text_add(&j->xml, s, strlen(s));
    sink_write(j->out, strbuf_cstr(&j->xml), j->xml.len);
}

static void put_attribute(struct junit *j, const char *name, const char *value) {
    sink_printf(j->out, " %s=\"", name);
    put_escaped(j, value);
    sink_char(j->out, '"');
}

/* Seconds, as a decimal number. */
static void put_time(struct junit *j, uint64_t ms) {
    sink_printf(j->out, " time=\"%" PRIu64 ".%03" PRIu64 "\"", ms / 1000, ms % 1000);
}

static const char *title_of(struct junit *j, const struct bucket *b) {
    strbuf_clear(&j->text);
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_addstr(&j->text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&j->text, &b->frames[i]);
    }
    strbuf_addf(&j->text, " [%s]", b->id);
    return strbuf_cstr(&j->text);
}

static const char *failure_of(const struct junit *j, const struct bucket *b) {
    return j->v->failure ? j->v->failure(j->v->failure_ctx, b->id) : NULL;
}

static void put_case(struct junit *j, const struct bucket *b) {
    unsigned confidence;
    const char *failure = failure_of(j, b);
    strbuf_clear(&j->text);
    strbuf_addf(&j->text, "stalls.%s", rule_cause_text(tally_cause(&b->tally, &confidence)));
    sink_str(j->out, "    <testcase");
    put_attribute(j, "classname", strbuf_cstr(&j->text));
    put_attribute(j, "name", title_of(j, b));
    put_time(j, b->tally.ms);
    if (!failure) {
        sink_str(j->out, "/>\n");
        return;
    }
    sink_str(j->out, ">\n      <failure type=\"stall\"");
    put_attribute(j, "message", failure);
    sink_str(j->out, "/>\n    </testcase>\n");
}

/* A line of the suite's output. */
static void put_line(struct junit *j, const struct bucket *b) {
    char share[NUMBER_SIZE], ms[NUMBER_SIZE], users[NUMBER_SIZE], p95[NUMBER_SIZE];
    unsigned confidence;
    const char *cause = rule_cause_text(tally_cause(&b->tally, &confidence));
    sink_printf(j->out, "%s  %s %s, ", b->id, text_share(b->tally.ms, j->t->total.ms, share),
                text_ms(b->tally.ms, ms));
    strbuf_clear(&j->text);
    text_add_counted(&j->text, b->tally.stalls, "stall", "stalls");
    strbuf_addf(&j->text, ", users %s, p95 %s, %s: %s", text_users(b->users, users),
                text_duration(tally_percentile(&b->tally, 950), p95), cause, text_reason(b));
    put_escaped(j, strbuf_cstr(&j->text));
    sink_char(j->out, '\n');
}

/* "2026-11-20T10:00:00", the schema's only form; of no dump the epoch. */
static void put_timestamp(struct junit *j) {
    enum { SECONDS = 19 };
    const char *time = j->t->total.last_time;
    char text[] = "1970-01-01T00:00:00";
    if (strlen(time) >= SECONDS && time[10] == 'T') {
        memcpy(text, time, SECONDS);
    }
    put_attribute(j, "timestamp", text);
}

void triage_print_junit(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct junit j = {.t = t, .v = v, .out = out};
    const struct bucket_set *set = &t->level[0];
    size_t shown = v->top && v->top < set->buckets.len ? v->top : set->buckets.len, failures = 0;
    for (size_t i = 0; i < shown; i++) {
        failures += failure_of(&j, set->buckets.data[set->ranked[i]]) != NULL;
    }
    sink_printf(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                "  <testsuite name=\"stallclassify\" package=\"stalls\" id=\"0\" "
                "hostname=\"localhost\" tests=\"%zu\" failures=\"%zu\" errors=\"0\"",
                shown, failures);
    put_timestamp(&j);
    put_time(&j, t->total.ms);
    sink_str(out, ">\n    <properties>\n      <property name=\"rules\"");
    strbuf_addf(&j.text, "%s, %012" PRIx64, t->options.rules, t->options.rules_hash >> 16);
    put_attribute(&j, "value", strbuf_cstr(&j.text));
    sink_str(out, "/>\n    </properties>\n");
    for (size_t i = 0; i < shown; i++) {
        put_case(&j, set->buckets.data[set->ranked[i]]);
    }
    sink_str(out, "    <system-out>");
    strbuf_clear(&j.text);
    text_add_totals(&j.text, t);
    put_escaped(&j, strbuf_cstr(&j.text));
    sink_char(out, '\n');
    for (size_t i = 0; i < shown; i++) {
        put_line(&j, set->buckets.data[set->ranked[i]]);
    }
    sink_str(out, "</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
    if (j.text.failed || j.xml.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&j.text);
    strbuf_release(&j.xml);
}
