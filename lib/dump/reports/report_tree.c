/* Reads call trees as MetricKit and Matrix write them, and as report_outline.c builds them from
 * text: each node counts the samples that passed through it, so that a node's own samples are those
 * that its children do not have. */
#include "dump/reports/report_private.h"

#include "dump/dump.h"

/* The position of a walk on one level of a tree. */
struct tree_level {
    const json_t *nodes; /* array of the level's nodes */
    size_t next;         /* index of the next node to visit */
    size_t path;         /* length of the path to the parent of this level */
};

/* A walk over trees without recursion; its depth is bounded by the limit on the document's
 * nesting. */
struct tree_walk {
    struct report *r;
    const struct report_tree *tree;
    VEC(struct tree_level) levels;
    VEC(struct report_frame) path; /* frames from the root to the current node */
};

static uint64_t node_count(const struct report_tree *tree, const json_t *node) {
    uint64_t count;
    const json_t *value = json_object_get(node, tree->count);
    if (!value) {
        return 1;
    }
    return report_u64(value, &count) && count <= DUMP_COUNT_MAX ? count : 0;
}

/* Returns the node's own samples. *over, if not NULL, is set if the tree is faulty, because the
 * children of the node have more samples than the node. */
static uint64_t own_count(const struct report_tree *tree, const json_t *node, bool *over) {
    const json_t *children = json_object_get(node, tree->children);
    uint64_t count = node_count(tree, node), below = 0;
    for (size_t i = 0; i < json_array_size(children) && below <= count; i++) {
        below += node_count(tree, json_array_get(children, i));
    }
    if (over) {
        *over = json_object_get(node, tree->count) && below > count;
    }
    /* A node without a count has one sample of its own if it is a leaf, else none. */
    if (!json_object_get(node, tree->count)) {
        return json_array_size(children) == 0;
    }
    return count > below ? count - below : 0;
}

/* Adds the node's frame to the path, if it has one. */
static enum st push_frame(struct tree_walk *w, const json_t *node) {
    struct report_frame frame;
    if (!w->tree->address(w->tree->ctx, node, &frame.address)) {
        return ST_OK;
    }
    frame = report_frame_at(w->r, frame.address);
    if (w->tree->name) {
        int64_t number = report_number(json_object_get(node, w->tree->name));
        frame.name = number > 0 && (uint64_t)number <= w->r->names.len ? (uint64_t)number : 0;
    }
    return VEC_PUSH(&w->path, frame) ? ST_OK : err_nomem(w->r->e);
}

static enum st push_level(struct tree_walk *w, const json_t *nodes) {
    struct tree_level level = {nodes, 0, w->path.len};
    return VEC_PUSH(&w->levels, level) ? ST_OK : err_nomem(w->r->e);
}

/* Adds the path to the draft's frames, innermost first; of a path of more than DUMP_FRAMES_MAX
 * frames the outermost are left out. */
static enum st tree_add_path(struct tree_walk *w, const struct report_frame *path, size_t len) {
    bool leaf_first = w->tree->leaf_first;
    for (size_t i = 0; i < len && i < DUMP_FRAMES_MAX; i++) {
        if (report_add_frame(w->r, path[leaf_first ? i : len - 1 - i]) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Visits the next node: *own becomes its own samples, w->path its path. ST_NONE: there are no
 * more. */
static enum st walk_next(struct tree_walk *w, uint64_t *own) {
    while (w->levels.len > 0) {
        struct tree_level *level = &w->levels.data[w->levels.len - 1];
        w->path.len = level->path;
        const json_t *node = json_array_get(level->nodes, level->next++);
        if (!node) {
            w->levels.len--;
            continue;
        }
        if (!json_is_object(node)) {
            continue;
        }
        bool over;
        *own = own_count(w->tree, node, &over);
        w->r->nodes_over += over;
        if (push_frame(w, node) != ST_OK) {
            return ST_ERR;
        }
        const json_t *children = json_object_get(node, w->tree->children);
        if (json_array_size(children) > 0 && push_level(w, children) != ST_OK) {
            return ST_ERR;
        }
        return ST_OK;
    }
    return ST_NONE;
}

static enum st walk_begin(struct tree_walk *w, struct report *r, const struct report_tree *tree,
                          const json_t *roots) {
    *w = (struct tree_walk){.r = r, .tree = tree};
    return push_level(w, roots);
}

static void walk_end(struct tree_walk *w) {
    VEC_RELEASE(&w->levels);
    VEC_RELEASE(&w->path);
}

enum st report_tree_samples(struct report *r, const struct report_tree *tree, const json_t *roots,
                            uint64_t *total) {
    struct tree_walk w;
    uint64_t own, sum = 0;
    enum st st = walk_begin(&w, r, tree, roots);
    while (st == ST_OK && (st = walk_next(&w, &own)) == ST_OK) {
        if (own == 0 || w.path.len == 0) {
            continue;
        }
        struct report_stack stack = report_begin_stack(r);
        st = tree_add_path(&w, w.path.data, w.path.len);
        if (st == ST_OK) {
            report_end_stack(r, &stack);
            stack.samples = own;
            sum += own;
            st = report_add_sample(r, &stack);
        }
    }
    walk_end(&w);
    if (total) {
        *total = sum;
    }
    return st == ST_NONE ? ST_OK : st;
}

/* Returns the node with most samples; if several have as many, the first. NULL: no node has
 * samples, or each has fewer than `ended`, the number of samples that ended at their parent. */
static const json_t *heaviest_node(const struct report_tree *tree, const json_t *nodes,
                                   uint64_t ended) {
    const json_t *best = NULL, *node;
    uint64_t most = ended > 0 ? ended - 1 : 0;
    for (size_t i = 0; (node = json_array_get(nodes, i)) != NULL; i++) {
        uint64_t count = json_is_object(node) ? node_count(tree, node) : 0;
        if (count > most) {
            most = count;
            best = node;
        }
    }
    return best;
}

enum st report_tree_heaviest(struct report *r, const struct report_tree *tree,
                             const json_t *roots) {
    struct tree_walk w = {.r = r, .tree = tree};
    const json_t *node;
    uint64_t ended = 0;
    enum st st = ST_OK;
    while (st == ST_OK && (node = heaviest_node(tree, roots, ended)) != NULL) {
        st = push_frame(&w, node);
        ended = own_count(tree, node, NULL);
        roots = json_object_get(node, tree->children);
    }
    if (st == ST_OK) {
        st = tree_add_path(&w, w.path.data, w.path.len);
    }
    walk_end(&w);
    return st;
}

bool report_tree_is_flat(uint64_t total, uint64_t announced, struct err *e) {
    if (announced == 0 || total <= announced) {
        return false;
    }
    (void)err_set(e, ERR_FORMAT,
                  "call trees that have lost their indentation: %llu samples of a thread of %llu",
                  (unsigned long long)total, (unsigned long long)announced);
    return true;
}
