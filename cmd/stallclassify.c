/* stallclassify: sorts dumps into buckets and prints these, the most important first. */
#include <sys/stat.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "classify/print/annotate.h"
#include "classify/stats/triage.h"
#include "classify_options.h"
#include "cli_dumps.h"
#include "cli_symbols.h"
#include "dump/dump.h"
#include "triage/classify_buckets.h"
#include "triage/classify_by.h"
#include "triage/classify_explain.h"
#include "triage/classify_marks.h"
#include "triage/classify_run.h"

enum { WATCH_SMALL_FILE = 65536 };

static bool wants_page(const struct classify_settings *s) {
    return print_formats[s->output.format].page && !s->gate.partial;
}

/* Can a page be printed that the history keeps? Such a page has counts only, ranked by time. */
static bool uses_kept_page(const struct classify_settings *s) {
    const struct classify_gate *g = &s->gate;
    return s->history.path && wants_page(s) && s->page.detail <= CLASSIFY_KEPT_DETAIL &&
           !s->watch.folder && !g->baseline && !g->from_history && !g->fail_back && !g->resolve &&
           !g->max_buckets && !where_asks_marks(s->where) && s->output.weight == WEIGHT_MS;
}

static struct triage_options options_of(const struct classify_run *run,
                                        const struct classify_settings *s) {
    struct triage_options o = {
        .cap_ms = s->cap_s * 1000,
        .max_buckets = s->gate.max_buckets,
        .weight = (enum tally_weight)s->output.weight,
        .rules_hash = run->rules_hash,
        .keep_bytes = wants_page(s) && !s->history.path ? CLASSIFY_KEEP_BYTES : 0,
        .rules = strbuf_cstr(&s->rules.name),
        .where = s->where_text.len && !s->history.path ? strbuf_cstr(&s->where_text) : NULL,
        .stays = run->history ? classify_history_is_marked : NULL,
        .stays_ctx = run->history};
    triage_apart_opened(s->where, o.open);
    return o;
}

static enum st classify_start(struct classify_run *run, struct classify_settings *s,
                              struct err *e) {
    run->rules_hash = classify_hash_keys(s);
    run->partial = s->gate.partial;
    run->every = s->gate.every;
    run->every_ms = s->gate.every_ms;
    struct triage_options o = options_of(run, s);
    run->periods = (struct classify_periods){.on = s->answer_each && s->gate.partial,
                                             .daily = s->periods == CLASSIFY_DAILY,
                                             .options = o};
    if (strbuf_check(&s->rules.name, e) != ST_OK || strbuf_check(&s->where_text, e) != ST_OK ||
        (!s->gate.merge && !s->history.path && triage_new(&run->triage, &o, e) != ST_OK)) {
        return ST_ERR;
    }
    s->key.rules = s->rules.raw ? NULL : s->rules.set;
    for (uint64_t i = 0; i < s->jobs; i++) {
        if (keyer_new(&run->keyers[i], &s->key, e) != ST_OK ||
            (s->explain && former_keyers_new(&run->former[i], &s->key, e) != ST_OK)) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Gives names to the frames of a bucket's stack; a triage_resolve. */
static enum st resolve_stack(void *ctx, struct dump *d, struct err *e) {
    struct classify_run *run = ctx;
    struct dump_addition add;
    return symbolize_dump(run->symbols.symbolizer, d, &add, e);
}

static bool open_symbols(struct classify_run *run, struct classify_settings *s) {
    const struct cli_symbols_options o = {.paths = s->symbols.data,
                                          .path_count = s->symbols.len,
                                          .store = s->store,
                                          .learn = s->learn,
                                          .no_learn = s->no_learn};
    if (s->symbols.len == 0 && !s->learn) {
        return true;
    }
    s->gate.resolve = resolve_stack;
    s->gate.resolve_ctx = run;
    return cli_symbols_open(&run->symbols, &o, &run->dumps, (unsigned)s->jobs);
}

/* Runs --annotate, or --answer-each with --partial, whose partials are answers, too. Returns the
 * exit status. */
static int pass_through(struct classify_run *run, const struct classify_settings *s,
                        const struct cli_parser *p) {
    struct triage_options o = options_of(run, s);
    if (!classify_read_buckets(run, s, p, &o) ||
        !cli_output_open(&run->output, s->output.path, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    int status = cli_symbols_run(&run->symbols, &run->dumps, (unsigned)s->jobs, p->operands,
                                 p->operand_count);
    cli_output_close(&run->output, status == CLI_OK, &run->dumps.failures);
    return status == CLI_OK ? cli_exit_status(&run->dumps.failures) : status;
}

/* Runs --lint; operands are rule files, too. Returns the exit status. */
static int classify_lint_rules(struct classify_run *run, struct classify_settings *s,
                               const struct cli_parser *p) {
    struct err e = {0};
    for (size_t i = 0; i < p->operand_count; i++) {
        if (!VEC_PUSH(&s->rules.files, cli_file_of(p->operands[i]))) {
            err_nomem(&e);
            classify_fail(run, NULL, &e);
            return CLI_FAILED;
        }
    }
    return classify_rules_lint(&s->rules, s->output.path);
}

/* Reads these days of the history into *t, and names frames by the symbols that are known now.
 * False: an error was printed. */
static bool read_named_days(struct classify_run *run, const struct classify_settings *s,
                            enum history_days days, struct triage **t) {
    struct triage_options o = options_of(run, s);
    struct err e = {0};
    triage_free(*t);
    *t = NULL;
    if (!classify_read_history(run->history, days, run->keyers[0], &o, t, &run->dumps.failures)) {
        return false;
    }
    triage_set_output(*t, &o);
    if (classify_rename(t, &s->gate, run->keyers[0], run->rules_hash, &e) != ST_OK) {
        classify_fail(run, s->history.path, &e);
        return false;
    }
    return true;
}

/* Reads all days up to the last selected one into run->ever. With --since only they tell whether a
 * bucket is gone or has come back. False: an error was printed. */
static bool read_ever(struct classify_run *run, const struct classify_settings *s) {
    struct err e = {0};
    triage_free(run->ever);
    run->ever = NULL;
    if (!s->history.since || s->gate.partial || s->output.by >= BY_DAY) {
        return true;
    }
    if (!read_named_days(run, s, DAYS_UP_TO, &run->ever)) {
        return false;
    }
    if (triage_finish(run->ever, &e) != ST_OK) {
        classify_fail(run, s->history.path, &e);
        return false;
    }
    return true;
}

/* Returns the triage that tells which buckets are gone or have come back. */
static const struct triage *ever_of(const struct classify_run *run) {
    return run->ever ? run->ever : run->triage;
}

/* Replaces run->triage by the selected days of the history, or by their kept page if that is
 * enough, and reads the days before them into run->base if they are the gate's baseline. The
 * selected days are read last, as history_keep_page asks. Returns CLI_OK or CLI_FAILED. */
static int take_from_history(struct classify_run *run, const struct classify_settings *s) {
    struct triage_options o = options_of(run, s);
    classify_clear_gone(run->history);
    if (uses_kept_page(s) && classify_read_page(run->history, &o, &run->triage)) {
        return CLI_OK;
    }
    if (!read_ever(run, s) || !read_named_days(run, s, DAYS_ASKED, &run->triage)) {
        return CLI_FAILED;
    }
    bool read =
        !s->gate.from_history || classify_read_history(run->history, DAYS_BEFORE, run->keyers[0],
                                                       &o, &run->base, &run->dumps.failures);
    return read ? CLI_OK : CLI_FAILED;
}

/* Adds the dumps and the exposure to the history, and reads the selected days into run->triage
 * unless nothing is printed. Returns CLI_OK, or what main returns. */
static int classify_read_by_history(struct classify_run *run, const struct classify_settings *s,
                                    const struct cli_parser *p) {
    struct triage_options o = options_of(run, s);
    int status = CLI_OK;
    if (p->operand_count || s->gate.exposure.len || s->history.keep) {
        if (!classify_begin_history(run->history, &o, &run->dumps.failures)) {
            return CLI_FAILED;
        }
        if (p->operand_count) {
            status = cli_symbols_run(&run->symbols, &run->dumps, (unsigned)s->jobs, p->operands,
                                     p->operand_count);
        }
        if (status != CLI_OK || run->broken ||
            !classify_keep_exposure(run->history, &s->gate.exposure, &run->dumps.failures) ||
            !classify_end_history(run->history, &classify_tool, &run->dumps.failures)) {
            return status == CLI_OK ? CLI_FAILED : status;
        }
    }
    return classify_prints_nothing(&s->output) ? CLI_OK : take_from_history(run, s);
}

/* Reads the inputs, dumps or partials, and the exposure into run->triage. Returns CLI_OK, or what
 * main returns. */
static int classify_read_inputs(struct classify_run *run, const struct classify_settings *s,
                                const struct cli_parser *p) {
    struct err e = {0};
    int status;
    if (run->history) {
        status = classify_read_by_history(run, s, p);
    } else if (s->gate.merge) {
        status = classify_merge(&run->triage, &classify_tool, p->operands, p->operand_count,
                                &run->dumps.failures);
        struct triage_options o = options_of(run, s);
        if (status == CLI_OK && !run->triage && triage_new(&run->triage, &o, &e) != ST_OK) {
            classify_fail(run, NULL, &e);
            return CLI_FAILED;
        }
        if (run->triage) {
            triage_set_output(run->triage, &o);
        }
        /* If the filter of --where equals that of the partials, it is no mistake, because it still
         * selects the exposure. */
        if (status == CLI_OK &&
            !classify_check_partials(s, triage_options_of(run->triage), run->rules_hash)) {
            return CLI_USAGE;
        }
        if (status == CLI_OK &&
            classify_rename(&run->triage, &s->gate, run->keyers[0], run->rules_hash, &e) != ST_OK) {
            classify_fail(run, NULL, &e);
            return CLI_FAILED;
        }
    } else {
        status = cli_symbols_run(&run->symbols, &run->dumps, (unsigned)s->jobs, p->operands,
                                 p->operand_count);
    }
    if (status == CLI_OK && !run->broken && !run->history) {
        const struct exposure_filter sessions = {.where = s->where, .seen = &run->seen_sessions};
        const struct exposure_filter table = {.where = s->where, .seen = &run->seen_table};
        classify_expose(run->triage, &s->gate, &sessions, &table, &run->dumps.failures);
    }
    return run->broken ? CLI_FAILED : status;
}

/* Folds the buckets past --max-buckets. False: out of memory, which was reported. */
static bool classify_fold(struct classify_run *run) {
    struct err e = {0};
    if (triage_fold(run->triage, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return false;
    }
    return true;
}

/* Runs --partial; the output is open while dumps are read. With --every no partial is written at
 * the end if the input ended right after one. Returns the exit status. */
static int write_partials(struct classify_run *run, const struct classify_settings *s,
                          const struct cli_parser *p) {
    if (!cli_output_open(&run->output, s->output.path, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    int status = classify_read_inputs(run, s, p);
    bool framed = run->every || run->every_ms;
    bool rest = !framed || !run->dumps.pipeline.dumps || !triage_is_empty(run->triage);
    bool ok = status == CLI_OK && classify_fold(run);
    ok = ok &&
         (!rest || classify_write_partial(run->triage, &run->output.sink, &run->dumps.failures));
    if (ok && rest && framed) {
        sink_char(&run->output.sink, '\n');
    }
    cli_output_close(&run->output, ok, &run->dumps.failures);
    return status == CLI_OK ? cli_exit_status(&run->dumps.failures) : status;
}

struct classify_report {
    struct classify_run *run;
    const struct classify_settings *s;
    const struct cli_parser *p;
};

/* Writes the page to path; NULL: stdout. */
static void print_page(const struct classify_report *r, const char *path, const struct gate *g) {
    const struct classify_output *o = &r->s->output;
    if (r->run->history &&
        !classify_show_history(r->run->history, r->run->triage, (size_t)r->s->page.detail,
                               r->run->keyers[0], r->s->gate.resolve, r->s->gate.resolve_ctx,
                               &r->run->dumps.failures)) {
        return;
    }
    struct classify_history *h = r->run->history;
    bool kept = h && h->rows.len, keep = !kept && uses_kept_page(r->s);
    struct strbuf rows = {0}, shown = {0}, narrowed = {0};
    if (h) {
        classify_say_narrowed(h, strbuf_cstr(&r->s->where_text), r->run->where, &narrowed);
    }
    const struct classify_page_inputs in = {
        .triage = r->run->triage,
        .gate = g,
        .keyer = r->run->keyers[0],
        .top = o->top == UINT64_MAX ? 0 : (size_t)o->top,
        .note = o->note,
        .is_marked = h ? classify_history_is_marked : NULL,
        .is_back = h ? classify_history_is_back : NULL,
        .is_gone = h ? classify_history_is_gone : NULL,
        .fails_back = h && h->back_told ? classify_history_fails_back : NULL,
        .note_ctx = o->note_ctx,
        .symbols = r->s->symbols.data,
        .symbol_count = r->s->symbols.len,
        .where = strbuf_cstr(&r->s->where_text),
        .narrowed = strbuf_cstr(&narrowed),
        .history = h ? h->path : NULL,
        .operands = r->p->operands,
        .operand_count = r->p->operand_count,
        .partials = r->s->gate.merge,
        .add_rows = kept ? classify_add_rows : NULL,
        .rows = keep ? &rows : NULL,
        .shown = &shown,
        .shown_number = h ? h->shown_number : 0,
        .gone = {h ? h->gone.buckets.data : NULL, h ? h->gone.buckets.len : 0},
        .rows_ctx = h};
    classify_print_page(&r->s->page, &in, path, &r->run->dumps.failures);
    if (rows.len) {
        classify_keep_page(h, r->run->triage, &rows, &shown);
    }
    strbuf_release(&rows);
    strbuf_release(&shown);
    strbuf_release(&narrowed);
}

static void print_gate(void *ctx, const struct gate *g) {
    const struct classify_report *r = ctx;
    struct cli_output output;
    struct cli_failures *failures = &r->run->dumps.failures;
    if (wants_page(r->s)) {
        print_page(r, r->s->output.path, g);
    } else if (cli_output_open(&output, r->s->output.path, failures)) {
        print_formats[r->s->output.format].gate(g, &output.sink);
        cli_output_close(&output, true, failures);
    }
}

/* Prints the buckets, or the rows that --by selects. */
static void print_counts(struct classify_run *run, const struct classify_settings *s) {
    struct value_table values = {0};
    struct triage_options o = options_of(run, s);
    bool by_value = s->output.by >= BY_DAY;
    if (!by_value || classify_make_values(&values, s->output.by, run->history, run->triage,
                                          run->keyers[0], &o, &run->dumps.failures)) {
        classify_print(run->triage, by_value ? &values : NULL, &s->output, &run->dumps.failures);
    }
    value_table_release(&values);
}

static int classify_count_dumps(struct classify_run *run, const struct classify_settings *s,
                                const struct cli_parser *p) {
    struct classify_report report = {run, s, p};
    struct err e = {0};
    int status = classify_read_inputs(run, s, p);
    if (status != CLI_OK || classify_prints_nothing(&s->output)) {
        return status == CLI_OK ? cli_exit_status(&run->dumps.failures) : status;
    }
    if (triage_finish(run->triage, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return CLI_FAILED;
    }
    if (run->history && !run->history->rows.len &&
        !classify_find_gone(run->history, ever_of(run), &run->dumps.failures)) {
        return CLI_FAILED;
    }
    uint64_t back = s->gate.fail_back ? classify_tell_back(run->history, &classify_tool,
                                                           run->triage, &run->dumps.failures)
                                      : 0;
    if (run->history && !classify_keep_asked(run->history, s->where, run->triage, &classify_tool,
                                             &run->dumps.failures)) {
        return CLI_FAILED;
    }
    if (s->gate.baseline || s->gate.from_history) {
        struct triage_options o = options_of(run, s);
        status = classify_compare(run->triage, &run->base, &s->gate, &classify_tool, run->keyers[0],
                                  &o, print_gate, &report, &run->dumps.failures);
    } else if (wants_page(s)) {
        print_page(&report, s->output.path, NULL);
        status = cli_exit_status(&run->dumps.failures);
    } else {
        print_counts(run, s);
        status = cli_exit_status(&run->dumps.failures);
    }
    if (run->history && !classify_notes_were_read(run->history, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    return classify_status_with_back(&s->gate, status, back,
                                     run->history && run->history->back_unclear);
}

/* ---- --watch ---- */

/* Returns how many threads read the file: starting some takes longer than reading a small file. */
static unsigned watch_threads(const char *path, uint64_t jobs) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_size < WATCH_SMALL_FILE ? 1 : (unsigned)jobs;
}

static enum watch_answer watch_add(void *ctx, char *path) {
    const struct classify_report *r = ctx;
    struct classify_run *run = r->run;
    struct cli_failures *failures = &run->dumps.failures;
    const size_t before = failures->count, lacked = failures->no_room;
    struct err e = {0};
    char *operands[] = {path, NULL};
    if (!classify_set_clock(&classify_tool, run->history)) { /* it may have been set since */
        return WATCH_BROKEN;
    }
    /* Reset, so that the limit of printed failures applies to each file. */
    failures->printed = failures->untold = 0;
    (void)cli_symbols_run(&run->symbols, &run->dumps, watch_threads(path, r->s->jobs), operands, 1);
    if (!run->broken && classify_commit_history(run->history, true, &e) != ST_OK) {
        classify_fail(run, run->history->path, &e);
        run->broken = true;
    }
    if (failures->no_room > lacked) {
        history_undo(run->history->h);
        run->broken = false;
        return WATCH_NO_ROOM;
    }
    if (run->broken) {
        return WATCH_BROKEN;
    }
    return failures->count == before ? WATCH_TAKEN : WATCH_REFUSED;
}

static bool watch_report(void *ctx, const char *page, struct strbuf *metrics) {
    const struct classify_report *r = ctx;
    struct classify_run *run = r->run;
    struct cli_failures *failures = &run->dumps.failures;
    const size_t before = failures->count, damaged = failures->damaged;
    struct err e = {0};
    if (!classify_set_today(&classify_tool, run->history) ||
        !classify_keep_history(run->history, &classify_tool, failures) ||
        take_from_history(run, r->s) != CLI_OK) {
        return false;
    }
    if (triage_finish(run->triage, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return false;
    }
    if (!classify_find_gone(run->history, ever_of(run), failures)) {
        return false;
    }
    classify_metrics(metrics, run->triage, history_counts_of(run->history->h));
    print_page(r, page, NULL);
    (void)classify_notes_were_read(run->history, failures);
    /* What is damaged was told and left out; writing the report again would not change that. */
    return failures->count - before == failures->damaged - damaged;
}

static int classify_watch_folder(struct classify_run *run, struct classify_settings *s,
                                 const struct cli_parser *p) {
    struct classify_report report = {run, s, p};
    const struct watch_ops ops = {watch_add, watch_report, &report};
    struct triage_options o = options_of(run, s);
    if (!run->history->h) {
        return CLI_OK; /* a signal ended the wait for room */
    }
    if (!classify_begin_history(run->history, &o, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    s->watch.symbols = s->symbols.data;
    s->watch.symbol_count = s->symbols.len;
    return classify_watch(&s->watch, &ops, &run->dumps.failures);
}

/* Opens the history, if --history names one, and makes outputs and the gate use it. Returns CLI_OK
 * or CLI_FAILED. */
static int open_history(struct classify_run *run, struct classify_settings *s,
                        const struct cli_parser *p) {
    struct classify_history *h = &s->history;
    if (!h->path) {
        return CLI_OK;
    }
    run->history = h;
    s->output.note = classify_history_note;
    s->output.note_ctx = h;
    s->gate.ignored = classify_history_ignores;
    s->gate.ignored_ctx = h;
    bool adds = s->gate.exposure.len || (p->operand_count && !h->mark && !h->check);
    return s->watch.folder
               ? classify_open_watched(&s->watch, h, &classify_tool, classify_cap_given(s),
                                       &s->cap_s, &run->dumps.failures)
               : classify_open_history(h, &classify_tool, adds, classify_cap_given(s), &s->cap_s,
                                       &run->dumps.failures);
}

/* Runs --mark, --forget-user or --check. Returns the exit status. */
static int classify_edit_history(struct classify_run *run, const struct classify_settings *s,
                                 const struct cli_parser *p) {
    if (s->history.forget) {
        return classify_forget_user(run->history, &classify_tool, &run->dumps.failures);
    }
    return s->history.mark
               ? classify_mark_history(run->history, &classify_tool, p->operands, p->operand_count,
                                       &run->dumps.failures)
               : classify_check_history_file(run->history, s->output.path, &run->dumps.failures);
}

static int classify(struct classify_run *run, struct classify_settings *s,
                    const struct cli_parser *p) {
    struct err e = {0};
    run->annotate = s->annotate;
    run->dumps.answers.on = s->answer_each;
    run->dumps.answers.heads = s->heads;
    run->skip_missing = s->skip_missing;
    run->dumps.pipeline.process = s->process;
    run->where = s->where;
    run->explain.id = s->explain;
    if (s->lint) {
        return classify_lint_rules(run, s, p);
    }
    int status = open_history(run, s, p);
    if (status == CLI_OK && s->history.marks) {
        return classify_list_marks(&s->history, &classify_tool, &s->output, &run->dumps.failures);
    }
    if (status == CLI_OK && (s->history.mark || s->history.forget || s->history.check)) {
        return classify_edit_history(run, s, p);
    }
    if (status != CLI_OK || !classify_rules_load(&s->rules)) {
        return CLI_FAILED;
    }
    status = cli_maps_load(&run->dumps, &s->maps, &s->path_rules);
    if (status != CLI_OK) {
        return status;
    }
    if (!open_symbols(run, s)) {
        return CLI_FAILED;
    }
    if (s->gate.baseline &&
        !classify_read_baseline(&run->base, &s->gate, &classify_tool, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    if (run->base && !s->gate.merge) {
        classify_adopt_keys(s, triage_options_of(run->base));
    }
    if (classify_start(run, s, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return CLI_FAILED;
    }
    if (s->watch.folder) {
        status = classify_watch_folder(run, s, p);
    } else if (run->explain.id) {
        status = run->history ? classify_explain_history(run, s) : classify_explain(run, s, p);
    } else if (s->annotate || s->answer_each) {
        status = pass_through(run, s, p);
    } else if (s->gate.partial) {
        status = write_partials(run, s, p);
    } else {
        status = classify_count_dumps(run, s, p);
    }
    if (!run->history) {
        classify_tell_unsaid(&classify_tool, run);
    }
    classify_tell_doubts(&classify_tool, run->triage);
    return status;
}

int main(int argc, char **argv) {
    struct classify_run run = {0};
    struct classify_settings s = {0};
    struct cli_parser p;
    int status = CLI_FAILED;
    dump_library_init();
    cli_dumps_init(&run.dumps, &classify_tool, &classify_dumps_ops, &run);
    cli_begin(&p, &classify_tool, argc, argv);
    if (classify_settings_init(&s, &run.dumps.failures) &&
        classify_read_options(&p, &s, &status) == CLI_END) {
        cli_output_expect(s.output.path);
        status = classify(&run, &s, &p);
    }
    for (size_t i = 0; i < CLI_JOBS_MAX; i++) {
        keyer_free(run.keyers[i]);
        former_keyers_release(&run.former[i]);
    }
    triage_free(run.triage);
    triage_free(run.base);
    bucket_places_free(run.places);
    triage_free(run.buckets);
    triage_free(run.ever);
    classify_periods_release(&run.periods);
    explain_choice_release(&run.explain);
    cli_symbols_close(&run.symbols);
    cli_maps_release(&run.dumps);
    classify_close_history(&s.history);
    classify_settings_release(&s);
    return status;
}
