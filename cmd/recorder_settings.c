/* What stallrec is asked to record: options checked before a program runs, for what the library in
 * it does not understand it can tell nobody. */
#include "recorder_settings.h"

#include <string.h>

#include "recorder/preload/preload.h"
#include "recorder/core/presets.h"
#include "recorder/stallrec.h"

bool settings_preset(struct recorder_settings *s, const struct cli_tool *tool, const char *name) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    if (stallrec_config_preset(&config, name) != STALLREC_OK) {
        cli_usage_error(tool, "no preset '%s' (see --list-presets)", name);
        return false;
    }
    s->preset = name;
    return true;
}

bool settings_detectors(struct recorder_settings *s, const struct cli_tool *tool,
                        const char *names) {
    const struct rec_detector_info *info;
    s->detectors = rec_detectors_named(names);
    if (s->detectors == 0) {
        cli_usage_error(tool, "--detectors: not all of '%s' are known (see --list-detectors)",
                        names);
        return false;
    }
    for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
        if ((s->detectors & info->bit) != 0 && info->calls) {
            cli_usage_error(tool, "--detectors: %s needs a program that calls %s, see stallrec(3)",
                            info->name, info->calls);
            return false;
        }
    }
    return true;
}

bool settings_loop_at(struct recorder_settings *s, const struct cli_tool *tool, const char *place) {
    size_t before = s->loop_at.len > 0 ? s->loop_at.len + 1 : 0;
    if (*place == '\0' || before + strlen(place) > PRELOAD_LOOP_AT_MAX) {
        cli_usage_error(tool, "--loop-at: %s",
                        *place == '\0' ? "no place is named" : "too many places are named");
        return false;
    }
    if (before > 0) {
        strbuf_addc(&s->loop_at, '\n');
    }
    strbuf_addstr(&s->loop_at, place);
    return true;
}

bool settings_context(struct recorder_settings *s, const struct cli_tool *tool, const char *pair) {
    size_t key = strcspn(pair, "="), size = strlen(pair);
    bool ok = key > 0 && key < STALLREC_CONTEXT_KEY && key + 1 < size && !strchr(pair, '\n') &&
              size - key <= STALLREC_CONTEXT_VALUE;
    if (!ok) {
        cli_usage_error(tool, "--context: '%s' is not KEY=VALUE of at most %d and %d bytes", pair,
                        STALLREC_CONTEXT_KEY - 1, STALLREC_CONTEXT_VALUE - 1);
        return false;
    }
    if (++s->context_count > STALLREC_CONTEXT_SLOTS) {
        cli_usage_error(tool, "--context: more than %d", STALLREC_CONTEXT_SLOTS);
        return false;
    }
    if (s->context.len > 0) {
        strbuf_addc(&s->context, '\n');
    }
    strbuf_addstr(&s->context, pair);
    return true;
}

/* Fills in the preset's values, except those that options have set. */
static struct stallrec_config values(const struct recorder_settings *s) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    stallrec_config_preset(&config, s->preset ? s->preset : "default");
    if (s->detectors != 0) {
        config.detectors = s->detectors;
    }
    if (s->threshold_ms != 0) {
        config.threshold_ms = s->threshold_ms;
    }
    return config;
}

bool settings_check(const struct recorder_settings *s, const struct cli_tool *tool) {
    uint32_t detectors = values(s).detectors;
    if (s->threshold_ms != 0 && (detectors & STALLREC_DETECT_RUNLOOP) == 0) {
        cli_usage_error(tool, "--threshold is the detector runloop's, which is off");
        return false;
    }
    if (s->cpu_limit != 0 && (detectors & STALLREC_DETECT_CPU) == 0) {
        cli_usage_error(tool, "--cpu-limit is the detector cpu's, which is off (see --detectors)");
        return false;
    }
    return true;
}

uint64_t settings_stall_ms(const struct recorder_settings *s) {
    const struct stallrec_config config = values(s);
    uint64_t semaphore_ms = (uint64_t)config.sem_ms * config.sem_count;
    uint64_t least = UINT64_MAX;
    if ((config.detectors & STALLREC_DETECT_RUNLOOP) != 0) {
        least = config.threshold_ms;
    }
    if ((config.detectors & STALLREC_DETECT_SEMAPHORE) != 0 && semaphore_ms < least) {
        least = semaphore_ms;
    }
    return least != UINT64_MAX ? least : 0;
}

void settings_release(struct recorder_settings *s) {
    strbuf_release(&s->loop_at);
    strbuf_release(&s->context);
}
