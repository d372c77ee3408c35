/* Reads whole symbols of Swift 3 or older: functions, metadata, witness tables, thunks (swift:
 * docs/ABI/OldMangling.rst, "global"). */
#include "demangle/swift_old/swift_old.h"

#include <string.h>

#include "demangle/swift/swift_value_witness.h"
#include "demangle/swift_old/swift_old_private.h"

/* ---- global ---- */

static struct swift_node *read_global(struct old_name *n);

static struct swift_node *read_directness(struct old_name *n) {
    bool direct = old_take(n, 'd');
    return direct || old_take(n, 'i') ? swift_index_leaf(n->tree, SWIFT_DIRECTNESS, !direct) : NULL;
}

static struct swift_node *read_value_witness(struct old_name *n) {
    for (size_t i = 0; i < SWIFT_VALUE_WITNESS_COUNT; i++) {
        if (old_take_word(n, swift_value_witnesses[i].code)) {
            return swift_index_leaf(n->tree, SWIFT_INDEX, i);
        }
    }
    return NULL;
}

/* Reads the optional generic signature in front of the two types of a thunk. False: damaged, a cap
 * was reached or memory ran out. */
static bool add_thunk_signature(struct old_name *n, struct swift_node *thunk) {
    return !old_take(n, 'G') ||
           swift_add(n->tree, thunk, old_generic_signature(n, SWIFT_DEPENDENT_GENERIC_SIGNATURE));
}

/* Reads a protocol and returns it as a type. */
static struct swift_node *read_protocol_type(struct old_name *n) {
    return swift_type(n->tree, old_protocol(n));
}

/* Reads the part of a symbol that its letter in `parts` stands for, and adds it to the parent.
 * False as add_thunk_signature. */
static bool add_part(struct old_name *n, struct swift_node *parent, char part) {
    struct swift_node *child = NULL;
    switch (part) {
    case 'c':
        child = old_conformance(n);
        break;
    case 'd':
        child = old_decl_name(n);
        break;
    case 'e':
        child = old_entity(n);
        break;
    case 'g':
        child = read_global(n);
        break;
    case 'i':
        child = read_directness(n);
        break;
    case 'p':
        child = read_protocol_type(n);
        break;
    case 's':
        return add_thunk_signature(n, parent);
    case 't':
        child = old_type(n);
        break;
    default:
        child = read_value_witness(n);
        break;
    }
    return swift_add(n->tree, parent, child) != NULL;
}

static struct swift_node *read_global(struct old_name *n) {
    /* Of several prefixes that match, the longest comes first in this table. */
    static const struct {
        const char *prefix;
        enum swift_kind kind;
        const char *parts; /* letters of add_part */
    } symbols[] = {
        {"MP", SWIFT_GENERIC_TYPE_METADATA_PATTERN, "t"},
        {"Ma", SWIFT_TYPE_METADATA_ACCESS_FUNCTION, "t"},
        {"ML", SWIFT_TYPE_METADATA_LAZY_CACHE, "t"},
        {"Mm", SWIFT_METACLASS, "t"},
        {"Mn", SWIFT_NOMINAL_TYPE_DESCRIPTOR, "t"},
        {"Mf", SWIFT_FULL_TYPE_METADATA, "t"},
        {"Mp", SWIFT_PROTOCOL_DESCRIPTOR, "p"},
        {"M", SWIFT_TYPE_METADATA, "t"},
        {"PAo__T", SWIFT_PARTIAL_APPLY_OBJC_FORWARDER, "g"},
        {"PAo", SWIFT_PARTIAL_APPLY_OBJC_FORWARDER, ""},
        {"PA__T", SWIFT_PARTIAL_APPLY_FORWARDER, "g"},
        {"PA", SWIFT_PARTIAL_APPLY_FORWARDER, ""},
        {"t", SWIFT_TYPE_MANGLING, "t"},
        {"w", SWIFT_VALUE_WITNESS, "wt"},
        {"WV", SWIFT_VALUE_WITNESS_TABLE, "t"},
        {"Wv", SWIFT_FIELD_OFFSET, "ie"},
        {"WP", SWIFT_PROTOCOL_WITNESS_TABLE, "c"},
        {"WG", SWIFT_GENERIC_PROTOCOL_WITNESS_TABLE, "c"},
        {"WI", SWIFT_GENERIC_PROTOCOL_WITNESS_TABLE_INSTANTIATION_FUNCTION, "c"},
        {"Wl", SWIFT_LAZY_PROTOCOL_WITNESS_TABLE_ACCESSOR, "tc"},
        {"WL", SWIFT_LAZY_PROTOCOL_WITNESS_TABLE_CACHE_VARIABLE, "tc"},
        {"Wa", SWIFT_PROTOCOL_WITNESS_TABLE_ACCESSOR, "c"},
        {"Wt", SWIFT_ASSOCIATED_TYPE_METADATA_ACCESSOR, "cd"},
        {"WT", SWIFT_ASSOCIATED_TYPE_WITNESS_TABLE_ACCESSOR, "cdp"},
        {"TR", SWIFT_REABSTRACTION_THUNK_HELPER, "stt"},
        {"Tr", SWIFT_REABSTRACTION_THUNK, "stt"},
        {"TW", SWIFT_PROTOCOL_WITNESS, "ce"},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (!old_take_word(n, symbols[i].prefix)) {
            continue;
        }
        if (!old_enter(n)) {
            return NULL;
        }
        struct swift_node *node = swift_leaf(n->tree, symbols[i].kind);
        for (const char *part = symbols[i].parts; node && *part; part++) {
            if (!add_part(n, node, *part)) {
                return old_leave(n, NULL);
            }
        }
        return old_leave(n, node);
    }
    return old_entity(n);
}

/* Reads what stands in front of the whole symbol: its specialisations, or at most one attribute.
 * False as add_thunk_signature. */
static bool add_attributes(struct old_name *n, struct swift_node *root) {
    static const struct {
        const char *prefix;
        enum swift_kind kind;
    } attributes[] = {
        {"To", SWIFT_OBJC_ATTRIBUTE},    {"TO", SWIFT_NON_OBJC_ATTRIBUTE},
        {"TD", SWIFT_DYNAMIC_ATTRIBUTE}, {"Td", SWIFT_DIRECT_METHOD_REFERENCE_ATTRIBUTE},
        {"TV", SWIFT_VTABLE_ATTRIBUTE},
    };
    if (old_take_word(n, "TS")) {
        do {
            if (!swift_add(n->tree, root, old_specialization(n))) {
                return false;
            }
            n->seen.count = 0; /* the text after a specialisation has its own substitutions */
        } while (old_take_word(n, "_TTS"));
        return old_take_word(n, "_T");
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (old_take_word(n, attributes[i].prefix)) {
            return swift_add(n->tree, root, swift_leaf(n->tree, attributes[i].kind)) != NULL;
        }
    }
    return true;
}

bool swift_old_has_prefix(const char *name, size_t len) {
    return len > 2 && memcmp(name, "_T", 2) == 0 && memchr("CFIMOPSTVWZitvw", name[2], 15);
}

struct swift_node *swift_old_parse(struct swift_tree *t, const char *name, size_t len) {
    struct old_name n = {.tree = t,
                         .text = name,
                         .len = len,
                         .read_type = old_read_type,
                         .read_signature = old_read_signature};
    struct swift_node *root = swift_leaf(t, SWIFT_GLOBAL);
    if (!old_take_word(&n, "_T") || !root || !add_attributes(&n, root) ||
        !swift_add(t, root, read_global(&n))) {
        return NULL;
    }
    if (n.at < n.len) {
        return swift_add(t, root, swift_text_leaf(t, SWIFT_SUFFIX, name + n.at, n.len - n.at));
    }
    return root;
}
