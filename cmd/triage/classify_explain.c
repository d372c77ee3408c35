/* Runs --explain: reads all dumps, or those that a history keeps of a bucket, and prints the
 * explanation of the chosen dump or bucket. */
#include "triage/classify_explain.h"

#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "classify/stats/triage.h"
#include "cli_dumps.h"
#include "cli_symbols.h"

/* Prints in which bucket of t the explained one is counted, if it was joined to another, or which
 * ones are counted in it, the first JOINS_SHOWN of them; t may be NULL. */
static void print_joined(const struct triage *t, const struct explain_choice *x, struct sink *out) {
    enum { JOINS_SHOWN = 8 };
    struct triage_join join = {.id = ""};
    if (!t || x->fit != EXPLAIN_BUCKET) {
        return;
    }
    if (triage_find_join(t, x->id, false, "", &join)) {
        sink_printf(out, "counted   %s in %s: %s\n\n", join.id, join.into, join_reasons[join.kind]);
        return;
    }
    size_t n = 0;
    for (; triage_find_join(t, x->id, true, join.id, &join) && n < JOINS_SHOWN; n++) {
        sink_printf(out, "counted   %s in %s: %s\n", join.id, join.into, join_reasons[join.kind]);
    }
    sink_printf(out, "%s", n ? "\n" : "");
}

static void print_explanation(struct explain_choice *x, const struct triage *t, const char *path,
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
        print_joined(t, x, &output.sink);
        explain_choice_print(x, &output.sink);
        cli_output_close(&output, true, failures);
    }
}

int classify_explain(struct classify_run *run, const struct classify_settings *s,
                     const struct cli_parser *p) {
    run->explain.colour = classify_wants_colour(&s->output);
    int status = cli_symbols_run(&run->symbols, &run->dumps, (unsigned)s->jobs, p->operands,
                                 p->operand_count);
    struct err e = {0};
    if (status != CLI_OK || run->broken) {
        return run->broken ? CLI_FAILED : status;
    }
    if (triage_finish(run->triage, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return CLI_FAILED;
    }
    print_explanation(&run->explain, run->triage, s->output.path, &run->dumps.failures);
    return cli_exit_status(&run->dumps.failures);
}

/* ---- a bucket of a history ---- */

struct kept_explanation {
    struct classify_run *run;
    const struct classify_settings *s;
    uint64_t dumps; /* number of the kept dumps */
};

static enum st explain_kept(void *ctx, const char *text, size_t len, struct err *e) {
    struct kept_explanation *x = ctx;
    struct classify_run *run = x->run;
    const struct classify_gate *g = &x->s->gate;
    struct dump d = {0};
    struct stall_key key;
    struct explained explained = {0};
    enum st st = dump_parse(&d, text, len, e);
    st = st == ST_OK && g->resolve ? g->resolve(g->resolve_ctx, &d, e) : st;
    st = st == ST_OK ? keyer_key(run->keyers[0], &d, &key, e) : st;
    if (st == ST_OK) {
        st = explain_choice_dump(&run->explain, run->keyers[0], &run->former[0], &d, &key,
                                 &explained, e);
    }
    if (st == ST_OK) {
        explain_choice_offer(&run->explain, &d, &explained);
        x->dumps++;
    }
    explained_release(&explained);
    dump_release(&d);
    return st;
}

static enum st explain_dumps_of(void *ctx, uint64_t bucket, struct err *e) {
    struct kept_explanation *x = ctx;
    struct classify_history *h = x->run->history;
    return history_dumps_of(h->h, &h->span, bucket, explain_kept, x, e);
}

/* Prints why no kept dump explains the bucket. */
static void fail_kept(const struct kept_explanation *x, uint64_t bucket) {
    struct classify_history *h = x->run->history;
    struct strbuf title = {0};
    struct err e = {0};
    enum st st = history_title_of(h->h, bucket, &title, &e);
    if (st != ST_ERR && x->dumps) {
        err_set(&e, ERR_USAGE,
                "--explain: by these rules the dumps that are kept of %s have other buckets",
                x->s->explain);
    } else if (st == ST_NONE) {
        err_set(&e, ERR_USAGE, "it has no bucket %s", x->s->explain);
    } else if (st == ST_OK) {
        err_set(&e, ERR_USAGE, "no dump of %s is kept (%s): give --explain its dumps instead",
                x->s->explain, strbuf_cstr(&title));
    }
    classify_fail(x->run, h->path, &e);
    strbuf_release(&title);
}

int classify_explain_history(struct classify_run *run, const struct classify_settings *s) {
    struct kept_explanation x = {.run = run, .s = s};
    struct err e = {0};
    uint64_t bucket;
    if (strlen(s->explain) != KEY_ID_SIZE - 1 ||
        !parse_hex(s->explain, strlen(s->explain), &bucket)) {
        return cli_usage_error(&classify_tool,
                               "with --history, --explain takes the 12 digits of a bucket of level "
                               "1, not '%s'",
                               s->explain);
    }
    run->explain.colour = classify_wants_colour(&s->output);
    if (history_ids_each(run->history->h, bucket, explain_dumps_of, &x, &e) != ST_OK) {
        classify_fail(run, run->history->path, &e);
    } else if (run->explain.fit == EXPLAIN_NOT) {
        fail_kept(&x, bucket);
    } else {
        cli_say(classify_tool.name,
                "%s: by the %" PRIu64 " dump%s that it keeps of %s; its other dumps may have other "
                "stacks",
                run->history->path, x.dumps, x.dumps == 1 ? "" : "s", s->explain);
        print_explanation(&run->explain, NULL, s->output.path, &run->dumps.failures);
    }
    return cli_exit_status(&run->dumps.failures);
}
