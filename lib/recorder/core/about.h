/* The app and the device that a dump describes. */
#ifndef STALLREC_ABOUT_H
#define STALLREC_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

/* What every dump says about the app and the device. Strings may be NULL (left out) and hold any
 * bytes (what is not UTF-8 becomes U+FFFD). */
struct rec_about {
    const char *app_id, *app_version, *app_build;
    const char *user;
    const char *preset;
    const char *model, *os, *os_build, *arch;
    uint32_t cpus;       /* 0 = not known */
    const char *loop_at; /* the place that counts as the program's event loop; NULL = the program
                            calls the hooks itself */
    bool other_thread;   /* the watched thread, the first of the dump's, is not the main thread */
    bool sampled_edges; /* begin and end of a busy stretch are where the recorder saw one, not where
                           they were */
    const char *home;   /* written as "~" in paths of images; NULL = none */
    uint32_t user_share_ppm; /* 0 = not known */
    uint32_t seq_today;      /* of this dump: 1 …; 0 = not counted */
    bool policy_known;       /* false: whitelisting is not configured, and not written */
    bool whitelisted;
    bool unspooled;  /* a process that is killed loses what it has not written yet: no spool */
    bool over_quota; /* this dump is not for upload: its file's name says so */
};

#endif
