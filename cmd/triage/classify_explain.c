/* Runs --explain: reads all dumps and prints the explanation of the chosen dump or bucket. */
#include "triage/classify_explain.h"

#include "classify/stats/triage.h"
#include "cli_dumps.h"
#include "cli_symbols.h"

/* Prints in which bucket the explained one is counted, if its stacks were joined to another. */
static void print_joined(const struct triage *t, const struct explain_choice *x, struct sink *out) {
    const char *id = NULL;
    const char *into = x->fit == EXPLAIN_BUCKET ? triage_joined_to(t, x->id, &id) : NULL;
    if (into) {
        sink_printf(out,
                    "counted   %s in %s: by the samples of its dumps, or of others, it is the same "
                    "busy function\n\n",
                    id, into);
    }
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
