/* Reads KSCrash's JSON of all versions (github.com/kstenerud/KSCrash, Report Field Reference) and
 * that of Matrix, which extends it. Addresses are decimal; `image_vmaddr` is often wrong, and so
 * not read. */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "dump/dump.h"

/* ---- the app and the device ---- */

static void read_system(struct report *r, const json_t *system) {
    const char *name = report_member(r, system, "system_name");
    const char *version = report_member(r, system, "system_version");
    r->app_id = report_member(r, system, "CFBundleIdentifier");
    r->app_version = report_member(r, system, "CFBundleShortVersionString");
    r->app_build = report_member(r, system, "CFBundleVersion");
    r->model = report_member(r, system, "machine");
    report_os(r, report_join(r, name, " ", version));
    r->os_build = report_member(r, system, "os_version");
    r->user = report_member(r, system, "device_app_hash");
    /* The app may run as another architecture than the processor's, so the binary's type is read
     * first. */
    const json_t *type = json_object_get(system, "binary_cpu_type");
    const json_t *subtype = json_object_get(system, "binary_cpu_subtype");
    r->arch = json_is_integer(type)
                  ? report_cpu(json_integer_value(type), json_integer_value(subtype))
                  : NULL;
    if (!r->arch) {
        r->arch = report_code_type(report_member(r, system, "cpu_arch"));
    }
    const char *path = report_member(r, system, "CFBundleExecutablePath");
    report_executable(r, path ? path : report_member(r, system, "CFBundleExecutable"));
    const json_t *stats = json_object_get(system, "application_stats");
    if (json_is_boolean(json_object_get(stats, "application_in_foreground"))) {
        r->app_state = json_is_true(json_object_get(stats, "application_in_foreground"))
                           ? "foreground"
                           : "background";
    }
}

static void kscrash_read_head(struct report *r, const json_t *root) {
    const json_t *report = json_object_get(root, "report");
    const json_t *stamp = json_object_get(report, "timestamp");
    uint64_t seconds;
    r->id = report_member(r, report, "id");
    if (json_is_integer(stamp) && report_u64(stamp, &seconds)) {
        r->time = report_unix_time(r, seconds);
    } else {
        r->time = report_time(r, json_string_value(stamp));
    }
    read_system(r, json_object_get(root, "system"));
    if (!r->process) {
        r->process = report_member(r, report, "process_name");
    }
    r->app_id = r->app_id ? r->app_id : r->process;
}

static void kscrash_read_images(struct report *r, const json_t *images) {
    size_t i;
    json_t *object;
    json_array_foreach(images, i, object) {
        struct report_image image = {.path = report_member(r, object, "name")};
        const json_t *type = json_object_get(object, "cpu_type");
        const json_t *subtype = json_object_get(object, "cpu_subtype");
        const char *uuid = json_string_value(json_object_get(object, "uuid"));
        report_own_lock(r, json_string_value(json_object_get(object, "crash_info_message")));
        if (i >= DUMP_IMAGES_MAX ||
            !report_address(json_object_get(object, "image_addr"), &image.load)) {
            continue; /* left out: the image is past the limit, or its load address is not known */
        }
        if (!report_address(json_object_get(object, "image_size"), &image.size)) {
            image.size = 0;
        }
        image.name = path_name(image.path);
        image.path = image.name == image.path ? NULL : image.path;
        image.arch = json_is_integer(type)
                         ? report_cpu(json_integer_value(type), json_integer_value(subtype))
                         : NULL;
        if (uuid) {
            (void)parse_uuid(uuid, strlen(uuid), &image.id);
        }
        report_image(r, &image);
    }
    if (!r->arch && r->images.len > 0) {
        r->arch = r->images.data[0].arch;
    }
}

/* ---- threads ---- */

static enum st read_contents(struct report *r, const json_t *contents, struct report_stack *stack) {
    size_t i;
    json_t *frame;
    *stack = report_begin_stack(r);
    json_array_foreach(contents, i, frame) {
        uint64_t address;
        if (i >= DUMP_FRAMES_MAX) {
            break; /* frames past the limit are only in the kept report */
        }
        if (!report_kscrash_frame(r, frame, &address)) {
            r->frames_unread++;
            address = 0; /* the frame keeps its place */
        }
        if (report_frame(r, address) != ST_OK) {
            return ST_ERR;
        }
    }
    report_end_stack(r, stack);
    return ST_OK;
}

/* Reads the threads. KSCrash numbers them in the kernel's order, in which the main thread is 0. */
static enum st kscrash_read_threads(struct report *r, const json_t *threads) {
    size_t i;
    json_t *object;
    json_array_foreach(threads, i, object) {
        const json_t *index = json_object_get(object, "index");
        struct report_thread t = {.id = index ? report_number(index) : (int64_t)i};
        const char *queue = report_member(r, object, "dispatch_queue");
        t.name = report_member(r, object, "name");
        t.name = t.name ? t.name : queue;
        t.main = t.id == 0;
        t.crashed = json_is_true(json_object_get(object, "crashed"));
        const json_t *backtrace = json_object_get(object, "backtrace");
        if (read_contents(r, json_object_get(backtrace, "contents"), &t.stack) != ST_OK) {
            return err_context(r->e, "thread %zu", i);
        }
        if (report_add_thread(r, &t) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- profiles: a table of frames, and samples that refer to it by index ---- */

static enum st read_profile_stack(struct report *r, const json_t *frames, const json_t *indexes,
                                  struct report_stack *stack) {
    size_t i;
    json_t *index;
    *stack = report_begin_stack(r);
    json_array_foreach(indexes, i, index) {
        uint64_t at, address;
        if (i >= DUMP_FRAMES_MAX) {
            break;
        }
        if (!report_u64(index, &at) || at >= json_array_size(frames) ||
            !report_kscrash_frame(r, json_array_get(frames, (size_t)at), &address)) {
            r->frames_unread++;
            address = 0;
        }
        if (report_frame(r, address) != ST_OK) {
            return ST_ERR;
        }
    }
    report_end_stack(r, stack);
    return ST_OK;
}

static enum st read_profile_samples(struct report *r, const json_t *frames, const json_t *samples) {
    size_t i;
    json_t *sample;
    json_array_foreach(samples, i, sample) {
        struct report_stack stack;
        uint64_t count;
        if (read_profile_stack(r, frames, json_object_get(sample, "frames"), &stack) != ST_OK) {
            return ST_ERR;
        }
        if (report_u64(json_object_get(sample, "count"), &count) && count <= DUMP_COUNT_MAX) {
            stack.samples = count;
        }
        if (report_add_sample(r, &stack) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st read_profile(struct report *r, const json_t *profile) {
    const json_t *frames = json_object_get(profile, "frames");
    const json_t *threads = json_object_get(profile, "threads");
    int64_t ns = report_number(json_object_get(profile, "duration"));
    r->kind = "hang";
    r->ended = true;
    r->fatal = false;
    r->duration_ms = ns < 0 ? -1 : ns / 1000000;
    ns = report_number(json_object_get(profile, "expected_sample_interval"));
    r->sample_interval_ms = ns < 0 ? -1 : ns / 1000000;
    if (!json_is_array(threads)) {
        return read_profile_samples(r, frames, json_object_get(profile, "samples"));
    }
    size_t i;
    json_t *thread;
    json_array_foreach(threads, i, thread) {
        if (json_is_true(json_object_get(thread, "primary"))) {
            return read_profile_samples(r, frames, json_object_get(thread, "samples"));
        }
    }
    return read_profile_samples(r, frames, json_object_get(json_array_get(threads, 0), "samples"));
}

/* ---- the cause ---- */

static const json_t *first_of(const json_t *a, const json_t *b, const json_t *c) {
    if (json_is_object(a)) {
        return a;
    }
    return json_is_object(b) ? b : c;
}

/* Reads the watchdog monitor's record of a hang. */
static void read_hang(struct report *r, const json_t *hang) {
    int64_t from = report_number(json_object_get(hang, "hang_start_nanos"));
    int64_t to = report_number(json_object_get(hang, "hang_end_nanos"));
    r->ended = json_is_true(json_object_get(hang, "hang_recovered"));
    r->fatal = !r->ended;
    if (from >= 0 && to >= from) {
        r->duration_ms = (to - from) / 1000000;
    }
}

/* Returns Matrix's dump type. It is a member of KSCrash's "user_reported" or of the root; -1: there
 * is none. */
static int64_t matrix_type(const json_t *root, const json_t *error) {
    const json_t *user = json_object_get(error, "user_reported");
    const json_t *places[] = {json_object_get(user, "dump_type"),
                              json_object_get(root, "dump_type"), json_object_get(user, "name")};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int64_t type = report_number(places[i]);
        if (type >= 2000 && type <= 10000) {
            return type;
        }
    }
    return -1;
}

static void read_error(struct report *r, const json_t *root, const json_t *crash) {
    const json_t *error = json_object_get(crash, "error");
    const json_t *exit = json_object_get(error, "exit_reason");
    const char *type = json_string_value(json_object_get(error, "type"));
    int64_t dump_type = matrix_type(root, error);
    r->reason = report_member(r, error, "reason");
    r->reason = r->reason ? r->reason : report_member(r, crash, "diagnosis");
    r->kind = "crash";
    r->detector = "kscrash";
    r->fatal = true;
    if (dump_type >= 0 || json_object_get(root, "stack_string") ||
        json_object_get(root, "frame_stack")) {
        report_matrix_type(r, dump_type);
    } else if (type && strcmp(type, "deadlock") == 0) {
        r->kind = "hang";
    } else if (type && strcmp(type, "hang") == 0) {
        r->kind = "hang";
        read_hang(r, first_of(json_object_get(error, "hang"), json_object_get(crash, "hang"),
                              json_object_get(root, "hang")));
    } else if (type && strcmp(type, "user") == 0) {
        r->fatal = false;
    }
    (void)report_kill_by(r, NULL, report_number(json_object_get(exit, "code")), r->reason);
}

static bool has_stacks(const json_t *crash) {
    return json_array_size(json_object_get(crash, "threads")) > 0 ||
           json_is_object(json_object_get(crash, "crashed_thread"));
}

static enum st kscrash_fill(struct report *r, const json_t *root) {
    const json_t *crash = json_object_get(root, "crash");
    const json_t *profile = json_object_get(json_object_get(crash, "error"), "profile");
    const json_t *inner = json_object_get(root, "recrash_report");
    const json_t *first = root;
    if (!has_stacks(crash) && has_stacks(json_object_get(inner, "crash"))) {
        /* The crash handler crashed, too; the inner report is that of the first crash. */
        first = inner;
        crash = json_object_get(inner, "crash");
    }
    kscrash_read_head(r, first);
    if (!r->id) {
        r->id = report_member(r, json_object_get(root, "report"), "id");
    }
    kscrash_read_images(r, json_object_get(first, "binary_images"));
    read_error(r, first, crash);
    if (json_is_object(profile) && read_profile(r, profile) != ST_OK) {
        return ST_ERR;
    }
    /* A minimal report has its only thread outside of the list of threads. */
    const json_t *threads = json_object_get(crash, "threads");
    const json_t *alone = json_object_get(crash, "crashed_thread");
    if (kscrash_read_threads(r, threads) != ST_OK) {
        return ST_ERR;
    }
    if (r->threads.len == 0 && json_is_object(alone)) {
        struct report_thread t = {.id = report_number(json_object_get(alone, "index")),
                                  .crashed = true};
        t.main = t.id == 0;
        const json_t *backtrace = json_object_get(alone, "backtrace");
        if (read_contents(r, json_object_get(backtrace, "contents"), &t.stack) != ST_OK ||
            report_add_thread(r, &t) != ST_OK) {
            return ST_ERR;
        }
    }
    enum st st = report_matrix_stacks(r, root);
    if (r->threads.len == 0 && r->samples.len == 0) {
        report_lack(r, "a stack: the report has no thread");
    }
    for (size_t i = 0; i < r->threads.len; i++) {
        const struct report_thread *t = &r->threads.data[i];
        if (t->crashed && t->stack.count == 0) {
            report_lack(r, "the stack of the thread that crashed");
        }
    }
    return st;
}

/* ---- the document ---- */

enum {
    KSCRASH_HEAD = 3 << 0,
    KSCRASH_CRASH = 1 << 2,
    KSCRASH_RECRASH = 1 << 3,
    KSCRASH_STACKS = 7 << 4 /* Matrix's members */
};
static const char *const kscrash_members[] = {
    "report",       "binary_images",   "crash",       "recrash_report",
    "stack_string", "threads_profile", "frame_stack", NULL};

static bool kscrash_recognise(unsigned present) {
    return (present & (KSCRASH_STACKS | KSCRASH_RECRASH)) ||
           ((present & KSCRASH_CRASH) && (present & KSCRASH_HEAD)) ||
           (present & KSCRASH_HEAD) == KSCRASH_HEAD; /* "crash" is lost: the dump lacks a stack */
}

static enum st report_kscrash_read(const struct report_document *d, struct err *e) {
    struct report r;
    json_t *root;
    enum st st = report_load(d->text, &root, e);
    if (st != ST_OK) {
        return st;
    }
    report_init(&r, "kscrash", 0, e);
    report_keep(&r, "document", d->text, false);
    st = kscrash_fill(&r, root);
    if (st == ST_OK) {
        st = report_finish(&r, d);
    }
    report_release(&r);
    json_decref(root);
    return st;
}

const struct report_format report_kscrash_format = {.name = "kscrash, matrix",
                                                    .source = "KSCrash, and Matrix for iOS",
                                                    .since = "0.1.0",

                                                    .members = kscrash_members,
                                                    .recognise = kscrash_recognise,
                                                    .read = report_kscrash_read};
