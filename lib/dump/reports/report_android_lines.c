/* Recognises Android's traces, and parses their lines. */
#include <string.h>

#include "base/parse.h"
#include "dump/reports/report_android_private.h"
#include "dump/reports/report_private.h"

static size_t span_len(struct span s) {
    return (size_t)(s.end - s.p);
}

static bool span_begins(struct span s, const char *with) {
    size_t len = strlen(with);
    return span_len(s) >= len && memcmp(s.p, with, len) == 0;
}

static bool android_text_begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

/* Takes the line at the start of the text. False: its line feed is not in the text. */
static bool take_line(struct span *text, struct span *line) {
    const char *feed = text->p < text->end ? memchr(text->p, '\n', span_len(*text)) : NULL;
    *line = (struct span){text->p, feed ? feed : text->end};
    text->p = feed ? feed + 1 : text->end;
    return feed != NULL;
}

/* ---- the first line of a thread ---- */

/* Takes one of the words KEY=digits of a thread's first line; false: another word is there. */
static bool android_take_number(struct span *s, const char *key, uint64_t *out) {
    size_t len = strlen(key), digits = 0;
    if (!span_begins(*s, key)) {
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
    for (const char *p = s.p; span_len((struct span){p, s.end}) >= sizeof mark; p++) {
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
        out->runs = span_begins((struct span){open, s.end}, " (runnable)");
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
    s.p += span_begins(s, "daemon ") ? 7 : 0;
    (void)android_take_number(&s, "prio=", &number);
    bool tid = android_take_number(&s, "tid=", &number);
    out->tid = tid ? (int64_t)number : -1;
    if (tid) {
        out->runs = span_begins(s, "Runnable");
        out->joined = goes_on_behind_state(s);
        return s.p < s.end && *s.p >= 'A' && *s.p <= 'Z'; /* the state follows */
    }
    if (android_take_number(&s, "sysTid=", &number)) {
        out->systid = (int64_t)number;
        return true;
    }
    return span_begins(s, "(not attached)");
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
    return span_len(group) == 3 && memcmp(group.p, "???", 3) == 0;
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
        if (span_begins(group, "BuildId: ")) {
            out->build_id = group.p + 9;
            out->build_id_len = span_len(group) - 9;
        } else if (span_begins(group, "offset 0x")) {
            /* "offset 0x…" is the position of the file in its package; the frame's address is
             * relative to the file, so the offset is not needed. */
            continue;
        } else if (span_begins(group, "deleted")) {
            rest.end = group.end + 1; /* Linux appends "(deleted)" to the path of a removed file */
            break;
        } else if (!out->symbol && !is_unnamed(group)) {
            out->symbol = group.p;
            out->symbol_len = span_len(group);
        }
    }
    out->path = rest.p;
    out->path_len = span_len(rest);
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

bool android_is_joined(const char *line) {
    return strstr(line, " at ") || strstr(line, "native: #");
}

bool android_is_spaced(struct span text) {
    struct android_thread_line head;
    struct span line;
    bool whole = true;
    while (whole && text.p < text.end) {
        whole = take_line(&text, &line);
        span_skip_space(&line);
        if (line.p < line.end && android_thread_line(line.p, span_len(line), &head)) {
            const char *behind = text.p;
            span_skip_space(&text);
            bool empty = memchr(behind, '\n', (size_t)(text.p - behind)) != NULL;
            if (empty && (span_begins(text, "| ") || span_begins(text, "at ") ||
                          span_begins(text, "native: #") || span_begins(text, "#0"))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- recognition ---- */

static bool is_section(struct span line) {
    return span_begins(line, "----- pid ") || span_begins(line, "----- dumping pid");
}

/* Is the line one of those that the system writes before the first process? */
static bool is_preface(struct span line) {
    return span_begins(line, "RssHwmKb: ") || span_begins(line, "--- CriticalEventLog ---") ||
           span_begins(line, ANDROID_ALL_PROCESSES);
}

/* Skips blank lines and leading blanks. */
static void skip_blank_lines(struct span *text) {
    span_skip_space(text);
}

/* Skips the sections on the machine's load that the system writes behind the subject since Android
 * 13: "----- Output from /proc/pressure/memory -----" up to "----- End output …". */
static void skip_output(struct span *text) {
    struct span line;
    while (span_begins(*text, "----- Output from ")) {
        bool within = true;
        while (within && take_line(text, &line)) {
            span_skip_space(&line); /* the whole trace may be indented, so this line may be, too */
            within = !span_begins(line, "----- End output");
        }
        skip_blank_lines(text);
    }
}

/* Does the text begin with a subject, of up to SUBJECT_LINES lines, which the rest of the preface
 * or a process follows? *more is set if further lines would decide. */
static bool begins_with_subject(struct span text, bool *more) {
    enum { SUBJECT_LINES = 8 };
    struct span line;
    for (size_t i = 0; i < SUBJECT_LINES; i++) {
        if (!take_line(&text, &line)) {
            *more = true;
            return false;
        }
        skip_blank_lines(&text);
        skip_output(&text);
        if (is_preface(text) || is_section(text)) {
            return true;
        }
        if (text.p == text.end) {
            *more = true;
            return false;
        }
    }
    return false;
}

/* Does the text begin with a thread's first line and, as proof, a frame or a property of the
 * thread? *more is set if further bytes would decide. */
static bool begins_with_thread(struct span text, bool *more) {
    static const char *const parts[] = {
        "| group=", "| sysTid=", "| state=", "at ",        "native: #",
        "kernel: ", "#00 ",      "- ",       "(no managed"};
    struct android_thread_line head;
    struct span line;
    if (!take_line(&text, &line)) {
        *more = *more || (span_len(line) < 256 && *line.p == '"');
        return false;
    }
    if (!android_thread_line(line.p, span_len(line), &head) || head.tid < 0) {
        return false;
    }
    skip_blank_lines(&text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (span_begins(text, parts[i])) {
            return true;
        }
    }
    *more = *more || span_len(text) < sizeof "(no managed";
    return false;
}

/* Does the text begin with the subject alone, as the Play Console shows it, and a thread? */
static bool begins_with_bare_subject(struct span text, bool *more) {
    struct span line;
    if (!span_begins(text, ANDROID_INPUT_SUBJECT)) {
        return false;
    }
    if (!take_line(&text, &line)) {
        *more = true;
        return false;
    }
    skip_blank_lines(&text);
    *more = *more || text.p == text.end;
    return begins_with_thread(text, more);
}

/* Does the text begin with the comments that Crashlytics writes, and a thread? */
static bool begins_with_crashlytics(struct span text, bool *more) {
    enum { COMMENTS_MAX = 16 };
    struct span line;
    if (!span_begins(text, "# Crashlytics - ")) {
        return false;
    }
    for (size_t i = 0; i < COMMENTS_MAX && text.p < text.end && *text.p == '#'; i++) {
        if (!take_line(&text, &line)) {
            *more = true;
            return false;
        }
        skip_blank_lines(&text);
    }
    *more = *more || text.p == text.end;
    return begins_with_thread(text, more);
}

/* Does the text begin with the head of xCrash's report of an ANR? xCrash's other reports are about
 * crashes. */
static bool begins_with_xcrash(struct span text, bool *more) {
    enum { TITLE_LINES = 3 };
    struct span line;
    if (span_begins(text, "*** *** ***") && !take_line(&text, &line)) {
        *more = true;
        return false;
    }
    skip_blank_lines(&text);
    if (!span_begins(text, "Tombstone maker: '")) {
        *more = *more || text.p == text.end;
        return false;
    }
    for (size_t i = 0; i < TITLE_LINES; i++) {
        bool whole = take_line(&text, &line);
        if (span_begins(line, "Crash type: 'anr'")) {
            return true;
        }
        *more = *more || !whole;
        skip_blank_lines(&text);
    }
    return false;
}

bool android_begins(struct span text, bool *more) {
    if (span_len(text) > REPORT_LOOK_MAX) {
        text.end = text.p + REPORT_LOOK_MAX;
    }
    if (text.p == text.end) {
        return false;
    }
    switch (*text.p) {
    case '"':
        return begins_with_thread(text, more);
    case '#':
        return begins_with_crashlytics(text, more);
    case '*':
    case 'T':
        return begins_with_xcrash(text, more) || begins_with_thread(text, more);
    case 'S':
        return span_begins(text, "Subject: ") && begins_with_subject(text, more);
    case 'I':
        return begins_with_bare_subject(text, more) || begins_with_thread(text, more);
    default:
        if (begins_with_thread(text, more)) {
            return true;
        }
        return is_section(text) || is_preface(text) || span_begins(text, "DALVIK THREADS");
    }
}

/* Finds the first "----- pid" line of a report; false: it has none. */
static bool has_section(struct span text, struct span *first) {
    struct span line;
    bool whole = true;
    while (whole && text.p < text.end) {
        whole = take_line(&text, &line);
        if (span_begins(line, "----- pid ")) {
            *first = line;
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

/* Are the times of the processes of lines a and b more than a minute apart? True, too, if a time
 * cannot be read, or if b's time is earlier. The system writes the process that hung and then
 * others, all within some seconds. */
static bool is_other_time(struct span a, struct span b) {
    enum { TOGETHER_MS = 60 * 1000 };
    char first[ANDROID_TIME_MAX], second[ANDROID_TIME_MAX];
    android_section_time(a.p, span_len(a), first);
    android_section_time(b.p, span_len(b), second);
    int64_t apart = report_time_between(first, second);
    return apart < 0 || apart > TOGETHER_MS;
}

/* Returns the rank of a line, by which the parts of a process's section are ordered; 0: the line
 * has no rank. If a line's rank is not above that of the line before, another report begins. */
static int rank_of(struct span line) {
    struct android_thread_line head;
    if (span_begins(line, "----- pid ")) {
        return 1;
    }
    if (span_begins(line, "DALVIK THREADS")) {
        return 2;
    }
    return android_thread_line(line.p, span_len(line), &head) && head.tid == 1 ? 3 : 0;
}

/* Returns the rank of the report's last line that has one; 0: none has. */
static int last_rank(struct span report) {
    const char *end = report.end;
    while (end > report.p) {
        const char *p = end - 1; /* the line feed */
        while (p > report.p && p[-1] != '\n') {
            p--;
        }
        int rank = rank_of((struct span){p, end});
        if (rank > 0) {
            return rank;
        }
        end = p;
    }
    return 0;
}

bool android_ends(struct span report, struct span line) {
    struct span first;
    struct android_thread_line head;
    bool named = line.p < line.end && android_thread_line(line.p, span_len(line), &head);
    if (line.p == line.end || (!named && !strchr("-RSDI", *line.p))) {
        return false;
    }
    int rank = rank_of(line);
    if (rank == 1) {
        return has_section(report, &first) && is_other_time(first, line);
    }
    if (rank > 1) {
        return last_rank(report) >= rank;
    }
    bool preface = span_begins(line, "Subject: ") || span_begins(line, "RssHwmKb: ") ||
                   span_begins(line, ANDROID_INPUT_SUBJECT);
    return preface && last_rank(report) > 0;
}

/* ---- headers ---- */

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
    }
}
