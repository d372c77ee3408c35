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
#include "dump/dump.h"
#include "flame/fold.h"
#include "flame/folded.h"
#include "flame/svg.h"

enum {
    JOBS_MAX = 256,
    FAILURES_MAX = 5 /* printed for one input */,
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
    .footer = "Inputs are recognised by content: stall dumps, folded stacks, and gzip of either.\n"
              "Exit status: 0 done; 1 something could not be read or written; 2 usage.",
};

struct run {
    struct cli_failures failures;
    struct cli_progress progress;
    struct stack_tree tree;
    struct folded_reader reader;
    struct fold fold;
    struct pool *pool;
    const char *input;       /* being read */
    uint64_t input_failures; /* of its documents */
    char **operands;         /* what the user named */
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

/* A document on its way through the pool. */
struct job {
    char *text;
    size_t len;
    struct strbuf where; /* "file:line" */
    struct dump dump;
    enum st st;
    struct err err;
};

static void fail(struct run *run, const char *where, const struct err *why) {
    cli_progress_end(&run->progress);
    cli_fail(&run->failures, where, why);
}

/* A wrong file has thousands of bad lines: the first ones say enough. */
static void fail_document(struct run *run, const char *where, const struct err *why) {
    if (run->input_failures++ < FAILURES_MAX) {
        fail(run, where, why);
    }
}

/* --- dumps ------------------------------------------------------------------------------------ */

static bool is_session(const char *text, size_t len) {
    static const char mark[] = "stall-session/";
    for (size_t i = 0; i + sizeof mark - 1 <= len; i++) {
        if (text[i] == mark[0] && memcmp(text + i, mark, sizeof mark - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* Parsing is what takes time; it happens on the workers. */
static void parse_job(void *ctx, void *item, unsigned worker) {
    (void)ctx, (void)worker;
    struct job *j = item;
    j->st = dump_parse(&j->dump, j->text, j->len, &j->err);
}

static void free_job(struct job *j) {
    dump_release(&j->dump);
    strbuf_release(&j->where);
    free(j->text);
    free(j);
}

static void fold_job(void *ctx, void *item) {
    struct run *run = ctx;
    struct job *j = item;
    bool session = j->st == ST_NONE && is_session(j->text, j->len);
    if (j->st == ST_OK) {
        j->st = fold_add(&run->fold, &j->dump, &j->err);
    } else if (j->st == ST_NONE && !session) {
        err_set(&j->err, ERR_FORMAT, "JSON, but not a stall dump");
    }
    if (j->st != ST_OK && !session) {
        fail_document(run, strbuf_cstr(&j->where), &j->err);
    }
    cli_progress_update(&run->progress, run->fold.stats.dumps);
    free_job(j);
}

static struct job *new_job(const struct run *run, const char *text, size_t len, uint64_t line) {
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        return NULL;
    }
    strbuf_addf(&j->where, "%s:%" PRIu64, run->input, line);
    j->text = malloc(len + 1);
    if (!j->text) {
        free_job(j);
        return NULL;
    }
    memcpy(j->text, text, len);
    j->text[len] = 0;
    j->len = len;
    return j;
}

/* Messages come in the order of the input, so what is in flight goes first. */
static void fail_at(struct run *run, uint64_t line, const struct err *why) {
    struct strbuf where = {0};
    strbuf_addf(&where, "%s:%" PRIu64, run->input, line);
    pool_finish(run->pool);
    fail_document(run, strbuf_cstr(&where), why);
    strbuf_release(&where);
}

static void read_dumps(struct run *run, struct gz_input *in) {
    struct dump_stream *stream = NULL;
    struct err e = {0};
    if (dump_stream_open_input(&stream, in, &e) != ST_OK) {
        fail(run, run->input, &e);
        return;
    }
    for (;;) {
        const char *text = NULL;
        size_t len = 0;
        uint64_t line = 0;
        err_clear(&e);
        enum st st = dump_stream_next(stream, &text, &len, &line, &e);
        if (st == ST_NONE) {
            break;
        }
        struct job *j = st == ST_OK ? new_job(run, text, len, line) : NULL;
        if (j) {
            pool_put(run->pool, j);
            continue;
        }
        if (st == ST_OK) {
            err_nomem(&e);
        }
        fail_at(run, line, &e);
    }
    pool_finish(run->pool);
    dump_stream_close(stream);
    if (run->input_failures > FAILURES_MAX) {
        err_clear(&e);
        err_set(&e, ERR_FORMAT, "%" PRIu64 " further documents could not be read",
                run->input_failures - FAILURES_MAX);
        fail(run, run->input, &e);
    }
}

/* --- folded stacks ---------------------------------------------------------------------------- */

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

/* --- inputs ----------------------------------------------------------------------------------- */

/* Reads as many bytes into the buffer as it takes to tell what they are: past leading space, and
 * one character more. */
static enum st look(struct run *run, struct gz_input *in, size_t *len, struct err *e) {
    size_t got;
    *len = 0;
    do {
        if (gz_input_read(in, run->buffer + *len, READ_SIZE - *len, &got, e) != ST_OK) {
            return ST_ERR;
        }
        *len += got;
    } while (got > 0 && *len < READ_SIZE && *len < 16);
    return ST_OK;
}

static void on_input(void *ctx, int fd, const char *name) {
    struct run *run = ctx;
    struct gz_input *in = NULL;
    struct err e = {0};
    size_t len = 0;
    run->input = name;
    run->input_failures = 0;
    if (gz_input_open(&in, fd, name, &e) != ST_OK || look(run, in, &len, &e) != ST_OK) {
        fail(run, name, &e);
        gz_input_close(in);
    } else if (folded_recognise(run->buffer, len)) {
        read_folded(run, in, len);
        gz_input_close(in);
    } else if (gz_input_unread(in, run->buffer, len, &e) != ST_OK) {
        fail(run, name, &e);
        gz_input_close(in);
    } else {
        read_dumps(run, in);
    }
}

/* --- output ----------------------------------------------------------------------------------- */

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
    if (!cli_output_open(&output, run->output, &run->failures)) {
        return;
    }
    enum st st =
        run->folded ? folded_write(&run->tree, &output.sink, &e) : write_svg(run, &output.sink, &e);
    if (st != ST_OK) {
        fail(run, NULL, &e);
    }
    cli_output_close(&output, st == ST_OK, &run->failures);
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

/* --- options ---------------------------------------------------------------------------------- */

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
        return take_number("--jobs", value, 1, JOBS_MAX, &run->jobs);
    }
}

/* Reads everything, then writes. The exit status. */
static int flame(struct run *run, const struct cli_parser *p) {
    struct err e = {0};
    dump_library_init();
    run->buffer = malloc(READ_SIZE);
    if (!run->buffer ||
        pool_open(&run->pool, run->jobs, run->jobs * 4, parse_job, fold_job, run, &e) != ST_OK) {
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    cli_progress_begin(&run->progress, "dumps");
    run->operands = p->operands;
    run->operand_count = p->operand_count;
    int status =
        cli_for_each_input(&tool, p->operands, p->operand_count, on_input, run, &run->failures);
    pool_finish(run->pool);
    cli_progress_end(&run->progress);
    if (status != CLI_OK) {
        return status;
    }
    /* Nothing was read and that is a failure: an older picture is better than an empty one. */
    if (stack_tree_total(&run->tree) > 0 || run->failures.count == 0) {
        write_output(run);
        if (!run->quiet) {
            summarise(run);
        }
    }
    return cli_exit_status(&run->failures);
}

int main(int argc, char **argv) {
    struct run run = {
        .failures.tool = tool.name, .svg.min_width = MIN_WIDTH_DEFAULT, .jobs = pool_processors()};
    run.jobs = run.jobs > JOBS_MAX ? JOBS_MAX : run.jobs;
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
    pool_close(run.pool);
    folded_release(&run.reader);
    fold_release(&run.fold);
    stack_tree_release(&run.tree);
    free(run.buffer);
    return status;
}
