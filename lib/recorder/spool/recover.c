/* Recovers what a recorded program that died left in the recorder's folder. */
#include "spool/recover.h"

#include <stdlib.h>
#include <time.h>

#include "files/dumpname.h"
#include "files/retention.h"
#include "files/session.h"
#include "spool/spool_recover.h"
#include "files/state.h"
#include "support/wall_clock.h"

enum { WAIT_TRIES = 100, WAIT_NS = 10000000 };

struct folder_state {
    struct rec_folder folder;
    struct rec_state state;
};

static void recover_count(void *ctx, struct rec_about *about) {
    struct folder_state *at = ctx;
    rec_state_count(at->folder.fd.fd, &at->state, rec_wall_ms_async(NULL));
    about->seq_today = at->state.dumps;
}

static bool has_spool_of(int dir, uint32_t pid) {
    bool found = false;
    DIR *folder = rec_folder_list(dir);
    for (struct dirent *e; folder != NULL && !found && (e = readdir(folder)) != NULL;) {
        uint32_t named;
        found = rec_spool_name_read(e->d_name, &named) && named == pid;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static bool recover_spools(struct folder_state *at, struct rec_dumpfile *file, uint32_t pid,
                           bool by_itself, int64_t since_ms, struct recover_counts *out) {
    int dir = at->folder.fd.fd;
    struct rec_recovered got = {0};
    struct rec_recovery how = {.dir = dir,
                               .file = file,
                               .ended_pid = by_itself ? pid : 0,
                               .since_ms = since_ms,
                               .count = recover_count,
                               .ctx = at};
    bool ok = true, again = true;
    *out = (struct recover_counts){0};
    rec_retention_remove_junk(dir);
    rec_session_recover(dir);
    rec_state_load(dir, &at->state);
    for (unsigned i = 0; ok && again && i < WAIT_TRIES; i++) {
        ok = rec_spool_recover(&how, &got);
        out->dumps += got.dumps;
        out->fatal += got.fatal;
        out->earlier += got.earlier;
        out->lost = got.lost;
        /* The process's memory, and with it the lock, may outlive the report of its end for a
         * moment. */
        again = ok && got.alive > 0 && has_spool_of(dir, pid);
        if (again) {
            nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
        }
    }
    return ok;
}

bool recover_folder(const char *directory, uint32_t pid, bool by_itself, int64_t since_ms,
                    struct recover_counts *out) {
    struct folder_state *at = calloc(1, sizeof *at);
    if (at != NULL) {
        at->folder.fd = REC_FD_NONE;
    }
    void *memory = malloc(rec_dumpfile_size());
    struct rec_dumpfile *file;
    /* A folder that the program removed is not made again. */
    bool ok = at != NULL && memory != NULL && rec_folder_open(&at->folder, directory) &&
              rec_dumpfile_init(&file, memory, directory, 0) == STALLREC_OK &&
              recover_spools(at, file, pid, by_itself, since_ms, out);
    if (at != NULL) {
        rec_folder_close(&at->folder);
    }
    free(memory);
    free(at);
    return ok;
}
