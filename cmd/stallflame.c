/* stallflame: dumps and folded stacks in, folded stacks and flame graphs out. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "cli.h"
#include "flame/svg.h"
#include "flame_causes.h"
#include "flame_inputs.h"

enum { MIN_WIDTH_DEFAULT = 20 /* 1/100 pixel */ };
enum {
    OPT_FORMAT = 1,
    OPT_OUTPUT,
    OPT_WEIGHT,
    OPT_BY,
    OPT_THREADS,
    OPT_MODULES,
    OPT_LINES,
    OPT_INLINES,
    OPT_NO_INLINES,
    OPT_BASE,
    OPT_REVERSE,
    OPT_FLAMECHART,
    OPT_INVERTED,
    OPT_TITLE,
    OPT_SUBTITLE,
    OPT_NOTES,
    OPT_COUNT_NAME,
    OPT_WIDTH,
    OPT_HEIGHT,
    OPT_MIN_WIDTH,
    OPT_MAX_DEPTH,
    OPT_FONT,
    OPT_COLORS,
    OPT_HASH,
    OPT_SEARCH,
    OPT_DARK,
    OPT_JOBS,
    OPT_QUIET
};

static const struct cli_option options[] = {
    {OPT_FORMAT, 'F', "format", "svg|folded", "an interactive SVG (default), or folded stacks"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout"},
    {OPT_WEIGHT, 0, "weight", "ms|samples|stalls|users",
     "what widths mean: stalled milliseconds (default), samples, stalls,\n"
     "or users"},
    {OPT_BY, 0, "by", "thread|cause|bucket|version",
     "put the dump's thread, cause … below its stacks; repeatable"},
    {OPT_THREADS, 0, "threads", "main|all", "which stacks of a dump (default: main)"},
    {OPT_INLINES, 0, "inlines", NULL, "inlined functions as frames of their own (default)"},
    {OPT_NO_INLINES, 0, "no-inlines", NULL, "leave inlined functions out"},
    {OPT_MODULES, 0, "modules", NULL, "folded: write names of dumps as IMAGE`FUNCTION"},
    {OPT_LINES, 0, "lines", NULL, "write names of dumps as FUNCTION (FILE:LINE)"},
    {OPT_BASE, 0, "base", "NAME", "begin stacks at the outermost frame of this name"},
    {OPT_REVERSE, 0, "reverse", NULL, "innermost frames first: who called what cost most"},
    {OPT_FLAMECHART, 0, "flamechart", NULL, "in the order of time, merging neighbours only"},
    {OPT_INVERTED, 0, "inverted", NULL, "outermost frames on top (icicle graph)"},
    {OPT_TITLE, 0, "title", "TEXT", "the line above the graph"},
    {OPT_SUBTITLE, 0, "subtitle", "TEXT", "the smaller line below it (default: what was folded)"},
    {OPT_NOTES, 0, "notes", "TEXT", "a line below the graph"},
    {OPT_COUNT_NAME, 0, "count-name", "NAME", "the unit of the counts, for folded input"},
    {OPT_WIDTH, 0, "width", "PX", "a fixed width (default: 1200, and as wide as the window)"},
    {OPT_HEIGHT, 0, "height", "PX", "of one frame (default: 18)"},
    {OPT_MIN_WIDTH, 0, "min-width", "PX|N%", "merge frames narrower than this (default: 0.2)"},
    {OPT_MAX_DEPTH, 0, "max-depth", "N", "draw at most N frames on top of each other"},
    {OPT_FONT, 0, "font", "FAMILY", "of the names in frames"},
    {OPT_COLORS, 0, "colors", "PALETTE",
     "module (default), cause, hash, or one of flamegraph.pl's: hot, mem,\n"
     "io, red, orange, yellow, green, aqua, blue, purple …"},
    {OPT_SEARCH, 0, "search", "REGEXP", "search for this when the picture is opened"},
    {OPT_DARK, 0, "dark", NULL, "dark, whatever the reader's preference is"},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    /* As flamegraph.pl spells them. */
    {OPT_COUNT_NAME, 0, "countname", "NAME", NULL},
    {OPT_MIN_WIDTH, 0, "minwidth", "PX|N%", NULL},
    {OPT_FONT, 0, "fonttype", "FAMILY", NULL},
    {OPT_HASH, 0, "hash", NULL, NULL},
};

static const struct cli_tool tool = {
    .name = "stallflame",
    .synopsis = "[-F svg|folded] [-o FILE] [--weight ms|samples|stalls|users] [--by WORD]...\n"
                " [OPTION]... [FILE|FOLDER|-]...",
    .summary = "Draws where the stalled time went: a flame graph of dumps or of folded stacks.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer = "Inputs are recognised by content: stall dumps, reports that stallsym takes, folded "
              "stacks,\n"
              "and gzip of them.\n"
              "Exit status: 0 done; 1 something could not be read or written; 2 usage.",
};

struct run {
    struct flame_inputs inputs;
    struct svg_options svg;
    const char *output;
    const char *weight; /* as given, NULL = default */
    bool folded, quiet;
    bool by_cause; /* the colours */
};

/* ---- output ---- */

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
    return flame_inputs_have_dumps(&run->inputs) ? fold_weight_text(run->inputs.options.weight)
           : run->weight                         ? run->weight
                                                 : "samples";
}

/* "12.4 s stalled in 7 stalls, 38 % of it sampled", or what folded text lets us say. */
static void describe(const struct run *run, struct strbuf *out) {
    const struct stack_tree *t = &run->inputs.tree;
    if (flame_inputs_have_dumps(&run->inputs)) {
        fold_describe(&run->inputs.fold.stats, out);
        return;
    }
    svg_count(out, stack_tree_total(t), t->decimals);
    strbuf_addf(out, " %s in ", unit_of(run));
    uint64_t stacks = distinct_stacks(t);
    svg_count(out, stacks, 0);
    strbuf_addstr(out, stacks == 1 ? " distinct stack" : " distinct stacks");
}

/* svg_write, with the colours of causes if they were asked for. */
static enum st write_svg_marked(const struct run *run, struct svg_options *o, struct sink *out,
                                struct err *e) {
    if (!run->by_cause) {
        return svg_write(&run->inputs.tree, o, out, e);
    }
    struct flame_causes causes = {0};
    const struct flame_labels *l = &run->inputs.labels;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        depth = l->kinds[i] == FLAME_BY_CAUSE ? i + 1 : depth;
    }
    o->marks = &causes.marks;
    enum st st = flame_causes_start(&causes, depth, e);
    st = st == ST_OK ? svg_write(&run->inputs.tree, o, out, e) : st;
    flame_causes_release(&causes);
    return st;
}

static enum st write_svg(const struct run *run, struct sink *out, struct err *e) {
    struct strbuf subtitle = {0};
    describe(run, &subtitle);
    struct svg_options o = run->svg;
    bool dumps = flame_inputs_have_dumps(&run->inputs);
    o.unit = unit_of(run);
    o.title = o.title ? o.title : dumps ? "Stalled time" : "Flame graph";
    o.subtitle = o.subtitle ? o.subtitle : strbuf_cstr(&subtitle);
    enum st st = strbuf_check(&subtitle, e);
    if (st == ST_OK) {
        st = write_svg_marked(run, &o, out, e);
    }
    strbuf_release(&subtitle);
    return st;
}

static void write_output(struct run *run) {
    struct cli_output output;
    struct err e = {0};
    struct cli_failures *failures = &run->inputs.dumps.failures;
    if (!cli_output_open(&output, run->output, failures)) {
        return;
    }
    enum st st = run->folded ? folded_write(&run->inputs.tree, &output.sink, &e)
                             : write_svg(run, &output.sink, &e);
    if (st != ST_OK) {
        cli_fail(failures, NULL, &e);
    }
    cli_output_close(&output, st == ST_OK, failures);
}

static void add_count(struct strbuf *out, const char *before, uint64_t n, const char *noun,
                      const char *plural, const char *after) {
    strbuf_addf(out, "%s%" PRIu64 " %s%s%s", before, n, noun, n == 1 ? "" : plural, after);
}

static void summarise(const struct run *run) {
    const struct flame_inputs *in = &run->inputs;
    struct strbuf text = {0};
    describe(run, &text);
    if (flame_inputs_have_dumps(in)) {
        add_count(&text, "; ", distinct_stacks(&in->tree), "distinct stack", "s", "");
        if (in->folded_stacks > 0) {
            add_count(&text, ", some from ", in->folded_stacks, "folded line", "s", "");
        }
    }
    if (in->fold.stats.crashes > 0) {
        add_count(&text, "; ", in->fold.stats.crashes, "crash", "es", " left out");
    }
    if (in->rounded > 0) {
        add_count(&text, "; ", in->rounded, "count", "s", " cut to ");
        strbuf_addf(&text, "%d decimal places", STACK_DECIMALS_MAX);
    }
    cli_say(tool.name, "%s", strbuf_cstr(&text));
    strbuf_release(&text);
}

/* ---- options ---- */

/* Pixels, or a share, with up to two decimal places, in hundredths. */
static bool take_min_width(struct run *run, const char *value) {
    size_t len = strlen(value);
    bool share = len > 0 && value[len - 1] == '%';
    len -= share;
    const char *point = memchr(value, '.', len);
    size_t whole = point ? (size_t)(point - value) : len;
    size_t places = point ? len - whole - 1 : 0;
    uint64_t units = 0, part = 0;
    bool ok = parse_u64(value, whole, share ? 100 : 1000, &units) && places <= 2 &&
              (!point || parse_u64(point + 1, places, 99, &part));
    if (!ok) {
        cli_usage_error(&tool,
                        "--min-width takes pixels from 0 to 1000, as in 0.25, or a share of the "
                        "whole, as in 0.1%%, not '%s'",
                        value);
        return false;
    }
    run->svg.min_width = (uint32_t)(units * 100 + (places == 1 ? part * 10 : part));
    run->svg.min_is_share = share;
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

/* The same label twice says no more than once. */
static bool take_by(struct run *run, const char *value) {
    static const char *const words[] = {"cause", "bucket", "version", "thread", NULL};
    struct flame_labels *l = &run->inputs.labels;
    int word = cli_choice(&tool, "--by", value, words);
    if (word < 0) {
        return false;
    }
    if (word == FLAME_BY_COUNT) {
        run->inputs.options.by_thread = true;
        return true;
    }
    for (size_t i = 0; i < l->count; i++) {
        if (l->kinds[i] == (enum flame_by)word) {
            return true;
        }
    }
    l->kinds[l->count++] = (enum flame_by)word;
    return true;
}

static bool take_palette(struct run *run, const char *value) {
    run->by_cause = strcmp(value, "cause") == 0;
    if (!run->by_cause && !palette_parse(value, &run->svg.palette)) {
        cli_usage_error(&tool, "unknown palette '%s' for --colors", value);
        return false;
    }
    return true;
}

static bool take_word(struct run *run, int id, const char *value) {
    static const char *const formats[] = {"svg", "folded", NULL};
    static const char *const weights[] = {"ms", "samples", "stalls", "users", NULL};
    static const char *const threads[] = {"main", "all", NULL};
    int word = id == OPT_FORMAT   ? cli_choice(&tool, "--format", value, formats)
               : id == OPT_WEIGHT ? cli_choice(&tool, "--weight", value, weights)
                                  : cli_choice(&tool, "--threads", value, threads);
    if (word < 0) {
        return false;
    }
    if (id == OPT_FORMAT) {
        run->folded = word == 1;
    } else if (id == OPT_THREADS) {
        run->inputs.options.all_threads = word == 1;
    } else {
        run->weight = weights[word];
        run->inputs.options.weight = (enum fold_weight)word;
    }
    return true;
}

static bool take_text(struct run *run, int id, const char *value) {
    const char **to = id == OPT_OUTPUT       ? &run->output
                      : id == OPT_TITLE      ? &run->svg.title
                      : id == OPT_SUBTITLE   ? &run->svg.subtitle
                      : id == OPT_NOTES      ? &run->svg.notes
                      : id == OPT_COUNT_NAME ? &run->svg.unit
                      : id == OPT_FONT       ? &run->svg.font
                      : id == OPT_SEARCH     ? &run->svg.search
                                             : &run->inputs.filter.base;
    *to = value;
    return true;
}

static void take_flag(struct run *run, int id) {
    struct fold_options *o = &run->inputs.options;
    switch (id) {
    case OPT_MODULES:
        o->modules = true;
        break;
    case OPT_LINES:
        o->lines = true;
        break;
    case OPT_INLINES:
    case OPT_NO_INLINES:
        o->no_inlines = id == OPT_NO_INLINES;
        break;
    case OPT_REVERSE:
        run->inputs.filter.reverse = true;
        break;
    case OPT_FLAMECHART:
        run->inputs.ordered = true;
        break;
    case OPT_INVERTED:
        run->svg.inverted = true;
        break;
    case OPT_DARK:
        run->svg.dark = true;
        break;
    case OPT_HASH:
        if (run->svg.palette.kind == PALETTE_MODULE) { /* all others are keyed by hashes anyway */
            run->svg.palette.kind = PALETTE_HASH;
        }
        break;
    default:
        run->quiet = true;
    }
}

static bool take_option(struct run *run, int id, const char *value) {
    switch (id) {
    case OPT_FORMAT:
    case OPT_WEIGHT:
    case OPT_THREADS:
        return take_word(run, id, value);
    case OPT_BY:
        return take_by(run, value);
    case OPT_COLORS:
        return take_palette(run, value);
    case OPT_WIDTH:
        return take_number("--width", value, SVG_WIDTH_MIN, SVG_WIDTH_MAX, &run->svg.width);
    case OPT_HEIGHT:
        return take_number("--height", value, SVG_ROW_MIN, SVG_ROW_MAX, &run->svg.row);
    case OPT_MIN_WIDTH:
        return take_min_width(run, value);
    case OPT_MAX_DEPTH:
        return take_number("--max-depth", value, 1, 100000, &run->svg.max_depth);
    case OPT_JOBS:
        return take_number("--jobs", value, 1, CLI_JOBS_MAX, &run->inputs.jobs);
    default:
        if (value) {
            return take_text(run, id, value);
        }
        take_flag(run, id);
        return true;
    }
}

/* What single options cannot tell; false after a printed message. */
static bool check_options(const struct run *run) {
    bool to_stdout = !run->output || strcmp(run->output, "-") == 0;
    if (run->inputs.ordered && run->inputs.options.weight == FOLD_USERS) {
        cli_usage_error(&tool, "--weight=users has no order of time for --flamechart");
        return false;
    }
    if (!run->folded && to_stdout && isatty(STDOUT_FILENO) == 1) {
        cli_usage_error(&tool, "an SVG is not for a terminal: add > FILE.svg or -o FILE.svg, "
                               "or -F folded for text");
        return false;
    }
    return true;
}

/* Reads everything, then writes. The exit status. */
static int flame(struct run *run, const struct cli_parser *p) {
    struct cli_failures *failures = &run->inputs.dumps.failures;
    dump_library_init();
    int status = flame_inputs_read(&run->inputs, p->operands, p->operand_count);
    if (status != CLI_OK) {
        return status;
    }
    /* Nothing was read and that is a failure: an older picture is better than an empty one. */
    bool any = stack_tree_total(&run->inputs.tree) > 0 || failures->count == 0;
    if (any) {
        write_output(run);
    }
    status = cli_exit_status(failures); /* what it says goes before the summary */
    if (any && !run->quiet) {
        summarise(run);
    }
    return status;
}

int main(int argc, char **argv) {
    struct run run = {.svg.min_width = MIN_WIDTH_DEFAULT,
                      .inputs = {.tool = &tool, .jobs = pool_processors()}};
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
    if (!check_options(&run)) {
        return CLI_USAGE;
    }
    run.inputs.options.modules |= !run.folded; /* the picture knows them always */
    int status = flame(&run, &p);
    flame_inputs_release(&run.inputs);
    return status;
}
