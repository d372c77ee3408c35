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

enum {
    WATCH_LOOK_MS = 1000,
    REPORT_EVERY_MS = 30000, /* while files keep coming */
    REPORT_WAIT_MS = 16000   /* at most, after a report that failed */
};

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

void classify_metrics(struct strbuf *b, const struct triage *t, const struct history_counts *c) {
    struct cause_sums sums = {{0}, {0}};
    add_metric(b, "dumps_added_total", "counter", "Dumps and session records taken.",
               c->dumps + c->sessions);
    add_metric(b, "dumps_known_total", "counter", "Dumps that had come before.", c->known);
    add_metric(b, "dumps_too_old_total", "counter", "Dumps of days that are not kept.", c->too_old);
    add_metric(b, "dumps_ahead_total", "counter",
               "Dumps of a time ahead of the clock, so of no known day.", c->ahead);
    if (bucket_list_each(t, add_cause_sums, &sums, NULL) != ST_OK) {
        return;
    }
    strbuf_addstr(b, "# HELP stallkit_stalled_seconds Stalled time in the history, by cause.\n"
                     "# TYPE stallkit_stalled_seconds gauge\n");
    for (int i = 0; i < CAUSE_COUNT; i++) {
        if (sums.dumps[i]) {
            strbuf_addf(b, "stallkit_stalled_seconds{cause=\"%s\"} %" PRIu64 ".%03u\n",
                        rule_cause_text((enum rule_cause)i), sums.ms[i] / 1000,
                        (unsigned)(sums.ms[i] % 1000));
        }
    }
}

/* ---- the loop ---- */

/* Writes the page and the metrics. False: an error was printed. */
static bool write_report(const struct classify_watch *w, const struct watch_ops *ops,
                         struct cli_failures *failures) {
    struct strbuf path = {0}, metrics = {0};
    struct cli_output out;
    strbuf_addf(&path, "%s/report.html", w->out);
    const size_t damaged = failures->damaged;
    bool ok = !path.failed && ops->report(ops->ctx, strbuf_cstr(&path), &metrics);
    strbuf_clear(&path);
    strbuf_addf(&path, "%s/metrics.prom", w->out);
    add_metric(&metrics, "files_done_total", "counter", "Files taken whole.", w->done);
    add_metric(&metrics, "files_refused_total", "counter", "Files refused, whole or in part.",
               w->refused);
    add_metric(&metrics, "report_faults", "gauge",
               "What the report leaves out, as it is damaged in the history.",
               failures->damaged - damaged);
    add_metric(&metrics, "report_timestamp_seconds", "gauge", "When the report was written.",
               (uint64_t)time(NULL));
    const size_t before = failures->count;
    ok = ok && !path.failed && !metrics.failed;
    if (ok && cli_output_open(&out, strbuf_cstr(&path), failures)) {
        sink_write(&out.sink, metrics.data, metrics.len);
        cli_output_close(&out, true, failures);
    }
    strbuf_release(&path);
    strbuf_release(&metrics);
    return ok && failures->count == before;
}

/* Writes the report, unless it failed before and the time to wait is not over; the end of the watch
 * waits for nothing. False: it must be tried again. */
static bool report_again(struct classify_watch *w, const struct watch_ops *ops,
                         struct cli_failures *failures) {
    if (w->report_failed && classify_now_ms() - w->report_ms < w->wait_ms && !watch_ends) {
        return false;
    }
    const bool failed = w->report_failed;
    const size_t before = failures->count;
    failures->told = &w->report_told;
    w->report_failed = !write_report(w, ops, failures);
    failures->told = NULL;
    w->report_ms = classify_now_ms();
    if (w->report_failed) {
        w->wait_ms = failed ? w->wait_ms * 2 : WATCH_LOOK_MS;
        w->wait_ms = w->wait_ms < REPORT_WAIT_MS ? w->wait_ms : REPORT_WAIT_MS;
        return false;
    }
    if (failures->count == before) {
        w->report_told.count = 0;
    }
    if (failed) {
        cli_say(failures->tool, "%s: the report is written again", w->out);
    }
    return true;
}

/* Returns the text of the last failure that cli_fail counted for the file; "refused" if there is
 * none. Earlier failures of the file were only printed. */
static const char *reason_of(const struct cli_failures *failures) {
    return failures->last[0] ? failures->last : "refused";
}

/* Adds the next file that has arrived to the history, and moves it to done/ or refused/. ST_NONE:
 * no file is left. ST_ERR: a file cannot be moved, or the history cannot be written, and the file
 * stays; if e has no_room, which may have been printed already, it can be taken later. */
static enum st take_arrival(struct classify_watch *w, struct arrivals *a,
                            const struct watch_ops *ops, struct cli_failures *failures,
                            struct err *e) {
    const char *path;
    struct strbuf copy = {0}; /* a copy, as operands are not const */
    enum st st = arrivals_next(a, &path, e);
    if (st != ST_OK) {
        return st;
    }
    strbuf_addstr(&copy, path);
    if (copy.failed) {
        return err_nomem(e);
    }
    failures->last[0] = '\0';
    const enum watch_answer answer = ops->add(ops->ctx, copy.data);
    strbuf_release(&copy);
    if (answer == WATCH_NO_ROOM) {
        return err_no_room(e);
    }
    if (answer == WATCH_BROKEN) {
        return err_set(e, ERR_IO, "the history cannot be written");
    }
    if (arrivals_settle(a, answer == WATCH_TAKEN ? NULL : reason_of(failures), e) != ST_OK) {
        return ST_ERR;
    }
    w->done += answer == WATCH_TAKEN;
    w->refused += answer == WATCH_REFUSED;
    return ST_OK;
}

/* Prints once that files wait, and why. */
static void wait_for_room(struct classify_watch *w, struct arrivals *a,
                          struct cli_failures *failures, struct err *e) {
    err_context(e, "files wait");
    cli_notice(failures, w->folder, e);
    err_clear(e);
    if (a) {
        arrivals_leave(a);
    }
    w->waits = true;
}

/* Adds the files that have arrived to the history, until a report is due because of the time.
 * *any: at least one was taken. ST_NONE: no file is left, or the files wait for room. ST_ERR: as
 * take_arrival, for another reason than a full disk. */
static enum st take_arrivals(struct classify_watch *w, struct arrivals *a,
                             const struct watch_ops *ops, struct cli_failures *failures, bool *any,
                             struct err *e) {
    const uint64_t begun = classify_now_ms();
    enum st st = ST_OK;
    failures->told = &w->told;
    while (!watch_ends && classify_now_ms() - begun < REPORT_EVERY_MS &&
           (st = take_arrival(w, a, ops, failures, e)) == ST_OK) {
        *any = true;
        w->told.count = 0;
        if (w->waits) {
            cli_say(failures->tool, "%s: there is room again", w->folder);
        }
        w->waits = false;
    }
    if (st == ST_ERR && e->no_room) {
        wait_for_room(w, a, failures, e);
        st = ST_NONE;
    }
    failures->told = NULL;
    (void)cli_exit_status(failures); /* prints what it still has to say of these files */
    return st;
}

/* Opens the folder, unless that was done before, and takes what is there. Returns as
 * take_arrivals. */
static enum st look_for_files(struct classify_watch *w, struct arrivals **a,
                              const struct watch_ops *ops, struct cli_failures *failures, bool *any,
                              struct err *e) {
    if (*a || arrivals_open(a, w->folder, e) == ST_OK) {
        return take_arrivals(w, *a, ops, failures, any, e);
    }
    if (!e->no_room) {
        return ST_ERR;
    }
    failures->told = &w->told;
    wait_for_room(w, NULL, failures, e);
    failures->told = NULL;
    return ST_NONE;
}

int classify_open_watched(struct classify_watch *w, struct classify_history *h,
                          const struct cli_tool *tool, bool cap_given, uint64_t *cap_s,
                          struct cli_failures *failures) {
    int status;
    catch_signals();
    failures->told = &w->told;
    for (;;) {
        const size_t lacked = failures->no_room;
        struct err e = {0};
        status = classify_open_history(h, tool, true, cap_given, cap_s, failures);
        if (status == CLI_OK || failures->no_room == lacked || watch_ends) {
            break;
        }
        err_no_room(&e);
        wait_for_room(w, NULL, failures, &e);
        (void)poll(NULL, 0, WATCH_LOOK_MS);
    }
    failures->told = NULL;
    return watch_ends ? CLI_OK : status;
}

int classify_watch(struct classify_watch *w, const struct watch_ops *ops,
                   struct cli_failures *failures) {
    struct arrivals *a = NULL;
    struct err e = {0};
    uint64_t symbols = state_of_symbols(w);
    bool due = true; /* the report must be written */
    enum st st = ST_OK;
    catch_signals();
    while (st != ST_ERR && !watch_ends) {
        st = look_for_files(w, &a, ops, failures, &due, &e);
        uint64_t now = state_of_symbols(w);
        due = due || now != symbols;
        symbols = now;
        if (st != ST_ERR && due) {
            due = !report_again(w, ops, failures);
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
