/* Opens debug files for the commands that symbolicate dumps, and learns names from dumps. */
#include "cli_symbols.h"

#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "symbolize/learn_dump.h"
#include "symbolize/learned_folder.h"

/* Prints a failure of a debug file. Thread safe, as workers call it. */
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

/* Prints a failure if adding a path did not return ST_OK. */
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
    const char *file = strchr(value, '=') + 1; /* cli_symbols_check_use found a '=' */
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

/* Opens the learned names: they are kept in the store of --learn, and read from it and from those
 * folders of -d that hold learned names. ST_ERR: out of memory. */
static enum st start_learning(struct cli_symbols *s, const struct cli_symbols_options *o,
                              struct err *e) {
    enum st st = learned_names_new(&s->names, e);
    if (st == ST_OK) {
        st = learned_sources_new(&s->learned, cli_symbols_complain, s, e);
    }
    for (size_t i = 0; st == ST_OK && i < o->path_count; i++) {
        if (learned_folder_is(o->paths[i])) {
            st = learned_sources_use_folder(s->learned, o->paths[i], e);
        }
    }
    if (st == ST_OK && o->learn) {
        s->learn = o->learn;
        st = learned_sources_use_folder(s->learned, o->learn, e);
    }
    if (st == ST_OK) {
        symbolizer_use_learned(s->symbolizer, s->learned);
    }
    return st;
}

static enum st cli_symbols_start(struct cli_symbols *s, const struct cli_symbols_options *o,
                                 struct err *e) {
    if (symbol_set_new(&s->set, cli_symbols_complain, s, e) != ST_OK ||
        retrace_set_new(&s->retrace, e) != ST_OK) {
        return ST_ERR;
    }
    symbol_set_use_store(s->set, s->store);
    symbol_set_use_temporary_folder(s->set, cli_temporary_folder());
    symbol_set_use_layouts(s->set);
    if (s->fetch) {
        symbol_set_on_missing(s->set, cli_fetch_get, s->fetch);
    }
    cli_progress_begin(&s->dumps->progress, "files searched");
    symbol_set_on_progress(s->set, show_progress, &s->dumps->progress);
    for (size_t i = 0; i < o->path_count; i++) {
        struct err why = {0};
        enum st st = retrace_set_add(s->retrace, o->paths[i], &why);
        if (st == ST_NONE) {
            st = symbol_set_add(s->set, o->paths[i], &why);
        }
        tell_added(s, o->paths[i], st, &why);
    }
    /* Later look-ups search on other threads, and the line is one of dumps then. */
    symbol_set_on_progress(s->set, NULL, NULL);
    cli_progress_end(&s->dumps->progress);
    for (size_t i = 0; i < o->use_count; i++) {
        add_use(s, o->uses[i]);
    }
    if (o->host && symbol_set_use_host(s->set, e) != ST_OK) {
        return ST_ERR;
    }
    if (symbolizer_new(&s->symbolizer, find_symbols, s->set, o->names, e) != ST_OK) {
        return ST_ERR;
    }
    symbolizer_use_retrace(s->symbolizer, s->retrace);
    symbolizer_use_paths(s->symbolizer, s->dumps->pipeline.paths);
    return o->no_learn ? ST_OK : start_learning(s, o, e);
}

bool cli_symbols_open(struct cli_symbols *s, const struct cli_symbols_options *o,
                      struct cli_dumps *dumps, unsigned jobs) {
    struct err e = {0};
    s->dumps = dumps;
    if (!o->no_index && !cli_store_open(&s->store, o->store, false, jobs, NULL, &dumps->failures)) {
        return false;
    }
    const struct cli_fetch_options fetch = {o->fetch_command, o->store, o->servers};
    if (!cli_fetch_open(&s->fetch, &fetch, dumps)) {
        return false;
    }
    if (cli_symbols_start(s, o, &e) != ST_OK) {
        return cli_fail(&dumps->failures, NULL, &e);
    }
    return true;
}

/* ---- learning ---- */

enum { LEARN_WINDOW = 16 };

/* Does the text contain `what`? The search first finds the byte at index `rare` of `what`. */
static bool learn_has_text(const char *text, size_t len, const char *what, size_t rare) {
    size_t what_len = strlen(what);
    if (len < what_len) {
        return false;
    }
    const char *at = text + rare, *end = text + len - what_len + rare + 1;
    while ((at = memchr(at, what[rare], (size_t)(end - at))) != NULL) {
        if (memcmp(at - rare, what, what_len) == 0) {
            return true;
        }
        at++;
    }
    return false;
}

/* May the document have names of functions? Most dumps have none, and need not be parsed. For
 * reports of other tools only their readers can find that out, so true is returned for all
 * reports. */
static bool learn_wanted(void *ctx, const char *text, size_t len) {
    (void)ctx;
    return learn_has_text(text, len, "\"names",
                          3) || /* the closing quote may be escaped by a backslash */
           !learn_has_text(text, len, "stall-dump/", 0);
}

static enum st learn_work(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    (void)result;
    (void)worker;
    return learn_dump(ctx, d, e);
}

static enum st learn_take(void *ctx, struct dump *d, void *result, struct err *e) {
    (void)ctx;
    (void)d;
    (void)result;
    (void)e;
    return ST_OK;
}

static const struct dump_pipeline_ops learn_ops = {
    .window = LEARN_WINDOW, .wanted = learn_wanted, .work = learn_work, .take = learn_take};

bool cli_symbols_check_learn(const struct cli_tool *tool, const char *learn, bool no_learn) {
    return !(learn && no_learn) || cli_reject(tool, "--learn excludes --no-learn");
}

bool cli_symbols_learn(struct cli_symbols *s, struct cli_dumps *dumps, unsigned jobs,
                       char **operands, size_t count) {
    struct err e = {0};
    if (!s->names || s->learnt) {
        return true;
    }
    s->learnt = true;
    s->streaming = !cli_dumps_can_reread(operands, count);
    if (s->streaming) {
        return true;
    }
    learned_sources_use_names(s->learned, s->names);
    if (cli_dumps_read_first(dumps, &learn_ops, s->names, "dumps read for names", jobs, operands,
                             count, &e) != ST_OK) {
        cli_dumps_fail(dumps, NULL, &e);
        return false;
    }
    return true;
}

int cli_symbols_run(struct cli_symbols *s, struct cli_dumps *dumps, unsigned jobs, char **operands,
                    size_t count) {
    struct err e = {0};
    if (!cli_symbols_learn(s, dumps, jobs, operands, count)) {
        return CLI_FAILED;
    }
    s->learnt = false;
    int status = cli_dumps_run(dumps, jobs, operands, count);
    if (s->short_named > 0 && !dumps->quiet) {
        cli_say(dumps->tool->name,
                "%" PRIu64 " dump%s names that R8 made short, which stay: -d takes the mapping.txt "
                "of the id %s",
                s->short_named, s->short_named == 1 ? " has" : "s have", s->short_id);
    }
    if (status == CLI_OK && s->learn && learned_folder_add(s->learn, s->names, &e) != ST_OK) {
        cli_dumps_fail(dumps, NULL, &e);
    }
    return status;
}

/* Counts a dump with short names whose mapping file is missing, and keeps the first such mapping's
 * id. */
static void note_short_names(struct cli_symbols *s, const struct dump *d) {
    const char *id = retrace_id_of(d);
    if (!id || retrace_set_find(s->retrace, d)) {
        return;
    }
    pthread_mutex_lock(&s->dumps->talk);
    if (s->short_named++ == 0) {
        (void)snprintf(s->short_id, sizeof s->short_id, "%s", id);
    }
    pthread_mutex_unlock(&s->dumps->talk);
}

enum st cli_symbols_dump(struct cli_symbols *s, struct dump *d, struct dump_addition *add,
                         struct err *e) {
    if (s->streaming && s->learn && learn_dump(s->names, d, e) != ST_OK) {
        return ST_ERR;
    }
    note_short_names(s, d);
    return symbolize_dump(s->symbolizer, d, add, e);
}

enum st cli_symbols_key(struct cli_symbols *s, struct dump *d, struct keyer **keyer,
                        struct keyer **retired, struct stall_key *key, struct err *e) {
    struct dump_addition add;
    if (s->symbolizer && cli_symbols_dump(s, d, &add, e) != ST_OK) {
        return ST_ERR;
    }
    return keyer_renew(keyer, retired, e) == ST_OK ? keyer_key(*keyer, d, key, e) : ST_ERR;
}

static struct learned_counts learned_counts_of(const struct cli_symbols *s) {
    return s->learned ? learned_sources_counts(s->learned) : (struct learned_counts){0};
}

/* Writes the clause about names without effect to a buffer. */
static const char *learned_clause(const struct learned_counts *c, char *buffer, size_t size) {
    int len = snprintf(buffer, size, "%" PRIu64 " learned name%s in conflict, not used",
                       c->conflicts, c->conflicts == 1 ? "" : "s");
    if (c->outvoted > 0 && len > 0 && (size_t)len < size) {
        snprintf(buffer + len, size - (size_t)len,
                 "; %" PRIu64 " that one report tells against two, not used", c->outvoted);
    }
    return buffer;
}

enum { LEARNED_CLAUSE = 160 };

void cli_symbols_tell_learned(const struct cli_symbols *s, uint64_t frames) {
    struct learned_counts c = learned_counts_of(s);
    char clause[LEARNED_CLAUSE];
    if (frames > 0 || c.conflicts > 0 || c.outvoted > 0) {
        cli_say(s->dumps->tool->name, "%" PRIu64 " frame%s named as other reports name them; %s",
                frames, frames == 1 ? "" : "s", learned_clause(&c, clause, sizeof clause));
    }
}

void cli_symbols_tell_conflicts(const struct cli_symbols *s) {
    struct learned_counts c = learned_counts_of(s);
    char clause[LEARNED_CLAUSE];
    if (c.conflicts > 0 || c.outvoted > 0) {
        cli_say(s->dumps->tool->name, "%s", learned_clause(&c, clause, sizeof clause));
    }
}

void cli_symbols_close(struct cli_symbols *s) {
    symbolizer_free(s->symbolizer);
    learned_sources_free(s->learned);
    learned_names_free(s->names);
    retrace_set_free(s->retrace);
    symbol_set_free(s->set);
    cli_fetch_close(s->fetch);
    if (s->dumps) {
        cli_store_close(s->store, s->dumps->tool->name);
    }
    *s = (struct cli_symbols){0};
}
