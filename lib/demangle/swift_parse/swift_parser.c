/* Runs the stack machine that reads the new mangling, by the table of its operators. */
#include "demangle/swift_parse/swift_parse.h"

#include <string.h>

#include "demangle/swift_old/swift_old.h"
#include "demangle/swift_parse/swift_parser_private.h"

/* Number of nodes for which the stack, and the list of nodes that substitutions refer to, have room
 * before they take memory of the tree. */
enum { USUAL_DEPTH = 64 };

int swift_natural(struct swift_parser *p) {
    if (!swift_digit(swift_peek(p))) {
        return SWIFT_NO_NUMBER;
    }
    int n = 0;
    while (swift_digit(swift_peek(p))) {
        int digit = swift_peek(p) - '0';
        if (n > (SWIFT_INDEX_MAX - digit) / 10) {
            return SWIFT_NO_NUMBER;
        }
        n = n * 10 + digit;
        p->pos++;
    }
    return n;
}

int swift_index(struct swift_parser *p) {
    if (swift_skip(p, '_')) {
        return 0;
    }
    int n = swift_natural(p);
    return n >= 0 && swift_skip(p, '_') ? n + 1 : SWIFT_NO_NUMBER;
}

struct swift_node *swift_index_number(struct swift_parser *p) {
    int n = swift_index(p);
    return n >= 0 ? swift_index_leaf(p->tree, SWIFT_NUMBER, (uint64_t)n) : NULL;
}

struct swift_node *swift_pop(struct swift_parser *p) {
    return p->stack.count ? p->stack.items[--p->stack.count] : NULL;
}

static struct swift_node *top(const struct swift_parser *p) {
    return p->stack.count ? p->stack.items[p->stack.count - 1] : NULL;
}

struct swift_node *swift_pop_kind(struct swift_parser *p, enum swift_kind kind) {
    return swift_is(top(p), kind) ? swift_pop(p) : NULL;
}

struct swift_node *swift_pop_role(struct swift_parser *p, unsigned roles) {
    const struct swift_node *n = top(p);
    return n && swift_kind_has(n->kind, roles) ? swift_pop(p) : NULL;
}

struct swift_node *swift_pop_entity(struct swift_parser *p) {
    struct swift_node *type = swift_pop_kind(p, SWIFT_TYPE);
    return type ? type : swift_pop_role(p, ROLE_CONTEXT);
}

struct swift_node *swift_pop_type(struct swift_parser *p) {
    return swift_pop_kind(p, SWIFT_TYPE);
}

struct swift_node *swift_pop_signature(struct swift_parser *p) {
    return swift_pop_kind(p, SWIFT_DEPENDENT_GENERIC_SIGNATURE);
}

struct swift_node *swift_pop_type_child(struct swift_parser *p) {
    const struct swift_node *type = swift_pop_type(p);
    return type && swift_count(type) == 1 ? swift_child(type, 0) : NULL;
}

struct swift_node *swift_pop_nominal(struct swift_parser *p) {
    struct swift_node *n = swift_pop_type_child(p);
    return n && swift_kind_has(n->kind, ROLE_NOMINAL) ? n : NULL;
}

struct swift_node *swift_pop_module(struct swift_parser *p) {
    const struct swift_node *name = swift_pop_kind(p, SWIFT_IDENTIFIER);
    return name ? swift_rekind(p->tree, name, SWIFT_MODULE) : swift_pop_kind(p, SWIFT_MODULE);
}

/* Pops a context ("Declaration Contexts"). */
struct swift_node *swift_pop_context(struct swift_parser *p) {
    struct swift_node *module = swift_pop_module(p);
    if (module) {
        return module;
    }
    if (!swift_is(top(p), SWIFT_TYPE)) {
        return swift_pop_role(p, ROLE_CONTEXT);
    }
    struct swift_node *n = swift_pop_type_child(p);
    return n && swift_kind_has(n->kind, ROLE_CONTEXT) ? n : NULL;
}

/* Is the node a protocol, or a type that is one? */
static bool is_protocol(const struct swift_node *n) {
    while (swift_is(n, SWIFT_TYPE)) {
        n = swift_child(n, 0);
    }
    return swift_is(n, SWIFT_PROTOCOL);
}

/* Pops a protocol ("Types": protocol). */
struct swift_node *swift_pop_protocol(struct swift_parser *p) {
    struct swift_node *type = swift_pop_type(p);
    if (type) {
        return is_protocol(type) ? type : NULL;
    }
    struct swift_node *name = swift_pop_role(p, ROLE_DECL_NAME);
    struct swift_node *context = swift_pop_context(p);
    return swift_type(p->tree, swift_with2(p->tree, SWIFT_PROTOCOL, context, name));
}

struct swift_node *swift_pop_list(struct swift_parser *p, enum swift_kind kind,
                                  struct swift_node *(*pop_element)(struct swift_parser *p)) {
    struct swift_node *list = swift_leaf(p->tree, kind);
    if (!list || swift_pop_kind(p, SWIFT_EMPTY_LIST)) {
        return list;
    }
    bool first;
    do {
        first = swift_pop_kind(p, SWIFT_FIRST_ELEMENT_MARKER) != NULL;
        if (!swift_add(p->tree, list, pop_element(p))) {
            return NULL;
        }
    } while (!first);
    swift_reverse(list, 0);
    return list;
}

struct swift_node *swift_pop_type_list(struct swift_parser *p) {
    return swift_pop_list(p, SWIFT_TYPE_LIST, swift_pop_type);
}

bool swift_push_node(struct swift_parser *p, struct swift_node *n) {
    return swift_spend(p->tree, 1) && swift_push(p->tree, &p->stack, n);
}

struct swift_node *swift_remember(struct swift_parser *p, struct swift_node *n) {
    (void)swift_push(p->tree, &p->seen, n);
    return n;
}

struct swift_node *swift_make_leaf(struct swift_parser *p, enum swift_kind kind) {
    return swift_leaf(p->tree, kind);
}

struct swift_node *swift_make_on_type(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_type(p));
}

struct swift_node *swift_make_type_on_type(struct swift_parser *p, enum swift_kind kind) {
    return swift_type(p->tree, swift_with1(p->tree, kind, swift_pop_type(p)));
}

struct swift_node *swift_make_on_child(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_type_child(p));
}

struct swift_node *swift_make_type_on_child(struct swift_parser *p, enum swift_kind kind) {
    return swift_type(p->tree, swift_make_on_child(p, kind));
}

struct swift_node *swift_make_on_entity(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_entity(p));
}

struct swift_node *swift_make_on_any(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop(p));
}

struct swift_node *swift_make_on_protocol(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_protocol(p));
}

struct swift_node *swift_make_on_conformance(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_conformance(p));
}

/* Makes the node of 's', known-module: the standard library. */
static struct swift_node *make_swift_module(struct swift_parser *p, enum swift_kind kind) {
    return swift_fixed_leaf(p->tree, kind, "Swift");
}

/* Makes the node of '.': a suffix of the compiler or LLVM that makes a symbol unique and is not
 * mangled. */
static struct swift_node *make_suffix(struct swift_parser *p, enum swift_kind kind) {
    const char *suffix = p->text + p->pos - 1;
    size_t len = p->len - p->pos + 1;
    p->pos = p->len;
    return swift_text_leaf(p->tree, kind, suffix, len);
}

struct swift_node *swift_apply(struct swift_parser *p, const struct swift_rule rules[SWIFT_RULES]) {
    unsigned char c = (unsigned char)swift_next(p);
    const struct swift_rule *rule = c < SWIFT_RULES && rules[c].make ? &rules[c] : NULL;
    return rule ? rule->make(p, rule->kind) : NULL;
}

/* The operators by their first byte. Symbolic references (bytes 1 to 0x1f) refer to the memory of a
 * running process, so a name with one is refused ("Symbolic references"). */
static const struct swift_rule operators[SWIFT_RULES] = {
    ['0'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['1'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['2'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['3'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['4'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['5'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['6'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['7'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['8'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['9'] = {swift_make_identifier, SWIFT_IDENTIFIER},
    ['A'] = {swift_make_substitution, 0},
    ['B'] = {swift_make_builtin, SWIFT_BUILTIN_TYPE_NAME},
    ['C'] = {swift_make_nominal, SWIFT_CLASS},
    ['D'] = {swift_make_type_mangling, SWIFT_TYPE_MANGLING},
    ['E'] = {swift_make_extension, SWIFT_EXTENSION},
    ['F'] = {swift_make_function, SWIFT_FUNCTION},
    ['G'] = {swift_make_bound_generic, 0},
    ['H'] = {swift_make_conformance, 0},
    ['I'] = {swift_make_impl_function, SWIFT_IMPL_FUNCTION_TYPE},
    ['K'] = {swift_make_leaf, SWIFT_THROWS_ANNOTATION},
    ['L'] = {swift_make_local_name, SWIFT_LOCAL_DECL_NAME},
    ['M'] = {swift_make_metadata, 0},
    ['N'] = {swift_make_on_type, SWIFT_TYPE_METADATA},
    ['O'] = {swift_make_nominal, SWIFT_ENUM},
    ['P'] = {swift_make_nominal, SWIFT_PROTOCOL},
    ['Q'] = {swift_make_archetype, 0},
    ['R'] = {swift_make_requirement, 0},
    ['S'] = {swift_make_standard, 0},
    ['T'] = {swift_make_thunk, 0},
    ['V'] = {swift_make_nominal, SWIFT_STRUCTURE},
    ['W'] = {swift_make_witness, 0},
    ['X'] = {swift_make_special_type, 0},
    ['Y'] = {swift_make_annotation, 0},
    ['Z'] = {swift_make_on_entity, SWIFT_STATIC},
    ['a'] = {swift_make_nominal, SWIFT_TYPE_ALIAS},
    ['c'] = {swift_make_function_type, SWIFT_FUNCTION_TYPE},
    ['d'] = {swift_make_leaf, SWIFT_VARIADIC_MARKER},
    ['f'] = {swift_make_function_entity, 0},
    ['g'] = {swift_make_retroactive, SWIFT_RETROACTIVE_CONFORMANCE},
    ['h'] = {swift_make_type_on_child, SWIFT_SHARED},
    ['i'] = {swift_make_subscript, SWIFT_SUBSCRIPT},
    ['l'] = {swift_make_one_param_signature, SWIFT_DEPENDENT_GENERIC_SIGNATURE},
    ['m'] = {swift_make_type_on_type, SWIFT_METATYPE},
    ['n'] = {swift_make_type_on_child, SWIFT_OWNED},
    ['o'] = {swift_make_operator_name, 0},
    ['p'] = {swift_make_protocol_list, SWIFT_PROTOCOL_LIST},
    ['q'] = {swift_make_param_type, SWIFT_DEPENDENT_GENERIC_PARAM_TYPE},
    ['r'] = {swift_make_signature, SWIFT_DEPENDENT_GENERIC_SIGNATURE},
    ['s'] = {make_swift_module, SWIFT_MODULE},
    ['t'] = {swift_make_tuple, SWIFT_TUPLE},
    ['u'] = {swift_make_generic_type, SWIFT_DEPENDENT_GENERIC_TYPE},
    ['v'] = {swift_make_variable, SWIFT_VARIABLE},
    ['w'] = {swift_make_value_witness, SWIFT_VALUE_WITNESS},
    ['x'] = {swift_make_first_param, SWIFT_DEPENDENT_GENERIC_PARAM_TYPE},
    ['y'] = {swift_make_leaf, SWIFT_EMPTY_LIST},
    ['z'] = {swift_make_type_on_child, SWIFT_IN_OUT},
    ['_'] = {swift_make_leaf, SWIFT_FIRST_ELEMENT_MARKER},
    ['.'] = {make_suffix, SWIFT_SUFFIX},
    ['$'] = {swift_make_integer, SWIFT_INTEGER},
};

/* Collects the stack's nodes below the root. The function to which a partial application forwards
 * becomes a child of the partial application's node, even if other nodes are between them. */
static struct swift_node *root_of(struct swift_parser *p) {
    struct swift_node *root = swift_leaf(p->tree, SWIFT_GLOBAL);
    struct swift_node *suffix = swift_pop_kind(p, SWIFT_SUFFIX);
    struct swift_node *parent = root, *attribute;
    while (parent && (attribute = swift_pop_role(p, ROLE_ATTRIBUTE)) != NULL) {
        parent = swift_add(p->tree, parent, attribute);
        if (attribute->kind == SWIFT_PARTIAL_APPLY_FORWARDER ||
            attribute->kind == SWIFT_PARTIAL_APPLY_OBJC_FORWARDER) {
            parent = attribute;
        }
    }
    for (size_t i = 0; parent && i < p->stack.count; i++) {
        struct swift_node *n = p->stack.items[i];
        parent = swift_add(p->tree, parent, n->kind == SWIFT_TYPE ? swift_child(n, 0) : n);
    }
    swift_add_if(p->tree, root, suffix);
    return parent && swift_count(root) ? root : NULL;
}

size_t swift_prefix_length(const char *name, size_t len) {
    static const char macro[] = "@__swiftmacro_";
    size_t at = len && name[0] == '_';
    if (len >= at + 2 && name[at] == '$' &&
        (name[at + 1] == 's' || name[at + 1] == 'S' || name[at + 1] == 'e')) {
        return at + 2;
    }
    if (len >= 3 && memcmp(name, "_T0", 3) == 0) {
        return 3;
    }
    size_t n = sizeof macro - 1;
    return len >= n && memcmp(name, macro, n) == 0 ? n : 0;
}

struct swift_node *swift_parse(struct swift_tree *t, const char *name, size_t len) {
    if (swift_old_has_prefix(name, len) && swift_prefix_length(name, len) == 0) {
        return swift_old_parse(t, name, len);
    }
    struct swift_slice words[SWIFT_WORDS_MAX], unread[SWIFT_UNREAD_MAX];
    struct swift_node *stack[USUAL_DEPTH], *seen[USUAL_DEPTH];
    struct swift_parser p = {.tree = t,
                             .text = name,
                             .len = len,
                             .stack = {stack, 0, USUAL_DEPTH},
                             .seen = {seen, 0, USUAL_DEPTH},
                             .words = words,
                             .unread = unread};
    p.pos = swift_prefix_length(name, len);
    p.labels_in_types = len >= 2 && memcmp(name, "_T", 2) == 0;
    if (p.pos == 0) {
        return NULL;
    }
    while (p.pos < len) {
        /* 0xff is padding in front of a symbolic reference. */
        if (name[p.pos] == '\xff') {
            p.pos++;
        } else if (!swift_push_node(&p, swift_apply(&p, operators))) {
            return NULL;
        }
    }
    return root_of(&p);
}
