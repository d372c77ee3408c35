/* Implements filters of dumps: the fields that terms can name, the test of a dump against the
 * terms, and the parser of the filter's text. */
#include "classify/keys/where.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/regex_text.h"
#include "base/vec.h"
#include "classify/keys/version.h"

/* ---- fields ---- */

enum field_type { FIELD_TEXT, FIELD_NUMBER, FIELD_BOOL };

struct where_field {
    const char *name;
    enum field_type type;
    size_t offset; /* offset in struct dump of the member: a const char *, an int64_t (-1 = absent)
                      or a bool; SIZE_MAX: context_field or OF_KEY; BUCKET_OFFSET: OF_BUCKET */
};

#define TEXT(name)                                                                                 \
    { #name, FIELD_TEXT, offsetof(struct dump, name) }
#define NUMBER(name)                                                                               \
    { #name, FIELD_NUMBER, offsetof(struct dump, name) }
#define BOOL(name)                                                                                 \
    { #name, FIELD_BOOL, offsetof(struct dump, name) }
/* A row of a field that is a fact of the key, not of the dump; of_key reads it. */
#define OF_KEY(name, type)                                                                         \
    { name, type, SIZE_MAX }

/* A row of a field whose value people set for a bucket. */
#define OF_BUCKET(name, type)                                                                      \
    { name, type, BUCKET_OFFSET }
#define BUCKET_OFFSET (SIZE_MAX - 1)

static const struct where_field fields[] = {
    TEXT(id),
    TEXT(time),
    TEXT(user),
    TEXT(app.id),
    TEXT(app.version),
    TEXT(app.build),
    TEXT(device.model),
    TEXT(device.os),
    TEXT(device.os_build),
    TEXT(device.arch),
    NUMBER(device.cpus),
    TEXT(stall.id),
    NUMBER(stall.seq),
    TEXT(stall.kind),
    TEXT(stall.detector),
    TEXT(stall.activity),
    TEXT(stall.action),
    {"stall.top_thread", FIELD_TEXT, offsetof(struct dump, stall.top_thread_name)},
    TEXT(stall.app_state),
    TEXT(stall.visibility),
    BOOL(stall.prewarmed),
    NUMBER(stall.threshold_ms),
    NUMBER(stall.at_ms),
    NUMBER(stall.duration_ms),
    NUMBER(stall.span_ms),
    NUMBER(stall.gap_ms),
    NUMBER(stall.cpu_permille),
    BOOL(stall.ended),
    BOOL(stall.fatal),
    OF_KEY("cause", FIELD_TEXT),
    OF_KEY("confidence", FIELD_NUMBER),
    OF_KEY("truth", FIELD_NUMBER),
    OF_KEY("level1", FIELD_TEXT),
    OF_KEY("level2", FIELD_TEXT),
    OF_KEY("action", FIELD_TEXT),
    OF_BUCKET("owner", FIELD_TEXT),
    OF_BUCKET("ignored", FIELD_BOOL),
};

const char *where_field_name(size_t i) {
    return i < sizeof fields / sizeof *fields ? fields[i].name : NULL;
}

/* The field of an entry that the app put into the dump's context, whose name follows the dot. */
static const char context_prefix[] = "context.";
static const struct where_field context_field = {context_prefix, FIELD_TEXT, SIZE_MAX};

/* Is the field about the user, the device, the app, its context or the time of a dump? Exposure
 * records have such fields, too. */
static bool is_of_users(const char *field) {
    static const char *const names[] = {"time", "user", "app.", "device.", context_prefix};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(field, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static const struct where_field *where_find_field(const char *name, size_t len) {
    size_t at;
    if (PARSE_WORD(name, len, fields, &at)) {
        return &fields[at];
    }
    size_t prefix = strlen(context_prefix);
    return len > prefix && memcmp(name, context_prefix, prefix) == 0 ? &context_field : NULL;
}

/* ---- values of fields ---- */

enum { VALUE_SIZE = 24 }; /* size of a number or an id as text */

static const char *where_number(int64_t v, char out[VALUE_SIZE]) {
    snprintf(out, VALUE_SIZE, "%" PRId64, v);
    return out;
}

static enum st id_of(char level, const struct key *key, char out[VALUE_SIZE], struct err *e) {
    struct strbuf text = {0};
    key_text(key, &text);
    enum st st = strbuf_check(&text, e);
    if (st == ST_OK && key->count == 0) {
        st = ST_NONE;
    } else if (st == ST_OK) {
        key_id(level, strbuf_cstr(&text), text.len, out);
    }
    strbuf_release(&text);
    return st;
}

static enum st of_key(const char *name, const struct stall_key *key, char buf[VALUE_SIZE],
                      const char **out, struct err *e) {
    *out = buf;
    if (strcmp(name, "level1") == 0) {
        return id_of('1', &key->level[0], buf, e);
    }
    if (strcmp(name, "level2") == 0) {
        return id_of('2', &key->level[1], buf, e);
    }
    if (strcmp(name, "action") == 0) {
        return id_of('a', &key->action, buf, e);
    }
    if (strcmp(name, "cause") == 0) {
        *out = rule_cause_text(key->cause);
        return ST_OK;
    }
    int64_t v = strcmp(name, "confidence") == 0 ? (int64_t)key->confidence : key->truth;
    where_number(v, buf);
    return v < 0 ? ST_NONE : ST_OK;
}

/* ---- terms ---- */

enum comparison {
    OP_EQUAL,
    OP_OTHER,
    OP_BELOW,
    OP_AT_MOST,
    OP_ABOVE,
    OP_AT_LEAST,
    OP_FOUND,
    OP_NOT_FOUND
};

/* Operators; an operator that begins with another one stands before it. */
static const struct {
    const char *text;
    enum comparison op;
} operators[] = {{"!=", OP_OTHER}, {"<=", OP_AT_MOST}, {">=", OP_AT_LEAST}, {"!~", OP_NOT_FOUND},
                 {"=", OP_EQUAL},  {"<", OP_BELOW},    {">", OP_ABOVE},     {"~", OP_FOUND}};

struct term {
    const struct where_field *field;
    char *name; /* full name of the field */
    enum comparison op;
    char *value;
    struct regex *regex; /* compiled value for OP_FOUND and OP_NOT_FOUND, else NULL */
};

struct where {
    VEC(struct term) terms;
};

static bool has_regex(const struct term *t) {
    return t->op == OP_FOUND || t->op == OP_NOT_FOUND;
}

/* Sets *out to the field's text, which is borrowed from the dump or the key, static, or written to
 * buf. ST_NONE: the dump does not have the field. ST_ERR: out of memory. */
static enum st value_of(const struct term *t, const struct dump *d, const struct stall_key *key,
                        char buf[VALUE_SIZE], const char **out, struct err *e) {
    const struct where_field *f = t->field;
    if (f == &context_field) {
        *out = dump_context(d, t->name + strlen(context_prefix));
        return *out && **out ? ST_OK : ST_NONE;
    }
    /* A regular expression is searched for in the action's name, not in its id. */
    if (has_regex(t) && strcmp(f->name, "action") == 0) {
        *out = key->action.count ? key->action.frames[0].info->function : "";
        return **out ? ST_OK : ST_NONE;
    }
    if (f->offset == SIZE_MAX) {
        return of_key(f->name, key, buf, out, e);
    }
    const char *at = (const char *)d + f->offset;
    if (f->type == FIELD_TEXT) {
        *out = *(const char *const *)(const void *)at;
        return *out && **out ? ST_OK : ST_NONE;
    }
    if (f->type == FIELD_BOOL) {
        *out = *(const bool *)(const void *)at ? "true" : "false";
        return ST_OK;
    }
    int64_t v = *(const int64_t *)(const void *)at;
    *out = where_number(v, buf);
    return v < 0 ? ST_NONE : ST_OK;
}

enum st where_new(struct where **out, struct err *e) {
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : err_nomem(e);
}

void where_free(struct where *w) {
    if (!w) {
        return;
    }
    for (size_t i = 0; i < w->terms.len; i++) {
        struct term *t = &w->terms.data[i];
        regex_free(t->regex);
        free(t->value);
        free(t->name);
    }
    VEC_RELEASE(&w->terms);
    free(w);
}

bool where_asks(const struct where *w, const char *field) {
    for (size_t i = 0; i < w->terms.len; i++) {
        if (strcmp(w->terms.data[i].field->name, field) == 0) {
            return true;
        }
    }
    return false;
}

bool where_asks_marks(const struct where *w) {
    for (size_t i = 0; i < w->terms.len; i++) {
        if (w->terms.data[i].field->offset == BUCKET_OFFSET) {
            return true;
        }
    }
    return false;
}

const char *where_asks_beside(const struct where *w, const char *const *known) {
    for (size_t i = 0; i < w->terms.len; i++) {
        const struct term *t = &w->terms.data[i];
        const char *name = t->field == &context_field ? t->name : t->field->name;
        size_t at = 0;
        while (known[at] && strcmp(known[at], name) != 0) {
            at++;
        }
        if (!known[at]) {
            return name;
        }
    }
    return NULL;
}

bool where_asks_for(const struct where *w, const char *field, const char *value) {
    for (size_t i = 0; i < w->terms.len; i++) {
        const struct term *t = &w->terms.data[i];
        if (t->op == OP_EQUAL && strcmp(t->field->name, field) == 0 &&
            strcmp(t->value, value) == 0) {
            return true;
        }
    }
    return false;
}

/* Compares two texts in natural order. ST_NONE: they have no order, because they differ before
 * their first digit, and neither is the beginning of the other. */
static enum st where_compare(const char *a, const char *b, int *order) {
    size_t i = 0;
    while (a[i] && a[i] == b[i] && !(a[i] >= '0' && a[i] <= '9')) {
        i++;
    }
    bool digits = a[i] >= '0' && a[i] <= '9' && b[i] >= '0' && b[i] <= '9';
    *order = version_order(a, b);
    return digits || !a[i] || !b[i] ? ST_OK : ST_NONE;
}

static enum st as_status(bool holds) {
    return holds ? ST_OK : ST_NONE;
}

/* Does the term hold for this value? If the search for the expression takes too long, the term does
 * not hold, neither with ~ nor with !~, and the value is counted as undecided. */
static enum st where_searched(const struct term *t, const char *value, struct where_seen *seen,
                              struct err *e) {
    struct err why = {0};
    enum st st = regex_search(t->regex, value, strlen(value), &why);
    if (st != ST_ERR) {
        return as_status((st == ST_OK) == (t->op == OP_FOUND));
    }
    if (why.code != ERR_LIMIT) {
        return err_nomem(e);
    }
    if (seen) {
        seen->undecided++;
    }
    return ST_NONE;
}

static bool where_holds(const struct term *t, const char *value) {
    int order = 0;
    if (t->op == OP_EQUAL || t->op == OP_OTHER) {
        return (strcmp(value, t->value) == 0) == (t->op == OP_EQUAL);
    }
    if (where_compare(value, t->value, &order) != ST_OK) {
        return false;
    }
    switch (t->op) {
    case OP_BELOW:
        return order < 0;
    case OP_AT_MOST:
        return order <= 0;
    case OP_ABOVE:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* Does the term hold for a dump that does not have its field? */
static bool holds_absent(const struct term *t) {
    return t->op == OP_OTHER ? *t->value != 0
                             : t->op == OP_NOT_FOUND || (t->op == OP_EQUAL && !*t->value);
}

/* Sets *out to whether the term holds for a value; value NULL: the dump lacks the field. */
static enum st term_holds(const struct term *t, const char *value, struct where_seen *seen,
                          bool *out, struct err *e) {
    if (!value) {
        *out = holds_absent(t);
        return ST_OK;
    }
    if (!has_regex(t)) {
        *out = where_holds(t, value);
        return ST_OK;
    }
    enum st st = where_searched(t, value, seen, e);
    *out = st == ST_OK;
    return st == ST_ERR ? ST_ERR : ST_OK;
}

static void note(struct where_seen *seen, size_t term, bool said) {
    if (seen && term < WHERE_SEEN_TERMS) {
        seen->said |= (uint64_t)said << term;
    }
}

enum st where_match(const struct where *w, const struct dump *d, const struct stall_key *key,
                    struct where_seen *seen, struct err *e) {
    bool all = true;
    for (size_t i = 0; i < w->terms.len && (all || seen); i++) {
        const struct term *t = &w->terms.data[i];
        char buf[VALUE_SIZE];
        const char *value;
        if (t->field->offset == BUCKET_OFFSET) {
            continue;
        }
        enum st st = value_of(t, d, key, buf, &value, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        note(seen, i, st == ST_OK);
        if (all && term_holds(t, st == ST_OK ? value : NULL, seen, &all, e) != ST_OK) {
            return ST_ERR;
        }
    }
    if (seen) {
        seen->count++;
    }
    return as_status(all);
}

enum st where_match_exposure(const struct where *w, where_said said, void *ctx,
                             struct where_seen *seen, struct err *e) {
    bool all = true;
    for (size_t i = 0; w && i < w->terms.len; i++) {
        const struct term *t = &w->terms.data[i];
        const char *value = NULL;
        if (!is_of_users(t->name)) {
            continue;
        }
        enum st st = said(ctx, t->name, &value);
        note(seen, i, st == ST_OK);
        if (all && st != ST_ERR &&
            term_holds(t, st == ST_OK ? value : NULL, seen, &all, e) != ST_OK) {
            return ST_ERR;
        }
    }
    if (seen) {
        seen->count++;
    }
    return as_status(all);
}

enum st where_match_bucket(const struct where *w, where_said said, void *ctx, struct err *e) {
    bool all = true;
    for (size_t i = 0; all && i < w->terms.len; i++) {
        const struct term *t = &w->terms.data[i];
        const char *value = NULL;
        if (t->field->offset != BUCKET_OFFSET) {
            continue;
        }
        enum st st = said(ctx, t->name, &value);
        if (term_holds(t, st == ST_OK ? value : NULL, NULL, &all, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return as_status(all);
}

void where_seen_add(struct where_seen *seen, const struct where_seen *more) {
    seen->count += more->count;
    seen->undecided += more->undecided;
    seen->said |= more->said;
}

const char *where_unsaid(const struct where *w, const struct where_seen *seen, bool exposure,
                         size_t *at) {
    for (; *at < w->terms.len && *at < WHERE_SEEN_TERMS && seen->count; ++*at) {
        const struct term *t = &w->terms.data[*at];
        if (!(seen->said >> *at & 1) && !holds_absent(t) && (!exposure || is_of_users(t->name))) {
            return w->terms.data[(*at)++].name;
        }
    }
    return NULL;
}

/* ---- parsing ---- */

struct parser {
    const char *text;
    size_t at;
    struct err *e;
};

static bool where_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static enum st read_field(struct parser *p, struct term *t) {
    const char *name = p->text + p->at;
    size_t len = strcspn(name, "=!<>~ \t\r\n\"");
    t->field = where_find_field(name, len);
    if (t->field) {
        p->at += len;
        t->name = strndup(name, len);
        return t->name ? ST_OK : err_nomem(p->e);
    }
    if (len == 0) {
        return err_set(p->e, ERR_USAGE, "a field is missing");
    }
    return err_set(p->e, ERR_USAGE, "no field is called '%.*s'", (int)(len < 64 ? len : 64), name);
}

static enum st read_operator(struct parser *p, struct term *t) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t len = strlen(operators[i].text);
        if (strncmp(p->text + p->at, operators[i].text, len) == 0) {
            t->op = operators[i].op;
            p->at += len;
            return ST_OK;
        }
    }
    return err_set(p->e, ERR_USAGE, "one of = != < <= > >= ~ !~ must follow '%s'", t->name);
}

/* Reads a value and appends its text, without quotes, to out. */
static enum st where_read_value(struct parser *p, struct strbuf *out) {
    size_t start = p->at;
    bool quoted = p->text[p->at] == '"';
    p->at += quoted;
    for (char c; (c = p->text[p->at]) != 0 && (quoted ? c != '"' : !where_is_space(c)); p->at++) {
        char next = p->text[p->at + 1];
        if (quoted && c == '\\' && (next == '"' || next == '\\')) {
            p->at++;
            c = next;
        }
        strbuf_addc(out, c);
    }
    if (quoted && p->text[p->at] != '"') {
        p->at = start;
        return err_set(p->e, ERR_USAGE, "this quote has no end");
    }
    p->at += quoted;
    if (p->text[p->at] && !where_is_space(p->text[p->at])) {
        return err_set(p->e, ERR_USAGE, "white space must follow a value");
    }
    return ST_OK;
}

/* Checks that the value is of the type of the term's field, or the name of a cause; a regular
 * expression must only not be empty. With = and !=, an empty value fits any field but a bool. */
static enum st check_value(struct parser *p, const struct term *t, size_t start) {
    uint64_t n;
    bool empty = !*t->value && t->op <= OP_OTHER;
    p->at = start;
    if (has_regex(t)) {
        return *t->value ? ST_OK : err_set(p->e, ERR_USAGE, "a regular expression is missing");
    }
    if (!*t->value && !empty) {
        return err_set(p->e, ERR_USAGE, "a value is missing");
    }
    if (t->field->type == FIELD_BOOL && strcmp(t->value, "true") != 0 &&
        strcmp(t->value, "false") != 0) {
        return err_set(p->e, ERR_USAGE, "'%s' is true or false", t->field->name);
    }
    if (t->field->type == FIELD_NUMBER && !empty &&
        !parse_u64(t->value, strlen(t->value), INT64_MAX, &n)) {
        return err_set(p->e, ERR_USAGE, "'%s' is a whole number", t->field->name);
    }
    if (strcmp(t->field->name, "cause") == 0 && t->op <= OP_OTHER) {
        enum rule_cause cause;
        if (!empty && !rule_cause_parse(t->value, strlen(t->value), &cause)) {
            return err_set(p->e, ERR_USAGE, "no cause is called '%.64s'", t->value);
        }
    }
    return ST_OK;
}

static enum st read_term(struct parser *p, struct term *t) {
    struct strbuf value = {0};
    if (read_field(p, t) != ST_OK || read_operator(p, t) != ST_OK) {
        return ST_ERR;
    }
    size_t start = p->at;
    enum st st = where_read_value(p, &value);
    size_t end = p->at;
    if (st == ST_OK) {
        strbuf_addstr(&value, "");
        t->value = strbuf_take(&value);
        st = !t->value ? err_nomem(p->e) : check_value(p, t, start);
    }
    if (st == ST_OK && has_regex(t)) {
        st = regex_compile(&t->regex, t->value, p->e);
    }
    p->at = st == ST_OK ? end : p->at;
    strbuf_release(&value);
    return st;
}

enum st where_add(struct where *w, const char *text, size_t *at, struct err *e) {
    struct parser p = {.text = text, .e = e};
    *at = 0;
    for (;;) {
        while (where_is_space(text[p.at])) {
            p.at++;
        }
        if (!text[p.at]) {
            return ST_OK;
        }
        struct term t = {0};
        enum st st = read_term(&p, &t);
        if (st == ST_OK && !VEC_PUSH(&w->terms, t)) {
            st = err_nomem(e);
        }
        if (st != ST_OK) {
            regex_free(t.regex);
            free(t.value);
            free(t.name);
            *at = p.at;
            return ST_ERR;
        }
    }
}
