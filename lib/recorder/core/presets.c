/* The detectors, the fields of the config, and the presets: the values of four published systems
 * and of our own, each with its source. */
#include "core/presets.h"

#include <string.h>

enum {
    RUNLOOP = STALLREC_DETECT_RUNLOOP,
    SEMAPHORE = STALLREC_DETECT_SEMAPHORE,
    PING = STALLREC_DETECT_PING,
    FRAME_RATE = STALLREC_DETECT_FRAME_RATE,
    CPU = STALLREC_DETECT_CPU,
    LAUNCH = STALLREC_DETECT_LAUNCH,
    SPAN = STALLREC_DETECT_SPAN,
    ANY = 0x7f
};

static const struct rec_detector_info detectors[] = {
    {RUNLOOP, "runloop", "the loop has been busy for threshold_ms, looked at every check_ms", NULL},
    {SEMAPHORE, "semaphore",
     "sem_count waits of sem_ms in a row time out before sources or after waiting", NULL},
    {PING, "ping", "a task posted to the loop has not run after ping_ms",
     "stallrec_set_poster, stallrec_ping_done"},
    {FRAME_RATE, "frame-rate",
     "busy so long that less than frame_percent of frame_hz is left; counted, captures nothing",
     "stallrec_frame"},
    {CPU, "cpu", "the process uses more than cpu_limit_permille of a processor over check_ms",
     NULL},
    {LAUNCH, "launch", "the loop is not idle launch_ms after the start; prewarmed ones apart",
     NULL},
    {SPAN, "span", "an action has not ended within its limit, and the loop does not stall",
     "stallrec_span_begin, stallrec_span_end"},
};

/* ---- fields ---- */

static const char *const checks[] = {"stall", "periodic", NULL};
static const char *const backoffs[] = {"dumps", "checks", "none", NULL};
static const char *const epochs[] = {"day", "release", NULL};
static const char *const restarts[] = {"idle", "activity", NULL};

#define AT(field) offsetof(struct stallrec_config, field)

static const struct field {
    const char *name;
    size_t offset;
    uint32_t needs; /* a set of detectors: the field has a meaning if one of them is on, with the
                       exceptions in has_meaning */
    const char *const *words;
} fields[] = {
    {"detectors", AT(detectors), ANY, NULL},
    {"threshold_ms", AT(threshold_ms), RUNLOOP, NULL},
    {"severe_ms", AT(severe_ms), ANY, NULL},
    {"check", AT(check), RUNLOOP, checks},
    {"check_ms", AT(check_ms), RUNLOOP | PING | CPU | LAUNCH | SPAN, NULL},
    {"restart", AT(restart), RUNLOOP | SEMAPHORE, restarts},
    {"sem_ms", AT(sem_ms), SEMAPHORE, NULL},
    {"sem_count", AT(sem_count), SEMAPHORE, NULL},
    {"ping_ms", AT(ping_ms), PING, NULL},
    {"ping_every_ms", AT(ping_every_ms), PING, NULL},
    {"frame_hz", AT(frame_hz), FRAME_RATE, NULL},
    {"frame_percent", AT(frame_percent), FRAME_RATE, NULL},
    {"cpu_limit_permille", AT(cpu_limit_permille), CPU, NULL},
    {"launch_ms", AT(launch_ms), LAUNCH, NULL},
    {"span_ms", AT(span_ms), SPAN, NULL},
    {"sample_ms", AT(sample_ms), RUNLOOP | PING | LAUNCH, NULL},
    {"first_sample_ms", AT(first_sample_ms), RUNLOOP | PING | LAUNCH, NULL},
    {"ring", AT(ring), ANY, NULL},
    {"max_frames", AT(max_frames), ANY, NULL},
    {"max_threads", AT(max_threads), ANY, NULL},
    {"threads_after_ms", AT(threads_after_ms), ANY, NULL},
    {"backoff", AT(backoff), ANY, backoffs},
    {"backoff_cap", AT(backoff_cap), ANY, NULL},
    {"write_deadline_ms", AT(write_deadline_ms), ANY, NULL},
    {"user_share_ppm", AT(user_share_ppm), ANY, NULL},
    {"epoch", AT(epoch), ANY, epochs},
    {"upload_per_day", AT(upload_per_day), ANY, NULL},
    {"keep_days", AT(keep_days), ANY, NULL},
    {"keep_bytes", AT(keep_bytes), ANY, NULL},
    {"keep_files", AT(keep_files), ANY, NULL},
};

/* ---- presets ---- */

struct source {
    size_t field;
    const char *text;
};

enum { SOURCES = 20 };

struct preset {
    const char *title;
    struct stallrec_config values;
    struct source sources[SOURCES]; /* the sources of fields; a field that is not listed has a value
                                       of our own */
};

/* Values, the same in all presets, of detectors that some presets leave off, but that the app can
 * switch on. sem_ms and sem_count are those of QiLagMonitor, the others are our own. */
#define OTHER_DETECTORS                                                                            \
    .sem_ms = 88, .sem_count = 3, .ping_every_ms = 1000, .frame_hz = 60, .frame_percent = 50,      \
    .launch_ms = 2000, .span_ms = 2000

/* The periods of checks and samples, which are the same in all presets. */
#define SHARED .check_ms = 1000, .sample_ms = 50

/* Our own limits, for presets whose source has no limits for users, quotas and disks. */
#define OUR_LIMITS                                                                                 \
    .user_share_ppm = 1000000, .upload_per_day = 20, .keep_days = 7, .keep_bytes = 10 << 20,       \
    .keep_files = 200

#define WECHAT "WeChat's article on its iOS stall monitor"
#define MATRIX "Matrix for iOS, WCBlockMonitorConfiguration.h"
#define ARMS   "developer.aliyun.com/article/1687480"
#define DEWU   "DeWu's article on iOS stall monitoring"
#define QILAG  "QiLagMonitor's article and sample code"

/* 250 ms is where Apple's tools begin to call a delay a hang; a first sample at 100 ms keeps a
 * healthy loop unsampled and still gives four samples up to the threshold, at 100, 150, 200 and 250
 * ms. */
static const struct preset preset_default = {"our own",
                                             {.preset = "default",
                                              .detectors = RUNLOOP | FRAME_RATE | LAUNCH | SPAN,
                                              .threshold_ms = 250,
                                              .first_sample_ms = 100,
                                              .ring = 20,
                                              .max_frames = 128,
                                              .max_threads = 64,
                                              .threads_after_ms = 2000,
                                              .backoff = STALLREC_BACKOFF_DUMPS,
                                              .backoff_cap = 8,
                                              .check = STALLREC_CHECK_STALL,
                                              .write_deadline_ms = 10000,
                                              .severe_ms = 2000,
                                              .ping_ms = 2000,
                                              .cpu_limit_permille = 1000,
                                              SHARED,
                                              OTHER_DETECTORS,
                                              OUR_LIMITS},
                                             {{AT(sample_ms), "as Matrix for iOS, ARMS and DeWu"},
                                              {AT(ring), "as Matrix for iOS and DeWu"}}};

static const struct preset preset_wechat = {
    "WeChat, from which Tencent's Matrix for iOS came",
    {.preset = "wechat",
     .detectors = RUNLOOP | CPU,
     .threshold_ms = 2000,
     .ring = 20,
     .max_frames = 100,
     .max_threads = 64,
     .backoff = STALLREC_BACKOFF_CHECKS,
     .backoff_cap = 8,
     .check = STALLREC_CHECK_PERIODIC,
     .write_deadline_ms = 10000,
     .ping_ms = 2000,
     .cpu_limit_permille = 1000,
     SHARED,
     OTHER_DETECTORS,
     .user_share_ppm = 50000,
     .upload_per_day = 20,
     .keep_days = 7,
     .keep_bytes = 10 << 20,
     .keep_files = 200},
    {{AT(detectors), WECHAT},
     {AT(threshold_ms), WECHAT},
     {AT(check), WECHAT},
     {AT(check_ms), WECHAT},
     {AT(restart), "Matrix for iOS, WCBlockMonitorMgr.mm: a start is kept until the loop waits"},
     {AT(cpu_limit_permille), WECHAT},
     {AT(sample_ms), MATRIX},
     {AT(first_sample_ms), MATRIX ": from the start"},
     {AT(ring), MATRIX ": check period / sampling interval"},
     {AT(max_frames), "Matrix for iOS, STACK_PER_MAX_COUNT"},
     {AT(threads_after_ms), WECHAT ": all threads at each detection"},
     {AT(user_share_ppm), WECHAT ": 5 %"},
     {AT(epoch), WECHAT ": other users each day"},
     {AT(upload_per_day), WECHAT},
     {AT(keep_days), WECHAT},
     {AT(backoff), WECHAT ": 1, 1, 2, 3, 5, 8 ... checks"}}};

static const struct preset preset_arms = {
    "Alibaba Cloud ARMS",
    {.preset = "arms",
     .detectors = RUNLOOP,
     .restart = STALLREC_RESTART_ACTIVITY,
     .threshold_ms = 2000,
     .ring = 20,
     .max_frames = 128,
     .max_threads = 1,
     .backoff = STALLREC_BACKOFF_CHECKS,
     .backoff_cap = 8,
     .check = STALLREC_CHECK_PERIODIC,
     .write_deadline_ms = 10000,
     .ping_ms = 2000,
     .cpu_limit_permille = 1000,
     SHARED,
     OTHER_DETECTORS,
     OUR_LIMITS},
    {{AT(detectors), ARMS},
     {AT(restart), ARMS ": startTime at each notification"},
     {AT(sample_ms), ARMS},
     {AT(max_threads), ARMS ": the main thread's heaviest stack"},
     {AT(backoff), ARMS ": annealing on the heaviest stack"}}};

static const struct preset preset_dewu = {
    "DeWu (Poizon)",
    {.preset = "dewu",
     .detectors = RUNLOOP | CPU,
     .threshold_ms = 3000,
     .ring = 20,
     .max_frames = 128,
     .max_threads = 1,
     .backoff = STALLREC_BACKOFF_CHECKS,
     .backoff_cap = 8,
     .check = STALLREC_CHECK_PERIODIC,
     .write_deadline_ms = 3600000,
     .ping_ms = 3000,
     .cpu_limit_permille = 800,
     SHARED,
     OTHER_DETECTORS,
     OUR_LIMITS},
    {{AT(detectors), DEWU},
     {AT(threshold_ms), DEWU},
     {AT(check), DEWU},
     {AT(check_ms), DEWU},
     {AT(sample_ms), DEWU ": also while backing off"},
     {AT(ring), DEWU},
     {AT(backoff), DEWU ": Fibonacci on the check interval"},
     {AT(write_deadline_ms), DEWU ": only while idle and below 40 % CPU; an hour is our limit"}}};

static const struct preset preset_qilagmonitor = {
    "QiLagMonitor",
    {.preset = "qilagmonitor",
     .detectors = SEMAPHORE,
     .restart = STALLREC_RESTART_ACTIVITY,
     .threshold_ms = 264,
     .first_sample_ms = 3600000,
     .ring = 1,
     .max_frames = 128,
     .max_threads = 1,
     .backoff = STALLREC_BACKOFF_NONE,
     .backoff_cap = 1,
     .check = STALLREC_CHECK_STALL,
     .ping_ms = 264,
     .cpu_limit_permille = 800,
     SHARED,
     OTHER_DETECTORS,
     OUR_LIMITS},
    {{AT(detectors), QILAG},
     {AT(sem_ms), QILAG},
     {AT(sem_count), QILAG},
     {AT(restart), QILAG ": any observer event resets"},
     {AT(ring), QILAG ": the stack at the third timeout"},
     {AT(max_threads), QILAG ": the main thread"},
     {AT(backoff), QILAG ": no annealing"}}};

static const struct preset *const presets[] = {&preset_default, &preset_wechat, &preset_arms,
                                               &preset_dewu, &preset_qilagmonitor};

enum { PRESETS = sizeof presets / sizeof *presets };

/* ---- setting values ---- */

static void apply(struct stallrec_config *config, const struct preset *preset) {
    const size_t size = config->size < sizeof *config ? config->size : sizeof *config;
    struct stallrec_config full = {0}, values = preset->values;
    memcpy(&full, config, size);
    values.size = full.size;
    values.directory = full.directory;
    values.app_id = full.app_id;
    values.app_version = full.app_version;
    values.app_build = full.app_build;
    values.user = full.user;
    values.flags = full.flags;
    values.file_mode = full.file_mode;
    values.signal_number = full.signal_number;
    values.callbacks = full.callbacks;
    values.user_data = full.user_data;
    values.context_keys = full.context_keys;
    values.home = full.home;
    values.trace_path = full.trace_path;
    values.trace_bytes = full.trace_bytes;
    memcpy(config, &values, size);
}

void stallrec_config_init(struct stallrec_config *config, size_t size) {
    const struct stallrec_config empty = {.size = size};
    memset(config, 0, size);
    memcpy(config, &empty, size < sizeof empty ? size : sizeof empty);
    apply(config, &preset_default);
}

enum stallrec_error stallrec_config_preset(struct stallrec_config *config, const char *name) {
    for (size_t i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i]->values.preset, name) == 0) {
            apply(config, presets[i]);
            return STALLREC_OK;
        }
    }
    return STALLREC_ERR_PRESET;
}

void stallrec_config_default(struct stallrec_config *config) {
    apply(config, &preset_default);
}

void stallrec_config_wechat(struct stallrec_config *config) {
    apply(config, &preset_wechat);
}

void stallrec_config_arms(struct stallrec_config *config) {
    apply(config, &preset_arms);
}

void stallrec_config_dewu(struct stallrec_config *config) {
    apply(config, &preset_dewu);
}

void stallrec_config_qilagmonitor(struct stallrec_config *config) {
    apply(config, &preset_qilagmonitor);
}

/* ---- describing presets and detectors ---- */

const struct rec_detector_info *rec_detector_at(size_t i) {
    return i < sizeof detectors / sizeof *detectors ? &detectors[i] : NULL;
}

const char *rec_preset_name(size_t i) {
    return i < PRESETS ? presets[i]->values.preset : NULL;
}

const char *rec_preset_title(size_t i) {
    return i < PRESETS ? presets[i]->title : NULL;
}

bool rec_config_field(size_t i, struct rec_config_field *out) {
    const size_t count = sizeof fields / sizeof *fields;
    for (size_t f = 0; f < count; f++) {
        if (fields[f].offset != AT(keep_bytes) && i-- == 0) { /* keep_bytes alone has 64 bits */
            *out = (struct rec_config_field){fields[f].name, fields[f].offset, fields[f].words};
            return true;
        }
    }
    return false;
}

uint32_t rec_detectors_named(const char *names) {
    uint32_t bits = 0;
    for (;;) {
        size_t size = strcspn(names, ","), i = 0;
        const size_t count = sizeof detectors / sizeof *detectors;
        while (i < count &&
               (strncmp(detectors[i].name, names, size) != 0 || detectors[i].name[size] != '\0')) {
            i++;
        }
        if (i == count) {
            return 0;
        }
        bits |= detectors[i].bit;
        if (names[size] == '\0') {
            return bits;
        }
        names += size + 1;
    }
}

static const char *preset_source(const struct preset *preset, size_t field) {
    for (size_t i = 0; i < SOURCES && preset->sources[i].text != NULL; i++) {
        if (preset->sources[i].field == field) {
            return preset->sources[i].text;
        }
    }
    return NULL;
}

static bool has_meaning(const struct stallrec_config *values, const struct field *field,
                        uint32_t value) {
    if (field->offset == AT(backoff_cap)) {
        return values->backoff == STALLREC_BACKOFF_DUMPS;
    }
    if (field->offset == AT(severe_ms)) {
        return value > 0;
    }
    if (field->offset == AT(epoch)) {
        return values->user_share_ppm < 1000000;
    }
    return (field->needs & values->detectors) != 0;
}

bool rec_preset_value(size_t i, size_t k, struct rec_preset_value *out) {
    if (i >= PRESETS) {
        return false;
    }
    const struct preset *preset = presets[i];
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        const struct field *field = &fields[f];
        uint32_t value;
        memcpy(&value, (const char *)&preset->values + field->offset, sizeof value);
        if (field->offset == AT(keep_bytes)) { /* keep_bytes alone has 64 bits */
            value = (uint32_t)preset->values.keep_bytes;
        }
        if (!has_meaning(&preset->values, field, value) || k-- > 0) {
            continue;
        }
        *out = (struct rec_preset_value){field->name, value,
                                         field->words != NULL ? field->words[value] : NULL,
                                         preset_source(preset, field->offset)};
        return true;
    }
    return false;
}
