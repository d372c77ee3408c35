/* Compares two inputs of stallflame, and checks limits on their changes. */
#include "flame_diff.h"

#include <inttypes.h>
#include <string.h>

bool flame_diff_take_limit(struct flame_diff *d, const struct cli_tool *tool, const char *text) {
    struct err e = {0};
    if (d->limit_count == FLAME_LIMITS_MAX) {
        return cli_reject(tool, "more than %d times --fail-if", FLAME_LIMITS_MAX);
    }
    if (diff_limit_parse(&d->limits[d->limit_count], text, &e) != ST_OK) {
        return cli_reject(tool, "--fail-if: %s", e.text);
    }
    d->limit_count++;
    return true;
}

/* Checks that the weights of both sides have the same unit. An empty side has any unit; stacks of
 * an unknown unit have that of other stacks, but not that of dumps. ST_ERR: ERR_USAGE, they differ.
 */
static enum st check_units(const struct flame_diff *d, const struct flame_inputs *in,
                           struct err *e) {
    bool base = flame_inputs_have_dumps(&d->base), now = flame_inputs_have_dumps(in);
    const char *before = flame_inputs_unit(&d->base), *after = flame_inputs_unit(in);
    if (stack_tree_total(&d->base.tree) == 0 || stack_tree_total(&in->tree) == 0) {
        return ST_OK;
    }
    if (before && after && strcmp(before, after) != 0) {
        return err_set(e, ERR_USAGE, "%s cannot be compared with %s", before, after);
    }
    if (base != now && !(before && after)) {
        return err_set(e, ERR_USAGE, "dumps cannot be compared with stacks of unknown weight");
    }
    return ST_OK;
}

int flame_diff_read(struct flame_diff *d, struct flame_inputs *in, char **operands) {
    struct err e = {0};
    in->with_samples = true;
    d->base = (struct flame_inputs){.tool = in->tool,
                                    .options = in->options,
                                    .filter = in->filter,
                                    .labels = in->labels,
                                    .by_holder = in->by_holder,
                                    .where = in->where,
                                    .rules = in->rules,
                                    .cap_ms = in->cap_ms,
                                    .with_samples = true,
                                    .full_names = in->full_names,
                                    .debug_files = in->debug_files,
                                    .store = in->store,
                                    .learn = in->learn,
                                    .no_learn = in->no_learn,
                                    .maps = in->maps,
                                    .path_rules = in->path_rules,
                                    .jobs = in->jobs,
                                    .quiet = in->quiet};
    int status = flame_inputs_read(&d->base, operands, 1);
    if (status == CLI_OK) {
        status = flame_inputs_read(in, operands + 1, 1);
    }
    if (status != CLI_OK) {
        return status;
    }
    if (check_units(d, in, &e) != ST_OK ||
        stack_pair_make(&d->pair, &d->base.tree, &in->tree, d->normalise, &e) != ST_OK ||
        stack_pair_make(&d->samples, &d->base.samples, &in->samples, false, &e) != ST_OK) {
        cli_dumps_fail(&in->dumps, NULL, &e);
        return CLI_FAILED;
    }
    return CLI_OK;
}

/* Sets *most to the larger of both sides' numbers of samples in the stacks that the limit matches;
 * folded stacks have only counts, which are used as numbers of samples. ST_ERR as for
 * diff_limit_measure. */
static enum st count_samples(const struct flame_diff *d, const struct diff_limit *l, uint64_t *most,
                             struct err *e) {
    bool separate = stack_tree_total(&d->samples.tree) > 0;
    const struct stack_pair *pair = separate ? &d->samples : &d->pair;
    uint64_t sums[STACK_SIDES];
    enum st st = diff_limit_measure(l, pair, sums, e);
    *most = sums[STACK_BASE] > sums[STACK_NEW] ? sums[STACK_BASE] : sums[STACK_NEW];
    for (unsigned i = 0; i < pair->tree.decimals; i++) {
        *most /= 10;
    }
    return st;
}

/* Judges one limit and prints the verdict, which is "not judged" if the limit is exceeded with too
 * few samples. If quiet, a limit that holds is not printed. *passed becomes true if the limit is
 * exceeded with enough samples. ST_ERR: the limit has another unit than `unit`, or as for
 * diff_limit_measure; nothing was printed. */
static enum st diff_judge(const struct flame_diff *d, const struct diff_limit *l, const char *tool,
                          const char *unit, bool quiet, bool *passed, struct err *e) {
    uint64_t sums[STACK_SIDES], samples;
    struct strbuf change = {0};
    if (*l->unit && strcmp(l->unit, unit) != 0) {
        return err_set(e, ERR_USAGE, "--fail-if '%s': what is compared are %s", l->text, unit);
    }
    if (diff_limit_measure(l, &d->pair, sums, e) != ST_OK ||
        count_samples(d, l, &samples, e) != ST_OK) {
        return ST_ERR;
    }
    diff_change(&change, sums, d->pair.tree.decimals, unit);
    bool over = diff_limit_passed(l, &d->pair, sums), few = samples < d->min_samples;
    if (over && few) {
        cli_say(tool, "--fail-if '%s': %s, but only %" PRIu64 " of %" PRIu64 " samples: not judged",
                l->text, strbuf_cstr(&change), samples, d->min_samples);
    } else if (over || !quiet) {
        cli_say(tool, "--fail-if '%s': %s: %s", l->text, strbuf_cstr(&change),
                over ? "too much" : "holds");
    }
    *passed |= over && !few;
    strbuf_release(&change);
    return ST_OK;
}

bool flame_diff_judge(const struct flame_diff *d, const char *tool, const char *unit, bool quiet,
                      struct cli_failures *failures) {
    bool passed = false;
    for (size_t i = 0; i < d->limit_count; i++) {
        struct err e = {0};
        if (diff_judge(d, &d->limits[i], tool, unit, quiet, &passed, &e) != ST_OK) {
            cli_fail(failures, NULL, &e);
        }
    }
    return passed;
}

void flame_diff_release(struct flame_diff *d) {
    for (size_t i = 0; i < d->limit_count; i++) {
        diff_limit_release(&d->limits[i]);
    }
    flame_inputs_release(&d->base);
    stack_pair_release(&d->pair);
    stack_pair_release(&d->samples);
}
