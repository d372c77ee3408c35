/* Reads Apple's text reports (.crash; Technical Note TN2151), also those of KSCrash and
 * PLCrashReporter:
 *
 *     Incident Identifier: …                         headers: "Key: value"
 *     Thread 0 name:  Dispatch queue: com.apple.main-thread
 *     Thread 0 Crashed:
 *     0   Shop     0x0000000100125780 0x100070000 + 743296              not symbolicated
 *     1   Shop     0x0000000100128ed0 -[Cart add:] (Cart.m:12)          by Xcode
 *     2   UIKit    0x0000000186dbd200 UIApplicationMain + 208           by the device
 *     3   UIKit    0x3160c800 0x315e0000 + 182272 (UIApplicationMain + 664)   by KSCrash
 *     Binary Images:
 *     0x100070000 - 0x101607fff +Shop arm64  <42fd…8dfb> /var/…/Shop.app/Shop
 */
#include "dump/reports/report_private.h"

#include <string.h>

#include "dump/dump.h"
#include "dump/reports/report_crash_private.h"

/* The reader's state: one report is read line by line. */
struct reading {
    struct report *r;
    struct report_lines lines;
    const char *line; /* current line */
    struct report_thread thread;
    bool in_thread, in_images;
    uint64_t next;          /* index that the thread's next frame should have */
    const char *frame;      /* the frame whose lines are being read; NULL = none */
    const char *last_frame; /* the thread's frame before `frame`; NULL = none */
    size_t folds;           /* number of lines after the first into which `frame` is folded */
    bool strayed;        /* after the thread's frames came those of another thread, whose heading is
                            missing */
    bool gap;            /* empty lines follow what was read of the thread */
    uint64_t missing;    /* number of frames that are missing, by the gaps in the frames' numbers */
    uint64_t stray;      /* frames left out because their numbers are out of order, or because they
                            follow a thread without a heading of their own */
    uint64_t homeless;   /* frames left out because no heading of a thread is before them */
    uint64_t twice;      /* frames left out because their line stands twice */
    int64_t last_thread; /* highest number of a thread that the text has or, in its headers, names;
                            -1 = none */
    uint64_t numbered;   /* threads that a heading began */
    size_t digits;       /* length of the last frame's address, as in struct crash_frame */
    struct crash_images images; /* images that the frames name */
    struct report_image_lines image_lines;
    bool other_head;   /* a second, different "Exception Type:" was read */
    bool of_exception; /* frames outside of threads are those of an exception's text */
    bool named;        /* "Thread N name:" was read, and "Thread N:" was not */
    size_t own_words;  /* lines of "Application Specific Information:" taken, plus one; 0 = not
                          reached; 33 = no more are taken */
    const char *termination;
    /* header values; NULL = not read yet */
    const char *version, *os, *exception, *subtype, *message, *form;
    const char *call_stack_name; /* Cr4shed's "Thread name", of the thread of its call stack */
};

/* ---- headers ---- */

static void crash_read_process(struct report *r, const char *value) {
    const char *pid = strrchr(value, '[');
    size_t len = pid ? (size_t)(pid - value) : strlen(value);
    while (len > 0 && value[len - 1] == ' ') {
        len--;
    }
    const bool nil = len == 6 && memcmp(value, "(null)", 6) == 0;
    r->process = r->process || nil ? r->process : report_text(r, value, len);
}

/* Reads the lines of "Application Specific Information:". Up to iOS 10 they hold the reason for
 * which the system ended the process. */
static void crash_read_own_words(struct reading *t) {
    enum { LINES_MAX = 32 };
    if (strcmp(t->line, "Application Specific Information:") == 0) {
        t->own_words = 1;
    } else if (report_line_value(t->line, "Triggered by Thread")) {
        t->own_words = LINES_MAX + 1;
    } else if (t->own_words > 0 && t->own_words <= LINES_MAX && *t->line) {
        t->termination = report_join(t->r, t->termination, " | ", t->line);
        t->own_words++;
    }
}

/* Reads Cr4shed's "iPhone10,6, iOS 11.3.1". */
static void crash_read_device(struct report *r, const char *value) {
    const char *comma = strstr(value, ", ");
    if (comma) {
        r->model = report_text(r, value, (size_t)(comma - value));
        report_os(r, comma + 2);
    }
}

/* Reads a header line about why the process was reported; false: it is another line. */
static bool crash_read_exception(struct reading *t) {
    struct report *r = t->r;
    const char *value;
    uint64_t thread;
    if (((value = report_line_value(t->line, "Triggered by Thread")) != NULL ||
         (value = report_line_value(t->line, "Triggered by thread")) != NULL ||
         (value = report_line_value(t->line, "Crashed Thread")) != NULL)) {
        if (report_take_decimal(&value, &thread) && thread <= INT32_MAX) {
            /* The text names this thread, and so should have it. */
            t->last_thread = (int64_t)thread;
        }
    } else if ((value = report_line_value(t->line, "Exception Type")) != NULL) {
        t->other_head = t->other_head || (t->exception && strcmp(t->exception, value) != 0);
        t->exception = value;
        r->reason = r->reason ? r->reason : value;
    } else if ((value = report_line_value(t->line, "Exception Codes")) != NULL ||
               (value = report_line_value(t->line, "Termination Reason")) != NULL ||
               (value = report_line_value(t->line, "Termination Description")) != NULL) {
        t->termination = report_join(r, t->termination, " | ", value);
    } else if (strcmp(t->line, "Application main thread deadlocked") == 0) {
        r->kind = "hang"; /* the line is from KSCrash's deadlock detector */
        r->reason = t->line;
    } else if ((value = report_line_value(t->line, "Reason")) != NULL &&
               strncmp(value, "Namespace ", 10) == 0) {
        /* pasted without a line feed: "EXC_CORPSE_NOTIFYTermination" ends the line before */
        t->termination = report_join(r, t->termination, " | ", value);
    } else if (t->termination && t->own_words == 0 && !report_line_value(t->line, "Process") &&
               *t->line &&
               (*t->line == '<' || *t->line == '"' || strncmp(t->line, "Process", 7) == 0 ||
                strncmp(t->line, "Watchdog", 8) == 0 || strncmp(t->line, "Thermal", 7) == 0 ||
                strstr(t->line, "allowance"))) {
        /* a second line of a termination reason */
        t->termination = report_join(r, t->termination, " | ", t->line);
    } else if (report_says_watchdog(t->line)) { /* a line whose heading is unknown or missing */
        t->termination = report_join(r, t->termination, " | ", t->line);
    } else {
        return false;
    }
    return true;
}

static void crash_read_header(struct reading *t) {
    struct report *r = t->r;
    const struct {
        const char *key;
        const char **to;
    } texts[] = {{"Incident Identifier", &r->id},
                 {"CrashReporter Key", &r->user},
                 {"Hardware Model", &r->model},
                 {"Identifier", &r->app_id},
                 {"Bundle id", &r->app_id}, /* Cr4shed's, as "Thread name" */
                 {"Thread name", &t->call_stack_name},
                 {"Exception Subtype", &t->subtype},
                 {"Exception Message", &t->message}};
    const char *value;
    report_own_lock(r, t->line);
    crash_read_own_words(t);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        value = report_line_value(t->line, texts[i].key);
        if (value) {
            *texts[i].to = strcmp(value, "(null)") == 0 ? NULL : value; /* a string that was nil */
            return;
        }
    }
    if (crash_read_exception(t)) {
        return;
    }
    if ((value = report_line_value(t->line, "Process")) != NULL) {
        crash_read_process(r, value);
    } else if ((value = report_line_value(t->line, "Path")) != NULL) {
        report_executable(r, value);
    } else if ((value = report_line_value(t->line, "Version")) != NULL) {
        t->version = value;
    } else if ((value = report_line_value(t->line, "Code Type")) != NULL) {
        r->arch = report_code_type(value);
    } else if ((value = report_line_value(t->line, "OS Version")) != NULL) {
        t->os = value;
        report_os(r, value);
    } else if ((value = report_line_value(t->line, "Report Version")) != NULL) {
        t->form = value;
    } else if ((value = report_line_value(t->line, "Device")) != NULL) {
        crash_read_device(r, value);
    } else if ((value = report_line_value(t->line, "Date")) != NULL) {
        r->time = report_time(r, value);
    } else if ((value = report_line_value(t->line, "Date/Time")) != NULL) {
        r->time = report_time(r, value);
        r->activity = value; /* kept here for "Launch Time"; cleared at the end */
    } else if ((value = report_line_value(t->line, "Launch Time")) != NULL) {
        r->since_launch_ms = report_time_between(value, r->activity);
    } else if ((value = report_line_value(t->line, "Role")) != NULL) {
        r->app_state = report_role(value);
    }
}

/* Does "Version: A (B)" give the build first? KSCrash always writes it so. Apple does so on iOS up
 * to 14, where the device wrote the text. Texts of later systems, which are made from the .ips, and
 * those of macOS give the version first. PLCrashReporter, which names a signal as the exception,
 * gives it first, too. */
static bool crash_build_first(const struct reading *t) {
    static const struct {
        const char *system;
        uint64_t since; /* first major release that gives the version first */
    } systems[] = {
        {"iPhone OS ", 15},
        {"Watch OS ", 8},
        {"Apple TVOS ", 15},
        /* Apple wrote "iOS" in iOS 8 and 9, and KSCrash writes it since; only KSCrash writes the
         * other names. */
        {"iOS ", UINT64_MAX},
        {"tvOS ", UINT64_MAX},
        {"watchOS ", UINT64_MAX},
        {"visionOS ", UINT64_MAX},
    };
    if (!t->os || (t->exception && strncmp(t->exception, "SIG", 3) == 0)) {
        return false;
    }
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        size_t len = strlen(systems[i].system);
        const char *number = t->os + len;
        uint64_t major;
        if (strncmp(t->os, systems[i].system, len) == 0) {
            return report_take_decimal(&number, &major) && major < systems[i].since;
        }
    }
    /* KSCrash writes iOS's report version, 104, on every system. */
    return strncmp(t->os, "macOS ", 6) == 0 && t->form && strcmp(t->form, "104") == 0;
}

/* ---- threads ---- */

/* Checks a frame's number against those before it; *belongs = false: the frame belongs to another
 * thread, whose heading is missing. Inlined frames may repeat the number of their caller. */
static enum st check_order(struct reading *t, uint64_t index, bool *belongs) {
    const size_t count = t->r->frames.len - t->thread.stack.first;
    enum st st = ST_OK;
    t->strayed = t->strayed || (count > 0 && index + 1 < t->next);
    *belongs = !t->strayed;
    if (t->strayed) {
        t->stray++;
        return ST_OK;
    }
    if (index > t->next) { /* part of the stack was cut out */
        uint64_t skipped = index - t->next;
        t->missing += skipped < DUMP_FRAMES_MAX ? skipped : DUMP_FRAMES_MAX;
        t->thread.stack.returns = t->thread.stack.returns || count == 0;
        st = count > 0 ? report_frame(t->r, 0) : ST_OK;
    }
    t->next = index < UINT64_MAX ? index + 1 : index;
    return st;
}

/* Was the end of this address cut off together with the text's? All addresses of a text have the
 * same number of digits. */
static bool is_cut_address(const struct reading *t, const struct crash_frame *f) {
    bool last = t->lines.at >= t->lines.end && t->lines.end[-1] != '\n';
    return last && f->digits < t->digits;
}

/* Has the row the address of the thread's frame before it, and neither a name nor an image's load
 * address? App Store Connect writes such rows for functions that were inlined there, and does not
 * count them. */
static bool is_nameless_row(const struct reading *t, const struct crash_frame *f) {
    const size_t count = t->r->frames.len;
    return count > t->thread.stack.first && f->has_address && f->address > 0 && !f->symbol &&
           !f->has_base && t->r->frames.data[count - 1].address == report_strip(t->r, f->address);
}

/* Adds the frame that was read, if it is one of the thread's. One without a whole address is added
 * as 0, to keep its place. */
static enum st end_frame(struct reading *t) {
    struct crash_frame f;
    bool belongs;
    const char *line = t->frame, *before = t->last_frame;
    t->frame = NULL;
    t->last_frame = line;
    if (!line || !crash_frame_line(t->r, line, &f) ||
        t->r->frames.len - t->thread.stack.first >= DUMP_FRAMES_MAX) {
        return ST_OK; /* frames beyond the limit are only in the kept report */
    }
    if (before && f.has_address && strcmp(before, line) == 0) {
        t->twice++;
        return ST_OK;
    }
    if (is_nameless_row(t, &f)) {
        return ST_OK;
    }
    if (check_order(t, f.index, &belongs) != ST_OK || !belongs) {
        return belongs ? ST_ERR : ST_OK;
    }
    if (!f.has_address || is_cut_address(t, &f)) {
        t->r->frames_unread++;
        return report_frame(t->r, 0);
    }
    t->digits = f.digits;
    t->r->frames_unread += f.joined; /* the second frame of the line */
    if (f.symbol) {
        (void)report_symbol(t->r, f.address, f.symbol);
    }
    crash_images_note(&t->images, t->r, &f);
    return report_frame(t->r, f.address);
}

static void begin_frames(struct reading *t) {
    t->thread.stack = report_begin_stack(t->r);
    t->in_thread = true;
    t->strayed = t->gap = t->named = false;
    t->frame = t->last_frame = NULL;
    t->next = 0;
}

static enum st crash_end_thread(struct reading *t) {
    if (!t->in_thread) {
        return ST_OK;
    }
    t->in_thread = false;
    if (end_frame(t) != ST_OK) {
        return ST_ERR;
    }
    report_end_stack(t->r, &t->thread.stack);
    return report_add_thread(t->r, &t->thread);
}

/* Returns the name in "Dispatch queue: com.apple.main-thread"; in "tid_103 Dispatch queue: …", the
 * thread's own name; else the whole text; NULL: it is empty. */
static const char *thread_name(struct report *r, const char *s) {
    static const char queue[] = "Dispatch queue:";
    s = report_skip_blanks(s);
    const char *at = strstr(s, queue), *end = at;
    if (at == s) {
        s = report_skip_blanks(s + sizeof queue - 1);
    } else if (at && at[-1] == ' ') {
        while (end > s && end[-1] == ' ') {
            end--;
        }
        return report_text(r, s, (size_t)(end - s));
    }
    return *s ? s : NULL;
}

/* Reads a thread's heading. *taken = false: the line is another one. */
static enum st take_thread_line(struct reading *t, bool *taken) {
    struct crash_heading h;
    *taken = crash_heading((struct span){t->line, t->line + strlen(t->line)}, &h);
    if (!*taken) {
        return ST_OK;
    }
    const int64_t crashed = t->last_thread > 0 ? t->last_thread : 0;
    const int64_t id = h.unnumbered ? crashed : (int64_t)h.id;
    if (!(t->named && t->thread.id == id)) {
        if (crash_end_thread(t) != ST_OK) {
            return ST_ERR;
        }
        t->thread = (struct report_thread){.id = id, .main = id == 0};
        t->last_thread = id > t->last_thread ? id : t->last_thread;
        t->numbered++;
    }
    if (h.unnumbered && t->call_stack_name) {
        t->thread.name = thread_name(t->r, t->call_stack_name);
    }
    t->thread.name = h.name ? thread_name(t->r, h.name) : t->thread.name;
    if (h.is_name) {
        t->named = true;
        return ST_OK;
    }
    t->thread.crashed = h.crashed;
    t->r->top_thread = h.attributed ? id : t->r->top_thread;
    begin_frames(t);
    return ST_OK;
}

/* Does the thread continue after an empty line with the frame in this line? Inlined frames repeat
 * the number of their caller; a second frame 0 belongs to another thread. */
static bool goes_on(const struct reading *t) {
    const char *s = report_skip_blanks(t->line);
    const uint64_t next = t->next + (t->frame != NULL);
    uint64_t index;
    return report_take_decimal(&s, &index) && (*s == ' ' || *s == '\t') && !t->strayed &&
           (index == next || (index > 0 && index + 1 == next));
}

/* Takes a line of a thread: a frame, or the rest of one that was folded. The thread ends after
 * empty lines, unless its frames continue after them, as they do in a text with an empty line after
 * each line. Other text is skipped. */
static enum st take_frame_line(struct reading *t) {
    enum { FOLDS_MAX = 3 };
    if (!*t->line) {
        t->gap = true;
        return ST_OK;
    }
    if ((t->gap && !goes_on(t)) || strncmp(t->line, "Thread ", 7) == 0) {
        return crash_end_thread(t); /* such as "Thread 0 crashed with ARM Thread State:" */
    }
    t->gap = false;
    if (crash_is_frame(t->line, t->next + (t->frame != NULL))) {
        enum st st = end_frame(t);
        t->frame = t->line;
        t->folds = 0;
        return st;
    }
    if (t->frame && t->folds < FOLDS_MAX &&
        crash_frame_goes_on(t->frame, report_skip_blanks(t->line))) {
        t->frame = report_join(t->r, t->frame, " ", report_skip_blanks(t->line));
        t->folds++;
    } else {
        t->r->frames_unread +=
            crash_has_address(t->line); /* the line may be a frame that lost its number */
    }
    return ST_OK;
}

/* Begins the thread of "Last Exception Backtrace:". Its frames are on the lines that follow, or all
 * on one line: "(0x1 0x2 …)". */
static enum st begin_last_exception(struct reading *t) {
    if (crash_end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    t->thread = (struct report_thread){.id = -1, .name = "Last Exception Backtrace"};
    begin_frames(t);
    t->thread.stack.returns = true;
    return ST_OK;
}

static enum st take_addresses(struct reading *t) {
    const char *s = t->line + 1;
    uint64_t address;
    while (report_take_hex(&s, &address)) {
        if (t->r->frames.len - t->thread.stack.first < DUMP_FRAMES_MAX &&
            report_frame(t->r, address) != ST_OK) {
            return ST_ERR;
        }
        s = report_skip_blanks(s);
    }
    return ST_OK;
}

/* ---- the whole report ---- */

/* Takes a line outside of the threads. The frames of a thread whose name alone was read follow its
 * name; other frames are left out. */
static enum st take_line_outside(struct reading *t) {
    struct crash_frame frame;
    if (!crash_frame_line(t->r, t->line, &frame) || !frame.has_address) {
        t->of_exception = strncmp(t->line, "Application Specific Backtrace", 30) == 0 ||
                          (t->of_exception && *t->line);
        if (t->r->threads.len == 0) {
            crash_read_header(t);
        }
        return ST_OK;
    }
    if (t->named && frame.index == 0) {
        begin_frames(t);
        return take_frame_line(t);
    }
    t->stray += t->r->threads.len > 0 && !t->of_exception;
    t->homeless += t->r->threads.len == 0 && !t->of_exception;
    return ST_OK;
}

static enum st crash_take_line(struct reading *t) {
    bool taken = false;
    if (report_begins_images(t->line)) {
        t->in_images = true;
        return crash_end_thread(t);
    }
    if (t->in_images) {
        report_image_line(t->r, &t->image_lines, t->line);
        return ST_OK;
    }
    if (strncmp(t->line, "Last Exception Backtrace:", 25) == 0) {
        return begin_last_exception(t);
    }
    if (take_thread_line(t, &taken) != ST_OK || taken) {
        return taken && err_is(t->r->e) ? ST_ERR : ST_OK;
    }
    if (t->in_thread) {
        if (t->line[0] == '(' && t->thread.stack.returns) {
            return take_addresses(t);
        }
        if (take_frame_line(t) != ST_OK || t->in_thread) {
            return err_is(t->r->e) ? ST_ERR : ST_OK;
        }
    }
    return take_line_outside(t);
}

/* Marks the app's images by their load addresses if neither a header nor a mark in the list of
 * images tells which are the app's. */
static void find_app_images(struct report *r) {
    bool told = r->process || r->bundle;
    for (size_t i = 0; i < r->images.len; i++) {
        told = told || r->images.data[i].in_app;
    }
    for (size_t i = 0; i < r->images.len && !told; i++) {
        struct report_image *image = &r->images.data[i];
        image->in_app = report_is_app_place(image->name, image->load);
    }
}

/* Adds to the dump's "lack" the parts that the text lacks. The text may have been cut, or be a part
 * of a report that somebody pasted. */
static void tell_lacks(struct reading *t) {
    struct report *r = t->r;
    const uint64_t wanted = (uint64_t)(t->last_thread + 1);
    report_end_image_lines(r, &t->image_lines);
    size_t unlisted = crash_images_add(&t->images, r, t->in_images);
    report_lack_count(r, wanted > t->numbered ? wanted - t->numbered : 0,
                      "thread that the text leaves out", "threads that the text leaves out");
    report_lack_count(r, t->missing, "frame that the text leaves out",
                      "frames that the text leaves out");
    report_lack_count(r, t->stray, "frame whose number is out of order",
                      "frames whose numbers are out of order");
    report_lack_count(r, t->homeless, "frame whose thread is not told",
                      "frames whose threads are not told");
    report_lack_count(r, t->twice, "frame whose line stands twice",
                      "frames whose lines stand twice");
    report_lack_frames(r);
    if (t->other_head) {
        report_lack(r, "a second \"Exception Type:\": headers may be those of another report");
    }
    if (!t->in_images) {
        report_lack(r, "the text ends without \"Binary Images\", so images have no UUID");
    } else {
        report_lack_count(r, unlisted, "image that \"Binary Images\" leaves out",
                          "images that \"Binary Images\" leaves out");
    }
}

static enum st crash_finish(struct reading *t) {
    struct report *r = t->r;
    if (r->no_memory) {
        return err_nomem(r->e);
    }
    if (crash_end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    r->activity = NULL;
    if (t->version) {
        report_version(r, t->version, crash_build_first(t));
    }
    if (report_says_watchdog(t->subtype)) {
        t->termination = report_join(r, t->termination, " | ", t->subtype);
    }
    if (report_kill(r, t->termination)) {
        r->reason = t->termination;
    } else if (t->exception && strncmp(t->exception, "EXC_RESOURCE", 12) == 0) {
        (void)report_resource(r, t->subtype, t->message);
    }
    if (r->threads.len == 0) {
        return err_set(r->e, ERR_FORMAT, "a text report without a thread");
    }
    find_app_images(r);
    tell_lacks(t);
    return r->no_memory ? err_nomem(r->e) : ST_OK;
}

enum st report_fill_crash(struct report *r, struct span text) {
    struct reading t = {.r = r, .lines = report_lines_of(text), .last_thread = -1};
    enum st st = ST_OK;
    r->kind = "crash";
    r->detector = "apple";
    r->fatal = true;
    while (st == ST_OK && (t.line = report_next_line(r, &t.lines)) != NULL) {
        if (crash_take_line(&t) != ST_OK) {
            st = err_context(r->e, "line %zu", t.lines.number);
        }
    }
    st = st == ST_OK ? crash_finish(&t) : st;
    crash_images_release(&t.images);
    return st;
}
