/* Recognises where Android's traces and the processes in them begin and end. */
#include <string.h>

#include "dump/reports/report_android_private.h"
#include "dump/reports/report_private.h"
#include "dump/reports/report_span_private.h"

/* ---- where a trace begins ---- */

static bool is_section(struct span line) {
    return line_has_head(line, "----- pid ") || line_has_head(line, "----- dumping pid");
}

/* Is the line one that the system writes before the first process? */
static bool is_preface(struct span line) {
    return line_has_head(line, "RssHwmKb: ") || line_has_head(line, "--- CriticalEventLog ---") ||
           line_has_head(line, ANDROID_ALL_PROCESSES);
}

/* Skips blank lines and leading blanks. */
static void skip_blank_lines(struct span *text) {
    span_skip_space(text);
}

/* Skips the sections on the machine's load that the system writes behind the subject since Android
 * 13: "----- Output from /proc/pressure/memory -----" up to "----- End output …". */
static void skip_output(struct span *text) {
    struct span line;
    while (line_has_head(*text, "----- Output from ")) {
        bool within = true;
        while (within && android_whole_line(text, &line)) {
            span_skip_space(&line); /* the whole trace may be indented */
            within = !line_has_head(line, "----- End output");
        }
        skip_blank_lines(text);
    }
}

/* Is the line one of the system's list of the machine's load: "CPU usage from 12749ms to 0ms ago:",
 * "Load: 5.1 / 2.1 / 0.9", "  67% 4125/system_server: …" or " +0% 18582/sleep: …"? */
static bool is_load(struct span line) {
    span_skip_space(&line);
    if (line_has_head(line, "CPU usage from ") || line_has_head(line, "Load: ")) {
        return true;
    }
    line.p += line.p < line.end && (*line.p == '+' || *line.p == '-');
    const char *digits = line.p;
    while (line.p < line.end && ((*line.p >= '0' && *line.p <= '9') || *line.p == '.')) {
        line.p++;
    }
    return line.p > digits && line.p < line.end && *line.p == '%';
}

/* Skips the list of the machine's load, and blank lines behind. */
static void skip_load(struct span *text) {
    struct span rest = *text, line;
    while (android_whole_line(&rest, &line) && is_load(line)) {
        skip_blank_lines(&rest);
        *text = rest;
    }
}

/* Is the text a subject, of up to SUBJECT_LINES lines, and behind it the rest of the preface or a
 * process? *more is set if further lines would decide. */
static bool begins_with_subject(struct span text, bool *more) {
    enum { SUBJECT_LINES = 8 };
    struct span line;
    for (size_t i = 0; i < SUBJECT_LINES; i++) {
        if (!android_whole_line(&text, &line)) {
            *more = true;
            return false;
        }
        skip_blank_lines(&text);
        skip_output(&text);
        skip_load(&text);
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

/* Does the text begin with a mail's headers, of which "From:" is the first and "Subject:" the last,
 * and does a trace follow the subject? */
static bool begins_with_mail(struct span text, bool *more) {
    enum { HEADERS_MAX = 8 };
    struct span line;
    for (size_t i = 0; i < HEADERS_MAX && line_has_head(text, i == 0 ? "From: " : ""); i++) {
        if (line_has_head(text, "Subject: ")) {
            return begins_with_subject(text, more);
        }
        if (!android_whole_line(&text, &line)) {
            *more = true;
            return false;
        }
        if (!memchr(line.p, ':', line_len(line))) {
            return false;
        }
    }
    return false;
}

/* Does the text begin with the head of an entry of DropBoxManager, and does a trace follow it? The
 * head begins with "Process:" and ends with "Subject:"; if other headers are between them, the
 * first of these is "PID:" or "Flags:". Entries of other kinds have no trace. */
static bool begins_with_entry(struct span text, bool *more) {
    enum { HEADERS_MAX = 24 };
    struct span line;
    for (size_t i = 0; i < HEADERS_MAX; i++) {
        if (i > 0 && line_has_head(text, "Subject: ")) {
            return begins_with_subject(text, more);
        }
        if (!android_whole_line(&text, &line)) {
            *more = true;
            return false;
        }
        const bool fits = i == 0   ? line_has_head(line, "Process: ")
                          : i == 1 ? line_has_head(line, "PID: ") || line_has_head(line, "Flags: ")
                                   : memchr(line.p, ':', line_len(line)) != NULL;
        if (!fits) {
            return false;
        }
    }
    return false;
}

/* Does the text begin with a thread's first line, with the thread's id in the virtual machine, and,
 * as proof, another line of the thread? *more is set if further bytes would decide. */
static bool begins_with_thread(struct span text, bool *more) {
    static const char *const parts[] = {
        "| group=", "| sysTid=", "| state=", "at ",        "native: #",
        "kernel: ", "#00 ",      "- ",       "(no managed"};
    struct android_thread_line head;
    struct span line;
    if (!android_whole_line(&text, &line)) {
        *more = *more || (line_len(line) < 256 && *line.p == '"');
        return false;
    }
    if (!android_thread_line(line.p, line_len(line), &head) || head.tid < 0) {
        return false;
    }
    skip_blank_lines(&text);
    struct span rest = text;
    if (text.p < text.end && *text.p == '"' && android_whole_line(&rest, &line) &&
        android_thread_line(line.p, line_len(line), &head)) {
        text = rest; /* the Play Console may write the line twice */
        skip_blank_lines(&text);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (line_has_head(text, parts[i])) {
            return true;
        }
    }
    *more = *more || line_len(text) < sizeof "(no managed";
    return false;
}

/* Does the text begin with the subject alone, as the Play Console shows it, and a thread? */
static bool begins_with_bare_subject(struct span text, bool *more) {
    struct span line;
    if (!line_has_head(text, ANDROID_INPUT_SUBJECT)) {
        return false;
    }
    if (!android_whole_line(&text, &line)) {
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
    if (!line_has_head(text, "# Crashlytics - ")) {
        return false;
    }
    for (size_t i = 0; i < COMMENTS_MAX && text.p < text.end && *text.p == '#'; i++) {
        if (!android_whole_line(&text, &line)) {
            *more = true;
            return false;
        }
        skip_blank_lines(&text);
    }
    *more = *more || text.p == text.end;
    return begins_with_thread(text, more);
}

/* Does the text begin with what ART writes of an abort, and then a thread or "DALVIK THREADS"? */
static bool begins_with_abort(struct span text, bool *more) {
    enum { LINES_MAX = 8 };
    struct span line;
    if (!line_has_head(text, "Runtime aborting")) {
        return false;
    }
    for (size_t i = 0; i < LINES_MAX; i++) {
        if (!android_whole_line(&text, &line)) {
            *more = true;
            return false;
        }
        skip_blank_lines(&text);
        if (line_has_head(text, "DALVIK THREADS") || begins_with_thread(text, more)) {
            return true;
        }
    }
    return false;
}

/* Does the text begin with the head of xCrash's report of an ANR? Its other reports are of
 * crashes. */
static bool begins_with_xcrash(struct span text, bool *more) {
    enum { TITLE_LINES = 3 };
    struct span line;
    if (line_has_head(text, "*** *** ***") && !android_whole_line(&text, &line)) {
        *more = true;
        return false;
    }
    skip_blank_lines(&text);
    if (!line_has_head(text, "Tombstone maker: '")) {
        *more = *more || text.p == text.end;
        return false;
    }
    for (size_t i = 0; i < TITLE_LINES; i++) {
        bool whole = android_whole_line(&text, &line);
        if (line_has_head(line, "Crash type: 'anr'")) {
            return true;
        }
        *more = *more || !whole;
        skip_blank_lines(&text);
    }
    return false;
}

bool android_begins(struct span text, bool *more) {
    if (line_len(text) > REPORT_LOOK_MAX) {
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
        return line_has_head(text, "Subject: ") && begins_with_subject(text, more);
    case 'P':
        return begins_with_entry(text, more) || begins_with_thread(text, more);
    case 'R':
        return begins_with_abort(text, more) || begins_with_thread(text, more) || is_preface(text);
    case 'I':
        return begins_with_bare_subject(text, more) || begins_with_thread(text, more);
    case 'F':
        if (begins_with_mail(text, more)) {
            return true;
        }
        /* fall through */
    default:
        if (begins_with_thread(text, more)) {
            return true;
        }
        return is_section(text) || is_preface(text) || line_has_head(text, "DALVIK THREADS");
    }
}

/* Finds the first "----- pid" line of a report; false: it has none. */
static bool has_section(struct span text, struct span *first) {
    struct span line;
    bool whole = true;
    while (whole && text.p < text.end) {
        whole = android_whole_line(&text, &line);
        if (line_has_head(line, "----- pid ")) {
            *first = line;
            return true;
        }
    }
    return false;
}

/* Are the processes of lines a and b more than a minute apart? True, too, if a time cannot be
 * read, or b's is the earlier one. The system writes the process that hung and then others, all
 * within some seconds. */
static bool is_other_time(struct span a, struct span b) {
    enum { TOGETHER_MS = 60 * 1000 };
    char first[ANDROID_TIME_MAX], second[ANDROID_TIME_MAX];
    android_section_time(a.p, line_len(a), first);
    android_section_time(b.p, line_len(b), second);
    int64_t apart = report_time_between(first, second);
    return apart < 0 || apart > TOGETHER_MS;
}

/* Returns the rank of a line, by which android_ends knows the order of the parts of a process's
 * section; 0: the line has none. */
static int rank_of(struct span line) {
    struct android_thread_line head;
    if (line_has_head(line, "----- pid ")) {
        return 1;
    }
    if (line_has_head(line, "DALVIK THREADS")) {
        return 2;
    }
    return android_thread_line(line.p, line_len(line), &head) && head.tid == 1 ? 3 : 0;
}

/* Is the line a thread's first one, with the name in quotes and the thread's id in the virtual
 * machine? */
static bool is_quoted_thread(struct span line, struct android_thread_line *out) {
    return line.p < line.end && *line.p == '"' &&
           android_thread_line(line.p, line_len(line), out) && out->tid >= 0;
}

/* Does the line belong to what ART writes of an abort, outside of threads (AbortState::Dump in
 * art/runtime/runtime.cc)? */
static bool is_abort_line(struct span line) {
    static const char *const heads[] = {
        "Runtime aborting", "Aborting thread:", "All threads:", "Dumping all threads without ",
        "(Aborting thread was not attached"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (line_has_head(line, heads[i])) {
            return true;
        }
    }
    return false;
}

bool android_take_abort(struct span *text, struct android_abort *out) {
    struct android_thread_line head;
    struct span rest = *text, line;
    bool aborts = false, ended = false;
    *out = (struct android_abort){.tid = -1};
    while (!ended && line_take(&rest, &line, NULL)) {
        span_skip_space(&line);
        if (line_has_head(line, "DALVIK THREADS")) {
            text->p = aborts ? line.p : text->p;
            ended = true;
        } else if (is_abort_line(line)) {
            aborts = true;
        } else if (line_has_head(line, "Pending exception ")) {
            out->exception = out->exception.p ? out->exception : line_trim(line);
        } else if (line_has_head(line, "----- pid ")) {
            ended = true;
        } else if (out->tid < 0 && is_quoted_thread(line, &head)) {
            out->tid = head.tid;
        }
    }
    return aborts;
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

/* Returns the report's last line that is not empty. */
static struct span last_line(struct span report) {
    report = line_trim(report);
    while (report.p < report.end && (report.end[-1] == '\n' || line_is_blank_at(report.end - 1))) {
        report.end--;
    }
    const char *p = report.end;
    while (p > report.p && p[-1] != '\n') {
        p--;
    }
    return (struct span){p, report.end};
}

/* Is the report's last line that is not empty the first line of its main thread? The Play Console
 * writes that line twice. */
static bool ends_with_main(struct span report) {
    return rank_of(last_line(report)) == 3;
}

/* Is the report's last line that is not empty one that begins or ends code in Markdown? */
static bool ends_with_fence(struct span report) {
    const struct span line = last_line(report);
    return line_has_head(line, "```") || line_has_head(line, "~~~");
}

/* Is the line, behind the end of a process, the one that separates DropBoxManager's entries? */
static bool ends_entry(struct span report, struct span line) {
    return line_has_head(line, "==========") && line_has_head(last_line(report), "----- end ");
}

bool android_ends(struct span report, struct span line) {
    struct span first;
    struct android_thread_line head;
    bool named = line.p < line.end && android_thread_line(line.p, line_len(line), &head);
    if (line.p < line.end && ends_entry(report, line)) {
        return true;
    }
    if (line.p == line.end || (!named && !strchr("-RSDIP", *line.p))) {
        return false;
    }
    int rank = rank_of(line);
    if (rank == 1) {
        return has_section(report, &first) ? is_other_time(first, line)
                                           : last_rank(report) > 0 && ends_with_fence(report);
    }
    if (rank == 2 && is_abort_line(last_line(report))) {
        return false; /* the aborting thread, which may be the main one, is written twice */
    }
    if (rank > 1) {
        return last_rank(report) >= rank && !(rank == 3 && ends_with_main(report));
    }
    bool preface = line_has_head(line, "Subject: ") || line_has_head(line, "Process: ") ||
                   line_has_head(line, "RssHwmKb: ") || line_has_head(line, "Runtime aborting") ||
                   line_has_head(line, ANDROID_INPUT_SUBJECT);
    return preface && last_rank(report) > 0;
}

/* ---- the process that is wanted ---- */

/* Does the rest of the line, from byte `at` on, begin with this word, which a blank, a colon, a
 * carriage return or the end of the line follows? */
static bool is_word_at(struct span line, size_t at, const char *word) {
    const struct span rest = {line.p + at, line.end};
    const char *end = rest.p + strlen(word);
    return line_has_head(rest, word) && (end == rest.end || strchr(" :\r", *end));
}

bool android_find_process(struct span *text, const char *wanted) {
    static const char begin[] = "----- pid ", command[] = "Cmd line: ";
    struct span rest = *text, line, found = {NULL, NULL};
    const char *at = rest.p, *section = NULL;
    size_t sections = 0;
    for (; line_take(&rest, &line, NULL); at = rest.p) {
        const bool begins = line_has_head(line, begin);
        found.end = begins && found.p && !found.end ? at : found.end;
        sections += begins;
        section = begins ? at : section;
        bool fits = (begins && is_word_at(line, sizeof begin - 1, wanted)) ||
                    (line_has_head(line, command) && section &&
                     is_word_at(line, sizeof command - 1, wanted));
        if (fits && !found.p) {
            found.p = sections == 1 ? text->p : section; /* the subject is of the first process */
        }
    }
    if (found.p) {
        *text = (struct span){found.p, found.end ? found.end : text->end};
    }
    return found.p || sections < 2;
}
