/* Reads Apple's stackshots (.ips of bug_type 288; xnu's kcdata.py writes the same), which have all
 * threads of all processes at one moment. The process that the reason names is taken for the one
 * that hung, else the one in front:
 *
 *     {"frontmostPids":[301],"reason":…,"processByPid":{"301":{"procname":"Shop","threadById":
 *       {"4711":{"id":4711,"dispatch_queue_label":"com.apple.main-thread","userFrames":[[2,1234],…],
 *                "kernelFrames":…}},
 *       "waitInfo":["thread 4711: …",…]}},
 *      "binaryImages":[["UUID",LOAD,"P"],…]}
 */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/number_map.h"
#include "base/parse.h"
#include "dump/dump.h"

struct shot {
    struct report *r;
    const json_t *images;      /* each element: [UUID, load address, source] */
    bool *listed;              /* for each image: is it in the draft? */
    const json_t *waits;       /* texts about the waits of threads for each other */
    struct number_map waiters; /* thread id -> index of its text in waits */
};

static bool has_frames(const json_t *thread) {
    return json_array_size(json_object_get(thread, "userFrames")) > 0;
}

static bool has_threads(const json_t *process) {
    const char *key;
    json_t *thread;
    bool found = false;
    /* the macro json_object_foreach needs a pointer that is not const, but changes nothing */
    json_object_foreach((json_t *)(uintptr_t)json_object_get(process, "threadById"), key, thread) {
        found = found || has_frames(thread);
    }
    return found;
}

/* Returns the first process of this name or id that has a thread with frames; NULL = there is
 * none. */
static const json_t *named_process(const json_t *body, const char *wanted) {
    json_t *processes = json_object_get(body, "processByPid"), *process;
    const char *key;
    const json_t *first = NULL;
    json_object_foreach(processes, key, process) {
        const char *name = json_string_value(json_object_get(process, "procname"));
        bool fits = strcmp(key, wanted) == 0 || (name && strcmp(name, wanted) == 0);
        first = !first && fits && has_threads(process) ? process : first;
    }
    return first;
}

static bool is_name_char(char c) {
    return (report_lower(c) >= 'a' && report_lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Does the text name this process where its id, of `len` digits, stands at byte i? It does in
 * "Shop:301", and in "[301]" or "pid 301" if the name occurs anywhere in the text. Names may be cut
 * to the 15 bytes that the kernel keeps. */
static bool tells_process(const char *text, size_t i, size_t len, const json_t *process) {
    enum { KERNEL_NAME_MAX = 15 };
    char name[KERNEL_NAME_MAX + 1];
    const char *full = json_string_value(json_object_get(process, "procname"));
    if (!full || !*full || i == 0 || text[i + len] == '.' || is_name_char(text[i + len])) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%s", full);
    if (text[i - 1] == ':') {
        const char *before[] = {name, full};
        for (size_t k = 0; k < 2; k++) {
            size_t n = strlen(before[k]);
            if (n <= i - 1 && memcmp(text + i - 1 - n, before[k], n) == 0 &&
                (n == i - 1 || !is_name_char(text[i - 2 - n]))) {
                return true;
            }
        }
        return false;
    }
    bool named = text[i - 1] == '[' || (i >= 4 && memcmp(text + i - 4, "pid ", 4) == 0);
    return named && strstr(text, name);
}

/* Returns the process that the system's reason is about: the first process with a stack whose id
 * occurs in the reason together with the process's name. NULL: the reason names none. *told is then
 * the beginning of the reason, such as "Shop:301", if it has the form of a process. */
static const json_t *reason_process(struct report *r, const json_t *body, const char **told) {
    const char *reason = json_string_value(json_object_get(body, "reason"));
    const json_t *processes = json_object_get(body, "processByPid");
    *told = NULL;
    for (size_t i = 0, len; reason && reason[i]; i += len) {
        char pid[16];
        len = strspn(reason + i, "0123456789");
        if (len == 0) {
            len = 1;
            continue;
        }
        (void)snprintf(pid, sizeof pid, "%.*s", (int)(len < 15 ? len : 15), reason + i);
        const json_t *process = json_object_get(processes, pid);
        if (has_threads(process) && tells_process(reason, i, len, process)) {
            return process;
        }
        bool begins = i > 0 && reason[i - 1] == ':' && strcspn(reason, ": \n") == i - 1;
        *told = begins ? report_text(r, reason, i + len) : *told;
    }
    return NULL;
}

/* Returns the first of the frontmost processes that has a thread with frames, else the only process
 * that has one; NULL: there is none, or several that are not in front. */
static const json_t *front_process(const json_t *body) {
    json_t *processes = json_object_get(body, "processByPid"), *process;
    const json_t *front = json_object_get(body, "frontmostPids"), *only = NULL;
    const char *key;
    size_t i, count = 0;
    json_t *pid;
    json_array_foreach(front, i, pid) {
        char name[24];
        (void)snprintf(name, sizeof name, "%lld", (long long)json_integer_value(pid));
        process = json_object_get(processes, name);
        if (has_threads(process)) {
            return process;
        }
    }
    json_object_foreach(processes, key, process) {
        if (has_threads(process)) {
            only = process;
            count++;
        }
    }
    return count == 1 ? only : NULL;
}

/* Finds the load address of image `index`; 0 = its frames' addresses are absolute. An image is
 * added to the draft with its first frame, because images of other processes may have the same
 * address. */
static enum st image_load(struct shot *s, uint64_t index, uint64_t *load) {
    const json_t *entry = json_array_get(s->images, (size_t)index);
    const char *source = json_string_value(json_array_get(entry, 2));
    const json_t *uuid = json_array_get(entry, 0);
    struct report_image image = {0};
    *load = 0;
    if (index >= json_array_size(s->images) || !json_is_array(entry)) {
        return err_set(s->r->e, ERR_FORMAT, "a frame in image %llu of %zu",
                       (unsigned long long)index, json_array_size(s->images));
    }
    if (!report_address(json_array_get(entry, 1), &image.load) || image.load == 0) {
        return ST_OK;
    }
    *load = image.load;
    if (!s->listed[index] && s->r->images.len < DUMP_IMAGES_MAX) {
        s->listed[index] = true;
        if (json_is_string(uuid)) {
            (void)parse_uuid(json_string_value(uuid), json_string_length(uuid), &image.id);
        }
        /* "P": the image belongs to the process, and not to the shared cache */
        image.in_app = source && strcmp(source, "P") == 0;
        report_image(s->r, &image);
    }
    return ST_OK;
}

/* ---- who waits for whom ---- */

/* Reads the waiting thread's id from a text of xnu's kcdata.py: "thread 4711: unfair lock 16b…
 * owned by thread 4712 [turnstile …]"; *rest becomes what follows the id. False: the text has no
 * such form. */
static bool take_waiter(const char *text, uint64_t *id, const char **rest) {
    static const char thread[] = "thread ";
    *rest = text;
    if (!text || strncmp(text, thread, sizeof thread - 1) != 0) {
        return false;
    }
    *rest = text + sizeof thread - 1;
    return report_take_decimal(rest, id) && *id < UINT64_MAX;
}

/* Maps each waiting thread's id to its text in waits. */
static enum st index_waits(struct shot *s) {
    size_t i, known;
    json_t *info;
    json_array_foreach(s->waits, i, info) {
        const char *rest;
        uint64_t id;
        bool added;
        if (take_waiter(json_string_value(info), &id, &rest) &&
            !number_map_put(&s->waiters, id, i, &known, &added)) {
            return err_nomem(s->r->e);
        }
    }
    return ST_OK;
}

static void read_wait(const struct shot *s, struct report_thread *t) {
    static const char by[] = "owned by thread ";
    static const struct {
        const char *words, *kind;
    } kinds[] = {{": pthread mutex ", "mutex"},
                 {": unfair lock ", "unfair lock"},
                 {": workloop sync wait", "queue"}};
    const char *rest;
    uint64_t id, owner;
    size_t at;
    if (t->id < 0 || !number_map_get(&s->waiters, (uint64_t)t->id, &at) ||
        !take_waiter(json_string_value(json_array_get(s->waits, at)), &id, &rest)) {
        return;
    }
    const char *held = strstr(rest, by);
    for (size_t i = 0; held && i < sizeof kinds / sizeof *kinds; i++) {
        const char *number = held + sizeof by - 1;
        if (strncmp(rest, kinds[i].words, strlen(kinds[i].words)) == 0 &&
            report_take_decimal(&number, &owner) && owner <= INT64_MAX) {
            t->waits_for = kinds[i].kind;
            t->owner = (int64_t)owner;
        }
    }
}

static enum st read_thread(struct shot *s, const json_t *object, bool main_thread) {
    struct report *r = s->r;
    const char *name = report_member(r, object, "name");
    struct report_thread t = {.id = report_number(json_object_get(object, "id")),
                              .main = main_thread};
    size_t i;
    json_t *frame;
    t.name = name ? name : report_member(r, object, "dispatch_queue_label");
    read_wait(s, &t);
    t.stack = report_begin_stack(r);
    json_array_foreach(json_object_get(object, "userFrames"), i, frame) {
        uint64_t index, offset, load;
        if (i >= DUMP_FRAMES_MAX) {
            break;
        }
        if (!report_u64(json_array_get(frame, 0), &index) ||
            !report_address(json_array_get(frame, 1), &offset)) {
            return err_set(r->e, ERR_FORMAT, "frame %zu is not an image and an offset", i);
        }
        if (image_load(s, index, &load) != ST_OK || report_frame(r, load + offset) != ST_OK) {
            return ST_ERR;
        }
    }
    report_end_stack(r, &t.stack);
    return report_add_thread(r, &t);
}

/* Returns the thread of the main queue, else the thread with the smallest id, among those that have
 * frames; NULL: no thread has frames. */
static const json_t *main_thread_of(json_t *threads) {
    const json_t *first = NULL;
    const char *key;
    json_t *thread;
    json_object_foreach(threads, key, thread) {
        const char *queue = json_string_value(json_object_get(thread, "dispatch_queue_label"));
        if (!has_frames(thread)) {
            continue;
        }
        if (queue && strcmp(queue, "com.apple.main-thread") == 0) {
            return thread;
        }
        if (!first || report_number(json_object_get(thread, "id")) <
                          report_number(json_object_get(first, "id"))) {
            first = thread;
        }
    }
    return first;
}

static enum st stackshot_read_threads(struct shot *s, const json_t *process) {
    json_t *threads = json_object_get(process, "threadById"), *thread;
    const json_t *first = main_thread_of(threads);
    const char *key;
    s->waits = json_object_get(process, "waitInfo");
    if (index_waits(s) != ST_OK) {
        return ST_ERR;
    }
    json_object_foreach(threads, key, thread) {
        if (has_frames(thread) && read_thread(s, thread, thread == first) != ST_OK) {
            return err_context(s->r->e, "thread %s", key);
        }
    }
    return ST_OK;
}

/* Finds the process to read: the one that the caller wants, else the one that the reason names,
 * else the one that front_process returns. */
static enum st shot_find_process(struct report *r, const json_t *body, const json_t **out) {
    const char *told = NULL;
    if (r->wanted) {
        *out = named_process(body, r->wanted);
        return *out ? ST_OK
                    : err_set(r->e, ERR_FORMAT, "no process '%s' with a stack in the report",
                              r->wanted);
    }
    *out = reason_process(r, body, &told);
    if (!*out && told) {
        return err_set(r->e, ERR_UNSUPPORTED, "a stackshot without a stack of '%s', its reason",
                       told);
    }
    *out = *out ? *out : front_process(body);
    return *out ? ST_OK
                : err_set(r->e, ERR_UNSUPPORTED,
                          "a stackshot without a stack of a process in front");
}

enum st report_fill_stackshot(struct report *r, const json_t *body) {
    const json_t *process;
    struct shot s = {.r = r, .images = json_object_get(body, "binaryImages")};
    if (json_object_get(body, "panicString")) {
        return err_set(r->e, ERR_NOTHING, "an .ips of a kernel panic");
    }
    if (shot_find_process(r, body, &process) != ST_OK) {
        return ST_ERR;
    }
    s.listed = arena_array(&r->arena, json_array_size(s.images), sizeof *s.listed);
    if (!s.listed) {
        return err_nomem(r->e);
    }
    r->kind = "hang";
    r->detector = "apple";
    r->reason = report_member(r, body, "reason");
    r->id = report_member(r, body, "incident");
    r->user = report_member(r, body, "crashReporterKey");
    r->time = report_time(r, json_string_value(json_object_get(body, "date")));
    r->model = report_member(r, body, "product");
    report_os(r, report_member(r, body, "build"));
    r->process = report_member(r, process, "procname");
    r->app_id = r->process; /* no other member names the process that was read */
    (void)report_kill_by(r, report_member(r, body, "exception"), -1, r->reason);
    enum st st = stackshot_read_threads(&s, process);
    number_map_release(&s.waiters);
    return st;
}
