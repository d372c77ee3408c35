/* Prints stallrec's lists, a replay, and the stalls that were found in a program. */
#include "record/recorder_answers.h"
#include "record/unwatched_processes.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>

#include "cli.h"
#include "base/filemap.h"
#include "base/strbuf.h"
#include "recorder/core/presets.h"
#include "recorder/preload/preload.h"
#include "recorder/replay/replay.h"
#include "recorder/spool/recover.h"
#include "recorder/stallrec.h"

enum { TRACE_MAX = 64 * 1024 * 1024 };

struct question {
    const char *tool, *trace, *preset;
};

/* Calls `print` to answer a question on the standard output. False: an error was printed. */
static bool answer(bool (*print)(struct sink *out, const struct question *question),
                   const struct question *question) {
    struct cli_failures failures = {.tool = question->tool};
    struct cli_output out;
    if (!cli_output_open(&out, NULL, &failures)) {
        return false;
    }
    bool ok = print(&out.sink, question);
    cli_output_close(&out, true, &failures);
    return ok && cli_exit_status(&failures) == CLI_OK;
}

static bool list_detectors(struct sink *out, const struct question *question) {
    (void)question;
    const struct rec_detector_info *info;
    for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
        sink_printf(out, "%-12s %s\n", info->name, info->summary);
        if (info->calls) {
            sink_printf(out, "%-12s (the program calls %s)\n", "", info->calls);
        }
    }
    return true;
}

/* Sets text to a preset's value as a user would write it. */
static void value_text(const struct rec_preset_value *value, struct strbuf *text) {
    const struct rec_detector_info *info;
    strbuf_clear(text);
    if (value->word) {
        strbuf_addstr(text, value->word);
    } else if (strcmp(value->field, "detectors") != 0) {
        strbuf_addf(text, "%" PRIu32, value->value);
    } else {
        for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
            if (value->value & info->bit) {
                strbuf_addf(text, "%s%s", text->len > 0 ? "," : "", info->name);
            }
        }
    }
}

static bool list_presets(struct sink *out, const struct question *question) {
    struct strbuf text = {0};
    struct rec_preset_value value;
    for (size_t i = 0; rec_preset_name(i); i++) {
        sink_printf(out, "%s%s: %s\n", i > 0 ? "\n" : "", rec_preset_name(i), rec_preset_title(i));
        for (size_t k = 0; rec_preset_value(i, k, &value); k++) {
            value_text(&value, &text);
            sink_printf(out, "    %-18s %-9s  %s\n", value.field, strbuf_cstr(&text),
                        value.source ? value.source : "unpublished, ours");
        }
    }
    bool ok = !text.failed;
    if (!ok) {
        cli_say(question->tool, "out of memory");
    }
    strbuf_release(&text);
    return ok;
}

static void print_line(void *ctx, const char *line) {
    sink_printf(ctx, "%s\n", line);
}

static bool replay(struct sink *out, const struct question *question) {
    const char *name = strcmp(question->trace, "-") == 0 ? "/dev/stdin" : question->trace;
    struct filemap map;
    struct err e = {0};
    char message[256];
    enum st st = filemap_open(&map, name, TRACE_MAX, &e);
    if (st != ST_OK) {
        cli_say(question->tool, "%s: %s", question->trace, st == ST_NONE ? "no such file" : e.text);
        return false;
    }
    struct rec_replay_sink lines = {.line = print_line, .ctx = out, .preset = question->preset};
    bool ok = rec_replay((const char *)map.data, map.size, &lines, message, sizeof message);
    filemap_release(&map);
    if (!ok) {
        cli_say(question->tool, "%s: %s", question->trace, message);
    }
    return ok;
}

bool recorder_list_detectors(const char *tool) {
    return answer(list_detectors, &(struct question){.tool = tool});
}

bool recorder_list_presets(const char *tool) {
    return answer(list_presets, &(struct question){.tool = tool});
}

bool recorder_replay(const char *tool, const char *trace, const char *preset) {
    return answer(replay, &(struct question){tool, trace, preset});
}

/* ---- the end of a run ---- */

#define TOOL "stallrec"

/* Sums over all recorded processes; times are in ms. */
struct recorder_sums {
    uint64_t stalls, dumps, lost;
    int lost_error; /* errno of the last lost dump; 0: see recorder_say_lost */
    uint64_t wall_ms, watched_ms, input_ms, unwatched_ms[PRELOAD_UNWATCHED];
    const char *unclear; /* place of a wait that counts in REC_UNWATCHED_UNCLEAR, or of a sleep that
                            brought the loop into doubt; NULL: there was none */
    uint32_t threads, thread_loops; /* number of watched threads, and of those with an event loop */
    /* Number of threads that could not be watched, because the table was full. */
    uint32_t unwatched;
    /* loops, loopless: number of processes with and without an event loop; partly: number of those
     * with one that were watched for less than RECORDER_WATCHED_PERCENT percent of their time. */
    uint32_t loops, loopless, partly;
    const struct preload_process *first; /* first process with a loop; NULL: none has one */
    const struct preload_process *main;  /* the program itself; NULL: no recorder reports of it, as
                                            it never waited for instance */
};

/* ---- sums ---- */

static void add_process(const struct preload_process *p, const struct recorder_ending *end,
                        struct recorder_sums *out) {
    uint64_t more_ms = 0, since_ns = p->told_ns > 0 || !*p->killed ? p->told_ns : end->began_ns;
    bool open = !p->ended || *p->killed, looped = p->loop_kind != 0 && p->exec_ns == 0;
    if (open && p->pid == (uint32_t)end->pid && end->ended_ns > since_ns && since_ns > 0) {
        more_ms = (end->ended_ns - since_ns) / 1000000;
    }
    out->stalls += p->stalls;
    out->dumps += p->dumps;
    out->lost += p->lost;
    out->lost_error = p->lost_error != 0 ? p->lost_error : out->lost_error;
    uint64_t wall_ms = p->wall_ms + more_ms;
    uint64_t watched_ms = p->watched_ms + (looped && !*p->killed ? more_ms : 0);
    out->wall_ms += wall_ms;
    out->watched_ms += watched_ms;
    out->partly += p->loop_kind != 0 && !recorder_watched_enough(watched_ms, wall_ms);
    out->input_ms += p->input_ms;
    out->unclear = *p->unclear ? p->unclear : *p->unseen ? p->unseen : out->unclear;
    for (uint32_t i = 0; i < PRELOAD_UNWATCHED; i++) {
        out->unwatched_ms[i] += p->unwatched_ms[i];
    }
    out->unwatched_ms[REC_UNWATCHED_NO_LOOP] += !looped && !*p->killed ? more_ms : 0;
    out->threads += p->threads;
    out->thread_loops += p->loops;
    out->unwatched += p->unwatched;
    out->loops += p->loop_kind != 0;
    out->loopless += p->loop_kind == 0;
    if (p->loop_kind != 0 && !out->first) {
        out->first = p;
    }
    if (p->pid == (uint32_t)end->pid) {
        out->main = p;
    }
}

static void add_processes(const struct preload_report *report, const struct recorder_ending *end,
                          struct recorder_sums *out) {
    *out = (struct recorder_sums){0};
    for (uint32_t i = 0; i < report->recorded && i < PRELOAD_PROCESSES; i++) {
        if (report->process[i].pid != 0) {
            add_process(&report->process[i], end, out);
        }
    }
    if (!out->main && end->ended_ns > end->began_ns) {
        uint64_t ms = (end->ended_ns - end->began_ns) / 1000000;
        out->wall_ms += ms;
        out->unwatched_ms[REC_UNWATCHED_NO_LOOP] += ms;
    }
}

/* ---- text ---- */

/* Appends the watched time, such as "7.9 s of 8.1 s (97 %)". */
static void add_watched_time(struct strbuf *line, const struct recorder_sums *sums) {
    uint64_t percent = sums->wall_ms > 0 ? sums->watched_ms * 100 / sums->wall_ms : 0;
    strbuf_addf(line, "%.1f s of %.1f s (%" PRIu64 " %%)", (double)sums->watched_ms / 1000,
                (double)sums->wall_ms / 1000, percent);
}

static void add_loop_place(struct strbuf *line, const struct recorder_sums *sums) {
    const struct preload_process *p = sums->first;
    strbuf_addstr(line, ", ");
    recorder_add_threads(line, sums->threads, sums->thread_loops);
    strbuf_addf(line, "%s at %.*s", recorder_loop_kind(p->loop_kind - 1), PRELOAD_TEXT, p->loop_at);
}

static void add_stretches(struct strbuf *line, const struct recorder_sums *sums,
                          uint64_t stall_ms) {
    const char *between = "; longest without a wait: ";
    for (uint32_t i = 0; sums->main && i < PRELOAD_LONGEST; i++) {
        const struct preload_stretch *s = &sums->main->longest[i];
        if (s->length_ms >= stall_ms && s->length_ms > 0) {
            strbuf_addf(line, "%s%.1f s after %.1f s", between, (double)s->length_ms / 1000,
                        (double)s->at_ms / 1000);
            between = ", ";
        }
    }
}

static void say_without_loop(const struct recorder_sums *sums, const char *name, uint64_t stall_ms,
                             bool of_threads) {
    struct strbuf line = {0};
    strbuf_addf(&line, "%s: no event loop was seen%s, watched ", name,
                of_threads ? " on the threads that were watched" : "");
    add_watched_time(&line, sums);
    add_stretches(&line, sums, stall_ms);
    strbuf_addstr(&line, " (see --loop-at, --thread, --follow)");
    cli_say(TOOL, "%s", strbuf_cstr(&line));
    strbuf_release(&line);
}

/* May "no stalls" be printed? Only if every process was recorded and has ended and reported, and
 * the program was not ended by a filter of system calls (SIGSYS). */
static bool is_complete(const struct preload_report *report, const struct recorder_ending *end,
                        const struct recover_counts *got) {
    return end->signal != SIGSYS && got->running == 0 && end->left == 0 && report->failed == 0 &&
           report->cloned == 0 && report->recorded <= PRELOAD_PROCESSES;
}

/* Appends "2 stalls, 3 dumps in DIR; ", or, if `complete`, that there were no stalls; else
 * nothing, as the number of stalls is not known. */
static void add_stalls(struct strbuf *line, const struct recorder_sums *sums, const char *directory,
                       uint64_t stall_ms, bool enough, bool complete) {
    if (sums->stalls > 0) {
        strbuf_addf(line, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s; ", sums->stalls,
                    recorder_plural(sums->stalls), sums->dumps, recorder_plural(sums->dumps),
                    directory);
    } else if (complete) {
        strbuf_addf(line, "no stalls of %" PRIu64 " ms or more%s; ", stall_ms,
                    enough && !recorder_is_unclear(sums->unwatched_ms) ? ""
                                                                       : " in what was watched");
    }
}

static void say_what_was_found(const struct recorder_sums *sums, const char *directory,
                               uint64_t stall_ms, bool complete) {
    struct strbuf line = {0};
    bool enough = sums->partly == 0 && recorder_watched_enough(sums->watched_ms, sums->wall_ms);
    add_stalls(&line, sums, directory, stall_ms, enough, complete);
    strbuf_addstr(&line, "watched ");
    add_watched_time(&line, sums);
    add_loop_place(&line, sums);
    recorder_add_input(&line, sums->input_ms, sums->unwatched_ms, sums->unclear);
    if (!enough) {
        recorder_add_reasons(&line, sums->unwatched_ms, sums->unclear);
    }
    if (sums->loops > 1 || sums->loopless > 0) {
        recorder_add_processes(&line, sums->loops + sums->loopless, sums->loopless, 0,
                               sums->partly);
    }
    cli_say(TOOL, "%s", strbuf_cstr(&line));
    strbuf_release(&line);
}

static void add_recovered_dumps(struct recorder_sums *sums, const struct recover_counts *got) {
    sums->dumps += got->dumps;
    sums->lost += got->lost;
    sums->lost_error = got->lost > 0 ? got->lost_error : sums->lost_error;
    if (sums->stalls < got->fatal) { /* a killed program cannot report its stall */
        sums->stalls = got->fatal;
    }
}

/* Appends a word of a shell's command line, in single quotes if it needs them. */
static void add_shell_word(struct strbuf *line, const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,";
    if (word[strspn(word, plain)] == '\0') {
        strbuf_addstr(line, word);
        return;
    }
    strbuf_addc(line, '\'');
    for (; *word; word++) {
        if (*word == '\'') {
            strbuf_addstr(line, "'\\''");
        } else {
            strbuf_addc(line, *word);
        }
    }
    strbuf_addc(line, '\'');
}

/* Prints the command that the user should run next, which reads the dumps. */
static void say_next(const char *directory) {
    struct strbuf line = {0};
    strbuf_addstr(&line, "next: stallsym ");
    add_shell_word(&line, directory);
    strbuf_addstr(&line, " | stallclassify");
    cli_say(TOOL, "%s", strbuf_cstr(&line));
    strbuf_release(&line);
}

/* ---- errors of a run ---- */

static const char *signal_name(int number) {
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},       {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},     {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},     {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"},     {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"}, {SIGSYS, "SIGSYS"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].number == number) {
            return names[i].name;
        }
    }
    return NULL;
}

/* May the program have died in a system call that a watched thread made for the recorder? */
static bool died_for_us(const struct preload_report *report, const struct recorder_ending *end) {
    for (uint32_t i = 0; i < report->recorded && i < PRELOAD_PROCESSES; i++) {
        const struct preload_process *p = &report->process[i];
        if (p->pid == (uint32_t)end->pid && !p->ended && p->calling != 0) {
            return true;
        }
    }
    return false;
}

void recorder_say_signal(const char *name, int number, bool for_us) {
    const char *why = "";
    if (number == SIGSYS) {
        why = for_us
                  ? ": a filter of its system calls, which the recorder did not see, forbids one "
                    "of the recorder's (see --attach)"
                  : ": a filter of its system calls forbids one";
    }
    if (signal_name(number)) {
        cli_say(TOOL, "%s was ended by %s%s", name, signal_name(number), why);
    } else {
        cli_say(TOOL, "%s was ended by signal %d", name, number);
    }
}

static void say_not_started(const struct preload_failure *f) {
    const struct passwd *user = getpwuid(f->user);
    bool known = f->error > STALLREC_OK && f->error <= STALLREC_ERR_NOTHING;
    struct strbuf line = {0};
    strbuf_addf(&line, "%.*s (process %" PRIu32 ", user ", PRELOAD_NAME, f->program, f->pid);
    if (user) {
        strbuf_addstr(&line, user->pw_name);
    } else {
        strbuf_addf(&line, "%" PRIu32, f->user);
    }
    strbuf_addf(&line, "): the recorder did not start: %s",
                known ? stallrec_error_text((enum stallrec_error)f->error) : "unknown error");
    if (f->number != 0) {
        strbuf_addf(&line, ": %s", strerror(f->number));
    }
    if (f->error == STALLREC_ERR_DIRECTORY && f->number == EACCES) {
        strbuf_addstr(&line, " (it has to be writable for that user)");
    } else {
        strbuf_addstr(&line, " (see --attach)");
    }
    cli_say(TOOL, "%s", strbuf_cstr(&line));
    strbuf_release(&line);
}

static void say_failures(const struct preload_report *report) {
    for (uint32_t i = 0; i < report->failed && i < PRELOAD_FAILURES; i++) {
        say_not_started(&report->failure[i]);
    }
    if (report->failed > PRELOAD_FAILURES) {
        uint32_t more = report->failed - PRELOAD_FAILURES;
        cli_say(TOOL, "%" PRIu32 " more recorder%s did not start", more, recorder_plural(more));
    }
}

static void say_asides(const struct preload_report *report) {
    for (uint32_t i = 0; i < report->recorded && i < PRELOAD_PROCESSES; i++) {
        const struct preload_process *p = &report->process[i];
        if (p->pid != 0 && *p->killed) {
            cli_say(TOOL,
                    "%.*s (process %" PRIu32 "): not recorded%s: its filter of system calls "
                    "kills %.*s, which the recorder needs (see --attach)",
                    PRELOAD_NAME, p->program, p->pid, p->told_ns > 0 ? " to its end" : "",
                    PRELOAD_NAME, p->killed);
        }
    }
}

void recorder_say_lost(uint64_t lost, int error) {
    cli_say(TOOL, "%" PRIu64 " dump%s could not be written: %s", lost, recorder_plural(lost),
            error != 0 ? strerror(error) : "more were open at once than the recorder keeps");
}

/* Prints how many processes are not recorded because they were made by clone(2) directly, and not
 * through the C library. */
static void say_clones(uint32_t cloned) {
    if (cloned > 0) {
        cli_say(TOOL,
                "%" PRIu32 " process%s made by clone(2), past the C library, %s not recorded (see "
                "--attach)",
                cloned, cloned == 1 ? "" : "es", cloned == 1 ? "was" : "were");
    }
}

/* Prints the numbers of processes that the counts leave out: those that still run, those beyond the
 * limit, and those that were not recorded. of_threads: --thread chose the threads to watch. */
static void say_rest(const struct preload_report *report, const struct recorder_ending *end,
                     const struct recover_counts *got, bool of_threads) {
    if (got->running > 0) {
        cli_say(TOOL,
                "%" PRIu32 " process%s still run%s: what %s record%s from now on is not told here",
                got->running, got->running == 1 ? "" : "es", got->running == 1 ? "s" : "",
                got->running == 1 ? "it" : "they", got->running == 1 ? "s" : "");
    }
    if (end->left > 0) {
        cli_say(TOOL,
                "%" PRIu32 " process%s still run%s, and %sno wait was seen that starts a recorder: "
                "not recorded",
                end->left, end->left == 1 ? "" : "es", end->left == 1 ? "s" : "",
                of_threads ? "on the threads that were asked for " : "");
    }
    if (report->recorded > PRELOAD_PROCESSES) {
        cli_say(TOOL, "%" PRIu32 " more processes were recorded, which are not counted here",
                report->recorded - PRELOAD_PROCESSES);
    }
    say_clones(report->cloned);
}

void recorder_say_unwatched(uint32_t threads) {
    cli_say(TOOL, "%" PRIu32 " more thread%s not watched", threads,
            threads == 1 ? " was" : "s were");
}

static void say_cut(const struct preload_report *report, const struct recorder_sums *sums) {
    uint32_t left = 0;
    if (sums->unwatched > 0) {
        recorder_say_unwatched(sums->unwatched);
    }
    for (uint32_t i = 0; i < report->recorded && i < PRELOAD_PROCESSES; i++) {
        left = report->process[i].threads_left > left ? report->process[i].threads_left : left;
    }
    if (left > 0) {
        recorder_say_cut(left);
    }
}

void recorder_say_cut(uint32_t threads) {
    cli_say(TOOL, "a dump had no room for %" PRIu32 " thread%s (see --max-threads)", threads,
            recorder_plural(threads));
}

/* ---- stalls as they happen ---- */

void recorder_say_stall(uint64_t now_ns, const char *kind, uint64_t age_ms, bool ended) {
    cli_say(TOOL, "%.1f s: %s of %.2f s%s", (double)now_ns / 1e9, kind, (double)age_ms / 1000,
            ended ? "" : " so far");
}

void recorder_say_taken_back(uint64_t now_ns, uint64_t was_ms) {
    cli_say(TOOL, "%.1f s: what was told as %.2f s was none, the loop is another",
            (double)now_ns / 1e9, (double)was_ms / 1000);
}

/* ---- the whole summary ---- */

/* Prints in one line the stalls that were found and the watched time, or why none could be found;
 * with set->quiet only that no event loop was seen and that there were no stalls. */
static void say_finds(const struct preload_report *report, const struct recorder_sums *sums,
                      const struct recorder_settings *set, const char *name, bool complete) {
    uint64_t stall_ms = settings_stall_ms(set);
    if (stall_ms == 0 && sums->stalls == 0) {
        if (!set->quiet && complete) {
            cli_say(TOOL, "the detectors found nothing");
        }
    } else if (sums->loops == 0 && sums->stalls == 0) {
        if (report->failed == 0 || report->failed < report->recorded) {
            say_without_loop(sums, name, stall_ms, set->threads != NULL);
        }
    } else if (!set->quiet && sums->loops == 0) {
        cli_say(TOOL, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s (no event loop was seen)",
                sums->stalls, recorder_plural(sums->stalls), sums->dumps,
                recorder_plural(sums->dumps), set->directory);
    } else if (!set->quiet) {
        say_what_was_found(sums, set->directory, stall_ms, complete);
    }
}

void recorder_say_summary(const struct preload_report *report, const struct recorder_ending *end,
                          const struct recover_counts *got, const struct recorder_settings *set,
                          const char *name, const struct unwatched_processes *others) {
    struct recorder_sums sums;
    uint64_t others_ms;
    uint32_t other_count = unwatched_count(others, &others_ms);
    if (report->processes == 0) {
        cli_say(TOOL, "%s: did not load the recorder, nothing was recorded (see --attach)", name);
        return;
    }
    add_processes(report, end, &sums);
    add_recovered_dumps(&sums, got);
    say_failures(report);
    say_asides(report);
    if (!set->quiet && end->signal != 0) {
        recorder_say_signal(name, end->signal, died_for_us(report, end));
    }
    sums.wall_ms += others_ms;
    sums.unwatched_ms[REC_UNWATCHED_NO_LOOP] += others_ms;
    say_finds(report, &sums, set, name, other_count == 0 && is_complete(report, end, got));
    if (!set->quiet && sums.dumps > 0) {
        say_next(set->directory);
    }
    if (sums.lost > 0) {
        recorder_say_lost(sums.lost, sums.lost_error);
    }
    if (!set->quiet) {
        say_cut(report, &sums);
        say_rest(report, end, got, set->threads != NULL);
        unwatched_say(others, TOOL);
    }
    if (report->trace_failed != 0) {
        cli_say(TOOL, "%s: not all of the trace could be written",
                set->trace ? set->trace : "trace");
    }
}
