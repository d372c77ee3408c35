/* Reads identifiers ("Identifiers") and the names of declarations ("Entities": decl-name). */
#include <string.h>

#include "demangle/swift_parse/swift_parser_private.h"
#include "demangle/swift/swift_punycode.h"

struct spelling {
    char *data;
    size_t len;
    size_t room;
};

static bool append(struct swift_tree *t, struct spelling *s, const char *text, size_t len) {
    if (len > SWIFT_NAME_MAX - s->len) {
        t->too_large = true;
        return false;
    }
    if (len > s->room - s->len) {
        size_t room = (s->len + len) * 2;
        char *data = swift_text_room(t, room);
        if (!data) {
            return false;
        }
        if (s->len) {
            memcpy(data, s->data, s->len);
        }
        s->data = data;
        s->room = room;
    }
    memcpy(s->data + s->len, text, len);
    s->len += len;
    return true;
}

/* Returns the end of the word at `start`: the end of the text, the next '_', or the next capital
 * letter that follows a byte that is no capital letter. */
static size_t end_of_word(const char *text, size_t len, size_t start) {
    bool was_upper = swift_upper(text[start]);
    size_t i = start + 1;
    for (; i < len && text[i] != '_'; i++) {
        bool upper = swift_upper(text[i]);
        if (upper && !was_upper) {
            break;
        }
        was_upper = upper;
    }
    return i;
}

/* Notes the words of an identifier, those of two bytes or more, so that later identifiers can refer
 * to them; words past SWIFT_WORDS_MAX are not noted. */
static void note_words(struct swift_parser *p, const char *text, size_t len) {
    for (size_t i = 0; i < len && p->word_count < SWIFT_WORDS_MAX;) {
        if (swift_digit(text[i]) || text[i] == '_') {
            i++;
            continue;
        }
        size_t end = end_of_word(text, len, i);
        if (end - i >= 2) {
            p->words[p->word_count++] = (struct swift_slice){text + i, end - i};
        }
        i = end;
    }
}

static void read_all(struct swift_parser *p) {
    for (size_t i = 0; i < p->unread_count; i++) {
        note_words(p, p->unread[i].text, p->unread[i].len);
    }
    p->unread_count = 0;
}

/* Keeps an identifier, whose words are searched for only when a later identifier refers to a word,
 * or when SWIFT_UNREAD_MAX identifiers are kept, because few names have such references. */
static void note_identifier(struct swift_parser *p, const char *text, size_t len) {
    if (p->unread_count == SWIFT_UNREAD_MAX) {
        read_all(p);
    }
    p->unread[p->unread_count++] = (struct swift_slice){text, len};
}

/* Returns word i, which a letter stands for; NULL if there is none. */
static const struct swift_slice *known_word(struct swift_parser *p, size_t i) {
    read_all(p);
    return i < p->word_count ? &p->words[i] : NULL;
}

/* Takes the next n bytes, an IDENTIFIER-STRING, not copied and without a NUL. NULL: n < 1, or fewer
 * bytes are left. */
static const char *take_string(struct swift_parser *p, int n) {
    if (n <= 0 || (size_t)n > p->len - p->pos) {
        return NULL;
    }
    const char *text = p->text + p->pos;
    p->pos += (size_t)n;
    return text;
}

/* Reads an identifier whose first byte, '0', was taken: letters that stand for known words, and new
 * strings, by turns; a capital letter stands for the last word, and '0' in place of a string ends
 * the identifier. */
static struct swift_node *identifier_with_words(struct swift_parser *p) {
    struct spelling s = {0};
    bool more = true;
    while (more) {
        while (more && (swift_lower(swift_peek(p)) || swift_upper(swift_peek(p)))) {
            char c = swift_next(p);
            more = swift_lower(c);
            const struct swift_slice *word = known_word(p, (size_t)(more ? c - 'a' : c - 'A'));
            if (!word || !append(p->tree, &s, word->text, word->len)) {
                return NULL;
            }
        }
        if (swift_skip(p, '0')) {
            break;
        }
        /* A string may follow even the last word, if its length stands there. */
        int n = swift_natural(p);
        const char *text = take_string(p, n);
        if (!text || !append(p->tree, &s, text, (size_t)n)) {
            return NULL;
        }
        note_identifier(p, text, (size_t)n);
    }
    return s.len ? swift_text_leaf(p->tree, SWIFT_IDENTIFIER, s.data, s.len) : NULL;
}

static struct swift_node *punycoded_identifier(struct swift_parser *p) {
    int n = swift_peek(p) == '0' ? SWIFT_NO_NUMBER : swift_natural(p);
    if (n > 0) {
        (void)swift_skip(p, '_');
    }
    const char *encoded = take_string(p, n);
    size_t len = 0;
    char *text = encoded ? swift_punycode(p->tree, encoded, (size_t)n, &len) : NULL;
    return len ? swift_text_leaf(p->tree, SWIFT_IDENTIFIER, text, len) : NULL;
}

static struct swift_node *plain_identifier(struct swift_parser *p) {
    int n = swift_natural(p);
    const char *text = take_string(p, n);
    if (!text) {
        return NULL;
    }
    note_identifier(p, text, (size_t)n);
    return swift_text_leaf(p->tree, SWIFT_IDENTIFIER, text, (size_t)n);
}

/* Makes an identifier's node; its first digit was taken as the operator. */
struct swift_node *swift_make_identifier(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    struct swift_node *n;
    p->pos--;
    if (!swift_skip(p, '0')) {
        n = plain_identifier(p);
    } else if (swift_skip(p, '0')) {
        n = punycoded_identifier(p);
    } else {
        n = identifier_with_words(p);
    }
    return swift_remember(p, n);
}

/* Makes the node of 'o', an operator's name, whose characters are spelled as letters
 * ("Identifiers"). */
struct swift_node *swift_make_operator_name(struct swift_parser *p, enum swift_kind kind) {
    static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
    (void)kind;
    const struct swift_node *name = swift_pop_kind(p, SWIFT_IDENTIFIER);
    char *text = name ? swift_text_room(p->tree, name->size) : NULL;
    if (!text) {
        return NULL;
    }
    for (size_t i = 0; i < name->size; i++) {
        char c = name->text[i];
        bool ascii = (unsigned char)c < 0x80;
        if (ascii && (!swift_lower(c) || characters[c - 'a'] == ' ')) {
            return NULL;
        }
        text[i] = ascii ? characters[c - 'a'] : c;
    }
    switch (swift_next(p)) {
    case 'i':
        return swift_text_leaf(p->tree, SWIFT_INFIX_OPERATOR, text, name->size);
    case 'p':
        return swift_text_leaf(p->tree, SWIFT_PREFIX_OPERATOR, text, name->size);
    case 'P':
        return swift_text_leaf(p->tree, SWIFT_POSTFIX_OPERATOR, text, name->size);
    default:
        return NULL;
    }
}

/* Makes the node of 'L': a name with its file ("LL"), with a number, or with the letter of its
 * relation to the entity of that name; or a file without a name ("Ll"). */
struct swift_node *swift_make_local_name(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    if (swift_skip(p, 'L')) {
        struct swift_node *file = swift_pop_kind(p, SWIFT_IDENTIFIER);
        struct swift_node *name = swift_pop_role(p, ROLE_DECL_NAME);
        return swift_with2(t, SWIFT_PRIVATE_DECL_NAME, file, name);
    }
    if (swift_skip(p, 'l')) {
        return swift_with1(t, SWIFT_PRIVATE_DECL_NAME, swift_pop_kind(p, SWIFT_IDENTIFIER));
    }
    char c = swift_peek(p);
    if ((c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J')) {
        struct swift_node *relation = swift_text_leaf(t, SWIFT_IDENTIFIER, p->text + p->pos, 1);
        p->pos++;
        return swift_with2(t, SWIFT_RELATED_ENTITY_DECL_NAME, relation, swift_pop(p));
    }
    struct swift_node *number = swift_index_number(p);
    struct swift_node *name = swift_pop_role(p, ROLE_DECL_NAME);
    return swift_with2(t, kind, number, name);
}
