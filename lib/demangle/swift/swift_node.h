/* The tree of a Swift name: nodes with a text, a number or children, allocated in one arena. A
 * builder returns NULL if one of its parts is NULL, so that a parser can pass results on and check
 * only at the end. NULL may also mean that a cap was reached or memory ran out, which
 * swift_tree_check distinguishes. Because of substitutions a node may be the child of several
 * others, so the tree is an acyclic graph, and its text can be far longer than the name. Not thread
 * safe. */
#ifndef STALLKIT_DEMANGLE_SWIFT_NODE_H
#define STALLKIT_DEMANGLE_SWIFT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "demangle/swift/swift_kinds.h"

enum {
    /* Maximum numbers: */
    SWIFT_NAME_MAX = 64 * 1024,     /* bytes of a mangled name */
    SWIFT_TEXT_MAX = 512 * 1024,    /* bytes of a readable name, roughly */
    SWIFT_TREE_BYTES_MAX = 8 << 20, /* bytes of memory of one tree */
    SWIFT_WORK_MAX = 1 << 20        /* steps of work that memory does not bound, see swift_spend */
};

enum swift_payload { PAYLOAD_NONE, PAYLOAD_TEXT, PAYLOAD_INDEX, PAYLOAD_CHILDREN };

/* A node of the tree. Only swift_node.c changes nodes. */
struct swift_node {
    uint16_t kind;    /* enum swift_kind */
    uint16_t payload; /* enum swift_payload */
    uint32_t size;    /* bytes of the text, or number of children */
    uint32_t room;    /* number of children that fit into `many`; 0: the children are in `pair` */
    union {
        const char *text; /* borrowed from the name, static, or in the arena; no NUL */
        uint64_t index;
        struct swift_node *pair[2];
        struct swift_node **many;
    };
};

/* A tree and its memory. Zero-initialised = empty, but without a limit on its memory, which
 * swift_tree_clear sets. */
struct swift_tree {
    struct arena arena;
    struct swift_node *spare; /* nodes allocated but not yet handed out */
    size_t spare_count;
    size_t work;    /* steps spent since the last swift_tree_clear */
    bool too_large; /* a cap was reached */
    bool no_memory;
};

/* Forgets all nodes, but keeps the memory for the next name. */
void swift_tree_clear(struct swift_tree *t);
void swift_tree_release(struct swift_tree *t);
/* Returns ST_OK; ST_NONE if a cap was reached since the last clear; or ST_ERR (ERR_NOMEM) if memory
 * ran out. */
enum st swift_tree_check(const struct swift_tree *t, struct err *e) BASE_MUST_USE;

/* Counts steps of work that memory does not bound, such as moving and printing. False, without
 * counting them, if the sum since the last swift_tree_clear would pass SWIFT_WORK_MAX: the caller
 * gives up, and swift_tree_check returns ST_NONE. */
static inline bool swift_spend(struct swift_tree *t, size_t steps) {
    bool enough = steps <= SWIFT_WORK_MAX - t->work;
    t->work += enough ? steps : 0;
    t->too_large |= !enough;
    return enough;
}

/* Makes a leaf as swift_leaf does, after making room for it; only swift_leaf calls it. */
struct swift_node *swift_leaf_slowly(struct swift_tree *t, enum swift_kind kind);
/* Makes a node without children, valid until the tree is cleared or released; NULL: a cap was
 * reached or memory ran out. */
static inline struct swift_node *swift_leaf(struct swift_tree *t, enum swift_kind kind) {
    if (t->spare_count == 0) {
        return swift_leaf_slowly(t, kind);
    }
    t->spare_count--;
    t->spare->kind = (uint16_t)kind;
    return t->spare++;
}
/* Makes a leaf with a text, which is not copied: the text must stay valid until the tree is
 * cleared. NULL also if text is NULL. */
struct swift_node *swift_text_leaf(struct swift_tree *t, enum swift_kind kind, const char *text,
                                   size_t len);
/* Makes a leaf with a NUL-terminated static text. */
static inline struct swift_node *swift_fixed_leaf(struct swift_tree *t, enum swift_kind kind,
                                                  const char *text) {
    return swift_text_leaf(t, kind, text, strlen(text));
}
struct swift_node *swift_index_leaf(struct swift_tree *t, enum swift_kind kind, uint64_t index);
/* Make a node with one to four children; NULL if any of them is NULL. */
struct swift_node *swift_with1(struct swift_tree *t, enum swift_kind kind, struct swift_node *a);
struct swift_node *swift_with2(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b);
struct swift_node *swift_with3(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b, struct swift_node *c);
struct swift_node *swift_with4(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b, struct swift_node *c, struct swift_node *d);
/* Makes a SWIFT_TYPE node around a type; NULL for NULL. */
struct swift_node *swift_type(struct swift_tree *t, struct swift_node *child);
/* Copies a node with another kind and the same payload, whose text or children both nodes share;
 * NULL for NULL. */
struct swift_node *swift_rekind(struct swift_tree *t, const struct swift_node *n,
                                enum swift_kind kind);

/* Appends a child and returns the parent; NULL if either of them is NULL, the parent has a text or
 * number, a cap was reached, or memory ran out. */
struct swift_node *swift_add(struct swift_tree *t, struct swift_node *parent,
                             struct swift_node *child);
/* Appends a child as swift_add does; does nothing if child is NULL. */
void swift_add_if(struct swift_tree *t, struct swift_node *parent, struct swift_node *child);
/* Reverses the order of the children from `first` on; does nothing if n is NULL or has none. */
void swift_reverse(struct swift_node *n, size_t first);
/* Removes child i; does nothing if there is no such child. */
void swift_remove(struct swift_node *n, size_t i);

/* Allocates len bytes for a text that lives as long as the tree; NULL as for the builders. These
 * bytes count towards SWIFT_TREE_BYTES_MAX. */
char *swift_text_room(struct swift_tree *t, size_t len);

static inline size_t swift_count(const struct swift_node *n) {
    return n->payload == PAYLOAD_CHILDREN ? n->size : 0;
}
static inline struct swift_node *const *swift_children(const struct swift_node *n) {
    return n->room ? n->many : n->pair;
}
/* Returns child i; NULL if n is NULL or has no such child. */
static inline struct swift_node *swift_child(const struct swift_node *n, size_t i) {
    return n && i < swift_count(n) ? swift_children(n)[i] : NULL;
}
static inline bool swift_is(const struct swift_node *n, enum swift_kind kind) {
    return n && n->kind == kind;
}
/* Returns the first child of this kind; NULL if there is none. */
static inline struct swift_node *swift_child_of_kind(const struct swift_node *n,
                                                     enum swift_kind kind) {
    struct swift_node *const *children = n ? swift_children(n) : NULL;
    for (size_t i = 0, count = n ? swift_count(n) : 0; i < count; i++) {
        if (children[i]->kind == kind) {
            return children[i];
        }
    }
    return NULL;
}
/* Is n a node of this kind with this text? */
bool swift_text_is(const struct swift_node *n, enum swift_kind kind, const char *text);

/* A growing array of nodes, in the tree's arena. Zero-initialised = empty. */
struct swift_list {
    struct swift_node **items;
    size_t count;
    size_t room;
};
/* Appends as swift_push does, after making room; only swift_push calls it. */
bool swift_push_slowly(struct swift_tree *t, struct swift_list *l, struct swift_node *n);
/* Appends a node; false, with nothing appended, if n is NULL, a cap was reached, or memory ran out.
 */
static inline bool swift_push(struct swift_tree *t, struct swift_list *l, struct swift_node *n) {
    if (!n || l->count == l->room) {
        return n && swift_push_slowly(t, l, n);
    }
    l->items[l->count++] = n;
    return true;
}

#endif
