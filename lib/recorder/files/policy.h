/* What is decided about this user and this session: whether to record, which dumps to send, what to
 * keep. It stands between the core, the dump files and the app's callbacks, and counts the session.
 * POSIX only. All calls but those of the app come from one thread: start, then the monitor. */
#ifndef STALLREC_POLICY_H
#define STALLREC_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/context.h"
#include "files/folder.h"
#include "files/session.h"
#include "files/state.h"
#include "stallrec.h"

struct rec_policy {
    struct stallrec_config config; /* the app's, strings borrowed */
    struct rec_folder folder;
    struct rec_state state;
    struct rec_about about; /* of the session */
    struct rec_session session;
    struct rec_session_file file;
    uint64_t start_ns;
    bool remembered; /* the last number of the day */
    bool spare; /* the number was used by a dump that could not be written; the next one has it */
    uint32_t stalled;    /* stalls that run: they count as fatal until they end */
    uint64_t stalled_ms; /* age of the last, to a second */
    uint64_t suppressed_alone;
    const struct rec_context *context;
    uint64_t (*clock_ns)(void);
};

/* Is this user recorded at all? Opens the folder (absolute path), which exists. random: fills in
 * random bytes, like rec_capture's. STALLREC_ERR_NOT_SAMPLED: no, and nothing is left open.
 * STALLREC_ERR_DIRECTORY: see errno. */
enum stallrec_error rec_policy_open(struct rec_policy *policy, const struct stallrec_config *config,
                                    const char *directory, int64_t wall_ms,
                                    void (*random)(void *ctx, uint8_t *out, size_t len), void *ctx);

/* The session begins: removes junk, takes over sessions of the dead, makes a file of its own.
 * *config gets callbacks that count and call the app's, with `policy` as user data; about gets what
 * every dump says of the policy. clock_ns: monotonic. */
void rec_policy_begin(struct rec_policy *policy, struct stallrec_config *config,
                      struct rec_about *about, const struct rec_context *context, int64_t wall_ms,
                      uint64_t (*clock_ns)(void));

/* Removes what is over the limits. Allocates: at start and while the loop is idle only. */
void rec_policy_tidy(struct rec_policy *policy, int64_t wall_ms);

/* A stall continues, and is this old: recorded in the session for the case that the process dies in
 * it. */
void rec_policy_grow(struct rec_policy *policy, uint64_t age_ms);

/* A stall was none: stall_begin, and if it ended stall_end after was_ms, were told too much. */
void rec_policy_take_back(struct rec_policy *policy, bool ended, uint64_t was_ms);

/* Takes the counts of the session so far; they are written with its next update. */
void rec_policy_seen(struct rec_policy *policy, const struct rec_totals *totals,
                     uint64_t events_dropped, const struct rec_watched *watched);

/* Before a dump is written: counts it and says in about which of the day it is, and whether it is
 * over the quota. */
void rec_policy_count(struct rec_policy *policy, struct rec_about *about, int64_t wall_ms);
/* After it: tells the app (dump_written) and brings the session up to date. A dump that could not
 * be written (st) waits for another time, and its number of the day is the next one's. */
void rec_policy_wrote(struct rec_policy *policy, const struct rec_dump *dump,
                      const struct rec_about *about, const char *path, enum stallrec_error st);
/* The dump is given up: tells the app (dump_lost), with the reason in errno. */
void rec_policy_lost(struct rec_policy *policy, const struct rec_dump *dump, const char *path);

/* Ends the session, if it began, and closes the folder. A zeroed policy with a folder that holds
 * REC_FD_NONE is allowed. */
void rec_policy_close(struct rec_policy *policy);

#endif
