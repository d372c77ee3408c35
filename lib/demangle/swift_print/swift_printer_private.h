/* The printer of Swift trees: one table has for each kind a pattern or a function that prints it;
 * each file has the functions for one group of kinds. */
#ifndef STALLKIT_DEMANGLE_SWIFT_PRINTER_PRIVATE_H
#define STALLKIT_DEMANGLE_SWIFT_PRINTER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "demangle/swift/swift_node.h"

struct swift_printer {
    struct swift_tree *tree; /* tree into which mangled names inside the name are read, and to which
                                work is charged */
    struct strbuf *out;
    size_t start;       /* offset of the text in out */
    bool simplified;    /* print the simplified style */
    bool sugar;         /* print T?, [T], [K : V] */
    bool where_clauses; /* print the requirements of generic signatures */
    bool specialized;   /* simplified: "specialized " was printed */
    bool failed;        /* the tree is not a name's, or a cap was reached */
    unsigned depth;     /* nesting of nodes */
    unsigned names;     /* nesting of names in names */
};

/* A kind's row: a function, or a pattern for each style, or neither, for kinds that are entities
 * (swift_is_entity) or that only other kinds print. A pattern is the text with the node's parts in
 * it:
 * %0 … %9   that child; without one the name is damaged
 * %t  %#    its text, its index
 * %*  %,    all children, as they are or with ", " between them */
struct swift_print_rule {
    void (*print)(struct swift_printer *r, const struct swift_node *n);
    const char *full;
    const char *simplified;
    uint8_t full_len;
    uint8_t simplified_len;
};
extern const struct swift_print_rule swift_print_rules[SWIFT_KIND_COUNT];

static inline void swift_put(struct swift_printer *r, const char *text) {
    size_t len = strlen(text); /* a constant for most texts */
    if (len) {
        strbuf_add(r->out, text, len);
    }
}
void swift_put_text(struct swift_printer *r, const struct swift_node *n);
/* Prints the node's index plus `more`. */
void swift_put_index(struct swift_printer *r, const struct swift_node *n, uint64_t more);
/* Marks the tree as damaged, so that none of its text is shown. */
static inline void swift_print_fail(struct swift_printer *r) {
    r->failed = true;
}
/* Charges steps of work. False: printing has failed, or fails now because the work or the text
 * passes its cap. */
static inline bool swift_print_more(struct swift_printer *r, size_t steps) {
    r->failed |= r->out->len - r->start > SWIFT_TEXT_MAX || !swift_spend(r->tree, steps);
    return !r->failed;
}

/* Prints n; a NULL n marks the tree as damaged. */
void swift_print(struct swift_printer *r, const struct swift_node *n);
/* Prints n as the context in front of a name. Returns the context that has to be printed after the
 * name ("… in CONTEXT") instead; NULL if all was printed. */
const struct swift_node *swift_print_prefix(struct swift_printer *r, const struct swift_node *n);
static inline void swift_print_child(struct swift_printer *r, const struct swift_node *n,
                                     size_t i) {
    swift_print(r, swift_child(n, i));
}
/* Prints the children from `first` on, with a separator between them; nothing if n is NULL. */
void swift_print_children(struct swift_printer *r, const struct swift_node *n, size_t first,
                          const char *separator);
/* Prints node n, whose text is a name inside the name: demangled if it is mangled, else unchanged.
 */
void swift_print_name(struct swift_printer *r, const struct swift_node *n);

/* Functions of swift_print_entity.c, which print declarations with their context: */
bool swift_is_entity(const struct swift_node *n);
const struct swift_node *swift_print_entity(struct swift_printer *r, const struct swift_node *n,
                                            bool prefix);

/* Functions of swift_print_type.c: */
void swift_print_function_type(struct swift_printer *r, const struct swift_node *n);
void swift_print_labelled_function(struct swift_printer *r, const struct swift_node *n,
                                   const struct swift_node *labels);
void swift_print_arguments(struct swift_printer *r, const struct swift_node *n);
void swift_print_type_mangling(struct swift_printer *r, const struct swift_node *n);
void swift_print_tuple_element(struct swift_printer *r, const struct swift_node *n);
void swift_print_bound_generic(struct swift_printer *r, const struct swift_node *n);
void swift_print_metatype(struct swift_printer *r, const struct swift_node *n);
void swift_print_existential_metatype(struct swift_printer *r, const struct swift_node *n);
void swift_print_sugared_optional(struct swift_printer *r, const struct swift_node *n);
void swift_print_protocol_list(struct swift_printer *r, const struct swift_node *n);
void swift_print_protocols_and_class(struct swift_printer *r, const struct swift_node *n);
void swift_print_protocols_and_any_object(struct swift_printer *r, const struct swift_node *n);
void swift_print_return_type(struct swift_printer *r, const struct swift_node *n);
void swift_print_pack_element(struct swift_printer *r, const struct swift_node *n);
void swift_print_differentiability(struct swift_printer *r, const struct swift_node *n);
void swift_print_negative(struct swift_printer *r, const struct swift_node *n);
void swift_print_box(struct swift_printer *r, const struct swift_node *n);
void swift_print_box_layout(struct swift_printer *r, const struct swift_node *n);
/* Must a blank stand between a name or a signature and this type? */
bool swift_needs_space(const struct swift_node *type);

/* Functions of swift_print_generic.c: */
void swift_print_signature(struct swift_printer *r, const struct swift_node *n);
void swift_print_param(struct swift_printer *r, const struct swift_node *n);
void swift_print_generic_type(struct swift_printer *r, const struct swift_node *n);
void swift_print_associated_ref(struct swift_printer *r, const struct swift_node *n);
void swift_print_associated_path(struct swift_printer *r, const struct swift_node *n);
void swift_print_inverse(struct swift_printer *r, const struct swift_node *n);
void swift_print_layout(struct swift_printer *r, const struct swift_node *n);
void swift_print_conformance(struct swift_printer *r, const struct swift_node *n);
void swift_print_conformances(struct swift_printer *r, const struct swift_node *n);
void swift_print_concrete_conformance(struct swift_printer *r, const struct swift_node *n);
void swift_print_dependent_conformance(struct swift_printer *r, const struct swift_node *n);
void swift_print_shape(struct swift_printer *r, const struct swift_node *n);

/* Functions of swift_print_impl_function.c: */
void swift_print_impl_function(struct swift_printer *r, const struct swift_node *n);
void swift_print_impl_convention(struct swift_printer *r, const struct swift_node *n);
void swift_print_impl_parameter(struct swift_printer *r, const struct swift_node *n);
void swift_print_impl_result(struct swift_printer *r, const struct swift_node *n);
void swift_print_impl_attribute(struct swift_printer *r, const struct swift_node *n);
void swift_print_impl_coroutine(struct swift_printer *r, const struct swift_node *n);

/* Functions of swift_print_specialization.c: */
void swift_print_specialization(struct swift_printer *r, const struct swift_node *n);
void swift_print_specialized_param(struct swift_printer *r, const struct swift_node *n);
void swift_print_param_change(struct swift_printer *r, const struct swift_node *n);

/* Functions of swift_print_thunk.c: */
void swift_print_partial_apply(struct swift_printer *r, const struct swift_node *n);
void swift_print_key_path(struct swift_printer *r, const struct swift_node *n);
void swift_print_key_path_operator(struct swift_printer *r, const struct swift_node *n);
void swift_print_reabstraction(struct swift_printer *r, const struct swift_node *n);
void swift_print_self_reabstraction(struct swift_printer *r, const struct swift_node *n);
void swift_print_completion_handler(struct swift_printer *r, const struct swift_node *n);
void swift_print_directness(struct swift_printer *r, const struct swift_node *n);
void swift_print_value_witness(struct swift_printer *r, const struct swift_node *n);
void swift_print_once_names(struct swift_printer *r, const struct swift_node *n);

/* Functions of swift_print_autodiff.c: */
void swift_print_derivative(struct swift_printer *r, const struct swift_node *n);
void swift_print_subset_thunk(struct swift_printer *r, const struct swift_node *n);
void swift_print_reordering_thunk(struct swift_printer *r, const struct swift_node *n);
void swift_print_derivative_kind(struct swift_printer *r, const struct swift_node *n);
void swift_print_differentiability_witness(struct swift_printer *r, const struct swift_node *n);
void swift_print_index_subset(struct swift_printer *r, const struct swift_node *n);

/* Functions of swift_print_context.c: */
void swift_print_extension(struct swift_printer *r, const struct swift_node *n);
void swift_print_anonymous(struct swift_printer *r, const struct swift_node *n);
void swift_print_suffix(struct swift_printer *r, const struct swift_node *n);
void swift_print_private_name(struct swift_printer *r, const struct swift_node *n);
void swift_print_local_name(struct swift_printer *r, const struct swift_node *n);

#endif
