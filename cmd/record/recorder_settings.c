/* Reads and checks stallrec's options before a program runs, because the library in the program
 * cannot report a wrong setting to the user, and makes the configuration of a recorder. */
#include "record/recorder_settings.h"

#include <string.h>

#include "recorder/preload/preload.h"
#include "recorder/core/presets.h"
#include "recorder/stallrec.h"

bool settings_preset(void *settings, struct cli_parser *p) {
    struct recorder_settings *s = settings;
    const char *name = p->value;
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    if (stallrec_config_preset(&config, name) != STALLREC_OK) {
        return cli_reject(p->tool, "no preset '%s' (see --list-presets)", name);
    }
    s->preset = name;
    return true;
}

bool settings_detectors(void *settings, struct cli_parser *p) {
    struct recorder_settings *s = settings;
    const char *names = p->value;
    const struct rec_detector_info *info;
    s->detectors = rec_detectors_named(names);
    if (s->detectors == 0) {
        return cli_reject(p->tool, "--detectors: not all of '%s' are known (see --list-detectors)",
                          names);
    }
    for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
        if ((s->detectors & info->bit) != 0 && info->calls) {
            return cli_reject(p->tool,
                              "--detectors: %s needs a program that calls %s, see stallrec(3)",
                              info->name, info->calls);
        }
    }
    return true;
}

bool settings_loop_at(void *settings, struct cli_parser *p) {
    struct recorder_settings *s = settings;
    const char *place = p->value;
    size_t before = s->loop_at.len > 0 ? s->loop_at.len + 1 : 0;
    if (*place == '\0' || before + strlen(place) > PRELOAD_LOOP_AT_MAX) {
        return cli_reject(p->tool, "--loop-at: %s",
                          *place == '\0' ? "no place is named" : "too many places are named");
    }
    if (before > 0) {
        strbuf_addc(&s->loop_at, '\n');
    }
    strbuf_addstr(&s->loop_at, place);
    return !s->loop_at.failed || cli_reject(p->tool, "--loop-at: out of memory");
}

bool settings_mode(void *settings, struct cli_parser *p) {
    struct recorder_settings *s = settings;
    uint32_t mode = 0;
    size_t len = strlen(p->value), digits = strspn(p->value, "01234567");
    for (size_t i = 0; i < digits && i < 5; i++) {
        mode = mode * 8 + (uint32_t)(p->value[i] - '0');
    }
    if (digits != len || len == 0 || len > 5 || (mode & 0600) != 0600 || (mode & ~0666u) != 0) {
        return cli_reject(p->tool, "--mode takes 0600 to 0666, such as 0640, not '%s'", p->value);
    }
    s->file_mode = mode;
    return true;
}

bool settings_context(void *settings, struct cli_parser *p) {
    struct recorder_settings *s = settings;
    const char *pair = p->value;
    size_t key = strcspn(pair, "="), size = strlen(pair);
    bool ok = key > 0 && key < STALLREC_CONTEXT_KEY && key + 1 < size && !strchr(pair, '\n') &&
              size - key <= STALLREC_CONTEXT_VALUE;
    if (!ok) {
        return cli_reject(p->tool, "--context: '%s' is not KEY=VALUE of at most %d and %d bytes",
                          pair, STALLREC_CONTEXT_KEY - 1, STALLREC_CONTEXT_VALUE - 1);
    }
    if (++s->context_count > STALLREC_CONTEXT_SLOTS) {
        return cli_reject(p->tool, "--context: more than %d", STALLREC_CONTEXT_SLOTS);
    }
    if (s->context.len > 0) {
        strbuf_addc(&s->context, '\n');
    }
    strbuf_addstr(&s->context, pair);
    return !s->context.failed || cli_reject(p->tool, "--context: out of memory");
}

/* Returns a configuration with the preset's values, except for the detectors, threshold_ms,
 * sample_ms, ring and check_ms that options set. */
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
    config.sample_ms = s->sample_ms != 0 ? s->sample_ms : config.sample_ms;
    config.ring = s->ring != 0 ? s->ring : config.ring;
    config.check_ms = s->check_ms != 0 ? s->check_ms : config.check_ms;
    return config;
}

bool settings_check(const struct recorder_settings *s, const struct cli_tool *tool) {
    uint32_t detectors = values(s).detectors;
    bool attaches = s->pid != 0 || s->attach;
    if (s->trace && s->threads) {
        return cli_reject(tool, "--trace is of one thread: not with --thread");
    }
    if ((s->for_seconds != 0 || s->top) && !attaches) {
        return cli_reject(tool, "--for and --top are of -p and --attach");
    }
    if (s->threads && (*s->threads == '\0' || strlen(s->threads) >= PRELOAD_TEXT)) {
        return cli_reject(tool, "--thread: a name has 1 to 15 bytes, a pattern %d at most",
                          PRELOAD_TEXT - 1);
    }
    if (s->pid != 0 && s->attach) {
        return cli_reject(tool, "-p is of a process that runs, --attach of a program to run");
    }
    if (s->trace && s->follow) {
        return cli_reject(tool, "--trace is of one program: not with --follow");
    }
    if (s->threshold_ms != 0 && (detectors & STALLREC_DETECT_RUNLOOP) == 0) {
        return cli_reject(tool, "--threshold is the detector runloop's, which is off");
    }
    if (s->cpu_percent != 0 && (detectors & STALLREC_DETECT_CPU) == 0) {
        return cli_reject(tool,
                          "--cpu-limit is the detector cpu's, which is off (see --detectors)");
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

const char *settings_thread_glob(const struct recorder_settings *s) {
    return s->threads && strcmp(s->threads, "all") == 0 ? "*" : s->threads;
}

void settings_config(const struct recorder_settings *s, struct stallrec_config *out) {
    enum {
        /* In ms; samples of the other threads begin early, because a user who looks for a stall
         * wants to know the holder of the lock. */
        THREADS_AFTER_MS = 1000
    };
    *out = values(s);
    out->directory = s->directory;
    if (strcmp(out->preset, "default") == 0) { /* other presets stay as published */
        out->threads_after_ms = THREADS_AFTER_MS;
    }
    if (s->threshold_ms != 0 && out->first_sample_ms > out->threshold_ms / 2) {
        /* The first sample is taken early enough that there are samples before the threshold. */
        out->first_sample_ms = out->threshold_ms / 2;
    }
    if (s->detectors == 0) {
        out->detectors &= ~(uint32_t)STALLREC_DETECT_LAUNCH;
    }
    if (s->max_threads != 0) {
        out->max_threads = s->max_threads;
    }
    if (s->cpu_percent != 0) {
        out->cpu_limit_permille = s->cpu_percent * 10;
    }
    out->user_share_ppm = 0; /* the user asked for this recording, so no share or quota applies */
    out->upload_per_day = 0;
    out->keep_days = (uint32_t)s->keep_days;
    out->keep_bytes = s->keep_bytes;
    out->keep_files = (uint32_t)s->keep_files;
    out->file_mode = s->file_mode;
}

void settings_release(struct recorder_settings *s) {
    strbuf_release(&s->loop_at);
    strbuf_release(&s->context);
}
