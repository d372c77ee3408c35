/* Reads impl-function-type ("Types", 'I'), the type of a function in SIL, which describes how the
 * function is called rather than how it is declared. */
#include "demangle/swift_parse/swift_parser_private.h"

typedef const char *const letter_names[SWIFT_RULES];

/* The text of each CALLEE-CONVENTION, by its letter. */
static letter_names callee_conventions = {
    ['g'] = "@callee_guaranteed",
    ['t'] = "@convention(thin)",
    ['x'] = "@callee_owned",
    ['y'] = "@callee_unowned",
};

/* The text of each FUNC-REPRESENTATION, by its letter. */
static letter_names representations = {
    ['B'] = "block",  ['C'] = "c",           ['K'] = "closure",
    ['M'] = "method", ['O'] = "objc_method", ['W'] = "witness_method",
};

/* The text of each COROUTINE-KIND, by its letter. */
static letter_names coroutine_kinds = {
    ['A'] = "yield_once",
    ['G'] = "yield_many",
    ['I'] = "yield_once_2",
};

/* The text of each PARAM-CONVENTION, by its letter. */
static letter_names param_conventions = {
    ['X'] = "@in_cxx",          ['b'] = "@inout_aliasable", ['c'] = "@in_constant",
    ['e'] = "@deallocating",    ['g'] = "@guaranteed",      ['i'] = "@in",
    ['l'] = "@inout",           ['m'] = "@pack_inout",      ['n'] = "@in_guaranteed",
    ['p'] = "@pack_guaranteed", ['v'] = "@pack_owned",      ['x'] = "@owned",
    ['y'] = "@unowned",
};

/* The text of each RESULT-CONVENTION, by its letter. */
static letter_names result_conventions = {
    ['a'] = "@autoreleased", ['d'] = "@unowned", ['k'] = "@pack_out",
    ['o'] = "@owned",        ['r'] = "@out",     ['u'] = "@unowned_inner_pointer",
};

/* Takes the next byte if it has a name in the table, and returns the name; NULL: it has none. */
static const char *take_letter(struct swift_parser *p, letter_names names) {
    unsigned char c = (unsigned char)swift_peek(p);
    const char *name = c < SWIFT_RULES ? names[c] : NULL;
    p->pos += name != NULL;
    return name;
}

/* Makes a node of this kind with a convention as child; NULL if there is no convention. */
static struct swift_node *convention(struct swift_parser *p, enum swift_kind kind,
                                     letter_names names) {
    const char *name = take_letter(p, names);
    return name ? swift_with1(p->tree, kind, swift_fixed_leaf(p->tree, SWIFT_IMPL_CONVENTION, name))
                : NULL;
}

static void add_text_leaf(struct swift_parser *p, struct swift_node *n, enum swift_kind kind,
                          const char *text) {
    swift_add_if(p->tree, n, swift_fixed_leaf(p->tree, kind, text));
}

/* Pops the types that PATTERN-SUBS or INVOCATION-SUB substitutes for generic parameters, and adds
 * them to the function's type; false if they are not one list. */
static bool add_substitutions(struct swift_parser *p, struct swift_node *type,
                              enum swift_kind kind) {
    struct swift_list lists = {0};
    struct swift_node *conformances = NULL;
    if (!swift_pop_bound_args(p, &lists, &conformances) || lists.count != 1) {
        return false;
    }
    struct swift_node *n = swift_leaf(p->tree, kind);
    if (kind == SWIFT_IMPL_PATTERN_SUBSTITUTIONS) {
        n = swift_add(p->tree, n, swift_pop_signature(p));
    }
    n = swift_add(p->tree, n, lists.items[0]);
    if (n) {
        swift_add_if(p->tree, n, conformances);
    }
    return swift_add(p->tree, type, n) != NULL;
}

static void add_representation(struct swift_parser *p, struct swift_node *type) {
    size_t start = p->pos;
    bool has_c_type = swift_skip(p, 'z');
    char c = swift_peek(p);
    if (has_c_type && c != 'B' && c != 'C') {
        p->pos = start;
        return;
    }
    const char *name = take_letter(p, representations);
    if (!name) {
        return;
    }
    struct swift_tree *t = p->tree;
    struct swift_node *text = swift_fixed_leaf(t, SWIFT_IMPL_FUNCTION_CONVENTION_NAME, name);
    struct swift_node *n = swift_with1(t, SWIFT_IMPL_FUNCTION_CONVENTION, text);
    if (n && has_c_type) {
        swift_add_if(t, n, swift_clang_type(p));
    }
    swift_add_if(t, type, n);
}

/* Reads the attributes in front of the parameters. False: the callee convention is missing. */
static bool add_function_attributes(struct swift_parser *p, struct swift_node *type) {
    struct swift_tree *t = p->tree;
    if (swift_skip(p, 'e')) {
        swift_add_if(t, type, swift_leaf(t, SWIFT_IMPL_ESCAPING));
    }
    if (swift_skip(p, 'A')) {
        swift_add_if(t, type, swift_leaf(t, SWIFT_IMPL_ERASED_ISOLATION));
    }
    char c = swift_peek(p);
    if (c == 'd' || c == 'l' || c == 'f' || c == 'r') {
        p->pos++;
        swift_add_if(t, type, swift_index_leaf(t, SWIFT_IMPL_DIFFERENTIABILITY_KIND, (uint64_t)c));
    }
    const char *callee = take_letter(p, callee_conventions);
    if (!callee) {
        return false;
    }
    add_text_leaf(p, type, SWIFT_IMPL_CONVENTION, callee);
    add_representation(p, type);
    const char *coroutine = take_letter(p, coroutine_kinds);
    if (coroutine) {
        add_text_leaf(p, type, SWIFT_IMPL_COROUTINE_KIND, coroutine);
    }
    if (swift_skip(p, 'h')) {
        add_text_leaf(p, type, SWIFT_IMPL_FUNCTION_ATTRIBUTE, "@Sendable");
    }
    if (swift_skip(p, 'H')) {
        add_text_leaf(p, type, SWIFT_IMPL_FUNCTION_ATTRIBUTE, "@async");
    }
    if (swift_skip(p, 'T')) {
        swift_add_if(t, type, swift_leaf(t, SWIFT_IMPL_SENDING_RESULT));
    }
    return true;
}

static void add_differentiability(struct swift_parser *p, struct swift_node *n) {
    add_text_leaf(p, n, SWIFT_IMPL_PARAMETER_RESULT_DIFFERENTIABILITY,
                  swift_skip(p, 'w') ? "@noDerivative" : "");
}

/* Reads the parameters; a parameter's node has convention, differentiability and attributes; the
 * caller adds its type as the last child. Returns how many there are. */
static size_t add_parameters(struct swift_parser *p, struct swift_node *type) {
    size_t count = 0;
    struct swift_node *n;
    while ((n = convention(p, SWIFT_IMPL_PARAMETER, param_conventions)) != NULL) {
        add_differentiability(p, n);
        if (swift_skip(p, 'T')) {
            add_text_leaf(p, n, SWIFT_IMPL_PARAMETER_SENDING, "sending");
        }
        if (swift_skip(p, 'I')) {
            add_text_leaf(p, n, SWIFT_IMPL_PARAMETER_ISOLATED, "isolated");
        }
        if (swift_skip(p, 'L')) {
            add_text_leaf(p, n, SWIFT_IMPL_PARAMETER_IMPLICIT_LEADING,
                          "sil_implicit_leading_param");
        }
        swift_add_if(p->tree, type, n);
        count++;
    }
    return count;
}

/* Reads the results, yields and the error, and counts them in *count; false if a yield or the error
 * lacks its convention. */
static bool add_results(struct swift_parser *p, struct swift_node *type, size_t *count) {
    struct swift_node *n;
    while ((n = convention(p, SWIFT_IMPL_RESULT, result_conventions)) != NULL) {
        add_differentiability(p, n);
        swift_add_if(p->tree, type, n);
        ++*count;
    }
    while (swift_skip(p, 'Y')) {
        if (!swift_add(p->tree, type, convention(p, SWIFT_IMPL_YIELD, param_conventions))) {
            return false;
        }
        ++*count;
    }
    if (swift_skip(p, 'z')) {
        if (!swift_add(p->tree, type, convention(p, SWIFT_IMPL_ERROR_RESULT, result_conventions))) {
            return false;
        }
        ++*count;
    }
    return true;
}

/* Makes an impl-function-type's node. Its children: substitutions?, attributes, signature?,
 * parameters, results. */
struct swift_node *swift_make_impl_function(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *type = swift_leaf(t, kind);
    if (!type ||
        (swift_skip(p, 's') && !add_substitutions(p, type, SWIFT_IMPL_PATTERN_SUBSTITUTIONS)) ||
        (swift_skip(p, 'I') && !add_substitutions(p, type, SWIFT_IMPL_INVOCATION_SUBSTITUTIONS))) {
        return NULL;
    }
    struct swift_node *signature = swift_pop_signature(p);
    if (signature && swift_skip(p, 'P')) {
        signature = swift_rekind(t, signature, SWIFT_DEPENDENT_PSEUDOGENERIC_SIGNATURE);
    }
    if (!add_function_attributes(p, type)) {
        return NULL;
    }
    swift_add_if(t, type, signature);
    size_t count = add_parameters(p, type);
    if (!add_results(p, type, &count) || !swift_skip(p, '_') || count > swift_count(type)) {
        return NULL;
    }
    for (size_t i = swift_count(type), end = i - count; i > end; i--) {
        if (!swift_add(t, swift_child(type, i - 1), swift_pop_type(p))) {
            return NULL;
        }
    }
    return swift_type(t, type);
}
