/* stallsym: reads dumps and reports, and writes them symbolicated; makes and maintains stores of
 * symbol indexes. */
#include <string.h>

#include "base/parse.h"
#include "base/pool.h"
#include "base/vec.h"
#include "cli.h"
#include "cli_dumps.h"
#include "cli_formats.h"
#include "cli_index.h"
#include "cli_symbols.h"
#include "dump/dump.h"
#include "symbolize/image_verdicts.h"
#include "symbolicate/sym_run.h"

enum { MAX_AGE_DAYS = 100000 };
enum {
    OPT_SYMBOLS = 1,
    OPT_USE,
    OPT_HOST,
    OPT_FORMAT,
    OPT_OUTPUT,
    OPT_JOBS,
    OPT_REQUIRE,
    OPT_MISSING,
    OPT_LINKAGE,
    OPT_FULL,
    OPT_STORE,
    OPT_FETCH,
    OPT_DEBUGINFOD,
    OPT_NO_INDEX,
    OPT_INDEX,
    OPT_ADD,
    OPT_LIST,
    OPT_VERIFY,
    OPT_GC,
    OPT_MAX_AGE,
    OPT_MAX_SIZE,
    OPT_RAW,
    OPT_LEARN,
    OPT_PROCESS,
    OPT_NO_LEARN,
    OPT_MAP,
    OPT_PATH_MAP,
    OPT_NO_USER,
    OPT_LINT_MAPS,
    OPT_LIST_FORMATS,
    OPT_ANSWER_EACH,
    OPT_QUIET
};

static bool take_use(void *settings, struct cli_parser *p) {
    struct sym_settings *set = settings;
    if (!cli_symbols_check_use(p->tool, p->value)) {
        return false;
    }
    return VEC_PUSH(&set->uses, p->value) || cli_nomem(p);
}

static bool take_require(void *settings, struct cli_parser *p) {
    static const char *const words[] = {"app", "all", NULL};
    const struct cli_words choice = CLI_WORDS(words);
    struct sym_settings *set = settings;
    int word = p->value ? cli_choice(p, &choice) : 0;
    set->require = word == 1 ? REQUIRE_ALL : REQUIRE_APP;
    return word >= 0;
}

static bool take_upkeep(struct sym_settings *set, struct cli_parser *p, enum cli_store_work work) {
    if (set->work != CLI_STORE_NOTHING) {
        return cli_reject(p->tool, "one of --list, --verify and --gc at a time");
    }
    set->work = work;
    set->upkeep = p->value;
    return true;
}

static bool take_list(void *settings, struct cli_parser *p) {
    return take_upkeep(settings, p, CLI_STORE_LIST);
}

static bool take_verify(void *settings, struct cli_parser *p) {
    return take_upkeep(settings, p, CLI_STORE_VERIFY);
}

static bool take_gc(void *settings, struct cli_parser *p) {
    return take_upkeep(settings, p, CLI_STORE_GC);
}

static bool take_max_size(void *settings, struct cli_parser *p) {
    struct sym_settings *set = settings;
    return parse_size(p->value, strlen(p->value), UINT64_MAX, &set->max_bytes) ||
           cli_reject(p->tool, "--max-size takes bytes, or a number with K, M, G or T, not '%s'",
                      p->value);
}

static bool take_fetch(void *settings, struct cli_parser *p) {
    struct sym_settings *set = settings;
    set->fetch_command = p->value;
    return cli_fetch_check(p->tool, p->value);
}

static const char *const server_words[] = {"auto", "on", "off", NULL};
static const char *const formats[] = {"json", "text", NULL};

static const struct cli_option options[] = {
    {OPT_SYMBOLS, 'd', "symbols", "PATH",
     "debug files: dSYM, ELF file, dyld cache, folder or archive of them, or store; repeatable.\n"
     "Without it, the images' own paths on this host are tried",
     CLI_LIST(struct sym_settings, symbols)},
    {OPT_USE, 0, "use", "NAME=FILE", "take FILE for the image NAME, whatever its id; repeatable",
     CLI_CALL(take_use)},
    {OPT_HOST, 0, "host-images", NULL, "try the images' own paths and /usr/lib/debug too",
     CLI_FLAG(struct sym_settings, host)},
    {OPT_FORMAT, 'F', "format", "json|text", "JSON Lines (default), or a report to read",
     CLI_WORD(struct sym_settings, text, formats)},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout",
     CLI_TEXT(struct sym_settings, output)},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it",
     CLI_NUMBER(struct sym_settings, jobs, 1, CLI_JOBS_MAX)},
    CLI_ANSWER_EACH_OPTION(OPT_ANSWER_EACH, struct sym_settings, answer_each),
    {OPT_REQUIRE, 0, "require-symbols", "[=app|all]",
     "exit 3 if an image (of the app, the default) lacks debug info", CLI_CALL(take_require)},
    {OPT_MISSING, 0, "missing-out", "FILE",
     "list the images without debug info there: id, name, arch, version",
     CLI_TEXT(struct sym_settings, missing)},
    {OPT_LINKAGE, 0, "linkage-names", NULL, "leave mangled names as they are",
     CLI_FLAG(struct sym_settings, linkage_names)},
    {OPT_FULL, 0, "full-names", NULL, "Swift names with modules, types and generic arguments",
     CLI_FLAG(struct sym_settings, full_names)},
    {OPT_FETCH, 0, "fetch-cmd", "CMD",
     "run CMD for each id without debug info: %u is the id, %o the file to write",
     CLI_CALL(take_fetch)},
    {OPT_DEBUGINFOD, 0, "debuginfod", "auto|on|off",
     "ask the servers of DEBUGINFOD_URLS (auto: unless CI is set)",
     CLI_WORD(struct sym_settings, servers, server_words)},
    CLI_STORE_OPTION(OPT_STORE, struct sym_settings, store),
    CLI_NO_INDEX_OPTION(OPT_NO_INDEX, struct sym_settings, no_index),
    {OPT_INDEX, 0, "index", NULL, "make the symbol indexes of the debug files PATH... now",
     CLI_FLAG(struct sym_settings, index)},
    {OPT_ADD, 0, "add", "STORE",
     "add the debug files PATH... to the permanent store STORE, for -d STORE",
     CLI_TEXT(struct sym_settings, add)},
    {OPT_LIST, 0, "list", "STORE", "list the symbol indexes of a permanent store",
     CLI_CALL(take_list)},
    {OPT_VERIFY, 0, "verify", "STORE", "read them all: which are not as they were written?",
     CLI_CALL(take_verify)},
    {OPT_GC, 0, "gc", "STORE", "remove from the store what --max-age and --max-size say",
     CLI_CALL(take_gc)},
    {OPT_MAX_AGE, 0, "max-age", "DAYS", "with --gc: indexes that were not used for so long go",
     CLI_NUMBER(struct sym_settings, max_age_days, 1, MAX_AGE_DAYS)},
    {OPT_MAX_SIZE, 0, "max-size", "SIZE",
     "with --gc: past so many bytes (K, M, G, T) the least recently used go",
     CLI_CALL(take_max_size)},
    CLI_LEARN_OPTION(OPT_LEARN, struct sym_settings, learn),
    CLI_NO_LEARN_OPTION(OPT_NO_LEARN, struct sym_settings, no_learn),
    CLI_PROCESS_OPTION(OPT_PROCESS, struct sym_settings, process),
    {OPT_RAW, 0, "raw", NULL, "convert reports to stall dumps, and look nothing up",
     CLI_FLAG(struct sym_settings, raw)},
    CLI_MAP_OPTION(OPT_MAP, struct sym_settings, maps),
    CLI_PATH_MAP_OPTION(OPT_PATH_MAP, struct sym_settings, path_rules),
    {OPT_NO_USER, 0, "no-user", NULL, "leave out user, context and the report as it was",
     CLI_FLAG(struct sym_settings, no_user)},
    {OPT_LINT_MAPS, 0, "lint-maps", NULL, "say what is wrong with the maps FILE..., and do no more",
     CLI_FLAG(struct sym_settings, lint_maps)},
    {OPT_LIST_FORMATS, 0, "list-formats", NULL, "list the formats that are read, and do no more",
     CLI_FLAG(struct sym_settings, list_formats)},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary", CLI_FLAG(struct sym_settings, quiet)},
};

static const struct cli_tool tool = {
    .name = "stallsym",
    .synopsis = "[-d PATH]... [-F json|text] [-o FILE] [DUMP|FOLDER|-]...\n"
                "--answer-each [-d PATH]... -\n"
                "--index [--store DIR] [-j N] PATH...\n"
                "--add STORE [-j N] PATH...\n"
                "--list STORE [-o FILE]\n"
                "--verify STORE\n"
                "--gc STORE [--max-age DAYS] [--max-size SIZE]\n"
                "--raw [-o FILE] [--map FILE]... [REPORT|FOLDER|-]...\n"
                "--lint-maps FILE...\n"
                "--list-formats [--map FILE]...",
    .summary =
        "Turns the raw addresses of stall dumps and of other tools' reports into names, files\n"
        "and lines.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer =
        "Inputs are recognised by content: stall dumps, KSCrash and Matrix JSON, MetricKit "
        "payloads,\n"
        "Apple's .ips and .crash, spindump, Android's ANR traces, sample, perf script, logs of\n"
        "Seastar, Sentry, Bugsnag, Crashlytics; gzip of them, and archives. See --list-formats.\n"
        "Exit status: 0 every dump was written, resolved or not; 1 something could not be read or\n"
        "written; 2 usage; 3 --require-symbols.",
};

/* ---- runs ---- */

static void write_missing(struct sym_run *run, const char *path) {
    struct cli_output out;
    struct err e = {0};
    if (!cli_output_open(&out, path, &run->dumps.failures)) {
        return;
    }
    enum st st = image_verdicts_write(&run->images, &out.sink, &e);
    if (st != ST_OK) {
        cli_fail(&run->dumps.failures, path, &e);
    }
    cli_output_close(&out, st == ST_OK, &run->dumps.failures);
}

static int sym_process(struct sym_run *run, char **operands, size_t count) {
    const struct sym_settings *set = &run->set;
    cli_output_expect(set->output);
    cli_output_expect(set->missing);
    if (!cli_output_open(&run->output, set->output, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    run->dumps.quiet = set->quiet;
    int status = cli_symbols_run(&run->symbols, &run->dumps, (unsigned)set->jobs, operands, count);
    cli_output_close(&run->output, status == CLI_OK, &run->dumps.failures);
    if (status != CLI_OK) {
        return status;
    }
    if (set->missing) {
        write_missing(run, set->missing);
    }
    status = cli_exit_status(&run->dumps.failures);
    if (!set->quiet) {
        sym_summarise(run);
    } else {
        cli_symbols_tell_conflicts(&run->symbols);
    }
    bool gate = (set->require == REQUIRE_ALL && run->images.lacks_any) ||
                (set->require == REQUIRE_APP && run->images.lacks_app);
    if (status == CLI_OK && gate) {
        cli_say(tool.name, "--require-symbols: an image lacks debug info");
        status = CLI_GATE;
    }
    return status;
}

/* Returns the set of options that this kind of run uses, and sets *why to the reason why it uses
 * no other option. */
static uint64_t heeded_options(const struct sym_settings *set, const char **why) {
    const uint64_t always = CLI_BIT(OPT_JOBS) | CLI_BIT(OPT_QUIET);
    const uint64_t works = CLI_BIT(OPT_LIST) | CLI_BIT(OPT_VERIFY) | CLI_BIT(OPT_GC);
    const uint64_t limits = CLI_BIT(OPT_MAX_AGE) | CLI_BIT(OPT_MAX_SIZE);
    if (set->work != CLI_STORE_NOTHING) {
        *why = "--list, --verify and --gc read a store, and nothing else";
        return CLI_BIT(OPT_QUIET) | works |
               (set->work == CLI_STORE_LIST ? CLI_BIT(OPT_OUTPUT) : 0) |
               (set->work == CLI_STORE_GC ? limits : 0);
    }
    if (set->lint_maps) {
        *why = "--lint-maps reads maps, and nothing else";
        return CLI_BIT(OPT_LINT_MAPS) | CLI_BIT(OPT_QUIET);
    }
    if (set->list_formats) {
        *why = "--list-formats reads maps, and nothing else";
        return CLI_BIT(OPT_LIST_FORMATS) | CLI_BIT(OPT_MAP) | CLI_BIT(OPT_OUTPUT);
    }
    if (set->index || set->add) {
        *why = "with --index and --add nothing is symbolicated";
        return always | CLI_BIT(OPT_INDEX) | CLI_BIT(OPT_ADD) | CLI_BIT(OPT_STORE) |
               CLI_BIT(OPT_NO_INDEX);
    }
    if (set->raw) {
        *why = "with --raw nothing is looked up";
        return always | CLI_BIT(OPT_RAW) | CLI_BIT(OPT_NO_USER) | CLI_BIT(OPT_OUTPUT) |
               CLI_BIT(OPT_MAP) | CLI_BIT(OPT_PROCESS) | CLI_BIT(OPT_ANSWER_EACH) |
               (set->text ? 0 : CLI_BIT(OPT_FORMAT));
    }
    *why = "it belongs to --gc";
    return ~limits;
}

/* Do all given options and operands fit together? An unused option is refused, because it may be a
 * gate that would then never fail; so is an output that would replace an input or another output.
 * False: an error was printed. */
static bool fits(const struct cli_parser *p, const struct sym_settings *set) {
    const char *why;
    const struct cli_option *useless = cli_useless(p, heeded_options(set, &why));
    char typed[CLI_TYPED];
    if (useless) {
        cli_usage_error(&tool, "%s does not fit: %s", cli_typed(p, useless->id, typed), why);
    } else if ((set->work != CLI_STORE_NOTHING || set->list_formats) && p->operand_count > 0) {
        return cli_reject(&tool, "'%s' does not fit: %s", p->operands[0], why);
    }
    if (cli_is_one_place(set->missing, set->output)) {
        return cli_reject(&tool, "--missing-out and --output go to the same place");
    }
    for (size_t i = 0; i < p->operand_count; i++) {
        if (cli_is_one_place(set->missing, p->operands[i])) {
            return cli_reject(&tool, "--missing-out would replace an input");
        }
    }
    if (set->answer_each && set->text) {
        return cli_reject(&tool, "--answer-each writes JSON, not -F text");
    }
    return !useless && cli_symbols_check_learn(&tool, set->learn, set->no_learn) &&
           (!set->answer_each || cli_answers_check(&tool, p->operands, p->operand_count));
}

/* Runs --index or --add, which only make indexes. Returns the exit status. */
static int make_indexes(struct sym_run *run, char **paths, size_t count) {
    const struct sym_settings *set = &run->set;
    if (set->no_index || (set->index && set->add) || (set->add && set->store)) {
        return cli_usage_error(&tool, "--index, --add, --no-index and --store do not fit together");
    }
    if (count == 0) {
        return cli_usage_error(&tool, "%s takes debug files", set->add ? "--add" : "--index");
    }
    struct cli_failures *failures = &run->dumps.failures;
    struct index_store *store = NULL;
    struct err absent = {0};
    if (!cli_store_open(&store, set->add ? set->add : set->store, set->add != NULL,
                        (unsigned)set->jobs, &absent, failures)) {
        return CLI_FAILED;
    }
    if (!store && absent.code == ERR_USAGE) {
        return cli_usage_error(&tool, "%s", absent.text);
    }
    if (!store) {
        cli_fail(failures, NULL, &absent);
        return cli_exit_status(failures);
    }
    if (set->add) {
        /* The result is ignored: if the store cannot be written, adding each file reports it. */
        (void)!index_store_hold(store, false);
    }
    struct cli_index x = {.tool = tool.name,
                          .store = store,
                          .permanent = set->add,
                          .threads = (unsigned)set->jobs,
                          .quiet = set->quiet,
                          .failures = failures};
    cli_index_paths(&x, paths, count);
    index_store_free(store); /* its failures were printed before */
    return cli_exit_status(failures);
}

static int keep_store(struct sym_run *run) {
    const struct sym_settings *set = &run->set;
    const struct cli_upkeep u = {.tool = tool.name,
                                 .store = set->upkeep,
                                 .output = set->output,
                                 .max_age_days = set->max_age_days,
                                 .max_bytes = set->max_bytes,
                                 .quiet = set->quiet,
                                 .failures = &run->dumps.failures};
    return cli_index_upkeep(&u, set->work);
}

static int symbolicate(struct sym_run *run, char **operands, size_t count) {
    const struct sym_settings *set = &run->set;
    int status = cli_maps_load(&run->dumps, &set->maps, &set->path_rules);
    if (status != CLI_OK) {
        return status;
    }
    const struct cli_symbols_options o = {
        .paths = set->symbols.data,
        .path_count = set->symbols.len,
        .uses = set->uses.data,
        .use_count = set->uses.len,
        .store = set->store,
        .no_index = set->no_index,
        .learn = set->learn,
        .no_learn = set->no_learn || set->raw,
        .host = set->host || set->symbols.len == 0,
        .names = symbolize_names_of(set->linkage_names, set->full_names),
        .fetch_command = set->fetch_command,
        .servers = set->servers};
    if (!cli_symbols_open(&run->symbols, &o, &run->dumps, (unsigned)set->jobs)) {
        return CLI_FAILED;
    }
    run->images.list_missing = set->missing != NULL;
    return sym_process(run, operands, count);
}

static int run_work(struct sym_run *run, char **operands, size_t count) {
    if (run->set.lint_maps) {
        run->dumps.quiet = run->set.quiet;
        return count > 0 ? cli_maps_lint(&run->dumps, operands, count)
                         : cli_usage_error(&tool, "--lint-maps takes maps");
    }
    if (run->set.list_formats) {
        return cli_maps_load(&run->dumps, &run->set.maps, NULL) == CLI_OK
                   ? cli_formats_list(&run->dumps, run->set.output)
                   : CLI_FAILED;
    }
    if (run->set.work != CLI_STORE_NOTHING) {
        return keep_store(run);
    }
    return run->set.index || run->set.add ? make_indexes(run, operands, count)
                                          : symbolicate(run, operands, count);
}

int main(int argc, char **argv) {
    struct sym_run run = {
        .set = {.jobs = pool_processors(), .max_age_days = UINT64_MAX, .max_bytes = UINT64_MAX}};
    struct cli_parser p;
    int status = CLI_USAGE;
    cli_dumps_init(&run.dumps, &tool, &sym_dumps_ops, &run);
    dump_library_init();
    cli_begin(&p, &tool, argc, argv);
    if (cli_read_options(&p, &run.set) != CLI_END) {
        status = p.status;
    } else if (fits(&p, &run.set)) {
        run.dumps.pipeline.process = run.set.process;
        run.dumps.answers.on = run.set.answer_each;
        status = run_work(&run, p.operands, p.operand_count);
    }
    cli_symbols_close(&run.symbols);
    cli_maps_release(&run.dumps);
    image_verdicts_release(&run.images);
    VEC_RELEASE(&run.set.symbols);
    VEC_RELEASE(&run.set.uses);
    VEC_RELEASE(&run.set.maps);
    VEC_RELEASE(&run.set.path_rules);
    return status;
}
