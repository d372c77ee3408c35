/* Writes the dumps in the spools of dead processes to files. */
#include "spool/spool_recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "files/dumpname.h"
#include "spool/spool_format.h"
#include "platform.h"

/* Maximum number of spools in one call; further ones wait for the next call. */
enum { SPOOLS_MAX = 64 };

/* ---- one spool ---- */

struct room {
    struct rec_spool_header header;
    struct rec_spool_dump dump;
    struct rec_slot_head heads[REC_RECORDS];
    bool known[REC_RECORDS];
    unsigned char bytes[REC_SPOOL_SIZE];
};

static size_t recover_slot(uint32_t slot) {
    return REC_SPOOL_HEADER + (size_t)slot * REC_SPOOL_SLOT;
}

static const unsigned char *recover_slot_record(const unsigned char *bytes, uint32_t slot) {
    return bytes + recover_slot(slot);
}

static bool is_held(const struct room *room, uint32_t slot) {
    return room->known[slot] && room->heads[slot].state != REC_SLOT_FREE;
}

/* Gives all dumps of one stall the duration and the gap of the dump whose slot is still open, if
 * that duration is longer than theirs. */
static void share_durations(struct room *room) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        for (uint32_t k = 0; k < REC_RECORDS; k++) {
            const struct rec_slot_head *open = &room->heads[k];
            struct rec_slot_head *head = &room->heads[i];
            if (is_held(room, i) && is_held(room, k) && open->state == REC_SLOT_OPEN &&
                open->number == head->number && open->duration_ms > head->duration_ms) {
                head->duration_ms = open->duration_ms;
                head->gap_ms = open->gap_ms;
            }
        }
    }
}

static bool decode(struct room *room, const unsigned char *bytes, uint32_t slot) {
    const struct rec_slot_head *head = &room->heads[slot];
    const unsigned char *body = recover_slot_record(bytes, slot) + 2 * REC_SPOOL_HEAD;
    return crc32(0, body, head->body_len) == head->body_crc &&
           rec_spool_decode(head, body, head->body_len, &room->dump);
}

/* Was the dump's file written before the process died, although its slot was not freed? The file
 * may have any suffix of quota and format. */
static bool has_file(int dir, const struct rec_dump *dump) {
    for (unsigned form = 0; form < 4; form++) {
        char name[REC_FILE_NAME];
        rec_dump_name(name, dump, (form & 1) != 0, (form & 2) != 0);
        if (faccessat(dir, name, F_OK, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes a dump to a file, marks it as that of a fatal stall if it is one, counts it in *out, and
 * tells how->count before and how->wrote after; does nothing if the file was written before
 * (has_file). False: the dump could not be written and counts as lost. */
static bool write_one(const struct rec_recovery *how, struct room *room, bool fatal,
                      struct rec_recovered *out) {
    struct rec_dump *dump = &room->dump.dump;
    const char *path = NULL;
    if (has_file(how->dir, dump)) {
        return true;
    }
    dump->stall.fatal = fatal;
    struct rec_about about = room->header.about;
    about.loop_at = room->dump.loop_at;
    if (how->count != NULL) {
        how->count(how->ctx, &about);
    }
    enum stallrec_error st = rec_dumpfile_write(how->file, dump, &about, &path);
    if (st == STALLREC_ERR_WRITE) {
        out->lost_error = errno;
    }
    if (how->wrote != NULL) {
        how->wrote(how->ctx, dump, &about, path, st);
    }
    if (room->header.start_ms < how->since_ms) {
        out->earlier += st == STALLREC_OK;
    } else {
        out->dumps += st == STALLREC_OK;
        out->fatal += st == STALLREC_OK && fatal;
    }
    out->lost += st != STALLREC_OK;
    return st == STALLREC_OK;
}

static bool write_dumps(const struct rec_recovery *how, const struct rec_spool_file *spool,
                        struct room *room, struct rec_recovered *out) {
    bool all = true;
    if (!rec_spool_header_read(spool->bytes, spool->len, &room->header)) {
        out->damaged++;
        return true; /* no dump in this spool can be recovered */
    }
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        room->known[i] = rec_slot_head_read(recover_slot_record(spool->bytes, i), &room->heads[i]);
    }
    share_durations(room);
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (!is_held(room, i)) {
            continue;
        }
        bool open = room->heads[i].state == REC_SLOT_OPEN;
        if (!decode(room, spool->bytes, i)) {
            out->damaged++;
        } else if (!write_one(how, room, open && spool->fatal && !room->header.suspended, out)) {
            all = false;
            continue;
        }
        if (spool->done != NULL) {
            spool->done(spool->ctx, i, room->heads[i].sequence);
        }
    }
    return all;
}

bool rec_spool_write_dumps(const struct rec_recovery *how, const struct rec_spool_file *spool,
                           struct rec_recovered *out) {
    struct room *room = malloc(sizeof *room);
    bool ok = room != NULL && write_dumps(how, spool, room, out);
    free(room);
    return ok;
}

/* ---- files ---- */

/* Frees a slot in the file, which stays for the other slots. */
static void free_slot(void *ctx, uint32_t slot, uint64_t sequence) {
    unsigned char bytes[REC_SPOOL_HEAD];
    struct rec_slot_head head = {.state = REC_SLOT_FREE, .sequence = sequence + 1};
    size_t at = recover_slot(slot) + rec_slot_head_at(head.sequence);
    rec_slot_head_write(&head, bytes);
    ssize_t n = pwrite(*(const int *)ctx, bytes, sizeof bytes, (off_t)at);
    (void)n; /* on failure the next recovery finds that the dump has a file */
}

static bool spool_read_all(int fd, unsigned char *bytes, size_t len) {
    size_t at = 0;
    while (at < len) {
        ssize_t n = pread(fd, bytes + at, len - at, (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += (size_t)n;
    }
    return true;
}

/* Is this the spool of this process itself, from before an exec? */
static bool is_own(const struct rec_recovery *how, const struct rec_spool_header *header) {
    return header->pid == how->pid && header->process_start == rec_process_start(how->pid);
}

/* Does another process with the pid and the start time in the spool live? On a file system without
 * locks nothing else shows this. */
static bool process_lives(const struct rec_recovery *how, const struct rec_spool_header *header) {
    uint64_t start = rec_process_start(header->pid);
    return !is_own(how, header) && start != 0 && start == header->process_start;
}

/* Takes the spool's lock, which is kept until fd is closed. False: a living process holds it, the
 * file is not a regular one, or the name refers to another file now. On a file system without locks
 * the lock counts as taken, and process_lives decides. */
static bool is_dead(const struct rec_recovery *how, const char *name, int fd) {
    struct stat named, opened;
    return rec_spool_lock(fd) && fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) &&
           fstatat(how->dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

static void pass_over(const struct rec_recovery *how, const char *name, struct rec_recovered *out) {
    uint32_t pid = 0;
    out->alive++;
    if (how->alive != NULL && rec_spool_name_read(name, &pid)) {
        how->alive(how->ctx, pid);
    }
}

static void recover_open(const struct rec_recovery *how, const char *name, int fd,
                         struct room *room, struct rec_recovered *out) {
    bool whole = spool_read_all(fd, room->bytes, sizeof room->bytes) &&
                 rec_spool_header_read(room->bytes, sizeof room->bytes, &room->header);
    const struct rec_spool_header *header = &room->header;
    uint32_t pid = 0;
    rec_spool_name_read(name, &pid);
    if (whole ? process_lives(how, header)
              : rec_process_start(pid) != 0) { /* an incomplete spool may still be in the making */
        pass_over(how, name, out);
        return;
    }
    struct rec_spool_file spool = {.bytes = room->bytes,
                                   .len = whole ? sizeof room->bytes : 0,
                                   .fatal =
                                       pid != how->ended_pid && !(whole && is_own(how, header)),
                                   .done = free_slot,
                                   .ctx = &fd};
    if (write_dumps(how, &spool, room, out)) {
        unlinkat(how->dir, name, 0);
    }
}

static void recover_file(const struct rec_recovery *how, const char *name, struct room *room,
                         struct rec_recovered *out) {
    int fd = openat(how->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (is_dead(how, name, fd)) {
        recover_open(how, name, fd, room, out);
    } else {
        pass_over(how, name, out);
    }
    close(fd);
}

typedef char file_name[REC_FILE_NAME];

static int spool_compare_names(const void *left, const void *right) {
    /* The start time comes first in the names, so that they are sorted by it. */
    return strcmp(left, right);
}

/* Lists at most SPOOLS_MAX spools other than how->own, sorted by name, and returns their number;
 * none if the folder cannot be listed. The folder is closed before any file is made or removed. */
static uint32_t list_spools(const struct rec_recovery *how, file_name names[SPOOLS_MAX]) {
    uint32_t count = 0;
    DIR *folder = rec_folder_list(how->dir);
    for (struct dirent *e; folder != NULL && count < SPOOLS_MAX && (e = readdir(folder)) != NULL;) {
        uint32_t pid;
        if (rec_spool_name_read(e->d_name, &pid) &&
            (how->own == NULL || strcmp(e->d_name, how->own) != 0)) {
            memcpy(names[count++], e->d_name, strlen(e->d_name) + 1);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    qsort(names, count, sizeof *names, spool_compare_names);
    return count;
}

bool rec_spool_recover(const struct rec_recovery *how, struct rec_recovered *out) {
    file_name names[SPOOLS_MAX];
    *out = (struct rec_recovered){0};
    uint32_t count = list_spools(how, names);
    struct room *room = count > 0 ? malloc(sizeof *room) : NULL;
    for (uint32_t i = 0; room != NULL && i < count; i++) {
        recover_file(how, names[i], room, out);
    }
    free(room);
    return count == 0 || room != NULL;
}
