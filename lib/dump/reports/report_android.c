/* Reads Android's trace of a process that did not respond: traces.txt, files of /data/anr, and the
 * trace of an ApplicationExitInfo. ART writes it (art/runtime/signal_catcher.cc, thread.cc,
 * monitor.cc of AOSP), with the system's lines in front (StackTracesDumpHelper.java); the Play
 * Console shows the threads alone. Also reads this text as xCrash and Crashlytics write it, and the
 * dump of an abort, which becomes a crash.
 *
 *     Subject: Input dispatching timed out (… Waited 5001ms for MotionEvent)
 *     ----- pid 4242 at 2026-11-20 09:12:44.120000000+0100 -----
 *     Cmd line: com.example.shop
 *     Build fingerprint: 'google/oriole/oriole:14/UP1A.231005.007/10754064:user/release-keys'
 *     ABI: 'arm64'
 *     DALVIK THREADS (27):
 *     "main" prio=5 tid=1 Blocked
 *       | sysTid=4242 nice=-10 cgrp=top-app sched=0/0 handle=0x7c…
 *       | state=S schedstat=( 151056979 25055334 199 ) utm=5 stm=9 core=1 HZ=100
 *       native: #00 pc 00000000000a5e08  /apex/…/libc.so (syscall+28) (BuildId: 2a19…)
 *       at com.example.shop.Cart.add(Cart.java:12)
 *       - waiting to lock <0x0a1b2c3d> (a java.lang.Object) held by thread 12
 *       - locked <0x0e5f6a7b> (a com.example.shop.Main)
 */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "dump/dump.h"
#include "dump/reports/report_android_private.h"
#include "dump/reports/report_span_private.h"

/* The reader's state: one trace is read line by line. */
struct android {
    struct report *r;
    struct report_lines lines;
    const char *line; /* current line without its leading blanks */
    size_t sections;  /* number of processes begun so far: "----- pid" lines, and xCrash's "pid:" */
    bool ended; /* the lines of the first process have ended, or are not those of the process that
                   hung */
    bool headless;  /* the first process has no "----- pid" line, but other lines of a process */
    bool cut;       /* lines of another process follow before the end of the first */
    bool main_seen; /* the thread with id 1 has begun */
    bool mail;      /* a header of a mail was read, and no empty line since */
    bool subject;   /* a subject was read, and no empty line since */
    bool channels;  /* the lines are of "Waiting Channels", a part with an end line of its own */
    bool all;       /* the text says that it has all processes, whether or not they hung */
    int64_t hung;   /* id of the first process that the system dumped; 0 = unknown */
    int64_t pid;    /* id of the first section's process; 0 = unknown */
    bool in_thread;
    bool parts;    /* lines of the thread follow its first one */
    bool gap;      /* empty lines follow what was read of the thread */
    bool spaced;   /* the text has empty lines within its threads */
    bool strayed;  /* lines of another thread, whose heading is missing, follow the thread's own */
    uint64_t next; /* number that the thread's next native frame should have */
    const char *native; /* the thread's last native frame; NULL = none */
    uint64_t missing;   /* frames that are missing, by the gaps in the native frames' numbers and by
                           ART's "... repeated" */
    uint64_t stray;     /* frames left out because they stand under no heading of their thread */
    uint64_t unread; /* lines of threads that could not be read, or that were joined or repeated */
    struct report_thread thread;
    const char *arch;   /* architecture that the process's lines tell; NULL = none */
    uint64_t announced; /* threads that the section announces; 0 = not given */
    uint64_t attached;  /* number of threads read that are attached to the virtual machine */
    struct android_locks locks;
};

static bool android_line_begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

/* ---- sections ---- */

/* Returns the process id behind the words with which the line begins; 0: none. */
static int64_t pid_behind(const char *line, const char *words) {
    const char *s = line + strlen(words);
    uint64_t pid;
    return android_line_begins(line, words) && report_take_decimal(&s, &pid) && pid <= INT32_MAX
               ? (int64_t)pid
               : 0;
}

/* Notes which process the system dumps first: that one hung. The system logs this line before it
 * asks the process for its stacks, which may never answer. */
static void note_dumped(struct android *t) {
    const int64_t pid = pid_behind(t->line, "----- dumping pid: ");
    t->hung = t->hung > 0 ? t->hung : pid;
}

static void android_begin_section(struct android *t) {
    char time[ANDROID_TIME_MAX];
    t->sections++;
    if (t->sections == 1 && !t->ended) {
        t->pid = pid_behind(t->line, "----- pid ");
        android_section_time(t->line, strlen(t->line), time);
        t->r->time = report_time(t->r, time);
    }
}

/* ---- threads ---- */

static enum st android_end_thread(struct android *t) {
    if (!t->in_thread) {
        return ST_OK;
    }
    t->in_thread = false;
    report_end_stack(t->r, &t->thread.stack);
    return report_add_thread(t->r, &t->thread);
}

static enum st android_begin_thread(struct android *t, const struct android_thread_line *head) {
    if (android_end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    /* If the virtual machine does not answer, ART writes only the native stacks. Their threads have
     * no id but the kernel's, and the main thread's id equals the process's. */
    const bool alone = head->tid < 0 && head->systid > 0;
    t->thread = (struct report_thread){.id = alone ? head->systid : head->tid,
                                       .name = report_text(t->r, head->name, head->name_len),
                                       .state = head->runs ? "running" : NULL,
                                       .main = head->tid == 1 || (alone && head->systid == t->pid)};
    t->unread += head->joined;
    t->thread.stack = report_begin_stack(t->r);
    t->attached += head->tid >= 0;
    t->locks.released = 0;
    t->gap = t->strayed = t->parts = false;
    t->next = 0;
    t->native = NULL;
    t->thread.stack.calls = true; /* frames are addresses of calls, not return addresses */
    t->in_thread = true;
    return ST_OK;
}

/* Takes a thread that is not attached to the virtual machine for the main thread if its id in the
 * kernel, "| sysTid=4242 nice=0 …", is the process's: main() has ended, and its thread waits for
 * others. */
static void read_unattached(struct android *t) {
    const int64_t systid = t->thread.id < 0 ? pid_behind(t->line, "| sysTid=") : 0;
    t->thread.main = t->thread.main || (systid > 0 && systid == t->pid);
}

/* Reads the state, a letter as in proc(5), from "| state=S schedstat=( 151056979 25055334 199 )
 * utm=5 stm=9 core=1 HZ=100". The times are not used, because they count from the start of the
 * thread, not of the stall. */
static void read_settings(struct android *t) {
    static const struct {
        char letter;
        const char *state;
    } states[] = {{'R', "running"}, {'S', "waiting"}, {'D', "blocked"},
                  {'T', "stopped"}, {'t', "stopped"}, {'I', "waiting"}};
    const char *state = strstr(t->line, "state=");
    for (size_t i = 0; state && i < sizeof states / sizeof *states; i++) {
        if (state[6] == states[i].letter) {
            t->thread.state = states[i].state;
        }
    }
}

static bool has_room(const struct android *t) {
    return t->r->frames.len - t->thread.stack.first < DUMP_FRAMES_MAX;
}

/* Reads "at com.example.shop.Cart.add(Cart.java:12)" or "at java.lang.Thread.sleep!(Native
 * method)". */
static enum st take_java_frame(struct android *t) {
    const char *s = t->line + 3, *open = strchr(s, '('),
               *close = open ? android_close_of(open) : NULL;
    struct report_name name = {0};
    uint64_t line;
    if (!has_room(t)) {
        return ST_OK;
    }
    if (!open || open == s) {
        t->r->frames_unread++;
        return report_frame(t->r, 0);
    }
    t->unread += close && close[1]; /* another line was joined to the frame's line */
    size_t len = (size_t)(open - s);
    /* '!' marks a native method that runs as managed code does */
    while (len > 1 && (s[len - 1] == '!' || s[len - 1] == ' ')) {
        len--; /* the Play Console writes a blank before the bracket */
    }
    name.symbol = report_text(t->r, s, len);
    name.in_app = name.symbol && android_is_own_class(t->r, name.symbol);
    const char *colon = close ? close : open;
    while (colon > open && *colon != ':') {
        colon--;
    }
    const char *digits = colon + 1;
    digits += *colon == ':' && *digits == '~'; /* Dalvik marks a line as approximate */
    if (*colon == ':' && parse_u64(digits, (size_t)(close - digits), UINT32_MAX, &line) &&
        line > 0) {
        name.file = report_text(t->r, open + 1, (size_t)(colon - open - 1));
        name.line = (uint32_t)line;
    }
    return name.symbol ? report_named_frame(t->r, &name) : err_nomem(t->r->e);
}

/* Checks the number of a native frame, such as "#07", against the frames before it. *belongs =
 * false: the frame belongs to another thread, whose heading is missing, or its line is repeated. */
static enum st check_native_order(struct android *t, bool *belongs) {
    const char *s = strchr(t->line, '#') + 1;
    uint64_t index;
    enum st st = ST_OK;
    *belongs = true;
    if (!report_take_decimal(&s, &index)) {
        return ST_OK;
    }
    const bool twice = t->native && strcmp(t->native, t->line) == 0;
    t->strayed = t->strayed || (index < t->next && !twice);
    *belongs = !t->strayed && !twice;
    if (!*belongs) {
        t->stray += t->strayed;
        t->unread += !t->strayed;
        return ST_OK;
    }
    t->native = t->line;
    if (index > t->next) { /* lines were cut out */
        uint64_t skipped = index - t->next;
        t->missing += skipped < DUMP_FRAMES_MAX ? skipped : DUMP_FRAMES_MAX;
        st = report_frame(t->r, 0);
    }
    t->next = index < UINT64_MAX ? index + 1 : index;
    return st;
}

static enum st take_native_frame(struct android *t) {
    struct android_native_line f;
    bool belongs;
    if (!has_room(t)) {
        return ST_OK;
    }
    if (check_native_order(t, &belongs) != ST_OK || !belongs) {
        return belongs ? ST_ERR : ST_OK;
    }
    if (!android_native_line(t->line, &f)) {
        t->r->frames_unread++;
        return report_frame(t->r, 0);
    }
    const char *symbol = report_text(t->r, f.symbol, f.symbol_len);
    struct report_image image = {.path = report_text(t->r, f.path, f.path_len)};
    if (image.path && strstr(image.path, ") ")) { /* another line was joined to the frame's line */
        t->unread++;
        return report_frame(t->r, 0);
    }
    if (!image.path) {
        return t->r->no_memory ? err_nomem(t->r->e) : report_frame(t->r, 0);
    }
    /* '!' separates package and library: "base.apk!libshop.so" */
    const char *packed = strrchr(image.path, '!');
    image.name = packed && packed[1] ? path_name(packed + 1) : NULL;
    image.in_app = android_line_begins(image.path, "/data/") &&
                   !android_line_begins(image.path, "/data/dalvik-cache/");
    (void)parse_build_id(f.build_id, f.build_id_len, &image.id);
    return report_file_frame(t->r, &image, f.offset, symbol);
}

/* Counts the frames that ART leaves out of a deep recursion, "... repeated 12 times"; false: the
 * line is not of that form. */
static bool read_repeated(struct android *t) {
    static const char word[] = "... repeated ";
    const char *s = t->line + sizeof word - 1;
    uint64_t times;
    if (!android_line_begins(t->line, word) || !report_take_decimal(&s, &times)) {
        return false;
    }
    t->missing += times < DUMP_FRAMES_MAX ? times : DUMP_FRAMES_MAX;
    return true;
}

/* Is the line one of those that ART writes in a thread besides its frames of code: a property, a
 * monitor, a note, or a frame of the kernel? */
static bool is_known_line(const char *line) {
    return strchr("|-(", *line) || android_line_begins(line, "kernel: ") ||
           android_line_begins(line, "native: (") || android_line_begins(line, "NOTE: ") ||
           android_line_begins(line, "DumpLatencyMs: "); /* at a thread's end since Android 15 */
}

static enum st take_thread_part(struct android *t) {
    const bool frames = t->r->frames.len > t->thread.stack.first;
    t->parts = true;
    t->strayed = t->strayed || (*t->line == '|' && frames); /* the properties precede the frames */
    if (android_line_begins(t->line, "at ")) {
        t->stray += t->strayed;
        return t->strayed ? ST_OK : take_java_frame(t);
    }
    if (android_line_begins(t->line, "native: #") || *t->line == '#') {
        return take_native_frame(t);
    }
    if (t->strayed) {
        return ST_OK;
    }
    if (*t->line == '|') {
        read_unattached(t);
        read_settings(t);
    }
    android_read_lock(t->r, &t->locks, &t->thread, t->line);
    if (!read_repeated(t)) {
        t->unread += !is_known_line(t->line) || android_is_joined(t->line);
    }
    return ST_OK;
}

/* Takes a line after a thread's first one. Empty lines end the thread, unless the text's threads
 * are spaced and the line after them is a part of a thread. *taken = false: the line is not part of
 * a thread. */
static enum st android_take_thread_line(struct android *t, bool *taken) {
    *taken = t->in_thread;
    if (t->in_thread && !*t->line) {
        t->gap = true;
        return ST_OK;
    }
    if (t->in_thread && t->gap && !(t->spaced && android_is_thread_part(t->line))) {
        *taken = false;
        if (android_end_thread(t) != ST_OK) {
            return ST_ERR;
        }
    }
    t->gap = false;
    return *taken ? take_thread_part(t) : ST_OK;
}

/* ---- the whole trace ---- */

/* Marks the first process as ended, before a line that ends it or begins the next one; but not if
 * none of its threads has begun. */
static void end_process(struct android *t) {
    t->ended = t->ended || t->r->threads.len > 0 || t->in_thread;
}

/* Reads the id of "----- end 4242 -----". If the process that ends is not the one that began, a
 * part of the text is missing. */
static void end_android_section(struct android *t) {
    const char *s = t->line + sizeof "----- end " - 1;
    uint64_t pid;
    if (!t->ended && t->sections > 0 && report_take_decimal(&s, &pid) &&
        (pid > INT32_MAX || (int64_t)pid != t->pid)) {
        t->cut = true;
    }
    end_process(t);
}

/* Takes a line that begins or ends a process or its threads. Returns true for a line "----- pid" or
 * "----- end", and for every line after the first process: such lines need no more reading. */
static bool take_section_line(struct android *t) {
    static const char threads[] = "DALVIK THREADS";
    if (android_line_begins(t->line, "----- pid ")) {
        t->headless = t->headless || (t->sections == 0 && t->r->threads.len > 0);
        end_process(t);
        android_begin_section(t);
        bool silent = t->hung > 0 && t->pid != t->hung && t->r->threads.len == 0;
        t->ended = t->ended || t->sections > 1 || silent;
        return true;
    }
    if (android_line_begins(t->line, "----- Waiting Channels: ")) {
        t->channels = true;
        return t->ended;
    }
    if (android_line_begins(t->line, "----- end ")) {
        if (t->channels) {
            t->channels = false;
            return true;
        }
        t->headless = t->headless || t->sections == 0;
        end_android_section(t);
        return true;
    }
    if (android_line_begins(t->line, threads)) {
        const char *count = t->line + sizeof threads - 1;
        t->headless = t->headless || t->sections == 0;
        t->cut = t->cut || (!t->ended && t->r->threads.len > 0);
        end_process(t);
        if (!t->ended && *count == ' ' && *++count == '(' && count++) {
            (void)report_take_decimal(&count, &t->announced);
        }
    }
    return t->ended;
}

/* Reads the lines that xCrash puts around the threads: the process's id, and the end. */
static void take_xcrash_line(struct android *t) {
    int64_t pid = strstr(t->line, "  >>> ") ? pid_behind(t->line, "pid: ") : 0;
    if (pid > 0 && t->sections == 0 && t->r->threads.len == 0) {
        t->sections = 1;
        t->pid = pid;
    } else if (android_line_begins(t->line, "+++ +++ +++")) {
        end_process(t);
    }
}

/* Reads a line in front of the threads. The subject among a mail's headers is not the system's. */
static void read_preface(struct android *t) {
    if (android_is_mail_header(t->line)) {
        t->r->reason = t->subject ? NULL : t->r->reason;
        t->r->at_ms = t->subject ? -1 : t->r->at_ms;
        t->mail = true;
        return;
    }
    const bool subject = android_line_begins(t->line, "Subject:");
    if (!*t->line) {
        t->mail = t->subject = false;
    } else if (!(subject && t->mail)) {
        t->subject = t->subject || subject;
        android_read_header(t->r, t->line, &t->arch);
    }
}

/* Is this the first line of the thread again, before anything of it was read? The Play Console
 * writes the line twice, once without the priority. */
static bool is_same_heading(const struct android *t, const struct android_thread_line *head) {
    const char *name = t->thread.name;
    return t->in_thread && !t->parts && head->tid >= 0 && head->tid == t->thread.id && name &&
           strlen(name) == head->name_len && memcmp(name, head->name, head->name_len) == 0;
}

static enum st android_take_line(struct android *t) {
    struct android_thread_line head;
    bool taken;
    note_dumped(t);
    take_xcrash_line(t);
    t->all = t->all || (t->sections == 0 && android_line_begins(t->line, ANDROID_ALL_PROCESSES));
    if (take_section_line(t)) {
        return ST_OK;
    }
    if (android_thread_line(t->line, strlen(t->line), &head)) {
        if (is_same_heading(t, &head)) {
            return ST_OK;
        }
        /* A process has only one thread with id 1; and if its threads have ids of the virtual
         * machine, none has an id of the kernel alone. */
        if ((head.tid == 1 && t->main_seen) || (head.systid > 0 && t->attached > 0)) {
            t->cut = true; /* the head of another process is missing */
            end_process(t);
            return ST_OK;
        }
        t->main_seen = t->main_seen || head.tid == 1;
        return android_begin_thread(t, &head);
    }
    if (android_take_thread_line(t, &taken) != ST_OK || taken) {
        return taken && err_is(t->r->e) ? ST_ERR : ST_OK;
    }
    if (t->r->threads.len == 0) {
        read_preface(t);
    }
    t->stray += android_is_frame(t->line);
    return ST_OK;
}

/* Adds to the dump's "lack" the parts that the text lacks. The text may have been cut, or be a part
 * of a trace that somebody pasted. */
static void android_tell_lacks(struct android *t) {
    struct report *r = t->r;
    if (t->announced > t->attached && t->announced <= INT32_MAX) {
        report_lack_count(r, t->announced - t->attached,
                          "thread that the text announces and leaves out",
                          "threads that the text announces and leaves out");
    }
    report_lack_count(r, t->missing, "frame that the text leaves out",
                      "frames that the text leaves out");
    report_lack_count(r, t->stray, "frame whose thread is not told",
                      "frames whose threads are not told");
    report_lack_count(r, t->unread, "line within a thread that could not be read",
                      "lines within threads that could not be read");
    report_lack_frames(r);
    if (!r->wanted && !r->reason && t->hung == 0 && r->process) {
        /* a bug report has all processes: the first one need not be the one that hung */
        if (*r->process == '/') {
            report_lack(r, "which process hung: the first one is a native program, which the "
                           "system does not watch");
        } else if (strcmp(r->process, "system_server") == 0 && t->sections > 1) {
            report_lack(r, "which process hung: the first one is system_server, and no subject "
                           "tells");
        }
    }
    if (t->headless) {
        report_lack(r, "the head of its process");
    }
    if (t->cut) {
        report_lack(r, "the end of its process: lines of another one follow");
    }
    if (t->sections > 0 && !t->ended) {
        report_lack(r, "what follows: the text ends within its process");
    }
}

/* ---- reading ---- */

/* Leaves one main thread: the one with the process's id, else the one with id 1, which another
 * thread gets when the main thread has left the virtual machine. False: there is none. */
static bool choose_main(struct report *r) {
    bool found = false, left = false;
    for (size_t i = 0; i < r->threads.len; i++) {
        const struct report_thread *thread = &r->threads.data[i];
        found = found || thread->main;
        left = left || (thread->main && thread->id < 0);
    }
    for (size_t i = 0; left && i < r->threads.len; i++) {
        struct report_thread *thread = &r->threads.data[i];
        thread->main = thread->main && thread->id < 0;
    }
    return found;
}

/* An abort ends the process: it is a crash of the thread that aborted, not a hang. */
static void tell_abort(struct report *r, const struct android_abort *abort) {
    r->kind = "crash";
    r->fatal = true;
    r->reason = abort->exception.p ? report_text(r, abort->exception.p, line_len(abort->exception))
                                   : "Runtime aborting";
    for (size_t i = 0; i < r->threads.len; i++) {
        struct report_thread *thread = &r->threads.data[i];
        thread->crashed = abort->tid >= 0 && thread->id == abort->tid;
    }
}

/* Reads the lines of the trace. */
static enum st read_trace(struct android *t) {
    const char *line;
    while ((line = report_next_line(t->r, &t->lines)) != NULL) {
        t->line = report_skip_blanks(line);
        if (android_take_line(t) != ST_OK) {
            return err_context(t->r->e, "line %zu", t->lines.number);
        }
    }
    if (t->r->no_memory) {
        return err_nomem(t->r->e);
    }
    if (android_end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    android_find_owners(t->r, &t->locks);
    return ST_OK;
}

static enum st android_fill(struct report *r, struct span text) {
    if (r->wanted && !android_find_process(&text, r->wanted)) {
        return err_set(r->e, ERR_FORMAT, "no process '%s' in the trace", r->wanted);
    }
    struct android_abort abort;
    const bool aborts = android_take_abort(&text, &abort);
    struct android t = {
        .r = r, .lines = {.at = text.p, .end = text.end}, .spaced = android_is_spaced(text)};
    r->kind = "hang";
    r->detector = "android";
    r->os = "Android";
    enum st st = read_trace(&t);
    android_release_locks(&t.locks);
    if (st != ST_OK) {
        return st;
    }
    r->arch = t.arch;
    if (t.all && !r->wanted) {
        return err_set(r->e, ERR_UNSUPPORTED,
                       "stacks of all processes at one moment, of which none is said to hang: "
                       "--process has to name one");
    }
    if (aborts) {
        tell_abort(r, &abort);
    }
    android_tell_lacks(&t);
    if (choose_main(r)) {
        return ST_OK;
    }
    return t.hung > 0 && t.pid != t.hung && r->threads.len == 0
               ? err_set(r->e, ERR_UNSUPPORTED,
                         "an Android trace without threads of the process that hung, %lld",
                         (long long)t.hung)
               : err_set(r->e, ERR_FORMAT, "an Android trace without its main thread");
}

static enum st android_read(const struct report_document *d, struct err *e) {
    struct report r;
    report_init(&r, report_android_format.name, 0, e);
    r.wanted = d->process;
    report_keep(&r, "text", d->text, true);
    report_lack_end(&r, d->text);
    enum st st = android_fill(&r, d->text);
    if (st == ST_OK) {
        st = report_finish(&r, d);
    }
    report_release(&r);
    return st;
}

const struct report_format report_android_format = {
    .name = "android",
    .source = "Android: ANR traces (/data/anr, ApplicationExitInfo, Play Console)",
    .since = "0.1.0",
    .begins = android_begins,
    .ends = android_ends,
    .read = android_read};
