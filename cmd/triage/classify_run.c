/* Processes each dump of a run of stallclassify: names, keys, counts it. */
#include "triage/classify_run.h"

#include <limits.h>
#include <time.h>

#include "base/strbuf.h"
#include "classify/print/annotate.h"
#include "dump/dump.h"
#include "dump/input/answer_head.h"

enum { WINDOW_PER_JOB = 16, COMMIT_AFTER_MS = 100 };

void classify_fail(struct classify_run *run, const char *where, const struct err *why) {
    cli_dumps_fail(&run->dumps, where, why);
}

/* Results of a worker for a dump, which the thread that takes them uses. */
struct classify_result {
    struct stall_key key;
    /* Old keyer, freed after this dump, as no later key borrows from it; see keyer_renew. */
    struct keyer *retired;
    bool wanted, left; /* left: --skip-missing leaves the dump to another run */
    struct where_seen seen;
    struct explained explained; /* result of --explain */
    struct strbuf text; /* output of --annotate; with --partial --answer-each the dump's head */
};

/* Returns the sink to which --annotate and --answer-each write. */
static struct sink *annotated(struct classify_run *run) {
    return run->dumps.answers.on ? &run->dumps.answers.lines : &run->output.sink;
}

static enum st annotate(const struct classify_run *run, const struct dump *d,
                        struct classify_result *r, struct err *e) {
    struct sink sink = sink_to_strbuf(&r->text);
    struct dump_place place;
    if (bucket_places_find(run->places, &r->key, &place, e) != ST_OK) {
        return ST_ERR;
    }
    if (!run->annotate) {
        enum st head = annotate_head(d, &r->key, &place, 0, &sink, e);
        sink_char(&sink, '\n');
        return sink_close(&sink, head == ST_OK ? e : NULL) == ST_OK ? head : ST_ERR;
    }
    enum st st = annotate_dump(d, &r->key, &place, run->rules_hash, &sink, e);
    st = sink_close(&sink, e) == ST_OK ? st : ST_ERR;
    if (st != ST_OK || !run->dumps.answers.heads) {
        return st;
    }
    struct strbuf json = r->text;
    r->text = (struct strbuf){0};
    sink = sink_to_strbuf(&r->text);
    st = annotate_head(d, &r->key, &place, json.len - 1, &sink, e);
    sink_write(&sink, json.data, json.len);
    strbuf_release(&json);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

static enum st classify_work(void *ctx, struct dump *d, void *result, unsigned worker,
                             struct err *e) {
    struct classify_run *run = ctx;
    struct classify_result *r = result;
    if (cli_symbols_key(&run->symbols, d, &run->keyers[worker], &r->retired, &r->key, e) != ST_OK) {
        return ST_ERR;
    }
    /* A history gets all dumps; the filter applies when the history is read. */
    enum st st = run->history ? ST_OK : where_match(run->where, d, &r->key, &r->seen, e);
    r->wanted = st == ST_OK;
    if (st == ST_ERR || !r->wanted) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    if (run->explain.id) {
        return explain_choice_dump(&run->explain, run->keyers[worker], &run->former[worker], d,
                                   &r->key, &r->explained, e);
    }
    r->left = run->skip_missing && image_without_symbols(d);
    return run->annotate || run->periods.on ? annotate(run, d, r, e) : ST_OK;
}

/* Writes the counts so far as a partial, with an empty line after it, and restarts them from zero.
 */
static enum st next_partial(struct classify_run *run, struct err *e) {
    run->since = 0;
    run->due_ms = 0;
    if (triage_fold(run->triage, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = triage_write_partial(run->triage, &run->output.sink, e);
    sink_char(&run->output.sink, '\n');
    sink_flush(&run->output.sink);
    return st == ST_OK ? triage_restart(&run->triage, e) : st;
}

/* Writes a partial if one is due: after `every` dumps, or every_ms after its first dump or session
 * record. */
static enum st partial_if_due(struct classify_run *run, struct err *e) {
    bool due = run->every && run->since == run->every;
    if (run->every_ms && run->since > 0) {
        uint64_t now = classify_now_ms();
        run->due_ms = run->due_ms ? run->due_ms : now + run->every_ms;
        due = due || now >= run->due_ms;
    }
    return due ? next_partial(run, e) : ST_OK;
}

/* Ends the run, as what is answered must have been counted: the line gets no answer. */
static void break_counting(struct classify_run *run, const struct err *why) {
    if (!run->broken) {
        classify_fail(run, NULL, why);
    }
    run->broken = true;
}

/* Counts an answered dump. */
static enum st count_in_period(struct classify_run *run, const struct dump *d,
                               const struct classify_result *r, struct err *e) {
    struct triage *t;
    enum st st = classify_period_at(&run->periods, d->time, &t, e);
    st = st == ST_OK ? triage_add(t, d, &r->key, r->wanted, NULL, e) : st;
    if (st != ST_OK) {
        break_counting(run, e);
    }
    return st;
}

static enum st classify_take(void *ctx, struct dump *d, void *result, struct err *e) {
    struct classify_run *run = ctx;
    const struct classify_result *r = result;
    where_seen_add(&run->seen, &r->seen);
    run->taken++;
    if (run->annotate || run->periods.on) {
        sink_write(annotated(run), r->text.data, r->text.len);
        return run->periods.on && !r->left ? count_in_period(run, d, r, e) : ST_OK;
    }
    if (run->explain.id) {
        /* The dump is counted, too, because only the counts of all dumps tell in which bucket the
         * table has it. */
        explain_choice_offer(&run->explain, d, &r->explained);
    }
    if (run->broken) {
        return ST_OK;
    }
    if (run->history) {
        enum st added = history_add(run->history->h, d, &r->key, e);
        added = added == ST_OK ? classify_commit_history(run->history, false, e) : added;
        run->broken = added != ST_OK;
        return added == ST_OK ? ST_OK : err_context(e, "%s", run->history->path);
    }
    enum st st = triage_add(run->triage, d, &r->key, r->wanted, NULL, e);
    run->since++;
    if (st == ST_OK) {
        st = partial_if_due(run, e);
    }
    run->broken = st != ST_OK;
    return st;
}

static void classify_release(void *result) {
    struct classify_result *r = result;
    strbuf_release(&r->text);
    explained_release(&r->explained);
    keyer_free(r->retired);
}

/* Counts a session record. */
static enum st take_session_record(struct classify_run *run, const char *text, size_t len,
                                   struct err *e) {
    const struct exposure_filter filter = {.where = run->where, .seen = &run->seen_sessions};
    return run->history ? history_add_session(run->history->h, text, len, e)
                        : triage_add_session(run->triage, &filter, text, len, e);
}

/* Counts a session record in its period. */
static enum st count_session(struct classify_run *run, const char *text, size_t len,
                             struct err *e) {
    const struct exposure_filter filter = {.where = run->where, .seen = &run->seen_sessions};
    struct session_origin o = {0};
    struct triage *t = NULL;
    enum st st = session_origin_read(&o, text, len, e);
    st = st == ST_OK ? classify_period_at(&run->periods, o.time, &t, e) : st;
    st = st == ST_OK ? triage_add_session(t, &filter, text, len, e) : st;
    strbuf_release(&o.text);
    if (st != ST_OK && (e->code == ERR_NOMEM || e->code == ERR_IO)) {
        break_counting(run, e);
    }
    return st;
}

/* Writes the head of a session record, then, with --annotate, the record. */
static enum st put_headed_session(struct classify_run *run, const char *text, size_t len,
                                  struct err *e) {
    struct strbuf line = {0};
    struct sink sink = sink_to_strbuf(&line);
    struct session_origin o = {0};
    enum st st = session_origin_read(&o, text, len, e);
    dump_pipeline_write_line(&sink, text, len);
    if (sink_close(&sink, st == ST_OK ? e : NULL) != ST_OK) {
        st = ST_ERR;
    }
    if (st == ST_OK) {
        const struct answer_head head = {
            .kind = "session", .id = o.id, .time = o.time, .version = o.version};
        size_t left_out = run->annotate ? 0 : line.len - 1;
        answer_head_write(&head, line.len - 1 - left_out, annotated(run));
        sink_write(annotated(run), line.data + left_out, line.len - left_out);
    }
    strbuf_release(&o.text);
    strbuf_release(&line);
    return st;
}

static void pass_session(struct classify_run *run, const char *where, const char *text,
                         size_t len) {
    struct err e = {0};
    if (!run->dumps.answers.heads) {
        dump_pipeline_write_line(annotated(run), text, len);
    } else if (put_headed_session(run, text, len, &e) != ST_OK) {
        cli_answers_refuse(&run->dumps.answers, where, &e);
    }
}

static void classify_take_session(void *ctx, const char *where, const char *text, size_t len) {
    struct classify_run *run = ctx;
    struct err e = {0};
    run->taken++;
    if (run->periods.on && count_session(run, text, len, &e) != ST_OK) {
        cli_answers_refuse(&run->dumps.answers, where, &e);
    } else if (run->annotate || run->periods.on) {
        pass_session(run, where, text, len);
    } else if (!run->broken && take_session_record(run, text, len, &e) != ST_OK) {
        run->broken = e.code == ERR_NOMEM || e.code == ERR_IO;
        if (run->broken && run->history) {
            err_context(&e, "%s", run->history->path);
        }
        err_context(&e, "session record");
        classify_fail(run, where, &e);
    } else {
        /* A session record, too, starts the time after which a partial is written, but it is not
         * counted as a dump. */
        run->since += run->every_ms > 0;
    }
}

static void classify_refuse(void *ctx, const char *where, const struct err *why) {
    struct classify_run *run = ctx;
    run->taken++;
    cli_answers_refuse(&run->dumps.answers, where, why);
}

static void classify_pass_refused(void *ctx, const char *text, size_t len) {
    struct classify_run *run = ctx;
    run->taken++;
    cli_answers_pass_refused(&run->dumps.answers, text, len);
}

/* Writes the partials of all periods, for which a line without any record asks. */
static void answer_with_partials(struct classify_run *run) {
    struct err e = {0};
    if (classify_periods_write(&run->periods, annotated(run), &e) != ST_OK) {
        run->broken = true;
        classify_fail(run, NULL, &e);
    }
}

static void classify_answered(void *ctx) {
    struct classify_run *run = ctx;
    if (run->periods.on && run->taken == 0 && !run->broken) {
        answer_with_partials(run);
    }
    run->taken = 0;
    if (run->periods.on && run->broken) {
        return; /* without an answer the line is sent again */
    }
    cli_answers_end(&run->dumps.answers, &run->output.sink);
}

/* Commits the history before this process waits for input, so that other writers can continue; but
 * not in a pause of less than COMMIT_AFTER_MS, because a pipe pauses after every few dumps if its
 * writer is the slower one. */
static enum st commit_in_pause(struct classify_run *run, struct err *e) {
    if (!history_is_adding(run->history->h)) {
        return ST_OK;
    }
    uint64_t now = classify_now_ms();
    struct classify_history *h = run->history;
    h->commit_ms = h->commit_ms ? h->commit_ms : now + COMMIT_AFTER_MS;
    return now < h->commit_ms ? ST_OK : classify_commit_history(h, true, e);
}

static void classify_idle(void *ctx) {
    struct classify_run *run = ctx;
    struct err e = {0};
    if (run->annotate || run->periods.on) {
        sink_flush(&run->output.sink);
    }
    if (run->every_ms && !run->broken && partial_if_due(run, &e) != ST_OK) {
        run->broken = true;
        classify_fail(run, NULL, &e);
    }
    if (run->history && !run->broken && commit_in_pause(run, &e) != ST_OK) {
        run->broken = true;
        classify_fail(run, run->history->path, &e);
    }
}

/* Returns the ms until the next partial or commit is due; -1 = none is. */
static int classify_wait_ms(void *ctx) {
    const struct classify_run *run = ctx;
    uint64_t now = classify_now_ms();
    uint64_t commit_ms = run->history ? run->history->commit_ms : 0;
    uint64_t due = run->due_ms ? run->due_ms : commit_ms;
    if (!due || run->broken) {
        return -1;
    }
    due = commit_ms && commit_ms < due ? commit_ms : due;
    uint64_t left = due > now ? due - now : 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static bool classify_unwanted(void *ctx) {
    const struct classify_run *run = ctx;
    return run->broken || ((run->annotate || run->partial) && cli_output_failed(&run->output));
}

const struct dump_pipeline_ops classify_dumps_ops = {.result_size = sizeof(struct classify_result),
                                                     .window = WINDOW_PER_JOB,
                                                     .work = classify_work,
                                                     .take = classify_take,
                                                     .release = classify_release,
                                                     .take_session = classify_take_session,
                                                     .idle = classify_idle,
                                                     .wait_ms = classify_wait_ms,
                                                     .unwanted = classify_unwanted,
                                                     .refuse = classify_refuse,
                                                     .pass_refused = classify_pass_refused,
                                                     .answered = classify_answered};

static enum st count_for_buckets(void *ctx, struct dump *d, void *result, struct err *e) {
    struct classify_run *run = ctx;
    const struct classify_result *r = result;
    return triage_add(run->buckets, d, &r->key, r->wanted, NULL, e);
}

const struct dump_pipeline_ops classify_buckets_ops = {.result_size =
                                                           sizeof(struct classify_result),
                                                       .window = WINDOW_PER_JOB,
                                                       .work = classify_work,
                                                       .take = count_for_buckets,
                                                       .release = classify_release};

void classify_tell_doubts(const struct cli_tool *tool, const struct triage *t) {
    if (t) {
        cli_tell_differing(tool, triage_differing(t));
        cli_tell_contradicting(tool, triage_contradicting(t));
        cli_tell_refused_sessions(tool, triage_refused_sessions(t));
        if (triage_is_full(t)) {
            cli_say(tool->name, "the stalled time passes 2^63 - 1 ms, and is told as that");
        }
    }
}

void classify_tell_unsaid(const struct cli_tool *tool, const struct classify_run *run) {
    const struct {
        const struct where_seen *seen;
        bool exposure;
        const char *who;
    } rows[] = {{&run->seen, false, "no dump says"},
                {&run->seen_sessions, true, "no session record, of which none counts, says"},
                {&run->seen_table, true, "no row of --exposure says"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_tell_unsaid(tool, run->where, rows[i].seen, rows[i].exposure, rows[i].who);
    }
}
