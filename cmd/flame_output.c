/* Writes the picture and the other formats of stallflame, and prints its summary. */
#include "flame_output.h"

#include <inttypes.h>

#include "classify/print/apart_text.h"
#include "flame/formats/pprof.h"
#include "flame/formats/speedscope.h"
#include "flame_causes.h"

static uint64_t distinct_stacks(const struct stack_tree *t) {
    uint64_t n = 0;
    for (size_t i = 0; i < t->node_count; i++) {
        n += t->nodes[i].self > 0;
    }
    return n;
}

/* Was a dump read, from the inputs or from either side of a difference? */
static bool have_dumps(const struct flame_run *run) {
    return flame_inputs_have_dumps(&run->inputs) || flame_inputs_have_dumps(&run->diff.base);
}

const char *flame_unit(const struct flame_run *run) {
    if (run->svg.unit) {
        return run->svg.unit;
    }
    const char *unit = flame_inputs_unit(&run->inputs);
    if (!unit && run->diff.on) { /* the second input may be an empty folder, without a unit */
        unit = flame_inputs_unit(&run->diff.base);
    }
    if (!unit) {
        unit = run->weight;
    }
    return unit ? unit : "samples";
}

static uint64_t sum_of(const struct stack_pair *pair, enum stack_side side) {
    return pair->tree.node_count > 0 ? pair->nodes[0].total[side] : 0;
}

/* Appends a summary: for --diff the change and whether the first side was scaled; for dumps "12.4 s
 * stalled in 7 stalls, 38 % of it sampled"; for other inputs their weight and number of distinct
 * stacks. */
static void flame_describe(const struct flame_run *run, struct strbuf *out) {
    const struct stack_tree *t = &run->inputs.tree;
    if (run->diff.on) {
        const struct stack_pair *pair = &run->diff.pair;
        uint64_t sums[STACK_SIDES] = {sum_of(pair, STACK_BASE), sum_of(pair, STACK_NEW)};
        diff_change(out, sums, pair->tree.decimals, flame_unit(run));
        strbuf_addstr(out, run->diff.normalise ? "; the first side is scaled to the second" : "");
        return;
    }
    if (flame_inputs_have_dumps(&run->inputs)) {
        fold_describe(&run->inputs.fold.stats, out);
        return;
    }
    svg_count(out, stack_tree_total(t), t->decimals);
    strbuf_addf(out, " %s in ", flame_unit(run));
    uint64_t stacks = distinct_stacks(t);
    svg_count(out, stacks, 0);
    strbuf_addstr(out, stacks == 1 ? " distinct stack" : " distinct stacks");
}

/* Writes the picture with the colours of changes, or else of causes or of holders if options ask
 * for them. ST_ERR: out of memory. */
static enum st write_svg_marked(const struct flame_run *run, const struct svg_options *plain,
                                struct sink *out, struct err *e) {
    struct svg_options marked = *plain,
                       *o = &marked; /* marked borrows local variables of this function */
    if (run->diff.on) {
        struct diff_marks marks;
        diff_marks_init(&marks, &run->diff.pair, o->unit);
        struct strbuf unit = {0};
        strbuf_addf(&unit, "%s on both sides", o->unit);
        o->unit = strbuf_cstr(&unit);
        o->marks = &marks.marks;
        enum st st = strbuf_check(&unit, e);
        if (st == ST_OK) {
            st = svg_write(&run->diff.pair.tree, o, out, e);
        }
        strbuf_release(&unit);
        return st;
    }
    if (!run->by_cause && run->inputs.by_holder) {
        struct flame_holder_marks holders;
        flame_holder_marks_start(&holders);
        o->marks = &holders.marks;
        return svg_write(&run->inputs.tree, o, out, e);
    }
    if (!run->by_cause) {
        return svg_write(&run->inputs.tree, o, out, e);
    }
    struct flame_causes causes = {0};
    const struct flame_labels *l = &run->inputs.labels;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        depth = l->kinds[i] == FLAME_BY_CAUSE ? i + 1 : depth;
    }
    o->marks = &causes.marks;
    flame_causes_start(&causes, run->rules.set, depth);
    enum st st = svg_write(&run->inputs.tree, o, out, e);
    flame_causes_release(&causes);
    return st;
}

static const char *flame_title_of(const struct flame_run *run) {
    if (run->svg.title) {
        return run->svg.title;
    }
    if (have_dumps(run) && run->inputs.by_holder) {
        return "Waits for locks";
    }
    return have_dumps(run) ? "Stalled time" : "Flame graph";
}

static enum st write_svg(struct flame_run *run, struct sink *out, struct err *e) {
    struct strbuf subtitle = {0};
    flame_describe(run, &subtitle);
    struct svg_options o = run->svg;
    o.unit = flame_unit(run);
    o.title = flame_title_of(run);
    o.subtitle = o.subtitle ? o.subtitle : strbuf_cstr(&subtitle);
    enum st st = strbuf_check(&subtitle, e);
    if (st == ST_OK) {
        st = write_svg_marked(run, &o, out, e);
    }
    strbuf_release(&subtitle);
    return st;
}

static enum st write_pprof(struct flame_run *run, struct sink *out, struct err *e) {
    const struct flame_inputs *in = &run->inputs;
    struct pprof_options o = {.unit = flame_unit(run),
                              .comment = run->svg.title,
                              .build_id = image_ids_find,
                              .ctx = &run->inputs.ids};
    bool samples = flame_inputs_have_dumps(in) && stack_tree_total(&in->samples) > 0;
    return pprof_write(&in->tree, samples ? &in->samples : NULL, &o, out, e);
}

static enum st write_changes(struct flame_run *run, struct sink *out, struct err *e) {
    struct diff_text o = {.title = flame_title_of(run),
                          .unit = flame_unit(run),
                          .normalised = run->diff.normalise,
                          .most = FLAME_CHANGES};
    return diff_markdown(&run->diff.pair, &o, out, e);
}

static enum st write_folded(struct flame_run *run, struct sink *out, struct err *e) {
    return run->diff.on ? diff_folded(&run->diff.pair, out, e)
                        : folded_write(&run->inputs.tree, out, e);
}

static enum st write_speedscope(struct flame_run *run, struct sink *out, struct err *e) {
    struct speedscope_options o = {.title = flame_title_of(run),
                                   .unit = flame_unit(run),
                                   .exporter = "stallflame@" STALLKIT_VERSION};
    return speedscope_write(&run->inputs.tree, &o, out, e);
}

const struct flame_format flame_formats[] = {
    {.word = "svg", .write = write_svg, .diffs = true, .unreadable = "an SVG"},
    {.word = "folded", .write = write_folded, .diffs = true, .plain_names = true},
    {.word = "speedscope", .write = write_speedscope},
    {.word = "pprof", .write = write_pprof, .samples = true, .unreadable = "a profile"},
    {.word = "markdown", .write = write_changes, .diffs = true, .only_diffs = true},
    {.word = NULL},
};

static void flame_write_file(struct flame_run *run, const char *path,
                             enum st (*write)(struct flame_run *run, struct sink *out,
                                              struct err *e)) {
    struct cli_output output;
    struct err e = {0};
    struct cli_failures *failures = &run->inputs.dumps.failures;
    if (!cli_output_open(&output, path, failures)) {
        return;
    }
    enum st st = write(run, &output.sink, &e);
    if (st != ST_OK) {
        cli_fail(failures, NULL, &e);
    }
    cli_output_close(&output, st == ST_OK, failures);
}

void flame_write(struct flame_run *run) {
    flame_write_file(run, run->output, flame_formats[run->format].write);
    if (run->diff.summary) {
        flame_write_file(run, run->diff.summary, write_changes);
    }
}

static void add_count(struct strbuf *out, const char *before, uint64_t n, const char *noun,
                      const char *plural, const char *after) {
    strbuf_addf(out, "%s%" PRIu64 " %s%s%s", before, n, noun, n == 1 ? "" : plural, after);
}

/* Returns the name of a given option that selects parts of dumps, which folded stacks and profiles
 * do not have; NULL = no such option was given. */
static const char *option_for_dumps(const struct flame_inputs *in) {
    const struct fold_options *o = &in->options;
    if (in->labels.count > 0 || o->by_thread || in->by_holder) {
        return "--by";
    }
    if (o->all_threads) {
        return "--threads";
    }
    if (in->where || in->cap_ms != STALL_CAP_MS) {
        return in->where ? "--where" : "--cap";
    }
    if (o->lines) {
        return "--lines";
    }
    return o->no_inlines ? "--no-inlines" : NULL;
}

static void summarise_others(const struct flame_inputs *in, struct strbuf *text) {
    if (in->others_ms > 0) {
        strbuf_addstr(text, "; ");
        fold_add_duration(text, in->others_ms);
        strbuf_addstr(text, " of other stalls left out");
    }
}

static void summarise_apart(const struct flame_inputs *in, struct strbuf *text) {
    struct strbuf apart = {0};
    apart_text_add(&apart, in->apart);
    if (apart.len > 0) {
        strbuf_addf(text, "; set apart: %s", strbuf_cstr(&apart));
    }
    text->failed |= apart.failed;
    strbuf_release(&apart);
}

void flame_summarise(const struct flame_run *run) {
    const struct flame_inputs *in = &run->inputs;
    const char *idle = have_dumps(run) ? NULL : option_for_dumps(in);
    struct strbuf text = {0};
    if (idle) {
        cli_say(in->tool->name, "%s has no effect: there are no dumps", idle);
    }
    flame_describe(run, &text);
    if (!run->diff.on && flame_inputs_have_dumps(in)) {
        add_count(&text, "; ", distinct_stacks(&in->tree), "distinct stack", "s", "");
        if (in->folded_stacks > 0) {
            add_count(&text, ", some from ", in->folded_stacks, "folded line", "s", "");
        }
    }
    summarise_others(in, &text);
    summarise_apart(in, &text);
    if (in->rounded > 0) {
        add_count(&text, "; ", in->rounded, "count", "s", " cut to ");
        strbuf_addf(&text, "%d decimal places", STACK_DECIMALS_MAX);
    }
    cli_say(run->inputs.tool->name, "%s", strbuf_cstr(&text));
    strbuf_release(&text);
}
