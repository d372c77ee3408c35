/* Decides for this user and this session whether to record, which dumps to send, and which files to
 * keep. It stands between the core, the dump files and the app's callbacks, and keeps the session's
 * counts. POSIX only. All functions are called on one thread at a time: the app's at the start,
 * then the monitor. */
#ifndef STALLREC_POLICY_H
#define STALLREC_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/context.h"
#include "files/dumpname.h"
#include "files/folder.h"
#include "files/session.h"
#include "files/state.h"
#include "stallrec.h"

/* Number of the latest files of dumps that rec_policy_withdraw finds. */
enum { REC_POLICY_FILES = 64 };

/* The file of a dump. */
struct rec_policy_file {
    uint8_t id[REC_UUID_SIZE]; /* the dump's id */
    char name[REC_FILE_NAME];  /* "": the entry is free */
    uint64_t suppressed;       /* the dump's share of rec_session.suppressed */
    bool over_quota;
};

struct rec_policy {
    struct stallrec_config config; /* the app's config; its strings are borrowed */
    struct rec_folder folder;
    struct rec_state state;
    struct rec_about about; /* app and device, as in the session's record */
    struct rec_session session;
    struct rec_session_file file;
    uint64_t start_ns;
    bool remembered;  /* the number of the last dump of the day was stored */
    bool spare;       /* the last dump could not be written, and the next dump gets its number */
    uint32_t stalled; /* number of stalls that continue; until they end they count as fatal, or, in
                         the background, as hangs */
    uint64_t stalled_ms; /* age in ms of the latest of the stalls that `stalled` counts, updated at
                            most once a second; 0 = one of them ended or was taken back, and
                            rec_policy_grow has not been called since */
    uint64_t suppressed_alone;
    bool fatal; /* the process has died, so that a stall which ends from now on killed it; set by
                   a recorder that survives the process */
    const struct rec_context *context;
    uint64_t (*clock_ns)(void);
    struct rec_policy_file files[REC_POLICY_FILES];
    uint32_t next_file;
};

/* Decides whether this user is recorded at all, opens the existing folder `directory` (an absolute
 * path), reads or makes its state (state.h), and draws the session's id. random: fills out[0 ..
 * len) with random bytes, as rec_capture's `random`. STALLREC_ERR_NOT_SAMPLED: the user is not
 * recorded, and nothing is left open. STALLREC_ERR_DIRECTORY: see errno. */
enum stallrec_error rec_policy_open(struct rec_policy *policy, const struct stallrec_config *config,
                                    const char *directory, int64_t wall_ms,
                                    void (*random)(void *ctx, uint8_t *out, size_t len), void *ctx);

/* Begins the session: removes junk, gives the session files of dead processes their final names,
 * and makes a session file; if it cannot be made, the session leaves no record. *config gets
 * callbacks stall_begin, stall_end and dump_lost that count and then call the app's, with `policy`
 * as user data; *about gets the members about the policy, which are the same in every dump.
 * clock_ns: monotonic time in ns. */
void rec_policy_begin(struct rec_policy *policy, struct stallrec_config *config,
                      struct rec_about *about, const struct rec_context *context, int64_t wall_ms,
                      uint64_t (*clock_ns)(void));

/* Removes the files that exceed the limits. It allocates, so it is called only at start and while
 * the loop is idle. */
void rec_policy_tidy(struct rec_policy *policy, int64_t wall_ms);

/* Reports that a stall continues and is age_ms old; the session's file is updated with the age,
 * once for each second that the stall has grown, as the process may die in it. */
void rec_policy_grow(struct rec_policy *policy, uint64_t age_ms);

/* Removes from the counts a stall that turned out to be none. It was counted by stall_begin and, if
 * `ended`, by stall_end with the length was_ms. */
void rec_policy_take_back(struct rec_policy *policy, bool ended, uint64_t was_ms);

/* Stores the session's counts so far, which are written with its next update. */
void rec_policy_seen(struct rec_policy *policy, const struct rec_totals *totals,
                     uint64_t events_dropped, const struct rec_watched *watched);

/* Counts a dump before it is written, and sets in *about its number among the day's dumps and
 * whether it is over the quota. If the count cannot be stored, the quota counts as used up. */
void rec_policy_count(struct rec_policy *policy, struct rec_about *about, int64_t wall_ms);
/* Reports the result st of writing a dump. On STALLREC_OK the session's file is updated, and the
 * app's callback dump_written is called. A dump that could not be written is tried again later, and
 * its number among the day's dumps goes to the next dump that is counted on the same day. */
void rec_policy_wrote(struct rec_policy *policy, const struct rec_dump *dump,
                      const struct rec_about *about, const char *path, enum stallrec_error st);
/* Removes the file of a dump that turned out to be of no stall, and its counts. False: the file is
 * none of the latest REC_POLICY_FILES, or was removed or sent by others. */
bool rec_policy_withdraw(struct rec_policy *policy, const uint8_t id[REC_UUID_SIZE]);
/* Reports that a dump is lost: calls the app's callback dump_lost with STALLREC_ERR_WRITE and with
 * the caller's errno, and updates the session's file. */
void rec_policy_lost(struct rec_policy *policy, const struct rec_dump *dump, const char *path);

/* Ends the session, if it began, and closes the folder. The policy may be zeroed, if its folder
 * holds REC_FD_NONE. */
void rec_policy_close(struct rec_policy *policy);

#endif
