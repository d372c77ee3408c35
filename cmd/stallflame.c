/* stallflame: reads dumps, folded stacks and profiles, and writes flame graphs, folded stacks and
 * the files of other viewers. */
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/pool.h"
#include "cli.h"
#include "flame_output.h"

enum { MIN_WIDTH_DEFAULT = 20 /* default of --min-width, in 1/100 pixel */ };
enum {
    OPT_FORMAT = 1,
    OPT_OUTPUT,
    OPT_DIFF,
    OPT_NORMALIZE,
    OPT_FAIL_IF,
    OPT_MIN_SAMPLES,
    OPT_SUMMARY,
    OPT_WEIGHT,
    OPT_BY,
    OPT_WHERE,
    OPT_RULES,
    OPT_CAP,
    OPT_THREADS,
    OPT_MODULES,
    OPT_LINES,
    OPT_FULL,
    OPT_SYMBOLS,
    OPT_STORE,
    OPT_LEARN,
    OPT_PROCESS,
    OPT_NO_LEARN,
    OPT_MAP,
    OPT_PATH_MAP,
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

/* ---- options ---- */

/* Parses the value of --min-width: pixels, or a share with '%', with up to two decimal places,
 * stored in hundredths. */
static bool take_min_width(void *settings, struct cli_parser *p) {
    struct flame_run *run = settings;
    const char *value = p->value;
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
        return cli_reject(p->tool,
                          "--min-width takes pixels from 0 to 1000, as in 0.25, or a share of the "
                          "whole, as in 0.1%%, not '%s'",
                          value);
    }
    run->svg.min_width = (uint32_t)(units * 100 + (places == 1 ? part * 10 : part));
    run->svg.min_is_share = share;
    return true;
}

/* Parses a value of --by; a label that an earlier --by gave is ignored. */
static bool take_by(void *settings, struct cli_parser *p) {
    struct flame_run *run = settings;
    static const char *const words[] = {"cause", "bucket", "version", "thread", "holder", NULL};
    const struct cli_words choice = CLI_WORDS(words);
    struct flame_labels *l = &run->inputs.labels;
    int word = cli_choice(p, &choice);
    if (word < 0) {
        return false;
    }
    if (word >= FLAME_BY_COUNT) {
        *(word == FLAME_BY_COUNT ? &run->inputs.options.by_thread : &run->inputs.by_holder) = true;
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

static bool flame_take_where(void *settings, struct cli_parser *p) {
    struct flame_run *run = settings;
    struct err e = {0};
    if (!run->where && where_new(&run->where, &e) != ST_OK) {
        return cli_nomem(p);
    }
    return cli_take_where(run->where, p);
}

static bool flame_take_rules(void *settings, struct cli_parser *p) {
    struct flame_run *run = settings;
    /* Set, because an annotation may have been made with other rules. */
    run->inputs.labels.anew = true;
    return classify_rules_take(&run->rules, p);
}

static bool take_palette(void *settings, struct cli_parser *p) {
    struct flame_run *run = settings;
    const char *value = p->value;
    run->by_cause = strcmp(value, "cause") == 0;
    if (!run->by_cause && !palette_parse(value, &run->svg.palette)) {
        return cli_reject(p->tool, "unknown palette '%s' for --colors", value);
    }
    return true;
}

/* Handles --hash, which changes the default palette only: all others choose colours by hashes
 * anyway. */
static bool take_hash(void *settings, struct cli_parser *p) {
    struct flame_run *run = settings;
    (void)p;
    if (run->svg.palette.kind == PALETTE_MODULE) {
        run->svg.palette.kind = PALETTE_HASH;
    }
    return true;
}

static bool take_limit(void *settings, struct cli_parser *p) {
    struct flame_run *run = settings;
    return flame_diff_take_limit(&run->diff, p->tool, p->value);
}

static const char *const weights[] = {"ms", "samples", "stalls", "users", NULL};
static const char *const threads[] = {"main", "all", NULL};

static const struct cli_option options[] = {
    {OPT_FORMAT, 'F', "format", "svg|folded|speedscope|pprof|markdown",
     "an interactive SVG (default), folded stacks, another viewer's file;\n"
     "of a diff: its largest changes",
     CLI_WORD(struct flame_run, format, flame_formats)},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout",
     CLI_TEXT(struct flame_run, output)},
    {OPT_DIFF, 0, "diff", NULL, "compare two inputs, BASE and NEW: what grew, what shrank",
     CLI_FLAG(struct flame_run, diff.on)},
    {OPT_NORMALIZE, 0, "normalize", NULL, "diff: scale BASE to the total of NEW",
     CLI_FLAG(struct flame_run, diff.normalise)},
    {OPT_FAIL_IF, 0, "fail-if", "REGEX:+LIMIT",
     "diff: exit status 3 if stacks with a matching frame weigh more than\n"
     "+5% of what they did, +2pp of the whole, +200 (ms …); repeatable",
     CLI_CALL(take_limit)},
    {OPT_MIN_SAMPLES, 0, "min-samples", "N", "diff: fewer cannot fail (default: 10)",
     CLI_NUMBER(struct flame_run, diff.min_samples, 0, UINT32_MAX)},
    {OPT_SUMMARY, 0, "summary", "FILE", "diff: also write the largest changes there, as Markdown",
     CLI_TEXT(struct flame_run, diff.summary)},
    {OPT_WEIGHT, 0, "weight", "ms|samples|stalls|users",
     "what widths mean: stalled milliseconds (default), samples, stalls,\n"
     "or users",
     CLI_WORD(struct flame_run, inputs.options.weight, weights)},
    {OPT_BY, 0, "by", "thread|cause|bucket|version|holder",
     "put the dump's thread, cause … below its stacks; repeatable. holder:\n"
     "only waits for locks, with the stack of who holds the lock above",
     CLI_CALL(take_by)},
    {OPT_WHERE, 0, "where", "TERMS",
     "count only dumps like these, as in stallclassify: 'app.version>=5.3';\n"
     "cause=idle shows what is set apart as idle; repeatable",
     CLI_CALL(flame_take_where)},
    {OPT_RULES, 0, "rules", "FILE",
     "rules that go before the built-in ones, as in stallclassify; repeatable.\n"
     "none: no rules: nothing is idle, and nothing has a cause",
     CLI_CALL(flame_take_rules)},
    {OPT_CAP, 0, "cap", "SECONDS", "what one stall counts at most (default 30; 0: no cap)",
     CLI_NUMBER(struct flame_run, cap_s, 0, CLI_CAP_S_MAX)},
    {OPT_THREADS, 0, "threads", "main|all", "which stacks of a dump (default: main)",
     CLI_WORD(struct flame_run, inputs.options.all_threads, threads)},
    {OPT_INLINES, 0, "inlines", NULL, "inlined functions as frames of their own (default)",
     CLI_FLAG_OFF(struct flame_run, inputs.options.no_inlines)},
    {OPT_NO_INLINES, 0, "no-inlines", NULL, "leave inlined functions out",
     CLI_FLAG(struct flame_run, inputs.options.no_inlines)},
    {OPT_MODULES, 0, "modules", NULL, "folded: write names of dumps as IMAGE`FUNCTION",
     CLI_FLAG(struct flame_run, inputs.options.modules)},
    {OPT_LINES, 0, "lines", NULL, "write names of dumps as FUNCTION (FILE:LINE)",
     CLI_FLAG(struct flame_run, inputs.options.lines)},
    {OPT_FULL, 0, "full-names", NULL,
     "Swift names of reports with modules, types and generic arguments",
     CLI_FLAG(struct flame_run, inputs.full_names)},
    {OPT_SYMBOLS, 'd', "symbols", "PATH",
     "symbolicate raw dumps first, with these debug files or store; repeatable",
     CLI_LIST(struct flame_run, inputs.debug_files)},
    CLI_STORE_OPTION(OPT_STORE, struct flame_run, inputs.store),
    CLI_LEARN_OPTION(OPT_LEARN, struct flame_run, inputs.learn),
    CLI_NO_LEARN_OPTION(OPT_NO_LEARN, struct flame_run, inputs.no_learn),
    CLI_MAP_OPTION(OPT_MAP, struct flame_run, inputs.maps),
    CLI_PATH_MAP_OPTION(OPT_PATH_MAP, struct flame_run, inputs.path_rules),
    CLI_PROCESS_OPTION(OPT_PROCESS, struct flame_run, inputs.process),
    {OPT_BASE, 0, "base", "NAME", "begin stacks at the outermost frame of this name",
     CLI_TEXT(struct flame_run, inputs.filter.base)},
    {OPT_REVERSE, 0, "reverse", NULL, "innermost frames first: who called what cost most",
     CLI_FLAG(struct flame_run, inputs.filter.reverse)},
    {OPT_FLAMECHART, 0, "flamechart", NULL, "in the order of time, merging neighbours only",
     CLI_FLAG(struct flame_run, inputs.ordered)},
    {OPT_INVERTED, 0, "inverted", NULL, "outermost frames on top (icicle graph)",
     CLI_FLAG(struct flame_run, svg.inverted)},
    {OPT_TITLE, 0, "title", "TEXT", "the line above the graph",
     CLI_TEXT(struct flame_run, svg.title)},
    {OPT_SUBTITLE, 0, "subtitle", "TEXT", "the smaller line below it (default: what was folded)",
     CLI_TEXT(struct flame_run, svg.subtitle)},
    {OPT_NOTES, 0, "notes", "TEXT", "a line below the graph",
     CLI_TEXT(struct flame_run, svg.notes)},
    {OPT_COUNT_NAME, 0, "count-name", "NAME", "the unit of the counts, for folded input",
     CLI_TEXT(struct flame_run, svg.unit)},
    {OPT_WIDTH, 0, "width", "PX", "a fixed width (default: 1200, and as wide as the window)",
     CLI_NUMBER(struct flame_run, svg.width, SVG_WIDTH_MIN, SVG_WIDTH_MAX)},
    {OPT_HEIGHT, 0, "height", "PX", "of one frame (default: 18)",
     CLI_NUMBER(struct flame_run, svg.row, SVG_ROW_MIN, SVG_ROW_MAX)},
    {OPT_MIN_WIDTH, 0, "min-width", "PX|N%", "merge frames narrower than this (default: 0.2)",
     CLI_CALL(take_min_width)},
    {OPT_MAX_DEPTH, 0, "max-depth", "N", "draw at most N frames on top of each other",
     CLI_NUMBER(struct flame_run, svg.max_depth, 1, 100000)},
    {OPT_FONT, 0, "font", "FAMILY", "of the names in frames", CLI_TEXT(struct flame_run, svg.font)},
    {OPT_COLORS, 0, "colors", "PALETTE",
     "module (default), cause, hash, or one of flamegraph.pl's: hot, mem,\n"
     "io, red, orange, yellow, green, aqua, blue, purple …",
     CLI_CALL(take_palette)},
    {OPT_SEARCH, 0, "search", "REGEXP", "search for this when the picture is opened",
     CLI_TEXT(struct flame_run, svg.search)},
    {OPT_DARK, 0, "dark", NULL, "dark, whatever the reader's preference is",
     CLI_FLAG(struct flame_run, svg.dark)},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it",
     CLI_NUMBER(struct flame_run, inputs.jobs, 1, CLI_JOBS_MAX)},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary", CLI_FLAG(struct flame_run, quiet)},
    /* These options have the names that they have in flamegraph.pl. */
    {OPT_COUNT_NAME, 0, "countname", "NAME", NULL, CLI_TEXT(struct flame_run, svg.unit)},
    {OPT_MIN_WIDTH, 0, "minwidth", "PX|N%", NULL, CLI_CALL(take_min_width)},
    {OPT_FONT, 0, "fonttype", "FAMILY", NULL, CLI_TEXT(struct flame_run, svg.font)},
    {OPT_HASH, 0, "hash", NULL, NULL, CLI_CALL(take_hash)},
};

static const struct cli_tool tool = {
    .name = "stallflame",
    .synopsis = "[-F svg|folded|speedscope|pprof] [-o FILE] [--weight WORD] [--by WORD]...\n"
                " [-d PATH]... [OPTION]... [FILE|FOLDER|-]...\n"
                "--diff [--fail-if REGEX:+LIMIT]... [--summary FILE] [OPTION]... BASE NEW",
    .summary = "Draws where the stalled time went: a flame graph of dumps or of folded stacks.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer =
        "Inputs are recognised by content: stall dumps, reports that stallsym takes, folded "
        "stacks,\n"
        "pprof's and speedscope's files, and gzip of them.\n"
        "Exit status: 0 done; 1 something could not be read or written; 2 usage; 3 a limit of "
        "--fail-if is passed.",
};

/* ---- options together ---- */

/* Checks combinations of options. False: an error was printed. */
static bool flame_check_options(const struct flame_run *run) {
    bool to_stdout = !run->output || strcmp(run->output, "-") == 0;
    if (run->inputs.ordered && run->inputs.options.weight == FOLD_USERS) {
        return cli_reject(&tool, "--weight=users has no order of time for --flamechart");
    }
    if (!cli_symbols_check_learn(&tool, run->inputs.learn, run->inputs.no_learn)) {
        return false;
    }
    if (run->inputs.by_holder && run->inputs.options.all_threads) {
        return cli_reject(&tool, "--by=holder is about the main thread, not --threads=all");
    }
    if (run->rules.raw && run->rules.files.len) {
        return cli_reject(&tool, "--rules none excludes other rules");
    }
    if (run->rules.raw && run->inputs.by_holder) {
        return cli_reject(&tool, "--by holder needs rules: they tell who waits");
    }
    const char *unreadable = flame_formats[run->format].unreadable;
    if (unreadable && to_stdout && isatty(STDOUT_FILENO) == 1) {
        return cli_reject(&tool,
                          "%s is not for a terminal: add > FILE or -o FILE, or -F folded for "
                          "text",
                          unreadable);
    }
    return true;
}

/* Rejects the options of --diff if it is not given, and, if it is given, the options and operands
 * that it excludes. False: an error was printed. */
static bool check_diff(const struct flame_run *run, const struct cli_parser *p) {
    const struct flame_diff *d = &run->diff;
    char typed[CLI_TYPED];
    if (!d->on) {
        const uint64_t of_diffs = CLI_BIT(OPT_NORMALIZE) | CLI_BIT(OPT_FAIL_IF) |
                                  CLI_BIT(OPT_MIN_SAMPLES) | CLI_BIT(OPT_SUMMARY);
        const struct cli_option *stray = cli_useless(p, ~of_diffs);
        if (stray || flame_formats[run->format].only_diffs) {
            return cli_reject(&tool, "%s%s is for --diff",
                              cli_typed(p, stray ? stray->id : OPT_FORMAT, typed),
                              stray ? "" : " markdown");
        }
        return true;
    }
    if (p->operand_count != 2) {
        return cli_reject(&tool, "--diff compares two inputs, BASE and NEW");
    }
    if (strcmp(p->operands[0], "-") == 0 && strcmp(p->operands[1], "-") == 0) {
        return cli_reject(&tool, "only one of BASE and NEW can be stdin");
    }
    if (d->summary && (strcmp(d->summary, run->output ? run->output : "-") == 0 ||
                       cli_is_one_place(d->summary, run->output))) {
        return cli_reject(&tool, "--summary and --output go to the same place");
    }
    if (cli_is_one_place(d->summary, p->operands[0]) ||
        cli_is_one_place(d->summary, p->operands[1])) {
        return cli_reject(&tool, "--summary would replace an input");
    }
    if (run->inputs.ordered || run->by_cause) {
        return cli_reject(&tool, "%s is not for --diff",
                          run->inputs.ordered ? "--flamechart" : "--colors=cause");
    }
    if (!flame_formats[run->format].diffs) {
        return cli_reject(&tool, "%s %s is not for --diff", cli_typed(p, OPT_FORMAT, typed),
                          flame_formats[run->format].word);
    }
    return true;
}

/* Reads the inputs, of one picture or of a difference. Returns CLI_OK, or the exit status. */
static int flame_read_inputs(struct flame_run *run, const struct cli_parser *p) {
    run->inputs.quiet = run->quiet;
    run->inputs.where = run->where;
    run->inputs.cap_ms = run->cap_s * 1000;
    return run->diff.on ? flame_diff_read(&run->diff, &run->inputs, p->operands)
                        : flame_inputs_read(&run->inputs, p->operands, p->operand_count);
}

static bool was_read(const struct flame_inputs *in) {
    return stack_tree_total(&in->tree) > 0 || in->dumps.failures.count == 0;
}

/* Was enough read, on each side of a difference, to write an output: a stack, or at least no failed
 * input? If not, an older picture stays in place. */
static bool has_output(const struct flame_run *run) {
    return was_read(&run->inputs) && (!run->diff.on || was_read(&run->diff.base));
}

/* Prints the fields of the filter that no examined dump, on either side of a difference, has;
 * nothing if no dump was examined. */
static void flame_tell_unsaid(const struct flame_run *run) {
    struct where_seen said = run->inputs.said;
    where_seen_add(&said, &run->diff.base.said);
    if (run->where && said.count > 0) {
        cli_tell_unsaid(&tool, run->where, &said, false, "no dump says");
    }
}

/* Reads everything, then writes the output. Returns the exit status. */
static int flame(struct flame_run *run, const struct cli_parser *p) {
    struct cli_failures *failures = &run->inputs.dumps.failures;
    dump_library_init();
    run->rules.failures = &run->inputs.dumps.failures;
    run->rules.failures->tool = tool.name;
    run->inputs.rules = &run->rules;
    if (!classify_rules_load(&run->rules)) {
        return CLI_FAILED;
    }
    cli_output_expect(run->output);
    cli_output_expect(run->diff.summary);
    int status = flame_read_inputs(run, p);
    if (status != CLI_OK) {
        return status;
    }
    flame_tell_unsaid(run);
    cli_tell_differing(&tool, run->inputs.seen.differing + run->diff.base.seen.differing);
    cli_tell_contradicting(&tool,
                           run->inputs.ledger.contradicting + run->diff.base.ledger.contradicting);
    bool any = has_output(run), passed = false;
    if (any) {
        flame_write(run);
        passed = flame_diff_judge(&run->diff, tool.name, flame_unit(run), run->quiet, failures);
    }
    /* cli_exit_status prints messages, which have to precede the summary. */
    status = cli_exit_status(failures);
    if (run->diff.on && cli_exit_status(&run->diff.base.dumps.failures) != CLI_OK) {
        status = CLI_FAILED;
    }
    if (any && !run->quiet) {
        flame_summarise(run);
    }
    return status == CLI_OK && passed ? CLI_GATE : status;
}

/* Checks the options, then reads and draws. Returns the exit status. */
static int flame_run_checked(struct flame_run *run, const struct cli_parser *p) {
    if (p->given & CLI_BIT(OPT_WEIGHT)) {
        run->weight = weights[run->inputs.options.weight];
    }
    run->inputs.with_samples = flame_formats[run->format].samples;
    if (!flame_check_options(run) || !check_diff(run, p)) {
        return CLI_USAGE;
    }
    run->inputs.options.modules |=
        !flame_formats[run->format].plain_names; /* other formats always write modules */
    return flame(run, p);
}

int main(int argc, char **argv) {
    struct flame_run run = {.svg.min_width = MIN_WIDTH_DEFAULT,
                            .cap_s = STALL_CAP_MS / 1000,
                            .diff.min_samples = FLAME_MIN_SAMPLES,
                            .inputs = {.tool = &tool, .jobs = pool_processors()}};
    struct cli_parser p;
    cli_begin(&p, &tool, argc, argv);
    int status = cli_read_options(&p, &run) == CLI_END ? flame_run_checked(&run, &p) : p.status;
    flame_diff_release(&run.diff);
    flame_inputs_release(&run.inputs);
    classify_rules_release(&run.rules);
    where_free(run.where);
    VEC_RELEASE(&run.inputs.debug_files);
    VEC_RELEASE(&run.inputs.maps);
    VEC_RELEASE(&run.inputs.path_rules);
    return status;
}
