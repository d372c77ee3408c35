/* Lays out the core's memory: one block, allocated at start. */
#include "core/core_private.h"

/* The state of a pass over the memory: with base NULL the pass only measures, otherwise it hands
 * out addresses. */
struct carve {
    unsigned char *base;
    size_t used;
};

static void *carve(struct carve *c, size_t count, size_t size) {
    const size_t align = _Alignof(max_align_t);
    void *at = c->base != NULL ? c->base + c->used : NULL;
    /* no overflow, as rec_config_read checked the ranges */
    c->used += (count * size + align - 1) / align * align;
    return at;
}

static void carve_stack(struct carve *c, struct rec_stack *stack, uint32_t cap, bool starts) {
    uint64_t *frames = carve(c, cap, sizeof *frames);
    uint64_t *functions = starts ? carve(c, cap, sizeof *functions) : NULL;
    if (c->base != NULL) {
        stack->frames = frames;
        stack->starts = functions;
        stack->cap = cap;
    }
}

static void carve_record(struct carve *c, struct rec_record *record,
                         const struct stallrec_config *config) {
    struct rec_dump *dump = &record->dump;
    dump->threads = carve(c, config->max_threads, sizeof *dump->threads);
    dump->stacks = carve(c, config->ring, sizeof *dump->stacks);
    dump->ring = carve(c, config->ring, sizeof *dump->ring);
}

/* Lays out the frames, images and texts of a record, which need no zeroing, as they are written
 * before they are read. Of the record's stacks only the first thread's has function starts. */
static void carve_contents(struct carve *c, struct rec_record *record,
                           const struct stallrec_config *config) {
    struct rec_dump *dump = &record->dump;
    dump->images = carve(c, REC_IMAGES_MAX, sizeof *dump->images);
    record->text = carve(c, REC_TEXT_MAX, 1);
    dump->names = carve(c, REC_CODE_NAMES_MAX, sizeof *dump->names);
    record->code_text = carve(c, REC_CODE_TEXT_MAX, 1);
    for (uint32_t i = 0; i < config->ring; i++) {
        carve_stack(c, c->base != NULL ? &dump->stacks[i].stack : NULL, config->max_frames, false);
    }
    for (uint32_t i = 0; i < config->max_threads; i++) {
        carve_stack(c, c->base != NULL ? &dump->threads[i].stack : NULL, config->max_frames,
                    i == 0);
    }
}

size_t rec_core_lay_out(unsigned char *base, const struct stallrec_config *config,
                        size_t *cleared) {
    struct carve c = {.base = base};
    struct rec_core none = {0};
    struct rec_core *core = carve(&c, 1, sizeof *core);
    if (base == NULL) {
        core = &none;
    }
    core->ring.slots = carve(&c, config->ring, sizeof *core->ring.slots);
    core->ring.cap = config->ring;
    for (uint32_t i = 0; i < REC_TRACKS; i++) {
        uint64_t *functions = carve(&c, config->max_frames, sizeof *functions);
        rec_anneal_init(&core->tracks[i].anneal, functions, config->max_frames);
    }
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        carve_record(&c, &core->records[i], config);
    }
    *cleared = c.used;
    for (uint32_t i = 0; i < config->ring; i++) {
        carve_stack(&c, base != NULL ? &core->ring.slots[i].stack : NULL, config->max_frames, true);
    }
    core->history.cap = config->max_frames;
    core->history.kept = carve(&c, REC_HISTORY, sizeof *core->history.kept);
    core->history.frames =
        carve(&c, (size_t)2 * REC_HISTORY * config->max_frames, sizeof *core->history.frames);
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        carve_contents(&c, &core->records[i], config);
    }
    return c.used;
}

size_t rec_core_size(const struct stallrec_config *config) {
    size_t cleared;
    return rec_core_lay_out(NULL, config, &cleared);
}
