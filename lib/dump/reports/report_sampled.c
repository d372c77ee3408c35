/* Apple's text of sampled stacks: of a process that used too much of something ("Microstackshots",
 * the body of an .ips of bug_type 202, 145 and others, and .diag), and spindump's:
 *
 *     Command:          Shop                         headers: "Key: value"
 *     Event:            cpu usage
 *     Steps:            23
 *     Heaviest stack for the target process:
 *     Powerstats for:   Shop [301]                   spindump: "Process: Shop [301]"
 *       Thread 0x2ca9e    DispatchQueue "com.apple.main-thread"(1)    spindump only
 *       12  start + 462 (dyld + 21806) [0x115b4652e]
 *         11  ??? (Shop + 6324) [0x1007698b4]        two columns for each level
 *          *1   hndl_alltraps + 223 (kernel + 39327) [0xffffff800021999f]
 *          *3   psynch_mtxcontinue + 0 (pthread + 11285) [0x…] (blocked by turnstile waiting for
 *               Shop [301] thread 0x2caa0)
 *         1   <User mode>
 *       Binary Images:
 *                0x104980000 -                ???  Shop  <AA8EBB25-…>  /var/…/Shop.app/Shop
 */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/path.h"
#include "dump/dump.h"

/* A node that may get children, and the index of its count. */
struct open_node {
    size_t column;
    json_t *children;
};

enum place { IN_HEAD, ELSEWHERE, IN_PROCESS, IN_IMAGES, AT_END };

struct sampling {
    struct report *r;
    struct report_lines lines;
    const char *line;
    enum place place;
    const char *command;           /* the process that the report is about; NULL = the first */
    const char *process;           /* whose section it is: "Shop [301]" */
    const char *uuid, *executable; /* of its executable; NULL = not told */
    uint64_t load; /* where the frames tell that the executable was loaded; 0 = nowhere */
    struct report_thread thread;
    uint64_t blocked; /* samples in which the thread waited for thread.owner */
    json_t *roots;    /* of the thread */
    VEC(struct open_node) path;
};

/* ---- recognition ---- */

static bool has_line(struct span text, const char *key) {
    enum { HEAD_MAX = 16 * 1024 };
    size_t len = strlen(key), size = (size_t)(text.end - text.p);
    const char *end = text.p + (size < HEAD_MAX ? size : HEAD_MAX);
    for (const char *p = text.p; (size_t)(end - p) > len; p++) {
        if (memcmp(p, key, len) == 0) {
            return true;
        }
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p) {
            break;
        }
    }
    return false;
}

bool report_is_sampled(struct span text) {
    return has_line(text, "Event:") && has_line(text, "Steps:");
}

/* ---- headers ---- */

static const char *sampled_kind_of(const char *event) {
    if (strstr(event, "disk writes")) {
        return "disk-write";
    }
    if (strstr(event, "cpu") || strstr(event, "wakeups")) {
        return "cpu";
    }
    return strstr(event, "launch") ? "launch" : "hang";
}

/* "49 (100ms sampling interval)" */
static int64_t interval_of(const char *steps) {
    const char *open = strchr(steps, '(');
    uint64_t ms;
    return open && (open++, report_take_decimal(&open, &ms)) && ms <= INT32_MAX &&
                   strncmp(open, "ms", 2) == 0
               ? (int64_t)ms
               : -1;
}

static void sampled_read_header(struct sampling *t) {
    struct report *r = t->r;
    const struct {
        const char *key;
        const char **to;
    } texts[] = {{"Incident Identifier", &r->id}, {"CrashReporter Key", &r->user},
                 {"Hardware model", &r->model},   {"Identifier", &r->app_id},
                 {"Command", &t->command},        {"CPU", &r->reason},
                 {"Writes", &r->reason},          {"Wakeups", &r->reason}};
    const char *value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        value = report_line_value(t->line, texts[i].key);
        if (value) {
            *texts[i].to = value;
            return;
        }
    }
    if ((value = report_line_value(t->line, "Path")) != NULL) {
        report_executable(r, value);
    } else if ((value = report_line_value(t->line, "Version")) != NULL) {
        report_version(r, value, false);
    } else if ((value = report_line_value(t->line, "Architecture")) != NULL) {
        r->arch = report_code_type(value); /* the process's value comes behind the system's */
    } else if ((value = report_line_value(t->line, "OS Version")) != NULL) {
        report_os(r, value);
    } else if ((value = report_line_value(t->line, "Date/Time")) != NULL) {
        r->time = report_time(r, value);
    } else if ((value = report_line_value(t->line, "Event")) != NULL) {
        r->kind = sampled_kind_of(value);
        r->reason = value;
    } else if ((value = report_line_value(t->line, "Action taken")) != NULL) {
        r->fatal = strstr(value, "killed") != NULL;
    } else if ((value = report_line_value(t->line, "Duration")) != NULL) {
        r->duration_ms = report_seconds(value);
    } else if ((value = report_line_value(t->line, "Steps")) != NULL) {
        r->sample_interval_ms = interval_of(value);
    }
}

/* ---- a thread's tree ---- */

static bool node_address(void *ctx, const json_t *node, uint64_t *out) {
    (void)ctx;
    return report_address(json_object_get(node, "address"), out);
}

/* ---- who waits for whom ---- */

static const char *lock_kind(const char *symbol) {
    symbol += strspn(symbol, "_");
    if (strncmp(symbol, "psynch_mtx", 10) == 0 || strncmp(symbol, "psynch_mutex", 12) == 0) {
        return "mutex";
    }
    return strncmp(symbol, "psynch_rw", 9) == 0 ? "rwlock" : "lock";
}

/* The thread of this process in "Shop [301] [unique pid 301] thread 0x2caa0)", or "this thread".
 * False: it is another process's, or not the next one of a longer chain. */
static bool take_blocker(const struct sampling *t, const char *s, int64_t *owner) {
    size_t len = t->process ? strlen(t->process) : 0;
    const char *end = strchr(s, ')'), *thread;
    uint64_t id;
    if (strncmp(s, "this thread", 11) == 0) {
        *owner = t->thread.id;
        return t->thread.id >= 0;
    }
    if (!end || len == 0 || strncmp(s, t->process, len) != 0 || s[len] != ' ') {
        return false;
    }
    thread = strstr(s + len, " thread 0x");
    if (!thread || thread > end) {
        return false;
    }
    thread += sizeof " thread " - 1;
    if (!report_take_hex(&thread, &id) || id > INT64_MAX || *thread != ')') {
        return false;
    }
    *owner = (int64_t)id;
    return true;
}

/* Notes for whom the thread waits in the samples of this line; for several that of most. */
static void note_blocker(struct sampling *t, const char *why) {
    const char *s = report_skip_blanks(t->line);
    int64_t owner;
    uint64_t count;
    s += *s == '*';
    if (!report_take_decimal(&s, &count) || count > DUMP_COUNT_MAX ||
        !take_blocker(t, why, &owner)) {
        return;
    }
    bool same = t->thread.waits_for && t->thread.owner == owner;
    if (!same && count <= t->blocked) {
        return;
    }
    t->blocked = count + (same ? t->blocked : 0);
    t->thread.waits_for = lock_kind(report_skip_blanks(s));
    t->thread.owner = owner;
}

/* It waits for whom it waited for in most of its samples. */
static void settle_blocker(struct sampling *t) {
    uint64_t total = 0;
    size_t i;
    json_t *root;
    json_array_foreach(t->roots, i, root) {
        total += (uint64_t)json_integer_value(json_object_get(root, "count"));
    }
    if (t->blocked <= total / 2) {
        t->thread.waits_for = NULL;
    }
    t->blocked = 0;
}

/* Only the main thread's stacks are samples: the main thread did not wait for the others. */
static enum st sampled_end_thread(struct sampling *t) {
    const struct report_tree tree = {"child", "count", false, node_address, NULL};
    struct report *r = t->r;
    enum st st = ST_OK;
    t->path.len = 0;
    if (json_array_size(t->roots) == 0) {
        return ST_OK;
    }
    t->thread.main = r->threads.len == 0;
    settle_blocker(t);
    t->thread.stack = report_begin_stack(r);
    st = report_tree_heaviest(r, &tree, t->roots);
    report_end_stack(r, &t->thread.stack);
    if (st == ST_OK && t->thread.main) {
        st = report_tree_samples(r, &tree, t->roots, NULL);
    }
    (void)json_array_clear(t->roots);
    return st == ST_OK ? report_add_thread(r, &t->thread) : st;
}

/* The text between the first pair of quotes behind the word, NULL if there is none. */
static const char *quoted(struct report *r, const char *s, const char *word) {
    const char *at = strstr(s, word), *open = at ? strchr(at, '"') : NULL;
    const char *close = open ? strchr(open + 1, '"') : NULL;
    return close ? report_text(r, open + 1, (size_t)(close - open - 1)) : NULL;
}

static enum st begin_thread(struct sampling *t, const char *s) {
    uint64_t id;
    if (sampled_end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    t->thread = (struct report_thread){.id = -1};
    t->blocked = 0;
    if (report_take_hex(&s, &id) && id <= INT64_MAX) {
        t->thread.id = (int64_t)id;
    }
    t->thread.name = quoted(t->r, s, "Thread name");
    t->thread.name = t->thread.name ? t->thread.name : quoted(t->r, s, "DispatchQueue");
    return ST_OK;
}

/* Takes over the node. */
static enum st add_node(struct sampling *t, size_t column, json_t *node) {
    while (t->path.len > 0 && t->path.data[t->path.len - 1].column >= column) {
        t->path.len--;
    }
    json_t *below = json_object_get(node, "child");
    json_t *list = t->path.len > 0 ? t->path.data[t->path.len - 1].children : t->roots;
    struct open_node open = {column, below};
    if (!node || !below || json_array_append_new(list, node) != 0) {
        return err_nomem(t->r->e);
    }
    /* Nodes nested too deep for a stack hang from the deepest one that is kept. */
    return t->path.len >= DUMP_FRAMES_MAX || VEC_PUSH(&t->path, open) ? ST_OK : err_nomem(t->r->e);
}

/* The symbol in front of "(IMAGE + 24)", which is the last thing in parentheses. */
static void name_frame(struct report *r, uint64_t address, const char *s, size_t len) {
    while (len > 1 && !(s[len - 1] == '(' && s[len - 2] == ' ')) {
        len--;
    }
    if (len > 2 && strncmp(s, "???", 3) != 0) {
        const char *symbol = report_text(r, s, len - 2);
        if (symbol) {
            report_symbol(r, address, symbol);
        }
    }
}

/* "(Shop + 6324)" in front of the address of a frame in the executable tells where that was loaded,
 * should the images not. */
static void note_load(struct sampling *t, uint64_t address, const char *s, size_t len) {
    const char *name = path_name(t->executable);
    size_t size = name ? strlen(name) : 0;
    uint64_t offset;
    while (len > 0 && s[len - 1] != '(') {
        len--;
    }
    if (t->load > 0 || len == 0 || size == 0 || strncmp(s + len, name, size) != 0 ||
        strncmp(s + len + size, " + ", 3) != 0) {
        return;
    }
    s += len + size + 3;
    if (report_take_decimal(&s, &offset) && *s == ')' && offset < address) {
        t->load = address - offset;
    }
}

/* The executable is listed with its UUID, whatever the section's images say. */
static void complete_executable(struct sampling *t) {
    struct report *r = t->r;
    bool listed = false;
    for (size_t i = 0; i < r->images.len && !listed; i++) {
        const struct report_image *image = &r->images.data[i];
        listed = image->load == t->load ||
                 (image->path && t->executable && strcmp(image->path, t->executable) == 0);
    }
    if (!listed && t->load > 0) {
        report_image(r, &(struct report_image){.name = path_name(t->executable),
                                               .path = t->executable,
                                               .load = t->load});
    }
    report_own_uuid(r, t->uuid);
}

/* "12  start + 462 (dyld + 21806) [0x115b4652e] 1-49"; a kernel's frame has a star in front. */
static enum st take_sample(struct sampling *t) {
    const char *s = report_skip_blanks(t->line), *from = s, *at = NULL;
    size_t column = (size_t)(s - t->line);
    uint64_t count, address;
    if (!report_take_decimal(&s, &count) || *s != ' ' || count > DUMP_COUNT_MAX) {
        return ST_OK;
    }
    s = report_skip_blanks(s);
    for (const char *p = s; (p = strstr(p, "[0x")) != NULL; p++) {
        at = p;
    }
    const char *digits = at ? at + 1 : from;
    if (!at || !report_take_hex(&digits, &address) || *digits != ']') {
        return ST_OK; /* tells how its parent was reached, "<User mode>" */
    }
    name_frame(t->r, address, s, (size_t)(at - s));
    note_load(t, address, s, (size_t)(at - s));
    return add_node(t, column,
                    json_pack("{s:I,s:I,s:[]}", "count", (json_int_t)count, "address",
                              (json_int_t)address, "child"));
}

/* ---- the whole ---- */

/* Does the section of a process begin here? */
static const char *process_of(const struct sampling *t) {
    const char *name = report_line_value(t->line, "Powerstats for");
    if (name || t->place == IN_HEAD) {
        return name;
    }
    return report_line_value(t->line, "Process");
}

static enum st begin_section(struct sampling *t, const char *name) {
    if (sampled_end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    size_t len = t->command ? strlen(t->command) : 0;
    t->process = name;
    bool ours = strncmp(name, t->command ? t->command : "", len) == 0 &&
                (len == 0 || name[len] == 0 || strncmp(name + len, " [", 2) == 0);
    t->place = ours ? IN_PROCESS : ELSEWHERE;
    if (t->r->threads.len > 0) {
        t->place = AT_END;
    }
    return ST_OK;
}

static enum st sampled_take_line(struct sampling *t) {
    static const char blocked[] = "blocked by turnstile waiting for ";
    const char *s = report_skip_blanks(t->line), *name = process_of(t);
    if (name) {
        return begin_section(t, name);
    }
    switch (t->place) {
    case IN_HEAD:
        if (strncmp(t->line, "Heaviest stack for", 18) == 0) {
            t->place = ELSEWHERE;
        }
        sampled_read_header(t);
        return ST_OK;
    case IN_PROCESS:
        if (strncmp(s, "Binary Images:", 14) == 0) {
            t->place = IN_IMAGES;
            return sampled_end_thread(t);
        }
        if (!t->uuid && (t->uuid = report_line_value(t->line, "UUID")) != NULL) {
            return ST_OK;
        }
        if (!t->executable && (t->executable = report_line_value(t->line, "Path")) != NULL) {
            return ST_OK;
        }
        if (strncmp(s, "Thread ", 7) == 0) {
            return begin_thread(t, s + 7);
        }
        if ((s = strstr(t->line, blocked)) != NULL) {
            note_blocker(t, s + sizeof blocked - 1);
        }
        return take_sample(t);
    case IN_IMAGES:
        if (t->r->images.len < DUMP_IMAGES_MAX) {
            report_text_image(t->r, t->line);
        }
        return ST_OK;
    case ELSEWHERE:
    case AT_END:
        return ST_OK;
    }
    return ST_OK;
}

static enum st sampled_fill(struct sampling *t, struct span text) {
    struct report *r = t->r;
    while (t->place != AT_END && (t->line = report_next_line(r, &t->lines)) != NULL) {
        if (sampled_take_line(t) != ST_OK) {
            return err_context(r->e, "line %zu", t->lines.number);
        }
    }
    if (r->no_memory) {
        return err_nomem(r->e);
    }
    r->process = t->command ? t->command : r->process;
    complete_executable(t);
    if (r->reason && strstr(r->reason, "cpu time")) {
        r->cpu_ms = report_seconds(r->reason); /* "90 seconds cpu time over 150 seconds (…)" */
    }
    if (t->place == IN_PROCESS) {
        return err_set(r->e, ERR_TRUNCATED,
                       "a text report that is cut short: no \"Binary Images\" at byte %zu",
                       (size_t)(text.end - text.p));
    }
    return r->threads.len > 0
               ? ST_OK
               : err_set(r->e, ERR_FORMAT, "a report of samples without a stack of its process");
}

enum st report_fill_sampled(struct report *r, struct span text) {
    struct sampling t = {.r = r,
                         .lines = {.at = text.p, .end = text.end},
                         .thread = {.id = -1},
                         .roots = json_array()};
    r->kind = "hang";
    r->detector = "apple";
    enum st st = t.roots ? sampled_fill(&t, text) : err_nomem(r->e);
    json_decref(t.roots);
    VEC_RELEASE(&t.path);
    return st;
}
