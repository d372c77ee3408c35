/* Reads the call trees of a thread, whose nodes are frames. */
#ifndef STALLKIT_DUMP_MAP_TREES_H
#define STALLKIT_DUMP_MAP_TREES_H

#include "dump/maps/map_stacks.h"

/* Receives one list of root nodes. */
typedef enum st (*roots_visit)(void *ctx, const json_t *roots);
/* Visits the lists of roots that the map's paths lead to; the first error ends the walk. */
enum st map_trees_each(struct map_stacks *s, const json_t *thread, roots_visit visit,
                       void *ctx) BASE_MUST_USE;
/* Reads the nodes of a thread's trees as frames; t->tree becomes the thread's object, or NULL if
 * the trees have no node. */
enum st map_trees_read(struct map_stacks *s, const json_t *thread,
                       struct map_thread *t) BASE_MUST_USE;
/* Returns the frame of a node, valid until another frame is read; NULL: the node was not read. */
const struct map_frame *map_trees_frame(const struct map_stacks *s, const json_t *node);

#endif
