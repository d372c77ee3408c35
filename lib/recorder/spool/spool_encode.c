/* Writes a dump as the spool's sections: each has a tag, a length, and data of record.h without
 * pointers. */
#include "spool/spool_bytes.h"
#include "spool/spool_sections_private.h"

enum {
    SECTION_HEAD = 5, /* bytes of a section's tag and length */
    /* Maximum number of bytes of the samples, so that the threads, and the images, which may be
       stored twice, have room. */
    SAMPLES_ROOM = 20 * 1024,
    FRAMES_LEAST = 2
};

/* Writes a stack with at most its max_frames innermost frames. function: start of the innermost
 * frame's function, 0 = not known. */
static void put_stack(struct rec_put *put, const struct rec_stack *stack, uint64_t function,
                      uint32_t max_frames) {
    uint32_t count = stack->count < max_frames ? stack->count : max_frames;
    uint64_t before = 0;
    bool cut = count < stack->count;
    rec_put_uint(put, stack->truncated || cut);
    rec_put_uint(put, stack->incomplete || cut);
    rec_put_uint(put, stack->exact_count);
    for (uint32_t i = 0; i < stack->exact_count; i++) {
        rec_put_uint(put, stack->exact[i]);
    }
    rec_put_uint(put, function);
    rec_put_uint(put, count);
    /* Frames are written as differences, as neighbours are often in one image. */
    for (uint32_t i = 0; i < count; i++) {
        rec_put_int(put, (int64_t)(stack->frames[i] - before));
        before = stack->frames[i];
    }
}

/* ---- sections ---- */

static struct rec_put encode_begin_section(struct rec_put *put, enum rec_section tag) {
    struct rec_put section = *put;
    unsigned char head[SECTION_HEAD] = {(unsigned char)tag};
    rec_put_bytes(&section, head, sizeof head);
    return section;
}

/* Appends the section to the body. False: there is no room, and the body stays unchanged. */
static bool end_section(struct rec_put *put, struct rec_put *section) {
    if (section->full) {
        return false;
    }
    rec_store_u32(put->at + 1, (uint32_t)(section->at - put->at) - SECTION_HEAD);
    put->at = section->at;
    return true;
}

static bool put_identity(struct rec_put *body, const struct rec_dump *dump, const char *loop_at) {
    const struct rec_stall *stall = &dump->stall;
    struct rec_put put = encode_begin_section(body, REC_SECTION_DUMP);
    rec_put_bytes(&put, dump->id, REC_UUID_SIZE);
    rec_put_bytes(&put, stall->id, REC_UUID_SIZE);
    rec_put_int(&put, dump->wall_ms);
    rec_put_uint(&put, stall->seq);
    rec_put_uint(&put, stall->activity);
    rec_put_uint(&put, stall->threshold_ms);
    rec_put_uint(&put, stall->at_ms);
    rec_put_string(&put, stall->detector, REC_NAME_MAX - 1);
    rec_put_string(&put, stall->kind, REC_NAME_MAX - 1);
    rec_put_uint(&put, stall->prewarmed);
    rec_put_uint(&put, stall->sampled_edges);
    rec_put_string(&put, stall->action, REC_NAME_MAX - 1);
    rec_put_int(&put, stall->top_thread);
    rec_put_string(&put, stall->top_thread_name, REC_NAME_MAX - 1);
    rec_put_string(&put, stall->mode, REC_NAME_MAX - 1);
    rec_put_string(&put, dump->lack, REC_NAME_MAX - 1);
    rec_put_uint(&put, stall->state_count);
    for (uint32_t i = 0; i < stall->state_count; i++) {
        rec_put_int(&put, stall->states[i].at_ms);
        rec_put_uint(&put, stall->states[i].what);
    }
    rec_put_string(&put, loop_at, REC_LOOP_AT_MAX - 1);
    rec_put_uint(&put, dump->meter.samples);
    rec_put_uint(&put, dump->meter.unavailable);
    rec_put_uint(&put, dump->meter.pause_p50_us);
    rec_put_uint(&put, dump->meter.pause_max_us);
    rec_put_uint(&put, dump->context.app);
    rec_put_uint(&put, dump->context.count);
    for (uint32_t i = 0; i < dump->context.count; i++) {
        rec_put_string(&put, dump->context.pairs[i].key, STALLREC_CONTEXT_KEY - 1);
        rec_put_string(&put, dump->context.pairs[i].value, STALLREC_CONTEXT_VALUE - 1);
    }
    return end_section(body, &put);
}

static bool put_samples(struct rec_put *body, const struct rec_dump *dump, uint32_t max_frames) {
    struct rec_put put = encode_begin_section(body, REC_SECTION_SAMPLES);
    if ((size_t)(put.end - put.at) > SAMPLES_ROOM) {
        put.end = put.at + SAMPLES_ROOM;
    }
    rec_put_uint(&put, dump->interval_ms);
    rec_put_int(&put, dump->heaviest);
    rec_put_uint(&put, dump->heaviest_repeats);
    rec_put_uint(&put, dump->stack_count);
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        rec_put_uint(&put, dump->stacks[i].count);
        put_stack(&put, &dump->stacks[i].stack, dump->stacks[i].function, max_frames);
    }
    rec_put_uint(&put, dump->ring_count);
    for (uint32_t i = 0; i < dump->ring_count; i++) {
        rec_put_int(&put, dump->ring[i]);
    }
    return end_section(body, &put);
}

static void put_image(struct rec_put *put, const struct rec_image *image) {
    rec_put_uint(put, image->id_kind);
    rec_put_uint(put, image->id_len);
    rec_put_bytes(put, image->id, image->id_len);
    rec_put_string(put, image->path, SIZE_MAX);
    rec_put_string(put, image->arch, SIZE_MAX);
    rec_put_uint(put, image->load);
    rec_put_uint(put, image->size);
    rec_put_uint(put, image->in_app);
}

static void put_thread(struct rec_put *put, const struct rec_thread *thread) {
    rec_put_int(put, thread->id);
    rec_put_string(put, thread->name, REC_NAME_MAX - 1);
    rec_put_uint(put, thread->state);
    rec_put_uint(put, thread->main);
    rec_put_uint(put, thread->cpu_ns);
    rec_put_uint(put, thread->cpu_permille);
    rec_put_uint(put, thread->waits_for.kind);
    rec_put_uint(put, thread->waits_for.address);
    rec_put_int(put, thread->waits_for.owner);
    const struct rec_stack *stack = &thread->stack;
    put_stack(put, stack, stack->starts != NULL && stack->count > 0 ? stack->starts[0] : 0,
              UINT32_MAX);
}

/* Writes as many images as fit. Each is preceded by a 1; the list ends with a 0, or with a 2 if
 * images are missing. */
static void put_images(struct rec_put *body, const struct rec_dump *dump) {
    struct rec_put put = encode_begin_section(body, REC_SECTION_IMAGES);
    bool lost = dump->images_lost;
    put.end -= put.full ? 0 : put.end > put.at; /* room for the number that ends the list */
    for (uint32_t i = 0; i < dump->image_count; i++) {
        struct rec_put one = put;
        rec_put_uint(&one, 1);
        put_image(&one, &dump->images[i]);
        lost |= one.full;
        put = one.full ? put : one;
    }
    put.end = body->end;
    rec_put_uint(&put, lost ? 2 : 0);
    end_section(body, &put);
}

static void put_threads(struct rec_put *body, const struct rec_dump *dump) {
    struct rec_put put = encode_begin_section(body, REC_SECTION_THREADS);
    put.end -= put.full ? 0 : put.end > put.at;
    for (uint32_t i = 0; i < dump->thread_count; i++) {
        struct rec_put one = put;
        rec_put_uint(&one, 1);
        put_thread(&one, &dump->threads[i]);
        put = one.full ? put : one;
    }
    put.end = body->end;
    rec_put_uint(&put, 0);
    end_section(body, &put);
}

static void put_names(struct rec_put *body, const struct rec_dump *dump) {
    struct rec_put put = encode_begin_section(body, REC_SECTION_NAMES);
    put.end -= put.full ? 0 : put.end > put.at;
    for (uint32_t i = 0; i < dump->name_count; i++) {
        const struct rec_code_name *name = &dump->names[i];
        struct rec_put one = put;
        rec_put_uint(&one, 1);
        rec_put_uint(&one, name->address);
        rec_put_string(&one, name->symbol, SIZE_MAX);
        rec_put_uint(&one, name->offset);
        rec_put_string(&one, name->file, SIZE_MAX);
        rec_put_uint(&one, name->line);
        rec_put_uint(&one, name->in_app);
        put = one.full ? put : one;
    }
    put.end = body->end;
    rec_put_uint(&put, 0);
    end_section(body, &put);
}

size_t rec_spool_encode(const struct rec_dump *dump, const char *loop_at, bool all,
                        unsigned char *body, size_t room) {
    struct rec_put put = {.at = body, .end = body + room};
    if (all) {
        uint32_t frames = UINT32_MAX;
        if (!put_identity(&put, dump, loop_at)) {
            return 0;
        }
        while (!put_samples(&put, dump, frames) && frames > FRAMES_LEAST) {
            frames = frames == UINT32_MAX ? 256 : frames / 2;
        }
    }
    put_images(&put, dump);
    put_threads(&put, dump);
    put_names(&put, dump);
    return (size_t)(put.at - body);
}
