/* Partials in and out, exposure, and the gate against a baseline. */
#include "classify_gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/filemap.h"
#include "base/gz.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "classify/print/print_formats.h"
#include "classify_options.h"

enum { READ_SIZE = 1 << 16 };

/* ---- options ---- */

static bool is_word(const char *word, size_t len, const char *want) {
    return len == strlen(want) && memcmp(word, want, len) == 0;
}

/* "regressed" or "regressed=N%". */
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
        if (is_word(word, len, "new")) {
            g->fail_new = true;
        } else if (is_word(word, len, "inconclusive")) {
            g->fail_inconclusive = true;
        } else if (!read_regressed(g, word, len)) {
            cli_usage_error(tool,
                            "--fail-on takes new, regressed[=N%%] and inconclusive, not '%.*s'",
                            (int)len, word);
            return false;
        }
        word += len;
        if (!*word) {
            return true;
        }
    }
}

bool classify_check_gate(const struct cli_tool *tool, const struct classify_gate *g) {
    const char *wrong = g->every && !g->partial     ? "--every goes with --partial"
                        : g->every && g->merge      ? "--every excludes --merge"
                        : g->partial && g->baseline ? "--partial excludes --baseline"
                        : (g->fail_new || g->fail_regressed || g->fail_inconclusive) && !g->baseline
                            ? "--fail-on needs a --baseline"
                            : NULL;
    if (wrong) {
        cli_usage_error(tool, "%s", wrong);
    }
    return !wrong;
}

/* ---- partials ---- */

struct merger {
    struct triage **t;
    struct partial_reader *reader;
    struct cli_failures *failures;
    struct strbuf line;
    uint64_t number; /* of the line */
    uint64_t found;  /* partials in this input */
};

static void fail_at(struct merger *m, const char *name, const struct err *e) {
    struct strbuf where = {0};
    strbuf_addf(&where, "%s:%" PRIu64, name, m->number);
    cli_fail(m->failures, strbuf_cstr(&where), e);
    strbuf_release(&where);
}

/* False: no more of this input. */
static bool take_line(struct merger *m, const char *name) {
    struct triage *part = NULL;
    struct err e = {0};
    m->number++;
    if (m->line.len == 0) {
        return true;
    }
    enum st st = strbuf_check(&m->line, &e) == ST_OK
                     ? partial_reader_line(m->reader, m->line.data, m->line.len, &part, &e)
                     : ST_ERR;
    strbuf_clear(&m->line);
    m->found += st == ST_OK;
    if (st == ST_OK && *m->t) {
        st = triage_merge(*m->t, part, &e);
        triage_free(part);
    } else if (st == ST_OK) {
        *m->t = part;
    }
    if (st == ST_ERR) {
        fail_at(m, name, &e);
    }
    return st != ST_ERR;
}

/* Cuts what was read into lines. False: no more of this input. */
static bool take_bytes(struct merger *m, const char *name, const char *bytes, size_t len) {
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(bytes + at, '\n', len - at);
        size_t rest = newline ? (size_t)(newline - bytes) - at : len - at;
        strbuf_add(&m->line, bytes + at, rest);
        at += rest + 1;
        if (m->line.failed || newline) {
            if (!take_line(m, name)) {
                return false;
            }
        }
    }
    return true;
}

static void read_partials(struct merger *m, struct gz_input *in, const char *name) {
    char bytes[READ_SIZE];
    size_t got;
    struct err e = {0};
    bool more = true;
    m->number = m->found = 0;
    strbuf_clear(&m->line);
    do {
        enum st st = gz_input_read(in, bytes, sizeof bytes, &got, &e);
        more = take_bytes(m, name, bytes, got);
        if (st == ST_ERR && more) {
            fail_at(m, name, &e);
            more = false;
        }
    } while (more && got > 0);
    more = more && take_line(m, name);
    if (partial_reader_end(m->reader, &e) != ST_OK && more) {
        fail_at(m, name, &e);
    } else if (more && !m->found) {
        err_set(&e, ERR_FORMAT, "empty: no partial in it");
        cli_fail(m->failures, name, &e);
    }
}

static void on_input(void *ctx, int fd, const char *name) {
    struct merger *m = ctx;
    struct gz_input *in = NULL;
    struct err e = {0};
    if (gz_input_open(&in, fd, name, &e) != ST_OK) {
        cli_fail(m->failures, name, &e);
        return;
    }
    read_partials(m, in, name);
    gz_input_close(in);
}

static void on_failure(void *ctx, const char *where, const struct err *why) {
    const struct merger *m = ctx;
    cli_fail(m->failures, where, why);
}

int classify_merge(struct triage **t, const struct cli_tool *tool, char **operands, size_t count,
                   struct cli_failures *failures) {
    struct merger m = {.t = t, .failures = failures, .line = {.limit = PARTIAL_LINE_MAX}};
    struct err e = {0};
    if (partial_reader_new(&m.reader, &e) != ST_OK) {
        cli_fail(failures, NULL, &e);
        return CLI_OK;
    }
    int status = cli_for_each_input(tool, operands, count, on_input, on_failure, &m);
    partial_reader_free(m.reader);
    strbuf_release(&m.line);
    return status;
}

bool classify_write_partial(const struct triage *t, struct sink *out,
                            struct cli_failures *failures) {
    struct err e = {0};
    if (triage_write_partial(t, out, &e) != ST_OK) {
        cli_fail(failures, NULL, &e);
        return false;
    }
    return true;
}

/* ---- exposure ---- */

/* Session records, one on a line. */
static enum st add_sessions(struct triage *t, const struct exposure_filter *filter,
                            const char *text, size_t len, struct err *e) {
    unsigned long line = 1;
    for (size_t at = 0; at < len; line++) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t size = newline ? (size_t)(newline - text) - at : len - at;
        if (size > 0 && triage_add_session(t, filter, text + at, size, e) != ST_OK) {
            return err_context(e, "line %lu", line);
        }
        at += size + 1;
    }
    return ST_OK;
}

void classify_expose(struct triage *t, const struct classify_gate *g,
                     const struct exposure_filter *sessions, const struct exposure_filter *table,
                     struct cli_failures *failures) {
    for (size_t i = 0; i < g->exposure.len; i++) {
        const char *path = classify_file_of(g->exposure.data[i]);
        struct filemap m = {0};
        struct strbuf inflated = {0};
        struct err e = {0};
        enum st st = filemap_open(&m, path, 0, &e);
        const char *text = (const char *)m.data;
        size_t len = m.size;
        if (st == ST_NONE) {
            err_set(&e, ERR_IO, "no such file");
        } else if (st == ST_OK && gz_is_gzip(m.data, m.size)) {
            st = gz_inflate(path, m.data, m.size, 0, &inflated, &e);
            text = strbuf_cstr(&inflated);
            len = inflated.len;
        }
        if (st == ST_OK) {
            size_t mark = utf8_mark(text, len);
            text += mark;
            len -= mark;
            st = len == 0         ? err_set(&e, ERR_FORMAT, "empty: no exposure in it")
                 : text[0] == '{' ? add_sessions(t, sessions, text, len, &e)
                                  : triage_add_exposure_table(t, table, text, len, &e);
        }
        if (st != ST_OK) {
            cli_fail(failures, path, &e);
        }
        strbuf_release(&inflated);
        filemap_release(&m);
    }
}

/* ---- the gate ---- */

/* Sorts the baseline anew, if it was made with other rules than `now`. */
static enum st adapt(struct triage **base, const struct triage *now, const char *path,
                     const struct cli_tool *tool, struct keyer *k, const struct triage_options *o,
                     struct err *e) {
    struct triage *anew = NULL;
    const struct triage_options *old = triage_options_of(*base), *new = triage_options_of(now);
    if (old->rules_hash == new->rules_hash) {
        return ST_OK;
    }
    if (strncmp(old->rules, "none", strlen("none")) == 0) {
        return err_set(e, ERR_USAGE,
                       "made with --rules none, which takes causes together: make it anew");
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

/* The baseline, finished, by the rules of now; NULL after a printed message. */
static struct triage *read_baseline(const struct triage *now, const struct classify_gate *g,
                                    const struct cli_tool *tool, struct keyer *k,
                                    const struct triage_options *o, struct cli_failures *failures) {
    struct triage *base = NULL;
    struct err e = {0};
    char *path = strdup(g->baseline); /* operands are not const */
    size_t before = failures->count;
    if (!path) {
        err_nomem(&e);
    } else {
        char *operands[] = {path, NULL};
        (void)classify_merge(&base, tool, operands, 1, failures);
        if (failures->count == before && !base) {
            err_set(&e, ERR_FORMAT, "no partial in it");
        }
    }
    bool ok = failures->count == before && base &&
              adapt(&base, now, path, tool, k, o, &e) == ST_OK && triage_finish(base, &e) == ST_OK;
    if (err_is(&e)) {
        cli_fail(failures, path, &e);
    }
    free(path);
    if (!ok) {
        triage_free(base);
        base = NULL;
    }
    return base;
}

int classify_compare(const struct triage *now, const struct classify_gate *g,
                     const struct cli_tool *tool, struct keyer *k, const struct triage_options *o,
                     const char *path, const struct print_format *format,
                     struct cli_failures *failures) {
    struct triage *base = read_baseline(now, g, tool, k, o, failures);
    /* Without --fail-on what the report calls failed has failed. */
    bool any = g->fail_new || g->fail_regressed || g->fail_inconclusive;
    const struct gate_options options = {.regressed_percent = (unsigned)g->regressed_percent,
                                         .min_users = g->min_users,
                                         .fail_on = {[GATE_NEW] = !any || g->fail_new,
                                                     [GATE_REGRESSED] = !any || g->fail_regressed,
                                                     [GATE_INCONCLUSIVE] = g->fail_inconclusive}};
    struct gate gate;
    struct cli_output output;
    struct err e = {0};
    if (!base) {
        return CLI_FAILED;
    }
    if (gate_compare(&gate, base, now, &options, &e) != ST_OK) {
        cli_fail(failures, g->baseline, &e);
        triage_free(base);
        return CLI_FAILED;
    }
    if (cli_output_open(&output, path, failures)) {
        format->gate(&gate, &output.sink);
        cli_output_close(&output, true, failures);
    }
    bool closed = (g->fail_new && gate.count[GATE_NEW]) ||
                  (g->fail_regressed && gate.count[GATE_REGRESSED]) ||
                  (g->fail_inconclusive && gate.verdict == GATE_INCONCLUSIVE);
    gate_release(&gate);
    triage_free(base);
    int status = cli_exit_status(failures);
    return status == CLI_OK && closed ? CLI_GATE : status;
}
