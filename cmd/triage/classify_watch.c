/* Implements stallclassify --watch. */
#include "triage/classify_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "classify/print/bucket_list.h"
#include "history/arrivals.h"

enum { WATCH_LOOK_MS = 1000 };

/* ---- signals ---- */

static volatile sig_atomic_t watch_ends;

static void end_watch(int signal) {
    (void)signal;
    watch_ends = 1;
}

/* Makes SIGTERM and SIGINT end the watch after the current file. A signal that comes just before
 * the sleep takes effect after it. */
static void catch_signals(void) {
    struct sigaction sa = {.sa_handler = end_watch, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
}

/* ---- symbols that change ---- */

/* Returns a number, a hash, that differs when one of the -d paths has appeared or gone, or has
 * another inode, size or time of modification. */
static uint64_t state_of_symbols(const struct classify_watch *w) {
    uint64_t state = 0;
    for (size_t i = 0; i < w->symbol_count; i++) {
        struct stat st;
        if (w->symbols[i] && stat(w->symbols[i], &st) == 0) {
            state = hash_u64(state ^ (uint64_t)st.st_mtime) + hash_u64((uint64_t)st.st_ino + i) +
                    (uint64_t)st.st_size;
        }
    }
    return state;
}

/* ---- metrics ---- */

static void add_metric(struct strbuf *b, const char *name, const char *kind, const char *help,
                       uint64_t value) {
    strbuf_addf(b, "# HELP stallkit_%s %s\n# TYPE stallkit_%s %s\nstallkit_%s %" PRIu64 "\n", name,
                help, name, kind, name, value);
}

struct cause_sums {
    uint64_t ms[CAUSE_COUNT], dumps[CAUSE_COUNT];
};

static enum st add_cause_sums(void *ctx, const struct bucket_summary *s, struct err *e) {
    (void)e;
    struct cause_sums *sums = ctx;
    sums->ms[s->cause] += s->ms;
    sums->dumps[s->cause] += s->dumps;
    return ST_OK;
}

void classify_metrics(struct strbuf *b, const struct triage *t, uint64_t added, uint64_t known,
                      uint64_t too_old) {
    struct cause_sums sums = {{0}, {0}};
    add_metric(b, "dumps_added_total", "counter", "Dumps and session records taken.", added);
    add_metric(b, "dumps_known_total", "counter", "Dumps that had come before.", known);
    add_metric(b, "dumps_too_old_total", "counter", "Dumps of days that are not kept.", too_old);
    if (bucket_list_each(t, add_cause_sums, &sums, NULL) != ST_OK) {
        return;
    }
    strbuf_addstr(b, "# HELP stallkit_stalled_seconds Stalled time in the history, by cause.\n"
                     "# TYPE stallkit_stalled_seconds gauge\n");
    for (int c = 0; c < CAUSE_COUNT; c++) {
        if (sums.dumps[c]) {
            strbuf_addf(b, "stallkit_stalled_seconds{cause=\"%s\"} %" PRIu64 ".%03u\n",
                        rule_cause_text((enum rule_cause)c), sums.ms[c] / 1000,
                        (unsigned)(sums.ms[c] % 1000));
        }
    }
}

/* ---- the loop ---- */

static enum st write_report(const struct classify_watch *w, const struct watch_ops *ops,
                            struct cli_failures *failures) {
    struct strbuf path = {0}, metrics = {0};
    struct cli_output out;
    strbuf_addf(&path, "%s/report.html", w->out);
    bool ok = !path.failed && ops->report(ops->ctx, strbuf_cstr(&path), &metrics);
    strbuf_clear(&path);
    strbuf_addf(&path, "%s/metrics.prom", w->out);
    add_metric(&metrics, "files_done_total", "counter", "Files taken whole.", w->done);
    add_metric(&metrics, "files_refused_total", "counter", "Files refused, whole or in part.",
               w->refused);
    add_metric(&metrics, "report_timestamp_seconds", "gauge", "When the report was written.",
               (uint64_t)time(NULL));
    if (ok && !path.failed && !metrics.failed &&
        cli_output_open(&out, strbuf_cstr(&path), failures)) {
        sink_write(&out.sink, metrics.data, metrics.len);
        cli_output_close(&out, true, failures);
    }
    strbuf_release(&path);
    strbuf_release(&metrics);
    return ok ? ST_OK : ST_ERR;
}

/* Returns the text of the last failure that cli_fail counted for the file; "refused" if there is
 * none. Earlier failures of the file were only printed. */
static const char *reason_of(const struct cli_failures *failures) {
    return failures->last[0] ? failures->last : "refused";
}

/* Adds the files that have arrived to the history, and moves each to done/ or refused/. ST_NONE: no
 * file had arrived. ST_ERR: a file cannot be moved, or the history cannot be written, and the file
 * stays. */
static enum st take_arrivals(struct classify_watch *w, struct arrivals *a,
                             const struct watch_ops *ops, struct cli_failures *failures,
                             struct err *e) {
    const char *path;
    enum st st = ST_OK;
    bool any = false, broken = false;
    while (!watch_ends && (st = arrivals_next(a, &path, e)) == ST_OK) {
        struct strbuf copy = {0}; /* a copy, as operands are not const */
        strbuf_addstr(&copy, path);
        if (copy.failed) {
            return err_nomem(e);
        }
        failures->last[0] = '\0';
        bool taken = ops->add(ops->ctx, copy.data, &broken);
        strbuf_release(&copy);
        if (broken) {
            return err_set(e, ERR_IO, "the history cannot be written");
        }
        if (arrivals_settle(a, taken ? NULL : reason_of(failures), e) != ST_OK) {
            return ST_ERR;
        }
        w->done += taken;
        w->refused += !taken;
        any = true;
    }
    if (st == ST_ERR) {
        return ST_ERR;
    }
    return any ? ST_OK : ST_NONE;
}

int classify_watch(struct classify_watch *w, const struct watch_ops *ops,
                   struct cli_failures *failures) {
    struct arrivals *a = NULL;
    struct err e = {0};
    uint64_t symbols = state_of_symbols(w);
    bool due = true; /* the report must be written */
    catch_signals();
    enum st st = arrivals_open(&a, w->folder, &e);
    while (st != ST_ERR && !watch_ends) {
        st = take_arrivals(w, a, ops, failures, &e);
        uint64_t now = state_of_symbols(w);
        due = due || st == ST_OK || now != symbols;
        symbols = now;
        if (st != ST_ERR && due) {
            /* If writing the report failed, it is tried again when the folder is next checked. */
            due = write_report(w, ops, failures) != ST_OK;
        }
        if (st == ST_NONE && !watch_ends) {
            (void)poll(NULL, 0, WATCH_LOOK_MS);
        }
    }
    if (st == ST_ERR) {
        cli_fail(failures, w->folder, &e);
    }
    arrivals_close(a);
    return st == ST_ERR ? CLI_FAILED : CLI_OK;
}

/* Is the folder the watched one, or one of those to which its files are moved? */
static bool is_watched(const struct classify_watch *w, const char *folder) {
    bool watched = cli_is_one_place(folder, w->folder);
    for (size_t i = 0; arrivals_folders[i] && !watched; i++) {
        struct strbuf path = {0};
        strbuf_addf(&path, "%s/%s", w->folder, arrivals_folders[i]);
        watched = !path.failed && cli_is_one_place(folder, path.data);
        strbuf_release(&path);
    }
    return watched;
}

/* Is the file in a watched folder, at its path or, if it is there already, behind its links? */
static bool is_file_watched(const struct classify_watch *w, const char *path) {
    char *real = realpath(path, NULL);
    const char *const places[] = {path, real};
    bool watched = false;
    for (size_t i = 0; i < 2 && places[i]; i++) {
        const char *slash = strrchr(places[i], '/');
        struct strbuf folder = {0};
        strbuf_add(&folder, places[i], slash ? (size_t)(slash + 1 - places[i]) : 0);
        strbuf_addc(&folder, '.');
        watched = watched || folder.failed || is_watched(w, folder.data);
        strbuf_release(&folder);
    }
    free(real);
    return watched;
}

bool classify_check_watch(const struct cli_tool *tool, const struct classify_watch *w,
                          const char *history, bool excluded) {
    if (!w->folder && !w->out) {
        return true;
    }
    if (!w->folder || !w->out || !history) {
        return cli_reject(tool, "--watch goes with --out and --history");
    }
    if (is_file_watched(w, history)) {
        return cli_reject(tool, "--history is in the folder of --watch: it would be moved away");
    }
    if (is_watched(w, w->out)) {
        return cli_reject(tool, "--watch and --out are one folder: the report would be read again");
    }
    return !excluded || cli_reject(tool, "--watch excludes operands, --exposure, --mark,"
                                         " --marks, --forget-user, --check, --partial and the"
                                         " gate");
}
