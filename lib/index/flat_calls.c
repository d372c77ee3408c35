/* Flattens the inlined calls of a function. */
#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"
#include "index/flat_unit.h"
#include "index/lookup.h"

void flat_calls_release(struct flat_calls *c) {
    free(c->nodes);
    VEC_RELEASE(&c->painted);
    VEC_RELEASE(&c->spans);
    *c = (struct flat_calls){0};
}

/* Appends the parts of the call's code that lie in the `count` spans from `first` on, as spans of
 * `owner`. False: out of memory. */
static bool clip_call(struct span_vec *v, size_t first, size_t count,
                      const struct debug_function *call, size_t owner) {
    size_t i = first, end = first + count;
    for (size_t k = 0; k < call->range_count && i < end; k++) {
        const struct debug_range *r = &call->ranges[k];
        if (v->data[i].high <= r->low) {
            i += spans_below(v->data + i, end - i, r->low);
        }
        for (; i < end && v->data[i].low < r->high; i++) {
            struct code_span s = v->data[i];
            s.low = s.low < r->low ? r->low : s.low;
            s.high = s.high > r->high ? r->high : s.high;
            s.owner = owner;
            if (!VEC_PUSH(v, s)) {
                return false;
            }
            if (v->data[i].high >= r->high) {
                break; /* the next range may overlap this span, too */
            }
        }
    }
    return true;
}

static enum st spend_work(uint64_t *work, uint64_t cost, struct err *e) {
    if (cost > *work) {
        return err_set(e, ERR_LIMIT,
                       "inlined calls cost more work than the size of their unit allows");
    }
    *work -= cost;
    return ST_OK;
}

/* Appends the spans of the calls inlined into a function, whose own code is the `count` spans from
 * `first` on. The spans of a call come after those of the call around it and of earlier siblings.
 */
static enum st paint_calls(struct flat_calls *c, const struct debug_function *function,
                           uint32_t parent, size_t first, size_t count, unsigned depth,
                           uint64_t *work, struct err *e) {
    uint64_t low = c->painted.data[first].low, high = c->painted.data[first + count - 1].high;
    if (spend_work(work, function->child_count, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < function->child_count && depth < LOOKUP_INLINE_MAX; i++) {
        const struct debug_function *call = &function->children[i];
        size_t before = c->painted.len;
        struct flat_node node = {call, parent};
        uint32_t number = (uint32_t)c->node_count + 1;
        if (call->ranges[0].low >= high) {
            break; /* children ascend */
        }
        if (call->ranges[call->range_count - 1].high <= low) {
            continue;
        }
        if (!clip_call(&c->painted, first, count, call, number)) {
            return err_nomem(e);
        }
        size_t painted = c->painted.len - before;
        if (spend_work(work, call->range_count + painted, e) != ST_OK) {
            return ST_ERR;
        }
        if (painted == 0) {
            continue;
        }
        if (c->node_count == c->node_cap &&
            !vec_reserve((void **)&c->nodes, c->node_count, &c->node_cap, 1, sizeof node)) {
            return err_nomem(e);
        }
        c->nodes[c->node_count++] = node;
        if (paint_calls(c, call, number, before, painted, depth + 1, work, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

enum st flat_calls_read(struct flat_calls *c, const struct debug_function *f, uint64_t low,
                        uint64_t high, uint64_t *work, struct err *e) {
    struct code_span all = {low, high, 0};
    c->node_count = c->painted.len = c->spans.len = 0;
    if (!VEC_PUSH(&c->painted, all)) {
        return err_nomem(e);
    }
    if (paint_calls(c, f, 0, 0, 1, 1, work, e) != ST_OK) {
        return ST_ERR;
    }
    return spans_flatten(c->painted.data, c->painted.len, &c->spans, e);
}

/* Is the address in the code of an inlined call? */
static bool call_covers(const struct debug_function *call, uint64_t address) {
    size_t i = SEARCH_ABOVE(call->ranges, call->range_count, low, address);
    return i > 0 && call->ranges[i - 1].high > address;
}

/* Returns the last one of the calls inlined into f that covers the address, or NULL. */
static const struct debug_function *last_call_at(const struct debug_function *f, uint64_t address) {
    size_t end; /* number of calls that begin at the address or below; no call is at UINT64_MAX */
    LOWER_BOUND(end, f->child_count, f->children[end].ranges->low, address + 1);
    for (size_t i = end; i > 0 && f->children[i - 1].reach > address; i--) {
        if (call_covers(&f->children[i - 1], address)) {
            return &f->children[i - 1];
        }
    }
    return NULL;
}

size_t flat_calls_at(const struct debug_function *f, uint64_t address,
                     const struct debug_function *calls[LOOKUP_INLINE_MAX]) {
    size_t count = 0;
    const struct debug_function *call = last_call_at(f, address);
    for (; call && count + 1 < LOOKUP_INLINE_MAX; call = last_call_at(call, address)) {
        calls[count++] = call;
    }
    return count;
}
