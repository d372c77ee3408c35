/* Reads generic parameters, signatures and specialisations in the manglings of Swift 3 and older
 * (swift: docs/ABI/OldMangling.rst, "generic-signature", "specialized"). */
#include <string.h>

#include "demangle/swift/swift_specialization.h"
#include "demangle/swift_old/swift_old_private.h"

/* ---- parameters and their associated types ---- */

struct swift_node *old_generic_param(struct old_name *n, uint64_t depth, uint64_t index) {
    return swift_with2(n->tree, SWIFT_DEPENDENT_GENERIC_PARAM_TYPE,
                       swift_index_leaf(n->tree, SWIFT_INDEX, depth),
                       swift_index_leaf(n->tree, SWIFT_INDEX, index));
}

/* Reads generic-param ::= 'x' (the first) | index (the next ones) | 'd' index index (of an inner
 * type) */
static struct swift_node *read_param(struct old_name *n) {
    uint64_t depth = 0, index = 0;
    if (old_take(n, 'x')) {
        return old_generic_param(n, 0, 0);
    }
    if (old_take(n, 'd')) {
        return old_index(n, &depth) && old_index(n, &index) && depth < UINT64_MAX
                   ? old_generic_param(n, depth + 1, index)
                   : NULL;
    }
    return old_index(n, &index) && index < UINT64_MAX ? old_generic_param(n, 0, index + 1) : NULL;
}

/* Reads member ::= 'S' … | ('P' protocol)? identifier, the associated type of `base`. */
static struct swift_node *read_member_of(struct old_name *n, struct swift_node *base) {
    struct swift_node *member;
    if (!base) {
        return NULL;
    }
    if (old_take(n, 'S')) {
        member = old_substitution(n);
        if (!swift_is(member, SWIFT_DEPENDENT_ASSOCIATED_TYPE_REF)) {
            return NULL;
        }
    } else if (old_take(n, 'P')) {
        struct swift_node *protocol = swift_type(n->tree, old_protocol(n));
        struct swift_node *name = protocol ? old_identifier(n, SWIFT_IDENTIFIER) : NULL;
        member = old_remember(
            n, swift_with2(n->tree, SWIFT_DEPENDENT_ASSOCIATED_TYPE_REF, name, protocol));
    } else {
        member = old_remember(n, swift_with1(n->tree, SWIFT_DEPENDENT_ASSOCIATED_TYPE_REF,
                                             old_identifier(n, SWIFT_IDENTIFIER)));
    }
    return swift_with2(n->tree, SWIFT_DEPENDENT_MEMBER_TYPE, base, member);
}

struct swift_node *old_member_type(struct old_name *n) {
    return read_member_of(n, swift_type(n->tree, read_param(n)));
}

/* Reads member-path ::= generic-param member* '_' */
struct swift_node *old_member_type_path(struct old_name *n) {
    struct swift_node *base = read_param(n);
    while (base && !old_take(n, '_')) {
        base = read_member_of(n, swift_type(n->tree, base));
    }
    return base;
}

struct swift_node *old_dependent_type(struct old_name *n) {
    char c = old_peek(n);
    if (c == 'd' || c == '_' || (c >= '0' && c <= '9')) {
        return read_param(n);
    }
    return read_member_of(n, old_type(n));
}

/* ---- signatures ---- */

static struct swift_node *read_constrained(struct old_name *n) {
    struct swift_node *type;
    if (old_take(n, 'w')) {
        type = old_member_type(n);
    } else if (old_take(n, 'W')) {
        type = old_member_type_path(n);
    } else {
        type = read_param(n);
    }
    return swift_type(n->tree, type);
}

/* Reads layout ::= letter (natural ('_' natural)?)?, how values are stored, with size and
 * alignment. */
static struct swift_node *read_layout(struct old_name *n, struct swift_node *constrained) {
    static const struct {
        const char *name;
        unsigned numbers;
    } layouts[] = {{"U", 0}, {"R", 0}, {"N", 0}, {"T", 0}, {"B", 0},
                   {"E", 2}, {"e", 1}, {"M", 2}, {"m", 1}, {"S", 1}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (!old_take(n, layouts[i].name[0])) {
            continue;
        }
        struct swift_node *layout =
            swift_with2(n->tree, SWIFT_DEPENDENT_GENERIC_LAYOUT_REQUIREMENT, constrained,
                        swift_fixed_leaf(n->tree, SWIFT_IDENTIFIER, layouts[i].name));
        for (unsigned k = 0; layout && k < layouts[i].numbers; k++) {
            uint64_t number;
            bool whole = (k == 0 || old_take(n, '_')) && old_natural(n, &number);
            layout =
                whole ? swift_add(n->tree, layout, swift_index_leaf(n->tree, SWIFT_NUMBER, number))
                      : NULL;
        }
        return layout;
    }
    return NULL;
}

/* Reads the class or protocol that a generic parameter must be or conform to. */
static struct swift_node *read_constraint(struct old_name *n) {
    if (old_peek(n) == 'C') {
        return old_type(n);
    }
    if (!old_take(n, 'S')) {
        return swift_type(n->tree, old_protocol(n));
    }
    struct swift_node *node = old_substitution(n);
    if (swift_is(node, SWIFT_MODULE)) {
        node = old_protocol_in(n, node);
    } else if (!swift_is(node, SWIFT_PROTOCOL) && !swift_is(node, SWIFT_CLASS)) {
        return NULL;
    }
    return swift_type(n->tree, node);
}

/* Reads requirement ::= constrained ('z' type (the same one) | 'l' layout | class | protocol) */
static struct swift_node *read_requirement(struct old_name *n) {
    struct swift_node *constrained = read_constrained(n);
    if (!constrained) {
        return NULL;
    }
    if (old_take(n, 'z')) {
        return swift_with2(n->tree, SWIFT_DEPENDENT_GENERIC_SAME_TYPE_REQUIREMENT, constrained,
                           old_type(n));
    }
    if (old_take(n, 'l')) {
        return read_layout(n, constrained);
    }
    return swift_with2(n->tree, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT, constrained,
                       read_constraint(n));
}

/* Reads the number of generic parameters at each depth: 'z' for 0, or an index, which is 1 too
 * small; if no number is read, one parameter at depth 0 is added. False: damaged, a cap was reached
 * or memory ran out. */
static bool add_param_counts(struct old_name *n, struct swift_node *signature) {
    enum swift_kind kind = SWIFT_DEPENDENT_GENERIC_PARAM_COUNT;
    bool counted = false;
    while (old_peek(n) != 'R' && old_peek(n) != 'r') {
        uint64_t count = 0;
        if (!old_take(n, 'z')) {
            if (!old_index(n, &count) || count == UINT64_MAX) {
                return false;
            }
            count++;
        }
        if (!swift_add(n->tree, signature, swift_index_leaf(n->tree, kind, count))) {
            return false;
        }
        counted = true;
    }
    return counted || swift_add(n->tree, signature, swift_index_leaf(n->tree, kind, 1));
}

/* Reads generic-signature ::= count* ('r' | 'R' requirement* 'r') */
struct swift_node *old_read_signature(struct old_name *n, enum swift_kind kind) {
    struct swift_node *signature = swift_leaf(n->tree, kind);
    if (!signature || !add_param_counts(n, signature)) {
        return NULL;
    }
    if (old_take(n, 'r')) {
        return signature;
    }
    n->at++; /* skips the 'R' at which the counts end */
    while (signature && !old_take(n, 'r')) {
        signature = swift_add(n->tree, signature, read_requirement(n));
    }
    return signature;
}

/* ---- specialisations ---- */

static struct swift_node *add_param_kind(struct old_name *n, struct swift_node *param,
                                         uint64_t kind) {
    return swift_add(
        n->tree, param,
        swift_index_leaf(n->tree, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM_KIND, kind));
}

static struct swift_node *add_payload(struct old_name *n, struct swift_node *param,
                                      const char *text, size_t len) {
    return swift_add(
        n->tree, param,
        swift_text_leaf(n->tree, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM_PAYLOAD, text, len));
}

static struct swift_node *add_identifier_payload(struct old_name *n, struct swift_node *param) {
    struct swift_node *name = old_identifier(n, SWIFT_IDENTIFIER);
    return name ? add_payload(n, param, name->text, name->size) : NULL;
}

/* Adds the text up to the next '_' as the parameter's payload. */
static struct swift_node *add_literal_payload(struct old_name *n, struct swift_node *param) {
    const char *start = n->text + n->at;
    const char *end = n->at < n->len ? memchr(start, '_', n->len - n->at) : NULL;
    if (!end) {
        return NULL;
    }
    n->at += (size_t)(end - start);
    return add_payload(n, param, start, (size_t)(end - start));
}

/* Reads a constant that the compiler substituted for a parameter. */
static struct swift_node *add_constant(struct old_name *n, struct swift_node *param) {
    if (old_take_word(n, "fr")) {
        param = add_identifier_payload(n, add_param_kind(n, param, CHANGE_CONSTANT_FUNCTION));
    } else if (old_take(n, 'g')) {
        param = add_identifier_payload(n, add_param_kind(n, param, CHANGE_CONSTANT_GLOBAL));
    } else if (old_take(n, 'i')) {
        param = add_literal_payload(n, add_param_kind(n, param, CHANGE_CONSTANT_INTEGER));
    } else if (old_take_word(n, "fl")) {
        param = add_literal_payload(n, add_param_kind(n, param, CHANGE_CONSTANT_FLOAT));
    } else if (old_take_word(n, "se")) {
        const char *encoding = old_take(n, '0') ? "u8" : old_take(n, '1') ? "u16" : NULL;
        if (!encoding || !old_take(n, 'v')) {
            return NULL;
        }
        param = add_param_kind(n, param, CHANGE_CONSTANT_STRING);
        param = add_identifier_payload(n, add_payload(n, param, encoding, strlen(encoding)));
    } else {
        return NULL;
    }
    return old_take(n, '_') ? param : NULL;
}

/* Reads a closure that was substituted for a parameter: its name, and the types that it
 * captures. */
static struct swift_node *add_closure(struct old_name *n, struct swift_node *param) {
    param = add_identifier_payload(n, add_param_kind(n, param, CHANGE_CLOSURE));
    while (param && !old_take(n, '_')) {
        param = swift_add(n->tree, param, old_type(n));
    }
    return param;
}

/* Reads the changes that several passes made to a parameter: a letter for each change, at least one
 * and in the order of `options`, then '_'. */
static struct swift_node *add_options(struct old_name *n, struct swift_node *param) {
    static const struct {
        char letter;
        uint64_t kind;
    } options[] = {{'d', CHANGE_DEAD},
                   {'g', CHANGE_OWNED_TO_GUARANTEED},
                   {'o', CHANGE_GUARANTEED_TO_OWNED},
                   {'s', CHANGE_EXPLODED}};
    uint64_t kind = 0;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        kind |= old_take(n, options[i].letter) ? options[i].kind : 0;
    }
    return old_take(n, '_') && kind ? add_param_kind(n, param, kind) : NULL;
}

static struct swift_node *read_changed_param(struct old_name *n) {
    struct swift_node *param = swift_leaf(n->tree, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM);
    if (!param || old_take_word(n, "n_")) { /* "n_": the parameter is unchanged */
        return param;
    }
    if (old_take_word(n, "cp")) {
        return add_constant(n, param);
    }
    if (old_take_word(n, "cl")) {
        return add_closure(n, param);
    }
    if (old_take_word(n, "i_")) {
        return add_param_kind(n, param, CHANGE_BOX_TO_VALUE);
    }
    if (old_take_word(n, "k_")) {
        return add_param_kind(n, param, CHANGE_BOX_TO_STACK);
    }
    if (old_take_word(n, "r_")) {
        return add_param_kind(n, param, CHANGE_IN_OUT_TO_OUT);
    }
    return add_options(n, param);
}

/* Reads a generic argument: a type, and its conformances to the protocols that the parameter
 * requires. */
static struct swift_node *read_generic_argument(struct old_name *n) {
    struct swift_node *argument =
        swift_with1(n->tree, SWIFT_GENERIC_SPECIALIZATION_PARAM, old_type(n));
    while (argument && !old_take(n, '_')) {
        argument = swift_add(n->tree, argument, old_conformance(n));
    }
    return argument;
}

/* Reads specialized ::= ('g' | 'r') 'q'? pass generic-argument* '_' | 'f' 'q'? pass changed-param*
 * '_' */
struct swift_node *old_specialization(struct old_name *n) {
    enum swift_kind kind = SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION;
    if (old_take(n, 'g')) {
        kind = SWIFT_GENERIC_SPECIALIZATION;
    } else if (old_take(n, 'r')) {
        kind = SWIFT_GENERIC_SPECIALIZATION_NOT_RE_ABSTRACTED;
    } else if (!old_take(n, 'f')) {
        return NULL;
    }
    struct swift_node *node = swift_leaf(n->tree, kind);
    if (node && old_take(n, 'q')) {
        node = swift_add(n->tree, node, swift_leaf(n->tree, SWIFT_IS_SERIALIZED));
    }
    /* The pass is a digit; other characters continue the count, as in Swift's demangler. */
    uint32_t pass = (uint32_t)(old_peek(n) - '0');
    n->at += n->at < n->len;
    node = swift_add(n->tree, node, swift_index_leaf(n->tree, SWIFT_SPECIALIZATION_PASS_ID, pass));
    while (node && !old_take(n, '_')) {
        node =
            swift_add(n->tree, node,
                      kind == SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION ? read_changed_param(n)
                                                                      : read_generic_argument(n));
    }
    return node;
}
