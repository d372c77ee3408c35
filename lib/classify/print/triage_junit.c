/* Writes JUnit's XML for build servers: a test case for each bucket. The text of all cases stands
 * in the suite's system-out, because both schemas allow text only there, see junit_xml.h. */
#include <inttypes.h>
#include <stdio.h>

#include "classify/text/junit_xml.h"
#include "classify/print/triage_text.h"

struct junit {
    const struct triage *t;
    struct junit_xml xml;
    struct strbuf text; /* scratch */
};

static const char *triage_junit_title_of(struct junit *j, const struct bucket *b) {
    strbuf_clear(&j->text);
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_addstr(&j->text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&j->text, b->frames[i]);
    }
    strbuf_addf(&j->text, " [%s]", b->id);
    return strbuf_cstr(&j->text);
}

static void put_case(struct junit *j, const struct bucket *b) {
    unsigned confidence;
    char class[64];
    snprintf(class, sizeof class, "stalls.%s", rule_cause_text(tally_cause(b->tally, &confidence)));
    junit_case(&j->xml, &(struct junit_case){.class = class,
                                             .name = triage_junit_title_of(j, b),
                                             .ms = b->tally->ms});
}

/* Writes the line of a bucket in the suite's output. */
static void put_line(struct junit *j, const struct bucket *b) {
    char share[NUMBER_SIZE], ms[NUMBER_SIZE], users[NUMBER_SIZE], p95[NUMBER_SIZE];
    unsigned confidence;
    const char *cause = rule_cause_text(tally_cause(b->tally, &confidence));
    sink_printf(j->xml.out, "%s  %s %s, ", b->id, text_weight_share(j->t, b->tally, share),
                text_stalled(b->tally, ms));
    strbuf_clear(&j->text);
    text_add_counted(&j->text, b->tally->stalls, "stall", "stalls");
    strbuf_addf(&j->text, ", users %s, p95 %s, %s: ", text_users(b->users, 0, users),
                text_duration(tally_percentile(b->tally, 950), p95), cause);
    text_add_why(&j->text, b);
    junit_text(&j->xml, strbuf_cstr(&j->text));
    sink_char(j->xml.out, '\n');
}

void triage_print_junit(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct junit j = {.t = t, .xml = {.out = out}};
    const struct bucket_set *set = &t->level[0];
    size_t shown = v->top && v->top < set->buckets.len ? v->top : set->buckets.len;
    const struct junit_suite suite = {.name = "stallclassify",
                                      .package = "stalls",
                                      .tests = shown,
                                      .time = t->total.last_time,
                                      .ms = t->total.ms};
    junit_begin(&j.xml, &suite);
    strbuf_addf(&j.text, "%s, %012" PRIx64, t->options.rules, t->options.rules_hash >> 16);
    junit_property(&j.xml, "rules", strbuf_cstr(&j.text));
    junit_begin_cases(&j.xml);
    for (size_t i = 0; i < shown; i++) {
        put_case(&j, set->buckets.data[set->ranked[i]]);
    }
    junit_begin_output(&j.xml);
    strbuf_clear(&j.text);
    text_add_totals(&j.text, t);
    junit_text(&j.xml, strbuf_cstr(&j.text));
    sink_char(out, '\n');
    for (size_t i = 0; i < shown; i++) {
        put_line(&j, set->buckets.data[set->ranked[i]]);
    }
    junit_end(&j.xml);
    (void)strbuf_check(&j.text, &out->err);
    strbuf_release(&j.text);
}
