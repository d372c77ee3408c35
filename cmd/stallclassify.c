/* stallclassify: symbolicated dumps in, one table of what to fix first out. */
#include "base/hash.h"
#include "base/strbuf.h"
#include "classify/print/annotate.h"
#include "classify/print/explain_choice.h"
#include "classify/stats/triage.h"
#include "classify_options.h"
#include "cli_dumps.h"
#include "cli_symbols.h"
#include "dump/dump.h"

enum { WINDOW_PER_JOB = 16 };
struct classify_run {
    struct cli_dumps dumps;
    struct cli_symbols symbols;
    struct explain_choice explain;
    struct cli_output output; /* of --annotate and --partial */
    const struct where *where;
    struct where_seen seen;                      /* of the dumps */
    struct where_seen seen_sessions, seen_table; /* of session records, and of a CSV's rows */
    struct triage *triage;
    struct triage *base; /* --baseline, as it was read */
    uint64_t rules_hash;
    struct keyer *keyers[CLI_JOBS_MAX];        /* one per worker */
    struct former_keyers former[CLI_JOBS_MAX]; /* of --explain, likewise */
    bool annotate, partial;
    uint64_t every, since; /* dumps of one partial, and of the one under way */
    bool broken;           /* memory ran out, so the counts are incomplete */
};

static void classify_fail(struct classify_run *run, const char *where, const struct err *why) {
    cli_dumps_fail(&run->dumps, where, why);
}

/* ---- dumps ---- */

/* What work leaves for take. */
struct classify_result {
    struct stall_key key;
    bool wanted;
    struct where_seen seen;
    struct explained explained; /* of --explain */
    struct strbuf text;         /* of --annotate */
};

static enum st annotate(const struct classify_run *run, const struct dump *d,
                        struct classify_result *r, struct err *e) {
    struct sink sink = sink_to_strbuf(&r->text);
    enum st st = annotate_dump(d, &r->key, run->rules_hash, &sink, e);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

static enum st classify_work(void *ctx, struct dump *d, void *result, unsigned worker,
                             struct err *e) {
    struct classify_run *run = ctx;
    struct classify_result *r = result;
    struct dump_addition add;
    if (run->symbols.symbolizer && cli_symbols_dump(&run->symbols, d, &add, e) != ST_OK) {
        return ST_ERR;
    }
    if (keyer_key(run->keyers[worker], d, &r->key, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = where_match(run->where, d, &r->key, &r->seen, e);
    r->wanted = st == ST_OK;
    if (st == ST_ERR || !r->wanted) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    if (run->explain.id) {
        return explain_choice_dump(&run->explain, run->keyers[worker], &run->former[worker], d,
                                   &r->key, &r->explained, e);
    }
    return run->annotate ? annotate(run, d, r, e) : ST_OK;
}

/* Writes the counts so far, and starts from zero. */
static enum st next_partial(struct classify_run *run, struct err *e) {
    run->since = 0;
    if (triage_fold(run->triage, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = triage_write_partial(run->triage, &run->output.sink, e);
    sink_flush(&run->output.sink);
    return st == ST_OK ? triage_restart(&run->triage, e) : st;
}

static enum st classify_take(void *ctx, struct dump *d, void *result, struct err *e) {
    struct classify_run *run = ctx;
    const struct classify_result *r = result;
    where_seen_add(&run->seen, &r->seen);
    if (run->annotate) {
        sink_write(&run->output.sink, r->text.data, r->text.len);
        return ST_OK;
    }
    if (run->explain.id) {
        explain_choice_offer(&run->explain, d, &r->explained);
        return ST_OK;
    }
    if (run->broken) {
        return ST_OK;
    }
    enum st st = triage_add(run->triage, d, &r->key, r->wanted, NULL, e);
    if (st == ST_OK && run->every && ++run->since == run->every) {
        st = next_partial(run, e);
    }
    run->broken = st != ST_OK;
    return st;
}

static void classify_release(void *result) {
    struct classify_result *r = result;
    strbuf_release(&r->text);
    explained_release(&r->explained);
}

static void classify_take_session(void *ctx, const char *where, const char *text, size_t len) {
    struct classify_run *run = ctx;
    struct err e = {0};
    const struct exposure_filter filter = {run->where, &run->seen_sessions};
    if (run->annotate) {
        dump_pipeline_write_line(&run->output.sink, text, len);
    } else if (!run->broken && triage_add_session(run->triage, &filter, text, len, &e) != ST_OK) {
        run->broken = e.code == ERR_NOMEM;
        err_context(&e, "session record");
        classify_fail(run, where, &e);
    }
}

static void classify_idle(void *ctx) {
    struct classify_run *run = ctx;
    if (run->annotate) {
        sink_flush(&run->output.sink);
    }
}

static bool classify_unwanted(void *ctx) {
    const struct classify_run *run = ctx;
    return run->broken || ((run->annotate || run->partial) && cli_output_failed(&run->output));
}

static const struct dump_pipeline_ops dumps_ops = {.result_size = sizeof(struct classify_result),
                                                   .window = WINDOW_PER_JOB,
                                                   .work = classify_work,
                                                   .take = classify_take,
                                                   .release = classify_release,
                                                   .take_session = classify_take_session,
                                                   .idle = classify_idle,
                                                   .unwanted = classify_unwanted};

/* ---- main ---- */

static struct triage_options options_of(const struct classify_run *run,
                                        const struct classify_settings *s) {
    struct triage_options o = {.cap_ms = s->cap_s * 1000,
                               .max_buckets = s->gate.max_buckets,
                               .rules_hash = run->rules_hash,
                               .rules = strbuf_cstr(&s->rules.name),
                               .where = s->where_text.len ? strbuf_cstr(&s->where_text) : NULL};
    triage_apart_opened(s->where, o.open);
    return o;
}

static enum st classify_start(struct classify_run *run, struct classify_settings *s,
                              struct err *e) {
    run->rules_hash = classify_hash_keys(s);
    run->partial = s->gate.partial;
    run->every = s->gate.every;
    struct triage_options o = options_of(run, s);
    if (strbuf_check(&s->rules.name, e) != ST_OK || strbuf_check(&s->where_text, e) != ST_OK ||
        (!s->gate.merge && triage_new(&run->triage, &o, e) != ST_OK)) {
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

/* Names the stack of a bucket. */
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

/* A filter on a field that no dump says is likely a mistake; and users whose exposure is unknown
 * have no rates. */
static void tell_unsaid(const struct classify_run *run) {
    const struct {
        const struct where_seen *seen;
        bool exposure;
        const char *who;
    } rows[] = {{&run->seen, false, "no dump says"},
                {&run->seen_sessions, true, "no session record, of which none counts, says"},
                {&run->seen_table, true, "no row of --exposure says"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_tell_unsaid(&classify_tool, run->where, rows[i].seen, rows[i].exposure, rows[i].who);
    }
}

/* --annotate: no counting. */
static int pass_through(struct classify_run *run, const struct classify_settings *s,
                        const struct cli_parser *p) {
    if (!cli_output_open(&run->output, s->output.path, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    int status = cli_symbols_run(&run->symbols, &run->dumps, (unsigned)s->jobs, p->operands,
                                 p->operand_count);
    cli_output_close(&run->output, status == CLI_OK, &run->dumps.failures);
    return status == CLI_OK ? cli_exit_status(&run->dumps.failures) : status;
}

static void print_explanation(struct explain_choice *x, const char *path,
                              struct cli_failures *failures) {
    struct cli_output output;
    struct err e = {0};
    if (x->fit == EXPLAIN_NOT) {
        err_set(&e, ERR_USAGE,
                "--explain: no dump and no bucket has the id '%s', nor had one of these dumps as "
                "far as they tell",
                x->id);
        cli_fail(failures, NULL, &e);
    } else if (strbuf_check(&x->text, &e) != ST_OK) {
        cli_fail(failures, NULL, &e);
    } else if (cli_output_open(&output, path, failures)) {
        explain_choice_print(x, &output.sink);
        cli_output_close(&output, true, failures);
    }
}

static int explain(struct classify_run *run, const struct classify_settings *s,
                   const struct cli_parser *p) {
    run->explain.colour = classify_wants_colour(&s->output);
    int status = cli_symbols_run(&run->symbols, &run->dumps, (unsigned)s->jobs, p->operands,
                                 p->operand_count);
    if (status != CLI_OK) {
        return status;
    }
    print_explanation(&run->explain, s->output.path, &run->dumps.failures);
    return cli_exit_status(&run->dumps.failures);
}

/* --lint: operands are rule files, too. */
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

/* Reads the inputs, dumps or partials, to what run->triage holds. CLI_OK, or what main returns. */
static int classify_read_inputs(struct classify_run *run, const struct classify_settings *s,
                                const struct cli_parser *p) {
    struct err e = {0};
    int status;
    if (s->gate.merge) {
        status = classify_merge(&run->triage, &classify_tool, p->operands, p->operand_count,
                                &run->dumps.failures);
        struct triage_options o = options_of(run, s);
        if (status == CLI_OK && !run->triage && triage_new(&run->triage, &o, &e) != ST_OK) {
            classify_fail(run, NULL, &e);
            return CLI_FAILED;
        }
        if (run->triage) {
            triage_limit(run->triage, s->gate.max_buckets);
        }
        /* An equal --where still selects the exposure. */
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
    if (status == CLI_OK && !run->broken) {
        const struct exposure_filter sessions = {s->where, &run->seen_sessions};
        const struct exposure_filter table = {s->where, &run->seen_table};
        classify_expose(run->triage, &s->gate, &sessions, &table, &run->dumps.failures);
    }
    return run->broken ? CLI_FAILED : status;
}

/* False after a printed message: out of memory. */
static bool classify_fold(struct classify_run *run) {
    struct err e = {0};
    if (triage_fold(run->triage, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return false;
    }
    return true;
}

/* --partial: the output is open while dumps are read. With --every nothing is written at the end of
 * a stream that ended right behind a partial. */
static int write_partials(struct classify_run *run, const struct classify_settings *s,
                          const struct cli_parser *p) {
    if (!cli_output_open(&run->output, s->output.path, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    int status = classify_read_inputs(run, s, p);
    bool rest = !run->every || !run->dumps.pipeline.dumps || !triage_is_empty(run->triage);
    bool ok = status == CLI_OK && classify_fold(run);
    ok = ok &&
         (!rest || classify_write_partial(run->triage, &run->output.sink, &run->dumps.failures));
    cli_output_close(&run->output, ok, &run->dumps.failures);
    return status == CLI_OK ? cli_exit_status(&run->dumps.failures) : status;
}

static int classify_count_dumps(struct classify_run *run, const struct classify_settings *s,
                                const struct cli_parser *p) {
    struct err e = {0};
    int status = classify_read_inputs(run, s, p);
    if (status != CLI_OK) {
        return status;
    }
    if (triage_finish(run->triage, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return CLI_FAILED;
    }
    if (s->gate.baseline) {
        struct triage_options o = options_of(run, s);
        return classify_compare(run->triage, &run->base, &s->gate, &classify_tool, run->keyers[0],
                                &o, s->output.path, &print_formats[s->output.format],
                                &run->dumps.failures);
    }
    classify_print(run->triage, &s->output, &run->dumps.failures);
    return cli_exit_status(&run->dumps.failures);
}

static int classify(struct classify_run *run, struct classify_settings *s,
                    const struct cli_parser *p) {
    struct err e = {0};
    run->annotate = s->annotate;
    run->where = s->where;
    run->explain.id = s->explain;
    if (s->lint) {
        return classify_lint_rules(run, s, p);
    }
    if (!classify_rules_load(&s->rules) || !open_symbols(run, s)) {
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
    int status;
    if (run->explain.id) {
        status = explain(run, s, p);
    } else if (s->annotate) {
        status = pass_through(run, s, p);
    } else if (s->gate.partial) {
        status = write_partials(run, s, p);
    } else {
        status = classify_count_dumps(run, s, p);
    }
    tell_unsaid(run);
    return status;
}

int main(int argc, char **argv) {
    struct classify_run run = {0};
    struct classify_settings s = {0};
    struct cli_parser p;
    int status = CLI_FAILED;
    dump_library_init();
    cli_dumps_init(&run.dumps, &classify_tool, &dumps_ops, &run);
    cli_begin(&p, &classify_tool, argc, argv);
    if (classify_settings_init(&s, &run.dumps.failures) &&
        classify_read_options(&p, &s, &status) == CLI_END) {
        status = classify(&run, &s, &p);
    }
    for (size_t i = 0; i < CLI_JOBS_MAX; i++) {
        keyer_free(run.keyers[i]);
        former_keyers_release(&run.former[i]);
    }
    triage_free(run.triage);
    triage_free(run.base);
    explain_choice_release(&run.explain);
    cli_symbols_close(&run.symbols);
    classify_settings_release(&s);
    return status;
}
