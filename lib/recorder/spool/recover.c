/* Recovers the dumps that a recorded program that died left in the recorder's folder. */
#include "spool/recover.h"

#include <stdlib.h>
#include <time.h>

#include "files/dumpname.h"
#include "files/retention.h"
#include "files/session.h"
#include "spool/spool_recover.h"
#include "files/state.h"
#include "support/wall_clock.h"

enum { WAIT_MS = 10, PROGRAM_MS = 1000 };

struct folder_state {
    const struct recover_request *request;
    bool program_lives; /* the spool of request->pid was in use when the folder was last read */
    uint32_t
        /* Number of spools of request->others that were in use when the folder was last read. */
        others_alive;
    struct rec_folder folder;
    struct rec_state state;
};

static void recover_count(void *ctx, struct rec_about *about) {
    struct folder_state *at = ctx;
    rec_state_count(at->folder.fd.fd, &at->state, rec_wall_ms_async(NULL));
    about->seq_today = at->state.dumps;
}

static void note_alive(void *ctx, uint32_t pid) {
    struct folder_state *at = ctx;
    at->program_lives |= pid == at->request->pid;
    for (uint32_t i = 0; i < at->request->other_count; i++) {
        at->others_alive += at->request->others[i] == pid;
    }
}

static void add_recovered(const struct rec_recovered *got, struct recover_counts *out) {
    out->dumps += got->dumps;
    out->fatal += got->fatal;
    out->earlier += got->earlier;
    out->lost = got->lost;
    out->lost_error = got->lost_error;
}

/* Recovers the spools of dead processes, and tries again while one of the processes of the request
 * still uses its spool: for up to PROGRAM_MS for request->pid, since the memory of a dead process,
 * and with it the lock on its spool, may outlive the report of its end for a moment, and for up to
 * request->others_ms for the other processes, whose end is awaited. False: out of memory. */
static bool recover_spools(struct folder_state *at, struct rec_dumpfile *file,
                           struct recover_counts *out) {
    const struct recover_request *request = at->request;
    int dir = at->folder.fd.fd;
    struct rec_recovered got = {0};
    struct rec_recovery how = {.dir = dir,
                               .file = file,
                               .ended_pid = request->by_itself ? request->pid : 0,
                               .since_ms = request->since_ms,
                               .count = recover_count,
                               .alive = note_alive,
                               .ctx = at};
    bool ok = true, again = true;
    *out = (struct recover_counts){0};
    rec_retention_remove_junk(dir);
    rec_state_load(dir, &at->state);
    for (uint32_t waited_ms = 0; ok && again; waited_ms += WAIT_MS) {
        at->program_lives = false;
        at->others_alive = 0;
        ok = rec_spool_recover(&how, &got);
        add_recovered(&got, out);
        again = (at->program_lives && waited_ms < PROGRAM_MS) ||
                (at->others_alive > 0 && waited_ms < request->others_ms);
        if (again) {
            nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000}, NULL);
        }
    }
    out->running = at->others_alive;
    rec_session_recover(dir);
    return ok;
}

bool recover_folder(const struct recover_request *request, struct recover_counts *out) {
    struct folder_state *at = calloc(1, sizeof *at);
    if (at != NULL) {
        at->folder.fd = REC_FD_NONE;
        at->request = request;
    }
    void *memory = malloc(rec_dumpfile_size());
    struct rec_dumpfile *file;
    /* If the program has removed the folder, it is not made again. */
    bool ok =
        at != NULL && memory != NULL && rec_folder_open(&at->folder, request->directory) &&
        rec_dumpfile_init(&file, memory, request->directory, 0, request->mode) == STALLREC_OK &&
        recover_spools(at, file, out);
    if (at != NULL) {
        rec_folder_close(&at->folder);
    }
    free(memory);
    free(at);
    return ok;
}
