/* Runs the operands of a command through a pipeline, with messages and progress, loads the maps of
 * reports, and prints what is doubtful about the dumps. */
#include "cli_dumps.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/filemap.h"
#include "base/path.h"
#include "base/utf8.h"
#include "dump/maps/report_map.h"

/* Counts a file that was left out, and keeps the names of the first ones, each with `what` in
 * parentheses, unless that is NULL. */
static void note_left_out(struct cli_skipped *s, const char *name, const char *what) {
    enum { NAMES = 3 };
    if (s->count < NAMES) {
        strbuf_addf(&s->names, "%s%s%s%s%s", s->count > 0 ? ", " : "", name, what ? " (" : "",
                    what ? what : "", what ? ")" : "");
    } else if (s->count == NAMES) {
        strbuf_addstr(&s->names, ", …");
    }
    s->count++;
}

static void pipeline_failed(void *ctx, const char *where, const struct err *why) {
    struct cli_dumps *d = ctx;
    if (why->code == ERR_NOTHING) {
        note_left_out(&d->no_stall, path_base(where), why->text);
    } else {
        cli_dumps_fail(d, where, why);
    }
}

static void pipeline_went_on(void *ctx, uint64_t dumps) {
    struct cli_dumps *d = ctx;
    pthread_mutex_lock(&d->talk);
    cli_progress_update(&d->progress, dumps);
    pthread_mutex_unlock(&d->talk);
}

void cli_dumps_init(struct cli_dumps *d, const struct cli_tool *tool,
                    const struct dump_pipeline_ops *ops, void *ctx) {
    *d = (struct cli_dumps){
        .tool = tool,
        .pipeline = {.ops = ops, .ctx = ctx, .watch = {pipeline_failed, pipeline_went_on, d}},
        .failures.tool = tool->name,
        .talk = PTHREAD_MUTEX_INITIALIZER};
}

void cli_dumps_fail(struct cli_dumps *d, const char *where, const struct err *why) {
    pthread_mutex_lock(&d->talk);
    cli_progress_end(&d->progress);
    if (why->code == ERR_UNREAD) {
        cli_notice(&d->failures, where, why);
    } else {
        cli_fail(&d->failures, where, why);
    }
    pthread_mutex_unlock(&d->talk);
}

void cli_dumps_skip(struct cli_dumps *d, const char *path) {
    note_left_out(&d->skipped, path_base(path), NULL);
}

static void read_operand(void *ctx, int fd, const char *name, bool found) {
    struct cli_dumps *d = ctx;
    uint64_t skipped = d->skipped.count;
    if (d->answers.on) {
        dump_pipeline_answer(&d->pipeline, fd, name);
    } else if (!dump_pipeline_read(&d->pipeline, fd, name, found)) {
        cli_dumps_skip(d, name);
    }
    d->read += d->skipped.count == skipped;
}

/* Prints "2 files are not dumps: README.md, notes", unless d->quiet; if there was no other input,
 * this is a failure, which is always printed. */
static void tell_skipped(struct cli_dumps *d) {
    struct strbuf text = {0};
    struct err e = {0};
    uint64_t n = d->skipped.count;
    if (n == 0) {
        return;
    }
    strbuf_addf(&text, "%" PRIu64 " file%s %s: %s", n, n == 1 ? "" : "s",
                n == 1 ? "is not a dump" : "are not dumps", strbuf_cstr(&d->skipped.names));
    if (d->read == 0) {
        err_set(&e, ERR_FORMAT, "%s; and there is no other", strbuf_cstr(&text));
        cli_dumps_fail(d, NULL, &e);
    } else if (!d->quiet) {
        cli_say(d->tool->name, "%s", strbuf_cstr(&text));
    }
    strbuf_release(&text);
}

/* Prints "1 report holds no stall: a.ips:1 (an .ips of …)", unless d->quiet; if the inputs gave
 * nothing else, this is a failure, which is always printed. */
static void tell_no_stall(struct cli_dumps *d) {
    uint64_t n = d->no_stall.count;
    struct strbuf text = {0};
    struct err e = {0};
    if (n == 0) {
        return;
    }
    strbuf_addf(&text, "%" PRIu64 " report%s no stall: %s", n, n == 1 ? " holds" : "s hold",
                strbuf_cstr(&d->no_stall.names));
    if (d->pipeline.dumps == 0 && d->pipeline.sessions == 0) {
        err_set(&e, ERR_FORMAT, "%s; and there is no other", strbuf_cstr(&text));
        cli_dumps_fail(d, NULL, &e);
    } else if (!d->quiet) {
        cli_say(d->tool->name, "%s", strbuf_cstr(&text));
    }
    strbuf_release(&text);
}

/* Prints how many bytes of the input were not UTF-8 and were replaced by U+FFFD. */
static void tell_replaced(const struct cli_dumps *d) {
    uint64_t n = d->pipeline.replaced;
    if (n > 0 && !d->quiet) {
        cli_say(d->tool->name, "%" PRIu64 " byte%s not UTF-8, and replaced by U+FFFD", n,
                n == 1 ? " was" : "s were");
    }
}

static void fail_operand(void *ctx, const char *where, const struct err *why) {
    struct cli_dumps *d = ctx;
    dump_pipeline_fail(&d->pipeline, where, why);
}

int cli_dumps_run(struct cli_dumps *d, unsigned jobs, char **operands, size_t count) {
    struct err e = {0};
    if (dump_pipeline_open(&d->pipeline, jobs, &e) != ST_OK) {
        cli_dumps_fail(d, NULL, &e);
        return CLI_FAILED;
    }
    cli_answers_begin(&d->answers);
    cli_progress_begin(&d->progress, "dumps");
    int status = cli_for_each_input(d->tool, operands, count, read_operand, fail_operand, d);
    dump_pipeline_close(&d->pipeline);
    cli_progress_end(&d->progress);
    tell_skipped(d);
    tell_no_stall(d);
    tell_replaced(d);
    if (d->pipeline.cut_values > 0) {
        uint64_t n = d->pipeline.cut_values;
        cli_say(d->tool->name, "%" PRIu64 " value%s of more than %d bytes %s cut", n,
                n == 1 ? "" : "s", DUMP_VALUE_MAX, n == 1 ? "was" : "were");
    }
    strbuf_release(&d->skipped.names);
    strbuf_release(&d->no_stall.names);
    cli_answers_release(&d->answers);
    return status;
}

/* ---- reading twice ---- */

bool cli_dumps_can_reread(char *const *operands, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct stat is;
        if (strcmp(operands[i], "-") == 0 ||
            (stat(operands[i], &is) == 0 && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode))) {
            return false;
        }
    }
    return count > 0;
}

struct first_reading {
    struct cli_dumps *dumps;
    struct dump_pipeline pipeline;
    bool failed; /* memory ran out */
};

static void first_failed(void *ctx, const char *where, const struct err *why) {
    struct first_reading *r = ctx;
    (void)where;
    r->failed = r->failed || why->code == ERR_NOMEM;
}

static void first_went_on(void *ctx, uint64_t dumps) {
    struct first_reading *r = ctx;
    cli_progress_update(&r->dumps->progress, dumps);
}

static void first_read(void *ctx, int fd, const char *name, bool found) {
    struct first_reading *r = ctx;
    (void)dump_pipeline_read(&r->pipeline, fd, name, found);
}

enum st cli_dumps_read_first(struct cli_dumps *d, const struct dump_pipeline_ops *ops, void *ctx,
                             const char *what, unsigned jobs, char **operands, size_t count,
                             struct err *e) {
    struct first_reading r = {.dumps = d};
    r.pipeline = (struct dump_pipeline){.ops = ops,
                                        .ctx = ctx,
                                        .watch = {first_failed, first_went_on, &r},
                                        .maps = d->pipeline.maps,
                                        .paths = d->pipeline.paths,
                                        .process = d->pipeline.process};
    if (dump_pipeline_open(&r.pipeline, jobs, e) != ST_OK) {
        return ST_ERR;
    }
    cli_progress_begin(&d->progress, what);
    (void)cli_for_each_input(d->tool, operands, count, first_read, first_failed, &r);
    dump_pipeline_close(&r.pipeline);
    cli_progress_end(&d->progress);
    return r.failed ? err_nomem(e) : ST_OK;
}

/* ---- maps of reports ---- */

enum { MAP_FILE_MAX = 1 << 20 };

/* The state of reading a map. Faults of the map are printed. */
struct map_reading {
    struct cli_dumps *dumps;
    size_t faults;
};

static void tell_fault(void *ctx, const char *file, uint32_t line, const char *text) {
    struct map_reading *m = ctx;
    struct strbuf where = {0};
    struct err why = {0};
    strbuf_addf(&where, "%s:%u", file, (unsigned)line);
    err_set(&why, ERR_FORMAT, "%s", text);
    cli_dumps_fail(m->dumps, strbuf_cstr(&where), &why);
    strbuf_release(&where);
    m->faults++;
}

/* Reads a map file. False: an error was printed. */
static bool add_map(struct cli_dumps *d, struct report_maps *maps, const char *path) {
    struct map_reading reading = {d, 0};
    struct filemap file = {0};
    struct err e = {0};
    enum st st = filemap_open(&file, path, MAP_FILE_MAX, &e);
    if (st == ST_NONE) {
        st = err_set(&e, ERR_IO, "no such file");
    }
    if (st == ST_OK) {
        st = report_maps_add(maps, path, (const char *)file.data, file.size, tell_fault, &reading,
                             &e);
    }
    if (st != ST_OK && reading.faults == 0) {
        cli_dumps_fail(d, path, &e);
    }
    filemap_release(&file);
    return st == ST_OK;
}

/* Parses the values of --path-map, of which there are none if `rules` is NULL, into d->paths.
 * Returns CLI_OK, or CLI_USAGE or CLI_FAILED with the error printed. */
static int load_path_rules(struct cli_dumps *d, const struct cli_list *rules) {
    struct err e = {0};
    for (size_t i = 0; rules && i < rules->len; i++) {
        if (path_map_add(&d->paths, rules->data[i], &e) == ST_OK) {
            continue;
        }
        if (e.code == ERR_USAGE) {
            return cli_usage_error(d->tool, "--path-map: %s", e.text);
        }
        (void)cli_fail(&d->failures, "--path-map", &e);
        return CLI_FAILED;
    }
    d->pipeline.paths = d->paths.rules.len > 0 ? &d->paths : NULL;
    return CLI_OK;
}

int cli_maps_load(struct cli_dumps *d, const struct cli_list *files,
                  const struct cli_list *path_rules) {
    struct report_maps *maps = NULL;
    struct err e = {0};
    bool ok = report_maps_new(&maps, &e) == ST_OK;
    for (size_t i = 0; ok && i < files->len; i++) {
        ok = add_map(d, maps, files->data[i]);
    }
    ok = ok && report_maps_add_builtin(maps, &e) == ST_OK;
    if (err_is(&e)) {
        cli_dumps_fail(d, NULL, &e);
    }
    if (!ok) {
        report_maps_free(maps);
        return CLI_FAILED;
    }
    d->maps = maps;
    d->pipeline.maps = maps;
    return load_path_rules(d, path_rules);
}

void cli_maps_release(struct cli_dumps *d) {
    report_maps_free(d->maps);
    path_map_release(&d->paths);
    d->maps = NULL;
    d->pipeline.maps = NULL;
    d->pipeline.paths = NULL;
}

int cli_maps_lint(struct cli_dumps *d, char **files, size_t count) {
    struct report_maps *maps = NULL;
    struct err e = {0};
    size_t good = 0;
    if (report_maps_new(&maps, &e) != ST_OK) {
        cli_dumps_fail(d, NULL, &e);
        return CLI_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        good += add_map(d, maps, files[i]);
    }
    report_maps_free(maps);
    if (!d->quiet) {
        cli_say(d->tool->name, "%zu of %zu map%s without a fault", good, count,
                count == 1 ? "" : "s");
    }
    return cli_exit_status(&d->failures);
}

/* ---- options ---- */

/* Adds the terms of --where, or points at the mistake:
 *
 *     stallclassify: --where: no field is called 'app.versoin'
 *     stallclassify: app.versoin>=5.3
 *     stallclassify: ^ column 1 */
bool cli_take_where(struct where *w, struct cli_parser *p) {
    const char *text = p->value;
    struct err e = {0};
    size_t at;
    if (where_add(w, text, &at, &e) == ST_OK) {
        return true;
    }
    if (e.code == ERR_NOMEM) {
        return cli_nomem(p);
    }
    cli_say(p->tool->name, "--where: %s", e.text);
    cli_say(p->tool->name, "  %s", text);
    cli_say(p->tool->name, "  %*s^ column %zu", (int)utf8_text_columns(text, at), "", at + 1);
    return false;
}

void cli_tell_differing(const struct cli_tool *tool, uint64_t count) {
    if (count > 0) {
        cli_say(tool->name,
                "%" PRIu64 " duplicate%s from the first dump of the same id, which counts: another "
                "order of the input may give another result",
                count, count == 1 ? " differs" : "s differ");
    }
}

void cli_tell_contradicting(const struct cli_tool *tool, uint64_t count) {
    if (count > 0) {
        cli_say(tool->name,
                "%" PRIu64 " stall id%s, yet one of the dumps is a whole stall: if several stalls "
                "have one id, those that do not tell span and duration count as one",
                count, count == 1 ? " has several dumps" : "s have several dumps each");
    }
}

void cli_tell_refused_sessions(const struct cli_tool *tool, uint64_t count) {
    if (count > 0) {
        cli_say(tool->name,
                "%" PRIu64 " session record%s more time or launches than is possible, and %s not "
                "count",
                count, count == 1 ? " says" : "s say", count == 1 ? "does" : "do");
    }
}

void cli_tell_unsaid(const struct cli_tool *tool, const struct where *w,
                     const struct where_seen *seen, bool exposure, const char *who) {
    const char *field;
    for (size_t at = 0; (field = where_unsaid(w, seen, exposure, &at)) != NULL;) {
        cli_say(tool->name, "--where: %s '%s'", who, field);
    }
    if (seen->undecided > 0) {
        cli_say(tool->name,
                "--where: a regular expression took too long on %" PRIu64
                " value%s, of which neither ~ nor !~ holds",
                seen->undecided, seen->undecided == 1 ? "" : "s");
    }
}
