/* Reads identifiers, numbers and substitutions in the manglings of Swift 3 and older (swift:
 * docs/ABI/OldMangling.rst, "identifier", "index", "substitution"). */
#include <string.h>

#include "demangle/swift/swift_punycode.h"
#include "demangle/swift_old/swift_old_private.h"

/* Deepest nesting of the readers' calls: no compiler makes names that nest as deeply. */
enum { OLD_DEPTH_MAX = 1024 };

bool old_take_word(struct old_name *n, const char *word) {
    size_t len = strlen(word);
    bool is = n->len - n->at >= len && memcmp(n->text + n->at, word, len) == 0;
    n->at += is ? len : 0;
    return is;
}

bool old_enter(struct old_name *n) {
    if (n->depth >= OLD_DEPTH_MAX) {
        return false;
    }
    n->depth++;
    return true;
}

struct swift_node *old_leave(struct old_name *n, struct swift_node *result) {
    n->depth--;
    return result;
}

/* ---- numbers ---- */

enum { NATURAL_MAX = 1 << 30 };

bool old_natural(struct old_name *n, uint64_t *out) {
    size_t start = n->at;
    uint64_t value = 0;
    while (old_peek(n) >= '0' && old_peek(n) <= '9') {
        uint64_t digit = (uint64_t)(old_peek(n) - '0');
        bool small = value < NATURAL_MAX / 10;
        /* stands for any number that is too large */
        value = small ? value * 10 + digit : NATURAL_MAX;
        n->at++;
    }
    *out = value;
    return n->at > start;
}

bool old_index(struct old_name *n, uint64_t *out) {
    *out = 0;
    if (old_take(n, '_')) {
        return true;
    }
    if (!old_natural(n, out) || !old_take(n, '_') || *out == UINT64_MAX) {
        return false;
    }
    ++*out;
    return true;
}

struct swift_node *old_index_leaf(struct old_name *n, enum swift_kind kind) {
    uint64_t index;
    return old_index(n, &index) ? swift_index_leaf(n->tree, kind, index) : NULL;
}

/* ---- identifiers ---- */

/* Decodes an operator, which is spelt in letters; bytes above 0x7f are parts of Unicode characters.
 * Returns its text, of the same length; NULL: it is not an operator, a cap was reached or memory
 * ran out. */
static const char *operator_text(struct old_name *n, const char *letters, size_t len) {
    /* symbols for a … z; a space for none */
    static const char symbols[] = "& @/= >    <*!|+?%-~   ^ .";
    char *text = swift_text_room(n->tree, len);
    for (size_t i = 0; text && i < len; i++) {
        char c = letters[i];
        if ((unsigned char)c < 0x80) {
            c = c >= 'a' && c <= 'z' ? symbols[c - 'a'] : ' ';
        }
        if (c == ' ') {
            return NULL;
        }
        text[i] = c;
    }
    return text;
}

static bool take_operator_kind(struct old_name *n, enum swift_kind *kind) {
    if (old_take(n, 'p')) {
        *kind = SWIFT_PREFIX_OPERATOR;
    } else if (old_take(n, 'P')) {
        *kind = SWIFT_POSTFIX_OPERATOR;
    } else if (old_take(n, 'i')) {
        *kind = SWIFT_INFIX_OPERATOR;
    } else {
        return false;
    }
    return true;
}

struct swift_node *old_identifier(struct old_name *n, enum swift_kind kind) {
    bool punycode = old_take(n, 'X'), is_operator = old_take(n, 'o');
    uint64_t len;
    if (is_operator && (kind != SWIFT_IDENTIFIER || !take_operator_kind(n, &kind))) {
        return NULL;
    }
    if (!old_natural(n, &len) || len == 0 || len > n->len - n->at) {
        return NULL;
    }
    const char *text = n->text + n->at;
    size_t size = (size_t)len;
    n->at += size;
    if (punycode) {
        text = swift_punycode(n->tree, text, size, &size);
    }
    if (!text) {
        return NULL;
    }
    if (is_operator) {
        text = operator_text(n, text, size);
    }
    return swift_text_leaf(n->tree, kind, text, size);
}

/* Reads decl-name ::= identifier | 'L' index identifier (local) | 'P' identifier identifier
 * (private) */
struct swift_node *old_decl_name(struct old_name *n) {
    enum swift_kind kind;
    struct swift_node *discriminator;
    if (old_take(n, 'L')) {
        kind = SWIFT_LOCAL_DECL_NAME;
        discriminator = old_index_leaf(n, SWIFT_NUMBER);
    } else if (old_take(n, 'P')) {
        kind = SWIFT_PRIVATE_DECL_NAME;
        discriminator = old_identifier(n, SWIFT_IDENTIFIER);
    } else {
        return old_identifier(n, SWIFT_IDENTIFIER);
    }
    return discriminator
               ? swift_with2(n->tree, kind, discriminator, old_identifier(n, SWIFT_IDENTIFIER))
               : NULL;
}

/* ---- substitutions ---- */

struct swift_node *old_remember(struct old_name *n, struct swift_node *node) {
    return swift_push(n->tree, &n->seen, node) ? node : NULL;
}

struct swift_node *old_swift_module(struct old_name *n) {
    return swift_fixed_leaf(n->tree, SWIFT_MODULE, "Swift");
}

struct swift_node *old_substitution(struct old_name *n) {
    static const struct {
        char letter;
        enum swift_kind kind;
        const char *name;
    } known[] = {
        {'o', SWIFT_MODULE, "__C"},
        {'C', SWIFT_MODULE, "__C_Synthesized"},
        {'a', SWIFT_STRUCTURE, "Array"},
        {'b', SWIFT_STRUCTURE, "Bool"},
        {'c', SWIFT_STRUCTURE, "UnicodeScalar"},
        {'d', SWIFT_STRUCTURE, "Double"},
        {'f', SWIFT_STRUCTURE, "Float"},
        {'i', SWIFT_STRUCTURE, "Int"},
        {'V', SWIFT_STRUCTURE, "UnsafeRawPointer"},
        {'v', SWIFT_STRUCTURE, "UnsafeMutableRawPointer"},
        {'P', SWIFT_STRUCTURE, "UnsafePointer"},
        {'p', SWIFT_STRUCTURE, "UnsafeMutablePointer"},
        {'q', SWIFT_ENUM, "Optional"},
        {'Q', SWIFT_ENUM, "ImplicitlyUnwrappedOptional"},
        {'R', SWIFT_STRUCTURE, "UnsafeBufferPointer"},
        {'r', SWIFT_STRUCTURE, "UnsafeMutableBufferPointer"},
        {'S', SWIFT_STRUCTURE, "String"},
        {'u', SWIFT_STRUCTURE, "UInt"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!old_take(n, known[i].letter)) {
            continue;
        }
        if (known[i].kind == SWIFT_MODULE) {
            return swift_fixed_leaf(n->tree, SWIFT_MODULE, known[i].name);
        }
        return swift_with2(n->tree, known[i].kind, old_swift_module(n),
                           swift_fixed_leaf(n->tree, SWIFT_IDENTIFIER, known[i].name));
    }
    uint64_t index;
    return old_index(n, &index) && index < n->seen.count ? n->seen.items[index] : NULL;
}
