/* Reads and writes stallclassify's partials, and runs the gate against a baseline. */
#include "classify_gate.h"

#include <stdlib.h>
#include <inttypes.h>
#include <string.h>

#include "base/gz.h"
#include "base/parse.h"
#include "classify/print/print_formats.h"
#include "classify/stats/partial_input.h"

/* ---- options ---- */

/* Reads "regressed", "regressed=N" or "regressed=N%", N from 0 to 100000, into g. Returns false if
 * the word is none of these. */
static bool read_regressed(struct classify_gate *g, const char *word, size_t len) {
    static const char name[] = "regressed";
    const size_t size = sizeof name - 1;
    if (len < size || memcmp(word, name, size) != 0) {
        return false;
    }
    g->fail_regressed = true;
    if (len == size) {
        return true;
    }
    size_t digits = len - size - 1 - (word[len - 1] == '%');
    return word[size] == '=' && len > size + 1 &&
           parse_u64(word + size + 1, digits, 100000, &g->regressed_percent);
}

bool classify_read_fail_on(const struct cli_tool *tool, struct classify_gate *g,
                           const char *value) {
    for (const char *word = value;; word++) {
        size_t len = strcspn(word, ",");
        if (parse_is(word, len, "new")) {
            g->fail_new = true;
        } else if (parse_is(word, len, "inconclusive")) {
            g->fail_inconclusive = true;
        } else if (parse_is(word, len, "back")) {
            g->fail_back = true;
        } else if (!read_regressed(g, word, len)) {
            return cli_reject(tool,
                              "--fail-on takes new, regressed[=N%%], inconclusive and back, not"
                              " '%.*s'",
                              (int)len, word);
        }
        word += len;
        if (!*word) {
            return true;
        }
    }
}

/* Does the exit status depend on the verdict of the gate? */
static bool classify_judges(const struct classify_gate *g) {
    return g->fail_new || g->fail_regressed || g->fail_inconclusive;
}

bool classify_check_gate(const struct cli_tool *tool, const struct classify_gate *g) {
    const char *wrong = NULL;
    bool every = g->every || g->every_ms;
    if (every && !g->partial) {
        wrong = "--every goes with --partial";
    } else if (every && g->merge) {
        wrong = "--every excludes --merge";
    } else if (g->max_buckets && (g->baseline || g->from_history)) {
        wrong = "--max-buckets excludes --baseline";
    } else if (g->partial && (g->baseline || g->from_history)) {
        wrong = "--partial excludes --baseline";
    } else if (classify_judges(g) && !g->baseline && !g->from_history) {
        wrong = "--fail-on needs a --baseline, or a --history with --since";
    } else if (g->allow_inconclusive && !classify_judges(g) && !g->fail_back) {
        wrong = "--allow-inconclusive goes with --fail-on";
    } else if (g->allow_inconclusive && g->fail_inconclusive) {
        wrong = "--allow-inconclusive excludes --fail-on inconclusive";
    }
    if (wrong) {
        cli_usage_error(tool, "%s", wrong);
    }
    return !wrong;
}

/* ---- partials ---- */

struct merge_run {
    struct partial_input partials;
    struct cli_failures *failures;
};

static void fail_partial(void *ctx, const char *where, const struct err *why) {
    const struct merge_run *m = ctx;
    cli_fail(m->failures, where, why);
}

static void read_partials(void *ctx, int fd, const char *name, bool found) {
    (void)found;
    struct merge_run *m = ctx;
    struct gz_input *in = NULL;
    struct err e = {0};
    if (gz_input_open(&in, fd, name, &e) != ST_OK) {
        cli_fail(m->failures, name, &e);
        return;
    }
    partial_input_read(&m->partials, in, name);
    gz_input_close(in);
}

/* Prints the number of dumps that are in more than one of the merged partials. */
static void tell_overlap(const struct cli_tool *tool, const struct triage *t) {
    const struct id_overlap o = t ? triage_overlap(t) : (struct id_overlap){0};
    if (o.dumps == 0) {
        return;
    }
    if (o.error == 0) {
        cli_say(tool->name,
                "%" PRIu64 " dump%s of the partials had been in another one: counted again",
                o.dumps, o.dumps == 1 ? "" : "s");
    } else {
        cli_say(tool->name,
                "about %" PRIu64 " dumps of the partials (± %" PRIu64
                ", in 95 of 100 cases) had been in another one: counted again",
                o.dumps, o.error);
    }
}

int classify_merge(struct triage **t, const struct cli_tool *tool, char **operands, size_t count,
                   struct cli_failures *failures) {
    struct merge_run m = {.partials = {.merged = *t, .fail = fail_partial}, .failures = failures};
    struct err e = {0};
    m.partials.ctx = &m;
    if (partial_input_open(&m.partials, &e) != ST_OK) {
        cli_fail(failures, NULL, &e);
        return CLI_OK;
    }
    int status = cli_for_each_input(tool, operands, count, read_partials, fail_partial, &m);
    *t = m.partials.merged;
    partial_input_release(&m.partials);
    tell_overlap(tool, *t);
    return status;
}

bool classify_write_partial(const struct triage *t, struct sink *out,
                            struct cli_failures *failures) {
    struct err e = {0};
    if (triage_write_partial(t, out, &e) != ST_OK) {
        return cli_fail(failures, NULL, &e);
    }
    return true;
}

/* ---- late symbols ---- */

enum st classify_rename(struct triage **t, const struct classify_gate *g, struct keyer *k,
                        uint64_t rules_hash, struct err *e) {
    struct triage *named = NULL;
    if (!g->resolve || !triage_lacks_names(*t)) {
        return ST_OK;
    }
    if (triage_is_folded(*t)) {
        return err_set(e, ERR_UNSUPPORTED,
                       "-d: buckets were folded by --max-buckets: nobody knows which");
    }
    if (triage_options_of(*t)->rules_hash != rules_hash) {
        return err_set(e, ERR_USAGE,
                       "-d sorts partials anew: give the rules that they were made with (%s)",
                       triage_options_of(*t)->rules);
    }
    if (triage_rename(&named, *t, k, g->resolve, g->resolve_ctx, e) != ST_OK) {
        return ST_ERR;
    }
    triage_free(*t);
    *t = named;
    return ST_OK;
}

/* Names the nameless frames of a baseline; a baseline that kept no stacks stays as it is, and is
 * compared by its ids alone. */
static enum st rename_baseline(struct triage **base, const struct classify_gate *g, struct keyer *k,
                               uint64_t rules_hash, struct err *e) {
    struct err why = {0};
    if (classify_rename(base, g, k, rules_hash, &why) == ST_OK || why.code == ERR_UNSUPPORTED) {
        return ST_OK;
    }
    return err_copy(e, &why);
}

/* ---- the gate ---- */

/* Sorts the baseline into buckets again by the rules of `now`, if other rules made it. */
static enum st adapt(struct triage **base, const struct triage *now, const char *path,
                     const struct cli_tool *tool, struct keyer *k, const struct triage_options *o,
                     struct err *e) {
    struct triage *anew = NULL;
    const struct triage_options *old = triage_options_of(*base), *new = triage_options_of(now);
    if (old->rules_hash == new->rules_hash) {
        return ST_OK;
    }
    if (strncmp(old->rules, "none", strlen("none")) == 0) {
        return err_set(
            e, ERR_USAGE,
            "made with --rules none, which takes causes together: make it anew, or give the "
            "dumps of this run, without options for keys");
    }
    if (new->rules_hash != o->rules_hash) {
        return err_set(e, ERR_USAGE,
                       "made with other rules than what it is compared with, and neither with "
                       "these (--rules)");
    }
    cli_say(tool->name, "%s was made with other rules: sorted anew by one stack of each bucket",
            path);
    if (triage_rekey(&anew, *base, k, o, e) != ST_OK) {
        return ST_ERR;
    }
    triage_free(*base);
    *base = anew;
    return ST_OK;
}

bool classify_read_baseline(struct triage **base, const struct classify_gate *g,
                            const struct cli_tool *tool, struct cli_failures *failures) {
    struct err e = {0};
    char *path = strdup(g->baseline); /* a copy, as operands are not const */
    size_t before = failures->count;
    if (!path) {
        err_nomem(&e);
    } else {
        char *operands[] = {path, NULL};
        (void)classify_merge(base, tool, operands, 1, failures);
        if (failures->count == before && !*base) {
            err_set(&e, ERR_FORMAT, "no partial in it");
        }
    }
    if (err_is(&e)) {
        cli_fail(failures, g->baseline, &e);
    }
    free(path);
    return failures->count == before;
}

/* Returns the exit status of a comparison that was made and printed. */
static int classify_gate_status(const struct gate *found, const struct classify_gate *g) {
    bool little = found->verdict == GATE_INCONCLUSIVE;
    if ((g->fail_new && found->count[GATE_NEW]) ||
        (g->fail_regressed && found->count[GATE_REGRESSED]) || (g->fail_inconclusive && little)) {
        return CLI_GATE;
    }
    return little && classify_judges(g) && !g->allow_inconclusive ? CLI_GATE_DATA : CLI_OK;
}

int classify_compare(const struct triage *now, struct triage **base, const struct classify_gate *g,
                     const struct cli_tool *tool, struct keyer *k, const struct triage_options *o,
                     void (*print)(void *ctx, const struct gate *g), void *ctx,
                     struct cli_failures *failures) {
    /* Name of the baseline in messages. */
    const char *where = g->baseline ? g->baseline : "--history";
    /* Without --fail-on, the report marks new and regressed buckets as failures, although they do
     * not change the exit status. */
    bool any = classify_judges(g);
    const struct gate_options options = {
        .regressed_percent = (unsigned)g->regressed_percent,
        .min_users = g->min_users,
        .key_functions = keyer_wanted(k, 1),
        .fail_on = {[GATE_NEW] = !any || g->fail_new,
                    [GATE_REGRESSED] = !any || g->fail_regressed,
                    [GATE_INCONCLUSIVE] = any && !g->allow_inconclusive},
        .ignored = g->ignored,
        .ignored_ctx = g->ignored_ctx};
    struct gate gate;
    struct err e = {0};
    if (triage_is_folded(*base) || triage_is_folded(now)) {
        err_set(&e, ERR_UNSUPPORTED, "buckets were folded by --max-buckets: nobody knows which");
        cli_fail(failures, where, &e);
        return CLI_FAILED;
    }
    if (adapt(base, now, where, tool, k, o, &e) != ST_OK ||
        rename_baseline(base, g, k, o->rules_hash, &e) != ST_OK ||
        triage_finish(*base, &e) != ST_OK ||
        gate_compare(&gate, *base, now, &options, &e) != ST_OK) {
        cli_fail(failures, where, &e);
        return CLI_FAILED;
    }
    print(ctx, &gate);
    int verdict = classify_gate_status(&gate, g);
    gate_release(&gate);
    int status = cli_exit_status(failures);
    return status == CLI_OK ? verdict : status;
}

int classify_status_with_back(const struct classify_gate *g, int status, uint64_t back,
                              bool unclear) {
    if (status != CLI_OK && status != CLI_GATE_DATA) {
        return status;
    }
    if (back || (unclear && g->fail_inconclusive)) {
        return CLI_GATE;
    }
    return unclear && !g->allow_inconclusive ? CLI_GATE_DATA : status;
}
