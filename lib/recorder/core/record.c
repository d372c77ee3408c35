/* Fills a dump's memory with the facts of a detection: samples, threads, images, cost. */
#include <string.h>

#include "core/core_private.h"

/* ---- samples ---- */

static bool stacks_equal(const struct rec_stack *a, const struct rec_stack *b) {
    return a->count == b->count &&
           memcmp(a->frames, b->frames, a->count * sizeof *a->frames) == 0 &&
           a->exact_count == b->exact_count &&
           memcmp(a->exact, b->exact, a->exact_count * sizeof *a->exact) == 0;
}

/* Returns the index of the slot's stack among the dump's distinct stacks, and adds the stack if it
 * is new. */
static int32_t intern_stack(struct rec_dump *dump, const struct rec_slot *slot) {
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        if (stacks_equal(&dump->stacks[i].stack, &slot->stack)) {
            dump->stacks[i].count++;
            return (int32_t)i;
        }
    }
    struct rec_record_stack *added = &dump->stacks[dump->stack_count];
    rec_stack_copy(&added->stack, &slot->stack);
    added->count = 1;
    added->function =
        slot->stack.starts != NULL && slot->stack.count > 0 ? slot->stack.starts[0] : 0;
    return (int32_t)dump->stack_count++;
}

static void fill_samples(struct rec_core *core, struct rec_dump *dump,
                         const struct rec_heaviest *heaviest) {
    dump->stack_count = 0;
    dump->ring_count = core->ring.count;
    dump->interval_ms = core->config.sample_ms;
    dump->heaviest = -1;
    dump->heaviest_repeats = heaviest->repeats;
    for (uint32_t i = 0; i < core->ring.count; i++) {
        const struct rec_slot *slot = rec_ring_at(&core->ring, i);
        dump->ring[i] = slot->available ? intern_stack(dump, slot) : -1;
        if (slot == heaviest->slot) {
            dump->heaviest = dump->ring[i];
        }
    }
}

/* ---- threads ---- */

/* Sets all members of the watched thread except its stack. */
static void describe_main(struct rec_core *core, struct rec_thread *main) {
    const struct rec_capture *capture = &core->capture;
    struct rec_stack stack = main->stack;
    *main = (struct rec_thread){.cpu_ns = UINT64_MAX, .waits_for.owner = -1};
    if (capture->main_thread != NULL) {
        capture->main_thread(capture->ctx, main);
    }
    if (core->past) {
        main->state = REC_STATE_UNKNOWN;
        main->waits_for = (struct rec_wait){.owner = -1};
    }
    main->main = true;
    main->cpu_ns = UINT64_MAX; /* its CPU time is filled in by rec_record_cpu */
    main->stack = stack;
}

/* Clears the threads' cpu_permille, which only dumps that are about work have. */
static void drop_shares(struct rec_dump *dump) {
    for (uint32_t i = 0; i < dump->thread_count; i++) {
        dump->threads[i].cpu_permille = 0;
    }
}

static void fill_main_thread(struct rec_core *core, struct rec_dump *dump) {
    struct rec_thread *main = &dump->threads[0];
    const struct rec_slot *newest = rec_ring_newest(&core->ring);
    main->stack.count = 0;
    if (newest != NULL) {
        rec_stack_copy(&main->stack, &newest->stack);
    }
    describe_main(core, main);
    dump->thread_count = 1;
    dump->threads_left_out = 0;
}

/* ---- images ---- */

static bool image_holds(const struct rec_image *image, uint64_t address) {
    return address >= image->load && address - image->load < image->size;
}

/* Returns a copy of the text in the record's memory; NULL for NULL, and without room, in which case
 * it sets dump.images_lost. */
static const char *record_keep_text(struct rec_record *record, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    if (size > REC_TEXT_MAX - record->text_len) {
        record->dump.images_lost = true;
        return NULL;
    }
    char *kept = record->text + record->text_len;
    memcpy(kept, text, size);
    record->text_len += (uint32_t)size;
    return kept;
}

/* Adds the image that holds the address, unless the dump has it already; without room it sets
 * dump.images_lost instead. False: no image holds the address. */
static bool add_image(struct rec_core *core, struct rec_record *record, uint64_t address) {
    struct rec_dump *dump = &record->dump;
    for (uint32_t i = 0; i < dump->image_count; i++) {
        if (image_holds(&dump->images[i], address)) {
            return true;
        }
    }
    struct rec_image image;
    if (!core->capture.image_at(core->capture.ctx, address, &image)) {
        return false;
    }
    for (uint32_t i = 0; i < dump->image_count; i++) {
        /* the dump already has this image, whose size is not known */
        if (dump->images[i].load == image.load) {
            return true;
        }
    }
    if (dump->image_count == REC_IMAGES_MAX) {
        dump->images_lost = true;
        return true;
    }
    image.path = record_keep_text(record, image.path);
    image.arch = record_keep_text(record, image.arch);
    uint32_t at =
        dump->image_count++; /* sorted by load address, so that equal states give equal dumps */
    for (; at > 0 && dump->images[at - 1].load > image.load; at--) {
        dump->images[at] = dump->images[at - 1];
    }
    dump->images[at] = image;
    return true;
}

/* ---- code in no image ---- */

/* Adds the address to those that need a name; an address for which there is no room gets none. */
static void add_name(struct rec_dump *dump, uint64_t address, bool exact) {
    uint32_t at = dump->name_count;
    while (at > 0 && dump->names[at - 1].address > address) {
        at--;
    }
    bool known = at > 0 && dump->names[at - 1].address == address;
    if (known || dump->name_count == REC_CODE_NAMES_MAX) {
        return;
    }
    for (uint32_t i = dump->name_count++; i > at; i--) {
        dump->names[i] = dump->names[i - 1];
    }
    dump->names[at] = (struct rec_code_name){.address = address, .exact = exact};
}

/* Returns the record's copy of a text, of which equal texts share one; NULL if text is NULL or
 * there is no room. */
static const char *keep_code_text(struct rec_record *record, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    for (uint32_t at = 0; at < record->code_text_len;) {
        const char *kept = record->code_text + at;
        if (strcmp(kept, text) == 0) {
            return kept;
        }
        at += (uint32_t)strlen(kept) + 1;
    }
    if (size > REC_CODE_TEXT_MAX - record->code_text_len) {
        return NULL;
    }
    char *kept = record->code_text + record->code_text_len;
    memcpy(kept, text, size);
    record->code_text_len += (uint32_t)size;
    return kept;
}

static bool is_kept(const struct rec_record *record, const char *text) {
    return text >= record->code_text && text < record->code_text + record->code_text_len;
}

/* Gets the names of all addresses in dump.names from the capture, copies those that are not in the
 * record yet into it, and drops addresses without a name and those for whose name there is no
 * room. */
static void fill_names(struct rec_core *core, struct rec_record *record) {
    struct rec_dump *dump = &record->dump;
    uint32_t left = 0;
    if (dump->name_count > 0 && core->capture.name_code != NULL) {
        core->capture.name_code(core->capture.ctx, dump->names, dump->name_count);
    }
    for (uint32_t i = 0; i < dump->name_count; i++) {
        struct rec_code_name name = dump->names[i];
        if (name.symbol == NULL || !is_kept(record, name.symbol)) {
            name.symbol = keep_code_text(record, name.symbol);
            name.file = keep_code_text(record, name.file);
        }
        if (name.symbol != NULL) {
            dump->names[left++] = name;
        }
    }
    dump->name_count = left;
}

/* ---- stacks ---- */

static bool frame_exact(const struct rec_stack *stack, uint32_t frame) {
    if (stack->exact_count == 0) {
        return frame == 0;
    }
    for (uint32_t i = 0; i < stack->exact_count; i++) {
        if (stack->exact[i] == frame) {
            return true;
        }
    }
    return false;
}

static void add_stack_images(struct rec_core *core, struct rec_record *record,
                             const struct rec_stack *stack) {
    for (uint32_t i = 0; i < stack->count; i++) {
        /* A call can be the last instruction of its image, and its return address then lies after
         * the image. */
        uint64_t address = stack->frames[i];
        bool exact = frame_exact(stack, i);
        if (address > 0 && !add_image(core, record, exact ? address : address - 1)) {
            add_name(&record->dump, address, exact);
        }
    }
}

static void fill_images(struct rec_core *core, struct rec_record *record) {
    struct rec_dump *dump = &record->dump;
    dump->image_count = 0;
    dump->images_lost = false;
    record->text_len = 0;
    dump->name_count = 0;
    record->code_text_len = 0;
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        add_stack_images(core, record, &dump->stacks[i].stack);
    }
    add_stack_images(core, record, &dump->threads[0].stack);
    fill_names(core, record);
}

/* ---- the other threads ---- */

/* Did the loop's stall end while the threads were captured? The captured threads then show the time
 * after the stall, and are dropped. */
static bool came_too_late(const struct rec_core *core, const struct rec_record *record) {
    return record == core->tracks[REC_TRACK_LOOP].stall.record && rec_stretch_over_now(core);
}

static bool is_waited_for(const struct rec_dump *dump, int64_t id) {
    for (uint32_t i = 1; i < dump->thread_count; i++) {
        const struct rec_wait *wait = &dump->threads[i].waits_for;
        if (wait->kind != REC_WAIT_NONE && wait->owner == id) {
            return true;
        }
    }
    return false;
}

void rec_record_threads(struct rec_core *core, struct rec_record *record) {
    const struct rec_capture *capture = &core->capture;
    struct rec_dump *dump = &record->dump;
    const struct rec_thread before = dump->threads[0];
    uint32_t room = core->config.max_threads - 1;
    record->threads = true;
    if (room == 0 || capture->threads == NULL) {
        return;
    }
    /* The waits of all threads must be from one moment, because a mixture of moments could look
     * like a deadlock. */
    describe_main(core, &dump->threads[0]);
    uint32_t left_out = 0;
    uint32_t got = capture->threads(capture->ctx, dump->threads + 1, room, &left_out);
    if (came_too_late(core, record)) {
        dump->threads[0] = before;
        return;
    }
    dump->threads_left_out = left_out;
    if (left_out > core->totals.threads_left_out) {
        core->totals.threads_left_out = left_out;
    }
    dump->thread_count = 1 + (got < room ? got : room);
    for (uint32_t i = 1; i < dump->thread_count; i++) {
        add_stack_images(core, record, &dump->threads[i].stack);
    }
    fill_names(core, record);
    if (!record->about_work) {
        drop_shares(dump);
    }
    /* The main thread no longer waits. Its earlier wait stays with its earlier stack, unless
     * another thread waits for it now. */
    if (dump->threads[0].waits_for.kind == REC_WAIT_NONE && !is_waited_for(dump, before.id)) {
        dump->threads[0] = before;
    }
}

/* ---- cost ---- */

/* Returns how many samples stopped the thread for less than `pause` ns; *equal: how many for
 * exactly that. */
static uint32_t count_below(const struct rec_ring *ring, uint32_t pause, uint32_t *equal) {
    uint32_t below = 0;
    *equal = 0;
    for (uint32_t i = 0; i < ring->count; i++) {
        const struct rec_slot *slot = rec_ring_at(ring, i);
        if (slot->available) {
            below += slot->stack.pause_ns < pause;
            *equal += slot->stack.pause_ns == pause;
        }
    }
    return below;
}

static void fill_meter(struct rec_core *core, struct rec_dump *dump) {
    struct rec_meter *meter = &dump->meter;
    *meter = (struct rec_meter){.samples = core->ring.count};
    uint32_t available = 0, max = 0, median = 0;
    for (uint32_t i = 0; i < core->ring.count; i++) {
        const struct rec_slot *slot = rec_ring_at(&core->ring, i);
        available += slot->available;
        if (slot->available && slot->stack.pause_ns > max) {
            max = slot->stack.pause_ns;
        }
    }
    /* The median is found by rank, without sorting, as the ring is small and must not be
     * changed. */
    uint32_t rank = available > 0 ? (available - 1) / 2 : 0;
    for (uint32_t i = 0; i < core->ring.count; i++) {
        const struct rec_slot *slot = rec_ring_at(&core->ring, i);
        uint32_t equal;
        uint32_t below = count_below(&core->ring, slot->stack.pause_ns, &equal);
        if (slot->available && below <= rank && rank < below + equal) {
            median = slot->stack.pause_ns;
        }
    }
    meter->unavailable = core->ring.count - available;
    meter->pause_max_us = (max + 999) / 1000;
    meter->pause_p50_us = (median + 999) / 1000;
}

/* ---- the loop's transitions ---- */

/* Copies a text, or "" for NULL, cut to `room` bytes with its NUL. */
static void copy_record_text(char *to, size_t room, const char *text) {
    size_t i = 0;
    for (; text && i + 1 < room && text[i] != '\0'; i++) {
        to[i] = text[i];
    }
    to[i] = '\0';
}

static void fill_states(struct rec_core *core, struct rec_stall *stall) {
    const struct rec_capture *capture = &core->capture;
    struct rec_transition transitions[REC_TRANSITIONS];
    /* The capture has the present transitions, which do not belong to a past stall. */
    bool told = capture->transitions != NULL && !core->past;
    uint32_t count = told ? capture->transitions(capture->ctx, transitions) : 0;
    const char *mode = capture->mode ? capture->mode(capture->ctx) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        int64_t ns = (int64_t)(transitions[i].at_ns - stall->since_ns);
        const int64_t unit = REC_NS_PER_MS;
        stall->states[i] =
            (struct rec_loop_state){ns / unit - (ns % unit < 0), transitions[i].what};
    }
    stall->state_count = count;
    copy_record_text(stall->mode, sizeof stall->mode, mode);
}

static uint64_t since(uint64_t now, uint64_t then) {
    return now == UINT64_MAX || then == UINT64_MAX || now < then ? UINT64_MAX : now - then;
}

void rec_record_cpu(struct rec_core *core, const struct rec_track *track, struct rec_record *record,
                    uint64_t t) {
    struct rec_cpu cpu;
    if (!track->cpu_known) {
        return;
    }
    core->capture.cpu(core->capture.ctx, &cpu);
    uint64_t process = since(cpu.process_ns, track->cpu.process_ns);
    uint64_t monitor = since(cpu.monitor_ns, track->cpu.monitor_ns);
    uint64_t wall_ms =
        t > track->cpu_ns + track->gap_ns ? (t - track->cpu_ns - track->gap_ns) / REC_NS_PER_MS : 0;
    record->dump.threads[0].cpu_ns = since(cpu.main_ns, track->cpu.main_ns);
    if (process != UINT64_MAX && wall_ms > 0) {
        uint64_t permille = process / 1000 / wall_ms;
        record->dump.stall.cpu_permille = permille < INT32_MAX ? (int32_t)permille : INT32_MAX;
    }
    record->dump.meter.monitor_cpu_us = monitor != UINT64_MAX ? monitor / 1000 : 0;
}

void rec_record_fill(struct rec_core *core, struct rec_record *record,
                     const struct rec_heaviest *heaviest) {
    fill_samples(core, &record->dump, heaviest);
    fill_main_thread(core, &record->dump);
    if (!record->about_work) {
        drop_shares(&record->dump);
    }
    fill_images(core, record);
    record->threads = false;
    bool late = record->dump.stall.at_ms >= core->config.threads_after_ms;
    if (record->about_work || (late && !core->past)) {
        rec_record_threads(core, record);
    }
    fill_meter(core, &record->dump);
    fill_states(core, &record->dump.stall);
    const char *lack = core->capture.lack ? core->capture.lack(core->capture.ctx) : NULL;
    record->dump.lack[0] = '\0';
    copy_record_text(record->dump.lack, sizeof record->dump.lack, lack);
    if (core->capture.context != NULL) {
        rec_context_read(core->capture.context, &record->dump.context);
    }
}
