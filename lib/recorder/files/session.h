/* The record of a session, also of one without stalls, so that the share of sessions with stalls
 * can be computed. The record is written when the recorder starts and updated in place, so that a
 * killed session leaves a record, too, to which the next start gives its final name. POSIX only. */
#ifndef STALLREC_SESSION_H
#define STALLREC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "files/dump_json.h"
#include "files/dumpname.h"
#include "support/rec_fd.h"

enum { REC_SESSION_TEXT = 8192 };

struct rec_tier {
    uint64_t stalls, stalled_ms;
};

struct rec_session {
    uint8_t id[REC_UUID_SIZE];
    int64_t start_ms; /* Unix time of the session's start, in ms */
    uint64_t length_ms, foreground_ms;
    struct rec_watched watched;
    uint32_t launches;
    /* Counts of stalls by severity; each stall is in one of them. */
    struct rec_tier hang, severe, fatal;
    uint64_t low_rates; /* seconds in which a busy loop left time for too few frames */
    uint64_t
        events_dropped; /* events of the app's threads that were lost because the queue was full */
    uint64_t written, suppressed, over_quota, lost;
    bool ended; /* false: the recorder runs, or the process died before the recorder was stopped */
};

/* Writes the session as stall-session/1 and a newline; see stall-dump(5). */
void rec_session_json(struct rec_out *out, const struct rec_session *session,
                      const struct rec_about *about);

/* The file of the current session. */
struct rec_session_file {
    struct rec_fd fd;
    uint32_t len;
    char text[REC_SESSION_TEXT];
};

/* Makes the file of a session, with this file_mode, in the folder `dir` and writes the record.
 * False: see errno; no file is left, and file->fd is none. */
bool rec_session_open(struct rec_session_file *file, int dir, uint32_t mode,
                      const struct rec_session *session, const struct rec_about *about);
/* Updates the record in one write, so that a kill leaves the old or the new text. If the program
 * closed the descriptor, the session's file is opened again; another file that got the number is
 * left alone. False: there is no file, it could not be written, or the text exceeds
 * REC_SESSION_TEXT. */
bool rec_session_update(struct rec_session_file *file, int dir, const struct rec_session *session,
                        const struct rec_about *about);
/* Updates the record for the last time, renames its file to the final name, and closes it. False:
 * there is no file, or it could not be written or renamed. */
bool rec_session_close(struct rec_session_file *file, int dir, const struct rec_session *session,
                       const struct rec_about *about);

/* Gives the session files of dead processes their final names, and removes those that do not end in
 * a complete line. */
void rec_session_recover(int dir);

#endif
