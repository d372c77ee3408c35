/* How the programs that have the recorder built in start it: the same limits in each, so that one
 * test can say what must be found.
 *
 *     PROGRAM DIRECTORY healthy|stalls|ping|detach */
#ifndef DEMO_RECORDED_H
#define DEMO_RECORDED_H

#include <string.h>

#include "app.h"
#include "stallrec.h"

enum {
    THRESHOLD_MS = 400,
    STALL_MS = 1000,
    STEP_MS = 100 /* ms from the end of one action to the next */
};

/* Starts the recorder; exits if that fails. "ping": with the ping detector only. */
static struct stallrec *start_recorder(const char *directory, const char *what) {
    struct stallrec_config config;
    struct stallrec *rec = NULL;
    stallrec_config_init(&config, sizeof config);
    config.directory = directory;
    config.threshold_ms = THRESHOLD_MS;
    config.first_sample_ms = THRESHOLD_MS / 2;
    config.flags = STALLREC_PLAIN_JSON;
    if (strcmp(what, "ping") == 0) {
        config.detectors = STALLREC_DETECT_PING;
        config.ping_ms = THRESHOLD_MS;
        config.ping_every_ms = 20;
    }
    enum stallrec_error st = stallrec_start(&rec, &config);
    if (st != STALLREC_OK) {
        fprintf(stderr, "recorder: %s\n", stallrec_error_text(st));
        exit(1);
    }
    return rec;
}

static inline void attached(enum stallrec_error st) {
    if (st != STALLREC_OK) {
        fprintf(stderr, "attach: %s\n", stallrec_error_text(st));
        exit(1);
    }
}

#define STALL(name)                                                                                \
    OWN_FRAME static void name(void) {                                                             \
        sleep_ms(STALL_MS);                                                                        \
        KEEP_FRAME();                                                                              \
    }

#endif
