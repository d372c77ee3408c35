/* Loads rules from the command line and from files, and reports faults in them. */
#include "classify_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/filemap.h"
#include "base/path.h"
#include "base/search.h"
#include "classify/rules/rules_lint.h"
#include "classify/rules/side_rules.h"

enum { RULES_FILE_MAX = 4 << 20 };

static bool ruleset_fail(struct classify_rules *r, const char *where, const struct err *why) {
    return cli_fail(r->failures, where, why);
}

/* Maps a file of lines into *m, and prints a notice if its last line may be cut. False: an error
 * was printed. */
static bool ruleset_open_file(struct classify_rules *r, const char *path, struct filemap *m) {
    struct err e = {0};
    enum st st = filemap_open(m, path, RULES_FILE_MAX, &e);
    if (st == ST_NONE) {
        err_set(&e, ERR_IO, "no such file");
    }
    if (st == ST_OK && m->size > 0 && m->data[m->size - 1] != '\n') {
        err_set(&e, ERR_UNREAD, "the last line has no line feed: it may be cut");
        cli_notice(r->failures, path, &e);
    }
    return st == ST_OK || ruleset_fail(r, path, &e);
}

/* ---- --in-app and --not-in-app ---- */

/* Appends a rule for each id in the file at path to the text. False: an error was printed. */
static bool add_ids(struct classify_rules *r, bool in_app, const char *path, struct strbuf *text) {
    struct filemap m = {0};
    struct err e = {0};
    if (!ruleset_open_file(r, path, &m)) {
        return false;
    }
    enum st st = side_rules_add_ids(text, in_app, (const char *)m.data, m.size, &e);
    filemap_release(&m);
    if (st == ST_NONE) {
        err_set(&e, ERR_FORMAT, "no UUID and no build-id in it");
    }
    return st == ST_OK || ruleset_fail(r, path, &e);
}

/* Adds the rules of --in-app and --not-in-app to the set; their parser reports faults. False: an
 * error was printed. */
static bool add_globs(struct classify_rules *r, struct rules *set) {
    for (size_t i = 0; i < r->globs.len; i++) {
        const struct side_glob *g = &r->globs.data[i];
        const char *option = g->in_app ? "--in-app" : "--not-in-app";
        const char *file = g->glob[0] == '@' ? g->glob + 1 : NULL;
        struct strbuf text = {0};
        struct err e = {0};
        bool ok = true;
        if (file) {
            ok = add_ids(r, g->in_app, file, &text);
        } else {
            side_rules_add_glob(&text, g->in_app, g->glob);
        }
        if (ok &&
            (strbuf_check(&text, &e) != ST_OK ||
             rules_add(set, file ? file : option, strbuf_cstr(&text), text.len, &e) != ST_OK)) {
            ok = ruleset_fail(r, NULL, &e);
        }
        strbuf_release(&text);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* ---- loading ---- */

static bool ruleset_add_file(struct classify_rules *r, struct rules *set, const char *path) {
    struct filemap m = {0};
    struct err e = {0};
    if (!ruleset_open_file(r, path, &m)) {
        return false;
    }
    enum st st = rules_add(set, path, (const char *)m.data, m.size, &e);
    filemap_release(&m);
    return st == ST_OK || ruleset_fail(r, NULL, &e); /* the message of `e` begins with FILE:LINE */
}

static void name_rules(struct classify_rules *r) {
    if (r->globs.len) {
        strbuf_addstr(&r->name, "in-app + ");
    }
    for (size_t i = 0; i < r->files.len; i++) {
        strbuf_addf(&r->name, "%s + ", path_base(r->files.data[i]));
    }
    strbuf_addstr(&r->name, r->raw ? "none" : "built-in");
}

bool classify_rules_take(struct classify_rules *r, struct cli_parser *p) {
    if (strcmp(p->value, "none") == 0) {
        r->raw = true;
        return true;
    }
    return VEC_PUSH(&r->files, cli_file_of(p->value)) || cli_nomem(p);
}

bool classify_rules_load(struct classify_rules *r) {
    struct err e = {0};
    name_rules(r);
    if (rules_new(&r->set, &e) != ST_OK) {
        return ruleset_fail(r, NULL, &e);
    }
    if (r->raw) {
        return true;
    }
    if (!add_globs(r, r->set)) {
        return false;
    }
    for (size_t i = 0; i < r->files.len; i++) {
        if (!ruleset_add_file(r, r->set, r->files.data[i])) {
            return false;
        }
    }
    return (rules_add_builtin(r->set, &e) == ST_OK && strbuf_check(&r->name, &e) == ST_OK) ||
           ruleset_fail(r, NULL, &e);
}

void classify_rules_release(struct classify_rules *r) {
    rules_free(r->set);
    VEC_RELEASE(&r->files);
    VEC_RELEASE(&r->globs);
    strbuf_release(&r->name);
    r->set = NULL;
}

/* ---- --lint ---- */

struct finding {
    size_t file, order; /* file: index of the file; order: number of the finding in the order in
                           which they were found */
    uint32_t line;
    char *text; /* text of the finding as it is printed */
};

struct findings {
    VEC(struct finding) list;
    const struct classify_rules *of;
    size_t counts[FAULTS];
    bool failed; /* memory ran out */
};

static void add_finding(void *ctx, const struct rules_finding *f) {
    struct findings *all = ctx;
    struct strbuf text = {0};
    struct finding one = {.line = f->line, .order = all->list.len};
    while (one.file < all->of->files.len && strcmp(all->of->files.data[one.file], f->file) != 0) {
        one.file++;
    }
    strbuf_addf(&text, "%s:%u: %s: %s\n", f->file, (unsigned)f->line, rules_fault_text(f->fault),
                f->text);
    one.text = strbuf_take(&text);
    all->counts[f->fault]++;
    if (!one.text || !VEC_PUSH(&all->list, one)) {
        free(one.text);
        all->failed = true;
    }
}

static int ruleset_by_place(const void *a, const void *b) {
    const struct finding *x = a, *y = b;
    int order = COMPARE(x->file, y->file);
    order = order ? order : COMPARE(x->line, y->line);
    return order ? order : COMPARE(x->order, y->order);
}

static void print_findings(const struct classify_rules *r, struct findings *all, size_t rules,
                           const char *path) {
    struct cli_output output;
    struct strbuf summary = {0};
    if (!cli_output_open(&output, path, r->failures)) {
        return;
    }
    if (all->list.len) {
        qsort(all->list.data, all->list.len, sizeof *all->list.data, ruleset_by_place);
    }
    for (size_t i = 0; i < all->list.len; i++) {
        sink_str(&output.sink, all->list.data[i].text);
    }
    cli_output_close(&output, true, r->failures);
    for (size_t f = 0; f < FAULTS; f++) {
        if (all->counts[f]) {
            strbuf_addf(&summary, "%s%zu %s", summary.len ? ", " : "", all->counts[f],
                        rules_fault_text((enum rules_fault)f));
        }
    }
    cli_say(r->failures->tool, "%zu rules: %s", rules,
            summary.len ? strbuf_cstr(&summary) : "nothing is wrong");
    strbuf_release(&summary);
}

static bool lint_file(struct classify_rules *r, const char *path, struct findings *all) {
    struct filemap m = {0};
    struct err e = {0};
    if (!ruleset_open_file(r, path, &m)) {
        return false;
    }
    enum st st = rules_add_lint(r->set, path, (const char *)m.data, m.size, add_finding, all, &e);
    filemap_release(&m);
    return st == ST_OK || ruleset_fail(r, NULL, &e);
}

/* Collects the findings in *all and sets *count to the number of rules examined. False: an error
 * was printed. */
static bool ruleset_lint(struct classify_rules *r, struct findings *all, size_t *count) {
    struct err e = {0};
    if (rules_new(&r->set, &e) != ST_OK) {
        return ruleset_fail(r, NULL, &e);
    }
    if (!add_globs(r, r->set)) {
        return false;
    }
    for (size_t i = 0; i < r->files.len; i++) {
        if (!lint_file(r, r->files.data[i], all)) {
            return false;
        }
    }
    *count = rules_count(r->set);
    if (rules_add_builtin(r->set, &e) != ST_OK) {
        return ruleset_fail(r, NULL, &e);
    }
    if (r->files.len == 0 && r->globs.len == 0) {
        *count = rules_count(r->set);
    }
    if (rules_lint(r->set, *count, add_finding, all, &e) != ST_OK || all->failed) {
        err_nomem(&e);
        return ruleset_fail(r, NULL, &e);
    }
    return true;
}

int classify_rules_lint(struct classify_rules *r, const char *output) {
    struct findings all = {.of = r};
    size_t count = 0;
    bool done = ruleset_lint(r, &all, &count);
    if (done) {
        print_findings(r, &all, count, output);
    }
    done = done && all.list.len == 0;
    for (size_t i = 0; i < all.list.len; i++) {
        free(all.list.data[i].text);
    }
    VEC_RELEASE(&all.list);
    int status = cli_exit_status(r->failures);
    return done ? status : CLI_FAILED;
}
