/* The recorder in a program that the library was preloaded into, and what it tells the command. */
#include <string.h>
#include <unistd.h>

#include "monitor.h"
#include "preload/preload_private.h"
#include "stallrec.h"

#define EXIT_NS UINT64_C(2000000000) /* how long the program's exit waits */

/* Earlier than in an app: someone who looks for a stall wants to know who holds the lock, at the
 * price of a signal to running threads. */
enum { THREADS_AFTER_MS = 1000 };

_Static_assert((int)PRELOAD_UNWATCHED == (int)REC_UNWATCHED_REASONS, "the same reasons");

/* The interposed functions have no context argument, so their state is global. */
static struct {
    struct stallrec *rec;
    struct preload_process *process;
    struct preload_process nobody_reads; /* where the report has no room */
    uint64_t stalls, dumps, lost;        /* of the program that this process was before exec */
    const struct preload_config *config;
} state;

/* ---- what was recorded ---- */

/* The entry of this process. A program that replaces itself goes on with its own. */
static struct preload_process *find_process(void) {
    struct preload_report *report = state.config->report;
    uint32_t pid = (uint32_t)getpid();
    uint32_t used = __atomic_load_n(&report->recorded, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used && i < PRELOAD_PROCESSES; i++) {
        struct preload_process *p = &report->process[i];
        if (p->pid == pid && !p->ended) {
            return p;
        }
    }
    uint32_t i = __atomic_fetch_add(&report->recorded, 1, __ATOMIC_RELAXED);
    struct preload_process *p = i < PRELOAD_PROCESSES ? &report->process[i] : &state.nobody_reads;
    p->pid = pid;
    return p;
}

static void on_published(void *ctx, const struct monitor_totals *totals) {
    struct preload_process *p = ctx;
    p->stalls = state.stalls + totals->core.stalls;
    p->dumps = state.dumps + totals->written;
    p->wall_ms = totals->watched.wall_ms;
    p->watched_ms = totals->watched.watched_ms;
    memcpy(p->unwatched_ms, totals->watched.unwatched_ms, sizeof p->unwatched_ms);
    __atomic_store_n(&p->told_ns, totals->now_ns, __ATOMIC_RELEASE);
}

static void preload_on_lost(void *user, const char *path, enum stallrec_error why) {
    (void)user, (void)path, (void)why;
    __atomic_fetch_add(&state.process->lost, 1, __ATOMIC_RELAXED);
}

/* Sets the values of --context. The command has checked them, but one slot may be given twice. */
static void set_context(void) {
    for (const char *pair = state.config->context; *pair; pair += strlen(pair) + 1) {
        char key[STALLREC_CONTEXT_KEY];
        size_t size = strcspn(pair, "=");
        if (size < sizeof key && pair[size] == '=') {
            memcpy(key, pair, size);
            key[size] = '\0';
            stallrec_context_set(state.rec, key, pair + size + 1);
        }
    }
}

static void preset_values(const struct preload_config *from, struct stallrec_config *config) {
    stallrec_config_init(config, sizeof *config);
    if (*from->preset) {
        stallrec_config_preset(config, from->preset);
    }
}

uint64_t preload_threshold_ns(const struct preload_config *from) {
    struct stallrec_config config;
    preset_values(from, &config);
    return (from->threshold_ms > 0 ? from->threshold_ms : config.threshold_ms) * UINT64_C(1000000);
}

struct preload_process *preload_start_recorder(const struct preload_config *from,
                                               struct stallrec_loop **loop) {
    state.config = from;
    struct stallrec_config config;
    preset_values(state.config, &config);
    state.process = find_process();
    state.stalls = state.process->stalls;
    state.dumps = state.process->dumps;
    config.directory = state.config->directory;
    if (strcmp(config.preset, "default") == 0) { /* the others are as published */
        config.threads_after_ms = THREADS_AFTER_MS;
    }
    if (state.config->threshold_ms > 0) {
        config.threshold_ms = state.config->threshold_ms;
        if (config.first_sample_ms > config.threshold_ms / 2) {
            config.first_sample_ms = config.threshold_ms / 2; /* some samples before it */
        }
    }
    if (state.config->sample_ms > 0) {
        config.sample_ms = state.config->sample_ms;
    }
    if (state.config->ring > 0) {
        config.ring = state.config->ring;
    }
    if (state.config->check_ms > 0) {
        config.check_ms = state.config->check_ms;
    }
    /* A launch that is examined once the loop has been found is over by then. */
    config.detectors &= ~(uint32_t)STALLREC_DETECT_LAUNCH;
    if (state.config->detectors != 0) {
        config.detectors = state.config->detectors;
    }
    if (state.config->cpu_limit_permille > 0) {
        config.cpu_limit_permille = state.config->cpu_limit_permille;
    }
    config.trace_path = *state.config->trace ? state.config->trace : NULL;
    /* The user asked for the recording, so all dumps are kept and none is uploaded. */
    config.user_share_ppm = 0;
    config.upload_per_day = 0;
    config.keep_days = state.config->keep_days;
    config.keep_bytes = state.config->keep_bytes;
    config.keep_files = state.config->keep_files;
    config.callbacks.dump_lost = preload_on_lost;
    const struct monitor_finding finding = {stallrec_process_start_ns(), on_published,
                                            state.process};
    enum stallrec_error st = monitor_start(&state.rec, &config, &finding);
    if (st != STALLREC_OK) {
        state.rec = NULL;
        state.config->report->error = (int32_t)st;
        *loop = NULL;
        return state.process;
    }
    monitor_report_trace(state.rec, &state.config->report->trace_failed);
    set_context();
    *loop = stallrec_main_loop(state.rec);
    return state.process;
}

void preload_name_loop(const char *loop_at) {
    monitor_name_loop(state.rec, loop_at);
}

void preload_stop_recorder(void) {
    if (monitor_stop(state.rec, stallrec_clock_ns() + EXIT_NS)) {
        state.process->ended = 1;
    }
}
