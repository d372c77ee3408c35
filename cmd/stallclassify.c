/* stallclassify: symbolicated dumps in, one table of what to fix first out. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "classify/triage.h"
#include "cli.h"
#include "dump/dump.h"

enum { JOBS_MAX = 256, WINDOW_PER_JOB = 16, WIDTH_DEFAULT = 100, RULES_FILE_MAX = 4 << 20 };
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
    struct strbuf rules_name;
};

struct run {
    struct cli_failures failures;
    struct cli_progress progress;
    struct pool *pool;
    struct triage *triage;
    struct keyer *keyers[JOBS_MAX]; /* one per worker */
    uint64_t dumps;
    bool broken; /* memory ran out: the counts cannot be trusted any more */
};

/* A document on its way through the pool. */
struct job {
    char *text;
    size_t len;
    struct strbuf where; /* "file:line" */
    struct dump dump;
    struct stall_key key;
    enum st st;
    bool other; /* well-formed, and no dump: a session record */
    struct err err;
};

/* --- work ------------------------------------------------------------------------------------- */

static bool is_session(const char *text, size_t len) {
    static const char mark[] = "stall-session/";
    for (const char *at = text; (at = memchr(at, mark[0], len - (size_t)(at - text))) != NULL;
         at++) {
        if (len - (size_t)(at - text) < sizeof mark - 1) {
            break;
        }
        if (memcmp(at, mark, sizeof mark - 1) == 0) {
            return true;
        }
    }
    return false;
}

static void work(void *ctx, void *item, unsigned worker) {
    struct run *run = ctx;
    struct job *j = item;
    j->st = dump_parse(&j->dump, j->text, j->len, &j->err);
    if (j->st == ST_NONE) {
        j->other = is_session(j->text, j->len);
        if (!j->other) {
            err_set(&j->err, ERR_FORMAT, "JSON, but not a stall dump");
        }
    } else if (j->st == ST_OK) {
        j->st = keyer_key(run->keyers[worker], &j->dump, &j->key, &j->err);
    }
}

static void free_job(struct job *j) {
    dump_release(&j->dump);
    strbuf_release(&j->where);
    free(j->text);
    free(j);
}

static void fail(struct run *run, const char *where, const struct err *why) {
    cli_progress_end(&run->progress);
    cli_fail(&run->failures, where, why);
}

/* Runs on the main thread, in the order of the input. */
static void done(void *ctx, void *item) {
    struct run *run = ctx;
    struct job *j = item;
    if (j->st == ST_OK && !run->broken) {
        j->st = triage_add(run->triage, &j->dump, &j->key, NULL, &j->err);
        run->broken = j->st != ST_OK;
        run->dumps++;
    }
    if (j->st != ST_OK && !j->other) {
        fail(run, strbuf_cstr(&j->where), &j->err);
    }
    cli_progress_update(&run->progress, run->dumps);
    free_job(j);
}

/* --- input ------------------------------------------------------------------------------------ */

static struct job *new_job(const char *name, const char *text, size_t len, uint64_t line) {
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        return NULL;
    }
    strbuf_addf(&j->where, "%s:%llu", name, (unsigned long long)line);
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

static void fail_in_order(struct run *run, const char *where, const struct err *e) {
    pool_finish(run->pool);
    fail(run, where, e);
}

static void on_input(void *ctx, int fd, const char *name) {
    struct run *run = ctx;
    struct dump_stream *stream = NULL;
    struct err e = {0};
    if (dump_stream_open(&stream, fd, name, &e) != ST_OK) {
        fail_in_order(run, name, &e);
        return;
    }
    uint64_t documents = 0;
    for (;;) {
        const char *text = NULL;
        size_t len = 0;
        uint64_t line = 0;
        err_clear(&e);
        enum st st = dump_stream_next(stream, &text, &len, &line, &e);
        if (st == ST_NONE) {
            break;
        }
        documents++;
        struct job *j = st == ST_OK ? new_job(name, text, len, line) : NULL;
        if (j) {
            pool_put(run->pool, j);
            continue;
        }
        if (st == ST_OK) {
            err_nomem(&e);
        }
        struct strbuf where = {0};
        strbuf_addf(&where, "%s:%llu", name, (unsigned long long)line);
        fail_in_order(run, strbuf_cstr(&where), &e);
        strbuf_release(&where);
    }
    if (documents == 0) {
        err_set(&e, ERR_FORMAT, "empty: no dump in it");
        fail_in_order(run, name, &e);
    }
    dump_stream_close(stream);
}

/* --- options ---------------------------------------------------------------------------------- */

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

static bool add_rules(struct run *run, struct rules *rules, struct settings *s, const char *value) {
    if (strcmp(value, "none") == 0) {
        s->raw = true;
        return true;
    }
    const char *slash = strrchr(value, '/');
    strbuf_addf(&s->rules_name, "%s + ", slash ? slash + 1 : value);
    return add_rule_file(run, rules, value);
}

/* CLI_OK to go on; else what main returns, or CLI_END's stand-in -1 after --help. */
static int read_options(struct cli_parser *p, struct settings *s, struct run *run,
                        struct rules *rules, bool *stop) {
    static const char *const formats[] = {"table", "json", NULL};
    bool files = false;
    *stop = true;
    for (int id; (id = cli_next(p)) != CLI_END;) {
        int choice = 0;
        bool ok = true;
        switch (id) {
        case CLI_EXIT:
            return p->status;
        case OPT_FORMAT:
            choice = cli_choice(&tool, "--format", p->value, formats);
            ok = choice >= 0;
            s->json = choice == 1;
            break;
        case OPT_RULES:
            if (!add_rules(run, rules, s, p->value)) {
                return CLI_FAILED;
            }
            files = files || strcmp(p->value, "none") != 0;
            break;
        case OPT_CAP:
            ok = cli_number(&tool, "--cap", p->value, 0, 1000000000, &s->cap_s);
            break;
        case OPT_TOP:
            ok = cli_number(&tool, "--top", p->value, 0, UINT32_MAX, &s->top);
            s->top_given = true;
            break;
        case OPT_JOBS:
            ok = cli_number(&tool, "--jobs", p->value, 1, JOBS_MAX, &s->jobs);
            break;
        default:
            s->output = p->value;
            break;
        }
        if (!ok) {
            return CLI_USAGE;
        }
    }
    if (s->raw && files) {
        return cli_usage_error(&tool, "--rules none excludes other rules");
    }
    *stop = false;
    return CLI_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

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
    if (!cli_output_open(&output, s->output, &run->failures)) {
        return;
    }
    if (s->json) {
        triage_print_json(run->triage, &view, &output.sink);
    } else {
        triage_print_table(run->triage, &view, &output.sink);
    }
    cli_output_close(&output, true, &run->failures);
}

/* --- main ------------------------------------------------------------------------------------- */

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
        if (keyer_new(&run->keyers[i], s->raw ? NULL : rules, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return pool_open(&run->pool, (unsigned)s->jobs, (size_t)s->jobs * WINDOW_PER_JOB, work, done,
                     run, e);
}

static int classify(struct run *run, struct settings *s, struct rules *rules,
                    const struct cli_parser *p) {
    struct err e = {0};
    if (start(run, s, rules, &e) != ST_OK) {
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    cli_progress_begin(&run->progress, "dumps");
    int status =
        cli_for_each_input(&tool, p->operands, p->operand_count, on_input, run, &run->failures);
    pool_finish(run->pool);
    cli_progress_end(&run->progress);
    if (status != CLI_OK || run->broken) {
        return run->broken ? CLI_FAILED : status;
    }
    if (triage_finish(run->triage, &e) != ST_OK) {
        fail(run, NULL, &e);
        return CLI_FAILED;
    }
    print(run, s);
    return cli_exit_status(&run->failures);
}

int main(int argc, char **argv) {
    struct run run = {.failures.tool = tool.name};
    struct settings s = {.cap_s = 30, .jobs = pool_processors()};
    struct rules *rules = NULL;
    struct cli_parser p;
    struct err e = {0};
    bool stop = true;
    int status = CLI_FAILED;
    dump_library_init();
    s.jobs = s.jobs > JOBS_MAX ? JOBS_MAX : s.jobs;
    cli_begin(&p, &tool, argc, argv);
    if (rules_new(&rules, &e) != ST_OK) {
        fail(&run, NULL, &e);
    } else {
        status = read_options(&p, &s, &run, rules, &stop);
        if (!stop) {
            status = classify(&run, &s, rules, &p);
        }
    }
    pool_close(run.pool);
    for (size_t i = 0; i < JOBS_MAX; i++) {
        keyer_free(run.keyers[i]);
    }
    triage_free(run.triage);
    rules_free(rules);
    strbuf_release(&s.rules_name);
    return status;
}
