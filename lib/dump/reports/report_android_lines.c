/* Parses the lines of Android's traces. */
#include <string.h>

#include "base/parse.h"
#include "dump/reports/report_android_private.h"
#include "dump/reports/report_private.h"
#include "dump/reports/report_span_private.h"

static bool android_text_begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

/* ---- the first line of a thread ---- */

/* Takes a word such as "tid=12" of a thread's first line, where key is "tid=", and the blanks after
 * it; false: another word is there, or no number up to INT32_MAX follows the key. */
static bool android_take_number(struct span *s, const char *key, uint64_t *out) {
    size_t len = strlen(key), digits = 0;
    if (!line_has_head(*s, key)) {
        return false;
    }
    while (s->p + len + digits < s->end && s->p[len + digits] >= '0' && s->p[len + digits] <= '9') {
        digits++;
    }
    if (!parse_u64(s->p + len, digits, INT32_MAX, out)) {
        return false;
    }
    s->p += len + digits;
    while (s->p < s->end && *s->p == ' ') {
        s->p++;
    }
    return true;
}

/* Parses Crashlytics' "main (waiting):tid=1 systid=14263". */
static bool crashlytics_thread_line(struct span s, struct android_thread_line *out) {
    static const char mark[] = "):tid=";
    const char *open = NULL;
    uint64_t number;
    for (const char *p = s.p; line_len((struct span){p, s.end}) >= sizeof mark; p++) {
        if (memcmp(p, " (", 2) == 0) {
            open = p;
        }
        if (*p == '\n' || memcmp(p, mark, sizeof mark - 1) != 0) {
            if (*p == '\n') {
                return false;
            }
            continue;
        }
        struct span rest = {p + 2, s.end};
        *out = (struct android_thread_line){
            .name = s.p, .name_len = open ? (size_t)(open - s.p) : 0, .tid = -1, .systid = -1};
        if (!open || open == s.p || !android_take_number(&rest, "tid=", &number)) {
            return false;
        }
        out->tid = (int64_t)number;
        out->runs = line_has_head((struct span){open, s.end}, " (runnable)");
        return android_take_number(&rest, "systid=", &number);
    }
    return false;
}

/* Does anything other than a note in brackets follow the thread's state? A thread's first line
 * normally ends with its state. */
static bool goes_on_behind_state(struct span s) {
    while (s.p < s.end &&
           ((*s.p >= 'A' && *s.p <= 'Z') || (*s.p >= 'a' && *s.p <= 'z') || *s.p == '_')) {
        s.p++;
    }
    while (s.p < s.end && (*s.p == ' ' || *s.p == '\r')) {
        s.p++;
    }
    return s.p < s.end && *s.p != '\n' && *s.p != '(';
}

bool android_thread_line(const char *line, size_t len, struct android_thread_line *out) {
    struct span s = {line, line + len};
    const char *quote = NULL;
    uint64_t number = 0;
    if (len < 2 || *line != '"') {
        return crashlytics_thread_line(s, out);
    }
    for (const char *p = line + 1; p < s.end && *p != '\n'; p++) {
        quote = *p == '"' ? p : quote; /* the last quote ends the name, which may hold quotes */
    }
    if (!quote) {
        return false;
    }
    *out = (struct android_thread_line){
        .name = line + 1, .name_len = (size_t)(quote - line - 1), .tid = -1, .systid = -1};
    s.p = quote + 1;
    span_skip_space(&s);
    s.p += line_has_head(s, "daemon ") ? 7 : 0;
    (void)android_take_number(&s, "prio=", &number);
    bool tid = android_take_number(&s, "tid=", &number);
    out->tid = tid ? (int64_t)number : -1;
    if (tid) {
        out->runs = line_has_head(s, "Runnable");
        out->joined = goes_on_behind_state(s);
        return s.p < s.end && *s.p >= 'A' && *s.p <= 'Z'; /* the state follows */
    }
    if (android_take_number(&s, "sysTid=", &number)) {
        out->systid = (int64_t)number;
        return true;
    }
    return line_has_head(s, "(not attached)");
}

/* ---- a frame of native code ---- */

/* Cuts the last " (…)" off the text; false: the text does not end with one. The group may hold
 * brackets, such as those of a function's arguments. */
static bool take_group(struct span *s, struct span *group) {
    size_t depth = 0;
    if (s->p == s->end || s->end[-1] != ')') {
        return false;
    }
    for (const char *p = s->end - 1; p > s->p; p--) {
        depth += *p == ')';
        depth -= *p == '(' && depth > 0;
        if (depth == 0 && p[-1] == ' ') {
            *group = (struct span){p + 1, s->end - 1};
            for (s->end = p; s->end > s->p && s->end[-1] == ' ';) {
                s->end--;
            }
            return true;
        }
    }
    return false;
}

/* Is the text in brackets the one that ART writes for a function without a name? */
static bool is_unnamed(struct span group) {
    return line_len(group) == 3 && memcmp(group.p, "???", 3) == 0;
}

bool android_native_line(const char *line, struct android_native_line *out) {
    const char *s = strstr(line, " pc ");
    *out = (struct android_native_line){0};
    if (!s) {
        return false;
    }
    s = report_skip_blanks(s + 4);
    size_t digits = strspn(s, "0123456789abcdefABCDEFx");
    if (!parse_hex(s, digits, &out->offset)) {
        return false;
    }
    s = report_skip_blanks(s + digits);
    struct span rest = {s, s + strlen(s)}, group;
    while (take_group(&rest, &group)) {
        if (line_has_head(group, "BuildId: ")) {
            out->build_id = group.p + 9;
            out->build_id_len = line_len(group) - 9;
        } else if (line_has_head(group, "offset ")) {
            continue; /* "offset" is that of the file in its package; the address is the file's own
                       */
        } else if (line_has_head(group, "deleted")) {
            rest.end = group.end + 1; /* Linux appends "(deleted)" to the path of a removed file */
            break;
        } else if (!out->symbol && !is_unnamed(group)) {
            out->symbol = group.p;
            out->symbol_len = line_len(group);
        }
    }
    out->path = rest.p;
    out->path_len = line_len(rest);
    return true;
}

/* ---- the lines of a thread ---- */

bool android_is_frame(const char *line) {
    bool native = strncmp(line, "native: #", 9) == 0 || *line == '#';
    return native ? strstr(line, " pc ") != NULL
                  : strncmp(line, "at ", 3) == 0 && strchr(line, '(') != NULL;
}

bool android_is_thread_part(const char *line) {
    static const char *const parts[] = {"| ", "- ", "kernel: ", "(no managed"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strncmp(line, parts[i], strlen(parts[i])) == 0) {
            return true;
        }
    }
    return android_is_frame(line);
}

const char *android_close_of(const char *open) {
    size_t depth = 0;
    for (const char *p = open; *p; p++) {
        depth += *p == '(';
        depth -= *p == ')';
        if (depth == 0) {
            return p;
        }
    }
    return NULL;
}

bool android_is_joined(const char *line) {
    return strstr(line, " at ") || strstr(line, "native: #");
}

/* Is the line a thread's first one? */
static bool is_thread_line(struct span line) {
    struct android_thread_line head;
    return line.p < line.end && android_thread_line(line.p, line_len(line), &head);
}

static bool begins_part(struct span line) {
    return line_has_head(line, "| ") || line_has_head(line, "at ") ||
           line_has_head(line, "native: #") || line_has_head(line, "#");
}

bool android_is_spaced(struct span text) {
    struct span line;
    size_t apart = 0, together = 0;
    bool empty = false, thread = false, frame = false, whole = true;
    while (whole && text.p < text.end) {
        whole = android_whole_line(&text, &line);
        line = line_trim(line);
        if (line.p == line.end) {
            empty = true;
            continue;
        }
        const bool part = begins_part(line);
        if (thread && empty && part) {
            return true;
        }
        const bool next = part && *line.p != '|';
        apart += frame && next && empty;
        together += frame && next && !empty;
        thread = is_thread_line(line);
        frame = next;
        empty = false;
    }
    return apart > together;
}

bool android_is_own_class(const struct report *r, const char *name) {
    static const char *const system[] = {"android.",         "com.android.",
                                         "dalvik.",          "java.",
                                         "javax.",           "jdk.",
                                         "libcore.",         "sun.",
                                         "org.apache.http.", "org.apache.harmony.",
                                         "org.ccil.cowan.",  "org.json.",
                                         "org.w3c.dom.",     "org.xml.",
                                         "org.xmlpull.",     "gov.nist."};
    size_t len = r->app_id ? strlen(r->app_id) : 0;
    if (len > 0 && strncmp(name, r->app_id, len) == 0 && name[len] == '.') {
        return true;
    }
    for (size_t i = 0; i < sizeof system / sizeof *system; i++) {
        if (android_text_begins(name, system[i])) {
            return false;
        }
    }
    return true;
}

/* ---- headers ---- */

bool android_is_mail_header(const char *line) {
    static const char *const headers[] = {"From: ",
                                          "To: ",
                                          "Cc: ",
                                          "Date: ",
                                          "Sent: ",
                                          "Message-ID: ",
                                          "Reply-To: ",
                                          "Received: ",
                                          "MIME-Version: ",
                                          "Content-Type: ",
                                          "Return-Path: ",
                                          "User-Agent: ",
                                          "Content-Transfer-Encoding: "};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (android_text_begins(line, headers[i])) {
            return true;
        }
    }
    return false;
}

void android_section_time(const char *line, size_t len, char out[ANDROID_TIME_MAX]) {
    static const char before[] = " at ", behind[] = " -----";
    const char *at = NULL, *end = line + len;
    out[0] = 0;
    for (const char *p = line; p + sizeof before - 1 < end && !at; p++) {
        at = memcmp(p, before, sizeof before - 1) == 0 ? p + sizeof before - 1 : NULL;
    }
    for (const char *p = at; at && p + sizeof behind - 1 <= end; p++) {
        if (memcmp(p, behind, sizeof behind - 1) == 0) {
            end = p;
        }
    }
    if (at && end - at < ANDROID_TIME_MAX) {
        memcpy(out, at, (size_t)(end - at));
        out[end - at] = 0;
    }
}

/* Returns the text between the single quotes around a value, or the whole value if it has none. */
static const char *unquoted(struct report *r, const char *value) {
    size_t len = strlen(value);
    return len > 1 && value[0] == '\'' && value[len - 1] == '\''
               ? report_text(r, value + 1, len - 2)
               : value;
}

/* Reads device, release and build from "BRAND/PRODUCT/DEVICE:14/BUILD/…" (Build.FINGERPRINT). */
static void read_fingerprint(struct report *r, const char *value) {
    const char *text = unquoted(r, value);
    const char *colon = text ? strchr(text, ':') : NULL;
    size_t release = colon ? strcspn(colon + 1, "/") : 0;
    if (release == 0) {
        return;
    }
    const char *device = colon;
    while (device > text && device[-1] != '/') {
        device--;
    }
    r->model = report_text(r, device, (size_t)(colon - device));
    r->os = report_join(r, "Android", " ", report_text(r, colon + 1, release));
    const char *build = colon + 1 + release;
    if (*build == '/') {
        r->os_build = report_text(r, build + 1, strcspn(build + 1, "/"));
    }
}

/* Returns for how many ms the system had waited, from "… Waited 5001ms for MotionEvent" or "Waited
 * 5000.8ms"; -1: not given. */
static int64_t waited_ms(const char *subject) {
    static const char word[] = "aited ";
    const char *at = strstr(subject, word);
    uint64_t ms;
    if (!at) {
        return -1;
    }
    at += sizeof word - 1;
    if (!report_take_decimal(&at, &ms) || ms > INT32_MAX) {
        return -1;
    }
    at += *at == '.' ? 1 + strspn(at + 1, "0123456789") : 0;
    return android_text_begins(at, "ms") ? (int64_t)ms : -1;
}

static void read_subject(struct report *r, const char *value) {
    r->reason = value;
    r->at_ms = waited_ms(value);
}

static void read_abi(struct report *r, const char *value, const char **arch) {
    static const char *const names[][2] = {
        {"arm64", "arm64"}, {"x86", "i386"}, {"x86_64", "x86_64"}};
    const char *abi = unquoted(r, value);
    size_t at;
    if (abi && PARSE_WORD(abi, strlen(abi), names, &at)) {
        /* 32-bit ARM is left out, because its addresses leave no room for made-up ones. */
        *arch = names[at][1];
    }
}

/* Reads a header of xCrash, whose values are quoted. */
static void read_xcrash(struct report *r, const char *line) {
    const char *value;
    if ((value = report_line_value(line, "App ID")) != NULL) {
        r->app_id = unquoted(r, value);
        r->process = r->app_id;
    } else if ((value = report_line_value(line, "App version")) != NULL) {
        r->app_version = unquoted(r, value);
    } else if ((value = report_line_value(line, "Crash time")) != NULL) {
        r->time = report_time(r, unquoted(r, value));
    } else if ((value = report_line_value(line, "OS version")) != NULL) {
        r->os = report_join(r, "Android", " ", unquoted(r, value));
    } else if ((value = report_line_value(line, "Model")) != NULL) {
        r->model = unquoted(r, value);
    }
}

/* Reads the version from the value of "Package: com.example.shop v710530002 (10.53.0)". A process
 * may have several packages: the one named as the process counts, else the first. */
static void read_package(struct report *r, const char *value) {
    const char *version = strstr(value, " v");
    const size_t len = version ? (size_t)(version - value) : 0;
    const bool own = r->process && strncmp(r->process, value, len) == 0 &&
                     (r->process[len] == 0 || r->process[len] == ':');
    if (!version || ((r->app_version || r->app_build) && !own)) {
        return;
    }
    version += 2;
    const char *open = strstr(version, " ("), *close = strrchr(version, ')');
    r->app_build = report_text(r, version, open ? (size_t)(open - version) : strlen(version));
    r->app_version =
        open && close > open ? report_text(r, open + 2, (size_t)(close - open - 2)) : NULL;
}

/* Reads a header of DropBoxManager's entry. */
static void read_dropbox_head(struct report *r, const char *line) {
    const char *value;
    if ((value = report_line_value(line, "Process")) != NULL) {
        r->process = value;
    } else if ((value = report_line_value(line, "Package")) != NULL) {
        read_package(r, value);
    } else if ((value = report_line_value(line, "Foreground")) != NULL) {
        r->app_state = strcmp(value, "Yes") == 0  ? "foreground"
                       : strcmp(value, "No") == 0 ? "background"
                                                  : NULL;
    }
}

void android_read_header(struct report *r, const char *line, const char **arch) {
    const char *value;
    if ((value = report_line_value(line, "Subject")) != NULL) {
        read_subject(r, value);
    } else if (android_text_begins(line, ANDROID_INPUT_SUBJECT)) {
        read_subject(r, line);
    } else if ((value = report_line_value(line, "Cmd line")) != NULL) {
        r->app_id = report_text(r, value, strcspn(value, " :"));
        r->process = value;
    } else if ((value = report_line_value(line, "Build fingerprint")) != NULL) {
        read_fingerprint(r, value);
    } else if ((value = report_line_value(line, "ABI")) != NULL) {
        read_abi(r, value, arch);
    } else if ((value = report_line_value(line, "# Application")) != NULL) {
        r->app_id = value; /* these are Crashlytics' */
    } else if ((value = report_line_value(line, "# Version")) != NULL) {
        report_version(r, value, false);
    } else {
        read_xcrash(r, line);
        read_dropbox_head(r, line);
    }
}

/* ---- monitors ---- */

/* Reads the owner from "- waiting to lock <0x0a1b2c3d> (a java.lang.Object) held by thread 12", or
 * from Dalvik's "… held by tid=12 (Thread-10)" and "… held by threadid=12 (Thread-10)". False: the
 * line tells none. */
static bool read_owner(const char *line, struct report_thread *thread) {
    static const char held[] = " held by ";
    static const char *const words[] = {"thread ", "tid=", "threadid="};
    const char *by = strstr(line, held);
    uint64_t id;
    if (!by) {
        return false;
    }
    by += sizeof held - 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (android_text_begins(by, words[i])) {
            by += strlen(words[i]);
            break;
        }
    }
    if (!report_take_decimal(&by, &id) || id > INT32_MAX) {
        return false;
    }
    thread->waits_for = "monitor";
    thread->owner = (int64_t)id;
    return true;
}

/* Reads the number of "<0x0a1b2c3d>" or "<@addr=0x12>"; 0: there is none. */
static uint64_t monitor_number(const char *s) {
    static const char address[] = "@addr=";
    uint64_t number;
    if (*s++ != '<') {
        return 0;
    }
    s += android_text_begins(s, address) ? sizeof address - 1 : 0;
    return android_text_begins(s, "0x") && report_take_hex(&s, &number) && *s == '>' ? number : 0;
}

/* Notes that the thread holds the monitor. */
static void note_monitor_holder(struct report *r, struct android_locks *locks, int64_t id,
                                uint64_t number) {
    struct map_entry *entry = map_put(&locks->holders, &number, sizeof number, (size_t)id, NULL);
    if (!entry) {
        r->no_memory = true;
    } else if (entry->value != (size_t)id) {
        entry->value = SIZE_MAX;
    }
}

void android_read_lock(struct report *r, struct android_locks *locks, struct report_thread *thread,
                       const char *line) {
    static const char waits[] = "- waiting to lock ", holds[] = "- locked ",
                      notified[] = "- waiting on ";
    uint64_t number;
    if (android_text_begins(line, waits)) {
        locks->released = number = monitor_number(line + sizeof waits - 1);
        if (!read_owner(line, thread)) {
            thread->waits_for = "monitor";
            thread->owner = -1;
            struct android_waiter w = {.thread = r->threads.len, .number = number};
            r->no_memory = r->no_memory || (number && !VEC_PUSH(&locks->waiters, w));
        }
    } else if (android_text_begins(line, notified)) {
        locks->released = monitor_number(line + sizeof notified - 1);
    } else if (android_text_begins(line, holds) && thread->id >= 0) {
        number = monitor_number(line + sizeof holds - 1);
        if (number && number != locks->released) {
            note_monitor_holder(r, locks, thread->id, number);
        }
    }
}

void android_find_owners(struct report *r, const struct android_locks *locks) {
    for (size_t i = 0; i < locks->waiters.len; i++) {
        const struct android_waiter *w = &locks->waiters.data[i];
        const struct map_entry *entry = map_get(&locks->holders, &w->number, sizeof w->number);
        struct report_thread *t = w->thread < r->threads.len ? &r->threads.data[w->thread] : NULL;
        if (t && t->waits_for && t->owner < 0 && entry && entry->value != SIZE_MAX &&
            (int64_t)entry->value != t->id) {
            t->owner = (int64_t)entry->value;
        }
    }
}

void android_release_locks(struct android_locks *locks) {
    map_release(&locks->holders);
    VEC_RELEASE(&locks->waiters);
}
