/* The operands of a command through a pipeline, and what is printed meanwhile. */
#include "cli_dumps.h"

#include <inttypes.h>

#include "base/path.h"
#include "base/utf8.h"

static void pipeline_failed(void *ctx, const char *where, const struct err *why) {
    cli_dumps_fail(ctx, where, why);
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
    enum { NAMES = 3 };
    struct cli_skipped *s = &d->skipped;
    if (s->count < NAMES) {
        strbuf_addf(&s->names, "%s%s", s->count > 0 ? ", " : "", path_base(path));
    } else if (s->count == NAMES) {
        strbuf_addstr(&s->names, ", …");
    }
    s->count++;
}

static void read_operand(void *ctx, int fd, const char *name, bool found) {
    struct cli_dumps *d = ctx;
    uint64_t skipped = d->skipped.count;
    if (!dump_pipeline_read(&d->pipeline, fd, name, found)) {
        cli_dumps_skip(d, name);
    }
    d->read += d->skipped.count == skipped;
}

/* "2 files are not dumps: README.md, notes"; a failure if nothing else was there. */
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
    cli_progress_begin(&d->progress, "dumps");
    int status = cli_for_each_input(d->tool, operands, count, read_operand, fail_operand, d);
    dump_pipeline_close(&d->pipeline);
    cli_progress_end(&d->progress);
    tell_skipped(d);
    strbuf_release(&d->skipped.names);
    return status;
}

/* ---- options ---- */

/* Points at the mistake:
 *
 *     stallclassify: --where: no field is called 'app.versoin'
 *     stallclassify:   app.versoin>=5.3
 *     stallclassify:   ^ column 1
 */
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

void cli_tell_unsaid(const struct cli_tool *tool, const struct where *w,
                     const struct where_seen *seen, bool exposure, const char *who) {
    const char *field;
    for (size_t at = 0; (field = where_unsaid(w, seen, exposure, &at)) != NULL;) {
        cli_say(tool->name, "--where: %s '%s'", who, field);
    }
}
