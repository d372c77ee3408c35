/* stallclassify: symbolicated dumps in, one table of what to fix first out. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/triage.h"
#include "cli.h"
#include "cli_dumps.h"
#include "dump/dump.h"

enum { WINDOW_PER_JOB = 16, WIDTH_DEFAULT = 100, RULES_FILE_MAX = 4 << 20 };
enum { OPT_FORMAT = 1, OPT_RULES, OPT_CAP, OPT_TOP, OPT_OUTPUT, OPT_JOBS };

static const struct cli_option options[] = {
    {OPT_FORMAT, 'F', "format", "table|json", "a table to read (default), or stall-triage/1"},
    {OPT_RULES, 0, "rules", "FILE",
     "rules that go before the built-in ones; repeatable.\n"
     "none: the innermost 2 and 4 frames as they are"},
    {OPT_CAP, 0, "cap", "SECONDS", "what one stall counts at most (default 30; 0: no cap)"},
    {OPT_TOP, 0, "top", "N", "buckets shown (default: 20 in the table, all in JSON; 0: all)"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to stdout"},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it"},
};

static const struct cli_tool tool = {
    .name = "stallclassify",
    .synopsis = "[-F table|json] [--rules FILE|none] [--cap SECONDS] [--top N] [-o FILE]\n"
                "[DUMP|FOLDER|-]...",
    .summary = "Sorts stall dumps into buckets by what the main thread was doing, most stalled "
               "time first.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer =
        "Dumps come from stallsym; raw ones are sorted by (image id, offset).\n"
        "Exit status: 0 every dump was counted; 1 something could not be read or written; 2 usage.",
};

struct settings {
    bool json, raw, top_given;
    uint64_t cap_s, top, jobs;
    const char *output;
    VEC(const char *) rule_files; /* in the order given */
    struct strbuf rules_name;
};

struct run {
    struct cli_dumps dumps;
    struct triage *triage;
    struct keyer *keyers[CLI_JOBS_MAX]; /* one per worker */
    bool broken;                        /* memory ran out: the counts cannot be trusted any more */
};

static void fail(struct run *run, const char *where, const struct err *why) {
    cli_dumps_fail(&run->dumps, where, why);
}

/* ---- dumps ---- */

/* The result is a struct stall_key. */
static enum st work(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    struct run *run = ctx;
    return keyer_key(run->keyers[worker], d, result, e);
}

static enum st take(void *ctx, struct dump *d, void *result, struct err *e) {
    struct run *run = ctx;
    if (run->broken) {
        return ST_OK;
    }
    enum st st = triage_add(run->triage, d, result, true, NULL, e);
    run->broken = st != ST_OK;
    return st;
}

static bool unwanted(void *ctx) {
    const struct run *run = ctx;
    return run->broken;
}

static const struct cli_dumps_ops dumps_ops = {.result_size = sizeof(struct stall_key),
                                               .window = WINDOW_PER_JOB,
                                               .work = work,
                                               .take = take,
                                               .unwanted = unwanted};

/* ---- options ---- */

/* One --rules FILE, in the order given. */
static bool add_rule_file(struct run *run, struct rules *rules, const char *path) {
    struct filemap m = {0};
    struct err e = {0};
    enum st st = filemap_open(&m, path, RULES_FILE_MAX, &e);
    if (st == ST_OK) {
        if (rules_add(rules, path, (const char *)m.data, m.size, &e) != ST_OK) {
            fail(run, NULL, &e); /* the text begins with FILE:LINE */
            st = ST_ERR;
        }
        filemap_release(&m);
        return st == ST_OK;
    }
    if (st == ST_NONE) {
        err_set(&e, ERR_IO, "no such file");
    }
    fail(run, path, &e);
    return false;
}

/* --rules, in the order given; the files are read when all options are known to be right. */
static bool take_rules(struct run *run, struct settings *s, const char *value) {
    struct err e = {0};
    if (strcmp(value, "none") == 0) {
        s->raw = true;
        return true;
    }
    if (VEC_PUSH(&s->rule_files, value)) {
        return true;
    }
    err_nomem(&e);
    fail(run, NULL, &e);
    return false;
}

static bool add_rule_files(struct run *run, struct settings *s, struct rules *rules) {
    for (size_t i = 0; i < s->rule_files.len; i++) {
        const char *path = s->rule_files.data[i];
        const char *slash = strrchr(path, '/');
        strbuf_addf(&s->rules_name, "%s + ", slash ? slash + 1 : path);
        if (!add_rule_file(run, rules, path)) {
            return false;
        }
    }
    return true;
}

/* CLI_END to go on, else CLI_EXIT, and *status is what main returns. */
static int read_options(struct cli_parser *p, struct settings *s, struct run *run, int *status) {
    static const char *const formats[] = {"table", "json", NULL};
    *status = CLI_USAGE;
    for (int id; (id = cli_next(p)) != CLI_END;) {
        int choice = 0;
        bool ok = true;
        switch (id) {
        case CLI_EXIT:
            *status = p->status;
            return CLI_EXIT;
        case OPT_FORMAT:
            choice = cli_choice(&tool, "--format", p->value, formats);
            ok = choice >= 0;
            s->json = choice == 1;
            break;
        case OPT_RULES:
            if (!take_rules(run, s, p->value)) {
                *status = CLI_FAILED;
                return CLI_EXIT;
            }
            break;
        case OPT_CAP:
            ok = cli_number(&tool, "--cap", p->value, 0, 1000000000, &s->cap_s);
            break;
        case OPT_TOP:
            ok = cli_number(&tool, "--top", p->value, 0, UINT32_MAX, &s->top);
            s->top_given = true;
            break;
        case OPT_JOBS:
            ok = cli_number(&tool, "--jobs", p->value, 1, CLI_JOBS_MAX, &s->jobs);
            break;
        default:
            s->output = p->value;
            break;
        }
        if (!ok) {
            return CLI_EXIT;
        }
    }
    if (s->raw && s->rule_files.len > 0) {
        *status = cli_usage_error(&tool, "--rules none excludes other rules");
        return CLI_EXIT;
    }
    return CLI_END;
}

/* ---- output ---- */

static unsigned terminal_width(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return WIDTH_DEFAULT;
    }
    return size.ws_col < 60 ? 60 : size.ws_col > 400 ? 400 : size.ws_col;
}

static bool wants_colour(void) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return (!no || !*no) && term && strcmp(term, "dumb") != 0;
}

static void print(struct run *run, const struct settings *s) {
    struct cli_output output;
    bool terminal = !s->output && isatty(STDOUT_FILENO) == 1;
    struct triage_view view = {.top = s->top_given ? (size_t)s->top
                                      : s->json    ? 0
                                                   : 20,
                               .width = terminal ? terminal_width() : WIDTH_DEFAULT,
                               .colour = terminal && wants_colour()};
    if (!cli_output_open(&output, s->output, &run->dumps.failures)) {
        return;
    }
    if (s->json) {
        triage_print_json(run->triage, &view, &output.sink);
    } else {
        triage_print_table(run->triage, &view, &output.sink);
    }
    cli_output_close(&output, true, &run->dumps.failures);
}

/* ---- main ---- */

static enum st start(struct run *run, struct settings *s, struct rules *rules, struct err *e) {
    static const char raw_name[] = "none";
    if (!s->raw && rules_add_builtin(rules, e) != ST_OK) {
        return ST_ERR;
    }
    strbuf_addstr(&s->rules_name, s->raw ? raw_name : "built-in");
    struct triage_options o = {.cap_ms = s->cap_s * 1000,
                               .rules_hash = s->raw ? hash_bytes(raw_name, sizeof raw_name - 1)
                                                    : rules_hash(rules),
                               .rules = strbuf_cstr(&s->rules_name)};
    if (triage_new(&run->triage, &o, e) != ST_OK) {
        return ST_ERR;
    }
    for (uint64_t i = 0; i < s->jobs; i++) {
        struct key_options k = {.rules = s->raw ? NULL : rules};
        if (keyer_new(&run->keyers[i], &k, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static int classify(struct run *run, struct settings *s, struct rules *rules,
                    const struct cli_parser *p) {
    struct err e = {0};
    if (!add_rule_files(run, s, rules)) {
        return CLI_FAILED;
    }
    if (start(run, s, rules, &e) != ST_OK) {
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    int status = cli_dumps_run(&run->dumps, (unsigned)s->jobs, p->operands, p->operand_count);
    if (status != CLI_OK || run->broken) {
        return run->broken ? CLI_FAILED : status;
    }
    if (triage_finish(run->triage, &e) != ST_OK) {
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    print(run, s);
    return cli_exit_status(&run->dumps.failures);
}

int main(int argc, char **argv) {
    struct run run = {0};
    struct settings s = {.cap_s = 30, .jobs = pool_processors()};
    struct rules *rules = NULL;
    struct cli_parser p;
    struct err e = {0};
    int status = CLI_FAILED;
    dump_library_init();
    cli_dumps_init(&run.dumps, &tool, &dumps_ops, &run);
    cli_begin(&p, &tool, argc, argv);
    if (rules_new(&rules, &e) != ST_OK) {
        fail(&run, NULL, &e);
    } else if (read_options(&p, &s, &run, &status) == CLI_END) {
        status = classify(&run, &s, rules, &p);
    }
    for (size_t i = 0; i < CLI_JOBS_MAX; i++) {
        keyer_free(run.keyers[i]);
    }
    triage_free(run.triage);
    rules_free(rules);
    VEC_RELEASE(&s.rule_files);
    strbuf_release(&s.rules_name);
    return status;
}
