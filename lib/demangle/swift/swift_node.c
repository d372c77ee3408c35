/* Makes and changes the nodes of a Swift name's tree. */
#include "demangle/swift/swift_node.h"

#include <string.h>

enum { NODES_AT_ONCE = 64, FEWEST_MANY = 6, FEWEST_LISTED = 16 };

const uint16_t swift_roles[SWIFT_KIND_COUNT] = {
#define SWIFT_KIND(name, roles) roles,
    SWIFT_KINDS(SWIFT_KIND)
#undef SWIFT_KIND
};

void swift_tree_clear(struct swift_tree *t) {
    arena_clear(&t->arena);
    t->arena.limit = SWIFT_TREE_BYTES_MAX;
    t->spare = NULL;
    t->spare_count = 0;
    t->work = 0;
    t->too_large = false;
    t->no_memory = false;
}

void swift_tree_release(struct swift_tree *t) {
    arena_release(&t->arena);
    *t = (struct swift_tree){0};
}

enum st swift_tree_check(const struct swift_tree *t, struct err *e) {
    if (t->no_memory) {
        return err_nomem(e);
    }
    return t->too_large ? ST_NONE : ST_OK;
}

/* Allocates as arena_array does; on failure it notes whether a cap was reached or memory ran
 * out. */
static void *room_for(struct swift_tree *t, size_t count, size_t size) {
    void *p = arena_array(&t->arena, count, size);
    if (!p) {
        bool capped = count > (SWIFT_TREE_BYTES_MAX - t->arena.used) / size;
        t->too_large |= capped;
        t->no_memory |= !capped;
    }
    return p;
}

struct swift_node *swift_leaf_slowly(struct swift_tree *t, enum swift_kind kind) {
    t->spare = room_for(t, NODES_AT_ONCE, sizeof *t->spare);
    t->spare_count = t->spare ? NODES_AT_ONCE : 0;
    return t->spare ? swift_leaf(t, kind) : NULL;
}

struct swift_node *swift_text_leaf(struct swift_tree *t, enum swift_kind kind, const char *text,
                                   size_t len) {
    struct swift_node *n = text && len <= UINT32_MAX ? swift_leaf(t, kind) : NULL;
    if (n) {
        n->payload = PAYLOAD_TEXT;
        n->text = text;
        n->size = (uint32_t)len;
    }
    return n;
}

struct swift_node *swift_index_leaf(struct swift_tree *t, enum swift_kind kind, uint64_t index) {
    struct swift_node *n = swift_leaf(t, kind);
    if (n) {
        n->payload = PAYLOAD_INDEX;
        n->index = index;
    }
    return n;
}

/* Makes room for one more child; the third child moves all of them from `pair` to `many`. */
static bool make_room(struct swift_tree *t, struct swift_node *n) {
    if (n->size < (n->room ? n->room : 2)) {
        return true;
    }
    uint32_t room = n->room ? n->room * 2 : FEWEST_MANY;
    struct swift_node **many = room_for(t, room, sizeof *many);
    if (!many) {
        return false;
    }
    memcpy(many, swift_children(n), n->size * sizeof *many);
    n->many = many;
    n->room = room;
    return true;
}

struct swift_node *swift_add(struct swift_tree *t, struct swift_node *parent,
                             struct swift_node *child) {
    if (!parent || !child || parent->payload == PAYLOAD_TEXT || parent->payload == PAYLOAD_INDEX ||
        !make_room(t, parent)) {
        return NULL;
    }
    struct swift_node **children = parent->room ? parent->many : parent->pair;
    children[parent->size++] = child;
    parent->payload = PAYLOAD_CHILDREN;
    return parent;
}

void swift_add_if(struct swift_tree *t, struct swift_node *parent, struct swift_node *child) {
    if (child) {
        (void)swift_add(t, parent, child);
    }
}

struct swift_node *swift_with1(struct swift_tree *t, enum swift_kind kind, struct swift_node *a) {
    struct swift_node *n = a ? swift_leaf(t, kind) : NULL;
    if (n) {
        n->pair[0] = a;
        n->size = 1;
        n->payload = PAYLOAD_CHILDREN;
    }
    return n;
}

struct swift_node *swift_with2(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b) {
    struct swift_node *n = a && b ? swift_leaf(t, kind) : NULL;
    if (n) {
        n->pair[0] = a;
        n->pair[1] = b;
        n->size = 2;
        n->payload = PAYLOAD_CHILDREN;
    }
    return n;
}

struct swift_node *swift_with3(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b, struct swift_node *c) {
    return c ? swift_add(t, swift_with2(t, kind, a, b), c) : NULL;
}

struct swift_node *swift_with4(struct swift_tree *t, enum swift_kind kind, struct swift_node *a,
                               struct swift_node *b, struct swift_node *c, struct swift_node *d) {
    return d ? swift_add(t, swift_with3(t, kind, a, b, c), d) : NULL;
}

struct swift_node *swift_type(struct swift_tree *t, struct swift_node *child) {
    return swift_with1(t, SWIFT_TYPE, child);
}

struct swift_node *swift_rekind(struct swift_tree *t, const struct swift_node *n,
                                enum swift_kind kind) {
    struct swift_node *copy = n ? swift_leaf(t, kind) : NULL;
    if (!copy) {
        return NULL;
    }
    if (n->payload != PAYLOAD_CHILDREN) {
        *copy = *n;
        copy->kind = (uint16_t)kind;
        return copy;
    }
    for (size_t i = 0; i < n->size; i++) {
        if (!swift_add(t, copy, swift_children(n)[i])) {
            return NULL;
        }
    }
    return copy;
}

void swift_reverse(struct swift_node *n, size_t first) {
    if (!n || n->payload != PAYLOAD_CHILDREN) {
        return;
    }
    struct swift_node **children = n->room ? n->many : n->pair;
    for (size_t i = first, j = n->size; i + 1 < j; i++, j--) {
        struct swift_node *other = children[i];
        children[i] = children[j - 1];
        children[j - 1] = other;
    }
}

void swift_remove(struct swift_node *n, size_t i) {
    if (!swift_child(n, i)) {
        return;
    }
    struct swift_node **children = n->room ? n->many : n->pair;
    memmove(children + i, children + i + 1, (n->size - i - 1) * sizeof *children);
    n->size--;
}

char *swift_text_room(struct swift_tree *t, size_t len) {
    return room_for(t, len ? len : 1, 1);
}

bool swift_text_is(const struct swift_node *n, enum swift_kind kind, const char *text) {
    return swift_is(n, kind) && n->payload == PAYLOAD_TEXT && n->size == strlen(text) &&
           memcmp(n->text, text, n->size) == 0;
}

bool swift_push_slowly(struct swift_tree *t, struct swift_list *l, struct swift_node *n) {
    size_t room = l->room ? l->room * 2 : FEWEST_LISTED;
    struct swift_node **items = room_for(t, room, sizeof(struct swift_node *));
    if (!items) {
        return false;
    }
    if (l->count) {
        memcpy(items, l->items, l->count * sizeof(struct swift_node *));
    }
    l->items = items;
    l->room = room;
    l->items[l->count++] = n;
    return true;
}
