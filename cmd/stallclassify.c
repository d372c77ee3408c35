/* stallclassify: symbolicated dumps in, one table of what to fix first out. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "classify/annotate.h"
#include "classify/triage.h"
#include "classify/where.h"
#include "classify_explain.h"
#include "classify_gate.h"
#include "classify_output.h"
#include "classify_rules.h"
#include "cli.h"
#include "cli_dumps.h"
#include "cli_store.h"
#include "cli_symbols.h"
#include "dump/dump.h"

enum { WINDOW_PER_JOB = 16 };
enum {
    OPT_SYMBOLS = 1,
    OPT_FORMAT,
    OPT_WHERE,
    OPT_RULES,
    OPT_IN_APP,
    OPT_NOT_IN_APP,
    OPT_LINT,
    OPT_EXPLAIN,
    OPT_LEVELS,
    OPT_INLINES,
    OPT_CAP,
    OPT_TOP,
    OPT_ANNOTATE,
    OPT_PARTIAL,
    OPT_EVERY,
    OPT_MERGE,
    OPT_BASELINE,
    OPT_FAIL_ON,
    OPT_MIN_USERS,
    OPT_EXPOSURE,
    OPT_OUTPUT,
    OPT_WIDTH,
    OPT_COLOR,
    OPT_STORE,
    OPT_JOBS
};

static const struct cli_option options[] = {
    {OPT_FORMAT, 'F', "format", "FORMAT",
     "table to read (default), json (stall-triage/1), csv, markdown, junit"},
    {OPT_WHERE, 0, "where", "TERMS",
     "count only dumps like these: 'app.version>=5.3 device.model~iPhone1.*';\n"
     "fields, operators: see man stallclassify; repeatable, all must hold"},
    {OPT_TOP, 0, "top", "N", "buckets shown (default: 20 where people read, else all; 0: all)"},
    {OPT_CAP, 0, "cap", "SECONDS", "what one stall counts at most (default 30; 0: no cap)"},
    {OPT_RULES, 0, "rules", "FILE",
     "rules that go before the built-in ones; repeatable.\n"
     "none: the innermost 2 and 4 frames as they are"},
    {OPT_IN_APP, 0, "in-app", "GLOB",
     "images that are the app's, by name, by path (with a slash), or @FILE: a list\n"
     "of UUIDs and build-ids; repeatable, before --rules"},
    {OPT_NOT_IN_APP, 0, "not-in-app", "GLOB", "images that are not, likewise"},
    {OPT_LINT, 0, "lint", NULL,
     "no dumps: tell what is wrong with rule files, or with the built-in rules"},
    {OPT_EXPLAIN, 0, "explain", "ID",
     "no table: which rule did what to which frame of this dump, or of the dump that\n"
     "costs most in this bucket; 4 or more characters of an id"},
    {OPT_LEVELS, 0, "levels", "N,M",
     "relevant frames in the keys of level 1 and of level 2 (default 2,4)"},
    {OPT_INLINES, 0, "inlines", NULL, "functions that were inlined count as frames"},
    {OPT_SYMBOLS, 'd', "symbols", "PATH",
     "symbolicate raw dumps first, with these debug files or store; repeatable"},
    CLI_STORE_OPTION(OPT_STORE),
    {OPT_ANNOTATE, 0, "annotate", NULL,
     "no table: pass every dump through with its bucket and cause, as \"class\""},
    {OPT_PARTIAL, 0, "partial", NULL,
     "no table: write the counts of this run, to be merged with others'"},
    {OPT_EVERY, 0, "every", "N", "… after each N dumps, and begin anew: for endless streams"},
    {OPT_MERGE, 0, "merge", NULL, "the inputs are partials: as if their dumps had been read here"},
    {OPT_BASELINE, 0, "baseline", "FILE",
     "no table: compare with the run whose partial this is, bucket by bucket"},
    {OPT_FAIL_ON, 0, "fail-on", "WHAT", "exit status 3 on these: new,regressed=20%,inconclusive"},
    {OPT_MIN_USERS, 0, "min-users", "N", "of a new bucket, and of a run, at least (default 20)"},
    {OPT_EXPOSURE, 0, "exposure", "FILE",
     "session records or a CSV: how long the app was used, which rates are of;\n"
     "without it shares are compared; repeatable"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout"},
    {OPT_WIDTH, 0, "width", "N", "columns of the table (default: the terminal's, else 100)"},
    {OPT_COLOR, 0, "color", "WHEN", "auto (default: on a terminal), always, never"},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it"},
};

static const struct cli_tool tool = {
    .name = "stallclassify",
    .synopsis = "[-F FORMAT] [--where TERMS] [--top N] [-d PATH]... [-o FILE] [DUMP|FOLDER|-]...\n"
                "--annotate [--where TERMS] [-d PATH]... [-o FILE] [DUMP|FOLDER|-]...\n"
                "--explain ID [--where TERMS] [-d PATH]... [-o FILE] [DUMP|FOLDER|-]...\n"
                "--lint [-o FILE] [RULES]...\n"
                "--partial [--every N] [-o FILE] [DUMP|FOLDER|-]...\n"
                "--merge [--partial] [-F FORMAT] [-o FILE] [PARTIAL|FOLDER|-]...\n"
                "--baseline FILE [--fail-on WHAT] [--exposure FILE]... [--merge]\n"
                " [-F table|json] [-o FILE] [DUMP|FOLDER|-]...",
    .summary = "Sorts stall dumps into buckets by what the main thread was doing, most stalled "
               "time first.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer = "Dumps come from stallsym, or are symbolicated with -d; raw ones are sorted by\n"
              "(image id, offset).\n"
              "Exit status: 0 every dump was counted; 1 something could not be read or written,\n"
              "or --lint found something; 2 usage; 3 what --fail-on names is the case.",
};

struct settings {
    struct classify_output output;
    struct classify_gate gate;
    bool annotate, lint;
    uint64_t cap_s, jobs;
    struct key_options key;
    const char *store;
    VEC(const char *) symbols; /* in the order given */
    struct strbuf where;       /* the texts of --where */
};

struct run {
    struct cli_dumps dumps;
    struct cli_symbols symbols;
    struct classify_rules rules;
    struct classify_explain explain;
    struct cli_output output; /* of --annotate and --partial */
    struct where *where;
    struct triage *triage;
    uint64_t rules_hash;
    struct keyer *keyers[CLI_JOBS_MAX]; /* one per worker */
    bool annotate, partial;
    uint64_t every, since; /* dumps of one partial, and of the one under way */
    bool broken;           /* memory ran out: the counts cannot be trusted any more */
};

static void fail(struct run *run, const char *where, const struct err *why) {
    cli_dumps_fail(&run->dumps, where, why);
}

/* ---- dumps ---- */

/* What work leaves for take. */
struct result {
    struct stall_key key;
    bool wanted;
    enum explain_fit fit; /* of --explain */
    struct strbuf text;   /* of --annotate and --explain */
};

static enum st annotate(const struct run *run, const struct dump *d, struct result *r,
                        struct err *e) {
    struct sink sink = sink_to_strbuf(&r->text);
    enum st st = annotate_dump(d, &r->key, run->rules_hash, &sink, e);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

static enum st work(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    struct run *run = ctx;
    struct result *r = result;
    struct dump_addition add;
    if (run->symbols.symbolizer && symbolize_dump(run->symbols.symbolizer, d, &add, e) != ST_OK) {
        return ST_ERR;
    }
    if (keyer_key(run->keyers[worker], d, &r->key, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = where_match(run->where, d, &r->key, e);
    r->wanted = st == ST_OK;
    if (st == ST_ERR || !r->wanted) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    if (run->explain.id) {
        return classify_explain_dump(&run->explain, run->keyers[worker], d, &r->key, &r->fit,
                                     &r->text, e);
    }
    return run->annotate ? annotate(run, d, r, e) : ST_OK;
}

/* Writes the counts so far, and begins anew. */
static enum st next_partial(struct run *run, struct err *e) {
    run->since = 0;
    enum st st = triage_write_partial(run->triage, &run->output.sink, e);
    sink_flush(&run->output.sink);
    return st == ST_OK ? triage_restart(&run->triage, e) : st;
}

static enum st take(void *ctx, struct dump *d, void *result, struct err *e) {
    struct run *run = ctx;
    const struct result *r = result;
    if (run->annotate) {
        sink_write(&run->output.sink, r->text.data, r->text.len);
        return ST_OK;
    }
    if (run->explain.id) {
        classify_explain_offer(&run->explain, d, r->fit, &r->text);
        return ST_OK;
    }
    if (run->broken) {
        return ST_OK;
    }
    enum st st = triage_add(run->triage, d, &r->key, r->wanted, NULL, e);
    if (st == ST_OK && run->every && ++run->since == run->every) {
        st = next_partial(run, e);
    }
    run->broken = st != ST_OK;
    return st;
}

static void release(void *result) {
    struct result *r = result;
    strbuf_release(&r->text);
}

static void take_session(void *ctx, const char *text, size_t len) {
    struct run *run = ctx;
    struct err e = {0};
    if (run->annotate) {
        cli_dumps_write_line(&run->output.sink, text, len);
    } else if (!run->broken && triage_add_session(run->triage, text, len, &e) != ST_OK) {
        run->broken = e.code == ERR_NOMEM;
        fail(run, "session record", &e);
    }
}

static void idle(void *ctx) {
    struct run *run = ctx;
    if (run->annotate) {
        sink_flush(&run->output.sink);
    }
}

static bool unwanted(void *ctx) {
    const struct run *run = ctx;
    return run->broken || ((run->annotate || run->partial) && cli_output_failed(&run->output));
}

static const struct cli_dumps_ops dumps_ops = {.result_size = sizeof(struct result),
                                               .window = WINDOW_PER_JOB,
                                               .work = work,
                                               .take = take,
                                               .release = release,
                                               .take_session = take_session,
                                               .idle = idle,
                                               .unwanted = unwanted};

/* ---- options ---- */

static bool no_memory(struct run *run) {
    struct err e = {0};
    err_nomem(&e);
    fail(run, NULL, &e);
    return false;
}

/* Points at the mistake:
 *
 *     stallclassify: --where: no field is called 'app.versoin'
 *     stallclassify:   app.versoin>=5.3
 *     stallclassify:   ^ column 1
 */
static bool add_where(struct run *run, struct settings *s, const char *text) {
    struct err e = {0};
    size_t at;
    if (where_add(run->where, text, &at, &e) == ST_OK) {
        strbuf_addf(&s->where, "%s%s", s->where.len ? " " : "", text);
        return true;
    }
    if (e.code == ERR_NOMEM) {
        return no_memory(run);
    }
    cli_say(tool.name, "--where: %s", e.text);
    cli_say(tool.name, "  %s", text);
    cli_say(tool.name, "  %*s^ column %zu", (int)utf8_text_columns(text, at), "", at + 1);
    return false;
}

/* "2,4", or one number for both. */
static bool read_levels(struct settings *s, const char *value) {
    const char *comma = strchr(value, ',');
    size_t len = comma ? (size_t)(comma - value) : strlen(value);
    uint64_t n, m;
    bool ok = parse_u64(value, len, KEY_WANTED_MAX, &n);
    m = ok ? n : 0;
    ok = ok && (!comma || parse_u64(comma + 1, strlen(comma + 1), KEY_WANTED_MAX, &m));
    if (!ok || n == 0 || m < n) {
        cli_usage_error(&tool, "--levels takes N,M with 1 <= N <= M <= %d, not '%s'",
                        KEY_WANTED_MAX, value);
        return false;
    }
    s->key.wanted[0] = (unsigned)n;
    s->key.wanted[1] = (unsigned)m;
    return true;
}

static bool take_rules(struct run *run, const char *value) {
    if (strcmp(value, "none") == 0) {
        run->rules.raw = true;
        return true;
    }
    return VEC_PUSH(&run->rules.files, value) || no_memory(run);
}

static bool take_glob(struct run *run, bool in_app, const char *value) {
    struct side_glob glob = {.in_app = in_app, .glob = value};
    return VEC_PUSH(&run->rules.globs, glob) || no_memory(run);
}

static bool take_explain(struct run *run, const char *value) {
    run->explain.id = value;
    if (strlen(value) < EXPLAIN_ID_MIN) {
        cli_usage_error(&tool, "--explain needs at least %d characters of an id", EXPLAIN_ID_MIN);
        return false;
    }
    return true;
}

static bool take_option(struct run *run, struct settings *s, int id, const char *value) {
    int word = 0;
    switch (id) {
    case OPT_SYMBOLS:
        return VEC_PUSH(&s->symbols, value) || no_memory(run);
    case OPT_FORMAT:
        word = cli_choice(&tool, "--format", value, classify_formats);
        s->output.format = (enum classify_format)word;
        return word >= 0;
    case OPT_WHERE:
        return add_where(run, s, value);
    case OPT_RULES:
        return take_rules(run, value);
    case OPT_IN_APP:
    case OPT_NOT_IN_APP:
        return take_glob(run, id == OPT_IN_APP, value);
    case OPT_LINT:
        s->lint = true;
        return true;
    case OPT_EXPLAIN:
        return take_explain(run, value);
    case OPT_LEVELS:
        return read_levels(s, value);
    case OPT_INLINES:
        s->key.inlines = true;
        return true;
    case OPT_CAP:
        return cli_number(&tool, "--cap", value, 0, 1000000000, &s->cap_s);
    case OPT_TOP:
        return cli_number(&tool, "--top", value, 0, UINT32_MAX, &s->output.top);
    case OPT_ANNOTATE:
        s->annotate = true;
        return true;
    case OPT_OUTPUT:
        s->output.path = value;
        return true;
    case OPT_PARTIAL:
    case OPT_MERGE:
        *(id == OPT_MERGE ? &s->gate.merge : &s->gate.partial) = true;
        return true;
    case OPT_EVERY:
        return cli_number(&tool, "--every", value, 1, UINT64_MAX, &s->gate.every);
    case OPT_BASELINE:
        s->gate.baseline = value;
        return true;
    case OPT_FAIL_ON:
        return classify_read_fail_on(&tool, &s->gate, value);
    case OPT_MIN_USERS:
        return cli_number(&tool, "--min-users", value, 1, UINT32_MAX, &s->gate.min_users);
    case OPT_EXPOSURE:
        return VEC_PUSH(&s->gate.exposure, value) || no_memory(run);
    case OPT_WIDTH:
        return cli_number(&tool, "--width", value, CLASSIFY_WIDTH_MIN, CLASSIFY_WIDTH_MAX,
                          &s->output.width);
    case OPT_COLOR:
        word = cli_choice(&tool, "--color", value, classify_colours);
        s->output.colour = (enum classify_colour)word;
        return word >= 0;
    case OPT_STORE:
        s->store = value;
        return true;
    default:
        return cli_number(&tool, "--jobs", value, 1, CLI_JOBS_MAX, &s->jobs);
    }
}

/* CLI_END to go on, else CLI_EXIT, and *status is what main returns. */
static int read_options(struct cli_parser *p, struct settings *s, struct run *run, int *status) {
    for (int id; (id = cli_next(p)) != CLI_END;) {
        if (id == CLI_EXIT) {
            *status = p->status;
            return CLI_EXIT;
        }
        if (!take_option(run, s, id, p->value)) {
            *status = run->dumps.failures.count ? CLI_FAILED : CLI_USAGE;
            return CLI_EXIT;
        }
    }
    *status = CLI_USAGE;
    if (run->rules.raw && (run->rules.files.len || run->rules.globs.len || s->lint)) {
        cli_usage_error(&tool, "--rules none excludes other rules");
        return CLI_EXIT;
    }
    if (s->lint + s->annotate + (run->explain.id != NULL) > 1) {
        cli_usage_error(&tool, "--annotate, --explain and --lint exclude each other");
        return CLI_EXIT;
    }
    bool gate = s->gate.partial || s->gate.merge || s->gate.baseline;
    if (gate && (s->lint || s->annotate || run->explain.id)) {
        cli_usage_error(&tool, "--annotate, --explain and --lint count nothing");
        return CLI_EXIT;
    }
    if (s->gate.baseline && s->output.format > CLASSIFY_JSON) {
        cli_usage_error(&tool, "with --baseline the formats are table and json");
        return CLI_EXIT;
    }
    if (!classify_check_gate(&tool, &s->gate)) {
        return CLI_EXIT;
    }
    return CLI_END;
}

/* ---- main ---- */

/* What else than the rules makes the keys is in their hash and name, too: outputs that were made
 * with other keys are not to be compared. */
static uint64_t hash_of_keys(const struct settings *s, struct classify_rules *r) {
    static const char raw_name[] = "none";
    uint64_t hash = r->raw ? hash_bytes(raw_name, sizeof raw_name - 1) : rules_hash(r->set);
    struct strbuf more = {0};
    if (s->key.wanted[0]) {
        strbuf_addf(&more, ", levels %u,%u", s->key.wanted[0], s->key.wanted[1]);
    }
    strbuf_addstr(&more, s->key.inlines ? ", inlines" : "");
    if (more.len) {
        strbuf_add(&r->name, more.data, more.len);
        hash ^= hash_bytes(more.data, more.len);
    }
    strbuf_release(&more);
    return hash;
}

static struct triage_options options_of(const struct run *run, const struct settings *s) {
    return (struct triage_options){
        .cap_ms = s->cap_s * 1000,
        .rules_hash = run->rules_hash,
        .open = {[APART_CRASH] = where_asks(run->where, "stall.kind"),
                 [APART_BACKGROUND] = where_asks(run->where, "stall.app_state"),
                 [APART_PREWARMED] = where_asks(run->where, "stall.prewarmed")},
        .rules = strbuf_cstr(&run->rules.name),
        .where = s->where.len ? strbuf_cstr(&s->where) : NULL};
}

static enum st start(struct run *run, struct settings *s, struct err *e) {
    run->rules_hash = hash_of_keys(s, &run->rules);
    run->partial = s->gate.partial;
    run->every = s->gate.every;
    struct triage_options o = options_of(run, s);
    if (strbuf_check(&run->rules.name, e) != ST_OK || strbuf_check(&s->where, e) != ST_OK ||
        (!s->gate.merge && triage_new(&run->triage, &o, e) != ST_OK)) {
        return ST_ERR;
    }
    s->key.rules = run->rules.raw ? NULL : run->rules.set;
    for (uint64_t i = 0; i < s->jobs; i++) {
        if (keyer_new(&run->keyers[i], &s->key, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static bool open_symbols(struct run *run, const struct settings *s) {
    const struct cli_symbols_options o = {
        .paths = s->symbols.data, .path_count = s->symbols.len, .store = s->store};
    return s->symbols.len == 0 ||
           cli_symbols_open(&run->symbols, &o, &run->dumps, (unsigned)s->jobs);
}

/* --annotate: no counting. */
static int pass_through(struct run *run, const struct settings *s, const struct cli_parser *p) {
    if (!cli_output_open(&run->output, s->output.path, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    int status = cli_dumps_run(&run->dumps, (unsigned)s->jobs, p->operands, p->operand_count);
    cli_output_close(&run->output, status == CLI_OK, &run->dumps.failures);
    return status == CLI_OK ? cli_exit_status(&run->dumps.failures) : status;
}

static int explain(struct run *run, const struct settings *s, const struct cli_parser *p) {
    run->explain.colour = classify_wants_colour(&s->output);
    int status = cli_dumps_run(&run->dumps, (unsigned)s->jobs, p->operands, p->operand_count);
    if (status != CLI_OK) {
        return status;
    }
    classify_explain_print(&run->explain, s->output.path, &run->dumps.failures);
    return cli_exit_status(&run->dumps.failures);
}

/* --lint: operands are rule files, too. */
static int lint(struct run *run, const struct settings *s, const struct cli_parser *p) {
    for (size_t i = 0; i < p->operand_count; i++) {
        if (!take_rules(run, p->operands[i])) {
            return CLI_FAILED;
        }
    }
    return classify_rules_lint(&run->rules, s->output.path);
}

/* Reads the inputs, dumps or partials, to what run->triage holds. CLI_OK, or what main returns. */
static int read_inputs(struct run *run, const struct settings *s, const struct cli_parser *p) {
    struct err e = {0};
    int status;
    if (s->gate.merge) {
        status = classify_merge(&run->triage, &tool, p->operands, p->operand_count,
                                &run->dumps.failures);
        struct triage_options o = options_of(run, s);
        if (status == CLI_OK && !run->triage && triage_new(&run->triage, &o, &e) != ST_OK) {
            fail(run, NULL, &e);
            return CLI_FAILED;
        }
    } else {
        status = cli_dumps_run(&run->dumps, (unsigned)s->jobs, p->operands, p->operand_count);
    }
    if (status == CLI_OK && !run->broken) {
        classify_expose(run->triage, &s->gate, &run->dumps.failures);
    }
    return run->broken ? CLI_FAILED : status;
}

/* --partial: the output is open while dumps are read. With --every nothing is left to write at the
 * end of a stream that ended just then. */
static int write_partials(struct run *run, const struct settings *s, const struct cli_parser *p) {
    if (!cli_output_open(&run->output, s->output.path, &run->dumps.failures)) {
        return CLI_FAILED;
    }
    int status = read_inputs(run, s, p);
    bool rest = !run->every || run->since || !run->dumps.dumps;
    bool ok = status == CLI_OK && (!rest || classify_write_partial(run->triage, &run->output.sink,
                                                                   &run->dumps.failures));
    cli_output_close(&run->output, ok, &run->dumps.failures);
    return status == CLI_OK ? cli_exit_status(&run->dumps.failures) : status;
}

static int count(struct run *run, const struct settings *s, const struct cli_parser *p) {
    struct err e = {0};
    int status = read_inputs(run, s, p);
    if (status != CLI_OK) {
        return status;
    }
    if (triage_finish(run->triage, &e) != ST_OK) {
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    if (s->gate.baseline) {
        struct triage_options o = options_of(run, s);
        return classify_compare(run->triage, &s->gate, &tool, run->keyers[0], &o, s->output.path,
                                s->output.format == CLASSIFY_JSON, &run->dumps.failures);
    }
    classify_print(run->triage, &s->output, &run->dumps.failures);
    return cli_exit_status(&run->dumps.failures);
}

static int classify(struct run *run, struct settings *s, const struct cli_parser *p) {
    struct err e = {0};
    run->annotate = s->annotate;
    if (s->lint) {
        return lint(run, s, p);
    }
    if (!classify_rules_load(&run->rules) || !open_symbols(run, s)) {
        return CLI_FAILED;
    }
    if (start(run, s, &e) != ST_OK) {
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    return run->explain.id   ? explain(run, s, p)
           : s->annotate     ? pass_through(run, s, p)
           : s->gate.partial ? write_partials(run, s, p)
                             : count(run, s, p);
}

int main(int argc, char **argv) {
    struct run run = {0};
    struct settings s = {.output = {.top = UINT64_MAX},
                         .key = {.aliases = true},
                         .gate = {.min_users = CLASSIFY_MIN_USERS_DEFAULT,
                                  .regressed_percent = CLASSIFY_REGRESSED_DEFAULT},
                         .cap_s = 30,
                         .jobs = pool_processors()};
    struct cli_parser p;
    struct err e = {0};
    int status = CLI_FAILED;
    dump_library_init();
    cli_dumps_init(&run.dumps, &tool, &dumps_ops, &run);
    run.rules.failures = &run.dumps.failures;
    cli_begin(&p, &tool, argc, argv);
    if (where_new(&run.where, &e) != ST_OK) {
        fail(&run, NULL, &e);
    } else if (read_options(&p, &s, &run, &status) == CLI_END) {
        status = classify(&run, &s, &p);
    }
    for (size_t i = 0; i < CLI_JOBS_MAX; i++) {
        keyer_free(run.keyers[i]);
    }
    triage_free(run.triage);
    classify_rules_release(&run.rules);
    classify_explain_release(&run.explain);
    where_free(run.where);
    cli_symbols_close(&run.symbols);
    VEC_RELEASE(&s.symbols);
    VEC_RELEASE(&s.gate.exposure);
    strbuf_release(&s.where);
    return status;
}
