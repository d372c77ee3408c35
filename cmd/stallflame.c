/* stallflame: dumps and folded stacks in, folded stacks and flame graphs out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gz.h"
#include "base/parse.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "cli.h"
#include "cli_dumps.h"
#include "dump/dump.h"
#include "dump/report.h"
#include "flame/fold.h"
#include "flame/folded.h"
#include "flame/svg.h"

enum {
    WINDOW_PER_JOB = 4,
    READ_SIZE = 256 * 1024,
    MIN_WIDTH_DEFAULT = 20 /* 1/100 pixel */
};
enum {
    OPT_FORMAT = 1,
    OPT_OUTPUT,
    OPT_WEIGHT,
    OPT_TITLE,
    OPT_SUBTITLE,
    OPT_COUNT_NAME,
    OPT_WIDTH,
    OPT_MIN_WIDTH,
    OPT_MAX_DEPTH,
    OPT_INVERTED,
    OPT_MODULES,
    OPT_NO_INLINES,
    OPT_JOBS,
    OPT_QUIET
};

static const struct cli_option options[] = {
    {OPT_FORMAT, 'F', "format", "svg|folded", "an interactive SVG (default), or folded stacks"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout"},
    {OPT_WEIGHT, 0, "weight", "ms|samples|stalls",
     "what widths mean: stalled milliseconds (default), samples, or stalls"},
    {OPT_MODULES, 0, "modules", NULL, "folded: write names of dumps as IMAGE`FUNCTION"},
    {OPT_NO_INLINES, 0, "no-inlines", NULL, "leave inlined functions out"},
    {OPT_TITLE, 0, "title", "TEXT", "the line above the graph"},
    {OPT_SUBTITLE, 0, "subtitle", "TEXT", "the smaller line below it (default: what was folded)"},
    {OPT_COUNT_NAME, 0, "count-name", "NAME", "the unit of the counts, for folded input"},
    {OPT_WIDTH, 0, "width", "PX", "a fixed width (default: 1200, and as wide as the window)"},
    {OPT_MIN_WIDTH, 0, "min-width", "PX", "merge frames narrower than this (default: 0.2)"},
    {OPT_MAX_DEPTH, 0, "max-depth", "N", "draw at most N frames on top of each other"},
    {OPT_INVERTED, 0, "inverted", NULL, "outermost frames on top (icicle graph)"},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
};

static const struct cli_tool tool = {
    .name = "stallflame",
    .synopsis = "[-F svg|folded] [-o FILE] [--weight ms|samples|stalls] [FILE|FOLDER|-]...",
    .summary = "Draws where the stalled time went: a flame graph of dumps or of folded stacks.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer = "Inputs are recognised by content: stall dumps, reports that stallsym takes, folded "
              "stacks,\n"
              "and gzip of them.\n"
              "Exit status: 0 done; 1 something could not be read or written; 2 usage.",
};

struct run {
    struct cli_dumps dumps;
    struct stack_tree tree;
    struct folded_reader reader;
    struct fold fold;
    const char *input; /* folded, being read */
    char **operands;   /* what the user named */
    size_t operand_count;
    uint64_t folded_stacks; /* lines of folded input that were added */
    uint64_t rounded;
    char *buffer; /* READ_SIZE */
    struct svg_options svg;
    const char *output;
    bool folded, quiet;
    const char *weight; /* as given, NULL = default */
    unsigned jobs;
};

static void fail(struct run *run, const char *where, const struct err *why) {
    cli_dumps_fail(&run->dumps, where, why);
}

/* Parsing is what takes time, and it happens on the workers. */
static enum st take_dump(void *ctx, struct dump *d, void *result, struct err *e) {
    (void)result;
    struct run *run = ctx;
    return fold_add(&run->fold, d, e);
}

/* ---- folded stacks ---- */

/* What is to be said of an input whose text was read to its end. */
static void check_folded(struct run *run) {
    const struct folded_stats *s = &run->reader.stats;
    struct err e = {0};
    if (s->foreign) {
        err_set(&e, ERR_FORMAT, "neither dumps nor folded stacks");
        fail(run, run->input, &e);
    } else if (s->bad > 0) {
        struct strbuf where = {0};
        strbuf_addf(&where, "%s:%" PRIu64, run->input, s->first_bad);
        if (s->bad > 1) {
            err_set(&e, ERR_FORMAT, "%s; %" PRIu64 " of %" PRIu64 " lines are bad", s->reason,
                    s->bad, s->lines);
        } else {
            err_set(&e, ERR_FORMAT, "%s", s->reason);
        }
        fail(run, strbuf_cstr(&where), &e);
        strbuf_release(&where);
    } else if (s->stacks == 0) {
        err_set(&e, ERR_FORMAT, "empty: no stack in it");
        fail(run, run->input, &e);
    }
    run->folded_stacks += s->stacks;
    run->rounded += s->rounded;
}

static bool is_operand(const struct run *run, const char *name) {
    for (size_t i = 0; i < run->operand_count; i++) {
        if (strcmp(run->operands[i], name) == 0) {
            return true;
        }
    }
    return strcmp(name, "<stdin>") == 0;
}

/* Reads the rest of an input whose first `got` bytes are in the buffer. */
static void read_folded(struct run *run, struct gz_input *in, size_t got) {
    struct err e = {0};
    enum st st = ST_OK;
    run->reader.stats = (struct folded_stats){0};
    run->reader.suspicious = !is_operand(run, run->input);
    while (st == ST_OK && got > 0) {
        st = folded_feed(&run->reader, run->buffer, got, &e);
        if (st == ST_OK) {
            st = gz_input_read(in, run->buffer, READ_SIZE, &got, &e);
        }
    }
    struct err end_error = {0};
    if (folded_end(&run->reader, &end_error) != ST_OK && st == ST_OK) {
        st = err_set(&e, end_error.code, "%s", end_error.text);
    }
    if (st != ST_OK) {
        fail(run, run->input, &e);
    } else {
        check_folded(run);
    }
}

/* ---- inputs ---- */

/* Reads as many bytes into the buffer as it takes to tell what they are: past leading space, and
 * one character more, or the first words of a text report. */
static enum st look(struct run *run, struct gz_input *in, size_t *len, bool *report,
                    struct err *e) {
    size_t got;
    bool more;
    *len = 0;
    do {
        if (gz_input_read(in, run->buffer + *len, READ_SIZE - *len, &got, e) != ST_OK) {
            return ST_ERR;
        }
        *len += got;
        *report = report_is_text(run->buffer, *len, &more);
    } while (got > 0 && *len < READ_SIZE && (*len < 16 || more));
    return ST_OK;
}

/* Reads an input of folded stacks; ST_NONE: it is not one. */
static enum st other_input(void *ctx, struct gz_input *in, const char *name, struct err *e) {
    struct run *run = ctx;
    size_t len = 0;
    bool report = false;
    if (look(run, in, &len, &report, e) != ST_OK) {
        return ST_ERR;
    }
    if (report || !folded_recognise(run->buffer, len)) {
        return gz_input_unread(in, run->buffer, len, e) == ST_OK ? ST_NONE : ST_ERR;
    }
    cli_dumps_settle(&run->dumps);
    run->input = name;
    read_folded(run, in, len);
    return ST_OK;
}

static const struct cli_dumps_ops dumps_ops = {
    .window = WINDOW_PER_JOB, .take = take_dump, .other_input = other_input};

/* ---- output ---- */

static bool has_dumps(const struct run *run) {
    return run->fold.stats.dumps > 0;
}

static uint64_t distinct_stacks(const struct stack_tree *t) {
    uint64_t n = 0;
    for (size_t i = 0; i < t->node_count; i++) {
        n += t->nodes[i].self > 0;
    }
    return n;
}

static const char *unit_of(const struct run *run) {
    if (run->svg.unit) {
        return run->svg.unit;
    }
    return has_dumps(run) ? fold_weight_text(run->fold.options.weight)
           : run->weight  ? run->weight
                          : "samples";
}

/* "12.4 s stalled in 7 stalls, 38 % of it sampled", or what folded text lets us say. */
static void describe(const struct run *run, struct strbuf *out) {
    if (has_dumps(run)) {
        fold_describe(&run->fold.stats, out);
        return;
    }
    svg_count(out, stack_tree_total(&run->tree), run->tree.decimals);
    strbuf_addf(out, " %s in ", unit_of(run));
    uint64_t stacks = distinct_stacks(&run->tree);
    svg_count(out, stacks, 0);
    strbuf_addstr(out, stacks == 1 ? " distinct stack" : " distinct stacks");
}

static enum st write_svg(const struct run *run, struct sink *out, struct err *e) {
    struct strbuf subtitle = {0};
    describe(run, &subtitle);
    struct svg_options o = run->svg;
    o.unit = unit_of(run);
    o.title = o.title ? o.title : has_dumps(run) ? "Stalled time" : "Flame graph";
    o.subtitle = o.subtitle ? o.subtitle : strbuf_cstr(&subtitle);
    enum st st = strbuf_check(&subtitle, e);
    if (st == ST_OK) {
        st = svg_write(&run->tree, &o, out, e);
    }
    strbuf_release(&subtitle);
    return st;
}

static void write_output(struct run *run) {
    struct cli_output output;
    struct err e = {0};
    if (!cli_output_open(&output, run->output, &run->dumps.failures)) {
        return;
    }
    enum st st =
        run->folded ? folded_write(&run->tree, &output.sink, &e) : write_svg(run, &output.sink, &e);
    if (st != ST_OK) {
        fail(run, NULL, &e);
    }
    cli_output_close(&output, st == ST_OK, &run->dumps.failures);
}

static void summarise(const struct run *run) {
    struct strbuf text = {0};
    const struct fold_stats *s = &run->fold.stats;
    describe(run, &text);
    if (has_dumps(run)) {
        uint64_t stacks = distinct_stacks(&run->tree);
        strbuf_addf(&text, "; %" PRIu64 " distinct stack%s", stacks, stacks == 1 ? "" : "s");
    }
    if (has_dumps(run) && run->folded_stacks > 0) {
        strbuf_addf(&text, ", some from %" PRIu64 " folded line%s", run->folded_stacks,
                    run->folded_stacks == 1 ? "" : "s");
    }
    if (s->crashes > 0) {
        strbuf_addf(&text, "; %" PRIu64 " crash%s left out", s->crashes,
                    s->crashes == 1 ? "" : "es");
    }
    if (run->rounded > 0) {
        strbuf_addf(&text, "; %" PRIu64 " count%s cut to %d decimal places", run->rounded,
                    run->rounded == 1 ? "" : "s", STACK_DECIMALS_MAX);
    }
    cli_say(tool.name, "%s", strbuf_cstr(&text));
    strbuf_release(&text);
}

/* ---- options ---- */

/* Pixels with up to two decimal places, in hundredths. */
static bool parse_pixels(const char *value, uint32_t *out) {
    const char *point = strchr(value, '.');
    size_t whole = point ? (size_t)(point - value) : strlen(value);
    size_t places = point ? strlen(point + 1) : 0;
    uint64_t pixels = 0, part = 0;
    bool ok = parse_u64(value, whole, 1000, &pixels) && places <= 2 &&
              (!point || parse_u64(point + 1, places, 99, &part));
    if (!ok) {
        cli_usage_error(&tool, "--min-width takes pixels from 0 to 1000, as in 0.25, not '%s'",
                        value);
        return false;
    }
    *out = (uint32_t)(pixels * 100 + (places == 1 ? part * 10 : part));
    return true;
}

static bool take_number(const char *name, const char *value, uint64_t min, uint64_t max,
                        uint32_t *out) {
    uint64_t v;
    if (!cli_number(&tool, name, value, min, max, &v)) {
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

static bool take_word_option(struct run *run, int id, const char *value) {
    static const char *const formats[] = {"svg", "folded", NULL};
    static const char *const weights[] = {"ms", "samples", "stalls", NULL};
    int word = id == OPT_FORMAT ? cli_choice(&tool, "--format", value, formats)
                                : cli_choice(&tool, "--weight", value, weights);
    if (word < 0) {
        return false;
    }
    if (id == OPT_FORMAT) {
        run->folded = word == 1;
    } else {
        run->weight = weights[word];
        run->fold.options.weight = (enum fold_weight)word;
    }
    return true;
}

static bool take_option(struct run *run, int id, const char *value) {
    switch (id) {
    case OPT_FORMAT:
    case OPT_WEIGHT:
        return take_word_option(run, id, value);
    case OPT_OUTPUT:
        run->output = value;
        return true;
    case OPT_TITLE:
        run->svg.title = value;
        return true;
    case OPT_SUBTITLE:
        run->svg.subtitle = value;
        return true;
    case OPT_COUNT_NAME:
        run->svg.unit = value;
        return true;
    case OPT_WIDTH:
        return take_number("--width", value, SVG_WIDTH_MIN, SVG_WIDTH_MAX, &run->svg.width);
    case OPT_MIN_WIDTH:
        return parse_pixels(value, &run->svg.min_width);
    case OPT_MAX_DEPTH:
        return take_number("--max-depth", value, 1, 100000, &run->svg.max_depth);
    case OPT_INVERTED:
        run->svg.inverted = true;
        return true;
    case OPT_MODULES:
        run->fold.options.modules = true;
        return true;
    case OPT_NO_INLINES:
        run->fold.options.no_inlines = true;
        return true;
    case OPT_QUIET:
        run->quiet = true;
        return true;
    default:
        return take_number("--jobs", value, 1, CLI_JOBS_MAX, &run->jobs);
    }
}

/* Reads everything, then writes. The exit status. */
static int flame(struct run *run, const struct cli_parser *p) {
    struct err e = {0};
    dump_library_init();
    run->buffer = malloc(READ_SIZE);
    if (!run->buffer) {
        err_nomem(&e);
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    run->operands = p->operands;
    run->operand_count = p->operand_count;
    int status = cli_dumps_run(&run->dumps, run->jobs, p->operands, p->operand_count);
    if (status != CLI_OK) {
        return status;
    }
    /* Nothing was read and that is a failure: an older picture is better than an empty one. */
    if (stack_tree_total(&run->tree) > 0 || run->dumps.failures.count == 0) {
        write_output(run);
        status = cli_exit_status(&run->dumps.failures); /* what it says goes before the summary */
        if (!run->quiet) {
            summarise(run);
        }
        return status;
    }
    return cli_exit_status(&run->dumps.failures);
}

int main(int argc, char **argv) {
    struct run run = {.svg.min_width = MIN_WIDTH_DEFAULT, .jobs = pool_processors()};
    cli_dumps_init(&run.dumps, &tool, &dumps_ops, &run);
    run.reader.tree = run.fold.tree = &run.tree;
    struct cli_parser p;
    cli_begin(&p, &tool, argc, argv);
    int id;
    while ((id = cli_next(&p)) > 0) {
        if (!take_option(&run, id, p.value)) {
            return CLI_USAGE;
        }
    }
    if (id == CLI_EXIT) {
        return p.status;
    }
    bool to_stdout = !run.output || strcmp(run.output, "-") == 0;
    if (!run.folded && to_stdout && isatty(STDOUT_FILENO) == 1) {
        return cli_usage_error(&tool,
                               "an SVG is not for a terminal: add > FILE.svg or -o FILE.svg, "
                               "or -F folded for text");
    }
    if (!run.folded) {
        run.fold.options.modules = true;
    }
    int status = flame(&run, &p);
    folded_release(&run.reader);
    fold_release(&run.fold);
    stack_tree_release(&run.tree);
    free(run.buffer);
    return status;
}
