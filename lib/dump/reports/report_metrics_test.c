/* Tests of metric payloads, which become session records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <string.h>

#include "dump/reports/report_support_test.h"

#define TIMES "'timeStampBegin':'2026-11-19 00:00:00 +0000','appVersion':'5.3.1',"
#define USED  "'applicationTimeMetrics':{'cumulativeForegroundTime':'7,200 sec'}"

/* Returns the record of a payload; the caller frees it with json_decref. */
static json_t *record_of(const char *payload) {
    struct converted c = convert_json_of(payload);
    if (c.st != ST_OK) {
        fail_msg("%s: %s", payload, c.err.text);
    }
    assert_int_equal(c.count, 1);
    assert_true(report_is_session(c.texts[0].data, c.texts[0].len));
    json_t *record = json_loads(strbuf_cstr(&c.texts[0]), 0, NULL);
    assert_non_null(record);
    release_converted(&c);
    return record;
}

static int64_t number_at(const json_t *o, const char *a, const char *b, const char *name) {
    o = a ? json_object_get(o, a) : o;
    o = b ? json_object_get(o, b) : o;
    const json_t *v = json_object_get(o, name);
    return json_is_integer(v) ? (int64_t)json_integer_value(v) : -1;
}

static void a_payload_is_a_session_record(void **state) {
    json_t *s = record_of(
        "{" TIMES USED ",'metaData':{'appBuildVersion':'12','osVersion':'iPhone OS 18.7 (22H20)',"
        "'deviceType':'iPhone13,3','platformArchitecture':'arm64e'},"
        "'applicationLaunchMetrics':{'histogrammedTimeToFirstDrawKey':{'histogramValue':{'0':{"
        "'bucketCount':3,'bucketStart':'1,000 ms'},'1':{'bucketCount':1,'bucketStart':'2 sec'}}},"
        "'histogrammedResumeTime':{'histogramValue':{'0':{'bucketCount':60,'bucketStart':'1 ms'}}}"
        "},'applicationResponsivenessMetrics':{'histogrammedAppHangTime':{'histogramValue':{'0':{"
        "'bucketCount':50,'bucketStart':'0 ms'},'1':{'bucketCount':6,'bucketStart':'300 ms'},"
        "'2':{'bucketCount':2,'bucketStart':'5 sec'}}}}}");
    (void)state;
    assert_string_equal(json_string_value(json_object_get(s, "time")), "2026-11-19T00:00:00.000Z");
    assert_int_equal(number_at(s, NULL, NULL, "foreground_ms"), 7200000);
    assert_int_equal(number_at(s, NULL, NULL, "launches"), 4);
    assert_int_equal(number_at(s, "tiers", "hang", "stalls"), 56);
    assert_int_equal(number_at(s, "tiers", "hang", "stalled_ms"),
                     1800); /* the sum of the lower bounds of the buckets, each times its count */
    assert_int_equal(number_at(s, "tiers", "severe", "stalls"), 2);
    assert_int_equal(number_at(s, "tiers", "severe", "stalled_ms"), 10000);
    const json_t *device = json_object_get(s, "device");
    assert_string_equal(json_string_value(json_object_get(device, "os")), "iOS 18.7");
    assert_string_equal(json_string_value(json_object_get(device, "model")), "iPhone13,3");
    /* The payload does not say how much of the time was watched. */
    assert_null(json_object_get(s, "watched_ms"));
    const json_t *payload = json_object_get(json_object_get(s, "report"), "payload");
    assert_string_equal(json_string_value(json_object_get(payload, "appVersion")), "5.3.1");
    json_decref(s);
}

static void what_is_not_told_is_absent(void **state) {
    json_t *s = record_of("{" TIMES USED "}");
    (void)state;
    assert_null(json_object_get(s, "tiers"));
    assert_int_equal(number_at(s, NULL, NULL, "launches"), 0);
    json_decref(s);
    s = record_of("{" TIMES "'applicationResponsivenessMetrics':{'histogrammedAppHangTime':{"
                  "'histogramValue':[{'bucketCount':1,'bucketStart':'1 sec'}]}}}");
    assert_null(json_object_get(s, "foreground_ms"));
    assert_int_equal(number_at(s, "tiers", "hang", "stalls"), 1);
    json_decref(s);
    s = record_of("{" TIMES "'applicationResponsivenessMetrics':{"
                  "'histogrammedApplicationHangTime':{'histogramValue':[{'bucketCount':4,"
                  "'bucketStart':'1,000 ms'}]}}}");
    assert_int_equal(number_at(s, "tiers", "hang", "stalled_ms"), 4000);
    json_decref(s);
}

static void a_payload_without_use_is_refused(void **state) {
    (void)state;
    check_refused("{" TIMES "'applicationTimeMetrics':{}}", "without foreground time");
    check_refused("{" TIMES "'applicationTimeMetrics':", "cut short");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_is_a_session_record),
        cmocka_unit_test(what_is_not_told_is_absent),
        cmocka_unit_test(a_payload_without_use_is_refused),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("report_metrics", tests, NULL, NULL);
}
