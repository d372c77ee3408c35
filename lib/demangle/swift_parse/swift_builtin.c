/* Reads the types of the compiler's Builtin module ('B'), and integers in type arguments ('$')
 * ("Types"). */
#include <string.h>

#include "base/strbuf.h"
#include "demangle/swift_parse/swift_parser_private.h"

enum { BITS_OR_ELEMENTS_MAX = 4096 };

/* Makes a built-in type's node: the text is prefix, number and tail. */
static struct swift_node *numbered(struct swift_parser *p, const char *prefix, int number,
                                   const char *tail, size_t tail_len) {
    size_t len = strlen(prefix);
    char *text = swift_text_room(p->tree, len + DECIMAL_MAX + tail_len);
    if (!text) {
        return NULL;
    }
    memcpy(text, prefix, len);
    len += decimal_put(text + len, (uint64_t)number);
    memcpy(text + len, tail, tail_len);
    return swift_text_leaf(p->tree, SWIFT_BUILTIN_TYPE_NAME, text, len + tail_len);
}

/* Reads NATURAL '_', a number of bits or elements; -1 if there is none, or it is 0 or above
 * BITS_OR_ELEMENTS_MAX. */
static int size_of_builtin(struct swift_parser *p) {
    int n = swift_index(p) - 1;
    return n > 0 && n <= BITS_OR_ELEMENTS_MAX ? n : -1;
}

static struct swift_node *sized(struct swift_parser *p, const char *prefix) {
    int bits = size_of_builtin(p);
    return bits > 0 ? numbered(p, prefix, bits, "", 0) : NULL;
}

/* Makes "Builtin.Vec4xInt32" from the number 4 in the name and "Builtin.Int32" on the stack. */
static struct swift_node *vector(struct swift_parser *p) {
    static const char module[] = "Builtin.";
    int elements = size_of_builtin(p);
    const struct swift_node *element = elements > 0 ? swift_pop_type_child(p) : NULL;
    size_t skip = sizeof module - 1;
    if (!swift_is(element, SWIFT_BUILTIN_TYPE_NAME) || element->size < skip ||
        memcmp(element->text, module, skip) != 0) {
        return NULL;
    }
    size_t len = element->size - skip;
    char *tail = swift_text_room(p->tree, len + 1);
    if (!tail) {
        return NULL;
    }
    tail[0] = 'x';
    memcpy(tail + 1, element->text + skip, len);
    return numbered(p, "Builtin.Vec", elements, tail, len + 1);
}

static struct swift_node *fixed_array(struct swift_parser *p) {
    struct swift_node *element = swift_pop_type(p);
    struct swift_node *size = swift_pop_type(p);
    return swift_with2(p->tree, SWIFT_BUILTIN_FIXED_ARRAY, size, element);
}

static const char *const builtin_names[128] = {
    ['A'] = "Builtin.ImplicitActor",
    ['B'] = "Builtin.UnsafeValueBuffer",
    ['D'] = "Builtin.DefaultActorStorage",
    ['I'] = "Builtin.IntLiteral",
    ['O'] = "Builtin.UnknownObject",
    ['P'] = "Builtin.PackIndex",
    ['b'] = "Builtin.BridgeObject",
    ['c'] = "Builtin.RawUnsafeContinuation",
    ['d'] = "Builtin.NonDefaultDistributedActorStorage",
    ['e'] = "Builtin.Executor",
    ['j'] = "Builtin.Job",
    ['o'] = "Builtin.NativeObject",
    ['p'] = "Builtin.RawPointer",
    ['t'] = "Builtin.SILToken",
    ['w'] = "Builtin.Word",
};

/* Makes the node of operator 'B', a built-in type. */
struct swift_node *swift_make_builtin(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    unsigned char c = (unsigned char)swift_next(p);
    switch (c) {
    case 'f':
        return swift_type(t, sized(p, "Builtin.FPIEEE"));
    case 'i':
        return swift_type(t, sized(p, "Builtin.Int"));
    case 'v':
        return swift_type(t, vector(p));
    case 'V':
        return swift_type(t, fixed_array(p));
    case 'T':
        return swift_type(t, swift_leaf(t, SWIFT_BUILTIN_TUPLE_TYPE));
    default:
        return c < 128 && builtin_names[c]
                   ? swift_type(t, swift_fixed_leaf(t, kind, builtin_names[c]))
                   : NULL;
    }
}

/* Makes the node of '$', an integer in type arguments; 'n' precedes a negative one. */
struct swift_node *swift_make_integer(struct swift_parser *p, enum swift_kind kind) {
    bool negative = swift_skip(p, 'n');
    int n = swift_index(p);
    if (n < 0) {
        return NULL;
    }
    uint64_t value = (uint64_t)n;
    return swift_type(p->tree, negative ? swift_index_leaf(p->tree, SWIFT_NEGATIVE_INTEGER, -value)
                                        : swift_index_leaf(p->tree, kind, value));
}
