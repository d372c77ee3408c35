/* Reads the configuration struct of a caller that may be older or newer than the library, and
 * describes errors. */
#include <string.h>

#include "core/core.h"
#include "stallrec.h"

enum { KNOWN_FLAGS = STALLREC_PLAIN_JSON | STALLREC_WHITELISTED };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static bool in_range(uint32_t value, uint32_t low, uint32_t high) {
    return value >= low && value <= high;
}

static bool policy_ok(const struct stallrec_config *c) {
    return c->user_share_ppm <= 1000000 && c->epoch <= STALLREC_EPOCH_RELEASE &&
           c->keep_days <= 36500 &&
           (c->file_mode == 0 || ((c->file_mode & 0600) == 0600 && (c->file_mode & ~0666u) == 0));
}

static bool ranges_ok(const struct stallrec_config *c) {
    const uint32_t hour = 3600000;
    return in_range(c->threshold_ms, 1, hour) && in_range(c->check_ms, 10, hour) &&
           in_range(c->sample_ms, 1, 60000) && c->first_sample_ms <= hour &&
           in_range(c->ring, 1, 256) && in_range(c->max_frames, 8, 1024) &&
           in_range(c->max_threads, 1, 256) && c->backoff <= STALLREC_BACKOFF_NONE &&
           in_range(c->backoff_cap, 1, 1000) && c->check <= STALLREC_CHECK_PERIODIC &&
           c->write_deadline_ms <= hour && (c->flags & ~(uint32_t)KNOWN_FLAGS) == 0 &&
           c->signal_number >= 0 && policy_ok(c);
}

/* Are `detectors`, restart, severe_ms and the values of the detectors valid? Values of a detector
 * that is off are not checked, as an older caller's struct lacks them. */
static bool detectors_ok(const struct stallrec_config *c) {
    const uint32_t hour = 3600000, on = c->detectors;
    const uint32_t all = 2 * STALLREC_DETECT_SPAN - 1;
    return (on & ~all) == 0 && c->restart <= STALLREC_RESTART_ACTIVITY && c->severe_ms <= hour &&
           ((on & STALLREC_DETECT_SEMAPHORE) == 0 ||
            (in_range(c->sem_ms, 1, 60000) && in_range(c->sem_count, 1, 1000))) &&
           ((on & STALLREC_DETECT_PING) == 0 ||
            (in_range(c->ping_ms, 1, hour) && in_range(c->ping_every_ms, 10, hour))) &&
           ((on & STALLREC_DETECT_FRAME_RATE) == 0 ||
            (in_range(c->frame_hz, 1, 1000) && in_range(c->frame_percent, 1, 100))) &&
           ((on & STALLREC_DETECT_CPU) == 0 || in_range(c->cpu_limit_permille, 1, 1000000)) &&
           ((on & STALLREC_DETECT_LAUNCH) == 0 || in_range(c->launch_ms, 1, hour)) &&
           ((on & STALLREC_DETECT_SPAN) == 0 || in_range(c->span_ms, 1, hour));
}

enum stallrec_error rec_config_read(struct stallrec_config *out, const struct stallrec_config *in) {
    /* The first published version of the struct ends with user_data; no smaller one was
     * published. */
    if (in->size < offsetof(struct stallrec_config, user_data) + sizeof in->user_data) {
        return STALLREC_ERR_CONFIG;
    }
    const unsigned char *bytes = (const unsigned char *)in;
    for (size_t i = sizeof *out; i < in->size; i++) {
        if (bytes[i] != 0) {
            return STALLREC_ERR_CONFIG;
        }
    }
    struct stallrec_config full = {0};
    memcpy(&full, in, smaller(in->size, sizeof full));
    full.size = sizeof full;
    if (full.preset == NULL) {
        full.preset = "default";
    }
    if (full.detectors == 0) {
        full.detectors = STALLREC_DETECT_RUNLOOP;
    }
    if (!ranges_ok(&full) || !detectors_ok(&full)) {
        return STALLREC_ERR_CONFIG;
    }
    *out = full;
    return STALLREC_OK;
}

const char *stallrec_error_text(enum stallrec_error error) {
    static const char *const texts[] = {
        [STALLREC_OK] = "no error",
        [STALLREC_ERR_CONFIG] =
            "a configuration value is out of its range, or not known to this library",
        [STALLREC_ERR_PRESET] = "no such preset",
        [STALLREC_ERR_MEMORY] = "out of memory",
        [STALLREC_ERR_RUNNING] = "a recorder is running in this process already",
        [STALLREC_ERR_DIRECTORY] = "the dump directory cannot be made or written to",
        [STALLREC_ERR_THREAD] = "the monitor thread cannot be started",
        [STALLREC_ERR_UNSUPPORTED] = "stacks cannot be captured on this system",
        [STALLREC_ERR_WRITE] = "a file could not be written",
        [STALLREC_ERR_NOT_SAMPLED] = "this user is not in the share that is recorded",
        [STALLREC_ERR_CONTEXT] = "a context key is not allowed, or there are too many",
        [STALLREC_ERR_NOTHING] = "there is nothing to send",
    };
    bool known = (size_t)error < sizeof texts / sizeof *texts && texts[error] != NULL;
    return known ? texts[error] : "unknown error";
}
