/* Reads a dump from the spool's sections. The bytes are untrusted: counts are bounded by the room
 * that record.h has, indexes by the number of their objects, and enums by their last value. */
#include <string.h>

#include "spool/spool_bytes.h"
#include "spool/spool_sections_private.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Reads a text into out->texts and returns it; NULL if there is none or it is damaged. */
static const char *decode_keep_text(struct rec_get *get, struct rec_spool_dump *out) {
    char *to = out->texts + out->text_len;
    if (!rec_get_string(get, to, sizeof out->texts - out->text_len)) {
        return NULL;
    }
    out->text_len += (uint32_t)strlen(to) + 1;
    return to;
}

/* Reads a stack into *stack; returns the start of the innermost frame's function, 0 = not known.
 * starts: [REC_SPOOL_FRAMES], or NULL. */
static uint64_t get_stack(struct rec_get *get, struct rec_spool_dump *out, struct rec_stack *stack,
                          uint64_t *starts) {
    uint64_t before = 0;
    *stack = (struct rec_stack){.truncated = rec_get_upto(get, 1) != 0};
    stack->incomplete = rec_get_upto(get, 1) != 0;
    stack->exact_count = rec_get_upto(get, REC_EXACT_MAX);
    for (uint32_t i = 0; i < stack->exact_count; i++) {
        stack->exact[i] = rec_get_upto(get, UINT32_MAX);
    }
    uint64_t start = rec_get_uint(get);
    /* A frame takes at least one byte of the body, and out->words has a word for each of those. */
    uint32_t left = (uint32_t)(COUNT_OF(out->words) - out->word_count);
    stack->count = rec_get_upto(get, left < REC_SPOOL_FRAMES ? left : REC_SPOOL_FRAMES);
    stack->cap = stack->count;
    stack->frames = out->words + out->word_count;
    stack->starts = starts;
    for (uint32_t i = 0; i < stack->count && !get->bad; i++) {
        before += (uint64_t)rec_get_int(get);
        stack->frames[i] = before;
        out->word_count++;
        if (starts != NULL) {
            starts[i] = i == 0 ? start : 0;
        }
    }
    return start;
}

/* ---- sections ---- */

static void get_context(struct rec_get *get, struct rec_context_copy *context) {
    context->app = (enum rec_app)rec_get_upto(get, REC_APP_BACKGROUND);
    context->count = rec_get_upto(get, STALLREC_CONTEXT_SLOTS);
    for (uint32_t i = 0; i < context->count; i++) {
        rec_get_string(get, context->pairs[i].key, STALLREC_CONTEXT_KEY);
        rec_get_string(get, context->pairs[i].value, STALLREC_CONTEXT_VALUE);
    }
}

static void get_id(struct rec_get *get, uint8_t id[REC_UUID_SIZE]) {
    const unsigned char *bytes = rec_get_bytes(get, REC_UUID_SIZE);
    if (bytes != NULL) {
        memcpy(id, bytes, REC_UUID_SIZE);
    }
}

static void get_identity(struct rec_get *get, struct rec_spool_dump *out) {
    struct rec_dump *dump = &out->dump;
    struct rec_stall *stall = &dump->stall;
    get_id(get, dump->id);
    get_id(get, stall->id);
    dump->wall_ms = rec_get_int(get);
    stall->seq = rec_get_upto(get, UINT32_MAX);
    stall->activity = rec_get_upto(get, UINT32_MAX);
    stall->threshold_ms = rec_get_uint(get);
    stall->at_ms = rec_get_uint(get);
    stall->detector = decode_keep_text(get, out);
    stall->kind = decode_keep_text(get, out);
    stall->prewarmed = rec_get_upto(get, 1) != 0;
    stall->sampled_edges = rec_get_upto(get, 1) != 0;
    rec_get_string(get, stall->action, sizeof stall->action);
    stall->top_thread = rec_get_int(get);
    rec_get_string(get, stall->top_thread_name, sizeof stall->top_thread_name);
    rec_get_string(get, stall->mode, sizeof stall->mode);
    rec_get_string(get, dump->lack, sizeof dump->lack);
    stall->state_count = rec_get_upto(get, REC_TRANSITIONS);
    for (uint32_t i = 0; i < stall->state_count; i++) {
        stall->states[i].at_ms = rec_get_int(get);
        stall->states[i].what = rec_get_upto(get, UINT32_MAX);
    }
    out->loop_at = decode_keep_text(get, out);
    dump->meter.samples = rec_get_upto(get, UINT32_MAX);
    dump->meter.unavailable = rec_get_upto(get, UINT32_MAX);
    dump->meter.pause_p50_us = rec_get_upto(get, UINT32_MAX);
    dump->meter.pause_max_us = rec_get_upto(get, UINT32_MAX);
    get_context(get, &dump->context);
    get->bad |= stall->kind == NULL || stall->detector == NULL || stall->seq == 0;
}

/* Reads an index, which is -1 or less than count. */
static int32_t get_index(struct rec_get *get, uint32_t count) {
    int64_t index = rec_get_int(get);
    get->bad |= index < -1 || index >= (int64_t)count;
    return get->bad ? -1 : (int32_t)index;
}

static void get_samples(struct rec_get *get, struct rec_spool_dump *out) {
    struct rec_dump *dump = &out->dump;
    dump->interval_ms = rec_get_upto(get, UINT32_MAX);
    int64_t heaviest = rec_get_int(get);
    dump->heaviest_repeats = rec_get_upto(get, UINT32_MAX);
    dump->stack_count = rec_get_upto(get, COUNT_OF(out->stacks));
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        out->stacks[i].count = rec_get_upto(get, UINT32_MAX);
        out->stacks[i].function = get_stack(get, out, &out->stacks[i].stack, NULL);
    }
    dump->ring_count = rec_get_upto(get, COUNT_OF(out->ring));
    for (uint32_t i = 0; i < dump->ring_count; i++) {
        out->ring[i] = get_index(get, dump->stack_count);
    }
    get->bad |= heaviest < -1 || heaviest >= (int64_t)dump->stack_count;
    dump->heaviest = get->bad ? -1 : (int32_t)heaviest;
}

static void get_image(struct rec_get *get, struct rec_spool_dump *out, struct rec_image *image) {
    *image = (struct rec_image){.id_kind = (enum rec_id_kind)rec_get_upto(get, REC_ID_BUILD)};
    image->id_len = (uint8_t)rec_get_upto(get, REC_IMAGE_ID_MAX);
    const unsigned char *id = rec_get_bytes(get, image->id_len);
    if (id != NULL) {
        memcpy(image->id, id, image->id_len);
    }
    image->path = decode_keep_text(get, out);
    image->arch = decode_keep_text(get, out);
    image->load = rec_get_uint(get);
    image->size = rec_get_uint(get);
    image->in_app = rec_get_upto(get, 1) != 0;
}

static void get_images(struct rec_get *get, struct rec_spool_dump *out) {
    uint32_t more;
    out->dump.image_count = 0;
    while ((more = rec_get_upto(get, 2)) == 1) {
        if (out->dump.image_count == COUNT_OF(out->images)) {
            get->bad = true;
            return;
        }
        get_image(get, out, &out->images[out->dump.image_count++]);
    }
    out->dump.images_lost = more == 2;
}

static void get_thread(struct rec_get *get, struct rec_spool_dump *out, struct rec_thread *thread) {
    *thread = (struct rec_thread){.id = rec_get_int(get)};
    rec_get_string(get, thread->name, sizeof thread->name);
    thread->state = (enum rec_thread_state)rec_get_upto(get, REC_STATE_STOPPED);
    thread->main = rec_get_upto(get, 1) != 0;
    thread->cpu_ns = rec_get_uint(get);
    thread->cpu_permille = rec_get_upto(get, UINT32_MAX);
    thread->waits_for.kind = (enum rec_wait_kind)rec_get_upto(get, REC_WAIT_STDIN);
    thread->waits_for.address = rec_get_uint(get);
    thread->waits_for.owner = rec_get_int(get);
    get_stack(get, out, &thread->stack, thread == out->threads ? out->main_starts : NULL);
}

static void get_threads(struct rec_get *get, struct rec_spool_dump *out) {
    out->dump.thread_count = 0;
    while (rec_get_upto(get, 1) == 1) {
        if (out->dump.thread_count == COUNT_OF(out->threads)) {
            get->bad = true;
            return;
        }
        get_thread(get, out, &out->threads[out->dump.thread_count++]);
    }
}

static void get_names(struct rec_get *get, struct rec_spool_dump *out) {
    out->dump.name_count = 0;
    while (rec_get_upto(get, 1) == 1) {
        if (out->dump.name_count == COUNT_OF(out->names)) {
            get->bad = true;
            return;
        }
        struct rec_code_name *name = &out->names[out->dump.name_count++];
        *name = (struct rec_code_name){.address = rec_get_uint(get)};
        name->symbol = decode_keep_text(get, out);
        name->offset = rec_get_uint(get);
        name->file = decode_keep_text(get, out);
        name->line = rec_get_upto(get, UINT32_MAX);
        name->in_app = rec_get_upto(get, 1) != 0;
        get->bad |= name->symbol == NULL;
    }
}

/* Reads one section, which must be REC_SECTION_DUMP if `first`, and must not be if not. False: the
 * section is damaged, or of an unknown kind. */
static bool get_section(struct rec_get *get, struct rec_spool_dump *out, bool first) {
    const unsigned char *tag = rec_get_bytes(get, 1), *len = rec_get_bytes(get, 4);
    uint32_t size = len != NULL ? rec_load_u32(len) : 0;
    const unsigned char *content = rec_get_bytes(get, size);
    if (tag == NULL || content == NULL || first != (*tag == REC_SECTION_DUMP)) {
        return false;
    }
    struct rec_get section = {.at = content, .end = content + size};
    switch (*tag) {
    case REC_SECTION_DUMP:
        get_identity(&section, out);
        break;
    case REC_SECTION_SAMPLES:
        get_samples(&section, out);
        break;
    case REC_SECTION_IMAGES:
        get_images(&section, out);
        break;
    case REC_SECTION_THREADS:
        get_threads(&section, out);
        break;
    case REC_SECTION_NAMES:
        get_names(&section, out);
        break;
    default:
        return false;
    }
    return !section.bad && section.at == section.end;
}

/* Copies times and counts from a slot's head to the dump. False: they contradict the dump. */
static bool decode_head(const struct rec_slot_head *head, struct rec_dump *dump) {
    struct rec_stall *stall = &dump->stall;
    stall->number = head->number;
    stall->duration_ms = head->duration_ms;
    stall->span_ms = head->span_ms;
    stall->gap_ms = head->gap_ms;
    stall->suppressed = head->suppressed;
    stall->cpu_permille = head->cpu_permille;
    stall->ended = head->ended;
    dump->meter.monitor_cpu_us = head->monitor_cpu_us;
    if (dump->thread_count > 0) {
        dump->threads[0].cpu_ns = head->main_cpu_ns;
    }
    return stall->at_ms <= stall->duration_ms && stall->span_ms <= stall->duration_ms;
}

bool rec_spool_decode(const struct rec_slot_head *head, const unsigned char *body, size_t len,
                      struct rec_spool_dump *out) {
    struct rec_get get = {.at = body, .end = body + len};
    memset(&out->dump, 0, sizeof out->dump);
    out->dump.threads = out->threads;
    out->dump.stacks = out->stacks;
    out->dump.ring = out->ring;
    out->dump.images = out->images;
    out->dump.names = out->names;
    out->dump.heaviest = -1;
    out->loop_at = NULL;
    out->word_count = out->text_len = 0;
    if (len > REC_SPOOL_BODY || !get_section(&get, out, true)) {
        return false;
    }
    while (get.at < get.end) {
        if (!get_section(&get, out, false)) {
            return false;
        }
    }
    return decode_head(head, &out->dump);
}
