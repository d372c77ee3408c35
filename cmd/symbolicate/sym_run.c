/* Processes each dump of a run of stallsym: symbolicates, writes, counts it. */
#include "symbolicate/sym_run.h"

#include "base/strbuf.h"
#include "dump/dump.h"
#include "index/fetch/debug_packages.h"

enum {
    WINDOW_PER_JOB = 16,
    LOCATION_TEXT = 160 /* estimated bytes of a location in the output */,
    HINTED_FILES = 32
};

/* ---- work ---- */

/* The output of one dump, and its counts. */
struct sym_result {
    struct strbuf text;
    uint64_t frames, resolved, learned;
};

static void count_stack(struct sym_result *r, const struct dump *d, const struct dump_stack *s) {
    for (size_t i = 0; s->locations && i < s->frame_count; i++) {
        enum dump_source source = d->locations[s->locations[i]].source;
        r->frames++;
        r->resolved += source != DUMP_SOURCE_NONE;
        r->learned += source == DUMP_SOURCE_LEARNED;
    }
}

static void count_frames(struct sym_result *r, const struct dump *d) {
    for (size_t i = 0; i < d->thread_count; i++) {
        count_stack(r, d, &d->threads[i].stack);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        count_stack(r, d, &d->samples[i]);
    }
}

/* Removes personal data (see dump_write_impersonal) from the text of a written dump. ST_ERR: out of
 * memory, or the text is no object, and *text is unchanged. */
static enum st make_impersonal(struct strbuf *text, struct err *e) {
    struct strbuf kept = {0};
    struct sink sink = sink_to_strbuf(&kept);
    enum st st = dump_write_impersonal(strbuf_cstr(text), text->len, &sink);
    if (sink_close(&sink, e) != ST_OK || st != ST_OK) {
        strbuf_release(&kept);
        return st == ST_OK ? ST_ERR : err_set(e, ERR_INTERNAL, "a dump is no object");
    }
    strbuf_release(text);
    *text = kept;
    return ST_OK;
}

static enum st sym_work(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    (void)worker;
    struct sym_run *run = ctx;
    struct sym_result *r = result;
    struct dump_addition add;
    struct sink sink = sink_to_strbuf(&r->text);
    if (run->set.raw) {
        dump_write_raw(d, &sink);
        enum st raw = sink_close(&sink, e);
        return raw == ST_OK && run->set.no_user ? make_impersonal(&r->text, e) : raw;
    }
    if (cli_symbols_dump(&run->symbols, d, &add, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK;
    count_frames(r, d);
    if (run->set.text) {
        symbolize_report(d, &sink);
    } else {
        (void)strbuf_room(&r->text, d->text_len + add.location_count * LOCATION_TEXT);
        st = dump_write_spliced(d, &add, &sink, e);
    }
    st = sink_close(&sink, e) == ST_OK ? st : ST_ERR;
    return st == ST_OK && run->set.no_user && !run->set.text ? make_impersonal(&r->text, e) : st;
}

static void sym_release(void *result) {
    struct sym_result *r = result;
    strbuf_release(&r->text);
}

/* ---- results, in the order of the inputs ---- */

static struct sink *sym_sink(struct sym_run *run) {
    return run->dumps.answers.on ? &run->dumps.answers.lines : &run->output.sink;
}

static enum st sym_take(void *ctx, struct dump *d, void *result, struct err *e) {
    (void)e;
    struct sym_run *run = ctx;
    const struct sym_result *r = result;
    if (run->set.text && run->dumps.pipeline.dumps > 0 && r->text.len > 0) {
        sink_str(&run->output.sink, "\n----------------------------------------\n\n");
    }
    sink_write(sym_sink(run), r->text.data, r->text.len);
    run->lacking += d->lack != NULL;
    if (!run->set.raw) {
        run->frames += r->frames;
        run->resolved += r->resolved;
        run->learned += r->learned;
        run->replaced_bytes += d->replaced_bytes;
        image_verdicts_note(&run->images, d);
    }
    return ST_OK;
}

static void sym_take_session(void *ctx, const char *where, const char *text, size_t len) {
    (void)where;
    struct sym_run *run = ctx;
    if (!run->set.text &&
        !(run->set.no_user && dump_write_impersonal(text, len, sym_sink(run)) == ST_OK)) {
        dump_pipeline_write_line(sym_sink(run), text, len);
    }
}

static void sym_refuse(void *ctx, const char *where, const struct err *why) {
    struct sym_run *run = ctx;
    cli_answers_refuse(&run->dumps.answers, where, why);
}

static void sym_pass_refused(void *ctx, const char *text, size_t len) {
    struct sym_run *run = ctx;
    dump_pipeline_write_line(sym_sink(run), text, len);
}

static void sym_answered(void *ctx) {
    struct sym_run *run = ctx;
    cli_answers_end(&run->dumps.answers, &run->output.sink);
}

static void sym_idle(void *ctx) {
    struct sym_run *run = ctx;
    sink_flush(&run->output.sink);
}

static bool sym_unwanted(void *ctx) {
    const struct sym_run *run = ctx;
    return cli_output_failed(&run->output);
}

const struct dump_pipeline_ops sym_dumps_ops = {.result_size = sizeof(struct sym_result),
                                                .window = WINDOW_PER_JOB,
                                                .work = sym_work,
                                                .take = sym_take,
                                                .release = sym_release,
                                                .take_session = sym_take_session,
                                                .idle = sym_idle,
                                                .unwanted = sym_unwanted,
                                                .refuse = sym_refuse,
                                                .pass_refused = sym_pass_refused,
                                                .answered = sym_answered};

/* ---- summary ---- */

static void say_line(void *ctx, const char *line) {
    const struct cli_dumps *d = ctx;
    cli_say(d->tool->name, "%s", line);
}

/* Prints the Debian packages that have the missing debug information, if dpkg knows them. */
static void tell_packages(const struct sym_run *run) {
    const char *files[HINTED_FILES];
    struct strbuf names = {0};
    size_t count = image_verdicts_bare_files(&run->images, files, HINTED_FILES);
    if (debug_packages_find(DPKG_INFO, files, count, &names, NULL) == ST_OK) {
        cli_say(run->dumps.tool->name, "packages with the debug info (some are called -dbg): %s",
                strbuf_cstr(&names));
    }
    strbuf_release(&names);
}

/* Prints how many dumps were read and frames resolved or learned, which images lack symbols and
 * why, and which packages have these. */
static void summarise_symbols(struct sym_run *run) {
    struct strbuf verdicts = {0};
    image_verdicts_count(&run->images, &verdicts);
    cli_say(run->dumps.tool->name, "%llu dump%s, %llu of %llu frames resolved; images: %s",
            (unsigned long long)run->dumps.pipeline.dumps,
            run->dumps.pipeline.dumps == 1 ? "" : "s", (unsigned long long)run->resolved,
            (unsigned long long)run->frames, verdicts.len ? strbuf_cstr(&verdicts) : "none");
    strbuf_release(&verdicts);
    cli_symbols_tell_learned(&run->symbols, run->learned);
    image_verdicts_list(&run->images, say_line, &run->dumps);
    tell_packages(run);
}

void sym_summarise(struct sym_run *run) {
    if (run->set.raw) {
        cli_say(run->dumps.tool->name, "%llu dump%s, nothing looked up",
                (unsigned long long)run->dumps.pipeline.dumps,
                run->dumps.pipeline.dumps == 1 ? "" : "s");
    } else {
        summarise_symbols(run);
        cli_fetch_summarise(run->symbols.fetch, run->dumps.tool->name);
    }
    if (run->dumps.pipeline.sessions > 0) {
        cli_say(run->dumps.tool->name, "%llu session record%s passed through",
                (unsigned long long)run->dumps.pipeline.sessions,
                run->dumps.pipeline.sessions == 1 ? "" : "s");
    }
    if (run->replaced_bytes > 0) {
        cli_say(run->dumps.tool->name,
                "%llu numbers past 64 bits, or escapes that are no character, read as other values",
                (unsigned long long)run->replaced_bytes);
    }
    if (run->lacking > 0) {
        cli_say(run->dumps.tool->name, "%llu dump%s a \"lack\": what could not be read",
                (unsigned long long)run->lacking, run->lacking == 1 ? " has" : "s have");
    }
    if (run->dumps.answers.refused > 0) {
        cli_say(run->dumps.tool->name, "%llu of %llu line%s refused",
                (unsigned long long)run->dumps.answers.refused,
                (unsigned long long)run->dumps.answers.count,
                run->dumps.answers.count == 1 ? " was" : "s were");
    }
    if (run->dumps.failures.count > 0) {
        cli_say(run->dumps.tool->name, "%zu failure%s, see above", run->dumps.failures.count,
                run->dumps.failures.count == 1 ? "" : "s");
    }
}
