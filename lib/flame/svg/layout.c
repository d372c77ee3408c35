/* Lays out a tree, with an explicit stack instead of recursion, because call stacks may be deep. */
#include "flame/svg/layout.h"

#include <string.h>

/* A subtree that is still to be placed, or a rest: siblings that are too narrow to draw, merged
 * into one frame. */
struct layout_place {
    uint32_t node; /* 0: a rest */
    uint32_t depth, merged;
    uint64_t x, w;
};

struct layout_run {
    struct layout *l;
    const struct stack_tree *tree;
    struct stack_children children;
    uint64_t min_weight;
    uint32_t max_depth;
    VEC(struct layout_place) todo;
};

static bool layout_add_frame(struct layout_run *r, struct layout_frame f) {
    if (f.depth > r->l->depth) {
        r->l->depth = f.depth;
    }
    return VEC_PUSH(&r->l->frames, f);
}

static uint32_t edge_frame_count(const char *text, size_t len) {
    uint32_t n = 1;
    for (const char *at = text; (at = memchr(at, ';', len - (size_t)(at - text))) != NULL; at++) {
        n++;
    }
    return n;
}

/* Adds the frames of a node's edge down to max_depth. *cut: the edge goes deeper, and its remainder
 * became one frame. Returns the depth of the last frame; 0: out of memory. */
static uint32_t layout_add_edge(struct layout_run *r, const struct layout_place *p, bool *cut) {
    const struct stack_node *n = &r->tree->nodes[p->node];
    uint32_t depth = p->depth;
    size_t at = 0;
    *cut = false;
    for (;; depth++) {
        size_t len = stack_frame_len(n->text + at, n->len - at);
        struct layout_frame f = {.text = n->text + at,
                                 .len = (uint32_t)len,
                                 .depth = depth,
                                 .kind = LAYOUT_FRAME,
                                 .node = p->node,
                                 .x = p->x,
                                 .w = p->w,
                                 .self = at + len < n->len ? 0 : n->self};
        if (depth > r->max_depth) {
            f.kind = LAYOUT_DEEPER;
            f.merged = edge_frame_count(n->text + at, n->len - at);
            f.self = f.w;
            *cut = true;
        }
        if (!layout_add_frame(r, f)) {
            return 0;
        }
        if (at + len == n->len || *cut) {
            return depth;
        }
        at += len + 1;
    }
}

/* Ends a run of narrow siblings and queues them as one rest. */
static void queue_rest(struct layout_run *r, struct layout_place *rest) {
    if (rest->merged > 0) {
        r->todo.data[r->todo.len++] = *rest;
        r->l->narrow_count += rest->merged;
        r->l->narrow_weight += rest->w;
        rest->merged = 0;
        rest->w = 0;
    }
}

/* Queues the children of a node of an ordered tree at their times: each wide child, and each run of
 * narrow ones as a rest. */
static void queue_in_time(struct layout_run *r, const uint32_t *child, size_t count,
                          uint32_t depth) {
    const struct stack_tree *t = r->tree;
    struct layout_place rest = {.depth = depth};
    uint64_t end = 0; /* end of the previous child */
    for (size_t i = 0; i < count; i++) {
        uint32_t c = child[i];
        uint64_t w = t->nodes[c].total;
        if (w >= r->min_weight || t->starts[c] - end >= r->min_weight) {
            queue_rest(r, &rest);
        }
        end = t->starts[c] + w;
        if (w >= r->min_weight) {
            r->todo.data[r->todo.len++] =
                (struct layout_place){.node = c, .depth = depth, .x = t->starts[c], .w = w};
        } else {
            rest.x = rest.merged == 0 ? t->starts[c] : rest.x;
            rest.w += w;
            rest.merged++;
        }
    }
    queue_rest(r, &rest);
}

/* Queues the wide children of a node sorted by name, then the narrow ones as one rest. False:
 * out of memory. */
static bool queue_by_name(struct layout_run *r, uint32_t *child, size_t count, uint64_t x,
                          uint32_t depth) {
    const struct stack_node *nodes = r->tree->nodes;
    size_t wide = 0;
    struct layout_place rest = {.depth = depth, .x = x};
    for (size_t i = 0; i < count; i++) {
        uint32_t c = child[i];
        if (nodes[c].total >= r->min_weight) {
            child[i] = child[wide];
            child[wide++] = c;
        } else {
            rest.w += nodes[c].total;
            rest.merged++;
        }
    }
    if (!stack_tree_sort(r->tree, child, wide)) {
        return false;
    }
    for (size_t i = 0; i < wide; i++) {
        uint64_t w = nodes[child[i]].total;
        r->todo.data[r->todo.len++] =
            (struct layout_place){.node = child[i], .depth = depth, .x = rest.x, .w = w};
        rest.x += w;
    }
    queue_rest(r, &rest);
    return true;
}

/* Queues the children of a node and reverses their order, because the last one queued is placed
 * first. */
static enum st queue_children(struct layout_run *r, uint32_t node, uint64_t x, uint32_t depth,
                              struct err *e) {
    uint32_t *child = r->children.child + r->children.start[node];
    size_t count = r->children.start[node + 1] - r->children.start[node];
    size_t first = r->todo.len;
    if (!VEC_RESERVE(&r->todo, 2 * count + 1)) {
        return err_nomem(e);
    }
    if (r->tree->ordered) {
        queue_in_time(r, child, count, depth);
    } else if (!queue_by_name(r, child, count, x, depth)) {
        return err_nomem(e);
    }
    for (size_t a = first, b = r->todo.len; a + 1 < b; a++) {
        struct layout_place swap = r->todo.data[a];
        r->todo.data[a] = r->todo.data[--b];
        r->todo.data[b] = swap;
    }
    return ST_OK;
}

static enum st place_next(struct layout_run *r, struct err *e) {
    struct layout_place p = r->todo.data[--r->todo.len];
    if (p.node == 0) {
        struct layout_frame f = {.text = "",
                                 .depth = p.depth,
                                 .kind = LAYOUT_NARROW,
                                 .merged = p.merged,
                                 .x = p.x,
                                 .w = p.w,
                                 .self = p.w};
        return layout_add_frame(r, f) ? ST_OK : err_nomem(e);
    }
    bool cut;
    uint32_t depth = layout_add_edge(r, &p, &cut);
    if (depth == 0) {
        return err_nomem(e);
    }
    return cut ? ST_OK : queue_children(r, p.node, p.x, depth + 1, e);
}

enum st layout_make(struct layout *l, const struct stack_tree *t, uint64_t min_weight,
                    uint32_t max_depth, struct err *e) {
    *l = (struct layout){0};
    struct layout_run r = {
        .l = l, .tree = t, .min_weight = min_weight, .max_depth = max_depth ? max_depth : 1};
    if (stack_tree_total(t) == 0) {
        return ST_OK;
    }
    enum st st = stack_tree_children(t, &r.children, e);
    if (st != ST_OK) {
        return st;
    }
    struct layout_frame root = {
        .text = "", .kind = LAYOUT_ROOT, .w = t->nodes[0].total, .self = t->nodes[0].self};
    st = layout_add_frame(&r, root) ? queue_children(&r, 0, 0, 1, e) : err_nomem(e);
    while (st == ST_OK && r.todo.len > 0) {
        st = place_next(&r, e);
    }
    stack_children_release(&r.children);
    VEC_RELEASE(&r.todo);
    if (st != ST_OK) {
        layout_release(l);
    }
    return st;
}

void layout_release(struct layout *l) {
    VEC_RELEASE(&l->frames);
}
