/* Implements stallclassify --watch: adds files that arrive in a folder to a history, and keeps a
 * page and metrics of it up to date. */
#ifndef STALLKIT_CMD_CLASSIFY_WATCH_H
#define STALLKIT_CMD_CLASSIFY_WATCH_H

#include "base/strbuf.h"
#include "classify/stats/triage.h"
#include "cli.h"

/* The operations of the watching command. */
struct watch_ops {
    /* Adds a file to the history, and commits. False: the file, or a part of it, was refused,
     * which was printed. *broken is set if the history itself cannot be written; the file must
     * then stay. */
    bool (*add)(void *ctx, char *path, bool *broken);
    /* Writes the page to the file at path `page`, and appends the metrics to `metrics`. False: an
     * error was printed. */
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
};

/* Checks that --watch comes with --out and a history (NULL = none) that are not in the watched
 * folder. excluded: an option or operand that --watch excludes is given. False: an error was
 * printed. */
bool classify_check_watch(const struct cli_tool *tool, const struct classify_watch *w,
                          const char *history, bool excluded);
/* Checks the folder once a second, until SIGTERM or SIGINT, which end the watch between two files.
 * Writes the report and the metrics at first, after files have come and after the symbols have
 * changed; a report that cannot be written is tried again at the next check. Returns CLI_OK, or
 * CLI_FAILED, with the error printed: the folder cannot be read or changed, the history cannot be
 * written, or memory ran out. */
int classify_watch(struct classify_watch *w, const struct watch_ops *ops,
                   struct cli_failures *failures);
/* Appends the metrics of a finished triage in Prometheus' text form (exposition format 0.0.4).
 * added, known, too_old: numbers of dumps and session records that were new, already known, and too
 * old to keep. */
void classify_metrics(struct strbuf *b, const struct triage *t, uint64_t added, uint64_t known,
                      uint64_t too_old);

#endif
