/* Builds the call trees of a process's threads from text that has one node on each line. */
#include "dump/reports/report_private.h"

#include <string.h>

#include "dump/dump.h"

/* A node that may still get children; column is the indent of its line. */
struct report_outline_level {
    size_t column;
    json_t *children;
};

static bool outline_address(void *ctx, const json_t *node, uint64_t *out) {
    (void)ctx;
    return report_address(json_object_get(node, "address"), out);
}

static const struct report_tree outline_tree = {"child", "count",         "name",
                                                false,   outline_address, NULL};

/* ---- reading ---- */

static bool is_started(const char *symbol) {
    static const char *const starts[] = {"thread_start", "_pthread_start", "start_wqthread",
                                         "_pthread_wqthread"};
    for (size_t i = 0; symbol && i < sizeof starts / sizeof *starts; i++) {
        size_t len = strlen(starts[i]);
        if (strncmp(symbol, starts[i], len) == 0 && (symbol[len] == ' ' || !symbol[len])) {
            return true;
        }
    }
    return false;
}

struct report_outline_thread *report_outline_now(const struct report_outline *o) {
    return o->begun ? &o->threads.data[o->now] : NULL;
}

enum st report_outline_begin(struct report *r, struct report_outline *o,
                             const struct report_outline_thread *fresh) {
    const size_t next = o->threads.len;
    bool added = true;
    o->path.len = 0;
    o->now = next;
    if (fresh->thread.id >= 0 &&
        !number_map_put(&o->ids, (uint64_t)fresh->thread.id, next, &o->now, &added)) {
        return err_nomem(r->e);
    }
    o->begun = true;
    if (!added) {
        struct report_outline_thread *t = &o->threads.data[o->now];
        bool told = t->announced > 0 && fresh->announced > 0;
        t->announced = told ? t->announced + fresh->announced : 0;
        t->thread.name = fresh->main_queue || !t->thread.name ? fresh->thread.name : t->thread.name;
        t->main_queue = t->main_queue || fresh->main_queue;
        return ST_OK;
    }
    struct report_outline_thread own = *fresh;
    own.roots = json_array();
    if (!own.roots || !VEC_PUSH(&o->threads, own)) {
        json_decref(own.roots);
        o->begun = false;
        return err_nomem(r->e);
    }
    return ST_OK;
}

const char *report_node_address(const char *s, bool *joined) {
    static const char open[] = " [0x";
    const char *at = strstr(s, open), *last = at;
    for (const char *p = at; p && (p = strstr(p + 1, open)) != NULL;) {
        last = p;
    }
    /* a name may hold " [0x", so the last one begins the address, if there is no second node */
    *joined = at != last && strstr(at, "]") < last && strstr(at, " (") && strstr(at, " (") < last;
    const char *found = *joined ? at : last;
    return found ? found + 1 : NULL;
}

void report_outline_note(struct report_outline *o, size_t column) {
    o->note = column;
}

enum st report_outline_add(struct report *r, struct report_outline *o,
                           const struct report_outline_node *n) {
    enum { INDENT = 2 /* columns between a node and its children */ };
    struct report_outline_thread *t = report_outline_now(o);
    bool sibling = false;
    while (o->path.len > 0 && o->path.data[o->path.len - 1].column >= n->column) {
        o->path.len--;
        sibling = sibling || o->path.data[o->path.len].column == n->column;
    }
    json_t *node = json_pack("{s:I,s:I,s:I,s:[]}", "count", (json_int_t)n->count, "address",
                             (json_int_t)n->address, "name", (json_int_t)n->name, "child");
    json_t *below = json_object_get(node, "child");
    json_t *list = o->path.len > 0 ? o->path.data[o->path.len - 1].children : t->roots;
    struct report_outline_level level = {n->column, below};
    size_t above = o->path.len > 0 ? o->path.data[o->path.len - 1].column : n->column;
    above = o->note > above && o->note < n->column ? o->note : above;
    o->note = 0;
    size_t inward = n->column - above;
    r->nodes_skipped += inward > INDENT && !sibling ? inward / INDENT - 1 : 0;
    if (!node || !below || json_array_append_new(list, node) != 0) {
        return err_nomem(r->e);
    }
    t->started = t->started || (o->path.len == 0 && is_started(n->symbol));
    /* A node nested deeper than a stack's limit becomes a child of the deepest node on the path. */
    return o->path.len >= DUMP_FRAMES_MAX || VEC_PUSH(&o->path, level) ? ST_OK : err_nomem(r->e);
}

/* ---- the end of a process ---- */

static uint64_t total_of(const struct report_outline_thread *t) {
    uint64_t total = 0;
    size_t i;
    json_t *root;
    json_array_foreach(t->roots, i, root) {
        total += (uint64_t)json_integer_value(json_object_get(root, "count"));
    }
    return total;
}

/* Returns the index of the main thread: the thread that ran the main queue, else the first that has
 * a stack. If no thread has a stack, returns the number of threads. */
static size_t main_of(const struct report_outline *o) {
    size_t first = o->threads.len;
    for (size_t i = 0; i < o->threads.len; i++) {
        const struct report_outline_thread *t = &o->threads.data[i];
        if (json_array_size(t->roots) > 0 && t->main_queue) {
            return i;
        }
        first = json_array_size(t->roots) > 0 && first == o->threads.len ? i : first;
    }
    return first;
}

/* Adds a thread. Its stack is its heaviest path; the main thread's tree also becomes the samples.
 * more: the tree is a further section of the thread that the draft has, so that only its samples
 * are added. */
static enum st end_thread(struct report *r, struct report_outline_thread *t, bool more,
                          uint64_t steps) {
    enum st st = ST_OK;
    const uint64_t total = total_of(t);
    if (report_tree_is_flat(total, t->announced > 0 ? t->announced : steps, r->e)) {
        return ST_ERR;
    }
    if (t->blocked <= total / 2) { /* the thread waited for thread.owner in at most half of its
                                      samples */
        t->thread.waits_for = NULL;
    }
    if (!more) {
        t->thread.stack = report_begin_stack(r);
        st = report_tree_heaviest(r, &outline_tree, t->roots);
        report_end_stack(r, &t->thread.stack);
    }
    if (st == ST_OK && (t->thread.main || more)) {
        st = report_tree_samples(r, &outline_tree, t->roots, NULL);
    }
    return st == ST_OK && !more ? report_add_thread(r, &t->thread) : st;
}

static void forget_threads(struct report_outline *o) {
    for (size_t i = 0; i < o->threads.len; i++) {
        json_decref(o->threads.data[i].roots);
    }
    o->threads.len = o->path.len = 0;
    o->begun = false;
    number_map_release(&o->ids);
    o->ids = (struct number_map){0};
}

enum st report_outline_end(struct report *r, struct report_outline *o, bool joined,
                           uint64_t steps) {
    const size_t main = main_of(o);
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < o->threads.len; i++) {
        struct report_outline_thread *t = &o->threads.data[i];
        if (json_array_size(t->roots) == 0) {
            continue;
        }
        bool more = joined && r->threads.len > 0;
        t->thread.main = joined ? r->threads.len == 0 : i == main;
        if (!joined && t->thread.main && t->started && !t->main_queue) {
            report_lack(r, "the main thread: another thread started the first one");
        }
        st = end_thread(r, t, more, steps);
    }
    forget_threads(o);
    return st;
}

void report_outline_release(struct report_outline *o) {
    forget_threads(o);
    VEC_RELEASE(&o->threads);
    VEC_RELEASE(&o->path);
}
