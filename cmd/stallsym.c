/* stallsym: dumps in, symbolicated dumps out. */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cli.h"
#include "cli_dumps.h"
#include "cli_index.h"
#include "cli_store.h"
#include "cli_symbols.h"
#include "dump/dump.h"
#include "image_verdicts.h"

enum { WINDOW_PER_JOB = 16, LOCATION_TEXT = 160 /* bytes in the output, about */ };
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
    OPT_STORE,
    OPT_NO_INDEX,
    OPT_INDEX,
    OPT_ADD,
    OPT_RAW,
    OPT_QUIET
};

static const struct cli_option options[] = {
    {OPT_SYMBOLS, 'd', "symbols", "PATH",
     "debug files: dSYM, ELF file, folder or archive of them, or store; repeatable.\n"
     "Without it, the images' own paths on this host are tried"},
    {OPT_USE, 0, "use", "NAME=FILE", "take FILE for the image NAME, whatever its id; repeatable"},
    {OPT_HOST, 0, "host-images", NULL, "try the images' own paths and /usr/lib/debug too"},
    {OPT_FORMAT, 'F', "format", "json|text", "JSON Lines (default), or a report to read"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout"},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it"},
    {OPT_REQUIRE, 0, "require-symbols", "[=app|all]",
     "exit 3 if an image (of the app, the default) lacks debug info"},
    {OPT_MISSING, 0, "missing-out", "FILE",
     "list the images without debug info there: id, name, arch, version"},
    {OPT_LINKAGE, 0, "linkage-names", NULL, "leave mangled names as they are"},
    CLI_STORE_OPTION(OPT_STORE),
    CLI_NO_INDEX_OPTION(OPT_NO_INDEX),
    {OPT_INDEX, 0, "index", NULL, "make the symbol indexes of the debug files PATH... now"},
    {OPT_ADD, 0, "add", "STORE",
     "add the debug files PATH... to the permanent store STORE, for -d STORE"},
    {OPT_RAW, 0, "raw", NULL, "convert reports to stall dumps, and look nothing up"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
};

static const struct cli_tool tool = {
    .name = "stallsym",
    .synopsis = "[-d PATH]... [-F json|text] [-o FILE] [DUMP|FOLDER|-]...\n"
                "--index [--store DIR] [-j N] PATH...\n"
                "--add STORE [-j N] PATH...\n"
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

enum require { REQUIRE_NOTHING, REQUIRE_APP, REQUIRE_ALL };

struct run {
    struct cli_dumps dumps;
    struct cli_output output;
    struct cli_symbols symbols;
    bool text, raw;
    uint64_t frames, resolved, replaced_bytes;
    struct image_verdicts images;
};

/* ---- work ---- */

/* What is to be written of a dump, and what is counted of it. */
struct result {
    struct strbuf text;
    uint64_t frames, resolved;
};

static void count_stack(struct result *r, const struct dump *d, const struct dump_stack *s) {
    for (size_t i = 0; s->locations && i < s->frame_count; i++) {
        r->frames++;
        r->resolved += d->locations[s->locations[i]].source != DUMP_SOURCE_NONE;
    }
}

static void count_frames(struct result *r, const struct dump *d) {
    for (size_t i = 0; i < d->thread_count; i++) {
        count_stack(r, d, &d->threads[i].stack);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        count_stack(r, d, &d->samples[i]);
    }
}

static enum st work(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    (void)worker;
    struct run *run = ctx;
    struct result *r = result;
    struct dump_addition add;
    struct sink sink = sink_to_strbuf(&r->text);
    if (run->raw) {
        dump_write_raw(d, &sink);
        return sink_close(&sink, e);
    }
    if (symbolize_dump(run->symbols.symbolizer, d, &add, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK;
    count_frames(r, d);
    if (run->text) {
        symbolize_report(d, &sink);
    } else {
        (void)strbuf_room(&r->text, d->text_len + add.location_count * LOCATION_TEXT);
        st = dump_write_spliced(d, &add, &sink, e);
    }
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

static void release(void *result) {
    struct result *r = result;
    strbuf_release(&r->text);
}

/* ---- results, in input order ---- */

static enum st take(void *ctx, struct dump *d, void *result, struct err *e) {
    (void)e;
    struct run *run = ctx;
    const struct result *r = result;
    if (run->text && run->dumps.dumps > 0 && r->text.len > 0) {
        sink_str(&run->output.sink, "\n----------------------------------------\n\n");
    }
    sink_write(&run->output.sink, r->text.data, r->text.len);
    if (!run->raw) {
        run->frames += r->frames;
        run->resolved += r->resolved;
        run->replaced_bytes += d->replaced_bytes;
        image_verdicts_note(&run->images, d);
    }
    return ST_OK;
}

static void take_session(void *ctx, const char *text, size_t len) {
    struct run *run = ctx;
    if (!run->text) {
        cli_dumps_write_line(&run->output.sink, text, len);
    }
}

static void idle(void *ctx) {
    struct run *run = ctx;
    sink_flush(&run->output.sink);
}

static bool unwanted(void *ctx) {
    const struct run *run = ctx;
    return cli_output_failed(&run->output);
}

static const struct cli_dumps_ops dumps_ops = {.result_size = sizeof(struct result),
                                               .window = WINDOW_PER_JOB,
                                               .work = work,
                                               .take = take,
                                               .release = release,
                                               .take_session = take_session,
                                               .idle = idle,
                                               .unwanted = unwanted};

/* ---- summary ---- */

/* What was found, and what was not. */
static void summarise_symbols(const struct run *run) {
    struct strbuf verdicts = {0};
    image_verdicts_count(&run->images, &verdicts);
    cli_say(tool.name, "%llu dump%s, %llu of %llu frames resolved; images: %s",
            (unsigned long long)run->dumps.dumps, run->dumps.dumps == 1 ? "" : "s",
            (unsigned long long)run->resolved, (unsigned long long)run->frames,
            verdicts.len ? strbuf_cstr(&verdicts) : "none");
    strbuf_release(&verdicts);
    image_verdicts_say(&run->images, tool.name);
}

static void summarise(const struct run *run) {
    if (run->raw) {
        cli_say(tool.name, "%llu dump%s, nothing looked up", (unsigned long long)run->dumps.dumps,
                run->dumps.dumps == 1 ? "" : "s");
    } else {
        summarise_symbols(run);
    }
    if (run->dumps.sessions > 0) {
        cli_say(tool.name, "%llu session record%s passed through",
                (unsigned long long)run->dumps.sessions, run->dumps.sessions == 1 ? "" : "s");
    }
    if (run->replaced_bytes > 0) {
        cli_say(tool.name,
                "%llu bytes or numbers that JSON cannot hold were replaced while reading",
                (unsigned long long)run->replaced_bytes);
    }
    if (run->dumps.failures.count > 0) {
        cli_say(tool.name, "%zu failure%s, see above", run->dumps.failures.count,
                run->dumps.failures.count == 1 ? "" : "s");
    }
}

/* ---- main ---- */

struct settings {
    VEC(const char *) symbols, uses; /* as given */
    const char *output, *missing;
    uint64_t jobs;
    enum require require;
    const char *store, *add;
    bool linkage_names, quiet, host, no_index, index;
};

static int process(struct run *run, const struct settings *set, char **operands, size_t count) {
    if (!cli_output_open(&run->output, set->output, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    int status = cli_dumps_run(&run->dumps, (unsigned)set->jobs, operands, count);
    cli_output_close(&run->output, status == CLI_OK, &run->dumps.failures);
    if (status != CLI_OK) {
        return status;
    }
    if (set->missing) {
        image_verdicts_write(&run->images, set->missing, &run->dumps.failures);
    }
    status = cli_exit_status(&run->dumps.failures);
    if (!set->quiet) {
        summarise(run);
    }
    bool gate = (set->require == REQUIRE_ALL && run->images.lacks_any) ||
                (set->require == REQUIRE_APP && run->images.lacks_app);
    if (status == CLI_OK && gate) {
        cli_say(tool.name, "--require-symbols: an image lacks debug info");
        status = CLI_GATE;
    }
    return status;
}

static bool no_memory(struct run *run) {
    struct err e = {0};
    err_nomem(&e);
    cli_dumps_fail(&run->dumps, NULL, &e);
    return false;
}

static bool take_option(struct run *run, struct settings *set, const struct cli_parser *p, int id) {
    static const char *const formats[] = {"json", "text", NULL};
    static const char *const requires[] = {"app", "all", NULL};
    const char *value = p->value;
    int word = 0;
    switch (id) {
    case OPT_SYMBOLS:
        return VEC_PUSH(&set->symbols, value) || no_memory(run);
    case OPT_USE:
        return cli_symbols_check_use(&tool, value) &&
               (VEC_PUSH(&set->uses, value) || no_memory(run));
    case OPT_HOST:
        set->host = true;
        return true;
    case OPT_FORMAT:
        word = cli_choice(p, formats);
        run->text = word == 1;
        return word >= 0;
    case OPT_OUTPUT:
        set->output = value;
        return true;
    case OPT_JOBS:
        return cli_number(p, 1, CLI_JOBS_MAX, &set->jobs);
    case OPT_REQUIRE:
        word = value ? cli_choice(p, requires) : 0;
        set->require = word == 1 ? REQUIRE_ALL : REQUIRE_APP;
        return word >= 0;
    case OPT_MISSING:
        set->missing = value;
        run->images.list_missing = true;
        return true;
    case OPT_LINKAGE:
        set->linkage_names = true;
        return true;
    case OPT_STORE:
        set->store = value;
        return true;
    case OPT_NO_INDEX:
        set->no_index = true;
        return true;
    case OPT_INDEX:
        set->index = true;
        return true;
    case OPT_ADD:
        set->add = value;
        return true;
    case OPT_RAW:
        run->raw = true;
        return true;
    default:
        set->quiet = true;
        return true;
    }
}

/* A useless option may be a gate that then never closes. False after a printed message. */
static bool fits(const struct cli_parser *p, const struct run *run, const struct settings *set) {
    const uint64_t always = CLI_BIT(OPT_JOBS) | CLI_BIT(OPT_QUIET);
    const bool indexes = set->index || set->add;
    uint64_t useful = UINT64_MAX;
    if (indexes) {
        useful = always | CLI_BIT(OPT_INDEX) | CLI_BIT(OPT_ADD) | CLI_BIT(OPT_STORE) |
                 CLI_BIT(OPT_NO_INDEX);
    } else if (run->raw) {
        useful =
            always | CLI_BIT(OPT_RAW) | CLI_BIT(OPT_OUTPUT) | (run->text ? 0 : CLI_BIT(OPT_FORMAT));
    }
    const struct cli_option *useless = cli_useless(p, useful);
    char typed[CLI_TYPED];
    if (useless) {
        cli_usage_error(&tool, "%s does not fit: %s", cli_typed(p, useless->id, typed),
                        indexes ? "with --index and --add nothing is symbolicated"
                                : "with --raw nothing is looked up");
    }
    return !useless;
}

/* CLI_END to go on, else CLI_EXIT, and *status is what main returns. */
static int read_options(struct cli_parser *p, struct run *run, struct settings *set, int *status) {
    int id;
    *status = CLI_USAGE;
    while ((id = cli_next(p)) != CLI_END) {
        if (id == CLI_EXIT) {
            *status = p->status;
            return id;
        }
        if (!take_option(run, set, p, id)) {
            *status = run->dumps.failures.count ? CLI_FAILED : CLI_USAGE;
            return CLI_EXIT;
        }
    }
    return fits(p, run, set) ? CLI_END : CLI_EXIT;
}

/* Makes indexes, and nothing else. */
static int make_indexes(struct run *run, const struct settings *set, char **paths, size_t count) {
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
    struct cli_index x = {.tool = tool.name,
                          .store = store,
                          .permanent = set->add,
                          .threads = (unsigned)set->jobs,
                          .quiet = set->quiet,
                          .failures = failures};
    cli_index_paths(&x, paths, count);
    index_store_free(store); /* its trouble was a failure of each file */
    return cli_exit_status(failures);
}

static int symbolicate(struct run *run, const struct settings *set, char **operands, size_t count) {
    const struct cli_symbols_options o = {.paths = set->symbols.data,
                                          .path_count = set->symbols.len,
                                          .uses = set->uses.data,
                                          .use_count = set->uses.len,
                                          .store = set->store,
                                          .no_index = set->no_index,
                                          .host = set->host || set->symbols.len == 0,
                                          .linkage_names = set->linkage_names};
    if (!cli_symbols_open(&run->symbols, &o, &run->dumps, (unsigned)set->jobs)) {
        return CLI_FAILED;
    }
    return process(run, set, operands, count);
}

int main(int argc, char **argv) {
    struct run run = {0};
    struct settings set = {.jobs = pool_processors()};
    struct cli_parser p;
    int status;
    cli_dumps_init(&run.dumps, &tool, &dumps_ops, &run);
    dump_library_init();
    cli_begin(&p, &tool, argc, argv);
    if (read_options(&p, &run, &set, &status) == CLI_END) {
        status = set.index || set.add ? make_indexes(&run, &set, p.operands, p.operand_count)
                                      : symbolicate(&run, &set, p.operands, p.operand_count);
    }
    cli_symbols_close(&run.symbols);
    image_verdicts_release(&run.images);
    VEC_RELEASE(&set.symbols);
    VEC_RELEASE(&set.uses);
    return status;
}
