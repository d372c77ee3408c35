/* Reads the members of a diagnostic besides its stacks: MetricKit's meta data. */
#include "dump/reports/report_metrickit_private.h"

#include <math.h>
#include <string.h>

/* ---- images ---- */

/* Writes the UUID in upper case. False: it is too long for one. */
static bool uuid_key(const char *uuid, char key[IMAGE_ID_TEXT]) {
    size_t len = strlen(uuid);
    for (size_t i = 0; i < len && len < IMAGE_ID_TEXT; i++) {
        key[i] = uuid[i] >= 'a' && uuid[i] <= 'z' ? (char)(uuid[i] - 'a' + 'A') : uuid[i];
    }
    key[len < IMAGE_ID_TEXT ? len : 0] = '\0';
    return len < IMAGE_ID_TEXT;
}

static void name_binary(struct report *r, json_t *names, const char *uuid, const json_t *entry) {
    const char *own = json_string_value(json_object_get(entry, "uuid"));
    json_t *name = json_object_get(entry, "name");
    char key[IMAGE_ID_TEXT];
    uuid = own ? own : uuid;
    if (uuid && json_is_string(name) && uuid_key(uuid, key) &&
        json_object_set(names, key, name) != 0) {
        r->no_memory = true;
    }
}

json_t *metrickit_names(struct report *r, const json_t *tree) {
    const json_t *info = json_object_get(tree, "binaryInfo");
    const char *key = NULL;
    size_t i;
    json_t *entry, *names = info ? json_object() : NULL;
    r->no_memory = r->no_memory || (info && !names);
    json_object_foreach((json_t *)info, key, entry) {
        name_binary(r, names, key, entry);
    }
    /* Swift writes a dictionary whose keys are not strings as an array in which keys and values
     * alternate */
    key = NULL;
    json_array_foreach(info, i, entry) {
        name_binary(r, names, key, entry);
        key = json_string_value(entry);
    }
    return names;
}

const json_t *metrickit_name(const json_t *names, const json_t *uuid) {
    char key[IMAGE_ID_TEXT];
    return json_is_string(uuid) && uuid_key(json_string_value(uuid), key)
               ? json_object_get(names, key)
               : NULL;
}

/* ---- the diagnostic ---- */

/* Returns the member of the object that holds its diagnostic. Swift writes the value of an enum's
 * case under the name "_0" unless the type gives it another name. */
static const json_t *result_of(const json_t *object, const char **kind) {
    static const char *const results[][3] = {
        {"hangDiagnostic", "hang", "hang"},
        {"appLaunchDiagnostic", "appLaunch", "launch"},
        {"cpuExceptionDiagnostic", "cpuException", "cpu"},
        {"diskWriteExceptionDiagnostic", "diskWriteException", "disk-write"},
        {"memoryExceptionDiagnostic", "memoryException", "crash"},
        {"crashDiagnostic", "crash", "crash"}};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const json_t *found = json_object_get(object, results[i][0]);
        found = found ? found : json_object_get(object, results[i][1]);
        if (json_is_object(found)) {
            const json_t *inner = json_object_get(found, "_0");
            *kind = results[i][2];
            return inner ? inner : found;
        }
    }
    return NULL;
}

const json_t *metrickit_result(const json_t *root, const char **kind) {
    const json_t *inner = json_object_get(root, "result");
    return result_of(inner ? inner : root, kind);
}

/* ---- the environment ---- */

/* Converts a time that JSONEncoder wrote: seconds since 2001, or since 1970 if the app has chosen
 * that, or text. */
static const char *swift_time(struct report *r, const json_t *value) {
    const double since_1970 = 1e9, to_2001 = 978307200, most = 4e15;
    double seconds = json_number_value(value);
    if (json_is_string(value)) {
        return report_time(r, json_string_value(value));
    }
    if (!(seconds > 0 && seconds < most)) {
        return NULL;
    }
    seconds += seconds < since_1970 ? to_2001 : 0;
    return report_unix_time(r, (uint64_t)seconds);
}

void metrickit_environment(struct report *r, const json_t *root) {
    const json_t *environment = json_object_get(root, "environment");
    const json_t *os = json_object_get(environment, "osVersion");
    const json_t *range = json_object_get(root, "timeRange");
    r->time = swift_time(r, json_object_get(range, "end"));
    r->app_id = report_member(r, environment, "bundleIdentifier");
    r->app_version = report_member(r, environment, "applicationVersion");
    r->app_build = report_member(r, environment, "applicationBuildVersion");
    r->model = report_member(r, environment, "deviceType");
    r->arch = report_code_type(report_member(r, environment, "platformArchitecture"));
    if (json_is_object(os)) {
        report_os(r, report_join(r, report_member(r, os, "platform"), " ",
                                 report_member(r, os, "number")));
        r->os_build = report_member(r, os, "buildNumber");
    } else {
        report_os(r, report_member(r, environment, "osVersion"));
    }
}

/* ---- measurements ---- */

int64_t metrickit_measurement(const json_t *value) {
    static const struct {
        const char *symbol;
        double ms;
    } units[] = {{"s", 1e3},          {"sec", 1e3},  {"ms", 1},    {"\xc2\xb5s", 1e-3},
                 {"\xce\xbcs", 1e-3}, {"us", 1e-3},  {"ns", 1e-6}, {"min", 60e3},
                 {"h", 3600e3},       {"hr", 3600e3}};
    const double most = 1e12;
    const json_t *number = json_is_object(value) ? json_object_get(value, "value") : value;
    const json_t *unit = json_is_object(value) ? json_object_get(value, "unit") : NULL;
    const json_t *symbol = json_is_object(unit) ? json_object_get(unit, "symbol") : unit;
    double ms = symbol ? -1 : 1e3;
    for (size_t i = 0; json_is_string(symbol) && i < sizeof units / sizeof *units; i++) {
        ms = strcmp(json_string_value(symbol), units[i].symbol) == 0 ? units[i].ms : ms;
    }
    ms *= json_is_number(number) ? json_number_value(number) : -1;
    return ms >= 0 && ms < most ? (int64_t)round(ms) : -1;
}

/* ---- meta data ---- */

const json_t *metrickit_meta(const json_t *diagnostic) {
    const json_t *meta = json_object_get(diagnostic, "diagnosticMetaData");
    meta = meta ? meta : json_object_get(diagnostic, "metaData");
    return meta ? meta : diagnostic; /* since iOS 27 */
}

static int64_t member_duration(const json_t *meta, const char *name) {
    const json_t *value = json_object_get(meta, name);
    return json_is_string(value)
               ? report_duration(json_string_value(value), json_string_length(value))
               : metrickit_measurement(value);
}

const char *metrickit_kind_of(const json_t *meta) {
    static const char *const kinds[][2] = {
        {"hangDuration", "hang"},       {"launchDuration", "launch"},
        {"writesCaused", "disk-write"}, {"totalBytesWritten", "disk-write"},
        {"totalCPUTime", "cpu"},        {"signal", "crash"},
        {"exceptionType", "crash"},     {"terminationReason", "crash"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (json_object_get(meta, kinds[i][0])) {
            return kinds[i][1];
        }
    }
    return NULL;
}

/* Sets *field to the member's value. If the member is missing, *field keeps its value. */
static void take_meta_member(struct report *r, const json_t *meta, const char *name,
                             const char **field) {
    const char *value = report_member(r, meta, name);
    *field = value ? value : *field;
}

void metrickit_read_meta(struct report *r, const json_t *meta) {
    const char *arch = report_code_type(report_member(r, meta, "platformArchitecture"));
    take_meta_member(r, meta, "bundleIdentifier", &r->app_id);
    take_meta_member(r, meta, "appVersion", &r->app_version);
    take_meta_member(r, meta, "appBuildVersion", &r->app_build);
    take_meta_member(r, meta, "deviceType", &r->model);
    r->arch = arch ? arch : r->arch;
    report_os(r, report_member(r, meta, "osVersion"));
    r->duration_ms = member_duration(meta, "hangDuration");
    if (r->duration_ms < 0) {
        r->duration_ms = member_duration(meta, "launchDuration");
    }
    if (r->duration_ms < 0) {
        r->duration_ms = member_duration(meta, "totalSampledTime");
    }
    r->cpu_ms = member_duration(meta, "totalCPUTime");
    (void)report_kill(r, r->reason);
}
