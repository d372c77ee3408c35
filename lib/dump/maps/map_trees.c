/* Reads the call trees of a thread: their nodes become frames. */
#include "dump/maps/map_trees.h"

/* A walk over the lists of roots of a thread's trees. */
struct roots_walk {
    struct map_stacks *s;
    enum st st;
    roots_visit visit;
    void *ctx;
};

static bool visit_roots(void *ctx, const json_t *value) {
    struct roots_walk *walk = ctx;
    if (json_is_array(value)) {
        walk->st = walk->visit(walk->ctx, value);
    }
    return walk->st == ST_OK;
}

enum st map_trees_each(struct map_stacks *s, const json_t *thread, roots_visit visit, void *ctx) {
    struct roots_walk walk = {.s = s, .st = ST_OK, .visit = visit, .ctx = ctx};
    for (size_t i = 0; i < s->map->trees.len; i++) {
        if (!member_path_each(&s->map->trees.data[i], thread, visit_roots, &walk)) {
            break;
        }
    }
    return walk.st;
}

/* Reads the nodes and all nodes below them. The recursion is bounded by the limit on the document's
 * nesting. */
static enum st read_nodes(struct map_stacks *s, const json_t *nodes) {
    size_t i, frame;
    json_t *node;
    json_array_foreach(nodes, i, node) {
        bool added;
        if (!json_is_object(node)) {
            continue;
        }
        if (s->frames.len >= REPORT_FRAMES_MAX) {
            return err_set(s->r->e, ERR_LIMIT, "its trees have more than %d nodes",
                           REPORT_FRAMES_MAX);
        }
        if (!number_map_put(&s->nodes, (uintptr_t)node, s->frames.len, &frame, &added)) {
            return err_nomem(s->r->e);
        }
        if (map_stacks_read_frame(s, node) != ST_OK ||
            read_nodes(s, json_object_get(node, s->map->children)) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st read_roots(void *ctx, const json_t *roots) {
    return read_nodes(ctx, roots);
}

enum st map_trees_read(struct map_stacks *s, const json_t *thread, struct map_thread *t) {
    size_t before = s->frames.len;
    enum st st = map_trees_each(s, thread, read_roots, s);
    t->tree = s->frames.len > before ? thread : NULL;
    return st;
}

const struct map_frame *map_trees_frame(const struct map_stacks *s, const json_t *node) {
    size_t frame;
    return number_map_get(&s->nodes, (uintptr_t)node, &frame) ? &s->frames.data[frame] : NULL;
}
