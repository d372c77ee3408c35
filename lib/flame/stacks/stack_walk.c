/* Visits the stacks of a tree, with an explicit stack instead of recursion, because call stacks may
 * be deep. */
#include "base/strbuf.h"
#include "base/vec.h"
#include "flame/stacks/stack_tree.h"

/* A step of the walk. If self is 0, the step enters `node`, and the frames of the node's ancestors
 * are the first `above` bytes of the line; else the step visits the stack whose text these bytes
 * are, with the weight self. */
struct walk_step {
    uint32_t node;
    size_t above;
    uint64_t self;
};

struct stack_walk {
    const struct stack_tree *tree;
    struct stack_children children;
    VEC(struct walk_step) todo;
    struct strbuf line;
};

static bool walk_push_self(struct stack_walk *w, uint64_t weight) {
    return weight == 0 ||
           VEC_PUSH(&w->todo, (struct walk_step){.above = w->line.len, .self = weight});
}

/* Queues the children of a node and the visits for its own weight, the last first. In an ordered
 * tree the own weight lies in the gaps between the children. False: out of memory. */
static bool walk_queue(struct stack_walk *w, uint32_t node) {
    const struct stack_tree *t = w->tree;
    uint32_t *child = w->children.child + w->children.start[node];
    size_t count = w->children.start[node + 1] - w->children.start[node];
    if (!stack_tree_sort(t, child, count)) {
        return false;
    }
    uint64_t end = t->ordered ? t->starts[node] + t->nodes[node].total : 0;
    for (size_t i = count; i > 0; i--) {
        uint32_t c = child[i - 1];
        if (t->ordered) {
            if (!walk_push_self(w, end - t->starts[c] - t->nodes[c].total)) {
                return false;
            }
            end = t->starts[c];
        }
        if (!VEC_PUSH(&w->todo, (struct walk_step){.node = c, .above = w->line.len})) {
            return false;
        }
    }
    return walk_push_self(w, t->ordered ? end - t->starts[node] : t->nodes[node].self);
}

static void walk_enter(struct stack_walk *w, const struct walk_step *s) {
    const struct stack_node *n = &w->tree->nodes[s->node];
    strbuf_truncate(&w->line, s->above);
    if (s->node != 0) {
        if (n->parent != 0) {
            strbuf_addc(&w->line, ';');
        }
        strbuf_add(&w->line, n->text, n->len);
    }
}

enum st stack_tree_each(const struct stack_tree *t, stack_visit visit, void *ctx, struct err *e) {
    struct stack_walk w = {.tree = t};
    if (t->node_count == 0) {
        return ST_OK;
    }
    enum st st = stack_tree_children(t, &w.children, e);
    if (st != ST_OK) {
        return st;
    }
    if (!VEC_PUSH(&w.todo, (struct walk_step){0})) {
        st = err_nomem(e);
    }
    while (st == ST_OK && w.todo.len > 0) {
        struct walk_step s = w.todo.data[--w.todo.len];
        if (s.self > 0) {
            strbuf_truncate(&w.line, s.above);
            st = visit(ctx, strbuf_cstr(&w.line), w.line.len, s.self, e);
            continue;
        }
        walk_enter(&w, &s);
        st = strbuf_check(&w.line, e);
        if (st == ST_OK && !walk_queue(&w, s.node)) {
            st = err_nomem(e);
        }
    }
    stack_children_release(&w.children);
    VEC_RELEASE(&w.todo);
    strbuf_release(&w.line);
    return st;
}
