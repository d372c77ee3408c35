/* Defines, reads and checks the options of stallclassify. */
#include "classify_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/pool.h"
#include "classify/print/explain.h"
#include "cli_dumps.h"
#include "cli_symbols.h"
#include "page/page.h"
#include "triage/classify_buckets.h"

enum {
    OPT_SYMBOLS = 1,
    OPT_FORMAT,
    OPT_BY,
    OPT_WEIGHT,
    OPT_WHERE,
    OPT_RULES,
    OPT_IN_APP,
    OPT_NOT_IN_APP,
    OPT_LINT,
    OPT_EXPLAIN,
    OPT_LEVELS,
    OPT_KEYS,
    OPT_INLINES,
    OPT_NO_INLINES,
    OPT_CAP,
    OPT_TOP,
    OPT_DETAIL,
    OPT_SOURCE_URL,
    OPT_ANNOTATE,
    OPT_BUCKETS,
    OPT_ANSWER_EACH,
    OPT_HEADS,
    OPT_PERIODS,
    OPT_SKIP_MISSING,
    OPT_PARTIAL,
    OPT_EVERY,
    OPT_MAX_BUCKETS,
    OPT_MERGE,
    OPT_BASELINE,
    OPT_FAIL_ON,
    OPT_ALLOW_INCONCLUSIVE,
    OPT_MIN_USERS,
    OPT_EXPOSURE,
    OPT_FACETS,
    OPT_RAW_CSV,
    OPT_OUTPUT,
    OPT_WIDTH,
    OPT_COLOR,
    OPT_STORE,
    OPT_LEARN,
    OPT_PROCESS,
    OPT_NO_LEARN,
    OPT_MAP,
    OPT_PATH_MAP,
    OPT_HISTORY,
    OPT_SINCE,
    OPT_UNTIL,
    OPT_KEEP,
    OPT_MARK,
    OPT_MARKS,
    OPT_WATCH,
    OPT_OUT,
    OPT_FORGET_USER,
    OPT_CHECK,
    OPT_JOBS
};

enum { CLASSIFY_EVERY_MS_MAX = 7 * 24 * 3600 * 1000 /* a week */ };

/* The words of --keys, in the order of enum key_kind. */
static const char *const key_kinds[] = {"app", "frames", NULL};

/* ---- options with a function ---- */

static bool take_where(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    strbuf_addf(&s->where_text, "%s%s", s->where_text.len ? " " : "", p->value);
    return cli_take_where(s->where, p);
}

/* Parses the value of --levels: "2,4", or one number for both levels. */
static bool take_levels(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    const char *value = p->value, *comma = strchr(value, ',');
    size_t len = comma ? (size_t)(comma - value) : strlen(value);
    uint64_t n, m;
    bool ok = parse_u64(value, len, KEY_WANTED_MAX, &n);
    m = ok ? n : 0;
    ok = ok && (!comma || parse_u64(comma + 1, strlen(comma + 1), KEY_WANTED_MAX, &m));
    if (!ok || n == 0 || m < n) {
        return cli_reject(p->tool, "--levels takes N,M with 1 <= N <= M <= %d, not '%s'",
                          KEY_WANTED_MAX, value);
    }
    s->key.wanted[0] = (unsigned)n;
    s->key.wanted[1] = (unsigned)m;
    return true;
}

static bool take_rules(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    return classify_rules_take(&s->rules, p);
}

static bool take_glob(struct classify_settings *s, struct cli_parser *p, bool in_app) {
    struct side_glob glob = {.in_app = in_app, .glob = p->value};
    return VEC_PUSH(&s->rules.globs, glob) || cli_nomem(p);
}

static bool take_in_app(void *settings, struct cli_parser *p) {
    return take_glob(settings, p, true);
}

static bool take_not_in_app(void *settings, struct cli_parser *p) {
    return take_glob(settings, p, false);
}

static bool take_facets(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    const char *wrong = NULL;
    return classify_read_facets(&s->output, p->value, &wrong) ||
           cli_reject(p->tool, "--facets takes version, os, device, cause and kind, not '%.*s'",
                      (int)strcspn(wrong, ","), wrong);
}

/* Parses the value of --every: a number of dumps, or a time with its unit. */
static bool take_every(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    size_t len = strlen(p->value);
    s->gate.every = s->gate.every_ms = 0;
    if (parse_u64(p->value, len, UINT64_MAX, &s->gate.every)) {
        return s->gate.every > 0 || cli_reject(p->tool, "--every takes at least 1 dump");
    }
    return (parse_duration_ms(p->value, len, CLASSIFY_EVERY_MS_MAX, &s->gate.every_ms) &&
            s->gate.every_ms > 0) ||
           cli_reject(p->tool, "--every takes a number of dumps, or a time such as 60s, not '%s'",
                      p->value);
}

static bool take_source_url(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    s->page.source_url = p->value;
    return page_source_url_fits(p->value) ||
           cli_reject(p->tool, "--source-url takes an address with %%f in it, not '%s'", p->value);
}

static bool take_fail_on(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    return classify_read_fail_on(p->tool, &s->gate, p->value);
}

static bool take_explain(void *settings, struct cli_parser *p) {
    struct classify_settings *s = settings;
    s->explain = p->value;
    if (strlen(p->value) < EXPLAIN_ID_MIN) {
        return cli_reject(p->tool, "--explain needs at least %d characters of an id",
                          EXPLAIN_ID_MIN);
    }
    return true;
}

/* ---- the table ---- */

static const char *const classify_period_words[] = {"hour", "day", NULL};

static const struct cli_option options[] = {
    {OPT_FORMAT, 'F', "format", "FORMAT",
     "table to read (default), json (stall-triage/1), csv, markdown, junit, html: a\n"
     "page in one file, none: dumps are added to a history, which is not read",
     CLI_WORD(struct classify_settings, output.format, print_formats)},
    {OPT_WHERE, 0, "where", "TERMS",
     "count only dumps like these: 'app.version>=5.3 device.model~iPhone1.*';\n"
     "fields, operators: see man stallclassify; repeatable, all must hold",
     CLI_CALL(take_where)},
    {OPT_BY, 0, "by", "WORD",
     "what a row is: bucket (default), holder of the lock that stalls wait for,\n"
     "version, os, device, cause, kind, or of a history day",
     CLI_WORD(struct classify_settings, output.by, classify_by_words)},
    {OPT_WEIGHT, 0, "weight", "ms|stalls",
     "what buckets are ranked by, and shares are of: stalled time (default), or stalls,\n"
     "those of unknown length, too",
     CLI_WORD(struct classify_settings, output.weight, classify_weights)},
    {OPT_TOP, 0, "top", "N", "buckets shown (default: 20 where people read, else all; 0: all)",
     CLI_NUMBER(struct classify_settings, output.top, 0, UINT32_MAX)},
    {OPT_DETAIL, 0, "detail", "N", "with -F html: buckets in detail (default 200)",
     CLI_NUMBER(struct classify_settings, page.detail, 0, UINT32_MAX)},
    {OPT_SOURCE_URL, 0, "source-url", "URL",
     "with -F html: what a line of source links to, such as\n"
     "https://git.example/shop/blob/%v/%f#L%l: version, file, line",
     CLI_CALL(take_source_url)},
    {OPT_CAP, 0, "cap", "SECONDS", "what one stall counts at most (default 30; 0: no cap)",
     CLI_NUMBER(struct classify_settings, cap_s, 0, CLI_CAP_S_MAX)},
    {OPT_RULES, 0, "rules", "FILE",
     "rules that go before the built-in ones; repeatable.\n"
     "none: the innermost 2 and 4 frames as they are",
     CLI_CALL(take_rules)},
    {OPT_IN_APP, 0, "in-app", "GLOB",
     "images that are the app's, by name, by path (with a slash), or @FILE: a list\n"
     "of UUIDs and build-ids; repeatable, before --rules",
     CLI_CALL(take_in_app)},
    {OPT_NOT_IN_APP, 0, "not-in-app", "GLOB", "images that are not, likewise",
     CLI_CALL(take_not_in_app)},
    {OPT_LINT, 0, "lint", NULL,
     "no dumps: tell what is wrong with rule files, or with the built-in rules",
     CLI_FLAG(struct classify_settings, lint)},
    {OPT_EXPLAIN, 0, "explain", "ID",
     "no table: which rule did what to which frame of this dump, or of the dump that\n"
     "costs most in this bucket; 4 or more characters of an id",
     CLI_CALL(take_explain)},
    {OPT_LEVELS, 0, "levels", "N,M", "frames in the keys of level 1 and of level 2 (default 2,4)",
     CLI_CALL(take_levels)},
    {OPT_KEYS, 0, "keys", "KIND",
     "app: the framework that the app called, and the app's innermost frames\n"
     "(default); frames: the innermost frames that matter",
     CLI_WORD(struct classify_settings, key.kind, key_kinds)},
    {OPT_INLINES, 0, "inlines", NULL, "functions that were inlined count as frames (default)",
     CLI_FLAG(struct classify_settings, key.inlines)},
    {OPT_NO_INLINES, 0, "no-inlines", NULL, "they do not",
     CLI_FLAG_OFF(struct classify_settings, key.inlines)},
    {OPT_SYMBOLS, 'd', "symbols", "PATH",
     "symbolicate raw dumps first, with these debug files or store; repeatable",
     CLI_LIST(struct classify_settings, symbols)},
    CLI_STORE_OPTION(OPT_STORE, struct classify_settings, store),
    CLI_LEARN_OPTION(OPT_LEARN, struct classify_settings, learn),
    CLI_NO_LEARN_OPTION(OPT_NO_LEARN, struct classify_settings, no_learn),
    CLI_MAP_OPTION(OPT_MAP, struct classify_settings, maps),
    CLI_PATH_MAP_OPTION(OPT_PATH_MAP, struct classify_settings, path_rules),
    CLI_PROCESS_OPTION(OPT_PROCESS, struct classify_settings, process),
    {OPT_ANNOTATE, 0, "annotate", NULL,
     "no table: pass every dump through with its bucket and cause, as \"class\"",
     CLI_FLAG(struct classify_settings, annotate)},
    {OPT_BUCKETS, 0, "buckets", "FILE",
     "… with the ids of the buckets in which the table of this partial (or a folder of\n"
     "partials), or of this history, counts it; self: of the dumps, read twice",
     CLI_TEXT(struct classify_settings, buckets)},
    CLI_ANSWER_EACH_OPTION(OPT_ANSWER_EACH, struct classify_settings, answer_each),
    CLI_HEADS_OPTION(OPT_HEADS, struct classify_settings, heads),
    {OPT_PERIODS, 0, "periods", "hour|day",
     "… with --partial: an empty line is answered by a partial of each hour (default) or\n"
     "day, of the dumps answered since the last one",
     CLI_WORD(struct classify_settings, periods, classify_period_words)},
    {OPT_SKIP_MISSING, 0, "skip-missing", NULL,
     "… and a dump of an app whose symbols are missing is not counted",
     CLI_FLAG(struct classify_settings, skip_missing)},
    {OPT_PARTIAL, 0, "partial", NULL,
     "no table: write the counts of this run, to be merged with others'",
     CLI_FLAG(struct classify_settings, gate.partial)},
    {OPT_EVERY, 0, "every", "N|TIME",
     "… after each N dumps, or each 60s, with an empty line behind, and begin anew:\n"
     "for endless streams",
     CLI_CALL(take_every)},
    {OPT_MAX_BUCKETS, 0, "max-buckets", "N",
     "output the N buckets with most time, and one for all others; partials with it\n"
     "do not merge exactly",
     CLI_NUMBER(struct classify_settings, gate.max_buckets, 1, UINT32_MAX)},
    {OPT_MERGE, 0, "merge", NULL, "the inputs are partials: as if their dumps had been read here",
     CLI_FLAG(struct classify_settings, gate.merge)},
    {OPT_BASELINE, 0, "baseline", "FILE",
     "no table: compare with the run whose partial this is, bucket by bucket",
     CLI_TEXT(struct classify_settings, gate.baseline)},
    {OPT_FAIL_ON, 0, "fail-on", "WHAT",
     "exit status 3 on these: new,regressed=20%,inconclusive, back (of a history);\n"
     "4 if none is the case, but there is too little data to tell",
     CLI_CALL(take_fail_on)},
    {OPT_ALLOW_INCONCLUSIVE, 0, "allow-inconclusive", NULL, "… then 0",
     CLI_FLAG(struct classify_settings, gate.allow_inconclusive)},
    {OPT_MIN_USERS, 0, "min-users", "N", "of a new bucket, and of a run, at least (default 20)",
     CLI_NUMBER(struct classify_settings, gate.min_users, 1, UINT32_MAX)},
    {OPT_HISTORY, 0, "history", "FILE",
     "add the dumps to this SQLite file, each once, and print what it holds;\n"
     "without an operand nothing is added",
     CLI_TEXT(struct classify_settings, history.path)},
    {OPT_SINCE, 0, "since", "DAY", "of a history: from this day (2026-11-20, or 7d ago) on",
     CLI_TEXT(struct classify_settings, history.since)},
    {OPT_UNTIL, 0, "until", "DAY", "of a history: up to this day",
     CLI_TEXT(struct classify_settings, history.until)},
    {OPT_KEEP, 0, "keep", "DAY",
     "drop earlier days from the history, or (500MB, 2GB) the oldest days until it is\n"
     "that small; later dumps of them are refused",
     CLI_TEXT(struct classify_settings, history.keep)},
    {OPT_MARK, 0, "mark", "ID",
     "no table: the operands are what people say of this bucket of a history:\n"
     "fixed-in=5.4.0 owner=payments note=TEXT link=URL ignore=2026-12-01",
     CLI_TEXT(struct classify_settings, history.mark)},
    {OPT_MARKS, 0, "marks", NULL, "no table: list the marked buckets of a history, as text or json",
     CLI_FLAG(struct classify_settings, history.marks)},
    {OPT_WATCH, 0, "watch", "DIR",
     "add each file that is renamed into DIR to the history, move it to done/ or\n"
     "refused/ there, and keep a page and metrics up to date, until SIGTERM",
     CLI_TEXT(struct classify_settings, watch.folder)},
    {OPT_OUT, 0, "out", "DIR", "with --watch: where report.html and metrics.prom are written",
     CLI_TEXT(struct classify_settings, watch.out)},
    {OPT_FORGET_USER, 0, "forget-user", "HASH",
     "no table: take what names this user, as dumps do, out of the history",
     CLI_TEXT(struct classify_settings, history.forget)},
    {OPT_CHECK, 0, "check", NULL, "no table: examine the whole history, and change nothing",
     CLI_FLAG(struct classify_settings, history.check)},
    {OPT_EXPOSURE, 0, "exposure", "FILE",
     "session records or a CSV: how long the app was used, which rates are of;\n"
     "without it shares are compared; a history keeps the records; repeatable",
     CLI_LIST(struct classify_settings, gate.exposure)},
    {OPT_FACETS, 0, "facets", "[=LIST]",
     "rates in an hour of foreground by version,os,device,cause,kind (default: all);\n"
     "exposure is that of session records among the dumps, and of --exposure",
     CLI_CALL(take_facets)},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout",
     CLI_TEXT(struct classify_settings, output.path)},
    {OPT_RAW_CSV, 0, "raw-csv", NULL,
     "with -F csv: no apostrophe before cells that begin with = + - @, which spreadsheets run",
     CLI_FLAG(struct classify_settings, output.raw_csv)},
    {OPT_WIDTH, 0, "width", "N", "columns of the table (default: the terminal's, else 100)",
     CLI_NUMBER(struct classify_settings, output.width, CLASSIFY_WIDTH_MIN, CLASSIFY_WIDTH_MAX)},
    {OPT_COLOR, 0, "color", "WHEN", "auto (default: on a terminal), always, never",
     CLI_WORD(struct classify_settings, output.colour, classify_colours)},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it",
     CLI_NUMBER(struct classify_settings, jobs, 1, CLI_JOBS_MAX)},
};

const struct cli_tool classify_tool = {
    .name = "stallclassify",
    .synopsis = "[-F FORMAT] [--where TERMS] [--top N] [-d PATH]... [-o FILE] [DUMP|FOLDER|-]...\n"
                "--annotate [--buckets FILE|self] [--where TERMS] [-d PATH]... [-o FILE]\n"
                " [DUMP|FOLDER|-]...\n"
                "--annotate --answer-each [--where TERMS] [-d PATH]... -\n"
                "--partial --answer-each --heads [--periods hour|day] [--annotate] [-d PATH]... -\n"
                "--explain ID [--where TERMS] [-d PATH]... [-o FILE] [DUMP|FOLDER|-]...\n"
                "--history FILE --explain ID [-d PATH]... [-o FILE]\n"
                "--lint [-o FILE] [RULES]...\n"
                "--partial [--every N|TIME] [-o FILE] [DUMP|FOLDER|-]...\n"
                "--merge [--partial] [-d PATH]... [-F FORMAT] [-o FILE] [PARTIAL|FOLDER|-]...\n"
                "--baseline FILE [--fail-on WHAT] [--allow-inconclusive] [--exposure FILE]...\n"
                " [--merge] [-F table|json|markdown|junit|html] [-o FILE] [DUMP|FOLDER|-]...\n"
                "--history FILE [--since DAY] [--until DAY] [--fail-on WHAT] [--keep DAY]\n"
                " [-F FORMAT] [-o FILE] [DUMP|FOLDER|-]...\n"
                "--history FILE --watch DIR --out DIR [-d PATH]... [--since DAY] [--keep DAY]\n"
                "--history FILE --mark ID NAME=VALUE...\n"
                "--history FILE --check",
    .summary = "Sorts stall dumps into buckets by what the main thread was doing, most stalled "
               "time first.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer = "Dumps come from stallsym, or are symbolicated with -d; raw ones are sorted by\n"
              "(image id, offset).\n"
              "Exit status: 0 every dump was counted; 1 something could not be read or written,\n"
              "or --lint found something; 2 usage; 3 what --fail-on names is the case;\n"
              "4 it is not, but there is too little data to tell.",
};

/* ---- defaults ---- */

bool classify_settings_init(struct classify_settings *s, struct cli_failures *failures) {
    struct err e = {0};
    *s = (struct classify_settings){.output = {.top = UINT64_MAX},
                                    .key = {.kind = KEY_OF_APP, .inlines = true, .aliases = true},
                                    .gate = {.min_users = CLASSIFY_MIN_USERS_DEFAULT,
                                             .regressed_percent = CLASSIFY_REGRESSED_DEFAULT},
                                    .rules = {.failures = failures},
                                    .page = {.detail = CLASSIFY_DETAIL_DEFAULT},
                                    .cap_s = STALL_CAP_MS / 1000,
                                    .jobs = pool_processors(),
                                    .failures = failures};
    if (where_new(&s->where, &e) != ST_OK) {
        return cli_fail(failures, NULL, &e);
    }
    return true;
}

void classify_settings_release(struct classify_settings *s) {
    classify_rules_release(&s->rules);
    where_free(s->where);
    VEC_RELEASE(&s->symbols);
    VEC_RELEASE(&s->maps);
    VEC_RELEASE(&s->path_rules);
    VEC_RELEASE(&s->gate.exposure);
    strbuf_release(&s->where_text);
}

/* ---- options together ---- */

/* Purposes of a run; a run has exactly one of them. */
enum {
    RUN_TABLE = 1 << 0,
    RUN_ANNOTATE = 1 << 1,
    RUN_EXPLAIN = 1 << 2,
    RUN_LINT = 1 << 3,
    RUN_PARTIAL = 1 << 4,
    RUN_GATE = 1 << 5,
    RUN_HISTORY = 1 << 6, /* the run is one of --mark, --forget-user or --check */
    RUN_MARKS = 1 << 7,
    RUN_COUNTS = RUN_TABLE | RUN_PARTIAL | RUN_GATE,
    RUN_DUMPS = RUN_COUNTS | RUN_ANNOTATE | RUN_EXPLAIN
};

static unsigned run_of(const struct classify_settings *s) {
    const struct {
        bool asked;
        unsigned run;
    } runs[] = {{s->lint, RUN_LINT},
                {s->annotate, RUN_ANNOTATE},
                {s->explain != NULL, RUN_EXPLAIN},
                {s->history.marks, RUN_MARKS},
                {s->history.mark || s->history.forget || s->history.check, RUN_HISTORY},
                {s->gate.baseline || s->gate.from_history, RUN_GATE},
                {s->gate.partial, RUN_PARTIAL}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (runs[i].asked) {
            return runs[i].run;
        }
    }
    return RUN_TABLE;
}

/* Options that only some runs use, with a mask of these runs; every run uses the others. */
static const struct {
    int id;
    unsigned runs;
} looked_at[] = {
    {OPT_FORMAT, RUN_TABLE | RUN_GATE | RUN_MARKS},
    {OPT_TOP, RUN_TABLE},
    {OPT_DETAIL, RUN_TABLE | RUN_GATE},
    {OPT_SOURCE_URL, RUN_TABLE | RUN_GATE},
    {OPT_BY, RUN_TABLE},
    {OPT_WEIGHT, RUN_TABLE},
    {OPT_FACETS, RUN_TABLE},
    {OPT_RAW_CSV, RUN_TABLE},
    {OPT_WIDTH, RUN_TABLE},
    {OPT_COLOR, RUN_TABLE | RUN_EXPLAIN},
    {OPT_WHERE, RUN_DUMPS},
    {OPT_CAP, RUN_COUNTS},
    {OPT_LEVELS, RUN_DUMPS},
    {OPT_INLINES, RUN_DUMPS},
    {OPT_SYMBOLS, RUN_DUMPS},
    {OPT_LEARN, RUN_DUMPS},
    {OPT_PROCESS, RUN_DUMPS},
    {OPT_NO_LEARN, RUN_DUMPS},
    {OPT_MAP, RUN_DUMPS},
    {OPT_PATH_MAP, RUN_DUMPS},
    {OPT_EXPOSURE, RUN_TABLE | RUN_PARTIAL | RUN_GATE},
    {OPT_MIN_USERS, RUN_GATE},
};

/* Rejects options that this run does not use. False: an error was printed. */
static bool check_looked_at(const struct classify_settings *s) {
    static const char *const names[] = {
        [RUN_ANNOTATE] = "--annotate", [RUN_EXPLAIN] = "--explain",
        [RUN_LINT] = "--lint",         [RUN_PARTIAL] = "--partial",
        [RUN_GATE] = "--baseline",     [RUN_HISTORY] = "--mark and --check",
        [RUN_MARKS] = "--marks"};
    unsigned run = run_of(s);
    uint64_t useful = UINT64_MAX;
    for (size_t i = 0; i < sizeof looked_at / sizeof *looked_at; i++) {
        useful &= looked_at[i].runs & run ? UINT64_MAX : ~CLI_BIT(looked_at[i].id);
    }
    const struct cli_option *useless = cli_useless(s->parser, useful);
    char typed[CLI_TYPED];
    if (useless && run == RUN_TABLE) {
        cli_usage_error(&classify_tool, "%s goes with --baseline",
                        cli_typed(s->parser, useless->id, typed));
    } else if (useless) {
        cli_usage_error(&classify_tool, "%s does nothing with %s",
                        cli_typed(s->parser, useless->id, typed), names[run]);
    } else {
        return true;
    }
    return false;
}

/* Rejects the page's options without -F html, and with -F html the options that the page does not
 * use. False: an error was printed. */
static bool check_page(const struct classify_settings *s, const struct print_format *format) {
    const uint64_t own = CLI_BIT(OPT_DETAIL) | CLI_BIT(OPT_SOURCE_URL);
    const uint64_t others =
        CLI_BIT(OPT_WIDTH) | CLI_BIT(OPT_COLOR) | CLI_BIT(OPT_FACETS) | CLI_BIT(OPT_RAW_CSV);
    const struct cli_option *useless = cli_useless(s->parser, ~(format->page ? others : own));
    char typed[CLI_TYPED];
    if (!useless) {
        return true;
    }
    cli_usage_error(&classify_tool,
                    format->page ? "%s does nothing with -F html" : "%s goes with -F html",
                    cli_typed(s->parser, useless->id, typed));
    return false;
}

bool classify_keys_given(const struct classify_settings *s) {
    return s->rules.raw || (s->parser->given & (CLI_BIT(OPT_LEVELS) | CLI_BIT(OPT_KEYS) |
                                                CLI_BIT(OPT_INLINES) | CLI_BIT(OPT_NO_INLINES)));
}

bool classify_cap_given(const struct classify_settings *s) {
    return s->parser->given & CLI_BIT(OPT_CAP);
}

bool classify_check_partials(const struct classify_settings *s, const struct triage_options *made,
                             uint64_t rules_hash) {
    const uint64_t keys = CLI_BIT(OPT_RULES) | CLI_BIT(OPT_IN_APP) | CLI_BIT(OPT_NOT_IN_APP) |
                          CLI_BIT(OPT_LEVELS) | CLI_BIT(OPT_KEYS) | CLI_BIT(OPT_INLINES) |
                          CLI_BIT(OPT_NO_INLINES);
    uint64_t useless = (made->rules_hash != rules_hash ? keys : 0) |
                       (made->cap_ms != s->cap_s * 1000 ? CLI_BIT(OPT_CAP) : 0);
    const struct cli_option *wrong = cli_useless(s->parser, ~useless);
    char typed[CLI_TYPED];
    const char *where = made->where ? made->where : "";
    if (wrong) {
        cli_usage_error(&classify_tool,
                        "the partials were made with another %s: give it where"
                        " dumps are counted, not with --merge",
                        cli_typed(s->parser, wrong->id, typed));
    } else if (s->where_text.len && strcmp(where, strbuf_cstr(&s->where_text)) != 0) {
        cli_usage_error(&classify_tool, "--where chooses dumps: give it where they are counted,"
                                        " not with --merge");
    } else {
        return true;
    }
    return false;
}

int classify_read_options(struct cli_parser *p, struct classify_settings *s, int *status) {
    s->parser = p;
    if (cli_read_options(p, s) != CLI_END) {
        *status = p->status;
        return CLI_EXIT;
    }
    *status = CLI_USAGE;
    if (!classify_check_purpose(&classify_tool, s, p)) {
        return CLI_EXIT;
    }
    bool judges = s->gate.fail_new || s->gate.fail_regressed || s->gate.fail_inconclusive;
    s->history.back = s->gate.fail_back;
    s->gate.from_history = s->history.path && s->history.since && judges && !s->gate.baseline;
    if (!classify_check_history(&classify_tool, &s->history, s->where, p->operand_count)) {
        return CLI_EXIT;
    }
    if (!classify_check_values(&classify_tool, s) ||
        !classify_check_buckets(&classify_tool, s, p) ||
        !classify_check_watch(&classify_tool, &s->watch, s->history.path,
                              p->operand_count || s->gate.exposure.len || run_of(s) != RUN_TABLE)) {
        return CLI_EXIT;
    }
    if (s->history.path && (s->gate.merge || s->annotate || s->lint)) {
        cli_usage_error(&classify_tool, "--history excludes --merge, --annotate and --lint");
        return CLI_EXIT;
    }
    if (s->history.path && s->explain && (p->operand_count || s->history.keep)) {
        cli_usage_error(&classify_tool,
                        "--history with --explain reads the history alone: give no dumps, and no "
                        "--keep");
        return CLI_EXIT;
    }
    bool gate =
        (s->gate.partial && !(s->answer_each && s->annotate)) || s->gate.merge || s->gate.baseline;
    if (gate && (s->lint || s->annotate || s->explain)) {
        cli_usage_error(&classify_tool, "--annotate, --explain and --lint count nothing");
        return CLI_EXIT;
    }
    const struct print_format *format = &print_formats[s->output.format];
    if ((s->gate.baseline || s->gate.from_history) && !format->gate && !format->page) {
        cli_usage_error(&classify_tool,
                        "with --baseline the formats are table, json, markdown, junit and html");
        return CLI_EXIT;
    }
    if (!check_page(s, format) || !classify_check_gate(&classify_tool, &s->gate) ||
        !check_looked_at(s) || !cli_symbols_check_learn(&classify_tool, s->learn, s->no_learn) ||
        !classify_check_printed(&classify_tool, s, p->operand_count)) {
        return CLI_EXIT;
    }
    return CLI_END;
}
