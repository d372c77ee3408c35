/* Reads Apple's texts of sampled stacks: those of a process that used too much of something
 * ("Microstackshots", the body of an .ips of bug_type 202, 145 and others, and .diag), and
 * spindump's:
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

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "dump/dump.h"
#include "dump/reports/report_crash_private.h"
#include "dump/reports/report_sampled_private.h"
#include "dump/reports/report_sections_private.h"
#include "dump/reports/report_span_private.h"

enum place { IN_HEAD, IN_HEAVIEST, ELSEWHERE, IN_PROCESS, IN_IMAGES, AT_END };

struct sampling {
    struct report *r;
    struct span text;
    struct report_lines lines;
    const char *line;
    enum place place;
    /* Name and id of the process that the report is about; NULL = not given. */
    const char *command, *pid;
    struct report_section section; /* section of the process that is being read */
    size_t sections;               /* number of sections begun */
    const char *process;           /* process of the current section, such as "Shop [301]" */
    const char *event;             /* the head's "Event"; NULL = not given */
    int64_t waited_ms;             /* time without a response before the samples; 0 = not given */
    bool of_another; /* the head of the report is about another process than the one that is read */
    bool states;     /* sections are of "Powerstats", of which each process may have several */
    const char *uuid, *executable; /* UUID and path of the process's executable; NULL = not given */
    uint64_t load; /* load address of the executable, computed from frames; 0 = unknown */
    struct report_outline outline; /* call trees of the threads */
    uint64_t unread; /* number of lines of the trees that are not nodes, or in which a second node
                        follows */
    struct report_image_lines images;
    struct crash_images named; /* images that the frames name */
    uint64_t truncated;        /* stacks that the system could not read to their end */
    uint64_t steps;  /* number of samples that the head or the section gives; 0 = not given */
    size_t heaviest; /* number of lines taken of the heaviest stack, which is used if the text has
                        no other */
    bool in_kernel;  /* the lines being read are a kernel stack */
    bool blank;      /* the line before was empty */
    bool profile;    /* the report is a profile of the whole system, in which nothing hung */
};

/* ---- recognition ---- */

bool report_counts_samples(struct span line) {
    static const char *const keys[] = {"Steps:", "Num samples:"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!line_has_head(line, keys[i])) {
            continue;
        }
        struct span value = line_trim((struct span){line.p + strlen(keys[i]), line.end});
        const char *digits = value.p;
        while (value.p < value.end && *value.p >= '0' && *value.p <= '9') {
            value.p++;
        }
        bool number = value.p > digits;
        value = line_trim(value);
        return number && (value.p == value.end || *value.p == '(');
    }
    return false;
}

bool report_is_sampled(struct span text) {
    enum { HEAD_MAX = 16 * 1024 };
    struct span line;
    if (text.end - text.p > HEAD_MAX) {
        text.end = text.p + HEAD_MAX;
    }
    while (line_take(&text, &line, NULL)) {
        if (report_counts_samples(line) || line_has_head(line, "Powerstats for:") ||
            line_has_head(line, SAMPLED_HEAVIEST)) {
            return true;
        }
    }
    return false;
}

/* ---- headers ---- */

static const char *sampled_kind_of(const char *event) {
    if (strstr(event, "disk writes")) {
        return "disk-write";
    }
    if (strstr(event, "cpu") || strstr(event, "wakeups") || strstr(event, "powerstats")) {
        return "cpu";
    }
    return strstr(event, "launch") ? "launch" : "hang";
}

/* Returns the sampling interval in ms, 100 for "49 (100ms sampling interval)"; -1: none is given.
 */
static int64_t interval_of(const char *steps) {
    const char *open = strchr(steps, '(');
    uint64_t ms;
    return open && (open++, report_take_decimal(&open, &ms)) && ms <= INT32_MAX &&
                   strncmp(open, "ms", 2) == 0
               ? (int64_t)ms
               : -1;
}

/* Returns seconds as ms; 0: they are too many. */
static int64_t waited_of(uint64_t seconds) {
    return seconds < INT32_MAX ? (int64_t)seconds * 1000 : 0;
}

/* Returns the time in ms that "9.99s (process was unresponsive for 94 seconds before sampling)"
 * gives for what was before the samples; 0: none. */
static int64_t waited_before(const char *duration) {
    static const char words[] = "unresponsive for ";
    const char *at = strstr(duration, words);
    uint64_t seconds = 0;
    if (!at) {
        return 0;
    }
    at += sizeof words - 1;
    return report_take_decimal(&at, &seconds) ? waited_of(seconds) : 0;
}

static void sampled_read_header(struct sampling *t) {
    struct report *r = t->r;
    const struct {
        const char *key;
        const char **to;
    } texts[] = {{"Incident Identifier", &r->id},
                 {"CrashReporter Key", &r->user},
                 {"Hardware model", &r->model},
                 {"Identifier", &r->app_id},
                 {"Command", &t->command},
                 {"PID", &t->pid},
                 {"CPU", &r->reason},
                 {"Writes", &r->reason},
                 {"Wakeups", &r->reason}};
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
        /* the process's value overwrites the system's, which comes first */
        r->arch = report_code_type(value);
    } else if ((value = report_line_value(t->line, "OS Version")) != NULL) {
        report_os(r, value);
    } else if ((value = report_line_value(t->line, "Date/Time")) != NULL) {
        r->time = report_time(r, value);
    } else if ((value = report_line_value(t->line, "Event")) != NULL) {
        r->kind = sampled_kind_of(value);
        r->reason = value;
        t->event = value;
        t->profile = strstr(value, "powerstats") != NULL;
    } else if ((value = report_line_value(t->line, "Action taken")) != NULL) {
        r->fatal = strstr(value, "killed") != NULL;
    } else if ((value = report_line_value(t->line, "Duration")) != NULL) {
        t->waited_ms = waited_before(value);
        r->duration_ms = t->waited_ms > 0 ? t->waited_ms : report_seconds(value);
    } else if ((value = report_line_value(t->line, "Steps")) != NULL) {
        r->sample_interval_ms = interval_of(value);
        (void)report_take_decimal(&value, &t->steps);
    }
}

/* ---- a thread's tree ---- */

/* Returns the text between the first pair of quotes after this word; NULL: there is none. */
static const char *quoted(struct report *r, const char *s, const char *word) {
    const char *at = strstr(s, word), *open = at ? strchr(at, '"') : NULL;
    const char *close = open ? strchr(open + 1, '"') : NULL;
    return close ? report_text(r, open + 1, (size_t)(close - open - 1)) : NULL;
}

/* Returns the number in "… 49 samples (1-49) …"; 0: none. */
static uint64_t announced_by(const char *s) {
    const char *word = strstr(s, " samples"), *digits = word;
    uint64_t count;
    while (digits && digits > s && digits[-1] >= '0' && digits[-1] <= '9') {
        digits--;
    }
    return digits && digits < word && report_take_decimal(&digits, &count) ? count : 0;
}

/* Did the thread run the main queue, as 'DispatchQueue "com.apple.main-thread"(1)' or, in old
 * texts, "DispatchQueue 1" shows? */
static bool ran_main_queue(const char *s) {
    static const char first[] = "DispatchQueue 1";
    const char *at = strstr(s, first);
    bool number = at && !(at[sizeof first - 1] >= '0' && at[sizeof first - 1] <= '9');
    return number || strstr(s, "DispatchQueue \"com.apple.main-thread\"");
}

static enum st begin_sampled_thread(struct sampling *t, const char *s) {
    struct report_outline_thread fresh = {
        .thread = {.id = -1}, .main_queue = ran_main_queue(s), .announced = announced_by(s)};
    uint64_t id;
    t->unread += strstr(s, " [0x") != NULL; /* another node was joined to the line */
    if (report_take_hex(&s, &id) && id <= INT64_MAX) {
        fresh.thread.id = (int64_t)id;
    }
    fresh.thread.name = quoted(t->r, s, "Thread name");
    fresh.thread.name = fresh.thread.name ? fresh.thread.name : quoted(t->r, s, "DispatchQueue");
    return report_outline_begin(t->r, &t->outline, &fresh);
}

/* Ends the threads of a section. */
static enum st end_section_threads(struct sampling *t) {
    return report_outline_end(t->r, &t->outline, t->states, t->steps);
}

/* Is the image's name, "<2C0AFA56-…>", the UUID of the process's executable? */
static bool is_own_uuid(const struct sampling *t, struct span image) {
    struct image_id own = {0}, id = {0};
    return t->uuid && line_len(image) > 2 && *image.p == '<' &&
           parse_uuid(t->uuid, strlen(t->uuid), &own) &&
           parse_uuid(image.p + 1, line_len(image) - 2, &id) && image_id_equal(&own, &id);
}

/* Notes the image of a frame by its last parenthesis, in case the list of images lacks it, and
 * computes the executable's load address. */
static void note_sampled_image(struct sampling *t, uint64_t address, const char *s, size_t len) {
    struct crash_frame f = {.address = address, .has_address = true};
    const struct sampled_place p = sampled_place_of(s, len);
    const char *name = path_name(t->executable);
    if (!p.placed) {
        return;
    }
    if (t->load == 0 && name && p.offset < address &&
        parse_is(p.image.p, line_len(p.image), name)) {
        t->load = address - p.offset;
    }
    f.image = is_own_uuid(t, p.image) ? (name ? name : t->command)
                                      : report_text(t->r, p.image.p, line_len(p.image));
    f.has_base = p.offset < address;
    f.base = address - p.offset;
    crash_images_note(&t->named, t->r, &f);
}

/* Adds the executable to the images if the section does not list it, and gives it its UUID. */
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

/* Takes a node "12 start + 462 (dyld + 21806) [0x115b4652e] 1-49"; a kernel's frame begins with a
 * star. column: indentation of the node. */
static enum st take_sample(struct sampling *t, size_t column) {
    const char *s = report_skip_blanks(t->line), *from = s, *at;
    uint64_t count, address;
    bool joined;
    if (!report_take_decimal(&s, &count) || *s != ' ' || count > DUMP_COUNT_MAX) {
        /* notes, and frames of the kernel, are not nodes of the tree */
        bool node = strstr(from, "[0x"), other = *from == '*' || (*from == '<' && !node);
        t->unread += *from && !other && (node || report_outline_now(&t->outline));
        return ST_OK;
    }
    s = report_skip_blanks(s);
    at = report_node_address(s, &joined);
    t->unread += joined;
    const char *digits = at ? at + 1 : from;
    if (!at || !report_take_hex(&digits, &address) || *digits != ']') {
        /* "<User mode>" is not a node: it tells how its parent was reached. */
        t->unread += *s != '<';
        report_outline_note(&t->outline, column);
        t->truncated += strstr(s, "truncated backtrace>") != NULL;
        return ST_OK;
    }
    struct report_outline_thread nameless = {.thread = {.id = -1}};
    if (!report_outline_now(&t->outline) &&
        report_outline_begin(t->r, &t->outline, &nameless) != ST_OK) {
        return ST_ERR;
    }
    uint64_t name = sampled_frame_name(t->r, address, s, (size_t)(at - s));
    note_sampled_image(t, address, s, (size_t)(at - s));
    return report_outline_add(t->r, &t->outline,
                              &(struct report_outline_node){column, count, address, s, name});
}

/* ---- the whole report ---- */

/* Chooses the section to read, once the head has named the report's process. */
static enum st choose_section(struct sampling *t) {
    struct report *r = t->r;
    struct report_wanted wanted = {.name = t->command, .pid = t->pid};
    if (r->wanted) {
        wanted = (struct report_wanted){r->wanted, r->wanted, true};
    }
    if (!report_choose_section(t->text, &wanted, &t->section)) {
        return r->wanted ? err_set(r->e, ERR_FORMAT, "no process '%s' among the %zu of the report",
                                   r->wanted, t->section.count)
                         : err_set(r->e, ERR_FORMAT,
                                   "a report of samples without a stack of its process");
    }
    struct span value = t->section.value;
    const char *name = report_text(r, value.p, (size_t)(value.end - value.p));
    const char *own = name ? report_text(r, name, report_process_name_len(name)) : NULL;
    t->of_another = !t->command || !own || strcmp(own, t->command) != 0;
    if (r->wanted && t->of_another) {
        /* Several processes of this report may be read, and the id belongs to the whole report. */
        r->id = NULL;
        r->ordinal = t->section.number;
    }
    const int64_t waited_ms = waited_of(t->section.unresponsive_s);
    t->waited_ms = t->waited_ms > 0 ? t->waited_ms : waited_ms;
    if (t->of_another) { /* the head describes another process */
        const bool of_system = !t->command && t->event && !t->profile && !r->wanted;
        r->app_id = r->app_version = r->app_build = r->bundle = r->reason = NULL;
        r->kind = t->profile ? r->kind : "hang";
        r->cpu_ms = -1;
        r->fatal = false;
        r->duration_ms = waited_ms > 0 ? waited_ms : of_system ? r->duration_ms : -1;
        r->process = own;
    } else if (!t->event) { /* the head's duration is that of the sampling */
        r->duration_ms = t->waited_ms > 0 ? t->waited_ms : -1;
    } else if (strcmp(r->kind, "hang") == 0 && t->waited_ms > r->duration_ms) {
        r->duration_ms = t->waited_ms;
    }
    return ST_OK;
}

/* Returns the process of a line that begins a section, such as "Shop [301]"; NULL: it is another
 * line. "Powerstats for" sets t->states. */
static const char *sampled_section_name(struct sampling *t) {
    const char *name = report_line_value(t->line, "Powerstats for");
    t->states = t->states || name;
    return name ? name : report_line_value(t->line, "Process");
}

/* Begins a section. A process may have several, one for each state that it was in. */
static enum st begin_process_section(struct sampling *t, const char *name) {
    if (end_section_threads(t) != ST_OK || (t->sections == 0 && choose_section(t) != ST_OK)) {
        return ST_ERR;
    }
    t->sections++;
    struct span value = t->section.value;
    bool again = t->states && t->sections > t->section.number &&
                 parse_is(value.p, (size_t)(value.end - value.p), name);
    t->place = t->sections == t->section.number || again ? IN_PROCESS : ELSEWHERE;
    t->process = t->place == IN_PROCESS ? name : t->process;
    if (t->place == ELSEWHERE && t->sections > t->section.number && !t->states) {
        t->place = AT_END;
    }
    return ST_OK;
}

/* Reads the section's own header lines. Lines that the report's head has, too, set the app and the
 * architecture only if the head is about another process. */
static void read_section_head(struct sampling *t) {
    struct report *r = t->r;
    const char *value;
    if ((value = report_line_value(t->line, "Num samples")) != NULL) {
        (void)report_take_decimal(&value, &t->steps);
    }
    if (!t->uuid && (value = report_line_value(t->line, "UUID")) != NULL) {
        t->uuid = value;
    } else if (!t->executable && (value = report_line_value(t->line, "Path")) != NULL) {
        t->executable = value;
        if (t->of_another) {
            report_executable(r, value);
        }
    } else if (t->of_another && (value = report_line_value(t->line, "Architecture")) != NULL) {
        r->arch = report_code_type(value);
    } else if (t->of_another && ((value = report_line_value(t->line, "Codesigning ID")) != NULL ||
                                 (value = report_line_value(t->line, "Identifier")) != NULL)) {
        r->app_id = value;
    } else if (t->of_another && ((value = report_line_value(t->line, "App Version")) != NULL ||
                                 (value = report_line_value(t->line, "Version")) != NULL)) {
        report_version(r, value, false);
    }
}

/* Sets the reason to the sentence that tells why this process was chosen, if the report has several
 * and the user named none. */
static void tell_choice(struct sampling *t) {
    const struct report_section *s = &t->section;
    char text[256];
    if (!t->command && !t->r->wanted && s->count > 1) {
        const char *event = t->event && !t->profile ? t->event : NULL;
        (void)snprintf(text, sizeof text, "%.64s%s%.128s: %s, of %zu processes", event ? event : "",
                       event ? "; " : "", t->r->process ? t->r->process : "?",
                       report_section_why(s), s->count);
        t->r->reason = report_text(t->r, text, strlen(text));
    }
}

/* Is the line the heading of the heaviest stack, in a text that ends before its first process's
 * stacks and so has no other stack? */
static bool begins_heaviest(struct sampling *t) {
    struct report_section any;
    return strncmp(t->line, SAMPLED_HEAVIEST, sizeof SAMPLED_HEAVIEST - 1) == 0 &&
           (!report_choose_section(t->text, &(struct report_wanted){0}, &any) ||
            (any.count == 1 && !any.stack));
}

/* Does the line begin a part of a thread's stack, "User stack:" or "Kernel stack:" of Mac OS X 10.6
 * to 10.8? */
static bool begin_stack_part(struct sampling *t, const char *s) {
    bool user = strcmp(s, "User stack:") == 0;
    bool part = user || strcmp(s, "Kernel stack:") == 0;
    t->in_kernel = part ? !user : t->in_kernel;
    return part;
}

static enum st sampled_take_line(struct sampling *t) {
    const char *s = report_skip_blanks(t->line), *name = sampled_section_name(t);
    if (name && t->place == IN_HEAVIEST && !t->r->wanted) { /* no section has a stack */
        t->lines.at = t->lines.end;
        return ST_OK;
    }
    if (name) {
        return begin_process_section(t, name);
    }
    switch (t->place) {
    case IN_HEAD:
        if (begins_heaviest(t)) {
            t->place = IN_HEAVIEST;
            return begin_sampled_thread(t, "DispatchQueue 1");
        }
        sampled_read_header(t);
        return ST_OK;
    case IN_PROCESS:
        if (report_begins_images(s)) {
            t->place = IN_IMAGES;
            report_end_image_lines(t->r, &t->images);
            t->images = (struct report_image_lines){0};
            return end_section_threads(t);
        }
        read_section_head(t);
        if (strncmp(s, "Thread ", 7) == 0) {
            t->in_kernel = false;
            return begin_sampled_thread(t, s + 7);
        }
        if (begin_stack_part(t, s)) {
            return ST_OK;
        }
        report_note_blocker(report_outline_now(&t->outline), t->process, t->line);
        return t->in_kernel || report_is_prose(t->line, t->blank)
                   ? ST_OK
                   : take_sample(t, (size_t)(s - t->line));
    case IN_HEAVIEST:
        return *s ? take_sample(t, ++t->heaviest) : ST_OK;
    case IN_IMAGES:
        if (t->r->images.len < DUMP_IMAGES_MAX) {
            report_image_line(t->r, &t->images, t->line);
        }
        return ST_OK;
    case ELSEWHERE:
    case AT_END:
        return ST_OK;
    }
    return ST_OK;
}

/* Reads "90 seconds cpu time over 150 seconds (…)", the line "CPU:". The samples, whose time is in
 * "Duration:", cover only a part of that processor time. */
static void read_cpu_use(struct report *r) {
    static const char words[] = " seconds cpu time over ";
    const char *over = r->reason ? strstr(r->reason, words) : NULL;
    if (over) {
        int64_t ms = report_seconds(over + sizeof words - 1);
        r->cpu_ms = report_seconds(r->reason);
        r->duration_ms = ms >= 0 ? ms : r->duration_ms;
    }
}

static enum st sampled_fill(struct sampling *t) {
    struct report *r = t->r;
    while (t->place != AT_END && (t->line = report_next_line(r, &t->lines)) != NULL) {
        if (sampled_take_line(t) != ST_OK) {
            return err_context(r->e, "line %zu", t->lines.number);
        }
        t->blank = !*t->line;
    }
    report_end_image_lines(r, &t->images);
    if (t->place != IN_HEAVIEST && t->place != IN_PROCESS) {
        report_lack_count(r, crash_images_add(&t->named, r, true),
                          "image that \"Binary Images\" leaves out",
                          "images that \"Binary Images\" leaves out");
    }
    if (t->place == IN_HEAVIEST && end_section_threads(t) == ST_OK) {
        (void)crash_images_add(&t->named, r, false);
        report_lack(r, "all but the main thread's heaviest stack: the text ends behind it");
    }
    if (r->no_memory) {
        return err_nomem(r->e);
    }
    r->process = t->command && !t->of_another ? t->command : r->process;
    r->app_id = r->app_id ? r->app_id : r->process; /* a daemon's report has no bundle id */
    complete_executable(t);
    tell_choice(t);
    report_lack_count(r, t->unread, "line within its call trees that could not be read",
                      "lines within its call trees that could not be read");
    report_lack_count(r, t->truncated, "stack that the system truncated",
                      "stacks that the system truncated");
    if (t->section.cut) {
        report_lack(r, "what follows: the text ends within its last process");
    }
    read_cpu_use(r);
    if (t->place == IN_PROCESS) { /* people paste the text without its images */
        if (end_section_threads(t) != ST_OK) {
            return ST_ERR;
        }
        (void)crash_images_add(&t->named, r, false);
        report_own_uuid(r, t->uuid);
        report_lack(r, "what follows: the text ends without \"Binary Images\"");
    }
    return r->threads.len > 0
               ? ST_OK
               : err_set(r->e, ERR_FORMAT, "a report of samples without a stack of its process");
}

enum st report_fill_sampled(struct report *r, struct span text) {
    struct sampling t = {.r = r, .text = text, .lines = report_lines_of(text)};
    r->kind = "hang";
    r->detector = "apple";
    enum st st = sampled_fill(&t);
    report_outline_release(&t.outline);
    crash_images_release(&t.named);
    return st;
}
