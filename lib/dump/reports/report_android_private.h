/* What the files report_android*.c share: the lines of Android's traces, how a trace begins and
 * ends, and which process of it is read. */
#ifndef STALLKIT_DUMP_REPORT_ANDROID_PRIVATE_H
#define STALLKIT_DUMP_REPORT_ANDROID_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "dump/json/span_private.h"
#include "dump/reports/report_span_private.h"

struct report;
struct report_thread;

/* Takes the line at the start of the text. False: its line feed is not in the text. */
static inline bool android_whole_line(struct span *text, struct span *line) {
    bool ended = false;
    (void)line_take(text, line, &ended);
    return ended;
}

/* A thread's first line; name points into the line. */
struct android_thread_line {
    const char *name;
    size_t name_len;
    int64_t tid;    /* id in the virtual machine; -1: the thread is not attached to it */
    int64_t systid; /* id in the kernel, read only if the line has no other id; -1 = not given */
    bool runs;      /* the thread runs managed code, as the virtual machine says */
    bool joined;    /* another line follows in this line, which lost its line feed */
};
/* Parses a thread's first line; false: the line is another one. */
bool android_thread_line(const char *line, size_t len, struct android_thread_line *out);

/* A native frame; its texts point into the line and have length 0 if absent. */
struct android_native_line {
    uint64_t offset; /* address of the call in the file */
    const char *path, *symbol, *build_id;
    size_t path_len, symbol_len, build_id_len;
};
/* Parses a NUL-terminated line such as "native: #00 pc …" or "#00 pc …"; false: it has no
 * address. */
bool android_native_line(const char *line, struct android_native_line *out);

/* android_is_frame: is the line, without its leading blanks, a frame? android_is_thread_part: is it
 * a frame, a property ("| "), a monitor ("- "), a frame of the kernel or the note "(no managed
 * stack frames)"? android_is_joined: does a frame follow in a line that is not a frame, because the
 * line feed between them was lost? */
bool android_is_frame(const char *line);
bool android_is_thread_part(const char *line);
bool android_is_joined(const char *line);
/* Returns the bracket that closes the one at `open`; NULL: the text ends before it. */
const char *android_close_of(const char *open);
/* Is the class at the beginning of this name the app's own? It is if the name begins with the app's
 * id, or with no package of Android's boot class path. */
bool android_is_own_class(const struct report *r, const char *name);
/* Do empty lines stand within the threads of the text: between a thread's first line and its
 * properties or frames, or between most frames and the next one? Then they do not end threads. */
bool android_is_spaced(struct span text);

/* A thread that waits for a monitor whose holder its own lines do not tell. */
struct android_waiter {
    size_t thread; /* index in report.threads */
    uint64_t number;
};
/* The monitors of a trace, each known by the number that the trace gives it. */
struct android_locks {
    struct map holders; /* number -> id of the thread that holds the monitor; SIZE_MAX = there are
                           several */
    VEC(struct android_waiter) waiters;
    uint64_t released; /* number of the monitor that the current thread waits to lock, or waits to
                          be notified on; it does not hold that one, even if it locked it further
                          out; 0 = none */
};
/* Reads a line of the current thread that is about a monitor: who holds the one for which the
 * thread waits, or which one the thread holds. Other lines change nothing. report.no_memory is set
 * if memory runs out. */
void android_read_lock(struct report *r, struct android_locks *locks, struct report_thread *thread,
                       const char *line);
/* Sets the owners that the lines of other threads tell, once all threads are in report.threads. */
void android_find_owners(struct report *r, const struct android_locks *locks);
/* Frees the members. */
void android_release_locks(struct android_locks *locks);

enum { ANDROID_TIME_MAX = 64 };
/* The beginning of the subject that says how long the system waited. */
#define ANDROID_INPUT_SUBJECT "Input dispatching timed out"
/* The heading, in a bug report, of a part with the stacks of all processes at one moment. */
#define ANDROID_ALL_PROCESSES "------ VM TRACES JUST NOW "
/* Is the line a header of a mail other than its subject? */
bool android_is_mail_header(const char *line);
/* Reads a line in front of the threads: what happened, the app, the system. *arch becomes the
 * architecture if the line tells it. */
void android_read_header(struct report *r, const char *line, const char **arch);
/* Copies the time of "----- pid 4242 at 2026-11-20 09:12:44 -----"; "" if there is none, or it has
 * ANDROID_TIME_MAX bytes or more. */
void android_section_time(const char *line, size_t len, char out[ANDROID_TIME_MAX]);

/* Cuts the text down to the section of the process with this name or id; the first section keeps
 * the lines before it. A text with at most one section, of another process, is left as it is.
 * False: the text has several sections, none of which is that process's. */
bool android_find_process(struct span *text, const char *wanted);

/* What ART writes of an abort of the process. */
struct android_abort {
    int64_t tid;           /* id of the thread that aborted; -1 = not given */
    struct span exception; /* "Pending exception …"; empty = there was none */
};
/* Returns whether the text says that the process aborted, and sets *out. If it does, and "DALVIK
 * THREADS" follows before any "----- pid", the text then begins there: what ART writes of the
 * abort, with the thread that aborted, is cut off. */
bool android_take_abort(struct span *text, struct android_abort *out);

/* The functions `begins` and `ends` of struct report_format. */
bool android_begins(struct span text, bool *more);
bool android_ends(struct span report, struct span line);

#endif
