/* Apple's text reports (.crash; Technical Note TN2151), also as KSCrash and PLCrashReporter write
 * them:
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
#include "dump/report_private.h"

#include <string.h>

#include "base/parse.h"
#include "dump/dump.h"

/* One text, line by line. */
struct reading {
    struct report *r;
    const char *at, *end;
    const char *line; /* NUL-terminated copy of the current one, in the arena */
    size_t number;
    struct report_thread thread;
    bool in_thread, in_images;
    bool named; /* "Thread N name:" has come, and "Thread N:" has not */
    const char *termination;
};

/* ---- lines ---- */

static bool next_line(struct reading *t) {
    if (t->at >= t->end) {
        return false;
    }
    size_t left = (size_t)(t->end - t->at);
    const char *feed = memchr(t->at, '\n', left);
    size_t len = feed ? (size_t)(feed - t->at) : left;
    const char *start = t->at;
    t->at += len + (feed != NULL);
    t->number++;
    while (len > 0 && (start[len - 1] == '\r' || start[len - 1] == ' ' || start[len - 1] == '\t')) {
        len--;
    }
    t->line = len > 0 ? report_text(t->r, start, len) : "";
    return t->line != NULL;
}

static const char *skip_blanks(const char *s) {
    while (*s == ' ' || *s == '\t') {
        s++;
    }
    return s;
}

/* What follows "KEY:" on the line, NULL if it does not begin so. */
static const char *value_of(const char *line, const char *key) {
    size_t len = strlen(key);
    if (strncmp(line, key, len) != 0 || line[len] != ':') {
        return NULL;
    }
    const char *value = skip_blanks(line + len + 1);
    return *value ? value : NULL;
}

/* A number in hex with its 0x at *s; steps over it. */
static bool take_hex(const char **s, uint64_t *out) {
    size_t len = 2;
    if ((*s)[0] != '0' || (*s)[1] != 'x') {
        return false;
    }
    while (strchr("0123456789abcdefABCDEF", (*s)[len]) && (*s)[len]) {
        len++;
    }
    if (!parse_hex(*s, len, out)) {
        return false;
    }
    *s += len;
    return true;
}

static bool take_decimal(const char **s, uint64_t *out) {
    size_t len = strspn(*s, "0123456789");
    if (!parse_u64(*s, len, UINT64_MAX, out)) {
        return false;
    }
    *s += len;
    return true;
}

/* ---- headers ---- */

/* "3.5.5.2 (3.5.5)": build and version; macOS and KSCrash write the version first. */
static void read_version(struct report *r, const char *value) {
    const char *open = strrchr(value, '('), *close = open ? strchr(open, ')') : NULL;
    size_t len = strcspn(value, " (");
    const char *first = report_text(r, value, len);
    const char *second = close ? report_text(r, open + 1, (size_t)(close - open - 1)) : NULL;
    r->app_version = second ? second : first;
    r->app_build = second ? first : NULL;
}

static void read_process(struct report *r, const char *value) {
    const char *pid = strrchr(value, '[');
    size_t len = pid ? (size_t)(pid - value) : strlen(value);
    while (len > 0 && value[len - 1] == ' ') {
        len--;
    }
    r->process = r->process ? r->process : report_text(r, value, len);
}

static void read_header(struct reading *t) {
    struct report *r = t->r;
    const struct {
        const char *key;
        const char **to;
    } texts[] = {{"Incident Identifier", &r->id},
                 {"CrashReporter Key", &r->user},
                 {"Hardware Model", &r->model},
                 {"Identifier", &r->app_id}};
    const char *value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        value = value_of(t->line, texts[i].key);
        if (value) {
            *texts[i].to = value;
            return;
        }
    }
    if ((value = value_of(t->line, "Process")) != NULL) {
        read_process(r, value);
    } else if ((value = value_of(t->line, "Path")) != NULL) {
        report_executable(r, value);
    } else if ((value = value_of(t->line, "Version")) != NULL) {
        read_version(r, value);
    } else if ((value = value_of(t->line, "Code Type")) != NULL) {
        r->arch = report_code_type(value);
    } else if ((value = value_of(t->line, "OS Version")) != NULL) {
        report_os(r, value);
    } else if ((value = value_of(t->line, "Date/Time")) != NULL) {
        r->time = report_time(r, value);
        r->activity = value; /* for Launch Time; the event takes its place */
    } else if ((value = value_of(t->line, "Launch Time")) != NULL) {
        r->since_launch_ms = report_time_between(value, r->activity);
    } else if ((value = value_of(t->line, "Role")) != NULL) {
        r->app_state = strncmp(value, "Foreground", 10) == 0   ? "foreground"
                       : strncmp(value, "Background", 10) == 0 ? "background"
                                                               : NULL;
    } else if ((value = value_of(t->line, "Exception Type")) != NULL) {
        r->reason = r->reason ? r->reason : value;
    } else if ((value = value_of(t->line, "Exception Codes")) != NULL ||
               (value = value_of(t->line, "Termination Reason")) != NULL ||
               (value = value_of(t->line, "Termination Description")) != NULL) {
        t->termination = report_join(r, t->termination, " | ", value);
    } else if (strcmp(t->line, "Application main thread deadlocked") == 0) {
        r->kind = "hang"; /* KSCrash's deadlock detector */
        r->reason = t->line;
    } else if (t->termination && !value_of(t->line, "Triggered by Thread") && *t->line &&
               (*t->line == '<' || *t->line == '"' || strncmp(t->line, "Process", 7) == 0 ||
                strncmp(t->line, "Watchdog", 8) == 0 || strncmp(t->line, "Thermal", 7) == 0 ||
                strstr(t->line, "allowance"))) {
        t->termination = report_join(r, t->termination, " | ", t->line); /* it goes on */
    }
}

/* ---- threads ---- */

static enum st end_thread(struct reading *t) {
    if (!t->in_thread) {
        return ST_OK;
    }
    t->in_thread = false;
    report_end_stack(t->r, &t->thread.stack);
    return report_add_thread(t->r, &t->thread);
}

/* The name in "Dispatch queue: com.apple.main-thread". */
static const char *queue_name(const char *s) {
    static const char prefix[] = "Dispatch queue:";
    s = skip_blanks(s);
    s = strncmp(s, prefix, sizeof prefix - 1) == 0 ? skip_blanks(s + sizeof prefix - 1) : s;
    return *s ? s : NULL;
}

/* "Thread 3:", "Thread 3 Crashed:", "Thread 3 name: …", "Thread 3:: Dispatch queue: …". Lines such
 * as "Thread 0 crashed with ARM Thread State" are none of them. */
static enum st take_thread_line(struct reading *t, bool *taken) {
    const char *s = t->line;
    uint64_t id;
    *taken = false;
    if (strncmp(s, "Thread ", 7) != 0) {
        return ST_OK;
    }
    s += 7;
    if (!take_decimal(&s, &id) || id > INT32_MAX) {
        return ST_OK;
    }
    bool crashed = strncmp(s, " Crashed:", 9) == 0, name = strncmp(s, " name:", 6) == 0;
    if (!crashed && !name && *s != ':') {
        return ST_OK;
    }
    *taken = true;
    if (!(t->named && t->thread.id == (int64_t)id)) {
        if (end_thread(t) != ST_OK) {
            return ST_ERR;
        }
        t->thread = (struct report_thread){.id = (int64_t)id, .main = id == 0};
    }
    if (name) {
        t->thread.name = queue_name(s + 6);
        t->named = true;
        return ST_OK;
    }
    s += crashed ? 9 : 1;
    if (*s == ':') { /* macOS: the name follows */
        t->thread.name = queue_name(s + 1);
    }
    t->named = false;
    t->thread.crashed = crashed;
    t->thread.stack = report_begin_stack(t->r);
    t->in_thread = true;
    return ST_OK;
}

/* The symbol in s: "NAME + 24", "NAME (File.m:12)", "NAME + 24 (File.m:12)", "NAME". */
static void read_symbol(struct report *r, uint64_t address, const char *s) {
    struct report_name name = {.address = address};
    size_t len = strlen(s);
    const char *open = len > 0 && s[len - 1] == ')' ? strrchr(s, '(') : NULL;
    const char *colon = open ? strrchr(open, ':') : NULL;
    uint64_t line = 0;
    if (colon && open > s && open[-1] == ' ' &&
        parse_u64(colon + 1, len - 1 - (size_t)(colon + 1 - s), UINT32_MAX, &line)) {
        name.file = line > 0 ? report_text(r, open + 1, (size_t)(colon - open - 1)) : NULL;
        name.line = name.file ? (uint32_t)line : 0;
        len = (size_t)(open - s);
    }
    while (len > 0 && s[len - 1] == ' ') {
        len--;
    }
    size_t digits = 0;
    while (digits < len && s[len - 1 - digits] >= '0' && s[len - 1 - digits] <= '9') {
        digits++;
    }
    size_t rest = len - digits;
    if (digits > 0 && rest > 3 && memcmp(s + rest - 3, " + ", 3) == 0 &&
        parse_u64(s + rest, digits, UINT64_MAX, &name.offset)) {
        len = rest - 3;
    }
    name.symbol = report_text(r, s, len);
    report_name(r, &name);
}

/* A frame's line; *taken = false: it is not one. */
static enum st take_frame(struct reading *t, bool *taken) {
    const char *s = skip_blanks(t->line);
    uint64_t index, address, base, offset;
    *taken = false;
    if (!take_decimal(&s, &index) || (*s != ' ' && *s != '\t')) {
        return ST_OK;
    }
    /* The image's name may hold spaces: the address is the first word that is one. */
    for (;; s++) {
        s = strstr(s, "0x");
        if (!s) {
            return ST_OK;
        }
        const char *word = s;
        if ((s[-1] == ' ' || s[-1] == '\t') && take_hex(&word, &address) &&
            (*word == ' ' || *word == '\t' || *word == 0)) {
            s = skip_blanks(word);
            break;
        }
    }
    *taken = true;
    const char *rest = s;
    if (take_hex(&rest, &base) && strncmp(rest, " + ", 3) == 0) {
        rest += 3;
        size_t len = 0;
        s = take_decimal(&rest, &offset) ? skip_blanks(rest) : "";
        len = strlen(s);
        if (len > 2 && s[0] == '(' && s[len - 1] == ')') {
            s = report_text(t->r, s + 1, len - 2);
        }
    }
    if (s && *s) {
        read_symbol(t->r, address, s);
    }
    if (t->r->frames.len - t->thread.stack.first >= DUMP_FRAMES_MAX) {
        return ST_OK; /* the rest is in the report */
    }
    return report_frame(t->r, address);
}

/* "Last Exception Backtrace:", whose frames follow, or stand in one line: "(0x1 0x2 …)". */
static enum st begin_last_exception(struct reading *t) {
    if (end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    t->thread = (struct report_thread){.id = -1, .name = "Last Exception Backtrace"};
    t->thread.stack = report_begin_stack(t->r);
    t->thread.stack.returns = true;
    t->in_thread = true;
    return ST_OK;
}

static enum st take_addresses(struct reading *t) {
    const char *s = t->line + 1;
    uint64_t address;
    while (take_hex(&s, &address)) {
        if (t->r->frames.len - t->thread.stack.first < DUMP_FRAMES_MAX &&
            report_frame(t->r, address) != ST_OK) {
            return ST_ERR;
        }
        s = skip_blanks(s);
    }
    return ST_OK;
}

/* ---- images ---- */

/* "0x… - 0x… [+]NAME [ARCH] [(VERSION)] <UUID> PATH" */
static void take_image(struct reading *t) {
    struct report_image image = {0};
    const char *s = skip_blanks(t->line);
    uint64_t last;
    if (!take_hex(&s, &image.load) || *(s = skip_blanks(s)) != '-') {
        return;
    }
    s = skip_blanks(s + 1);
    if (!take_hex(&s, &last) || last < image.load || image.load == 0) {
        return;
    }
    image.size = last - image.load < UINT64_MAX ? last - image.load + 1 : 0;
    s = skip_blanks(s);
    image.in_app = *s == '+';
    s += image.in_app;
    const char *open = strchr(s, '<'), *close = open ? strchr(open, '>') : NULL;
    size_t len = close ? (size_t)(open - s) : strcspn(s, "/");
    if (close) {
        (void)parse_uuid(open + 1, (size_t)(close - open - 1), &image.id);
    }
    const char *path = skip_blanks(close ? close + 1 : s + len);
    image.path = *path ? path : NULL;
    const char *version = memchr(s, '(', len);
    len = version ? (size_t)(version - s) : len;
    while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t')) {
        len--;
    }
    size_t word = len;
    while (word > 0 && s[word - 1] != ' ' && s[word - 1] != '\t') {
        word--;
    }
    image.arch = report_code_type(word > 0 ? report_text(t->r, s + word, len - word) : NULL);
    len = image.arch ? word : len;
    while (len > 0 && s[len - 1] == ' ') {
        len--;
    }
    const char *base = report_base_name(image.path);
    image.name = base ? base : report_text(t->r, s, len);
    if (t->r->images.len < DUMP_IMAGES_MAX) {
        report_image(t->r, &image);
    }
}

/* ---- the whole ---- */

static enum st take_line(struct reading *t) {
    bool taken = false;
    if (strncmp(t->line, "Binary Images:", 14) == 0) {
        t->in_images = true;
        return end_thread(t);
    }
    if (t->in_images) {
        take_image(t);
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
        if (take_frame(t, &taken) != ST_OK) {
            return ST_ERR;
        }
        return taken ? ST_OK : end_thread(t);
    }
    if (t->r->threads.len == 0) {
        read_header(t);
    }
    return ST_OK;
}

/* The thread without a number in its header: macOS's crashed one is never so; a thread whose name
 * came and nothing else is none. */
enum st report_fill_crash(struct report *r, struct span text) {
    struct reading t = {.r = r, .at = text.p, .end = text.end};
    r->kind = "crash";
    r->detector = "apple";
    r->fatal = true;
    while (next_line(&t)) {
        if (take_line(&t) != ST_OK) {
            return err_context(r->e, "line %zu", t.number);
        }
    }
    if (r->no_memory) {
        return err_nomem(r->e);
    }
    if (end_thread(&t) != ST_OK) {
        return ST_ERR;
    }
    r->activity = NULL;
    (void)report_watchdog(r, t.termination);
    if (r->threads.len == 0) {
        return err_set(r->e, ERR_FORMAT, "a text report without a thread");
    }
    if (!t.in_images) {
        return err_set(r->e, ERR_TRUNCATED,
                       "a text report that is cut short: no \"Binary Images\" at byte %zu",
                       (size_t)(text.end - text.p));
    }
    return ST_OK;
}
