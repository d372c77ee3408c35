/* Debug files for the commands that symbolicate dumps. */
#include "cli_symbols.h"

#include <string.h>

#include "base/strbuf.h"
#include "cli_store.h"

/* Runs on workers, too. */
static void cli_symbols_complain(void *ctx, const char *path, const struct err *why) {
    struct cli_symbols *s = ctx;
    cli_dumps_fail(s->dumps, path, why);
}

static void show_progress(void *ctx, size_t looked_at) {
    cli_progress_update(ctx, looked_at);
}

static enum st find_symbols(void *ctx, const struct symbol_request *r, struct symbol_file *out,
                            struct err *e) {
    return symbol_set_find(ctx, r, out, e);
}

/* What came of adding a path. */
static void tell_added(struct cli_symbols *s, const char *path, enum st st, struct err *e) {
    if (st == ST_NONE) {
        err_set(e, ERR_IO, "no such file or folder");
    }
    if (st != ST_OK) {
        cli_dumps_fail(s->dumps, path, e);
    }
}

bool cli_symbols_check_use(const struct cli_tool *tool, const char *value) {
    const char *equals = strchr(value, '=');
    if (!equals || equals == value || !equals[1]) {
        return cli_reject(tool, "--use takes NAME=FILE, not '%s'", value);
    }
    return true;
}

static void add_use(struct cli_symbols *s, const char *value) {
    const char *file = strchr(value, '=') + 1; /* it was checked */
    struct strbuf name = {0};
    struct err e = {0};
    strbuf_add(&name, value, (size_t)(file - 1 - value));
    enum st st = strbuf_check(&name, &e);
    if (st == ST_OK) {
        st = symbol_set_use(s->set, strbuf_cstr(&name), file, &e);
    }
    tell_added(s, file, st, &e);
    strbuf_release(&name);
}

static enum st cli_symbols_start(struct cli_symbols *s, const struct cli_symbols_options *o,
                                 struct err *e) {
    if (symbol_set_new(&s->set, cli_symbols_complain, s, e) != ST_OK) {
        return ST_ERR;
    }
    symbol_set_use_store(s->set, s->store);
    symbol_set_use_temporary_folder(s->set, cli_temporary_folder());
    cli_progress_begin(&s->dumps->progress, "files searched");
    symbol_set_on_progress(s->set, show_progress, &s->dumps->progress);
    for (size_t i = 0; i < o->path_count; i++) {
        struct err why = {0};
        enum st st = symbol_set_add(s->set, o->paths[i], &why);
        tell_added(s, o->paths[i], st, &why);
    }
    cli_progress_end(&s->dumps->progress);
    for (size_t i = 0; i < o->use_count; i++) {
        add_use(s, o->uses[i]);
    }
    if (o->host && symbol_set_use_host(s->set, e) != ST_OK) {
        return ST_ERR;
    }
    return symbolizer_new(&s->symbolizer, find_symbols, s->set, o->names, e);
}

bool cli_symbols_open(struct cli_symbols *s, const struct cli_symbols_options *o,
                      struct cli_dumps *dumps, unsigned jobs) {
    struct err e = {0};
    s->dumps = dumps;
    if (!o->no_index && !cli_store_open(&s->store, o->store, false, jobs, &dumps->failures)) {
        return false;
    }
    if (cli_symbols_start(s, o, &e) != ST_OK) {
        return cli_fail(&dumps->failures, NULL, &e);
    }
    return true;
}

void cli_symbols_close(struct cli_symbols *s) {
    symbolizer_free(s->symbolizer);
    symbol_set_free(s->set);
    if (s->dumps) {
        cli_store_close(s->store, s->dumps->tool->name);
    }
    *s = (struct cli_symbols){0};
}
