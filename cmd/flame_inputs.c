/* Recognises the inputs of stallflame by their content, and reads them. */
#include "flame_inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/gz.h"
#include "base/strbuf.h"
#include "demangle/demangle.h"
#include "dump/dump.h"
#include "dump/input/dump_stream.h"
#include "flame/formats/pprof.h"
#include "flame/formats/speedscope.h"

enum { WINDOW_PER_JOB = 4, READ_SIZE = 256 * 1024 };

static void inputs_fail(struct flame_inputs *run, const char *where, const struct err *why) {
    cli_dumps_fail(&run->dumps, where, why);
}

/* ---- dumps ---- */

/* Demangles the names that came with the dump; the copies belong to the dump's arena. ST_ERR: out
 * of memory. */
static enum st demangle_names(struct dump *d, enum demangle_style style, struct err *e) {
    struct strbuf readable = {0};
    enum st st = ST_OK;
    for (size_t i = 0; st != ST_ERR && i < d->name_count; i++) {
        const char *symbol = d->names[i].symbol;
        if (!symbol) {
            continue;
        }
        strbuf_clear(&readable);
        st = demangle(symbol, strlen(symbol), style, &readable, e);
        if (st == ST_OK) {
            symbol = arena_strdup(&d->arena, strbuf_cstr(&readable), readable.len);
            d->names[i].symbol = symbol;
            st = symbol ? ST_OK : err_nomem(e);
        }
    }
    strbuf_release(&readable);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* The results of inputs_work for a dump, which the thread that takes them uses. */
struct flame_result {
    struct stall_key key;
    /* Old keyer, freed after this dump, as no later key borrows from it; see keyer_renew. */
    struct keyer *retired;
    struct flame_label label;
    struct flame_holders holders;
    struct where_seen said;
    bool wanted;
};

/* Names and classifies a dump on a worker thread, because these steps take most of the time. Keys
 * are made before names are demangled, as in stallclassify. ST_ERR: out of memory, or a file of
 * names failed. */
static enum st inputs_work(void *ctx, struct dump *d, void *result, unsigned worker,
                           struct err *e) {
    struct flame_inputs *run = ctx;
    struct flame_result *r = result;
    if (cli_symbols_key(&run->symbols, d, &run->keyers[worker], &r->retired, &r->key, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = run->where ? where_match(run->where, d, &r->key, &r->said, e) : ST_OK;
    r->wanted = st == ST_OK;
    if (st != ST_OK) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    if (flame_label_of(&run->labels, d, &r->key, &r->label, e) != ST_OK ||
        (run->by_holder && flame_holders_of(d, &r->key, &r->holders, e) != ST_OK) ||
        keyer_hide_frames(run->keyers[worker], d, e) != ST_OK) {
        return ST_ERR;
    }
    return demangle_names(d, run->full_names ? DEMANGLE_FULL : DEMANGLE_SIMPLIFIED, e);
}

/* Adds a dump that counts to the tree; if only waits for locks count and the dump waits for none,
 * adds its ms to run->others_ms instead. ST_ERR: the weights pass what 64 bits hold, or out of
 * memory. */
static enum st fold_dump(struct flame_inputs *run, const struct dump *d,
                         const struct flame_result *r, const struct stall_count *c, struct err *e) {
    const struct fold_share share = {.ms = c->ms,
                                     .stall = c->hash,
                                     .whole = c->whole,
                                     .counted = c->counted,
                                     .labels = r->label.texts,
                                     .only = run->by_holder ? r->key.stack : NULL,
                                     .links = r->holders.links,
                                     .link_count = r->holders.count};
    if (run->by_holder && r->holders.count == 0) {
        return checked_add_u64(run->others_ms, share.ms, &run->others_ms)
                   ? ST_OK
                   : err_set(e, ERR_LIMIT, "the sum of all weights passes 64 bits");
    }
    enum st st = fold_add(&run->fold, d, &share, e);
    if (st == ST_OK && run->with_samples) {
        st = image_ids_add(&run->ids, d, e);
    }
    if (st == ST_OK && run->fold_samples.tree) {
        st = fold_add(&run->fold_samples, d, &share, e);
    }
    if (st == ST_OK && c->whole) {
        stall_ledger_mark(&run->ledger, c->hash);
    }
    return st;
}

static enum st inputs_take(void *ctx, struct dump *d, void *result, struct err *e) {
    struct flame_inputs *run = ctx;
    const struct flame_result *r = result;
    enum triage_apart why;
    where_seen_add(&run->said, &r->said);
    struct stall_count count;
    if (!stall_count_judge(&run->seen, d, &r->key, r->wanted, run->open, &why) ||
        !stall_count_take(&run->ledger, d, why, run->cap_ms, &count)) {
        return err_nomem(e);
    }
    run->apart[why]++;
    return why == APART_NONE ? fold_dump(run, d, r, &count, e) : ST_OK;
}

static void inputs_release(void *result) {
    struct flame_result *r = result;
    flame_label_release(&r->label);
    flame_holders_release(&r->holders);
    keyer_free(r->retired);
}

/* ---- folded stacks ---- */

static bool is_operand(const struct flame_inputs *run, const char *name) {
    for (size_t i = 0; i < run->operand_count; i++) {
        if (strcmp(run->operands[i], name) == 0) {
            return true;
        }
    }
    return strcmp(name, "<stdin>") == 0;
}

/* Prints what is wrong with a folded input that was read to its end, or counts it as skipped if it
 * was found in a folder, is empty or some other text, and has no dump's name; adds up its stacks.
 */
static void check_folded(struct flame_inputs *run) {
    const struct folded_stats *s = &run->reader.stats;
    struct err e = {0};
    bool nothing = s->foreign || (s->bad == 0 && s->stacks == 0);
    if (nothing && !is_operand(run, run->input) && !dump_pipeline_named(run->input)) {
        cli_dumps_skip(&run->dumps, run->input);
    } else if (s->foreign) {
        err_set(&e, ERR_FORMAT, "neither dumps nor folded stacks");
        inputs_fail(run, run->input, &e);
    } else if (s->bad > 0) {
        struct strbuf where = {0};
        strbuf_addf(&where, "%s:%" PRIu64, run->input, s->first_bad);
        if (s->bad > 1) {
            err_set(&e, ERR_FORMAT, "%s; %" PRIu64 " of %" PRIu64 " lines are bad", s->reason,
                    s->bad, s->lines);
        } else {
            err_set(&e, ERR_FORMAT, "%s", s->reason);
        }
        inputs_fail(run, strbuf_cstr(&where), &e);
        strbuf_release(&where);
    } else if (s->stacks == 0) {
        err_set(&e, ERR_FORMAT, "empty: no stack in it");
        inputs_fail(run, run->input, &e);
    } else if (s->unended) {
        err_set(&e, ERR_UNREAD, "the last line has no line feed: its count may be cut");
        cli_notice(&run->dumps.failures, run->input, &e);
    }
    run->folded_stacks += s->stacks;
    run->rounded += s->rounded;
}

/* Reads the rest of a folded input, whose first `got` bytes are in the buffer. Prints and counts
 * what is wrong with it. */
static void read_folded(struct flame_inputs *run, struct gz_input *in, size_t got) {
    struct err e = {0};
    enum st st = ST_OK;
    run->reader.stats = (struct folded_stats){0};
    run->reader.suspicious = !is_operand(run, run->input);
    while (st == ST_OK && got > 0) {
        st = folded_feed(&run->reader, run->buffer, got, &e);
        if (st == ST_OK) {
            st = gz_input_read(in, run->buffer, READ_SIZE, &got, &e);
        }
    }
    struct err end_error = {0};
    if (folded_end(&run->reader, &end_error) != ST_OK && st == ST_OK) {
        st = err_set(&e, end_error.code, "%s", end_error.text);
    }
    if (st != ST_OK) {
        inputs_fail(run, run->input, &e);
    } else {
        check_folded(run);
    }
}

/* ---- profiles ---- */

enum { PROFILE_MAX = 1 << 28 }; /* a profile's tables take some 40 times the memory of its bytes */

/* Reads all of an input, whose first `got` bytes are in the buffer, into memory. ST_ERR, too, if it
 * has more than PROFILE_MAX bytes. */
static enum st read_whole(struct flame_inputs *run, struct gz_input *in, size_t got,
                          struct strbuf *out, struct err *e) {
    enum st st = ST_OK;
    out->limit = PROFILE_MAX;
    while (st == ST_OK && got > 0 && !out->failed) {
        strbuf_add(out, run->buffer, got);
        st = gz_input_read(in, run->buffer, READ_SIZE, &got, e);
    }
    return st == ST_OK ? strbuf_check(out, e) : st;
}

static enum st add_profile(struct flame_inputs *run, const struct strbuf *b, bool pprof,
                           struct err *e) {
    struct pprof_stats stats = {0};
    struct speedscope_stats scope = {0};
    bool counts = run->options.weight == FOLD_SAMPLES;
    enum st st = pprof ? pprof_read(&run->tree, run->input, b->data, b->len, counts, &stats, e)
                       : speedscope_read(&run->tree, run->input, b->data, b->len, &scope, e);
    if (st != ST_OK) {
        return st;
    }
    const char *unit = pprof ? stats.unit : scope.unit;
    if (stats.negative > 0) {
        st = err_set(e, ERR_FORMAT, "%" PRIu64 " negative values left out: a difference",
                     stats.negative);
    } else if (scope.left_out > 0) {
        st = err_set(e, ERR_FORMAT,
                     "%" PRIu64 " of %" PRIu64 " profiles left out: they do not count %s",
                     scope.left_out, scope.left_out + scope.profiles, unit);
    } else if (*run->unit && strcmp(run->unit, unit) != 0) {
        st = err_set(e, ERR_FORMAT, "counts %s, a profile before it %s", unit, run->unit);
    }
    snprintf(run->unit, sizeof run->unit, "%s", unit);
    return st;
}

static void inputs_read_profile(struct flame_inputs *run, struct gz_input *in, size_t got,
                                bool pprof) {
    struct strbuf whole = {0};
    struct err e = {0};
    if (read_whole(run, in, got, &whole, &e) != ST_OK ||
        add_profile(run, &whole, pprof, &e) != ST_OK) {
        inputs_fail(run, run->input, &e);
    }
    strbuf_release(&whole);
}

/* ---- inputs ---- */

/* Reads enough bytes into the buffer to recognise the input: 16 if it has so many, and more as long
 * as dump_stream_is_text needs more. *len: number of these bytes; *report: the input is a text
 * report. ST_ERR: the input cannot be read, or out of memory. */
static enum st look(struct flame_inputs *run, struct gz_input *in, size_t *len, bool *report,
                    struct err *e) {
    size_t got;
    bool more;
    *len = 0;
    do {
        if (gz_input_read(in, run->buffer + *len, READ_SIZE - *len, &got, e) != ST_OK) {
            return ST_ERR;
        }
        *len += got;
        enum st st = dump_stream_is_text(run->buffer, *len, &more, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        *report = st == ST_OK;
    } while (got > 0 && *len < READ_SIZE && (*len < 16 || more));
    return ST_OK;
}

/* Reads an input of folded stacks or a profile. ST_NONE: the input is neither. ST_ERR: the input
 * cannot be read up to there, or out of memory; what is wrong in the folded stacks or the profile
 * is printed, and the result is ST_OK. */
static enum st other_input(void *ctx, struct gz_input *in, const char *name, struct err *e) {
    struct flame_inputs *run = ctx;
    size_t len = 0;
    bool report = false;
    if (look(run, in, &len, &report, e) != ST_OK) {
        return ST_ERR;
    }
    bool pprof = pprof_recognise(run->buffer, len);
    bool profile = pprof || speedscope_recognise(run->buffer, len);
    if (report || (!profile && !folded_recognise(run->buffer, len))) {
        return gz_input_unread(in, run->buffer, len, e) == ST_OK ? ST_NONE : ST_ERR;
    }
    dump_pipeline_settle(&run->dumps.pipeline);
    run->input = name;
    stack_tree_break(&run->tree);
    if (profile) {
        inputs_read_profile(run, in, len, pprof);
    } else {
        read_folded(run, in, len);
    }
    return ST_OK;
}

static const struct dump_pipeline_ops dumps_ops = {.result_size = sizeof(struct flame_result),
                                                   .window = WINDOW_PER_JOB,
                                                   .work = inputs_work,
                                                   .take = inputs_take,
                                                   .release = inputs_release,
                                                   .other_input = other_input};

/* ---- whole runs ---- */

static enum st filter(const struct flame_inputs *run, struct stack_tree *t, struct err *e) {
    struct stack_tree filtered = {.ordered = run->ordered};
    enum st st = stack_filter_add(&filtered, t, &run->filter, e);
    stack_tree_release(t);
    *t = filtered;
    return st;
}

/* Ends the folding once all inputs were read, and filters the trees. ST_ERR: the weights pass what
 * 64 bits hold, or out of memory. */
static enum st inputs_finish(struct flame_inputs *run, struct err *e) {
    enum st st = fold_finish(&run->fold, e);
    if (st != ST_OK || !(run->filter.base || run->filter.reverse)) {
        return st;
    }
    st = filter(run, &run->tree, e);
    return st == ST_OK ? filter(run, &run->samples, e) : st;
}

/* Makes the keyers, which make the key of a dump, one for each worker, and sets run->open by the
 * filter. ST_ERR: out of memory. */
static enum st start_keyers(struct flame_inputs *run, struct err *e) {
    enum st st = ST_OK;
    const struct key_options o = {.rules = run->rules->raw ? NULL : run->rules->set,
                                  .kind = KEY_OF_APP,
                                  .inlines = !run->options.no_inlines};
    for (unsigned i = 0; st == ST_OK && i < run->jobs; i++) {
        st = keyer_new(&run->keyers[i], &o, e);
    }
    if (run->where) {
        triage_apart_opened(run->where, run->open);
    }
    return st;
}

/* Opens the debug files of -d and the names of --learn. False: an error was printed. */
static bool open_debug_files(struct flame_inputs *run) {
    const struct cli_symbols_options o = {.paths = run->debug_files.data,
                                          .path_count = run->debug_files.len,
                                          .store = run->store,
                                          .learn = run->learn,
                                          .no_learn = run->no_learn,
                                          .names = symbolize_names_of(false, run->full_names)};
    return (run->debug_files.len == 0 && !run->learn) ||
           cli_symbols_open(&run->symbols, &o, &run->dumps, run->jobs);
}

int flame_inputs_read(struct flame_inputs *run, char **operands, size_t count) {
    struct err e = {0};
    cli_dumps_init(&run->dumps, run->tool, &dumps_ops, run);
    run->dumps.quiet = run->quiet;
    run->dumps.pipeline.process = run->process;
    run->tree.ordered = run->ordered;
    run->reader.tree = run->fold.tree = &run->tree;
    run->fold.options = run->fold_samples.options = run->options;
    if (run->with_samples && run->options.weight == FOLD_MS && !run->ordered) {
        run->fold_samples.tree = &run->samples;
        run->fold_samples.options.weight = FOLD_SAMPLES;
    }
    run->operands = operands;
    run->operand_count = count;
    run->buffer = malloc(READ_SIZE);
    enum st st = run->buffer ? start_keyers(run, &e) : err_nomem(&e);
    int status = CLI_OK;
    if (st == ST_OK) {
        status = cli_maps_load(&run->dumps, &run->maps, &run->path_rules);
        if (status == CLI_OK && !open_debug_files(run)) {
            status = CLI_FAILED;
        }
        if (status != CLI_OK) {
            return status;
        }
    }
    if (st == ST_OK) {
        status = cli_symbols_run(&run->symbols, &run->dumps, run->jobs, operands, count);
        st = status == CLI_OK ? inputs_finish(run, &e) : st;
    }
    if (st != ST_OK) {
        inputs_fail(run, NULL, &e);
        return CLI_FAILED;
    }
    return status;
}

void flame_inputs_release(struct flame_inputs *run) {
    folded_release(&run->reader);
    fold_release(&run->fold);
    for (size_t i = 0; i < CLI_JOBS_MAX; i++) {
        keyer_free(run->keyers[i]);
    }
    seen_release(&run->seen);
    stall_ledger_release(&run->ledger);
    fold_release(&run->fold_samples);
    cli_symbols_close(&run->symbols);
    cli_maps_release(&run->dumps);
    image_ids_release(&run->ids);
    stack_tree_release(&run->tree);
    stack_tree_release(&run->samples);
    free(run->buffer);
}

bool flame_inputs_have_dumps(const struct flame_inputs *run) {
    for (size_t i = 0; i < APART_COUNT; i++) {
        if (run->apart[i] > 0) {
            return true;
        }
    }
    return false;
}

const char *flame_inputs_unit(const struct flame_inputs *run) {
    if (flame_inputs_have_dumps(run)) {
        return fold_weight_text(run->options.weight);
    }
    return *run->unit ? run->unit : NULL;
}
