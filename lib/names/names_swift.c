/* Simplifies readable Swift names, so that the full form (`Shop.Cart.add(item: Shop.Item) -> ()`)
 * and the simplified one (`Cart.add(item:)`) give one name. Kept are the path, the argument labels,
 * which are part of a Swift name, and the kind of the entity. Dropped are modules, types, thunk and
 * specialisation wrappers, closure numbers and private discriminators. The forms are those of
 * Swift's own demangler (swift: lib/Demangling/NodePrinter.cpp).
 *
 * A path begins with a module only in a full name, and a name is known to be full only if a type
 * follows the path (" -> ", " : "). In names without such a type, such as `Shop.Cart.deinit` and
 * `type metadata for Shop.Cart`, only the last part of `Shop.Cart` is kept, which both forms
 * have. */
#include "names/names.h"

#include <string.h>

#include "names/names_private.h"

/* An operator's name is searched for in at most this many bytes: a bound on each look-ahead keeps
 * the scan linear. */
enum { OPERATOR_MAX = 64 };

struct swift_scan {
    const char *s;
    size_t len, at;
    struct strbuf *out;
    size_t base; /* where in out this name begins */
    bool full;   /* paths that end after modules_from begin with a module */
    size_t modules_from;
    bool modules;  /* modules are kept */
    bool unclosed; /* some bracket has no closing bracket, so none is searched for any more */
    bool of_type;  /* paths name types, of which only the last name is kept */
    bool witness;  /* a skipped wrapper was that of a protocol's witness */
};

static bool swift_rest_starts(const struct swift_scan *sc, const char *prefix) {
    return names_starts(sc->s + sc->at, sc->len - sc->at, prefix);
}

static bool swift_out_ends(const struct swift_scan *sc, const char *suffix) {
    return names_ends(sc->out->data ? sc->out->data + sc->base : "", sc->out->len - sc->base,
                      suffix);
}

static bool swift_take_word(struct swift_scan *sc, const char *const *words) {
    size_t word = names_starts_any(sc->s + sc->at, sc->len - sc->at, words);
    sc->at += word;
    return word > 0;
}

static void swift_skip_group(struct swift_scan *sc) {
    size_t close = names_close(sc->s, sc->len, sc->at);
    sc->at = close < sc->len ? close + 1 : sc->len;
}

static void skip_digits(struct swift_scan *sc) {
    while (sc->at < sc->len && names_is_digit(sc->s[sc->at])) {
        sc->at++;
    }
}

/* ---- wrappers around a name ---- */

/* Skips `generic specialization <…> of `; the scan is just after its `<`. */
static void skip_specialization(struct swift_scan *sc) {
    sc->at--;
    swift_skip_group(sc);
    sc->at += swift_rest_starts(sc, " of ") ? 4 : 0;
}

/* Skips `function signature specialization <…> of `. Swift's demangler leaves out brackets between
 * < and >, "[Closure Propagated : … : [Swift.Int]>", so this wrapper ends at the last "> of ". */
static void skip_signature_specialization(struct swift_scan *sc) {
    static const char mark[] = "> of ";
    size_t end = sc->len;
    for (size_t at = names_find(sc->s, sc->len, sc->at, mark); at < sc->len;
         at = names_find(sc->s, sc->len, at + 1, mark)) {
        end = at + sizeof mark - 1;
    }
    sc->at = end;
}

static bool take_witness(struct swift_scan *sc) {
    static const char *const witness[] = {"protocol witness for ", NULL};
    bool taken = swift_take_word(sc, witness);
    sc->witness = sc->witness || taken;
    return taken;
}

/* Skips one wrapper around the name at the scan: a thunk, a specialisation, an attribute. False:
 * there is no wrapper. */
static bool skip_wrapper(struct swift_scan *sc) {
    static const char *const plain[] = {"@objc ",
                                        "dynamic ",
                                        "merged ",
                                        "specialized ",
                                        "partial apply forwarder for ",
                                        "partial apply for ",
                                        "partial apply ObjC forwarder for ",
                                        "dispatch thunk of ",
                                        "vtable thunk for ",
                                        "curry thunk of ",
                                        "identity thunk of ",
                                        "distributed thunk ",
                                        "distributed accessor for ",
                                        "back deployment thunk for ",
                                        "back deployment fallback for ",
                                        "dynamically replaceable thunk for ",
                                        "default override of ",
                                        "protocol self-conformance witness for ",
                                        "async function pointer to ",
                                        "coro function pointer to ",
                                        "super ",
                                        "suspend resume partial function for ",
                                        "await resume partial function for ",
                                        NULL};
    static const char *const grouped[] = {"generic specialization <",
                                          "generic pre-specialization <",
                                          "generic partial specialization <",
                                          "generic not re-abstracted specialization <",
                                          "generic not-reabstracted specialization <",
                                          "generic not-reabstracted partial specialization <",
                                          "inlined generic function <",
                                          NULL};
    static const char *const signature[] = {"function signature specialization <", NULL};
    if (swift_take_word(sc, plain) || take_witness(sc)) {
        return true;
    }
    if (swift_take_word(sc, grouped)) {
        skip_specialization(sc);
        return true;
    }
    if (swift_take_word(sc, signature)) {
        skip_signature_specialization(sc);
        return true;
    }
    char c = sc->s[sc->at];
    bool numbered = c == '(' && sc->at + 1 < sc->len && names_is_digit(sc->s[sc->at + 1]);
    if (c == '{' || numbered) { /* skips groups such as {T:…} and (1) */
        swift_skip_group(sc);
        while (sc->at < sc->len && (sc->s[sc->at] == ' ' || sc->s[sc->at] == ':')) {
            sc->at++;
        }
        return true;
    }
    return false;
}

/* Returns the index after the operator at s[at], `==` of `== infix(…)`; `at` if there is none. */
static size_t behind_operator(const char *s, size_t len, size_t at) {
    static const char symbols[] = "/=-+!*%<>&|^~?.";
    static const char *const places[] = {" infix", " prefix", " postfix"};
    size_t end = at, last = len - at < OPERATOR_MAX ? len : at + OPERATOR_MAX;
    while (end < last && s[end] && strchr(symbols, s[end])) {
        end++;
    }
    for (size_t i = 0; end > at && i < sizeof places / sizeof *places; i++) {
        if (names_starts(s + end, len - end, places[i])) {
            return end + strlen(places[i]);
        }
    }
    return at;
}

/* Sets sc->full if the name is full: if " -> " or " : " stands outside of all brackets; sets
 * sc->modules_from to the last " in " outside of them. Text from " in conformance " on is not
 * looked at. Paths of a full name begin with a module, except for those of entities declared in a
 * function. */
static void swift_find_form(struct swift_scan *sc) {
    for (size_t at = sc->at; at < sc->len; at++) {
        at = at > 0 && sc->s[at - 1] == '.' ? behind_operator(sc->s, sc->len, at) : at;
        if (at >= sc->len) {
            return;
        }
        char c = sc->s[at];
        if (c == '(' || c == '[' || c == '{' || c == '<') {
            size_t close = names_close(sc->s, sc->len, at);
            at = close; /* a bracket that nothing closes continues to the end */
        } else if (c == ' ') {
            const char *rest = sc->s + at;
            size_t left = sc->len - at;
            sc->full =
                sc->full || names_starts(rest, left, " -> ") || names_starts(rest, left, " : ");
            if (names_starts(rest, left, " in conformance ")) {
                return;
            }
            if (names_starts(rest, left, " in ")) {
                sc->modules_from = at;
            }
        }
    }
}

/* ---- parts of a name ---- */

/* Writes the argument list at the scan as labels: `(zim: foo.zim, Swift.Int)` as `(zim:_:)`, and
 * `()` as nothing. */
static void add_labels(struct swift_scan *sc) {
    size_t close = names_close(sc->s, sc->len, sc->at);
    size_t end = close < sc->len ? close : sc->len;
    const char *s = sc->s;
    size_t at = sc->at + 1;
    sc->at = close < sc->len ? close + 1 : sc->len;
    if (at >= end) {
        return;
    }
    strbuf_addc(sc->out, '(');
    if (s[end - 1] == ':') { /* the list holds labels only, as in a simplified name */
        strbuf_add(sc->out, s + at, end - at);
        at = end;
    }
    while (at < end) {
        while (at < end && s[at] == ' ') {
            at++;
        }
        size_t label = at;
        while (at < end && names_is_ident(s[at])) {
            at++;
        }
        bool labelled = at > label && at + 1 < end && s[at] == ':' && s[at + 1] == ' ';
        strbuf_add(sc->out, labelled ? s + label : "_", labelled ? at - label : 1);
        strbuf_addc(sc->out, ':');
        while (at < end && s[at] != ',') {
            size_t inner = strchr("(<[{", s[at]) && s[at] ? names_close(s, end, at) : at;
            at = inner < end ? inner + 1 : end;
        }
        at += at < end;
    }
    strbuf_addc(sc->out, ')');
}

/* Moves the scan over a type to the " in " that follows the type outside of brackets, or to the
 * end. */
static void skip_type(struct swift_scan *sc) {
    while (sc->at < sc->len && !swift_rest_starts(sc, " in ")) {
        char c = sc->s[sc->at];
        if (c == '(' || c == '<' || c == '[' || c == '{') {
            swift_skip_group(sc);
        } else {
            sc->at++;
        }
    }
}

/* Reads a bracket that stands in the place of a name, `(C in _83378C43…)`, `(in _83378C43…)`,
 * `(unknown context at $1234)`: writes the name in it, if any, and moves the scan past it. False:
 * the bracket is none of these. */
static bool add_bracketed_name(struct swift_scan *sc) {
    size_t start = sc->at + 1, end = start;
    if (swift_rest_starts(sc, "(in _")) {
        end = start;
    } else if (!swift_rest_starts(sc, "(unknown context at ")) {
        while (end < sc->len && sc->s[end] != ' ' && sc->s[end] != '(') {
            end++;
        }
        if (!names_starts(sc->s + end, sc->len - end, " in _")) {
            return false;
        }
    }
    size_t close = sc->unclosed ? sc->len : names_close(sc->s, sc->len, sc->at);
    if (close == sc->len) {
        sc->unclosed = true;
        return false;
    }
    strbuf_add(sc->out, sc->s + start, end - start);
    sc->at = close + 1;
    return true;
}

/* Reads one component of a path, which may write nothing where the component is not kept. False:
 * no component is at the scan. */
static bool add_component(struct swift_scan *sc) {
    size_t start = sc->at, end = behind_operator(sc->s, sc->len, sc->at);
    if (end == start && sc->s[start] == '(') {
        return add_bracketed_name(sc);
    }
    while (end < sc->len && (names_is_ident(sc->s[end]) || sc->s[end] == '$')) {
        end++;
    }
    strbuf_add(sc->out, sc->s + start, end - start);
    sc->at = end;
    return end > start;
}

/* A path that is being written; start, last and before_last are offsets in out at which it and
 * its last two names begin. */
struct swift_path {
    size_t start, last, before_last;
    size_t names; /* number of names in the path */
};

static void swift_cut(struct swift_scan *sc, size_t from, size_t to) {
    memmove(sc->out->data + from, sc->out->data + to, sc->out->len - to);
    strbuf_truncate(sc->out, sc->out->len - (to - from));
}

/* Notes that a name of the path was written at offset `at` of out; the second name of a full
 * path replaces the module in front of it. */
static void note_name(struct swift_scan *sc, struct swift_path *p, size_t at) {
    p->before_last = p->last;
    p->last = at;
    p->names++;
    if (p->names == 2 && sc->full && sc->at > sc->modules_from && !sc->of_type && !sc->modules) {
        swift_cut(sc, p->start, at);
        p->last = p->before_last = p->start;
    }
}

static void finish_path(struct swift_scan *sc, const struct swift_path *p) {
    static const char *const untyped[] = {".deinit",
                                          ".__deallocating_deinit",
                                          ".__isolated_deallocating_deinit",
                                          ".__ivar_initializer",
                                          ".__ivar_destroyer",
                                          NULL};
    if (sc->modules) {
        return;
    }
    if (sc->of_type) {
        swift_cut(sc, p->start, p->last);
        return;
    }
    for (size_t i = 0; untyped[i]; i++) {
        if (swift_out_ends(sc, untyped[i]) && p->before_last > p->start) {
            swift_cut(sc, p->start, p->before_last);
        }
    }
}

/* Writes the path at the scan, without the parts that the simplified form lacks. False: no path is
 * at the scan. */
static bool swift_add_path(struct swift_scan *sc) {
    size_t begin = sc->at;
    struct swift_path p = {sc->out->len, sc->out->len, sc->out->len, 0};
    for (bool more = true; more && sc->at < sc->len;) {
        if (swift_rest_starts(sc, "(extension in ")) {
            swift_skip_group(sc);
            sc->at += swift_rest_starts(sc, ":");
            continue;
        }
        size_t from = sc->at, at = sc->out->len;
        if (p.names) {
            strbuf_addc(sc->out, '.');
        }
        size_t name = sc->out->len;
        if (!add_component(sc)) {
            sc->at = p.names && sc->s[from - 1] == '.' ? from - 1 : from;
            strbuf_truncate(sc->out, at);
            break;
        }
        if (sc->out->len > name) {
            note_name(sc, &p, name);
        } else {
            strbuf_truncate(sc->out, at);
        }
        if (sc->at < sc->len && sc->s[sc->at] == '<') {
            swift_skip_group(sc);
            strbuf_addstr(sc->out, "<T>");
        }
        more = sc->at + 1 < sc->len && sc->s[sc->at] == '.';
        sc->at += more;
    }
    finish_path(sc, &p);
    return sc->at > begin;
}

/* Skips ` #1`, and for a closure the signature after it, up to " in ". For another entity declared
 * in a function it writes type parameters as <T> and the argument list as labels, and skips the
 * result's type. */
static void add_local_signature(struct swift_scan *sc) {
    bool closure = swift_out_ends(sc, "closure");
    sc->at += 2;
    skip_digits(sc);
    if (closure) {
        skip_type(sc);
        return;
    }
    size_t spaces = swift_rest_starts(sc, " <") || swift_rest_starts(sc, " (");
    sc->at += spaces;
    if (swift_rest_starts(sc, "<")) {
        swift_skip_group(sc);
        strbuf_addstr(sc->out, "<T>");
    }
    if (swift_rest_starts(sc, "(")) {
        add_labels(sc);
        skip_type(sc);
    }
}

/* Reads one part of the name outside of paths. False: the name is complete. */
static bool swift_step(struct swift_scan *sc) {
    if (swift_rest_starts(sc, " #") && sc->at + 2 < sc->len && names_is_digit(sc->s[sc->at + 2])) {
        add_local_signature(sc);
    } else if (swift_rest_starts(sc, " in conformance ") ||
               swift_rest_starts(sc, " dispatching to ")) {
        return false;
    } else if (swift_rest_starts(sc, " in ")) {
        strbuf_addstr(sc->out, " in ");
        sc->at += 4;
        while (sc->at < sc->len && skip_wrapper(sc)) {
        }
    } else if (sc->s[sc->at] == '(') {
        add_labels(sc);
        skip_type(sc);
    } else if (sc->s[sc->at] == '<') {
        swift_skip_group(sc);
        strbuf_addstr(sc->out, swift_out_ends(sc, "<T>") ? "" : "<T>");
    } else if (swift_rest_starts(sc, " : ") || swift_rest_starts(sc, " -> ")) {
        skip_type(sc);
    } else {
        strbuf_addc(sc->out, sc->s[sc->at++]);
    }
    return true;
}

static void scan_function(struct swift_scan *sc) {
    while (sc->at < sc->len && !sc->out->failed && (swift_add_path(sc) || swift_step(sc))) {
    }
}

/* Writes the type at the scan and the words after it, up to a " : " or " in " outside of round and
 * square brackets, which begins its conformance, or to the end. */
static void scan_type(struct swift_scan *sc) {
    size_t depth = 0;
    sc->of_type = true;
    while (sc->at < sc->len && !sc->out->failed) {
        if (depth == 0 && (swift_rest_starts(sc, " : ") || swift_rest_starts(sc, " in "))) {
            return;
        }
        char c = sc->s[sc->at];
        if (c == '<') {
            swift_skip_group(sc);
            strbuf_addstr(sc->out, swift_out_ends(sc, "<T>") ? "" : "<T>");
        } else if (!swift_add_path(sc)) {
            depth += c == '(' || c == '[';
            depth -= depth && (c == ')' || c == ']');
            strbuf_addc(sc->out, c);
            sc->at++;
        }
    }
}

/* ---- kinds of name ---- */

/* Cuts the name of a key path before the type that the path starts from: `key path getter for
 * Shop.Cart.total : Swift.Int : Shop.Cart`, simplified `… Cart.total : Cart`. Other names stay
 * whole. */
static void end_before_root(struct swift_scan *sc) {
    static const char mark[] = " : ";
    if (swift_rest_starts(sc, "key path ")) {
        size_t last = sc->len;
        for (size_t at = names_find(sc->s, sc->len, sc->at, mark); at < sc->len;
             at = names_find(sc->s, sc->len, at + 1, mark)) {
            last = at;
        }
        sc->len = last;
    }
}

/* Copies a phrase such as `type metadata accessor for ` (of a value witness its first word and
 * `for`), and moves the scan to the type after it. False: no such phrase is at the scan. */
static bool take_type_phrase(struct swift_scan *sc) {
    const char *s = sc->s + sc->at;
    size_t len = sc->len - sc->at, phrase = names_swift_type_phrase(s, len);
    size_t witness = phrase ? 0 : names_swift_value_witness(s, len, &phrase);
    if (witness) {
        strbuf_add(sc->out, s, witness);
        strbuf_addstr(sc->out, " for ");
    } else {
        strbuf_add(sc->out, s, phrase);
    }
    sc->at += phrase;
    return phrase > 0;
}

/* ---- witnesses ---- */

static const char in_conformance[] = " in conformance ";

/* Returns the offset in out of the member of the protocol's requirement that was written there,
 * behind the dot after the protocol's name: `draw` of `Drawable.draw`. The length of out: there is
 * none. */
static size_t requirement_member(const struct swift_scan *sc, size_t *protocol) {
    static const char fixed[] = "static ";
    const char *text = sc->out->data ? sc->out->data : "";
    size_t at = sc->base, len = sc->out->len;
    at += names_starts(text + at, len - at, fixed) ? sizeof fixed - 1 : 0;
    *protocol = at;
    for (unsigned names = sc->modules && sc->full ? 2 : 1; names > 0; names--) {
        at = names_find(text, len, at, ".");
        at += at < len;
    }
    return at;
}

/* Writes the path of the conforming type at the scan, without type parameters; nothing for a type
 * that has no path, as a tuple. */
static void add_conforming_type(const struct swift_scan *sc, struct strbuf *out) {
    static const char parameters[] = "<T>";
    struct swift_scan type = {.s = sc->s,
                              .len = sc->len,
                              .at = sc->at + sizeof in_conformance - 1,
                              .out = out,
                              .modules = sc->modules};
    if (swift_rest_starts(&type, "<")) {
        swift_skip_group(&type);
        type.at += swift_rest_starts(&type, " ");
    }
    type.full = names_find(type.s, type.len, type.at, " : ") < type.len;
    if (type.at >= type.len || !swift_add_path(&type)) {
        return;
    }
    for (size_t at = names_find(strbuf_cstr(out), out->len, 0, parameters); at < out->len;
         at = names_find(out->data, out->len, at, parameters)) {
        swift_cut(&type, at, at + sizeof parameters - 1);
    }
}

/* Replaces the protocol of a requirement that was written by the type whose witness of it this is,
 * `Drawable.draw in conformance Cart` by `Cart.draw`: the witness calls that method or, if the
 * compiler has inlined it there, is the method. */
static void name_by_conforming_type(struct swift_scan *sc) {
    struct strbuf type = {0}, member = {0};
    size_t protocol, at = requirement_member(sc, &protocol);
    add_conforming_type(sc, &type);
    if (type.len > 0 && at < sc->out->len) {
        strbuf_add(&member, sc->out->data + at, sc->out->len - at);
        strbuf_truncate(sc->out, protocol);
        strbuf_add(sc->out, type.data, type.len);
        strbuf_addc(sc->out, '.');
        strbuf_add(sc->out, strbuf_cstr(&member), member.len);
    }
    sc->out->failed = sc->out->failed || type.failed || member.failed;
    strbuf_release(&type);
    strbuf_release(&member);
}

bool names_witness(const char *name, size_t len, struct strbuf *member) {
    struct strbuf text = {0};
    struct swift_scan sc = {.s = name, .len = len, .out = &text};
    while (sc.at < sc.len && skip_wrapper(&sc)) {
    }
    size_t protocol, at = 0;
    if (sc.witness) {
        swift_find_form(&sc);
        scan_function(&sc);
        at = requirement_member(&sc, &protocol);
        strbuf_add(member, strbuf_cstr(&text) + at, text.len - at);
    }
    bool found = sc.witness && at < text.len;
    member->failed = member->failed || text.failed;
    strbuf_release(&text);
    return found;
}

void names_swift(const char *s, size_t len, bool modules, struct strbuf *out) {
    static const char *const blocks[] = {"completion handler block implementation", NULL};
    static const char *const applies[] = {"partial apply forwarder", "partial apply ObjC forwarder",
                                          "partial apply", NULL};
    static const char *const thunks[] = {"reabstraction thunk", "thunk for ", NULL};
    struct swift_scan sc = {.s = s, .len = len, .out = out, .base = out->len, .modules = modules};
    while (sc.at < sc.len && skip_wrapper(&sc)) {
    }
    if (swift_take_word(&sc, blocks)) {
        strbuf_addstr(out, "completion handler block");
    } else if (swift_take_word(&sc, thunks)) {
        strbuf_addstr(out, "reabstraction thunk");
    } else if (swift_take_word(&sc, applies)) {
        strbuf_addstr(out, "partial apply");
    } else if (take_type_phrase(&sc)) {
        scan_type(&sc);
    } else {
        end_before_root(&sc);
        swift_find_form(&sc);
        scan_function(&sc);
        if (sc.witness && swift_rest_starts(&sc, in_conformance)) {
            name_by_conforming_type(&sc);
        }
    }
    while (out->len > sc.base && out->data[out->len - 1] == ' ') {
        strbuf_truncate(out, out->len - 1);
    }
}
