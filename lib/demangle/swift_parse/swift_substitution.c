/* Reads substitutions: nodes seen before, and the types of the standard library that have a letter
 * ("Substitutions"). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Pushes node n repeats - 1 times (never if repeats is less than 2) and returns it, for the caller
 * to push once more; NULL if n is NULL, repeats is above SWIFT_REPEATS_MAX, or a push failed. */
static struct swift_node *repeated(struct swift_parser *p, struct swift_node *n, int repeats) {
    if (!n || repeats > SWIFT_REPEATS_MAX) {
        return NULL;
    }
    for (; repeats > 1; repeats--) {
        if (!swift_push_node(p, n)) {
            return NULL;
        }
    }
    return n;
}

static struct swift_node *seen_at(const struct swift_parser *p, size_t i) {
    return i < p->seen.count ? p->seen.items[i] : NULL;
}

/* Makes the nodes of 'A', which refers to the nodes seen before: letters for the first 26, lower
 * case but for the last, each with an optional number of repeats in front; or '_' for node 26, N
 * '_' for node N + 27, counted from 0. */
struct swift_node *swift_make_substitution(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    int number = -1;
    for (;;) {
        char c = swift_peek(p);
        if (swift_lower(c)) {
            p->pos++;
            size_t i = (size_t)(c - 'a');
            if (!swift_push_node(p, repeated(p, seen_at(p, i), number))) {
                return NULL;
            }
            number = -1;
        } else if (swift_upper(c)) {
            p->pos++;
            return repeated(p, seen_at(p, (size_t)(c - 'A')), number);
        } else if (c == '_') {
            p->pos++;
            return seen_at(p, (size_t)number + 27);
        } else {
            number = swift_natural(p);
            if (number < 0) {
                return NULL;
            }
        }
    }
}

struct standard_type {
    const char *name;
    enum swift_kind kind;
};

/* The standard types of "Types": KNOWN-TYPE-KIND, by their letter. */
static const struct standard_type standard_types[128] = {
    ['A'] = {"AutoreleasingUnsafeMutablePointer", SWIFT_STRUCTURE},
    ['B'] = {"BinaryFloatingPoint", SWIFT_PROTOCOL},
    ['D'] = {"Dictionary", SWIFT_STRUCTURE},
    ['E'] = {"Encodable", SWIFT_PROTOCOL},
    ['F'] = {"FloatingPoint", SWIFT_PROTOCOL},
    ['G'] = {"RandomNumberGenerator", SWIFT_PROTOCOL},
    ['H'] = {"Hashable", SWIFT_PROTOCOL},
    ['I'] = {"DefaultIndices", SWIFT_STRUCTURE},
    ['J'] = {"Character", SWIFT_STRUCTURE},
    ['K'] = {"BidirectionalCollection", SWIFT_PROTOCOL},
    ['L'] = {"Comparable", SWIFT_PROTOCOL},
    ['M'] = {"MutableCollection", SWIFT_PROTOCOL},
    ['N'] = {"ClosedRange", SWIFT_STRUCTURE},
    ['O'] = {"ObjectIdentifier", SWIFT_STRUCTURE},
    ['P'] = {"UnsafePointer", SWIFT_STRUCTURE},
    ['Q'] = {"Equatable", SWIFT_PROTOCOL},
    ['R'] = {"UnsafeBufferPointer", SWIFT_STRUCTURE},
    ['S'] = {"String", SWIFT_STRUCTURE},
    ['T'] = {"Sequence", SWIFT_PROTOCOL},
    ['U'] = {"UnsignedInteger", SWIFT_PROTOCOL},
    ['V'] = {"UnsafeRawPointer", SWIFT_STRUCTURE},
    ['W'] = {"UnsafeRawBufferPointer", SWIFT_STRUCTURE},
    ['X'] = {"RangeExpression", SWIFT_PROTOCOL},
    ['Y'] = {"RawRepresentable", SWIFT_PROTOCOL},
    ['Z'] = {"SignedInteger", SWIFT_PROTOCOL},
    ['a'] = {"Array", SWIFT_STRUCTURE},
    ['b'] = {"Bool", SWIFT_STRUCTURE},
    ['d'] = {"Double", SWIFT_STRUCTURE},
    ['e'] = {"Decodable", SWIFT_PROTOCOL},
    ['f'] = {"Float", SWIFT_STRUCTURE},
    ['h'] = {"Set", SWIFT_STRUCTURE},
    ['i'] = {"Int", SWIFT_STRUCTURE},
    ['j'] = {"Numeric", SWIFT_PROTOCOL},
    ['k'] = {"RandomAccessCollection", SWIFT_PROTOCOL},
    ['l'] = {"Collection", SWIFT_PROTOCOL},
    ['m'] = {"RangeReplaceableCollection", SWIFT_PROTOCOL},
    ['n'] = {"Range", SWIFT_STRUCTURE},
    ['p'] = {"UnsafeMutablePointer", SWIFT_STRUCTURE},
    ['q'] = {"Optional", SWIFT_ENUM},
    ['r'] = {"UnsafeMutableBufferPointer", SWIFT_STRUCTURE},
    ['s'] = {"Substring", SWIFT_STRUCTURE},
    ['t'] = {"IteratorProtocol", SWIFT_PROTOCOL},
    ['u'] = {"UInt", SWIFT_STRUCTURE},
    ['v'] = {"UnsafeMutableRawPointer", SWIFT_STRUCTURE},
    ['w'] = {"UnsafeMutableRawBufferPointer", SWIFT_STRUCTURE},
    ['x'] = {"Strideable", SWIFT_PROTOCOL},
    ['y'] = {"StringProtocol", SWIFT_PROTOCOL},
    ['z'] = {"BinaryInteger", SWIFT_PROTOCOL},
};

/* The standard types of "Types": KNOWN-TYPE-KIND-2, by the letter after a 'c'. */
static const struct standard_type concurrency_types[128] = {
    ['A'] = {"Actor", SWIFT_PROTOCOL},
    ['C'] = {"CheckedContinuation", SWIFT_STRUCTURE},
    ['E'] = {"CancellationError", SWIFT_STRUCTURE},
    ['F'] = {"Executor", SWIFT_PROTOCOL},
    ['G'] = {"TaskGroup", SWIFT_STRUCTURE},
    ['I'] = {"AsyncIteratorProtocol", SWIFT_PROTOCOL},
    ['J'] = {"UnownedJob", SWIFT_STRUCTURE},
    ['M'] = {"MainActor", SWIFT_CLASS},
    ['P'] = {"TaskPriority", SWIFT_STRUCTURE},
    ['S'] = {"AsyncStream", SWIFT_STRUCTURE},
    ['T'] = {"Task", SWIFT_STRUCTURE},
    ['c'] = {"UnsafeContinuation", SWIFT_STRUCTURE},
    ['e'] = {"UnownedSerialExecutor", SWIFT_STRUCTURE},
    ['f'] = {"SerialExecutor", SWIFT_PROTOCOL},
    ['g'] = {"ThrowingTaskGroup", SWIFT_STRUCTURE},
    ['h'] = {"TaskExecutor", SWIFT_PROTOCOL},
    ['i'] = {"AsyncSequence", SWIFT_PROTOCOL},
    ['s'] = {"AsyncThrowingStream", SWIFT_STRUCTURE},
    ['t'] = {"UnsafeCurrentTask", SWIFT_STRUCTURE},
};

/* Makes the node of a type declared in the module Swift. */
static struct swift_node *standard_type(struct swift_parser *p, const struct standard_type *type) {
    struct swift_tree *t = p->tree;
    struct swift_node *module = swift_fixed_leaf(t, SWIFT_MODULE, "Swift");
    struct swift_node *name = swift_fixed_leaf(t, SWIFT_IDENTIFIER, type->name);
    return swift_type(t, swift_with2(t, type->kind, module, name));
}

/* Makes the node of "Sg", an optional type; it is short for "ySqG". */
static struct swift_node *optional_type(struct swift_parser *p) {
    struct swift_tree *t = p->tree;
    struct swift_node *wrapped = swift_with1(t, SWIFT_TYPE_LIST, swift_pop_type(p));
    struct swift_node *optional = standard_type(p, &standard_types['q']);
    struct swift_node *n = swift_with2(t, SWIFT_BOUND_GENERIC_ENUM, optional, wrapped);
    return swift_remember(p, swift_type(t, n));
}

/* Makes the node of 'S', a known module or standard type. */
struct swift_node *swift_make_standard(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    if (swift_skip(p, 'o')) {
        return swift_fixed_leaf(p->tree, SWIFT_MODULE, "__C");
    }
    if (swift_skip(p, 'C')) {
        return swift_fixed_leaf(p->tree, SWIFT_MODULE, "__C_Synthesized");
    }
    if (swift_skip(p, 'g')) {
        return optional_type(p);
    }
    int repeats = swift_natural(p);
    const struct standard_type *types = swift_skip(p, 'c') ? concurrency_types : standard_types;
    unsigned char c = (unsigned char)swift_next(p);
    if (c >= 128 || !types[c].name) {
        return NULL;
    }
    return repeated(p, standard_type(p, &types[c]), repeats);
}
