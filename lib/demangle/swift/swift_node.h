/* The tree of a Swift name: nodes with a text, a number or children, from one arena.
 *
 * A builder returns NULL when a part is NULL, so that a parser can pass on what it got and look at
 * the end only. NULL also means that the caps or memory ran out: swift_tree_check tells which. One
 * node may be the child of many (substitutions), so the tree is a graph without cycles and what is
 * printed can be far longer than what was parsed. Not thread safe. */
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
    SWIFT_NAME_MAX = 64 * 1024,     /* bytes of a mangled name */
    SWIFT_TEXT_MAX = 512 * 1024,    /* bytes of a readable one, and a little more */
    SWIFT_TREE_BYTES_MAX = 8 << 20, /* memory of one tree */
    SWIFT_WORK_MAX = 1 << 20        /* steps of what takes more time than memory: swift_spend */
};

enum swift_payload { PAYLOAD_NONE, PAYLOAD_TEXT, PAYLOAD_INDEX, PAYLOAD_CHILDREN };

/* Only swift_node.c changes a node. */
struct swift_node {
    uint16_t kind;    /* enum swift_kind */
    uint16_t payload; /* enum swift_payload */
    uint32_t size;    /* bytes of the text, or number of children */
    uint32_t room;    /* children that `many` has room for; 0: they are in `pair` */
    union {
        const char *text; /* borrowed from the name, static, or in the arena; not NUL-terminated */
        uint64_t index;
        struct swift_node *pair[2];
        struct swift_node **many;
    };
};

/* Zero-initialised = empty. */
struct swift_tree {
    struct arena arena;
    struct swift_node *spare; /* nodes allocated and not yet handed out */
    size_t spare_count;
    size_t work;    /* spent since the last clear */
    bool too_large; /* a cap was reached */
    bool no_memory;
};

/* Forgets all nodes; keeps the memory for the next name. */
void swift_tree_clear(struct swift_tree *t);
void swift_tree_release(struct swift_tree *t);
/* ST_OK; ST_NONE if a cap was reached since the last clear; ST_ERR (ERR_NOMEM) if memory ran out.
 */
enum st swift_tree_check(const struct swift_tree *t, struct err *e) BASE_MUST_USE;

/* Counts work that no memory bounds, such as moving and printing. False once SWIFT_WORK_MAX is
 * passed: the caller gives up, swift_tree_check answers ST_NONE. */
static inline bool swift_spend(struct swift_tree *t, size_t steps) {
    bool enough = steps <= SWIFT_WORK_MAX - t->work;
    t->work += enough ? steps : 0;
    t->too_large |= !enough;
    return enough;
}

/* For swift_leaf: makes room first. */
struct swift_node *swift_leaf_slowly(struct swift_tree *t, enum swift_kind kind);
/* New nodes, valid until the tree is cleared. */
static inline struct swift_node *swift_leaf(struct swift_tree *t, enum swift_kind kind) {
    if (t->spare_count == 0) {
        return swift_leaf_slowly(t, kind);
    }
    t->spare_count--;
    t->spare->kind = (uint16_t)kind;
    return t->spare++;
}
/* The text is not copied: it must outlive the tree. */
struct swift_node *swift_text_leaf(struct swift_tree *t, enum swift_kind kind, const char *text,
                                   size_t len);
/* As swift_text_leaf, of a NUL-terminated static text. */
static inline struct swift_node *swift_fixed_leaf(struct swift_tree *t, enum swift_kind kind,
                                                  const char *text) {
    return swift_text_leaf(t, kind, text, strlen(text));
}
struct swift_node *swift_index_leaf(struct swift_tree *t, enum swift_kind kind, uint64_t index);
/* With one to four children; NULL if one of these is NULL. */
struct swift_node *swift_with1(struct swift_tree *t, enum swift_kind kind, struct swift_node *a);
struct swift_node *swift_with2(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b);
struct swift_node *swift_with3(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b, struct swift_node *c);
struct swift_node *swift_with4(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b, struct swift_node *c, struct swift_node *d);
/* SWIFT_TYPE around a type; NULL for NULL. */
struct swift_node *swift_type(struct swift_tree *t, struct swift_node *child);
/* A copy of another kind, with the same payload; NULL for NULL. */
struct swift_node *swift_rekind(struct swift_tree *t, const struct swift_node *n,
                                enum swift_kind kind);

/* Appends a child. Returns the parent; NULL if one of them is NULL, if the parent has a text or a
 * number, or if a cap was reached. */
struct swift_node *swift_add(struct swift_tree *t, struct swift_node *parent,
                             struct swift_node *child);
/* As swift_add, but nothing happens without a child. */
void swift_add_if(struct swift_tree *t, struct swift_node *parent, struct swift_node *child);
/* Turns the children from `first` on around. */
void swift_reverse(struct swift_node *n, size_t first);
/* Takes child i out; nothing happens if there is none. */
void swift_remove(struct swift_node *n, size_t i);

/* Room for len bytes of text that lives as long as the tree; NULL as the builders. Together they
 * are capped by SWIFT_TREE_BYTES_MAX. */
char *swift_text_room(struct swift_tree *t, size_t len);

static inline size_t swift_count(const struct swift_node *n) {
    return n->payload == PAYLOAD_CHILDREN ? n->size : 0;
}
static inline struct swift_node *const *swift_children(const struct swift_node *n) {
    return n->room ? n->many : n->pair;
}
/* Child i, NULL if n is NULL or has none. */
static inline struct swift_node *swift_child(const struct swift_node *n, size_t i) {
    return n && i < swift_count(n) ? swift_children(n)[i] : NULL;
}
static inline bool swift_is(const struct swift_node *n, enum swift_kind kind) {
    return n && n->kind == kind;
}
/* The first child of this kind, NULL if there is none. */
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

/* A growing array of nodes in the tree's arena. Zero-initialised = empty. */
struct swift_list {
    struct swift_node **items;
    size_t count;
    size_t room;
};
/* For swift_push: makes room first. */
bool swift_push_slowly(struct swift_tree *t, struct swift_list *l, struct swift_node *n);
/* False, and nothing is appended, if n is NULL or a cap was reached. */
static inline bool swift_push(struct swift_tree *t, struct swift_list *l, struct swift_node *n) {
    if (!n || l->count == l->room) {
        return n && swift_push_slowly(t, l, n);
    }
    l->items[l->count++] = n;
    return true;
}

#endif
