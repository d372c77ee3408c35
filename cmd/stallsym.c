/* stallsym: dumps in, symbolicated dumps out. */
#include <string.h>

#include "base/parse.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cli.h"
#include "cli_dumps.h"
#include "cli_index.h"
#include "cli_symbols.h"
#include "dump/dump.h"
#include "index/fetch/debug_packages.h"
#include "symbolize/image_verdicts.h"

enum {
    MAX_AGE_DAYS = 100000,
    WINDOW_PER_JOB = 16,
    LOCATION_TEXT = 160 /* bytes in the output, about */,
    HINTED_FILES = 32
};
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
    OPT_NO_LEARN,
    OPT_QUIET
};

enum require { REQUIRE_NOTHING, REQUIRE_APP, REQUIRE_ALL };

struct sym_settings {
    struct cli_list symbols, uses;
    const char *output, *missing;
    uint64_t jobs;
    enum require require;
    const char *store, *add, *learn;
    const char *fetch_command;
    enum cli_servers servers;
    const char *upkeep; /* the store of --list, --verify or --gc */
    enum cli_store_work work;
    uint64_t max_age_days, max_bytes;
    bool no_learn, text, raw, linkage_names, full_names, quiet, host, no_index, index;
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
    {OPT_RAW, 0, "raw", NULL, "convert reports to stall dumps, and look nothing up",
     CLI_FLAG(struct sym_settings, raw)},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary", CLI_FLAG(struct sym_settings, quiet)},
};

static const struct cli_tool tool = {
    .name = "stallsym",
    .synopsis = "[-d PATH]... [-F json|text] [-o FILE] [DUMP|FOLDER|-]...\n"
                "--index [--store DIR] [-j N] PATH...\n"
                "--add STORE [-j N] PATH...\n"
                "--list STORE [-o FILE]\n"
                "--verify STORE\n"
                "--gc STORE [--max-age DAYS] [--max-size SIZE]\n"
                "--raw [-o FILE] [REPORT|FOLDER|-]...",
    .summary =
        "Turns the raw addresses of stall dumps and of other tools' reports into names, files\n"
        "and lines.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer =
        "Inputs are recognised by content: stall dumps, KSCrash and Matrix JSON, MetricKit "
        "payloads,\n"
        "Apple's .ips and .crash, spindump; and gzip of them.\n"
        "Exit status: 0 every dump was written, resolved or not; 1 something could not be read or\n"
        "written; 2 usage; 3 --require-symbols.",
};

struct sym_run {
    struct cli_dumps dumps;
    struct cli_output output;
    struct cli_symbols symbols;
    struct sym_settings set;
    uint64_t frames, resolved, learned, replaced_bytes, lacking;
    struct image_verdicts images;
};

/* ---- work ---- */

/* The output of one dump, and its counts. */
struct sym_result {
    struct strbuf text;
    uint64_t frames, resolved, learned;
};

static void count_stack(struct sym_result *r, const struct dump *d, const struct dump_stack *s) {
    for (size_t i = 0; s->locations && i < s->frame_count; i++) {
        enum dump_source source = d->locations[s->locations[i]].source;
        r->frames++;
        r->resolved += source != DUMP_SOURCE_NONE;
        r->learned += source == DUMP_SOURCE_LEARNED;
    }
}

static void count_frames(struct sym_result *r, const struct dump *d) {
    for (size_t i = 0; i < d->thread_count; i++) {
        count_stack(r, d, &d->threads[i].stack);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        count_stack(r, d, &d->samples[i]);
    }
}

static enum st sym_work(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    (void)worker;
    struct sym_run *run = ctx;
    struct sym_result *r = result;
    struct dump_addition add;
    struct sink sink = sink_to_strbuf(&r->text);
    if (run->set.raw) {
        dump_write_raw(d, &sink);
        return sink_close(&sink, e);
    }
    if (cli_symbols_dump(&run->symbols, d, &add, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK;
    count_frames(r, d);
    if (run->set.text) {
        symbolize_report(d, &sink);
    } else {
        (void)strbuf_room(&r->text, d->text_len + add.location_count * LOCATION_TEXT);
        st = dump_write_spliced(d, &add, &sink, e);
    }
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

static void sym_release(void *result) {
    struct sym_result *r = result;
    strbuf_release(&r->text);
}

/* ---- results, in input order ---- */

static enum st sym_take(void *ctx, struct dump *d, void *result, struct err *e) {
    (void)e;
    struct sym_run *run = ctx;
    const struct sym_result *r = result;
    if (run->set.text && run->dumps.pipeline.dumps > 0 && r->text.len > 0) {
        sink_str(&run->output.sink, "\n----------------------------------------\n\n");
    }
    sink_write(&run->output.sink, r->text.data, r->text.len);
    run->lacking += d->lack != NULL;
    if (!run->set.raw) {
        run->frames += r->frames;
        run->resolved += r->resolved;
        run->learned += r->learned;
        run->replaced_bytes += d->replaced_bytes;
        image_verdicts_note(&run->images, d);
    }
    return ST_OK;
}

static void sym_take_session(void *ctx, const char *where, const char *text, size_t len) {
    (void)where;
    struct sym_run *run = ctx;
    if (!run->set.text) {
        dump_pipeline_write_line(&run->output.sink, text, len);
    }
}

static void sym_idle(void *ctx) {
    struct sym_run *run = ctx;
    sink_flush(&run->output.sink);
}

static bool sym_unwanted(void *ctx) {
    const struct sym_run *run = ctx;
    return cli_output_failed(&run->output);
}

static const struct dump_pipeline_ops dumps_ops = {.result_size = sizeof(struct sym_result),
                                                   .window = WINDOW_PER_JOB,
                                                   .work = sym_work,
                                                   .take = sym_take,
                                                   .release = sym_release,
                                                   .take_session = sym_take_session,
                                                   .idle = sym_idle,
                                                   .unwanted = sym_unwanted};

/* ---- summary ---- */

static void say_line(void *ctx, const char *line) {
    (void)ctx;
    cli_say(tool.name, "%s", line);
}

/* Names the packages whose debug info is missing here, where dpkg knows them. */
static void tell_packages(const struct image_verdicts *images) {
    const char *files[HINTED_FILES];
    struct strbuf names = {0};
    size_t count = image_verdicts_bare_files(images, files, HINTED_FILES);
    if (debug_packages_find(DPKG_INFO, files, count, &names, NULL) == ST_OK) {
        cli_say(tool.name, "packages with the debug info (some are called -dbg): %s",
                strbuf_cstr(&names));
    }
    strbuf_release(&names);
}

/* What was found, and what was not. */
static void summarise_symbols(const struct sym_run *run) {
    struct strbuf verdicts = {0};
    image_verdicts_count(&run->images, &verdicts);
    cli_say(tool.name, "%llu dump%s, %llu of %llu frames resolved; images: %s",
            (unsigned long long)run->dumps.pipeline.dumps,
            run->dumps.pipeline.dumps == 1 ? "" : "s", (unsigned long long)run->resolved,
            (unsigned long long)run->frames, verdicts.len ? strbuf_cstr(&verdicts) : "none");
    strbuf_release(&verdicts);
    cli_symbols_tell_learned(&run->symbols, run->learned);
    image_verdicts_list(&run->images, say_line, NULL);
    tell_packages(&run->images);
}

static void sym_summarise(const struct sym_run *run) {
    if (run->set.raw) {
        cli_say(tool.name, "%llu dump%s, nothing looked up",
                (unsigned long long)run->dumps.pipeline.dumps,
                run->dumps.pipeline.dumps == 1 ? "" : "s");
    } else {
        summarise_symbols(run);
        cli_fetch_summarise(run->symbols.fetch, tool.name);
    }
    if (run->dumps.pipeline.sessions > 0) {
        cli_say(tool.name, "%llu session record%s passed through",
                (unsigned long long)run->dumps.pipeline.sessions,
                run->dumps.pipeline.sessions == 1 ? "" : "s");
    }
    if (run->replaced_bytes > 0) {
        cli_say(tool.name,
                "%llu bytes or numbers that JSON cannot hold were replaced while reading",
                (unsigned long long)run->replaced_bytes);
    }
    if (run->lacking > 0) {
        cli_say(tool.name, "%llu dump%s a \"lack\": what could not be read",
                (unsigned long long)run->lacking, run->lacking == 1 ? " has" : "s have");
    }
    if (run->dumps.failures.count > 0) {
        cli_say(tool.name, "%zu failure%s, see above", run->dumps.failures.count,
                run->dumps.failures.count == 1 ? "" : "s");
    }
}

/* ---- main ---- */

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
    }
    bool gate = (set->require == REQUIRE_ALL && run->images.lacks_any) ||
                (set->require == REQUIRE_APP && run->images.lacks_app);
    if (status == CLI_OK && gate) {
        cli_say(tool.name, "--require-symbols: an image lacks debug info");
        status = CLI_GATE;
    }
    return status;
}

/* The options that this kind of run heeds, and why it heeds no others. */
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
    if (set->index || set->add) {
        *why = "with --index and --add nothing is symbolicated";
        return always | CLI_BIT(OPT_INDEX) | CLI_BIT(OPT_ADD) | CLI_BIT(OPT_STORE) |
               CLI_BIT(OPT_NO_INDEX);
    }
    if (set->raw) {
        *why = "with --raw nothing is looked up";
        return always | CLI_BIT(OPT_RAW) | CLI_BIT(OPT_OUTPUT) |
               (set->text ? 0 : CLI_BIT(OPT_FORMAT));
    }
    *why = "it belongs to --gc";
    return ~limits;
}

/* A useless option may be a gate that then never closes. False after a printed message. */
static bool fits(const struct cli_parser *p, const struct sym_settings *set) {
    const char *why;
    const struct cli_option *useless = cli_useless(p, heeded_options(set, &why));
    char typed[CLI_TYPED];
    if (useless) {
        cli_usage_error(&tool, "%s does not fit: %s", cli_typed(p, useless->id, typed), why);
    } else if (set->work != CLI_STORE_NOTHING && p->operand_count > 0) {
        return cli_reject(&tool, "'%s' does not fit: %s", p->operands[0], why);
    }
    return !useless && cli_symbols_check_learn(&tool, set->learn, set->no_learn);
}

/* Makes indexes, and nothing else. */
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
    if (!cli_store_open(&store, set->add ? set->add : set->store, set->add != NULL,
                        (unsigned)set->jobs, failures)) {
        return CLI_FAILED;
    }
    if (!store) {
        return cli_usage_error(&tool,
                               "neither XDG_CACHE_HOME nor HOME is a folder: name a --store");
    }
    if (set->add) {
        /* If it cannot be written, each file that is added says so. */
        (void)!index_store_hold(store, false);
    }
    struct cli_index x = {.tool = tool.name,
                          .store = store,
                          .permanent = set->add,
                          .threads = (unsigned)set->jobs,
                          .quiet = set->quiet,
                          .failures = failures};
    cli_index_paths(&x, paths, count);
    index_store_free(store); /* the failures of its files were told already */
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
    cli_dumps_init(&run.dumps, &tool, &dumps_ops, &run);
    dump_library_init();
    cli_begin(&p, &tool, argc, argv);
    if (cli_read_options(&p, &run.set) != CLI_END) {
        status = p.status;
    } else if (fits(&p, &run.set)) {
        status = run_work(&run, p.operands, p.operand_count);
    }
    cli_symbols_close(&run.symbols);
    image_verdicts_release(&run.images);
    VEC_RELEASE(&run.set.symbols);
    VEC_RELEASE(&run.set.uses);
    return status;
}
