/* C++20 names that libiberty cannot read: those with constraints and with template parameters of
 * lambdas.
 *
 * A constraint, which compilers since clang 18 put into names, is left out, as most demanglers do
 * not print it either. A marker in front of a template argument (Tk and a concept, Tn and a type)
 * and the head of a lambda (UlTyT_E_) name nothing that a later substitution can refer to, so the
 * rest stays as it is. A requires-clause (Q) may contain a part that a later substitution refers
 * to, so the name is cut in front of the clause; if the clause is among template arguments, the
 * arguments after it and the parameters are not shown. */
#include <string.h>

#include "demangle/scheme_private.h"

enum { OPEN_MAX = 4 }; /* maximum number of lists that are open where the name is cut */

/* A name while it is copied without its constraints. */
struct constrained {
    const char *s;
    size_t at;
    struct strbuf text;
    size_t cut; /* length that text is cut to; SIZE_MAX: no cut */
};

static bool is_digit_byte(char c) {
    return c >= '0' && c <= '9';
}

static size_t digits_at(const char *s, size_t *value) {
    size_t n = 0;
    *value = 0;
    for (; is_digit_byte(s[n]) && *value < DEMANGLE_IN_MAX; n++) {
        *value = *value * 10 + (size_t)(s[n] - '0');
    }
    return n;
}

/* Returns the length of the source name at s with its digits; 0: there is none, or it is cut
 * short. */
static size_t source_name(const char *s) {
    size_t value, digits = digits_at(s, &value);
    return digits && value && memchr(s, 0, digits + value) == NULL ? digits + value : 0;
}

/* Are the digits at the current position a number (S1_, T0_, A4_, Li5E), and not the length of a
 * name? */
static bool is_number(const struct constrained *c) {
    size_t value, digits = digits_at(c->s + c->at, &value);
    char before = c->at ? c->s[c->at - 1] : 0, more = c->at > 1 ? c->s[c->at - 2] : 0;
    bool in_index = c->s[c->at + digits] == '_' && (strchr("STAL_", before) || value == 0);
    return in_index || (more == 'L' && before >= 'a' && before <= 'z');
}

/* Returns the length of `Tk` and a concept that adds no substitution (3Num, St8integral, NS_3NumE);
 * 0: the concept is another one. */
static size_t plain_concept(const char *s) {
    const char *p = s + 2;
    bool nested = p[0] == 'N' && p[1] == 'S';
    if (nested) {
        p += 2;
        while (is_digit_byte(*p) || (*p >= 'A' && *p <= 'Z')) {
            p++;
        }
        if (*p++ != '_') {
            return 0;
        }
    } else if (p[0] == 'S' && p[1] == 't') {
        p += 2;
    }
    size_t name = source_name(p);
    p += name;
    if (!name || (nested ? *p++ != 'E' : *p == 'I')) {
        return 0;
    }
    return (size_t)(p - s);
}

/* Returns the length of a lambda's template parameters, Ty or TpTy, after its `Ul`; 0: there are
 * none. */
static size_t lambda_head(const struct constrained *c) {
    const char *s = c->s + c->at;
    size_t n = 0;
    if (c->at < 2 || s[-2] != 'U' || s[-1] != 'l') {
        return 0;
    }
    for (;;) {
        if (strncmp(s + n, "Ty", 2) == 0) {
            n += 2;
        } else if (strncmp(s + n, "TpTy", 4) == 0) {
            n += 4;
        } else {
            return n;
        }
    }
}

/* Returns the length of the text that is left out at the current position; 0: nothing is left
 * out. */
static size_t left_out(struct constrained *c) {
    const char *s = c->s + c->at;
    if (s[0] == 'T' && s[1] == 'k') {
        return plain_concept(s);
    }
    if (strncmp(s, "TnDa", 4) == 0) {
        return 4;
    }
    if (s[0] == 'T' && s[1] == 'n' && s[2] >= 'a' && s[2] <= 'z') {
        return 3;
    }
    return lambda_head(c);
}

static bool needs_cut(const char *s) {
    return s[0] == 'Q' || (s[0] == 'T' && s[1] && strchr("knpt", s[1]));
}

static void leave_out_constraints(struct constrained *c) {
    while (c->s[c->at]) {
        const char *s = c->s + c->at;
        size_t value, copied = 1, skipped = left_out(c);
        if (is_digit_byte(*s)) {
            size_t name = is_number(c) ? 0 : source_name(s);
            copied = name ? name : digits_at(s, &value);
        } else if (skipped) {
            copied = 0;
        } else if (needs_cut(s) && c->cut == SIZE_MAX) {
            c->cut = c->text.len;
        }
        strbuf_add(&c->text, s, copied);
        c->at += copied + skipped;
    }
}

enum st demangle_constrained(const char *name, struct strbuf *out, struct err *e) {
    struct constrained c = {.s = name, .cut = SIZE_MAX};
    leave_out_constraints(&c);
    enum st st = strbuf_check(&c.text, e);
    if (st == ST_OK) {
        st = strcmp(strbuf_cstr(&c.text), name) == 0 ? ST_NONE
                                                     : demangle_itanium(c.text.data, out, e);
    }
    for (size_t open = 0; st == ST_NONE && c.cut != SIZE_MAX && open <= OPEN_MAX; open++) {
        strbuf_truncate(&c.text, c.cut);
        for (size_t i = 0; i < open; i++) {
            strbuf_addc(&c.text, 'E');
        }
        size_t before = out->len;
        st = strbuf_check(&c.text, e);
        if (st == ST_OK) {
            st = demangle_itanium(c.text.data, out, e);
        }
        if (st == ST_NONE && !out->failed) {
            strbuf_truncate(out, before);
        }
    }
    strbuf_release(&c.text);
    return st;
}
