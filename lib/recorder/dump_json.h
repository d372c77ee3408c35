/* A dump as stall-dump/1 text (stall-dump(5)): one line of JSON, written as it is made, without
 * memory of its own beyond the stack. */
#ifndef STALLREC_DUMP_JSON_H
#define STALLREC_DUMP_JSON_H

#include "rec_out.h"
#include "record.h"
#include "stallrec.h"

/* What every dump says about the app and the device. Strings may be NULL (left out) and hold any
 * bytes (what is not UTF-8 becomes U+FFFD). */
struct rec_about {
    const char *app_id, *app_version, *app_build;
    const char *user;
    const char *preset;
    const char *model, *os, *os_build, *arch;
    uint32_t cpus;       /* 0 = not known */
    const char *loop_at; /* the place taken for the program's event loop; NULL = it tells itself */
    const char *home;    /* written as "~" in paths of images; NULL = none */
    uint32_t user_share_ppm; /* 0 = not known */
    uint32_t seq_today;      /* of this dump: 1 …; 0 = not counted */
    bool policy_known;       /* whitelisted means something */
    bool whitelisted;
    bool unspooled;  /* a process that is killed loses what it has not written yet: no spool */
    bool over_quota; /* this dump is not sent: its file says so in its name */
};

/* What dumps and traces call each enum stallrec_activity; NULL for none. */
extern const char *const rec_activity_names[STALLREC_ACTIVITY_EXIT + 1];

/* Writes the dump and a newline. Failure is in out->failed. */
void rec_dump_json(struct rec_out *out, const struct rec_dump *dump, const struct rec_about *about);

#endif
