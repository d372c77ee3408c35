/* Implements stallclassify --watch: adds files that arrive in a folder to a history, and keeps a
 * page and metrics of it up to date. */
#ifndef STALLKIT_CMD_CLASSIFY_WATCH_H
#define STALLKIT_CMD_CLASSIFY_WATCH_H

#include "base/strbuf.h"
#include "classify/stats/triage.h"
#include "cli.h"
#include "history/run_history.h"
#include "triage/classify_history.h"

/* What became of a file. */
enum watch_answer {
    WATCH_TAKEN,   /* it is in the history */
    WATCH_REFUSED, /* the file, or a part of it, was refused, which was printed */
    WATCH_NO_ROOM, /* a disk is full, which was printed; the file must stay, and be added later */
    WATCH_BROKEN   /* the history cannot be written; the file must stay */
};

/* The operations of the watching command. */
struct watch_ops {
    /* Adds a file to the history, and commits. */
    enum watch_answer (*add)(void *ctx, char *path);
    /* Writes the page to the file at path `page`, and appends the metrics to `metrics`. What cannot
     * be read of the history is printed, and the rest is written. False: an error was printed, and
     * it must be tried again. */
    bool (*report)(void *ctx, const char *page, struct strbuf *metrics);
    void *ctx;
};

/* The state of watching. Zero-initialised = nothing is watched. */
struct classify_watch {
    const char *folder, *out; /* values of --watch and --out */
    /* The values of -d: if one of these files or folders changes, the report is written again. */
    const char *const *symbols;
    size_t symbol_count;
    uint64_t done, refused; /* numbers of files that were added, and that were refused */
    /* Private: */
    bool waits;         /* files wait until a disk has room */
    bool report_failed; /* the last report could not be written */
    uint64_t report_ms; /* monotonic time of the last try to write the report, in ms */
    uint64_t wait_ms;   /* time from a failed report to the next try */
    /* What was printed since a file was last settled, and since a report of all of the history was
     * last written. */
    struct cli_told told, report_told;
};

/* Checks that --watch comes with --out and a history (NULL = none) that are not in the watched
 * folder. excluded: an option or operand that --watch excludes is given. False: an error was
 * printed. */
bool classify_check_watch(const struct cli_tool *tool, const struct classify_watch *w,
                          const char *history, bool excluded);
/* Opens the history of a watch as classify_open_history does, and waits while a disk is full, which
 * is printed once. CLI_OK with h->h NULL: SIGTERM or SIGINT ended the wait. */
int classify_open_watched(struct classify_watch *w, struct classify_history *h,
                          const struct cli_tool *tool, bool cap_given, uint64_t *cap_s,
                          struct cli_failures *failures);
/* Checks the folder once a second, until SIGTERM or SIGINT, which end the watch between two files.
 * Writes the report and the metrics at first, after files have come, each half minute while more
 * come, and after the symbols have changed; what cannot be written is tried again, after 1 s
 * at first and after 16 s at last. While a disk is full, files wait: the first of them is tried
 * again each second. Each of these messages is printed once, and the end of such a time, too.
 * Returns CLI_OK, or CLI_FAILED, with the error printed: the folder cannot be read or changed, the
 * history cannot be written, both for another reason than a full disk, or memory ran out. */
int classify_watch(struct classify_watch *w, const struct watch_ops *ops,
                   struct cli_failures *failures);
/* Appends the metrics of a finished triage, and of what was added since the watch began, in
 * Prometheus' text form (exposition format 0.0.4). */
void classify_metrics(struct strbuf *b, const struct triage *t, const struct history_counts *c);

#endif
