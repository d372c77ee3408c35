/* Implements the path-compressed tree of stacks: a radix tree whose edges break only between
 * frames. */
#include "flame/stacks/stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/search.h"

enum { CHUNK_SIZE = 256 * 1024, FIRST_SLOTS = 256, FIRST_NODES = 128 };

/* A block of texts. Blocks never move: nodes point into them, and the two nodes of a split edge
 * share one text. */
struct stack_chunk {
    struct stack_chunk *next;
    size_t used, size;
    char data[];
};

uint64_t stack_tree_total(const struct stack_tree *t) {
    return t->node_count ? t->nodes[0].total : 0;
}

/* ---- memory ---- */

void stack_tree_release(struct stack_tree *t) {
    for (struct stack_chunk *c = t->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(t->nodes);
    free(t->slots);
    free(t->starts);
    *t = (struct stack_tree){0};
}

/* Makes sure that len bytes fit into the newest block. False: out of memory. */
static bool reserve_text(struct stack_tree *t, size_t len) {
    if (t->chunks && len <= t->chunks->size - t->chunks->used) {
        return true;
    }
    size_t size = len > CHUNK_SIZE ? len : CHUNK_SIZE;
    struct stack_chunk *c = malloc(sizeof *c + size);
    if (!c) {
        return false;
    }
    c->next = t->chunks;
    c->used = 0;
    c->size = size;
    t->chunks = c;
    return true;
}

static const char *store_text(struct stack_tree *t, const char *text, size_t len) {
    char *at = t->chunks->data + t->chunks->used;
    if (len) {
        memcpy(at, text, len);
    }
    t->chunks->used += len;
    return at;
}

static void put_slot(struct stack_tree *t, uint32_t index) {
    if (t->ordered) {
        return; /* an ordered tree is not hashed: it is never searched, and its equal siblings would
                   make one long probe chain */
    }
    size_t mask = t->slot_count - 1;
    size_t i = t->nodes[index].hash & mask;
    while (t->slots[i]) {
        i = (i + 1) & mask;
    }
    t->slots[i] = index;
}

static bool tree_grow_slots(struct stack_tree *t) {
    size_t count = t->slot_count ? t->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return false;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (size_t i = 1; i < t->node_count; i++) {
        put_slot(t, (uint32_t)i);
    }
    return true;
}

/* Makes room for the two nodes that a stack may add, so that adding cannot fail half way. */
static enum st reserve_nodes(struct stack_tree *t, struct err *e) {
    if (t->node_count >= UINT32_MAX / 2) {
        return err_set(e, ERR_LIMIT, "more than %u distinct stacks", UINT32_MAX / 4);
    }
    if (t->node_count + 3 > t->node_cap) {
        size_t cap = t->node_cap ? t->node_cap + t->node_cap / 2 : FIRST_NODES;
        struct stack_node *nodes = realloc(t->nodes, cap * sizeof *nodes);
        if (!nodes) {
            return err_nomem(e);
        }
        t->nodes = nodes;
        uint64_t *starts = t->ordered ? realloc(t->starts, cap * sizeof *starts) : NULL;
        if (t->ordered && !starts) {
            return err_nomem(e);
        }
        t->starts = starts;
        t->node_cap = cap;
    }
    if (!t->ordered && (t->node_count + 3) * 2 > t->slot_count && !tree_grow_slots(t)) {
        return err_nomem(e);
    }
    if (t->node_count == 0) {
        t->nodes[t->node_count++] = (struct stack_node){.text = ""};
        if (t->ordered) {
            t->starts[0] = 0;
        }
    }
    return ST_OK;
}

/* ---- adding ---- */

static uint64_t load_word(const char *s) {
    uint64_t v;
    memcpy(&v, s, sizeof v);
    return v;
}

/* Returns how many bytes a and b have in common at their beginning, at most len. */
static size_t common_prefix(const char *a, const char *b, size_t len) {
    size_t i = 0;
    while (len - i >= 8 && load_word(a + i) == load_word(b + i)) {
        i += 8;
    }
    while (i < len && a[i] == b[i]) {
        i++;
    }
    return i;
}

/* Finds the whole frames that a node's edge and the rest of a stack have in common; *out is their
 * length without a ';' after them. False: not even the first frame is common. */
static bool common_frames(const struct stack_node *n, const char *rest, size_t len, size_t *out) {
    size_t at = common_prefix(n->text, rest, n->len < len ? n->len : len);
    if ((at == n->len || n->text[at] == ';') && (at == len || rest[at] == ';')) {
        *out = at;
        return true;
    }
    while (at > 0 && n->text[at - 1] != ';') {
        at--;
    }
    if (at == 0) {
        return false;
    }
    *out = at - 1;
    return true;
}

static uint32_t hash_frame(uint32_t parent, const char *frame, size_t len) {
    return (uint32_t)hash_u64(hash_bytes(frame, len) ^ ((uint64_t)parent << 32));
}

size_t stack_frame_len(const char *text, size_t len) {
    const char *end = len ? memchr(text, ';', len) : NULL;
    return end ? (size_t)(end - text) : len;
}

/* Finds the child of `parent` with the first frame of rest; 0 if there is none. *hash is set to the
 * hash that such a child has. */
static uint32_t find_child(const struct stack_tree *t, uint32_t parent, const char *rest,
                           size_t len, uint32_t *hash) {
    size_t frame = stack_frame_len(rest, len);
    *hash = hash_frame(parent, rest, frame);
    size_t mask = t->slot_count - 1;
    for (size_t i = *hash & mask; t->slots[i]; i = (i + 1) & mask) {
        const struct stack_node *n = &t->nodes[t->slots[i]];
        if (n->hash == *hash && n->parent == parent && n->len >= frame &&
            memcmp(n->text, rest, frame) == 0 && (n->len == frame || n->text[frame] == ';')) {
            return t->slots[i];
        }
    }
    return 0;
}

/* Splits the edge of a node after its first `at` bytes. The new upper node takes the node's place
 * under its parent; the node keeps its index, its children and the rest of its text. Returns the
 * upper node. */
static uint32_t split_edge(struct stack_tree *t, uint32_t index, size_t at) {
    uint32_t upper = (uint32_t)t->node_count++;
    struct stack_node *n = &t->nodes[index];
    t->nodes[upper] = (struct stack_node){.text = n->text,
                                          .len = (uint32_t)at,
                                          .parent = n->parent,
                                          .hash = n->hash,
                                          .last_child = index,
                                          .total = n->total};
    if (t->ordered) {
        t->starts[upper] = t->starts[index];
    } else {
        size_t mask = t->slot_count - 1;
        size_t slot = n->hash & mask;
        while (t->slots[slot] != index) {
            slot = (slot + 1) & mask;
        }
        t->slots[slot] = upper;
    }
    t->nodes[n->parent].last_child = upper;

    n->text += at + 1;
    n->len -= (uint32_t)at + 1;
    n->parent = upper;
    n->hash = hash_frame(upper, n->text, stack_frame_len(n->text, n->len));
    put_slot(t, index);
    return upper;
}

static void add_leaf(struct stack_tree *t, uint32_t parent, uint32_t hash, const char *rest,
                     size_t len, uint64_t weight) {
    uint32_t leaf = (uint32_t)t->node_count++;
    t->nodes[leaf] = (struct stack_node){.text = store_text(t, rest, len),
                                         .len = (uint32_t)len,
                                         .parent = parent,
                                         .hash = hash,
                                         .self = weight,
                                         .total = weight};
    t->nodes[parent].last_child = leaf;
    if (t->ordered) {
        t->starts[leaf] = t->nodes[0].total - weight;
    }
    put_slot(t, leaf);
}

/* Adds a stack: walks down from the root as far as frames agree, adding the weight to the nodes
 * passed, then splits the edge inside of which they differ, and adds a leaf for the rest. */
static void tree_insert(struct stack_tree *t, const char *rest, size_t len, uint64_t weight) {
    uint32_t at = 0;
    t->nodes[0].total += weight;
    for (;;) {
        uint32_t hash = 0;
        uint32_t child = t->nodes[at].last_child;
        size_t same = 0;
        if (!child || !common_frames(&t->nodes[child], rest, len, &same)) {
            child = t->ordered ? 0 : find_child(t, at, rest, len, &hash);
            if (!child) {
                add_leaf(t, at, hash, rest, len, weight);
                return;
            }
            t->nodes[at].last_child = child;
            common_frames(&t->nodes[child], rest, len, &same);
        }
        if (same < t->nodes[child].len) {
            child = split_edge(t, child, same);
        }
        t->nodes[child].total += weight;
        if (same == len) {
            t->nodes[child].self += weight;
            if (t->ordered) { /* the next stack must not merge with earlier children */
                t->nodes[child].last_child = 0;
            }
            return;
        }
        at = child;
        rest += same + 1;
        len -= same + 1;
    }
}

static bool scale_weight(uint64_t weight, unsigned places, uint64_t *out) {
    for (unsigned i = 0; i < places; i++) {
        if (!checked_mul_u64(weight, 10, &weight)) {
            return false;
        }
    }
    *out = weight;
    return true;
}

/* Scales a weight and the tree to the same decimals. False, with nothing changed, if either would
 * not fit 64 bits. */
static bool agree_on_decimals(struct stack_tree *t, uint64_t *weight, unsigned decimals) {
    uint64_t total;
    if (decimals <= t->decimals) {
        return scale_weight(*weight, t->decimals - decimals, weight);
    }
    unsigned places = decimals - t->decimals;
    if (!scale_weight(stack_tree_total(t), places, &total)) {
        return false;
    }
    for (size_t i = 0; i < t->node_count; i++) {
        scale_weight(t->nodes[i].self, places,
                     &t->nodes[i].self); /* no weight is more than the total */
        scale_weight(t->nodes[i].total, places, &t->nodes[i].total);
        if (t->ordered) {
            scale_weight(t->starts[i], places, &t->starts[i]);
        }
    }
    t->decimals = decimals;
    return true;
}

enum st stack_tree_add(struct stack_tree *t, const char *text, size_t len, uint64_t weight,
                       unsigned decimals, struct err *e) {
    uint64_t total;
    if (len > STACK_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "stack longer than %d bytes", STACK_TEXT_MAX);
    }
    if (weight == 0) {
        return ST_OK;
    }
    if (decimals > STACK_DECIMALS_MAX || !agree_on_decimals(t, &weight, decimals) ||
        !checked_add_u64(stack_tree_total(t), weight, &total)) {
        return err_set(e, ERR_LIMIT, "the sum of all counts passes 64 bits");
    }
    if (reserve_nodes(t, e) != ST_OK) {
        return ST_ERR;
    }
    if (!reserve_text(t, len)) {
        return err_nomem(e);
    }
    tree_insert(t, text, len, weight);
    return ST_OK;
}

void stack_tree_break(struct stack_tree *t) {
    if (t->ordered && t->node_count > 0) {
        t->nodes[0].last_child = 0;
    }
}

/* ---- reading ---- */

uint32_t stack_tree_find(const struct stack_tree *t, const char *text, size_t len) {
    uint32_t at = 0;
    while (t->node_count > 0 && !t->ordered) {
        uint32_t hash;
        size_t same = 0;
        uint32_t child = find_child(t, at, text, len, &hash);
        if (!child || !common_frames(&t->nodes[child], text, len, &same) ||
            same < t->nodes[child].len) {
            break;
        }
        if (same == len) {
            return child;
        }
        at = child;
        text += same + 1;
        len -= same + 1;
    }
    return 0;
}

enum st stack_tree_children(const struct stack_tree *t, struct stack_children *out, struct err *e) {
    size_t n = t->node_count;
    uint32_t *start = calloc(n + 2, sizeof *start);
    uint32_t *child = calloc(n + 1, sizeof *child);
    if (!start || !child) {
        free(start);
        free(child);
        return err_nomem(e);
    }
    /* This is a counting sort by parent. Counts are stored one place to the right, so that filling
     * turns them into the starts. */
    for (size_t i = 1; i < n; i++) {
        start[t->nodes[i].parent + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) {
        start[i] += start[i - 1];
    }
    for (size_t i = 1; i < n; i++) {
        child[start[t->nodes[i].parent + 1]++] = (uint32_t)i;
    }
    *out = (struct stack_children){start, child};
    return ST_OK;
}

void stack_children_release(struct stack_children *c) {
    free(c->start);
    free(c->child);
    *c = (struct stack_children){0};
}

static int byte_or_end(const struct stack_node *n, size_t at) {
    return at == n->len || n->text[at] == ';' ? -1 : (unsigned char)n->text[at];
}

int stack_node_order(const struct stack_node *a, const struct stack_node *b) {
    size_t at = common_prefix(a->text, b->text, a->len < b->len ? a->len : b->len);
    int x = byte_or_end(a, at), y = byte_or_end(b, at);
    return COMPARE(x, y);
}

/* A node and its number in the tree, which are sorted together, because qsort has no context
 * argument. */
struct sort_entry {
    const struct stack_node *node;
    uint32_t index;
};

static int compare_entries(const void *a, const void *b) {
    return stack_node_order(((const struct sort_entry *)a)->node,
                            ((const struct sort_entry *)b)->node);
}

bool stack_tree_sort(const struct stack_tree *t, uint32_t *siblings, size_t count) {
    enum { FEW = 16 };
    struct sort_entry few[FEW];
    if (count < 2 || t->ordered) {
        return true;
    }
    struct sort_entry *entries = count <= FEW ? few : calloc(count, sizeof *entries);
    if (!entries) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct sort_entry){&t->nodes[siblings[i]], siblings[i]};
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++) {
        siblings[i] = entries[i].index;
    }
    if (entries != few) {
        free(entries);
    }
    return true;
}
