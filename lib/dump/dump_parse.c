/* stall-dump/1 text to the model. Names, numbers and flags of the wrong type count as absent; what
 * frames and images say has to be right, because everything else is looked up through them. */
#include "dump/dump.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "dump/dump_prepass_private.h"
#include "dump/dump_private.h"

#define NUMBER_MAX ((int64_t)9007199254740991) /* 2^53 - 1 */

void dump_library_init(void) {
    json_object_seed(0);
}

/* ---- single values ---- */

void *build_array(struct build *b, size_t count, size_t size) {
    void *p = arena_array(&b->d->arena, count, size);
    if (!p) {
        err_nomem(b->e);
    }
    return p;
}

const char *build_string(struct build *b, const json_t *value) {
    if (!json_is_string(value)) {
        return NULL;
    }
    const char *copy =
        arena_strdup(&b->d->arena, json_string_value(value), json_string_length(value));
    b->no_memory = b->no_memory || !copy;
    return copy;
}

bool build_u64(const json_t *value, uint64_t *out) {
    if (json_is_integer(value)) {
        json_int_t v = json_integer_value(value);
        *out = (uint64_t)v;
        return v >= 0;
    }
    return json_is_string(value) &&
           parse_u64(json_string_value(value), json_string_length(value), UINT64_MAX, out);
}

bool build_index(const json_t *value, int64_t max, int64_t *out) {
    *out = json_is_integer(value) ? json_integer_value(value) : -2;
    return *out >= -1 && *out <= max;
}

int64_t build_number(const json_t *value) {
    uint64_t v;
    return build_u64(value, &v) && v <= (uint64_t)NUMBER_MAX ? (int64_t)v : -1;
}

static const char *member_string(struct build *b, const json_t *object, const char *name) {
    return build_string(b, json_object_get(object, name));
}

static int64_t member_number(const json_t *object, const char *name) {
    return build_number(json_object_get(object, name));
}

/* The elements of an optional member that has to be an array of at most `max`; NULL and *count 0 if
 * it is absent or null. */
static enum st member_array(struct build *b, const json_t *object, const char *name, size_t max,
                            const json_t **array, size_t *count) {
    const json_t *value = json_object_get(object, name);
    *array = NULL;
    *count = 0;
    if (!value || json_is_null(value)) {
        return ST_OK;
    }
    if (!json_is_array(value)) {
        return err_set(b->e, ERR_FORMAT, "\"%s\" is not an array", name);
    }
    if (json_array_size(value) > max) {
        return err_set(b->e, ERR_LIMIT, "%zu elements in \"%s\"", json_array_size(value), name);
    }
    *array = value;
    *count = json_array_size(value);
    return ST_OK;
}

/* ---- stacks ---- */

/* What the pre-pass has read already; NULL: it has not. */
static const struct frame_list *known_frames(const struct build *b, const json_t *frames) {
    uint64_t number;
    const char *text = json_string_value(frames);
    size_t len = json_string_length(frames);
    bool known = len > 0 && text[0] == '\0' && parse_u64(text + 1, len - 1, UINT64_MAX, &number) &&
                 number < b->frames.lists.len;
    return known ? &b->frames.lists.data[number] : NULL;
}

static enum st copy_frames(struct build *b, const struct frame_list *list, struct dump_stack *stack,
                           const char *what, size_t index) {
    if (list->count > DUMP_FRAMES_MAX) {
        err_set(b->e, ERR_LIMIT, "%zu elements in \"frames\"", list->count);
        return err_context(b->e, "%s %zu", what, index);
    }
    uint64_t *addresses = build_array(b, list->count, sizeof *addresses);
    if (!addresses) {
        return ST_ERR;
    }
    memcpy(addresses, b->frames.numbers.data + list->first, list->count * sizeof *addresses);
    stack->frames = addresses;
    stack->frame_count = list->count;
    return ST_OK;
}

static enum st build_frames(struct build *b, const json_t *object, struct dump_stack *stack,
                            const char *what, size_t index) {
    const json_t *frames;
    const struct frame_list *known = known_frames(b, json_object_get(object, "frames"));
    if (known) {
        return copy_frames(b, known, stack, what, index);
    }
    if (member_array(b, object, "frames", DUMP_FRAMES_MAX, &frames, &stack->frame_count) != ST_OK) {
        return err_context(b->e, "%s %zu", what, index);
    }
    uint64_t *addresses = build_array(b, stack->frame_count, sizeof *addresses);
    if (!addresses) {
        return ST_ERR;
    }
    for (size_t i = 0; i < stack->frame_count; i++) {
        if (!build_u64(json_array_get(frames, i), &addresses[i])) {
            return err_set(b->e, ERR_FORMAT, "%s %zu: frame %zu is not an address", what, index, i);
        }
    }
    stack->frames = addresses;
    return ST_OK;
}

static enum st build_exact(struct build *b, const json_t *object, struct dump_stack *stack,
                           const char *what, size_t index) {
    const json_t *exact;
    if (member_array(b, object, "exact", stack->frame_count, &exact, &stack->exact_count) !=
        ST_OK) {
        return err_context(b->e, "%s %zu", what, index);
    }
    if (!exact) {
        return ST_OK;
    }
    uint32_t *indexes = build_array(b, stack->exact_count, sizeof *indexes);
    if (!indexes) {
        return ST_ERR;
    }
    int64_t previous = -1;
    for (size_t i = 0; i < stack->exact_count; i++) {
        int64_t v;
        if (!build_index(json_array_get(exact, i), (int64_t)stack->frame_count - 1, &v) ||
            v <= previous) {
            return err_set(b->e, ERR_FORMAT, "%s %zu: \"exact\" is not a list of frames in order",
                           what, index);
        }
        indexes[i] = (uint32_t)v;
        previous = v;
    }
    stack->exact = indexes;
    return ST_OK;
}

static enum st build_stack(struct build *b, const json_t *object, struct dump_stack *stack,
                           const char *what, size_t index) {
    stack->count = 1;
    if (!json_is_object(object)) {
        return err_set(b->e, ERR_FORMAT, "%s %zu is not an object", what, index);
    }
    if (build_frames(b, object, stack, what, index) != ST_OK ||
        build_exact(b, object, stack, what, index) != ST_OK) {
        return ST_ERR;
    }
    return build_stack_locations(b, object, stack, what, index);
}

static void build_wait(struct build *b, const json_t *object, struct dump_wait *wait) {
    wait->owner = -1;
    if (json_is_object(object)) {
        wait->kind = member_string(b, object, "kind");
        wait->owner = member_number(object, "owner");
        if (!build_u64(json_object_get(object, "address"), &wait->address)) {
            wait->address = 0;
        }
    }
}

static int by_thread_id(const void *a, const void *b) {
    const struct dump_thread_order *x = a, *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static enum st build_threads(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    const json_t *threads;
    if (member_array(b, root, "threads", DUMP_STACKS_MAX, &threads, &d->thread_count) != ST_OK) {
        return ST_ERR;
    }
    d->threads = build_array(b, d->thread_count, sizeof *d->threads);
    struct dump_thread_order *order = build_array(b, d->thread_count, sizeof *order);
    if (!d->threads || !order) {
        return ST_ERR;
    }
    for (size_t i = 0; i < d->thread_count; i++) {
        const json_t *object = json_array_get(threads, i);
        struct dump_thread *thread = &d->threads[i];
        if (build_stack(b, object, &thread->stack, "thread", i) != ST_OK) {
            return ST_ERR;
        }
        thread->id = member_number(object, "id");
        thread->name = member_string(b, object, "name");
        thread->state = member_string(b, object, "state");
        thread->main = json_is_true(json_object_get(object, "main"));
        thread->cpu_ms = member_number(object, "cpu_ms");
        build_wait(b, json_object_get(object, "waits_for"), &thread->waits_for);
        order[i] = (struct dump_thread_order){thread->id, (uint32_t)i};
    }
    qsort(order, d->thread_count, sizeof *order, by_thread_id);
    d->thread_order = order;
    return ST_OK;
}

static enum st build_ring(struct build *b, const json_t *samples) {
    struct dump *d = b->d;
    const json_t *ring;
    if (member_array(b, samples, "ring", DUMP_STACKS_MAX, &ring, &d->ring_count) != ST_OK) {
        return ST_ERR;
    }
    int32_t *slots = build_array(b, d->ring_count, sizeof *slots);
    if (!slots) {
        return ST_ERR;
    }
    for (size_t i = 0; i < d->ring_count; i++) {
        int64_t v;
        if (!build_index(json_array_get(ring, i), (int64_t)d->sample_count - 1, &v)) {
            return err_set(b->e, ERR_FORMAT, "\"ring\"[%zu] is no sampled stack", i);
        }
        slots[i] = (int32_t)v;
    }
    d->ring = slots;
    return ST_OK;
}

static enum st build_samples(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    const json_t *samples = json_object_get(root, "samples"), *stacks;
    d->sample_interval_ms = member_number(samples, "interval_ms");
    if (samples && !json_is_object(samples) && !json_is_null(samples)) {
        return err_set(b->e, ERR_FORMAT, "\"samples\" is not an object");
    }
    if (member_array(b, samples, "stacks", DUMP_STACKS_MAX, &stacks, &d->sample_count) != ST_OK) {
        return ST_ERR;
    }
    d->samples = build_array(b, d->sample_count, sizeof *d->samples);
    if (!d->samples) {
        return ST_ERR;
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        const json_t *object = json_array_get(stacks, i);
        const json_t *count = json_object_get(object, "count");
        if (build_stack(b, object, &d->samples[i], "sampled stack", i) != ST_OK) {
            return ST_ERR;
        }
        if (count &&
            (!build_u64(count, &d->samples[i].count) || d->samples[i].count > DUMP_COUNT_MAX)) {
            return err_set(b->e, ERR_FORMAT, "sampled stack %zu: \"count\" is not a count", i);
        }
    }
    return build_ring(b, samples);
}

static enum st build_heaviest(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    const json_t *heaviest = json_object_get(root, "heaviest");
    const json_t *stack = json_object_get(heaviest, "stack");
    d->heaviest_repeats = member_number(heaviest, "repeats");
    if (stack && !build_index(stack, (int64_t)d->sample_count - 1, &d->heaviest)) {
        return err_set(b->e, ERR_FORMAT, "\"heaviest\" is no sampled stack");
    }
    return ST_OK;
}

/* ---- images and names ---- */

static struct image_id build_id(const json_t *image) {
    struct image_id id = {0};
    const json_t *uuid = json_object_get(image, "uuid");
    const json_t *build = json_object_get(image, "build_id");
    bool found =
        json_is_string(uuid) && parse_uuid(json_string_value(uuid), json_string_length(uuid), &id);
    if (!found && json_is_string(build)) {
        (void)parse_build_id(json_string_value(build), json_string_length(build), &id);
    }
    return id;
}

static enum st build_image(struct build *b, const json_t *object, struct dump_image *image,
                           size_t index) {
    const json_t *size = json_object_get(object, "size"), *symbols;
    if (!json_is_object(object)) {
        return err_set(b->e, ERR_FORMAT, "image %zu is not an object", index);
    }
    if (!build_u64(json_object_get(object, "load"), &image->load)) {
        return err_set(b->e, ERR_FORMAT, "image %zu has no load address", index);
    }
    if (size && !json_is_null(size) && !build_u64(size, &image->size)) {
        return err_set(b->e, ERR_FORMAT, "image %zu: \"size\" is not a size", index);
    }
    image->id = build_id(object);
    image->name = member_string(b, object, "name");
    image->path = member_string(b, object, "path");
    image->arch = member_string(b, object, "arch");
    image->in_app = json_is_true(json_object_get(object, "in_app"));
    symbols = json_object_get(object, "symbols");
    if (json_is_string(symbols)) {
        (void)dump_symbols_parse(json_string_value(symbols), json_string_length(symbols),
                                 &image->symbols);
    }
    image->symbols_file = member_string(b, object, "symbols_file");
    return ST_OK;
}

static int by_load(const void *a, const void *b) {
    const struct dump_image_order *x = a, *y = b;
    if (x->load != y->load) {
        return x->load < y->load ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static enum st build_images(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    const json_t *images;
    if (member_array(b, root, "images", DUMP_IMAGES_MAX, &images, &d->image_count) != ST_OK) {
        return ST_ERR;
    }
    d->images = build_array(b, d->image_count, sizeof *d->images);
    struct dump_image_order *order = build_array(b, d->image_count, sizeof *order);
    if (!d->images || !order) {
        return ST_ERR;
    }
    for (size_t i = 0; i < d->image_count; i++) {
        if (build_image(b, json_array_get(images, i), &d->images[i], i) != ST_OK) {
            return ST_ERR;
        }
        order[i] = (struct dump_image_order){d->images[i].load, (uint32_t)i};
    }
    qsort(order, d->image_count, sizeof *order, by_load);
    d->image_order = order;
    return ST_OK;
}

static int by_address(const void *a, const void *b) {
    const struct dump_name *x = a, *y = b;
    if (x->address != y->address) {
        return x->address < y->address ? -1 : 1;
    }
    /* One address written in two ways: any total order will do. */
    int order = strcmp(x->symbol, y->symbol);
    return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
}

static enum st build_names(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    json_t *names = json_object_get(root, "names");
    d->names = build_array(b, json_object_size(names), sizeof *d->names);
    if (!d->names) {
        return ST_ERR;
    }
    const char *key;
    json_t *value;
    json_object_foreach(names, key, value) {
        struct dump_name name = {0};
        if (parse_address(key, strlen(key), &name.address) &&
            json_is_string(json_array_get(value, 0))) {
            if (!build_u64(json_array_get(value, 1), &name.offset)) {
                name.offset = 0;
            }
            name.symbol = build_string(b, json_array_get(value, 0));
            if (!name.symbol) {
                return ST_ERR;
            }
            int64_t line = build_number(json_array_get(value, 3));
            if (line > 0 && line <= UINT32_MAX) {
                name.file = build_string(b, json_array_get(value, 2));
                name.line = name.file ? (uint32_t)line : 0;
            }
            d->names[d->name_count++] = name;
        }
    }
    qsort(d->names, d->name_count, sizeof *d->names, by_address);
    return ST_OK;
}

/* ---- the whole ---- */

static void build_head(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    const json_t *app = json_object_get(root, "app"), *device = json_object_get(root, "device");
    const json_t *stall = json_object_get(root, "stall"), *class = json_object_get(root, "class");
    d->id = member_string(b, root, "id");
    d->time = member_string(b, root, "time");
    d->user = member_string(b, root, "user");
    d->app.id = member_string(b, app, "id");
    d->app.version = member_string(b, app, "version");
    d->app.build = member_string(b, app, "build");
    d->device.model = member_string(b, device, "model");
    d->device.os = member_string(b, device, "os");
    d->device.os_build = member_string(b, device, "os_build");
    d->device.arch = member_string(b, device, "arch");
    d->device.cpus = member_number(device, "cpus");
    d->class.level1 = member_string(b, class, "level1");
    d->class.level2 = member_string(b, class, "level2");
    d->class.action = member_string(b, class, "action");
    d->class.cause = member_string(b, class, "cause");
    d->class.title = member_string(b, class, "title");
    d->stall.id = member_string(b, stall, "id");
    d->stall.kind = member_string(b, stall, "kind");
    d->stall.detector = member_string(b, stall, "detector");
    d->stall.activity = member_string(b, stall, "activity");
    d->stall.app_state = member_string(b, stall, "app_state");
    d->stall.seq = member_number(stall, "seq");
    d->stall.threshold_ms = member_number(stall, "threshold_ms");
    d->stall.at_ms = member_number(stall, "at_ms");
    d->stall.duration_ms = member_number(stall, "duration_ms");
    d->stall.span_ms = member_number(stall, "span_ms");
    d->stall.gap_ms = member_number(stall, "gap_ms");
    d->stall.cpu_permille = member_number(stall, "cpu_permille");
    d->stall.suppressed = member_number(stall, "suppressed");
    d->stall.ended = json_is_true(json_object_get(stall, "ended"));
    d->stall.fatal = json_is_true(json_object_get(stall, "fatal"));
    d->stall.prewarmed = json_is_true(json_object_get(stall, "prewarmed"));
}

static enum st build_dump(struct build *b, const json_t *root) {
    static const char family[] = "stall-dump/";
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strncmp(format, family, sizeof family - 1) != 0) {
        return ST_NONE;
    }
    if (strcmp(format + sizeof family - 1, "1") != 0) {
        return err_set(b->e, ERR_UNSUPPORTED, "format '%s' is another version than stall-dump/1",
                       format);
    }
    b->d->heaviest = -1;
    build_head(b, root);
    if (build_images(b, root) != ST_OK || build_locations(b, root) != ST_OK ||
        build_threads(b, root) != ST_OK || build_samples(b, root) != ST_OK ||
        build_heaviest(b, root) != ST_OK || build_names(b, root) != ST_OK) {
        return b->no_memory ? err_nomem(b->e) : ST_ERR;
    }
    return b->no_memory ? err_nomem(b->e) : ST_OK;
}

/* The pre-pass leaves nothing that Jansson refuses but for lack of memory, which Jansson 2.14
 * reports as whatever its lexer made of it; the fuzzer checks the first half of this sentence. */
static enum st load(const char *text, size_t len, json_t **root, struct err *e) {
    json_error_t why;
    *root = json_loadb(text, len, JSON_ALLOW_NUL, &why); /* for frame_lists */
    return *root ? ST_OK : err_nomem(e);
}

enum st dump_parse(struct dump *d, const char *text, size_t len, struct err *e) {
    *d = (struct dump){0};
    if (len > DUMP_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "a document of more than %d bytes", DUMP_TEXT_MAX);
    }
    struct build b = {.d = d, .e = e};
    struct strbuf repaired = {0}, rest = {0};
    uint64_t count = 0;
    json_t *root = NULL;
    enum st st = prepass(text, len, &repaired, &count, &b.frames, e);
    if (st == ST_OK) {
        const char *whole = repaired.len ? repaired.data : text;
        size_t whole_len = repaired.len ? repaired.len : len;
        st = build_cut_locations(&b, whole, whole_len, &rest);
        st = st == ST_OK     ? load(rest.data, rest.len, &root, e)
             : st == ST_NONE ? load(whole, whole_len, &root, e)
                             : st;
    }
    if (st == ST_OK) {
        d->text = text;
        d->text_len = len;
        d->replaced_bytes = count;
        st = build_dump(&b, root);
    }
    json_decref(root);
    strbuf_release(&repaired);
    strbuf_release(&rest);
    frame_lists_release(&b.frames);
    if (st != ST_OK) {
        dump_release(d);
    }
    return st;
}
