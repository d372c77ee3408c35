/* Reads MetricKit's diagnostics (MXDiagnosticPayload, MXDiagnostic and MXCallStackTree, each as its
 * jsonRepresentation). Apple documents the members, not their meaning in full; what is known from
 * payloads of the field and from other readers of them:
 *   - offsetIntoBinaryTextSegment is a true offset in some and the image's load address in others;
 *     since iOS 18 the offset is that of the byte before the return address, while `address` is the
 *     return address itself;
 *   - a crash's frames run from the innermost (root) to the outermost, those of sampled trees the
 *     other way round;
 *   - the trees of one payload may come from several launches, which loaded an image at different
 *     addresses: frames are placed by image and offset.
 * Diagnostics of iOS 27 have another structure; report_metrickit_private.h. */
#include "dump/reports/report_metrickit_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/search.h"
#include "dump/dump.h"

/* The lowest load address: __PAGEZERO ends there. It also bounds the size of an image. */
#define LOAD_MIN    (UINT64_C(1) << 32)
#define LOAD_MAX    (UINT64_C(1) << 62)
#define ALIGN_IMAGE UINT64_C(0x4000)
#define ALIGN_LOAD  UINT64_C(0x1000)

/* The facts about an image that are found in its frames. */
struct binary {
    struct report_image image;
    bool loaded;  /* a frame gives the image's load address, or an address and an offset that imply
                     it */
    bool aligned; /* the load address is page-aligned, as a loader's is */
    uint64_t end; /* largest offset of a frame, plus one */
};

/* A diagnostic while it is converted. */
struct diagnostic {
    struct report r;
    json_t *names;    /* UUID in upper case -> name, of images whose frames do not name them */
    struct map index; /* UUID, else name -> binary */
    VEC(struct binary) binaries;
    /* number of samples that show that roots are outermost frames, and number of samples that show
     * that they are innermost; a sample may count in both */
    uint64_t outer_roots, inner_roots;
    /* true: one stack for each thread, at one moment; the system may have ended the process */
    bool crash;
};

/* The place of a frame. */
struct metrickit_place {
    size_t binary; /* index into binaries, SIZE_MAX = in no image */
    uint64_t offset, load;
    bool has_load;
};

/* ---- images ---- */

static const json_t *binary_name(const struct diagnostic *d, const json_t *frame) {
    const json_t *name = json_object_get(frame, "binaryName");
    return name || !d->names ? name
                             : metrickit_name(d->names, json_object_get(frame, "binaryUUID"));
}

static size_t find_binary(struct diagnostic *d, const json_t *frame) {
    const json_t *uuid = json_object_get(frame, "binaryUUID");
    const json_t *name = binary_name(d, frame);
    const json_t *key = json_is_string(uuid) && json_string_length(uuid) > 0 ? uuid : name;
    bool added = false;
    if (!json_is_string(key) || json_string_length(key) == 0) {
        return SIZE_MAX;
    }
    struct map_entry *entry = VEC_RESERVE(&d->binaries, 1)
                                  ? map_put(&d->index, json_string_value(key),
                                            json_string_length(key), d->binaries.len, &added)
                                  : NULL;
    if (!entry) {
        d->r.no_memory = true;
        return SIZE_MAX;
    }
    if (added) {
        struct binary b = {0};
        if (json_is_string(uuid)) {
            (void)parse_uuid(json_string_value(uuid), json_string_length(uuid), &b.image.id);
        }
        d->binaries.data[d->binaries.len++] = b;
    }
    struct binary *b = &d->binaries.data[entry->value];
    b->image.name = b->image.name ? b->image.name : path_name(report_string(&d->r, name));
    return entry->value;
}

static bool place_frame(struct diagnostic *d, const json_t *frame, struct metrickit_place *p) {
    uint64_t address, offset;
    bool has_address = report_address(json_object_get(frame, "address"), &address);
    bool has_offset =
        report_address(json_object_get(frame, "offsetIntoBinaryTextSegment"), &offset);
    *p = (struct metrickit_place){.binary = SIZE_MAX};
    if (!has_address && !has_offset) {
        return false;
    }
    address = has_address ? report_strip(&d->r, address) : 0;
    p->offset = address; /* this offset is used if the frame has no image */
    if (!has_offset) {
        return true;
    }
    offset = report_strip(&d->r, offset);
    if (offset >= LOAD_MIN) {
        p->load = offset;
        offset = address - p->load;
        p->has_load = true;
        if (!has_address || address < p->load || offset >= LOAD_MIN) {
            return has_address;
        }
    } else if (has_address && address >= offset) {
        /* The offset was that of the byte before the address. */
        offset += (address - offset) % ALIGN_LOAD == 1;
        p->load = address - offset;
        p->has_load = true;
    }
    if (p->load >= LOAD_MAX) {
        return true;
    }
    p->binary = find_binary(d, frame);
    p->offset = p->binary == SIZE_MAX ? address : offset;
    return p->binary != SIZE_MAX || has_address;
}

static bool name_is(const struct diagnostic *d, const json_t *frame, const char *const *names) {
    const char *name = json_string_value(binary_name(d, frame));
    for (; name && *names; names++) {
        if (strcmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

/* Collects evidence of whether a tree's roots are its outermost frames, from the image names of
 * roots and leaves: threads begin in the images of `starts`, and never begin in those of
 * `traps`. */
static void note_direction(struct diagnostic *d, const json_t *frame, bool root, bool leaf) {
    static const char *const starts[] = {"dyld", "libdyld.dylib", "libsystem_pthread.dylib", NULL};
    static const char *const traps[] = {"libsystem_kernel.dylib", NULL};
    uint64_t count = 1;
    if (root == leaf || !report_u64(json_object_get(frame, "sampleCount"), &count) ||
        count > DUMP_COUNT_MAX) {
        count = root != leaf;
    }
    bool start = name_is(d, frame, starts), trap = name_is(d, frame, traps);
    if ((root && start) || (leaf && trap)) {
        d->outer_roots += count;
    }
    if ((root && trap) || (leaf && start)) {
        d->inner_roots += count;
    }
}

/* Collects the images of a list of frames and of all frames below them. The recursion is bounded by
 * the limit on the document's nesting. */
static void collect(struct diagnostic *d, const json_t *frames, bool root) {
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame) {
        struct metrickit_place p;
        const json_t *below = json_object_get(frame, "subFrames");
        note_direction(d, frame, root, json_array_size(below) == 0);
        if (!place_frame(d, frame, &p)) {
            d->r.frames_unread++;
        } else if (p.binary != SIZE_MAX) {
            struct binary *b = &d->binaries.data[p.binary];
            bool aligned = p.has_load && p.load % ALIGN_LOAD == 0;
            if (p.has_load && (!b->loaded || (aligned && !b->aligned))) {
                b->image.load = p.load;
                b->aligned = aligned;
                b->loaded = true;
            }
            b->end = p.offset >= b->end ? p.offset + 1 : b->end;
        }
        collect(d, below, false);
    }
}

static int metrickit_by_load(const void *a, const void *b) {
    const struct binary *const *x = a, *const *y = b;
    int order = COMPARE((*x)->image.load, (*y)->image.load);
    return order ? order : COMPARE(*x, *y);
}

/* Gives each image an address range that no other image has. Images of different launches may
 * overlap, and some payloads have no addresses. */
static enum st settle_images(struct diagnostic *d) {
    size_t count = d->binaries.len;
    struct binary **order = arena_array(&d->r.arena, count, sizeof(struct binary *));
    uint64_t top = LOAD_MIN, end = 0;
    if (!order) {
        return err_nomem(d->r.e);
    }
    for (size_t i = 0; i < count; i++) {
        struct binary *b = order[i] = &d->binaries.data[i];
        b->image.size = (b->end + ALIGN_IMAGE - 1) / ALIGN_IMAGE * ALIGN_IMAGE;
        b->image.in_app = b->loaded && report_is_app_place(b->image.name, b->image.load);
        uint64_t behind = b->image.load + b->image.size;
        top = b->loaded && behind > top ? behind : top;
    }
    if (count > 0) {
        qsort(order, count, sizeof *order, metrickit_by_load);
    }
    top = (top + ALIGN_IMAGE - 1) / ALIGN_IMAGE * ALIGN_IMAGE;
    for (size_t i = 0; i < count; i++) {
        struct binary *b = order[i];
        if (!b->loaded || b->image.load + b->end > LOAD_MAX || b->image.load < end) {
            b->image.load = top;
            top += b->image.size + ALIGN_IMAGE;
        } else {
            end = b->image.load + b->end;
            uint64_t size = b->image.size;
            bool next = i + 1 < count && order[i + 1]->loaded;
            uint64_t room = next ? order[i + 1]->image.load - b->image.load : size;
            b->image.size = room >= b->end && room < size ? room : size;
        }
    }
    for (size_t i = 0; i < count; i++) {
        report_image(&d->r, &d->binaries.data[i].image);
    }
    return ST_OK;
}

static bool frame_address(void *ctx, const json_t *frame, uint64_t *out) {
    struct diagnostic *d = ctx;
    struct metrickit_place p;
    if (!place_frame(d, frame, &p)) {
        return false;
    }
    *out = p.binary == SIZE_MAX ? p.offset : d->binaries.data[p.binary].image.load + p.offset;
    return true;
}

/* ---- stacks ---- */

static bool is_flat(const json_t *roots) {
    size_t i;
    json_t *root;
    json_array_foreach(roots, i, root) {
        if (json_array_size(json_object_get(root, "subFrames")) > 0) {
            return false;
        }
    }
    return json_array_size(roots) > 1;
}

/* Adds a thread with its only stack, or with the heaviest path of its call tree. */
static enum st add_thread(struct diagnostic *d, const struct report_tree *tree, const json_t *roots,
                          struct report_thread *t, bool crash) {
    size_t i;
    json_t *root;
    enum st st = ST_OK;
    t->stack = report_begin_stack(&d->r);
    if (crash && is_flat(roots)) { /* the roots are a single list of frames, not a tree */
        json_array_foreach(roots, i, root) {
            uint64_t address;
            if (st == ST_OK && i < DUMP_FRAMES_MAX && frame_address(d, root, &address)) {
                st = report_frame(&d->r, address);
            }
        }
    } else {
        st = report_tree_heaviest(&d->r, tree, roots);
    }
    report_end_stack(&d->r, &t->stack);
    return st == ST_OK ? report_add_thread(&d->r, t) : st;
}

static enum st add_stacks(struct diagnostic *d, const json_t *call_tree) {
    const json_t *stacks = metrickit_stacks(call_tree);
    bool per_thread = !json_is_false(json_object_get(call_tree, "callStackPerThread"));
    /* true: a crash; false: another kind, such as that of a process that the system ended because
     * of a stall */
    bool plain_crash = strcmp(d->r.kind, "crash") == 0;
    size_t i, main_thread = 0;
    json_t *stack;
    json_array_foreach(stacks, i, stack) {
        collect(d, metrickit_roots(stack), true);
    }
    for (i = json_array_size(stacks); i-- > 0;) {
        if (json_is_true(json_object_get(json_array_get(stacks, i), "threadAttributed"))) {
            main_thread = i;
        }
    }
    if (settle_images(d) != ST_OK) {
        return ST_ERR;
    }
    bool sure = d->outer_roots != d->inner_roots;
    struct report_tree tree = {.children = "subFrames",
                               .count = "sampleCount",
                               .leaf_first = sure ? d->inner_roots > d->outer_roots : d->crash,
                               .address = frame_address,
                               .ctx = d};
    json_array_foreach(stacks, i, stack) {
        const json_t *roots = metrickit_roots(stack);
        struct report_thread t = {.id = (int64_t)i};
        t.main = i == main_thread;
        t.crashed = plain_crash && json_is_true(json_object_get(stack, "threadAttributed"));
        if ((per_thread || t.main) && add_thread(d, &tree, roots, &t, d->crash) != ST_OK) {
            return ST_ERR;
        }
        if (!d->crash && (t.main || !per_thread) &&
            report_tree_samples(&d->r, &tree, roots, NULL) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the cause ---- */

/* Was any of these frames, or of those below them, seen in several samples? The recursion is
 * bounded by the limit on the document's nesting. */
static bool is_sampled(const json_t *frames) {
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame) {
        if (report_number(json_object_get(frame, "sampleCount")) > 1 ||
            is_sampled(json_object_get(frame, "subFrames"))) {
            return true;
        }
    }
    return false;
}

/* Sets the kind of a tree whose meta data do not hold it. One tree for all threads together belongs
 * to a report on use of processor or disk. Trees by thread belong to a hang, or to a crash if each
 * has one sample. The reason says that the kind is a guess. */
static void guess_kind(struct report *r, const json_t *tree) {
    size_t i;
    json_t *stack;
    bool sampled = false;
    json_array_foreach(metrickit_stacks(tree), i, stack) {
        sampled = sampled || is_sampled(metrickit_roots(stack));
    }
    if (!json_is_true(json_object_get(tree, "callStackPerThread"))) {
        r->kind = "cpu";
        r->reason = "a call stack tree alone: use of the processor or of the disk";
    } else if (sampled) {
        r->kind = "hang";
        r->reason = "a call stack tree alone: samples by thread, as of hangs";
    } else {
        r->kind = "crash";
        r->reason = "a call stack tree alone: one stack of each thread, as of crashes";
    }
}

/* Fills the draft from a diagnostic. kind: the kind of stall; NULL = the kind follows from the
 * diagnostic's own members, or else from its call stack tree. */
static enum st metrickit_fill(struct diagnostic *d, const json_t *diagnostic, const char *kind) {
    const json_t *meta = metrickit_meta(diagnostic);
    const json_t *tree = json_object_get(diagnostic, "callStackTree");
    json_t *inner = NULL;
    enum st st = ST_OK;
    d->r.detector = "metrickit";
    d->r.kind = kind ? kind : metrickit_kind_of(meta);
    if (json_is_string(tree)) { /* some apps store the tree as a string */
        st = report_load_string(tree, &inner, d->r.e);
        tree = inner;
    } else if (!tree) {
        tree = diagnostic;
    }
    if (st != ST_ERR && !json_is_array(metrickit_stacks(tree))) {
        st = err_set(d->r.e, ERR_FORMAT, "a MetricKit diagnostic without \"callStacks\"");
    }
    if (d->r.kind) {
        d->crash = strcmp(d->r.kind, "crash") == 0;
        d->r.fatal = d->crash;
        d->r.ended = !d->crash;
        d->r.reason = report_member(&d->r, meta, "terminationReason");
    } else {
        guess_kind(&d->r, tree);
        d->crash = strcmp(d->r.kind, "crash") == 0;
    }
    metrickit_read_meta(&d->r, meta);
    d->names = metrickit_names(&d->r, tree);
    st = st == ST_ERR ? st : add_stacks(d, tree);
    if (st == ST_OK && d->r.frames.len == 0 && tree == diagnostic) {
        st = err_set(d->r.e, ERR_UNSUPPORTED, "a call stack tree without a frame");
    } else if (st == ST_OK) {
        report_lack_frames(&d->r);
    }
    json_decref(inner);
    return st;
}

static void release(struct diagnostic *d) {
    json_decref(d->names);
    map_release(&d->index);
    VEC_RELEASE(&d->binaries);
    report_release(&d->r);
}

/* ---- payloads ---- */

static const char *const lists[][2] = {{"hangDiagnostics", "hang"},
                                       {"cpuExceptionDiagnostics", "cpu"},
                                       {"diskWriteExceptionDiagnostics", "disk-write"},
                                       {"appLaunchDiagnostics", "launch"},
                                       {"crashDiagnostics", "crash"}};
enum { LISTS = sizeof lists / sizeof *lists };

/* A payload: its lists of diagnostics, and in `rest` its other members, which are kept in every
 * dump. */
struct payload {
    const struct report_document *d;
    const json_t *root;
    struct span spans[LISTS];
    struct strbuf rest;
    uint64_t taken;
};

static size_t list_index(struct span key) {
    size_t i = 0;
    while (i < LISTS && !span_is(key, lists[i][0])) {
        i++;
    }
    return i;
}

static enum st split_payload(struct payload *p, struct err *e) {
    struct span key, value;
    uint64_t count = 0, bytes;
    p->rest.limit = DUMP_TEXT_MAX;
    struct sink s = sink_to_strbuf(&p->rest);
    sink_char(&s, '{');
    for (struct span rest = p->d->text; span_next(&rest, &key, &value);) {
        size_t i = list_index(key);
        if (i < LISTS) {
            p->spans[i] = value; /* if a name occurs twice, the last value counts */
            continue;
        }
        if (s.total > 1) {
            sink_char(&s, ',');
        }
        span_write_compact(key, &s);
        sink_char(&s, ':');
        span_write_compact(value, &s);
    }
    sink_char(&s, '}');
    for (size_t i = 0; i < LISTS; i++) {
        count += json_array_size(json_object_get(p->root, lists[i][0]));
    }
    if (sink_close(&s, e) != ST_OK) {
        return ST_ERR;
    }
    if (!checked_mul_u64(count, p->rest.len, &bytes) || bytes > DUMP_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "a payload whose %llu diagnostics would repeat %zu bytes each",
                       (unsigned long long)count, p->rest.len);
    }
    return ST_OK;
}

static enum st read_one(struct payload *p, size_t list, const json_t *diagnostic, struct span text,
                        struct err *e) {
    struct diagnostic d = {0};
    const char *end = json_string_value(json_object_get(p->root, "timeStampEnd"));
    report_init(&d.r, "metrickit", p->taken++, e);
    report_keep(&d.r, "payload",
                (struct span){strbuf_cstr(&p->rest), strbuf_cstr(&p->rest) + p->rest.len}, false);
    report_keep(&d.r, lists[list][0], text, false);
    d.r.time = report_time(&d.r, end);
    enum st st = metrickit_fill(&d, diagnostic, lists[list][1]);
    if (st == ST_OK) {
        st = report_finish(&d.r, p->d);
    }
    release(&d);
    return st;
}

static enum st read_payload(struct payload *p, struct err *e) {
    enum st result = ST_OK;
    for (size_t i = 0; i < LISTS; i++) {
        const json_t *array = json_object_get(p->root, lists[i][0]);
        struct span rest = p->spans[i], text;
        for (size_t k = 0; k < json_array_size(array) && span_next(&rest, NULL, &text); k++) {
            struct err why = {0};
            if (read_one(p, i, json_array_get(array, k), text, &why) != ST_OK) {
                (void)err_context(&why, "%s[%zu]", lists[i][0], k);
                result = err_copy(e, &why);
                if (why.code == ERR_NOMEM) {
                    return ST_ERR;
                }
            }
        }
    }
    if (p->taken == 0) {
        return err_set(e, ERR_FORMAT, "a MetricKit payload without a diagnostic");
    }
    return result;
}

/* Reads a diagnostic or a call stack tree that is a document by itself. */
static enum st read_alone(const struct report_document *doc, const json_t *root, struct err *e) {
    struct diagnostic d = {0};
    report_init(&d.r, "metrickit", 0, e);
    report_keep(&d.r, "document", doc->text, false);
    const char *kind = NULL;
    const json_t *result = metrickit_result(root, &kind);
    if (result) {
        metrickit_environment(&d.r, root); /* pointers are stripped as its architecture says */
    }
    enum st st = metrickit_fill(&d, result ? result : root, kind);
    if (st == ST_OK) {
        st = report_finish(&d.r, doc);
    }
    release(&d);
    return st;
}

static enum st read_lists(const struct report_document *doc, const json_t *root, struct err *e) {
    struct payload p = {.d = doc, .root = root};
    enum st st = split_payload(&p, e);
    if (st == ST_OK) {
        st = read_payload(&p, e);
    }
    strbuf_release(&p.rest);
    return st;
}

/* timeRange and environment come first: a DiagnosticReport has both of them, and no
 * intervalEntries. */
static const char *const metrickit_members[] = {"timeRange",
                                                "environment",
                                                "intervalEntries",
                                                "callStackTree",
                                                "callStacks",
                                                "callStackThreads",
                                                "hangDiagnostics",
                                                "cpuExceptionDiagnostics",
                                                "diskWriteExceptionDiagnostics",
                                                "appLaunchDiagnostics",
                                                "crashDiagnostics",
                                                NULL};

/* A payload with intervalEntries is a report on a day's metrics, not a diagnostic. */
static bool metrickit_recognise(unsigned present) {
    return present >> 3 != 0 || (present & 7) == 3;
}

static enum st report_metrickit_read(const struct report_document *d, struct err *e) {
    json_t *root;
    enum st st = report_load(d->text, &root, e);
    if (st != ST_OK) {
        return st;
    }
    const char *kind;
    bool alone = json_object_get(root, "callStackTree") || metrickit_stacks(root) ||
                 metrickit_result(root, &kind);
    st = alone ? read_alone(d, root, e) : read_lists(d, root, e);
    json_decref(root);
    return st;
}

const struct report_format report_metrickit_format = {
    .name = "metrickit",
    .source = "Apple MetricKit: diagnostic payloads, diagnostics, call stack trees",
    .since = "0.1.0",

    .members = metrickit_members,
    .recognise = metrickit_recognise,
    .read = report_metrickit_read};
