/* Reads the parts that Matrix for iOS (github.com/Tencent/matrix) adds to KSCrash's reports: the
 * type of the dump, and the stacks sampled before it, as trees or as lists of frames. */
#include "dump/reports/report_private.h"

#include "dump/dump.h"

/* Default time after which a busy run loop counts as stalled, in ms (g_RunLoopTimeOut). Dumps have
 * neither the app's own setting nor the length of the stall. */
enum { RUN_LOOP_TIMEOUT_MS = 2000 };

/* Sets kind, state, threshold and `fatal` by Matrix's dump type: EDumpType of WCBlockTypeDef.h,
 * with types of older and newer versions. */
void report_matrix_type(struct report *r, int64_t dump_type) {
    static const struct {
        int64_t type;
        const char *kind, *state;
        bool lag, fatal;
    } types[] = {
        {2000, "hang", NULL, false, false}, /* a dump that the app asked for, without a stall */
        {2001, "hang", "foreground", true, false}, /* the main thread blocked */
        {2002, "hang", "background", true, false}, /* blocked in the background */
        {2003, "cpu", NULL, false, false},         /* too much CPU time */
        {2004, "hang", NULL, false, false},        /* dropped frames */
        {2006, "hang", NULL, true, false},         /* blocked from background to foreground */
        {2007, "launch", NULL, true, false},       /* blocked while launching */
        {2008, "cpu", NULL, false, false},         /* too much CPU time over a period */
        {2009, "hang", NULL, true, false},         /* blocked, with more than 64 threads */
        {2010, "hang", NULL, true, true},          /* blocked and killed */
        {2011, "cpu", NULL, false, false},         /* power */
        {2013, "disk-write", NULL, false, false},
        {2014, "hang", NULL, false, false}, /* frame rate */
    };
    r->format = "matrix";
    r->detector = "matrix";
    /* a dump that has trees and no type is from the power monitor */
    r->kind = dump_type < 0 ? "cpu" : "hang";
    r->fatal = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == dump_type) {
            r->kind = types[i].kind;
            r->app_state = types[i].state ? types[i].state : r->app_state;
            r->fatal = types[i].fatal;
            if (types[i].lag) {
                r->threshold_ms = r->at_ms = RUN_LOOP_TIMEOUT_MS;
            }
        }
    }
}

/* Returns the form of these trees, with the names of the members that their roots have, because
 * versions of Matrix use different names. */
static struct report_tree tree_of(struct report *r, const json_t *roots) {
    static const char *const counts[] = {"repeat_count", "sample"};
    static const char *const lists[] = {"child", "children", "childs"};
    struct report_tree tree = {"child", "repeat_count", NULL, false, report_kscrash_frame, r};
    size_t i;
    json_t *node;
    json_array_foreach(roots, i, node) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            if (json_object_get(node, counts[k])) {
                tree.count = counts[k];
            }
        }
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
            if (json_object_get(node, lists[k])) {
                tree.children = lists[k];
            }
        }
    }
    return tree;
}

/* Adds samples from an array of trees or, in "frame_stack", of lists of frames. */
static enum st read_stacks(struct report *r, const json_t *stacks) {
    size_t i, k;
    json_t *list, *frame;
    if (json_is_object(json_array_get(stacks, 0))) {
        struct report_tree tree = tree_of(r, stacks);
        return report_tree_samples(r, &tree, stacks, NULL);
    }
    json_array_foreach(stacks, i, list) {
        struct report_stack stack = report_begin_stack(r);
        json_array_foreach(list, k, frame) {
            uint64_t address;
            if (k < DUMP_FRAMES_MAX && report_kscrash_frame(r, frame, &address) &&
                report_frame(r, address) != ST_OK) {
                return ST_ERR;
            }
        }
        report_end_stack(r, &stack);
        if (stack.count > 0 && report_add_sample(r, &stack) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Reads a member that holds stacks, as JSON or as a string of JSON. */
static enum st matrix_read_member(struct report *r, const json_t *value) {
    if (!json_is_string(value)) {
        return read_stacks(r, value);
    }
    json_t *inner = NULL;
    enum st st = report_load_string(value, &inner, r->e);
    if (st == ST_NONE || (st == ST_ERR && r->e && r->e->code != ERR_NOMEM)) {
        err_clear(r->e);
        return ST_OK; /* the string is plain text, which is only kept in the report */
    }
    if (st == ST_OK) {
        st = read_stacks(r, inner);
    }
    json_decref(inner);
    return st;
}

/* Adds the main thread's stack of a lag dump as a sample. Its innermost frame's "repeat_count" is
 * the number of times that the stack was sampled. */
static void count_main_stack(struct report *r, const json_t *root) {
    const json_t *threads = json_object_get(json_object_get(root, "crash"), "threads");
    const json_t *backtrace = json_object_get(json_array_get(threads, 0), "backtrace");
    const json_t *frame = json_array_get(json_object_get(backtrace, "contents"), 0);
    int64_t repeats = report_number(json_object_get(frame, "repeat_count"));
    if (r->threads.len == 0 || repeats <= 0 || repeats > (int64_t)DUMP_COUNT_MAX) {
        return;
    }
    struct report_stack stack = r->threads.data[0].stack;
    stack.samples = (uint64_t)repeats;
    if (report_add_sample(r, &stack) != ST_OK) {
        r->no_memory = true; /* ST_ERR before any sample was added means out of memory */
    }
}

enum st report_matrix_stacks(struct report *r, const json_t *root) {
    static const char *const places[] = {"threads_profile", "stack_string", "frame_stack"};
    const json_t *crash = json_object_get(root, "crash");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const json_t *value = json_object_get(root, places[i]);
        value = value ? value : json_object_get(crash, places[i]);
        if (value && r->samples.len == 0 && matrix_read_member(r, value) != ST_OK) {
            return err_context(r->e, "%s", places[i]);
        }
    }
    if (r->samples.len == 0) {
        count_main_stack(r, root);
    }
    return ST_OK;
}
