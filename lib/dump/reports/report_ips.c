/* Reads Apple's .ips ("Interpreting the JSON format of a crash report"): a line of JSON, then a
 * body of JSON or text; or the JSON body alone. On older systems the body is the text of a .crash,
 * or the sampled stacks of a process that used too much of a resource. */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "dump/dump.h"

/* ---- the app and the device ---- */

static const char *either(const char *a, const char *b) {
    return a ? a : b;
}

/* Copies members of the header line that the body lacks. */
static void ips_read_header(struct report *r, const json_t *header) {
    r->id = either(r->id, report_member(r, header, "incident_id"));
    r->app_id = either(r->app_id, report_member(r, header, "bundleID"));
    r->app_version = either(r->app_version, report_member(r, header, "app_version"));
    r->app_build = either(r->app_build, report_member(r, header, "build_version"));
    r->process = either(r->process, report_member(r, header, "app_name"));
    if (!r->os) {
        report_os(r, report_member(r, header, "os_version"));
    }
    if (!r->time) {
        r->time = report_time(r, json_string_value(json_object_get(header, "timestamp")));
    }
}

static void read_body_head(struct report *r, const json_t *body) {
    const json_t *bundle = json_object_get(body, "bundleInfo"),
                 *os = json_object_get(body, "osVersion");
    const char *launch = json_string_value(json_object_get(body, "procLaunch"));
    const char *capture = json_string_value(json_object_get(body, "captureTime"));
    r->id = report_member(r, body, "incident");
    r->time = report_time(r, capture);
    r->user = report_member(r, body, "crashReporterKey");
    r->app_id = report_member(r, bundle, "CFBundleIdentifier");
    r->app_version = report_member(r, bundle, "CFBundleShortVersionString");
    r->app_build = report_member(r, bundle, "CFBundleVersion");
    r->model = report_member(r, body, "modelCode");
    report_os(r, report_member(r, os, "train"));
    r->os_build = report_member(r, os, "build");
    r->arch = report_code_type(report_member(r, body, "cpuType"));
    r->app_state = report_role(json_string_value(json_object_get(body, "procRole")));
    r->since_launch_ms = report_time_between(launch, capture);
    r->process = report_member(r, body, "procName");
    const char *path = report_member(r, body, "procPath");
    if (path) {
        report_executable(r, path);
    }
}

/* Sets the app's id of a report that has no bundle id: to the coalition's, which on devices is that
 * of the app or daemon, else to the process's name. On a Mac the coalition is that of the app by
 * which a program was started, such as the terminal. */
static void choose_app_id(struct report *r, const json_t *body) {
    const char *responsible = json_string_value(json_object_get(body, "responsibleProc"));
    const bool other = responsible && r->process && strcmp(responsible, r->process) != 0;
    if (!r->app_id && !other && !(r->os && strncmp(r->os, "macOS", 5) == 0)) {
        r->app_id = report_member(r, body, "coalitionName");
    }
    r->app_id = either(r->app_id, r->process);
}

/* ---- images and stacks ---- */

static void ips_read_images(struct report *r, const json_t *images) {
    size_t i;
    json_t *object;
    json_array_foreach(images, i, object) {
        struct report_image image = {.name = report_member(r, object, "name"),
                                     .path = report_member(r, object, "path"),
                                     .arch = report_member(r, object, "arch")};
        const char *uuid = json_string_value(json_object_get(object, "uuid"));
        if (i >= DUMP_IMAGES_MAX || !report_address(json_object_get(object, "base"), &image.load) ||
            image.load == 0) {
            continue;
        }
        if (!report_address(json_object_get(object, "size"), &image.size)) {
            image.size = 0;
        }
        if (uuid) {
            (void)parse_uuid(uuid, strlen(uuid), &image.id);
        }
        image.name = either(image.name, path_name(image.path));
        report_image(r, &image);
    }
}

/* Finds a frame's offset and its image's load address, whose sum is the frame's address. The load
 * address is 0 if the frame is in no image, or if that of its image is not given. False: the two
 * are not known. */
static bool ips_frame_place(const json_t *images, const json_t *frame, uint64_t *base,
                            uint64_t *offset) {
    const json_t *in = json_object_get(frame, "imageIndex");
    uint64_t index;
    *base = 0;
    if (!report_address(json_object_get(frame, "imageOffset"), offset)) {
        return false;
    }
    if (!in || json_is_null(in)) {
        return true;
    }
    if (*offset > INT64_MAX || !report_u64(in, &index) || index >= json_array_size(images)) {
        return false;
    }
    if (!report_address(json_object_get(json_array_get(images, (size_t)index), "base"), base)) {
        *base = 0;
    }
    return true;
}

static enum st read_frame(struct report *r, const json_t *images, const json_t *frame) {
    uint64_t offset, base, line;
    struct report_name name = {.symbol = report_member(r, frame, "symbol"),
                               .file = report_member(r, frame, "sourceFile")};
    if (!ips_frame_place(images, frame, &base, &offset)) {
        r->frames_unread++;
        return report_frame(r, 0);
    }
    name.address = base + offset;
    if (!report_address(json_object_get(frame, "symbolLocation"), &name.offset) ||
        name.offset > offset) {
        name.offset = 0;
    }
    if (name.file && report_u64(json_object_get(frame, "sourceLine"), &line) && line > 0 &&
        line <= UINT32_MAX) {
        name.line = (uint32_t)line;
    } else {
        name.file = NULL;
    }
    name.inlined = json_is_true(json_object_get(frame, "inline"));
    (void)report_name(r, &name);
    return report_frame(r, name.address);
}

static enum st read_frames(struct report *r, const json_t *images, const json_t *frames,
                           struct report_stack *stack) {
    size_t i;
    json_t *frame;
    bool returns = stack->returns;
    *stack = report_begin_stack(r);
    stack->returns = returns;
    json_array_foreach(frames, i, frame) {
        if (i < DUMP_FRAMES_MAX && read_frame(r, images, frame) != ST_OK) {
            return err_context(r->e, "frame %zu", i);
        }
    }
    report_end_stack(r, stack);
    return ST_OK;
}

static enum st ips_read_threads(struct report *r, const json_t *body) {
    const json_t *images = json_object_get(body, "usedImages");
    const json_t *threads = json_object_get(body, "threads");
    const json_t *faulting = json_object_get(body, "faultingThread");
    size_t i, main_thread = 0;
    json_t *object;
    json_array_foreach(threads, i, object) {
        const char *queue = json_string_value(json_object_get(object, "queue"));
        if (queue && strcmp(queue, "com.apple.main-thread") == 0) {
            main_thread = i;
            break;
        }
    }
    json_array_foreach(threads, i, object) {
        struct report_thread t = {.id = report_number(json_object_get(object, "id"))};
        t.name = either(report_member(r, object, "name"), report_member(r, object, "queue"));
        t.main = i == main_thread;
        t.crashed = json_is_true(json_object_get(object, "triggered")) ||
                    (json_is_integer(faulting) && json_integer_value(faulting) == (json_int_t)i);
        if (read_frames(r, images, json_object_get(object, "frames"), &t.stack) != ST_OK) {
            return err_context(r->e, "thread %zu", i);
        }
        if (report_add_thread(r, &t) != ST_OK) {
            return ST_ERR;
        }
    }
    const json_t *last = json_object_get(body, "lastExceptionBacktrace");
    if (json_array_size(last) > 0) {
        struct report_thread t = {.id = -1, .name = "Last Exception Backtrace"};
        t.stack.returns = true;
        if (read_frames(r, images, last, &t.stack) != ST_OK || report_add_thread(r, &t) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the cause ---- */

/* Joins the first 64 texts of an array of strings with " | ". */
static const char *join_texts(struct report *r, const json_t *array) {
    const char *all = NULL;
    size_t i;
    json_t *text;
    json_array_foreach(array, i, text) {
        if (i < 64) {
            all = report_join(r, all, " | ", report_string(r, text));
        }
    }
    return all;
}

/* Reads the last messages of each library in "Application Specific Information", and finds a lock
 * that its own holder waited for. */
static void read_own_lock(struct report *r, const json_t *said) {
    const char *library;
    json_t *texts;
    /* the macro json_object_foreach needs a pointer that is not const, but changes nothing */
    json_object_foreach((json_t *)(uintptr_t)said, library, texts) {
        report_own_lock(r, join_texts(r, texts));
    }
}

static void read_cause(struct report *r, const json_t *body, int64_t bug_type) {
    const json_t *end = json_object_get(body, "termination");
    const json_t *exception = json_object_get(body, "exception");
    const char *reasons = join_texts(r, json_object_get(end, "reasons"));
    reasons = report_join(r, reasons, " | ", join_texts(r, json_object_get(end, "details")));
    r->kind = "crash";
    r->detector = "apple";
    r->fatal = true;
    switch (bug_type) {
    case 202: /* bug type cpu_resource */
        r->kind = "cpu";
        r->fatal = false;
        break;
    case 145: /* bug type diskwrites_resource */
        r->kind = "disk-write";
        r->fatal = false;
        break;
    default:
        break;
    }
    read_own_lock(r, json_object_get(body, "asi"));
    const char *indicator = report_member(r, end, "indicator");
    if (report_says_watchdog(indicator) && !report_says_watchdog(reasons)) {
        reasons = report_join(r, reasons, " | ", indicator);
    }
    r->reason = either(reasons, indicator);
    r->reason = either(r->reason, report_member(r, exception, "type"));
    const json_t *code = json_object_get(end, "code");
    uint64_t number;
    bool text = json_is_string(code) && report_address(code, &number) && number <= INT64_MAX;
    (void)report_kill_by(r, report_member(r, end, "namespace"),
                         text ? (int64_t)number : report_number(code), reasons);
}

static int64_t bug_type_of(const json_t *header, const json_t *body) {
    const json_t *type = json_object_get(header, "bug_type");
    return report_number(type ? type : json_object_get(body, "bug_type"));
}

static enum st fill_json(struct report *r, const json_t *header, const json_t *body) {
    int64_t bug_type = bug_type_of(header, body);
    if (json_is_object(json_object_get(body, "processByPid"))) {
        enum st st = report_fill_stackshot(r, body);
        ips_read_header(r, header);
        return st;
    }
    if (!json_is_array(json_object_get(body, "threads"))) {
        return err_set(r->e, ERR_NOTHING, "an .ips of bug_type %lld, which holds no threads",
                       (long long)bug_type);
    }
    read_body_head(r, body);
    ips_read_header(r, header);
    choose_app_id(r, body);
    ips_read_images(r, json_object_get(body, "usedImages"));
    read_cause(r, body, bug_type);
    return ips_read_threads(r, body);
}

/* ---- the file: a line of JSON and a body of JSON or text; or one JSON object alone ---- */

enum { IPS_BUG_TYPE = 1, IPS_PROCESSES = 2, IPS_IMAGES = 4, IPS_THREADS = 8 };
static const char *const ips_members[] = {"bug_type", "processByPid", "usedImages", "threads",
                                          NULL};

static bool ips_recognise(unsigned present) {
    const unsigned body = IPS_IMAGES | IPS_THREADS;
    return (present & body) == body || (present & (IPS_BUG_TYPE | IPS_PROCESSES)) != 0;
}

bool report_is_ips_header(struct span text) {
    static const char mark[] = "\"bug_type\"";
    enum { HEADER_MAX = 64 * 1024, MARK = sizeof mark - 1 };
    if (text.end - text.p > HEADER_MAX) {
        return false;
    }
    for (const char *p = text.p; text.end - p >= MARK; p++) {
        p = memchr(p, '"', (size_t)(text.end - p) - (MARK - 1));
        if (!p) {
            return false;
        }
        if (memcmp(p, mark, MARK) == 0) {
            return report_members(text, ips_members) == IPS_BUG_TYPE;
        }
    }
    return false;
}

/* The parts of one .ips. header is NULL if there is no first line, root is NULL if the body is
 * text. */
struct ips {
    const struct report_document *d;
    struct span header_text, body;
    json_t *header, *root;
};

/* Sets the kind of a text whose event is missing, and which was therefore read as a hang, by the
 * bug_type of the first line. */
static void read_resource(struct report *r, const json_t *header) {
    const int64_t type = bug_type_of(header, NULL);
    if (r->reason || strcmp(r->kind, "hang") != 0) {
        return;
    }
    if (type == 202 || type == 142) { /* cpu_resource, and the processor's wakeups */
        r->kind = "cpu";
    } else if (type == 145) {
        r->kind = "disk-write";
    } else {
        return;
    }
    report_lack(r, "its event: the lines that describe it are missing");
}

static enum st ips_fill(struct report *r, const struct ips *ips) {
    if (ips->root) {
        return fill_json(r, ips->header, ips->root);
    }
    enum st st = report_is_sampled(ips->body) ? report_fill_sampled(r, ips->body)
                                              : report_fill_crash(r, ips->body);
    read_resource(r, ips->header);
    report_own_uuid(r, report_member(r, ips->header, "slice_uuid"));
    const char *version = report_member(r, ips->header, "app_version");
    if (version) { /* it is not known which of the two numbers is the build */
        r->app_version = version;
        r->app_build = report_member(r, ips->header, "build_version");
    }
    ips_read_header(r, ips->header);
    return st;
}

static enum st ips_convert(const struct ips *ips, struct err *e) {
    struct report r;
    report_init(&r, "ips", 0, e);
    if (ips->header) {
        report_keep(&r, "header", ips->header_text, false);
    }
    report_keep(&r, "body", ips->body, !ips->root);
    if (!ips->root) {
        report_lack_end(&r, ips->body);
    }
    r.wanted = ips->d->process;
    enum st st = ips_fill(&r, ips);
    if (st == ST_OK) {
        st = report_finish(&r, ips->d);
    }
    report_release(&r);
    return st;
}

/* Splits the .ips and parses its JSON parts. */
static enum st ips_load(struct ips *ips, struct err *e) {
    struct span rest = ips->d->text, first = span_value(&rest);
    span_skip_space(&rest);
    if (!report_is_ips_header(first)) {
        ips->body = ips->d->text;
        return report_load(ips->body, &ips->root, e);
    }
    if (rest.p == rest.end) {
        return err_set(e, ERR_TRUNCATED, "an .ips that ends behind its first line, at byte %zu",
                       (size_t)(first.end - ips->d->text.p));
    }
    ips->header_text = first;
    ips->body = rest;
    enum st st = report_load(first, &ips->header, e);
    return st == ST_OK && *rest.p == '{' ? report_load(rest, &ips->root, e) : st;
}

enum st report_read_ips(const struct report_document *d, struct err *e) {
    struct ips ips = {.d = d};
    enum st st = ips_load(&ips, e);
    if (st == ST_OK) {
        st = ips_convert(&ips, e);
    }
    json_decref(ips.header);
    json_decref(ips.root);
    return st;
}

const struct report_format report_ips_format = {
    .name = "ips",
    .source = "Apple .ips: crashes, watchdogs, use of processor and disk, stackshots",
    .since = "0.1.0",

    .members = ips_members,
    .recognise = ips_recognise,
    .read = report_read_ips};
