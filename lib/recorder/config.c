/* Configuration: presets, and reading the struct of a caller that may be older or newer than we
 * are. */
#include <string.h>

#include "core.h"
#include "stallrec.h"

/* Values of ours: no published system stands behind them. 250 ms is where Apple's tools begin to
 * call a delay a hang; a first sample at 100 ms keeps a healthy loop unsampled and still leaves
 * four samples before the threshold. */
static const struct stallrec_config preset_default = {
    .preset = "default",
    .threshold_ms = 250,
    .check_ms = 1000,
    .sample_ms = 50,
    .first_sample_ms = 100,
    .ring = 20,
    .max_frames = 128,
    .max_threads = 64,
    .threads_after_ms = 2000,
    .backoff = STALLREC_BACKOFF_DUMPS,
    .backoff_cap = 8,
    .check = STALLREC_CHECK_STALL,
    .write_deadline_ms = 10000,
};

static const struct stallrec_config *const presets[] = {&preset_default};

static void apply(struct stallrec_config *config, const struct stallrec_config *preset) {
    config->preset = preset->preset;
    config->threshold_ms = preset->threshold_ms;
    config->check_ms = preset->check_ms;
    config->sample_ms = preset->sample_ms;
    config->first_sample_ms = preset->first_sample_ms;
    config->ring = preset->ring;
    config->max_frames = preset->max_frames;
    config->max_threads = preset->max_threads;
    config->threads_after_ms = preset->threads_after_ms;
    config->backoff = preset->backoff;
    config->backoff_cap = preset->backoff_cap;
    config->check = preset->check;
    config->write_deadline_ms = preset->write_deadline_ms;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

void stallrec_config_init(struct stallrec_config *config, size_t size) {
    struct stallrec_config full = {.size = size};
    apply(&full, &preset_default);
    memset(config, 0, size);
    memcpy(config, &full, smaller(size, sizeof full));
}

enum stallrec_error stallrec_config_preset(struct stallrec_config *config, const char *name) {
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        if (strcmp(presets[i]->preset, name) == 0) {
            struct stallrec_config full = {0};
            size_t size = smaller(config->size, sizeof full);
            memcpy(&full, config, size);
            apply(&full, presets[i]);
            memcpy(config, &full, size);
            return STALLREC_OK;
        }
    }
    return STALLREC_ERR_PRESET;
}

static bool in_range(uint32_t value, uint32_t low, uint32_t high) {
    return value >= low && value <= high;
}

static bool ranges_ok(const struct stallrec_config *c) {
    const uint32_t hour = 3600000;
    return in_range(c->threshold_ms, 1, hour) && in_range(c->check_ms, 10, hour) &&
           in_range(c->sample_ms, 1, 60000) && c->first_sample_ms <= hour &&
           in_range(c->ring, 1, 256) && in_range(c->max_frames, 8, 1024) &&
           in_range(c->max_threads, 1, 256) && c->backoff <= STALLREC_BACKOFF_CHECKS &&
           in_range(c->backoff_cap, 1, 1000) && c->check <= STALLREC_CHECK_PERIODIC &&
           c->write_deadline_ms <= hour && (c->flags & ~(uint32_t)STALLREC_PLAIN_JSON) == 0 &&
           c->signal_number >= 0;
}

enum stallrec_error rec_config_read(struct stallrec_config *out, const struct stallrec_config *in) {
    /* The first version ends with user_data: no smaller struct was ever published. */
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
        full.preset = preset_default.preset;
    }
    if (!ranges_ok(&full)) {
        return STALLREC_ERR_CONFIG;
    }
    *out = full;
    return STALLREC_OK;
}

const char *stallrec_error_text(enum stallrec_error error) {
    switch (error) {
    case STALLREC_OK:
        return "no error";
    case STALLREC_ERR_CONFIG:
        return "a configuration value is out of its range, or not known to this library";
    case STALLREC_ERR_PRESET:
        return "no such preset";
    case STALLREC_ERR_MEMORY:
        return "out of memory";
    case STALLREC_ERR_RUNNING:
        return "a recorder is running in this process already";
    case STALLREC_ERR_DIRECTORY:
        return "the dump directory cannot be made or written to";
    case STALLREC_ERR_THREAD:
        return "the monitor thread cannot be started";
    case STALLREC_ERR_UNSUPPORTED:
        return "stacks cannot be captured on this system";
    case STALLREC_ERR_WRITE:
        return "a dump could not be written";
    }
    return "unknown error";
}
