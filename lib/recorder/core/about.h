/* The app and the device that a dump describes. */
#ifndef STALLREC_ABOUT_H
#define STALLREC_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

/* The facts about the app and the device in every dump. A NULL string is left out of the dump;
 * strings hold any bytes, and bytes that are not UTF-8 become U+FFFD. */
struct rec_about {
    const char *app_id, *app_version, *app_build;
    const char *user;
    const char *preset;
    const char *model, *os, *os_build, *arch;
    uint32_t cpus;       /* number of processors; 0 = not known */
    const char *loop_at; /* the place that was found to be the program's event loop; NULL = the
                            program calls the hooks itself */
    bool other_thread;   /* the watched thread is not the process's main thread; it is the dump's
                            first thread all the same */
    bool sampled_edges;  /* the begin and end of a busy stretch are the times at which the recorder
                            looked at the loop, not those of the true edges */
    const char *home; /* the home folder, which is written as "~" in paths of images; NULL = none */
    uint32_t
        user_share_ppm; /* share of the users that are recorded, in millionths; 0 = not known */
    /* Number of this dump among the day's dumps, counted from 1; 0 = not counted. */
    uint32_t seq_today;
    bool policy_known; /* false: no policy is known, and `whitelisted` is not written */
    bool whitelisted;
    bool unspooled;  /* there is no spool, so a process that is killed loses the dumps that are not
                        written yet */
    bool over_quota; /* this dump is not for upload; the name of its file has ".local" */
};

#endif
