/* Converts MetricKit's metric payloads (MXMetricPayload, as its jsonRepresentation) to session
 * records. A payload says, for one day of a device, how long the app was used, how often it was
 * launched, and how often it hung. */
#include <string.h>

#include "base/jsonw.h"
#include "dump/dump.h"
#include "dump/reports/report_private.h"

/* Hangs of at least this duration, in ms, count as severe. It is the recorder's default, too. */
enum { SEVERE_MS = 2000 };

/* Number and total duration, in ms, of the hangs of one tier. */
struct hang_sums {
    uint64_t count, ms;
};

/* The facts that a metric payload gives. */
struct metrics {
    struct report r;
    int64_t foreground_ms; /* -1 = not given */
    uint64_t launches;
    struct hang_sums hang, severe;
    bool has_hangs, has_launches;
};

/* ---- histograms ---- */

/* Receives a bucket of a histogram: its count, and its lower bound in ms. */
typedef void (*histogram_visit)(struct metrics *m, uint64_t count, uint64_t start_ms);

static void visit_bucket(struct metrics *m, const json_t *bucket, histogram_visit visit) {
    uint64_t count;
    const json_t *start = json_object_get(bucket, "bucketStart");
    int64_t ms = json_is_string(start)
                     ? report_duration(json_string_value(start), json_string_length(start))
                     : report_number(start);
    if (report_u64(json_object_get(bucket, "bucketCount"), &count) && count <= DUMP_COUNT_MAX &&
        ms >= 0 && ms <= INT32_MAX) {
        visit(m, count, (uint64_t)ms);
    }
}

/* Visits the buckets of a histogram, which are members "0", "1" … or array elements. False: the
 * value is not a histogram. */
static bool each_bucket(struct metrics *m, const json_t *histogram, histogram_visit visit) {
    json_t *values = json_object_get(histogram, "histogramValue"), *bucket;
    const char *key;
    size_t i;
    json_object_foreach(values, key, bucket) {
        visit_bucket(m, bucket, visit);
    }
    json_array_foreach(values, i, bucket) {
        visit_bucket(m, bucket, visit);
    }
    return values != NULL;
}

/* Counts the hangs of a bucket as if each had lasted as long as the bucket's lower bound. */
static void metrics_add_hangs(struct metrics *m, uint64_t count, uint64_t start_ms) {
    struct hang_sums *sums = start_ms >= SEVERE_MS ? &m->severe : &m->hang;
    sums->count += count;
    sums->ms += count * start_ms;
}

static void metrics_add_launches(struct metrics *m, uint64_t count, uint64_t start_ms) {
    (void)start_ms;
    m->launches += count;
}

/* ---- the payload ---- */

static void read_launches(struct metrics *m, const json_t *metrics) {
    /* Extended launches and resumptions are not counted as launches. */
    static const char *const names[] = {
        "histogrammedTimeToFirstDrawKey", "histogrammedTimeToFirstDraw",
        "histogrammedOptimizedTimeToFirstDrawKey", "histogrammedOptimizedTimeToFirstDraw"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool there = each_bucket(m, json_object_get(metrics, names[i]), metrics_add_launches);
        m->has_launches = m->has_launches || there;
    }
}

static void read_metrics(struct metrics *m, const json_t *root) {
    const json_t *meta = json_object_get(root, "metaData");
    const json_t *used = json_object_get(json_object_get(root, "applicationTimeMetrics"),
                                         "cumulativeForegroundTime");
    const json_t *response = json_object_get(root, "applicationResponsivenessMetrics");
    struct report *r = &m->r;
    r->time = report_time(r, report_member(r, root, "timeStampBegin"));
    r->app_id = report_member(r, meta, "bundleIdentifier");
    r->app_version = report_member(r, root, "appVersion");
    r->app_build = report_member(r, meta, "appBuildVersion");
    r->model = report_member(r, meta, "deviceType");
    r->arch = report_code_type(report_member(r, meta, "platformArchitecture"));
    report_os(r, report_member(r, meta, "osVersion"));
    m->foreground_ms = json_is_string(used) ? report_total_duration(json_string_value(used),
                                                                    json_string_length(used))
                                            : -1;
    /* MetricKit's property is called histogrammedApplicationHangTime, but the member in most
     * payloads is not. */
    static const char *const hangs[] = {"histogrammedAppHangTime",
                                        "histogrammedApplicationHangTime"};
    for (size_t i = 0; i < sizeof hangs / sizeof *hangs && !m->has_hangs; i++) {
        m->has_hangs = each_bucket(m, json_object_get(response, hangs[i]), metrics_add_hangs);
    }
    read_launches(m, json_object_get(root, "applicationLaunchMetrics"));
}

static void write_tier(struct jsonw *w, const char *name, const struct hang_sums *sums) {
    jsonw_member_object(w, name);
    jsonw_member_u64(w, "stalls", sums->count);
    jsonw_member_u64(w, "stalled_ms", sums->ms);
    jsonw_end_object(w);
}

static void write_session(const struct metrics *m, struct jsonw *w, const char *id) {
    const struct report *r = &m->r;
    report_write_head(r, w, "stall-session/1", id);
    if (m->foreground_ms >= 0) {
        jsonw_member_i64(w, "foreground_ms", m->foreground_ms);
    }
    jsonw_member_u64(w, "launches", m->launches);
    if (m->has_hangs) {
        jsonw_member_object(w, "tiers");
        write_tier(w, "hang", &m->hang);
        write_tier(w, "severe", &m->severe);
        jsonw_end_object(w);
    }
}

/* Writes the session record, which contains the payload, and passes it to the document's
 * receiver. */
static enum st take_session(struct metrics *m, const struct report_document *d, struct err *e) {
    struct strbuf payload = {.limit = DUMP_TEXT_MAX}, out = {.limit = DUMP_TEXT_MAX};
    char id[REPORT_ID_TEXT];
    struct sink s = sink_to_strbuf(&payload);
    span_write_compact(d->text, &s);
    enum st st = sink_close(&s, e);
    if (st == ST_OK && m->r.no_memory) {
        st = err_nomem(e);
    }
    if (st == ST_OK) {
        report_made_up_id(strbuf_cstr(&payload), payload.len, 0, id);
        s = sink_to_strbuf(&out);
        struct jsonw w = jsonw_init(&s);
        jsonw_begin_object(&w);
        write_session(m, &w, id);
        jsonw_member_object(&w, "report");
        jsonw_member_cstr(&w, "format", "metrickit-metrics");
        jsonw_key(&w, "payload");
        jsonw_raw(&w, strbuf_cstr(&payload), payload.len);
        jsonw_end_object(&w);
        jsonw_end_object(&w);
        st = sink_close(&s, e);
    }
    if (st == ST_OK) {
        st = d->take(d->ctx, out.data, out.len, e);
    }
    strbuf_release(&payload);
    strbuf_release(&out);
    return st;
}

static enum st report_metrics_read(const struct report_document *d, struct err *e) {
    struct metrics m = {.foreground_ms = -1};
    json_t *root;
    enum st st = report_load(d->text, &root, e);
    if (st != ST_OK) {
        return st;
    }
    report_init(&m.r, "metrickit-metrics", 0, e);
    read_metrics(&m, root);
    if (m.foreground_ms < 0 && !m.has_hangs && !m.has_launches) {
        st = err_set(e, ERR_UNSUPPORTED,
                     "a metric payload without foreground time, hangs and launches");
    } else {
        st = take_session(&m, d, e);
    }
    report_release(&m.r);
    json_decref(root);
    return st;
}

static const char *const metrics_members[] = {"applicationTimeMetrics",
                                              "applicationResponsivenessMetrics",
                                              "applicationLaunchMetrics", "timeStampBegin", NULL};

static bool metrics_recognise(unsigned present) {
    return (present & 7U) != 0 && (present & 8U) != 0;
}

const struct report_format report_metrics_format = {
    .name = "metrickit-metrics",
    .source = "Apple MetricKit: metric payloads, as session records",
    .since = "0.1.0",
    .members = metrics_members,
    .recognise = metrics_recognise,
    .read = report_metrics_read};
