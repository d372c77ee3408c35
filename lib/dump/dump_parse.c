/* Parses stall-dump/1 text to the model. Texts, numbers and flags of the wrong type count as
 * absent; frames and the places of images have to be right, because every look-up starts with them.
 */
#include "dump/dump.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/parse.h"
#include "base/search.h"
#include "dump/dump_build_private.h"
#include "dump/dump_captured_private.h"
#include "dump/dump_context_private.h"
#include "dump/dump_head_private.h"
#include "dump/dump_locations_private.h"
#include "dump/dump_private.h"

/* ---- stacks ---- */

static enum st build_frames(struct dump_build *b, const struct tape_value *frames,
                            struct dump_stack *stack, const char *what, size_t index) {
    if (build_check_array(b, &frames, "frames", DUMP_FRAMES_MAX, &stack->frame_count) != ST_OK) {
        return err_context(b->e, "%s %zu", what, index);
    }
    uint64_t *addresses = build_array(b, stack->frame_count, sizeof *addresses);
    if (!addresses) {
        return ST_ERR;
    }
    const struct tape_value *frame = tape_first(frames);
    for (size_t i = 0; i < stack->frame_count; i++, frame = tape_next(frame)) {
        if (!build_u64(b, frame, &addresses[i])) {
            return err_set(b->e, ERR_FORMAT, "%s %zu: frame %zu is not an address", what, index, i);
        }
    }
    stack->frames = addresses;
    return ST_OK;
}

static enum st build_exact(struct dump_build *b, const struct tape_value *exact,
                           struct dump_stack *stack, const char *what, size_t index) {
    if (build_check_array(b, &exact, "exact", stack->frame_count, &stack->exact_count) != ST_OK) {
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
    const struct tape_value *element = tape_first(exact);
    for (size_t i = 0; i < stack->exact_count; i++, element = tape_next(element)) {
        int64_t v;
        if (!build_index(element, (int64_t)stack->frame_count - 1, &v) || v <= previous) {
            return err_set(b->e, ERR_FORMAT, "%s %zu: \"exact\" is not a list of frames in order",
                           what, index);
        }
        indexes[i] = (uint32_t)v;
        previous = v;
    }
    stack->exact = indexes;
    return ST_OK;
}

/* Members of a stack, of a thread and of a sample, in the order in which recorders usually write
 * them. */
enum {
    ID,
    NAME,
    MAIN,
    STATE,
    CPU_MS,
    CPU_PERMILLE,
    WAITS_FOR,
    COUNT,
    FRAMES,
    EXACT,
    TRUNCATED,
    INCOMPLETE,
    LOCATIONS,
    STACK_MEMBERS
};
static const struct tape_name stack_members[STACK_MEMBERS] = {
    [ID] = TAPE_NAME("id"),
    [NAME] = TAPE_NAME("name"),
    [MAIN] = TAPE_NAME("main"),
    [STATE] = TAPE_NAME("state"),
    [CPU_MS] = TAPE_NAME("cpu_ms"),
    [CPU_PERMILLE] = TAPE_NAME("cpu_permille"),
    [WAITS_FOR] = TAPE_NAME("waits_for"),
    [COUNT] = TAPE_NAME("count"),
    [FRAMES] = TAPE_NAME("frames"),
    [EXACT] = TAPE_NAME("exact"),
    [TRUNCATED] = TAPE_NAME("truncated"),
    [INCOMPLETE] = TAPE_NAME("incomplete"),
    [LOCATIONS] = TAPE_NAME("locations"),
};

static enum st build_stack(struct dump_build *b, const struct tape_value *object,
                           const struct tape_value *members[STACK_MEMBERS],
                           struct dump_stack *stack, const char *what, size_t index) {
    stack->count = 1;
    if (!tape_is(object, VALUE_OBJECT)) {
        return err_set(b->e, ERR_FORMAT, "%s %zu is not an object", what, index);
    }
    tape_members(&b->tape, object, stack_members, STACK_MEMBERS, members);
    if (build_frames(b, members[FRAMES], stack, what, index) != ST_OK ||
        build_exact(b, members[EXACT], stack, what, index) != ST_OK) {
        return ST_ERR;
    }
    stack->incomplete =
        tape_is(members[INCOMPLETE], VALUE_TRUE) || tape_is(members[TRUNCATED], VALUE_TRUE);
    return build_stack_locations(b, members[LOCATIONS], stack, what, index);
}

static void build_wait(struct dump_build *b, const struct tape_value *object,
                       struct dump_wait *wait) {
    wait->owner = -1;
    if (tape_is(object, VALUE_OBJECT)) {
        wait->kind = build_member_string(b, object, "kind");
        wait->owner = build_member_number(b, object, "owner");
        if (!build_u64(b, tape_member(&b->tape, object, "address"), &wait->address)) {
            wait->address = 0;
        }
    }
}

static enum st build_threads(struct dump_build *b, const struct tape_value *threads) {
    struct dump *d = b->d;
    if (build_check_array(b, &threads, "threads", DUMP_STACKS_MAX, &d->thread_count) != ST_OK) {
        return ST_ERR;
    }
    d->threads = build_array(b, d->thread_count, sizeof *d->threads);
    struct dump_thread_order *order = build_array(b, d->thread_count, sizeof *order);
    if (!d->threads || !order) {
        return ST_ERR;
    }
    const struct tape_value *object = tape_first(threads), *members[STACK_MEMBERS];
    for (size_t i = 0; i < d->thread_count; i++, object = tape_next(object)) {
        struct dump_thread *thread = &d->threads[i];
        if (build_stack(b, object, members, &thread->stack, "thread", i) != ST_OK) {
            return ST_ERR;
        }
        thread->id = build_number(b, members[ID]);
        thread->name = build_value(b, members[NAME]);
        thread->state = build_value(b, members[STATE]);
        thread->main = tape_is(members[MAIN], VALUE_TRUE);
        thread->cpu_ms = build_number(b, members[CPU_MS]);
        thread->cpu_permille = build_number(b, members[CPU_PERMILLE]);
        build_wait(b, members[WAITS_FOR], &thread->waits_for);
    }
    dump_order_threads(d->threads, d->thread_count, order);
    d->thread_order = order;
    return ST_OK;
}

static enum st build_ring(struct dump_build *b, const struct tape_value *ring) {
    struct dump *d = b->d;
    if (build_check_array(b, &ring, "ring", DUMP_STACKS_MAX, &d->ring_count) != ST_OK) {
        return ST_ERR;
    }
    int32_t *slots = build_array(b, d->ring_count, sizeof *slots);
    if (!slots) {
        return ST_ERR;
    }
    const struct tape_value *slot = tape_first(ring);
    for (size_t i = 0; i < d->ring_count; i++, slot = tape_next(slot)) {
        int64_t v;
        if (!build_index(slot, (int64_t)d->sample_count - 1, &v)) {
            return err_set(b->e, ERR_FORMAT, "\"ring\"[%zu] is no sampled stack", i);
        }
        slots[i] = (int32_t)v;
    }
    d->ring = slots;
    return ST_OK;
}

static enum st build_sample(struct dump_build *b, const struct tape_value *object,
                            struct dump_stack *stack, size_t index) {
    const struct tape_value *members[STACK_MEMBERS];
    if (build_stack(b, object, members, stack, "sampled stack", index) != ST_OK) {
        return ST_ERR;
    }
    if (members[COUNT] &&
        (!build_u64(b, members[COUNT], &stack->count) || stack->count > DUMP_COUNT_MAX)) {
        return err_set(b->e, ERR_FORMAT, "sampled stack %zu: \"count\" is not a count", index);
    }
    return ST_OK;
}

static enum st build_samples(struct dump_build *b, const struct tape_value *samples) {
    struct dump *d = b->d;
    const struct tape_value *stacks = tape_member(&b->tape, samples, "stacks");
    d->sample_interval_ms = build_member_number(b, samples, "interval_ms");
    if (samples && !tape_is(samples, VALUE_OBJECT) && !tape_is(samples, VALUE_NULL)) {
        return err_set(b->e, ERR_FORMAT, "\"samples\" is not an object");
    }
    if (build_check_array(b, &stacks, "stacks", DUMP_STACKS_MAX, &d->sample_count) != ST_OK) {
        return ST_ERR;
    }
    d->samples = build_array(b, d->sample_count, sizeof *d->samples);
    if (!d->samples) {
        return ST_ERR;
    }
    const struct tape_value *object = tape_first(stacks);
    for (size_t i = 0; i < d->sample_count; i++, object = tape_next(object)) {
        if (build_sample(b, object, &d->samples[i], i) != ST_OK) {
            return ST_ERR;
        }
    }
    return build_ring(b, tape_member(&b->tape, samples, "ring"));
}

static enum st build_heaviest(struct dump_build *b, const struct tape_value *heaviest) {
    struct dump *d = b->d;
    const struct tape_value *stack = tape_member(&b->tape, heaviest, "stack");
    d->heaviest_repeats = build_member_number(b, heaviest, "repeats");
    if (stack && !build_index(stack, (int64_t)d->sample_count - 1, &d->heaviest)) {
        return err_set(b->e, ERR_FORMAT, "\"heaviest\" is no sampled stack");
    }
    return ST_OK;
}

/* ---- images and names ---- */

enum {
    UUID,
    BUILD_ID,
    IMAGE_NAME,
    PATH,
    ARCH,
    LOAD,
    SIZE,
    IN_APP,
    UNPLACED,
    SYMBOLS,
    SYMBOLS_FILE,
    IMAGE_MEMBERS
};
static const struct tape_name image_members[IMAGE_MEMBERS] = {
    [UUID] = TAPE_NAME("uuid"),
    [BUILD_ID] = TAPE_NAME("build_id"),
    [IMAGE_NAME] = TAPE_NAME("name"),
    [PATH] = TAPE_NAME("path"),
    [ARCH] = TAPE_NAME("arch"),
    [LOAD] = TAPE_NAME("load"),
    [SIZE] = TAPE_NAME("size"),
    [IN_APP] = TAPE_NAME("in_app"),
    [UNPLACED] = TAPE_NAME("unplaced"),
    [SYMBOLS] = TAPE_NAME("symbols"),
    [SYMBOLS_FILE] = TAPE_NAME("symbols_file"),
};

static struct image_id build_id(struct dump_build *b, const struct tape_value *uuid,
                                const struct tape_value *build) {
    struct image_id id = {0};
    const char *text;
    size_t len;
    bool found = build_text(b, uuid, &text, &len) && parse_uuid(text, len, &id);
    if (!found && build_text(b, build, &text, &len)) {
        (void)parse_build_id(text, len, &id);
    }
    return id;
}

static enum st build_image(struct dump_build *b, const struct tape_value *object,
                           struct dump_image *image, size_t index) {
    const struct tape_value *m[IMAGE_MEMBERS];
    const char *symbols;
    size_t len;
    tape_members(&b->tape, object, image_members, IMAGE_MEMBERS, m);
    if (!tape_is(object, VALUE_OBJECT)) {
        return err_set(b->e, ERR_FORMAT, "image %zu is not an object", index);
    }
    if (!build_u64(b, m[LOAD], &image->load)) {
        return err_set(b->e, ERR_FORMAT, "image %zu has no load address", index);
    }
    if (m[SIZE] && !tape_is(m[SIZE], VALUE_NULL) && !build_u64(b, m[SIZE], &image->size)) {
        return err_set(b->e, ERR_FORMAT, "image %zu: \"size\" is not a size", index);
    }
    image->id = build_id(b, m[UUID], m[BUILD_ID]);
    image->name = build_value(b, m[IMAGE_NAME]);
    image->path = build_value(b, m[PATH]);
    image->arch = build_value(b, m[ARCH]);
    image->in_app = tape_is(m[IN_APP], VALUE_TRUE);
    image->unplaced = tape_is(m[UNPLACED], VALUE_TRUE);
    if (build_text(b, m[SYMBOLS], &symbols, &len)) {
        (void)dump_symbols_parse(symbols, len, &image->symbols);
    }
    image->symbols_file = build_value(b, m[SYMBOLS_FILE]);
    return ST_OK;
}

static enum st build_images(struct dump_build *b, const struct tape_value *images) {
    struct dump *d = b->d;
    if (build_check_array(b, &images, "images", DUMP_IMAGES_MAX, &d->image_count) != ST_OK) {
        return ST_ERR;
    }
    d->images = build_array(b, d->image_count, sizeof *d->images);
    struct dump_image_order *order = build_array(b, d->image_count, sizeof *order);
    if (!d->images || !order) {
        return ST_ERR;
    }
    const struct tape_value *object = tape_first(images);
    for (size_t i = 0; i < d->image_count; i++, object = tape_next(object)) {
        if (build_image(b, object, &d->images[i], i) != ST_OK) {
            return ST_ERR;
        }
    }
    dump_order_images(d->images, d->image_count, order);
    d->image_order = order;
    return ST_OK;
}

static int by_name_address(const void *a, const void *b) {
    const struct dump_name *x = a, *y = b;
    int order = COMPARE(x->address, y->address);
    /* Two names may have the same address, written once in decimal and once in hex: then any total
     * order will do. */
    order = order ? order : strcmp(x->symbol, y->symbol);
    return order ? order : COMPARE(x->offset, y->offset);
}

/* Reads the functions that are inlined at a name's address: [["symbol", "file", line], …], the last
 * two optional. Elements of another form are left out. */
static enum st build_inlined(struct dump_build *b, const struct tape_value *list,
                             struct dump_name *name) {
    if (!tape_is(list, VALUE_ARRAY) || list->count == 0) {
        return ST_OK;
    }
    name->inlined = build_array(b, list->count, sizeof *name->inlined);
    if (!name->inlined) {
        return ST_ERR;
    }
    const struct tape_value *value = tape_first(list);
    for (size_t i = 0; i < list->count; i++, value = tape_next(value)) {
        struct dump_line line = {.function = build_string(b, tape_element(value, 0))};
        int64_t number = build_number(b, tape_element(value, 2));
        if (number > 0 && number <= UINT32_MAX) {
            line.file = build_string(b, tape_element(value, 1));
            line.line = line.file ? (uint32_t)number : 0;
        }
        if (line.function) {
            name->inlined[name->inlined_count++] = line;
        }
    }
    return ST_OK;
}

/* Reads one member of "names"; ST_NONE: its first element is no string. */
static enum st build_name(struct dump_build *b, uint64_t address, const struct tape_value *value,
                          struct dump_name *name) {
    const struct tape_value *symbol = tape_element(value, 0);
    if (!tape_is_string(symbol)) {
        return ST_NONE;
    }
    *name = (struct dump_name){.address = address, .symbol = build_string(b, symbol)};
    if (!name->symbol) {
        return ST_ERR;
    }
    if (!build_u64(b, tape_element(value, 1), &name->offset)) {
        name->offset = 0;
    }
    int64_t line = build_number(b, tape_element(value, 3));
    if (line > 0 && line <= UINT32_MAX) {
        name->file = build_string(b, tape_element(value, 2));
        name->line = name->file ? (uint32_t)line : 0;
    }
    name->in_app = tape_is(tape_element(value, 4), VALUE_TRUE);
    return build_inlined(b, tape_element(value, 5), name);
}

/* Finds for each name in "names" its last value, which is the one that counts: values[i] is that of
 * entry i of keys. */
static enum st find_names(struct dump_build *b, const struct tape_value *names, struct map *keys,
                          const struct tape_value **values) {
    const struct tape_value *end = tape_end(names);
    for (const struct tape_value *key = tape_first(names); key < end; key = tape_next(key + 1)) {
        const char *text;
        size_t len;
        const struct map_entry *entry =
            build_text(b, key, &text, &len) ? map_put(keys, text, len, keys->count, NULL) : NULL;
        if (!entry) {
            return err_nomem(b->e);
        }
        values[entry->value] = key + 1;
    }
    return ST_OK;
}

static enum st build_names(struct dump_build *b, const struct tape_value *names) {
    struct dump *d = b->d;
    struct map keys = {0};
    size_t count = tape_is(names, VALUE_OBJECT) ? names->count : 0;
    const struct tape_value **values = build_array(b, count, sizeof *values);
    d->names = build_array(b, count, sizeof *d->names);
    enum st st = values && d->names ? ST_OK : ST_ERR;
    if (st == ST_OK && count > 0) {
        st = find_names(b, names, &keys, values);
    }
    for (size_t i = 0; st == ST_OK && i < keys.count; i++) {
        uint64_t address;
        if (parse_address(keys.entries[i].key, keys.entries[i].len, &address)) {
            enum st one = build_name(b, address, values[i], &d->names[d->name_count]);
            d->name_count += one == ST_OK;
            st = one == ST_ERR ? ST_ERR : ST_OK;
        }
    }
    if (st == ST_OK) {
        qsort(d->names, d->name_count, sizeof *d->names, by_name_address);
    }
    map_release(&keys);
    return st;
}

/* ---- the whole document ---- */

enum { CONTEXT, APP_IMAGES, STRINGS, ALL_LOCATIONS, THREADS, SAMPLES, HEAVIEST, NAMES, PARTS };
static const struct tape_name parts[PARTS] = {
    [CONTEXT] = TAPE_NAME("context"),   [APP_IMAGES] = TAPE_NAME("images"),
    [THREADS] = TAPE_NAME("threads"),   [SAMPLES] = TAPE_NAME("samples"),
    [HEAVIEST] = TAPE_NAME("heaviest"), [NAMES] = TAPE_NAME("names"),
    [STRINGS] = TAPE_NAME("strings"),   [ALL_LOCATIONS] = TAPE_NAME("locations"),
};

static enum st build_dump(struct dump_build *b, const struct tape_value *root) {
    static const char family[] = "stall-dump/";
    const char *format = build_member_string(b, root, "format");
    if (b->no_memory) {
        return err_nomem(b->e);
    }
    if (!format || strncmp(format, family, sizeof family - 1) != 0) {
        return ST_NONE;
    }
    if (strcmp(format + sizeof family - 1, "1") != 0) {
        return err_set(b->e, ERR_UNSUPPORTED, "format '%s' is another version than stall-dump/1",
                       format);
    }
    b->d->heaviest = -1;
    build_head(b, root);
    const struct tape_value *part[PARTS];
    tape_members(&b->tape, root, parts, PARTS, part);
    if (build_context(b, part[CONTEXT]) != ST_OK || build_images(b, part[APP_IMAGES]) != ST_OK ||
        build_locations(b, part[STRINGS], part[ALL_LOCATIONS]) != ST_OK ||
        build_threads(b, part[THREADS]) != ST_OK || build_samples(b, part[SAMPLES]) != ST_OK ||
        build_heaviest(b, part[HEAVIEST]) != ST_OK || build_names(b, part[NAMES]) != ST_OK) {
        return b->no_memory ? err_nomem(b->e) : ST_ERR;
    }
    return b->no_memory ? err_nomem(b->e) : ST_OK;
}

/* ---- memory ---- */

/* Limits of the memory that is kept for the next dump: bytes of a dump's arena, and values of a
 * tape. A larger arena or tape is freed. */
enum { KEPT_BYTES_MAX = 1024 * 1024, KEPT_VALUES_MAX = KEPT_BYTES_MAX / sizeof(struct tape_value) };

struct dump_scratch {
    struct tape tape;
    struct captured_cuts cuts;
    struct written_locations written;
};

enum st dump_scratch_new(struct dump_scratch **out, struct err *e) {
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : err_nomem(e);
}

static void scratch_clear(struct dump_scratch *s) {
    tape_release(&s->tape);
    VEC_RELEASE(&s->cuts.cuts);
    written_release(&s->written);
}

void dump_scratch_free(struct dump_scratch *s) {
    if (s) {
        scratch_clear(s);
        free(s);
    }
}

void dump_clear(struct dump *d) {
    struct arena arena = d->arena;
    if (arena.used > KEPT_BYTES_MAX) {
        arena_release(&arena);
    } else {
        arena_clear(&arena);
    }
    *d = (struct dump){.arena = arena};
}

enum st dump_parse_again(struct dump *d, struct dump_scratch *s, const char *text, size_t len,
                         struct err *e) {
    if (len > DUMP_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "a document of more than %d bytes", DUMP_TEXT_MAX);
    }
    const struct tape_reader reader = {"locations", written_read, &s->written};
    struct dump_build b = {.d = d, .e = e, .tape = s->tape, .written = &s->written};
    s->written.text = NULL;
    b.tape.reader = &reader;
    enum st st = tape_read(&b.tape, text, len, e);
    if (st == ST_OK) {
        d->text = text;
        d->text_len = len;
        d->replaced_bytes = b.tape.replaced;
        st = build_dump(&b, b.tape.values.data);
    }
    if (st == ST_OK) {
        st = dump_find_captured(d, &b.tape, &s->cuts, e);
    }
    b.tape.reader = NULL;
    s->tape = b.tape;
    if (s->tape.values.cap > KEPT_VALUES_MAX || written_size(&s->written) > KEPT_BYTES_MAX) {
        scratch_clear(s); /* frees the cuts, too, of which there are fewer than values */
    }
    if (st != ST_OK) {
        dump_clear(d);
    }
    return st;
}

enum st dump_parse(struct dump *d, const char *text, size_t len, struct err *e) {
    struct dump_scratch s = {0};
    *d = (struct dump){0};
    enum st st = dump_parse_again(d, &s, text, len, e);
    scratch_clear(&s);
    if (st != ST_OK) {
        dump_release(d);
    }
    return st;
}
