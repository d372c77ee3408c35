/* stallsym: dumps in, symbolicated dumps out. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cli.h"
#include "cli_dumps.h"
#include "debug/debug.h"
#include "dump/dump.h"
#include "index/symbol_set.h"
#include "symbolize/symbolize.h"

enum { LISTED_MAX = 20, WINDOW_PER_JOB = 4 };
enum {
    OPT_SYMBOLS = 1,
    OPT_USE,
    OPT_HOST,
    OPT_FORMAT,
    OPT_OUTPUT,
    OPT_JOBS,
    OPT_REQUIRE,
    OPT_LINKAGE,
    OPT_QUIET
};

static const struct cli_option options[] = {
    {OPT_SYMBOLS, 'd', "symbols", "PATH",
     "debug files: a dSYM, an ELF file or a folder of them; repeatable.\n"
     "Without it, the images' own paths on this host are tried"},
    {OPT_USE, 0, "use", "NAME=FILE", "take FILE for the image NAME, whatever its id; repeatable"},
    {OPT_HOST, 0, "host-images", NULL, "try the images' own paths and /usr/lib/debug too"},
    {OPT_FORMAT, 'F', "format", "json|text", "JSON Lines (default), or a report to read"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout"},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it"},
    {OPT_REQUIRE, 0, "require-symbols", "[=app|all]",
     "exit 3 if an image (of the app, the default) lacks debug info"},
    {OPT_LINKAGE, 0, "linkage-names", NULL, "leave mangled names as they are"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
};

static const struct cli_tool tool = {
    .name = "stallsym",
    .synopsis = "[-d PATH]... [-F json|text] [-o FILE] [DUMP|FOLDER|-]...",
    .summary = "Turns the raw addresses of stall dumps into names, files and lines.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer =
        "Exit status: 0 every dump was written, resolved or not; 1 something could not be read or\n"
        "written; 2 usage; 3 --require-symbols.",
};

enum require { REQUIRE_NOTHING, REQUIRE_APP, REQUIRE_ALL };

/* An image of the run, for the summary. */
struct seen_image {
    const char *name; /* and id; owned by run.image_keys */
    enum dump_symbols symbols;
    const char *file; /* owned by the symbolizer */
    bool in_app;
};

struct run {
    struct cli_dumps dumps;
    struct cli_output output;
    struct symbolizer *symbolizer;
    bool text;
    uint64_t frames, resolved, replaced_bytes;
    struct map image_keys;
    VEC(struct seen_image) images;
    bool lacks_any, lacks_app; /* an image, one of the app, without debug info */
};

/* ---- work ---- */

/* The result is a strbuf: what is to be written. */
static enum st work(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    (void)worker;
    struct run *run = ctx;
    struct dump_addition add;
    if (symbolize_dump(run->symbolizer, d, &add, e) != ST_OK) {
        return ST_ERR;
    }
    struct sink sink = sink_to_strbuf(result);
    enum st st = ST_OK;
    if (run->text) {
        symbolize_report(d, &sink);
    } else {
        st = dump_write_spliced(d, &add, &sink, e);
    }
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

static void release(void *result) {
    strbuf_release(result);
}

/* ---- results, in input order ---- */

static void count_image(struct run *run, const struct dump_image *image) {
    char key[IMAGE_ID_TEXT + 256];
    char id[IMAGE_ID_TEXT];
    bool lacks = image->symbols != DUMP_SYMBOLS_OK;
    run->lacks_any = run->lacks_any || lacks;
    run->lacks_app = run->lacks_app || (lacks && image->in_app);
    image_id_text(&image->id, id);
    /* One image may have several verdicts in a run: an earlier one had symbols for some dumps. */
    int len = snprintf(key, sizeof key, "%.200s %s%c%d%d", image->name ? image->name : "?", id, 0,
                       (int)image->symbols, image->in_app);
    bool added = false;
    size_t n = len < 0 ? 0 : (size_t)len < sizeof key ? (size_t)len : sizeof key - 1;
    struct map_entry *entry = map_put(&run->image_keys, key, n, run->images.len, &added);
    if (!entry || !added) {
        return; /* out of memory costs a line of the summary, nothing else */
    }
    struct seen_image seen = {entry->key, image->symbols, image->symbols_file, image->in_app};
    (void)VEC_PUSH(&run->images, seen);
}

static void count_stack(struct run *run, const struct dump *d, const struct dump_stack *s) {
    for (size_t i = 0; s->locations && i < s->frame_count; i++) {
        run->frames++;
        run->resolved += d->locations[s->locations[i]].source != DUMP_SOURCE_NONE;
    }
}

static void count_dump(struct run *run, const struct dump *d) {
    run->replaced_bytes += d->replaced_bytes;
    for (size_t i = 0; i < d->image_count; i++) {
        count_image(run, &d->images[i]);
    }
    for (size_t i = 0; i < d->thread_count; i++) {
        count_stack(run, d, &d->threads[i].stack);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        count_stack(run, d, &d->samples[i]);
    }
}

static enum st take(void *ctx, struct dump *d, void *result, struct err *e) {
    (void)e;
    struct run *run = ctx;
    const struct strbuf *out = result;
    if (run->text && run->dumps.dumps > 0 && out->len > 0) {
        sink_str(&run->output.sink, "\n----------------------------------------\n\n");
    }
    sink_write(&run->output.sink, out->data, out->len);
    count_dump(run, d);
    return ST_OK;
}

/* A document that is no dump but belongs to the stream goes through on one line. */
static void take_session(void *ctx, const char *text, size_t len) {
    struct run *run = ctx;
    while (!run->text && len > 0) {
        size_t plain = 0;
        while (plain < len && text[plain] != '\n' && text[plain] != '\r') {
            plain++;
        }
        sink_write(&run->output.sink, text, plain);
        sink_str(&run->output.sink, plain < len ? " " : "\n");
        plain += plain < len;
        text += plain;
        len -= plain;
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

static const struct cli_dumps_ops dumps_ops = {.result_size = sizeof(struct strbuf),
                                               .window = WINDOW_PER_JOB,
                                               .work = work,
                                               .take = take,
                                               .release = release,
                                               .take_session = take_session,
                                               .idle = idle,
                                               .unwanted = unwanted};

/* ---- symbols and summary ---- */

/* Runs on workers, too. */
static void complain(void *ctx, const char *path, const struct err *why) {
    struct run *run = ctx;
    cli_dumps_fail(&run->dumps, path, why);
}

static enum st find_symbols(void *ctx, const struct symbol_request *r, struct symbol_file *out,
                            struct err *e) {
    return symbol_set_find(ctx, r, out, e);
}

/* What came of adding a path. */
static void tell_added(struct run *run, const char *path, enum st st, struct err *e) {
    if (st == ST_NONE) {
        err_set(e, ERR_IO, "no such file or folder");
    }
    if (st != ST_OK) {
        cli_dumps_fail(&run->dumps, path, e);
    }
}

static bool check_use(const char *value) {
    const char *equals = strchr(value, '=');
    if (!equals || equals == value || !equals[1]) {
        cli_usage_error(&tool, "--use takes NAME=FILE, not '%s'", value);
        return false;
    }
    return true;
}

static void add_use(struct run *run, struct symbol_set *set, const char *value) {
    const char *file = strchr(value, '=') + 1; /* it was checked */
    struct strbuf name = {0};
    struct err e = {0};
    strbuf_add(&name, value, (size_t)(file - 1 - value));
    enum st st = strbuf_check(&name, &e);
    if (st == ST_OK) {
        st = symbol_set_use(set, strbuf_cstr(&name), file, &e);
    }
    tell_added(run, file, st, &e);
    strbuf_release(&name);
}

static size_t count_verdict(const struct run *run, enum dump_symbols v) {
    size_t n = 0;
    for (size_t i = 0; i < run->images.len; i++) {
        n += run->images.data[i].symbols == v;
    }
    return n;
}

/* The images that somebody may want to know about, those of the app first. */
static void list_images(const struct run *run) {
    size_t listed = 0, left_out = 0;
    for (int app = 1; app >= 0; app--) {
        for (size_t i = 0; i < run->images.len; i++) {
            const struct seen_image *s = &run->images.data[i];
            bool expected = s->symbols == DUMP_SYMBOLS_OK ||
                            (s->symbols == DUMP_SYMBOLS_MISSING && !s->in_app); /* the system's */
            if (expected || s->in_app != (app == 1)) {
                continue;
            }
            if (listed == LISTED_MAX) {
                left_out++;
                continue;
            }
            listed++;
            bool nearest = s->symbols == DUMP_SYMBOLS_UUID_MISMATCH ||
                           s->symbols == DUMP_SYMBOLS_ARCH_MISMATCH;
            cli_say(tool.name, "  %-14s %s%s%s%s", dump_symbols_text(s->symbols), s->name,
                    s->in_app ? " (app)" : "", s->file ? nearest ? ", nearest: " : ", file: " : "",
                    s->file ? s->file : "");
        }
    }
    if (left_out > 0) {
        cli_say(tool.name, "  … and %zu more", left_out);
    }
}

static void summarise(const struct run *run) {
    struct strbuf verdicts = {0};
    for (int v = DUMP_SYMBOLS_OK; v <= DUMP_SYMBOLS_DAMAGED; v++) {
        size_t n = count_verdict(run, (enum dump_symbols)v);
        if (n > 0) {
            strbuf_addf(&verdicts, "%s%zu %s", verdicts.len ? ", " : "", n,
                        dump_symbols_text((enum dump_symbols)v));
        }
    }
    cli_say(tool.name, "%llu dump%s, %llu of %llu frames resolved; images: %s",
            (unsigned long long)run->dumps.dumps, run->dumps.dumps == 1 ? "" : "s",
            (unsigned long long)run->resolved, (unsigned long long)run->frames,
            verdicts.len ? strbuf_cstr(&verdicts) : "none");
    strbuf_release(&verdicts);
    list_images(run);
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
    const char *output;
    uint64_t jobs;
    enum require require;
    bool linkage_names, quiet, host;
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
    status = cli_exit_status(&run->dumps.failures);
    if (!set->quiet) {
        summarise(run);
    }
    bool gate = (set->require == REQUIRE_ALL && run->lacks_any) ||
                (set->require == REQUIRE_APP && run->lacks_app);
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

static bool take_option(struct run *run, struct settings *set, int id, const char *value) {
    static const char *const formats[] = {"json", "text", NULL};
    static const char *const requires[] = {"app", "all", NULL};
    int word = 0;
    switch (id) {
    case OPT_SYMBOLS:
        return VEC_PUSH(&set->symbols, value) || no_memory(run);
    case OPT_USE:
        return check_use(value) && (VEC_PUSH(&set->uses, value) || no_memory(run));
    case OPT_HOST:
        set->host = true;
        return true;
    case OPT_FORMAT:
        word = cli_choice(&tool, "--format", value, formats);
        run->text = word == 1;
        return word >= 0;
    case OPT_OUTPUT:
        set->output = value;
        return true;
    case OPT_JOBS:
        return cli_number(&tool, "--jobs", value, 1, CLI_JOBS_MAX, &set->jobs);
    case OPT_REQUIRE:
        word = value ? cli_choice(&tool, "--require-symbols", value, requires) : 0;
        set->require = word == 1 ? REQUIRE_ALL : REQUIRE_APP;
        return word >= 0;
    case OPT_LINKAGE:
        set->linkage_names = true;
        return true;
    default:
        set->quiet = true;
        return true;
    }
}

/* Opens what the options name; what of it is unreadable is told and left out. */
static enum st start(struct run *run, const struct settings *set, struct symbol_set **symbols,
                     struct err *e) {
    if (symbol_set_new(symbols, complain, run, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < set->symbols.len; i++) {
        struct err why = {0};
        enum st st = symbol_set_add(*symbols, set->symbols.data[i], &why);
        tell_added(run, set->symbols.data[i], st, &why);
    }
    for (size_t i = 0; i < set->uses.len; i++) {
        add_use(run, *symbols, set->uses.data[i]);
    }
    if ((set->host || set->symbols.len == 0) && symbol_set_use_host(*symbols, e) != ST_OK) {
        return ST_ERR;
    }
    return symbolizer_new(&run->symbolizer, find_symbols, *symbols, set->linkage_names, e);
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
        if (!take_option(run, set, id, p->value)) {
            *status = run->dumps.failures.count ? CLI_FAILED : CLI_USAGE;
            return CLI_EXIT;
        }
    }
    return id;
}

int main(int argc, char **argv) {
    struct run run = {0};
    struct settings set = {.jobs = pool_processors()};
    struct symbol_set *symbols = NULL;
    struct err e = {0};
    struct cli_parser p;
    int status;
    cli_dumps_init(&run.dumps, &tool, &dumps_ops, &run);
    dump_library_init();
    debug_library_init();
    cli_begin(&p, &tool, argc, argv);
    if (read_options(&p, &run, &set, &status) == CLI_END) {
        if (start(&run, &set, &symbols, &e) == ST_OK) {
            status = process(&run, &set, p.operands, p.operand_count);
        } else {
            cli_fail(&run.dumps.failures, NULL, &e);
            status = CLI_FAILED;
        }
    }
    symbolizer_free(run.symbolizer);
    symbol_set_free(symbols);
    map_release(&run.image_keys);
    VEC_RELEASE(&run.images);
    VEC_RELEASE(&set.symbols);
    VEC_RELEASE(&set.uses);
    return status;
}
