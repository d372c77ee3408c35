/* Checks options of stallclassify that depend on each other. */
#include <stdlib.h>

#include "base/strbuf.h"
#include "classify_options.h"
#include "cli_answers.h"

/* Checks --by holder against the rules and the output. False: an error was printed. */
static bool check_holders(const struct cli_tool *tool, const struct classify_settings *s) {
    if (s->output.by != BY_HOLDER) {
        return true;
    }
    if (s->rules.raw) {
        return cli_reject(tool, "--by holder needs rules: they tell who waits");
    }
    if (!print_formats[s->output.format].holders) {
        return cli_reject(tool, "with --by holder the formats are table, json, csv and markdown");
    }
    return !s->output.facets || cli_reject(tool, "--by holder excludes --facets");
}

/* Is the output the history, or a file that SQLite keeps beside the history, also if that file does
 * not exist yet? SQLite would take an output of such a name for a journal and play it back. */
static bool is_of_history(const char *history, const char *output) {
    static const char *const beside[] = {"", "-journal", "-wal", "-shm"};
    char *real = history ? realpath(history, NULL) : NULL;
    const char *const places[] = {history, real};
    bool is = false;
    for (size_t k = 0; k < 2 && places[k]; k++) {
        for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
            struct strbuf path = {0};
            strbuf_addf(&path, "%s%s", places[k], beside[i]);
            is = is || path.failed || cli_is_one_place(path.data, output);
            strbuf_release(&path);
        }
    }
    free(real);
    return is;
}

bool classify_check_values(const struct cli_tool *tool, const struct classify_settings *s) {
    if (is_of_history(s->history.path, s->output.path)) {
        return cli_reject(tool, "--history and --output go to the same place");
    }
    if (cli_is_one_place(s->gate.baseline, s->output.path)) {
        return cli_reject(tool, "--baseline and --output are one file");
    }
    if (s->output.by < BY_DAY) {
        return true;
    }
    if (!print_formats[s->output.format].values) {
        return cli_reject(tool, "values are for table, json, csv and markdown: see --by");
    }
    if (s->output.by == BY_DAY && !s->history.path) {
        return cli_reject(tool, "--by day goes with --history");
    }
    return !(s->output.facets || s->gate.baseline || s->gate.partial || s->gate.from_history) ||
           cli_reject(tool, "--by excludes --facets, --partial and the gate");
}

bool classify_check_purpose(const struct cli_tool *tool, const struct classify_settings *s,
                            const struct cli_parser *p) {
    if (s->rules.raw && (s->rules.files.len || s->rules.globs.len || s->lint)) {
        return cli_reject(tool, "--rules none excludes other rules");
    }
    if (s->lint + s->annotate + (s->explain != NULL) > 1) {
        return cli_reject(tool, "--annotate, --explain and --lint exclude each other");
    }
    if (s->answer_each && !s->annotate && !s->gate.partial) {
        return cli_reject(tool, "--answer-each goes with --annotate or --partial");
    }
    bool counts = s->answer_each && s->gate.partial;
    if (counts && (!s->heads || s->gate.merge || s->gate.every || s->gate.every_ms)) {
        return cli_reject(tool,
                          "--partial --answer-each goes with --heads, and excludes --merge and "
                          "--every");
    }
    if (!counts && (s->skip_missing || s->periods != CLASSIFY_HOURLY)) {
        return cli_reject(tool, "--periods and --skip-missing go with --partial --answer-each");
    }
    return check_holders(tool, s) &&
           (!s->answer_each || cli_answers_check(tool, p->operands, p->operand_count));
}

bool classify_check_printed(const struct cli_tool *tool, const struct classify_settings *s,
                            size_t operand_count) {
    if (s->lint) {
        return true;
    }
    if (s->heads && !s->answer_each) {
        return cli_reject(tool, "--heads goes with --answer-each");
    }
    return !classify_prints_nothing(&s->output) ||
           (s->history.path && (operand_count || s->gate.exposure.len) && !s->history.mark &&
            !s->gate.partial && !s->gate.baseline && !s->gate.from_history && !s->gate.fail_back) ||
           cli_reject(tool, "-F none is for adding dumps to a history, without a gate");
}
