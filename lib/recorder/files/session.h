/* The record of a session, stalled or not, against which stalls are counted. It is written when the
 * recorder starts and updated in place, so that a killed session leaves one, too; the next start
 * gives that its final name. POSIX only. */
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
    int64_t start_ms; /* Unix time */
    uint64_t length_ms, foreground_ms;
    struct rec_watched watched;
    uint32_t launches;
    struct rec_tier hang, severe, fatal; /* each stall in one */
    uint64_t low_rates;                  /* seconds with too few frames */
    uint64_t events_dropped;             /* told by the app's threads while the queue was full */
    uint64_t written, suppressed, over_quota, lost;
    bool ended; /* false: the recorder was not stopped, the process died */
};

/* The session as stall-session/1 and a newline; see stall-dump(5). */
void rec_session_json(struct rec_out *out, const struct rec_session *session,
                      const struct rec_about *about);

/* The file of the session that runs. */
struct rec_session_file {
    struct rec_fd fd;
    uint32_t len;
    char text[REC_SESSION_TEXT];
};

/* Makes the file of a session in the folder `dir` and writes it. False: see errno; nothing is left
 * and file->fd is none. */
bool rec_session_open(struct rec_session_file *file, int dir, const struct rec_session *session,
                      const struct rec_about *about);
/* Updates the record in one write, so that a kill leaves the old or the new text. If the program
 * closed the descriptor, the file is opened again; a file that got its number is left alone. */
bool rec_session_update(struct rec_session_file *file, int dir, const struct rec_session *session,
                        const struct rec_about *about);
/* The last update; puts the file under its final name. */
bool rec_session_close(struct rec_session_file *file, int dir, const struct rec_session *session,
                       const struct rec_about *about);

/* Gives sessions whose processes died their final names. */
void rec_session_recover(int dir);

#endif
