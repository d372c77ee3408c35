/* Reads specialisations, copies of a function that the optimiser made for some of its uses
 * ("Function Specializations"). */
#include "demangle/swift/swift_specialization.h"

#include "demangle/swift_parse/swift_parser_private.h"

enum { PASSES = 10 };

/* Reads SPEC-INFO. Its node's children: serialized?, async removed?, pass. */
static struct swift_node *attributes(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    bool serialized = swift_skip(p, 'q'), async_removed = swift_skip(p, 'a');
    int pass = swift_next(p) - '0';
    struct swift_node *n = pass >= 0 && pass < PASSES ? swift_leaf(t, kind) : NULL;
    if (!n) {
        return NULL;
    }
    if (serialized) {
        swift_add_if(t, n, swift_leaf(t, SWIFT_IS_SERIALIZED));
    }
    if (async_removed) {
        swift_add_if(t, n, swift_leaf(t, SWIFT_ASYNC_REMOVED));
    }
    return swift_add(t, n, swift_index_leaf(t, SWIFT_SPECIALIZATION_PASS_ID, (uint64_t)pass));
}

/* Appends the types that are substituted for the generic parameters. */
static struct swift_node *with_arguments(struct swift_parser *p, struct swift_node *n) {
    struct swift_tree *t = p->tree;
    const struct swift_node *types = n ? swift_pop_type_list(p) : NULL;
    if (!types) {
        return NULL;
    }
    for (size_t i = 0; n && i < swift_count(types); i++) {
        struct swift_node *type = swift_child(types, i);
        n = swift_add(t, n, swift_with1(t, SWIFT_GENERIC_SPECIALIZATION_PARAM, type));
    }
    return n;
}

/* Makes the node of a generic specialisation, "Tg", "TG", "TB", "Ti" or "Ts". */
struct swift_node *swift_make_generic_specialization(struct swift_parser *p, enum swift_kind kind) {
    return with_arguments(p, attributes(p, kind));
}

/* Makes the node of "Tt": arguments that the specialised function no longer has, then the rest of
 * "Tg", "TG" or "TB". */
struct swift_node *swift_make_dropping_specialization(struct swift_parser *p,
                                                      enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_list dropped = {0};
    do {
        int i = swift_natural(p) + 1;
        if (!swift_push(t, &dropped,
                        swift_index_leaf(t, SWIFT_DROPPED_ARGUMENT, i < 0 ? 0 : (uint64_t)i))) {
            return NULL;
        }
    } while (swift_skip(p, 't'));
    switch (swift_next(p)) {
    case 'g':
        kind = SWIFT_GENERIC_SPECIALIZATION;
        break;
    case 'G':
        kind = SWIFT_GENERIC_SPECIALIZATION_NOT_RE_ABSTRACTED;
        break;
    case 'B':
        kind = SWIFT_GENERIC_SPECIALIZATION_IN_RESILIENCE_DOMAIN;
        break;
    default:
        return NULL;
    }
    struct swift_node *n = attributes(p, kind);
    for (size_t i = 0; n && i < dropped.count; i++) {
        n = swift_add(t, n, dropped.items[i]);
    }
    return with_arguments(p, n);
}

/* Makes the node of a partial specialisation, "Tp" or "TP". */
struct swift_node *swift_make_partial_specialization(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *n = attributes(p, kind);
    return swift_add(t, n, swift_with1(t, SWIFT_GENERIC_SPECIALIZATION_PARAM, swift_pop_type(p)));
}

/* --- "Tf": function signature specialisations ----------------------------------------------- */

static struct swift_node *add_change(struct swift_parser *p, struct swift_node *param,
                                     unsigned change) {
    struct swift_node *n =
        swift_index_leaf(p->tree, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM_KIND, change);
    return swift_add(p->tree, param, n);
}

static struct swift_node *add_change_payload(struct swift_parser *p, struct swift_node *param,
                                             const char *text, size_t len) {
    struct swift_node *n =
        swift_text_leaf(p->tree, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM_PAYLOAD, text, len);
    return swift_add(p->tree, param, n);
}

/* Reads the digits of a constant. */
static struct swift_node *add_number(struct swift_parser *p, struct swift_node *param,
                                     unsigned change) {
    const char *start = p->text + p->pos;
    while (swift_digit(swift_peek(p))) {
        p->pos++;
    }
    size_t len = (size_t)(p->text + p->pos - start);
    return len ? add_change_payload(p, add_change(p, param, change), start, len) : NULL;
}

/* Reads the encoding of a constant string; the string itself is on the stack. */
static struct swift_node *add_string(struct swift_parser *p, struct swift_node *param) {
    param = add_change(p, param, CHANGE_CONSTANT_STRING);
    switch (swift_next(p)) {
    case 'b':
        return add_change_payload(p, param, "u8", 2);
    case 'w':
        return add_change_payload(p, param, "u16", 3);
    case 'c':
        return add_change_payload(p, param, "objc", 4);
    default:
        return NULL;
    }
}

/* Reads a change of "p": a constant replaces the parameter. */
static struct swift_node *add_constant_change(struct swift_parser *p, struct swift_node *param) {
    switch (swift_next(p)) {
    case 'f':
        return add_change(p, param, CHANGE_CONSTANT_FUNCTION);
    case 'g':
        return add_change(p, param, CHANGE_CONSTANT_GLOBAL);
    case 'i':
        return add_number(p, param, CHANGE_CONSTANT_INTEGER);
    case 'd':
        return add_number(p, param, CHANGE_CONSTANT_FLOAT);
    case 's':
        return add_string(p, param);
    case 'k':
        return add_change(p, param, CHANGE_CONSTANT_KEY_PATH);
    default:
        return NULL;
    }
}

/* Reads further changes, whose letters may follow once each in the order of `letters`; returns them
 * added to `changes`. */
static unsigned more_changes(struct swift_parser *p, unsigned changes, const char *letters) {
    for (; *letters; letters++) {
        if (!swift_skip(p, *letters)) {
            continue;
        }
        switch (*letters) {
        case 'D':
            changes |= CHANGE_DEAD;
            break;
        case 'G':
            changes |= CHANGE_OWNED_TO_GUARANTEED;
            break;
        case 'O':
            changes |= CHANGE_GUARANTEED_TO_OWNED;
            break;
        default:
            changes |= CHANGE_EXPLODED;
            break;
        }
    }
    return changes;
}

/* Reads FUNC-SPEC-PARAM. Its node's children: change?, payload?; parts that are on the stack are
 * added later. */
static struct swift_node *changed_param(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *n = swift_leaf(p->tree, kind);
    switch (swift_next(p)) {
    case 'n':
        return n;
    case 'c':
        return add_change(p, n, CHANGE_CLOSURE);
    case 'p':
        return add_constant_change(p, n);
    case 'e':
        return add_change(p, n, more_changes(p, CHANGE_EXISTENTIAL_TO_GENERIC, "DGOX"));
    case 'd':
        return add_change(p, n, more_changes(p, CHANGE_DEAD, "GOX"));
    case 'g':
        return add_change(p, n, more_changes(p, CHANGE_OWNED_TO_GUARANTEED, "X"));
    case 'o':
        return add_change(p, n, more_changes(p, CHANGE_GUARANTEED_TO_OWNED, "X"));
    case 'x':
        return add_change(p, n, CHANGE_EXPLODED);
    case 'i':
        return add_change(p, n, CHANGE_BOX_TO_VALUE);
    case 's':
        return add_change(p, n, CHANGE_BOX_TO_STACK);
    case 'r':
        return add_change(p, n, CHANGE_IN_OUT_TO_OUT);
    default:
        return NULL;
    }
}

/* Adds a parameter's name and types, which are on the stack. False: the name is missing, types are
 * there that the change has not, a cap was reached, or memory ran out. */
static bool add_from_stack(struct swift_parser *p, struct swift_node *param, unsigned change) {
    bool typed = change == CHANGE_CLOSURE || change == CHANGE_CONSTANT_KEY_PATH;
    size_t fixed = swift_count(param);
    struct swift_node *type;
    while ((type = swift_pop_type(p)) != NULL) {
        if (!typed || !swift_add(p->tree, param, type)) {
            return false;
        }
    }
    const struct swift_node *name = swift_pop_kind(p, SWIFT_IDENTIFIER);
    if (!name) {
        return false;
    }
    /* The compiler puts an underscore in front of a string that starts with a digit. */
    size_t skip = change == CHANGE_CONSTANT_STRING && name->size && name->text[0] == '_';
    if (!add_change_payload(p, param, name->text + skip, name->size - skip)) {
        return false;
    }
    swift_reverse(param, fixed);
    return true;
}

/* Does the change have a part that is on the stack? */
static bool is_on_stack(uint64_t change) {
    return change == CHANGE_CONSTANT_FUNCTION || change == CHANGE_CONSTANT_GLOBAL ||
           change == CHANGE_CONSTANT_STRING || change == CHANGE_CONSTANT_KEY_PATH ||
           change == CHANGE_CLOSURE;
}

/* Makes a signature specialisation's node. Its children: attributes, parameters, result?. */
struct swift_node *swift_make_signature_specialization(struct swift_parser *p,
                                                       enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *n = attributes(p, kind);
    while (n && !swift_skip(p, '_')) {
        n = swift_add(t, n, changed_param(p, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM));
    }
    if (n && !swift_skip(p, 'n')) {
        n = swift_add(t, n, changed_param(p, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_RETURN));
    }
    for (size_t i = n ? swift_count(n) : 0; i > 0; i--) {
        struct swift_node *param = swift_child(n, i - 1);
        const struct swift_node *change = swift_child(param, 0);
        if (swift_is(param, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM) && change &&
            is_on_stack(change->index) && !add_from_stack(p, param, (unsigned)change->index)) {
            return NULL;
        }
    }
    return n;
}
