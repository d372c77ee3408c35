/* What stallrec says at the end of a program that it recorded. */
#include "recorder_summary.h"

#include <inttypes.h>

#include "base/strbuf.h"
#include "cli.h"

#define TOOL "stallrec"

/* Less than so much of the time is too little to say that there were no stalls. */
enum { WATCHED_PERCENT = 90 };

/* As enum rec_unwatched and enum finder_kind of the recorder. */
enum { NO_LOOP = 1 };
static const char *const reasons[PRELOAD_UNWATCHED] = {
    "launch", "no certain loop", "another place taken for the loop", "forgotten", "suspended"};
static const char *const kinds[] = {"event loop", "event loop", "loop on a condition variable",
                                    "loop on signals"};

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

/* ---- sums ---- */

static void add_process(const struct preload_process *p, const struct recorder_ending *end,
                        struct recorder_sums *out) {
    uint64_t more_ms = 0;
    if (!p->ended && p->pid == (uint32_t)end->pid && end->ended_ns > p->told_ns && p->told_ns > 0) {
        more_ms = (end->ended_ns - p->told_ns) / 1000000;
    }
    out->stalls += p->stalls;
    out->dumps += p->dumps;
    out->lost += p->lost;
    out->wall_ms += p->wall_ms + more_ms;
    out->watched_ms += p->watched_ms + (p->loop_kind != 0 ? more_ms : 0);
    for (uint32_t i = 0; i < PRELOAD_UNWATCHED; i++) {
        out->unwatched_ms[i] += p->unwatched_ms[i];
    }
    out->unwatched_ms[NO_LOOP] += p->loop_kind == 0 ? more_ms : 0;
    out->loops += p->loop_kind != 0;
    out->loopless += p->loop_kind == 0;
    if (p->loop_kind != 0 && !out->first) {
        out->first = p;
    }
    if (p->pid == (uint32_t)end->pid) {
        out->main = p;
    }
}

void recorder_sum(const struct preload_report *report, const struct recorder_ending *end,
                  struct recorder_sums *out) {
    *out = (struct recorder_sums){0};
    for (uint32_t i = 0; i < report->recorded && i < PRELOAD_PROCESSES; i++) {
        add_process(&report->process[i], end, out);
    }
    if (!out->main && end->ended_ns > end->began_ns) {
        uint64_t ms = (end->ended_ns - end->began_ns) / 1000000;
        out->wall_ms += ms;
        out->unwatched_ms[NO_LOOP] += ms;
    }
}

/* ---- text ---- */

/* "7.9 s of 8.1 s (97 %)" */
static void add_watched(struct strbuf *line, const struct recorder_sums *sums) {
    uint64_t percent = sums->wall_ms > 0 ? sums->watched_ms * 100 / sums->wall_ms : 0;
    strbuf_addf(line, "%.1f s of %.1f s (%" PRIu64 " %%)", (double)sums->watched_ms / 1000,
                (double)sums->wall_ms / 1000, percent);
}

static void add_loop(struct strbuf *line, const struct recorder_sums *sums) {
    const struct preload_process *p = sums->first;
    uint32_t kind = p->loop_kind - 1 < sizeof kinds / sizeof *kinds ? p->loop_kind - 1 : 0;
    strbuf_addf(line, ", %s at %.*s", kinds[kind], PRELOAD_TEXT, p->loop_at);
}

static void add_reasons(struct strbuf *line, const struct recorder_sums *sums) {
    const char *between = "; not watched: ";
    for (uint32_t i = 0; i < PRELOAD_UNWATCHED; i++) {
        if (sums->unwatched_ms[i] >= 50) {
            strbuf_addf(line, "%s%s %.1f s", between, reasons[i],
                        (double)sums->unwatched_ms[i] / 1000);
            between = ", ";
        }
    }
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

static void say_without_loop(const struct recorder_sums *sums, const char *name,
                             uint64_t stall_ms) {
    struct strbuf line = {0};
    strbuf_addf(&line, "%s: no event loop was seen, watched ", name);
    add_watched(&line, sums);
    add_stretches(&line, sums, stall_ms);
    strbuf_addstr(&line, " (see --loop-at, --follow)");
    cli_say(TOOL, "%s", strbuf_cstr(&line));
    strbuf_release(&line);
}

static void say_watched(const struct recorder_sums *sums, const char *directory,
                        uint64_t stall_ms) {
    struct strbuf line = {0};
    bool enough = sums->watched_ms * 100 >= sums->wall_ms * WATCHED_PERCENT;
    if (sums->stalls > 0) {
        strbuf_addf(&line, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s", sums->stalls,
                    plural(sums->stalls), sums->dumps, plural(sums->dumps), directory);
    } else if (enough) {
        strbuf_addf(&line, "no stalls of %" PRIu64 " ms or more", stall_ms);
    } else {
        strbuf_addf(&line, "no stalls of %" PRIu64 " ms or more in what was watched", stall_ms);
    }
    strbuf_addstr(&line, "; watched ");
    add_watched(&line, sums);
    add_loop(&line, sums);
    if (!enough) {
        add_reasons(&line, sums);
    }
    if (sums->loops > 1 || sums->loopless > 0) {
        strbuf_addf(&line, " (%" PRIu32 " process%s, %" PRIu32 " without a loop)",
                    sums->loops + sums->loopless, sums->loops + sums->loopless == 1 ? "" : "es",
                    sums->loopless);
    }
    cli_say(TOOL, "%s", strbuf_cstr(&line));
    strbuf_release(&line);
}

void recorder_say(const struct recorder_sums *sums, const char *name, const char *directory,
                  uint64_t stall_ms, bool quiet) {
    if (stall_ms == 0 && sums->stalls == 0) {
        if (!quiet) {
            cli_say(TOOL, "the detectors found nothing");
        }
    } else if (sums->loops == 0 && sums->stalls == 0) {
        say_without_loop(sums, name, stall_ms);
    } else if (!quiet && sums->loops == 0) {
        cli_say(TOOL, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s (no event loop was seen)",
                sums->stalls, plural(sums->stalls), sums->dumps, plural(sums->dumps), directory);
    } else if (!quiet) {
        say_watched(sums, directory, stall_ms);
    }
}
