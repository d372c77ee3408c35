/* Stalls: detects a stall whose heaviest stack stays that of its last dump less and less often, and
 * only counts such detections (annealing, anneal.h); divides the time of one stall among its dumps.
 *
 *     since      at(1)             at(2)          end
 *       |----------|-----------------|-------------|
 *       |<--------- span(1) -------->|<- span(2) ->|      span(1) + span(2) = duration
 */
#include "core/core_private.h"

#include <string.h>

#include "support/rec_text.h"

/* Number of dumps of one stall from which on STALLREC_BACKOFF_DUMPS spreads dumps out: a stack that
 * differs at each check (a recursion, a state machine) would otherwise give a dump at each check.
 * The later dumps are 1, 1, 2, 3, 5, 8 … checks apart, up to PAUSE_MAX, so that their number grows
 * with the logarithm of the stall's length. */
enum { DUMPS_UNPAUSED = 8, PAUSE_MAX = 1 << 20 };

/* Ms between two updates of an open dump's CPU use, as reading it costs a third of a sample. The
 * dump's times are updated with each sample, so that at most the time since the last sample is lost
 * if the process is killed. */
enum { CPU_MS = 200 };

/* A stack of one frame, which identifies the threads of one name. */
struct thread_identity {
    struct rec_stack stack;
    uint64_t id, none;
};

/* ---- callbacks ---- */

typedef void (*stall_callback)(void *user, const struct stallrec_stall *stall);

static void stall_tell(const struct rec_core *core, const struct rec_track *track,
                       stall_callback callback, uint64_t age_ms) {
    if (callback == NULL) {
        return;
    }
    char id[REC_UUID_TEXT];
    struct stallrec_stall stall = {.id = rec_uuid_text(track->stall.id, id),
                                   .at_ms = age_ms,
                                   .gap_ms = track->gap_ns / REC_NS_PER_MS,
                                   .threshold_ms = track->stall.threshold_ms,
                                   .dumps = track->stall.dumps,
                                   .kind = track->stall.kind,
                                   .detector = track->stall.detector};
    callback(core->config.user_data, &stall);
}

static void stall_note(const struct rec_core *core, const struct rec_track *track,
                       enum rec_note_kind kind, const char *detector, uint64_t value) {
    const struct rec_record *record = track->stall.record;
    rec_observers_note(core, &(struct rec_note){.kind = kind,
                                                .stall = track->stall.number,
                                                .detector = detector,
                                                .dump = record != NULL ? &record->dump : NULL,
                                                .value = value});
}

/* Sets id to 16 random bytes as a version 4 UUID (RFC 9562, section 5.4). */
static void stall_new_id(struct rec_core *core, uint8_t id[REC_UUID_SIZE]) {
    core->capture.random(core->capture.ctx, id, REC_UUID_SIZE);
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}

/* ---- dumps ---- */

/* Closes the open dump at t, when the stall's age is age_ms; the dump's span ends there. */
static void stall_close_dump(struct rec_core *core, struct rec_track *track, uint64_t t,
                             uint64_t age_ms, bool ended) {
    struct rec_record *record = track->stall.record;
    if (record == NULL) {
        return;
    }
    struct rec_stall *stall = &record->dump.stall;
    stall->span_ms = age_ms - track->stall.told_ms;
    stall->duration_ms = age_ms;
    stall->gap_ms = track->gap_ns / REC_NS_PER_MS;
    stall->ended = ended;
    stall->sampled_edges = track->sampled_edge;
    rec_record_cpu(core, track, record, t);
    track->stall.told_ms = age_ms;
    track->stall.record = NULL;
    rec_queue_close(core, record, t);
}

/* Writes the stall's duration as known now, its gaps, whether it has ended, and whether a sample
 * showed its begin or end into those of the stall's dumps that wait to be written. */
static void stall_tell_waiting_dumps(struct rec_core *core, const struct rec_track *track,
                                     uint64_t age_ms, bool ended) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        struct rec_record *record = &core->records[i];
        if (record->state == REC_RECORD_CLOSED &&
            record->dump.stall.number == track->stall.number) {
            record->dump.stall.duration_ms = age_ms;
            record->dump.stall.gap_ms = track->gap_ns / REC_NS_PER_MS;
            record->dump.stall.ended = ended;
            record->dump.stall.sampled_edges = track->sampled_edge;
            rec_observers_grown(core, record);
        }
    }
}

/* Sets the members that only some kinds of stall have: top_thread, action, prewarmed. */
static void stall_describe(struct rec_core *core, const struct rec_track *track,
                           struct rec_stall *stall) {
    if (track == &core->tracks[REC_TRACK_CPU] && core->window.top_known) {
        stall->top_thread = core->window.top.id;
        memcpy(stall->top_thread_name, core->window.top.name, sizeof stall->top_thread_name);
    }
    for (uint32_t i = 0; track == &core->tracks[REC_TRACK_SPAN] && i < REC_SPANS; i++) {
        if (core->spans[i].running && core->spans[i].late) {
            memcpy(stall->action, core->spans[i].name, sizeof stall->action);
        }
    }
    stall->prewarmed = track == &core->tracks[REC_TRACK_LOOP] && core->launch && core->prewarmed;
}

static void stall_open_dump(struct rec_core *core, struct rec_track *track,
                            struct rec_record *record, const struct rec_detection *detection,
                            uint64_t now, const struct rec_heaviest *heaviest) {
    uint64_t age_ms = rec_track_age(track, now) / REC_NS_PER_MS;
    record->state = REC_RECORD_OPEN;
    record->grown_ns = record->cpu_ns = 0;
    track->stall.record = record;
    track->stall.dumps++;
    core->totals.dumps++;
    struct rec_dump *dump = &record->dump;
    dump->stall = (struct rec_stall){.since_ns = track->since_ns,
                                     .number = track->stall.number,
                                     .seq = track->stall.dumps,
                                     .activity = core->activity,
                                     .threshold_ms = detection->threshold_ms,
                                     .at_ms = age_ms,
                                     .duration_ms = age_ms,
                                     .gap_ms = track->gap_ns / REC_NS_PER_MS,
                                     .sampled_edges = track->sampled_edge,
                                     .cpu_permille = -1,
                                     .top_thread = -1,
                                     .detector = detection->detector,
                                     .kind = track->stall.kind};
    memcpy(dump->stall.id, track->stall.id, sizeof dump->stall.id);
    stall_describe(core, track, &dump->stall);
    record->about_work =
        track == &core->tracks[REC_TRACK_CPU] || track == &core->tracks[REC_TRACK_SPAN];
    stall_new_id(core, dump->id);
    dump->wall_ms = core->capture.wall_ms(core->capture.ctx);
    if (core->past && core->past_ns > now) {
        dump->wall_ms -= (int64_t)((core->past_ns - now) / REC_NS_PER_MS);
    }
    rec_record_fill(core, record, heaviest);
    rec_observers_kept(core, record);
    stall_note(core, track, REC_NOTE_DUMP, detection->detector, age_ms);
}

/* Returns the FNV-1a hash of the name. */
static uint64_t name_hash(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Returns the stack that identifies a detection of the track; NULL: there is none. A CPU stall
 * lasts as long as threads of one name, such as those of a pool, use the most CPU time, whatever
 * code they run. So if that name is known, a stack of one frame is made from it, in *by_thread; in
 * all other cases the heaviest stack is returned. */
static const struct rec_stack *identity(const struct rec_core *core, const struct rec_track *track,
                                        const struct rec_heaviest *heaviest,
                                        struct thread_identity *by_thread) {
    if (track == &core->tracks[REC_TRACK_CPU] && core->window.top_known) {
        by_thread->id = name_hash(core->window.top.name);
        by_thread->none = 0;
        by_thread->stack = (struct rec_stack){
            .frames = &by_thread->id, .starts = &by_thread->none, .cap = 1, .count = 1};
        return &by_thread->stack;
    }
    return heaviest->slot != NULL ? &heaviest->slot->stack : NULL;
}

/* Handles a detection that makes a dump: closes the stall's open dump, if there is one, and opens a
 * new one. If no record is free, it does neither: the new dump is counted as lost. */
static void stall_begin_dump(struct rec_core *core, struct rec_track *track,
                             const struct rec_detection *detection, uint64_t now,
                             const struct rec_heaviest *heaviest) {
    uint64_t age_ms = rec_track_age(track, now) / REC_NS_PER_MS;
    struct rec_record *record = rec_queue_free(core);
    if (record == NULL) {
        /* The open dump, if there is one, continues and covers the time of this detection, too. */
        core->totals.lost++;
        if (core->config.callbacks.dump_lost != NULL) {
            core->config.callbacks.dump_lost(core->config.user_data, NULL, STALLREC_ERR_MEMORY);
        }
        stall_note(core, track, REC_NOTE_LOST, detection->detector, age_ms);
        return;
    }
    stall_close_dump(core, track, now, age_ms, false);
    struct thread_identity by_thread;
    rec_anneal_remember(&track->anneal, identity(core, track, heaviest, &by_thread));
    stall_open_dump(core, track, record, detection, now, heaviest);
}

/* ---- detection ---- */

static void stall_begin(struct rec_core *core, struct rec_track *track,
                        const struct rec_detection *detection, uint64_t now) {
    struct rec_track *cpu = &core->tracks[REC_TRACK_CPU];
    if (rec_is_hang(core, track) && cpu->running) {
        /* A hang that begins ends an open CPU stall, because the CPU use counts as the hang's from
         * now on. */
        rec_stall_end(core, cpu, now, true);
        cpu->running = false;
    }
    track->stall = (struct rec_open_stall){.active = true,
                                           .number = ++core->stall_count,
                                           .kind = detection->kind,
                                           .detector = detection->detector,
                                           .threshold_ms = detection->threshold_ms};
    stall_new_id(core, track->stall.id);
    core->totals.stalls++;
    uint64_t age_ms = rec_track_age(track, now) / REC_NS_PER_MS;
    stall_note(core, track, REC_NOTE_BEGIN, detection->detector, age_ms);
}

static void stall_suppress(struct rec_core *core, struct rec_track *track, const char *detector) {
    core->totals.detections++;
    core->totals.suppressed++;
    if (track->stall.record != NULL) {
        track->stall.record->dump.stall.suppressed++;
    } else {
        core->totals.suppressed_alone++;
    }
    rec_anneal_grow(&track->anneal, rec_backs_off_checks(core) ? 0 : core->config.backoff_cap);
    stall_note(core, track, REC_NOTE_SAME, detector, 0);
}

/* Sets how many checks pass before the next dump, from the stall's dump number DUMPS_UNPAUSED on.
 * It does so for STALLREC_BACKOFF_DUMPS only, as the other ways to back off follow their
 * publications. */
static void stall_pause_dumps(const struct rec_core *core, struct rec_track *track) {
    struct rec_open_stall *stall = &track->stall;
    if (core->config.backoff != STALLREC_BACKOFF_DUMPS || stall->dumps < DUMPS_UNPAUSED) {
        return;
    }
    uint32_t next = stall->last_pause + (stall->pause > 0 ? stall->pause : 1);
    stall->last_pause = stall->pause;
    stall->pause = next < PAUSE_MAX ? next : PAUSE_MAX;
    stall->pausing = stall->pause - 1;
}

bool rec_stall_detect(struct rec_core *core, struct rec_track *track,
                      const struct rec_detection *detection, uint64_t now) {
    rec_sampler_refresh(core, now);
    if (track == &core->tracks[REC_TRACK_LOOP] && rec_stretch_over(core, now)) {
        return false; /* the end of the stretch is about to be reported, and rec_detect_late judges
                         it then */
    }
    return rec_stall_detect_sampled(core, track, detection, now);
}

bool rec_stall_detect_sampled(struct rec_core *core, struct rec_track *track,
                              const struct rec_detection *detection, uint64_t now) {
    struct rec_heaviest heaviest = rec_heaviest_find(&core->ring);
    const struct rec_stack *stack = heaviest.slot != NULL ? &heaviest.slot->stack : NULL;
    if (rec_is_hang(core, track) && stack != NULL &&
        (stack->idle || stack->rest != REC_REST_NONE)) {
        core->totals.vetoed++;
        stall_note(core, track, REC_NOTE_VETO, detection->detector, 0);
        return false;
    }
    if (track->stall.active && track->stall.pausing > 0) {
        track->stall.pausing--;
        track->stall.quiet -= track->stall.quiet > 0;
        return true;
    }
    struct thread_identity by_thread;
    bool same = core->config.backoff != STALLREC_BACKOFF_NONE &&
                rec_anneal_same(&track->anneal, identity(core, track, &heaviest, &by_thread));
    if (same && track->stall.active && track->stall.quiet > 0) {
        track->stall.quiet--;
        return true;
    }
    bool first = !track->stall.active;
    if (first) {
        stall_begin(core, track, detection, now);
    }
    if (same) {
        stall_suppress(core, track, detection->detector);
    } else {
        core->totals.detections++;
        stall_begin_dump(core, track, detection, now, &heaviest);
    }
    if (first) { /* stall_begin is called after the keeper has the dump, so that the dump of a stall
                    that was reported can outlive the process */
        stall_tell(core, track, core->config.callbacks.stall_begin,
                   rec_track_age(track, now) / REC_NS_PER_MS);
    }
    if (!same) {
        stall_pause_dumps(core, track);
    }
    track->stall.quiet = rec_backs_off_checks(core) ? 0 : track->anneal.interval - 1;
    return true;
}

void rec_stall_checked(struct rec_core *core, struct rec_track *track, bool found, uint64_t now) {
    if (!found && !track->stall.active) {
        rec_anneal_reset(&track->anneal);
    }
    uint64_t checks = found && rec_backs_off_checks(core) ? track->anneal.interval : 1;
    uint64_t period = rec_ms(core->config.check_ms);
    track->next_check_ns += checks * period;
    if (track->next_check_ns <= now) { /* the check is late, and the next one is on the time grid */
        track->next_check_ns += ((now - track->next_check_ns) / period + 1) * period;
    }
}

/* Does the track's stall stay unchanged for now, because the loop is not known? */
static bool is_frozen(const struct rec_core *core, const struct rec_track *track) {
    return core->doubt && !core->launch && track == &core->tracks[REC_TRACK_LOOP];
}

void rec_stall_threads(struct rec_core *core, uint64_t now) {
    for (int i = 0; i < REC_TRACKS; i++) {
        const struct rec_track *track = &core->tracks[i];
        struct rec_record *record = track->stall.record;
        if (record != NULL && !record->threads && !is_frozen(core, track) &&
            rec_track_age(track, now) >= rec_ms(core->config.threads_after_ms)) {
            rec_record_threads(core, record);
            rec_observers_kept(core, record);
        }
    }
}

void rec_stall_grow(struct rec_core *core, uint64_t now) {
    for (int i = 0; i < REC_TRACKS; i++) {
        const struct rec_track *track = &core->tracks[i];
        struct rec_record *record = track->stall.record;
        if (record == NULL || is_frozen(core, track) ||
            (record->grown_ns != 0 &&
             now - record->grown_ns < rec_ms(core->config.sample_ms) / 2)) {
            continue;
        }
        record->grown_ns = now;
        struct rec_stall *stall = &record->dump.stall;
        uint64_t age_ms = rec_max(rec_track_age(track, now) / REC_NS_PER_MS, stall->at_ms);
        stall->duration_ms = age_ms;
        stall->span_ms = age_ms - track->stall.told_ms;
        stall->gap_ms = track->gap_ns / REC_NS_PER_MS;
        if (now - record->cpu_ns >= rec_ms(CPU_MS)) {
            record->cpu_ns = now;
            rec_record_cpu(core, track, record, now);
        }
        rec_observers_grown(core, record);
    }
}

/* Counts a stretch without a stall that reaches the threshold only because of a gap, in which the
 * process did not run. */
static void stall_count_gap(struct rec_core *core, const struct rec_track *track, uint64_t age) {
    uint64_t threshold = rec_ms(core->config.threshold_ms);
    if (track == &core->tracks[REC_TRACK_LOOP] && !core->launch &&
        rec_detects(core, STALLREC_DETECT_RUNLOOP) && age < threshold &&
        age + track->gap_ns >= threshold) {
        core->totals.gap_stalls++;
        stall_note(core, track, REC_NOTE_GAP_STALL, "runloop", 0);
    }
}

void rec_stall_end(struct rec_core *core, struct rec_track *track, uint64_t t, bool ended) {
    uint64_t age = rec_track_age(track, t);
    if (!track->stall.active) {
        stall_count_gap(core, track, age);
        return;
    }
    /* The stretch may have ended just before the detection of the last dump; the stall's length is
     * then the age of that dump. */
    uint64_t age_ms = rec_max(age / REC_NS_PER_MS, rec_track_known_ms(track));
    stall_close_dump(core, track, t, age_ms, ended);
    stall_tell_waiting_dumps(core, track, age_ms, ended);
    rec_released_end(core, track->stall.number, age_ms);
    if (ended) {
        core->totals.stalled_ms += age_ms;
        core->totals.severe += core->config.severe_ms > 0 && age_ms >= core->config.severe_ms;
    }
    stall_note(core, track, REC_NOTE_END, track->stall.detector, age_ms);
    stall_tell(core, track, core->config.callbacks.stall_end, age_ms);
    track->stall = (struct rec_open_stall){0};
    if (!rec_backs_off_checks(core)) {
        rec_anneal_reset(&track->anneal);
    }
}
