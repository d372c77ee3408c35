/* Writes the spool of a running recorder. */
#include "spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "spool/spool_bytes.h"
#include "platform.h"

enum { LOCK_TRIES = 20 };

/* ---- the file ---- */

/* Allocates all blocks of the file, as a store into a sparse file raises SIGBUS if the disk is
 * full. False: the blocks cannot be had; see errno. */
static bool allocate(int fd) {
    struct rlimit limit;
    unsigned char zeros[4096] = {0};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < REC_SPOOL_SIZE) {
        errno = EFBIG; /* allocating more would raise SIGXFSZ */
        return false;
    }
    int why = rec_spool_allocate(fd, REC_SPOOL_SIZE);
    if (why != EOPNOTSUPP) {
        errno = why;
        return why == 0;
    }
    for (size_t at = 0; at < REC_SPOOL_SIZE;) {
        ssize_t n = pwrite(fd, zeros, sizeof zeros, (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        at += (size_t)n;
    }
    return ftruncate(fd, REC_SPOOL_SIZE) == 0;
}

bool rec_spool_remains(const struct rec_spool *spool, int dir) {
    struct stat named;
    return rec_spool_works(spool) && fstatat(dir, spool->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_ino == spool->inode && named.st_dev == spool->device;
}

/* Stores the identity of the spool's file. False: another process, which took this one for dead,
 * has removed the file. */
static bool spool_is_named(struct rec_spool *spool, int dir, int fd) {
    struct stat named, opened;
    if (fstat(fd, &opened) != 0 || fstatat(dir, spool->name, &named, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    spool->inode = opened.st_ino;
    spool->device = opened.st_dev;
    return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

/* Locks the new file. Another process that starts may hold the lock for a moment, to find out
 * whether this is a dead process's spool. */
static bool lock_file(int fd) {
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        if (rec_spool_lock(fd)) {
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static int make_file(struct rec_spool *spool, int dir) {
    int fd = openat(dir, spool->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -1;
    }
    if (lock_file(fd) && spool_is_named(spool, dir, fd)) {
        return fd;
    }
    if (spool_is_named(spool, dir, fd)) {
        unlinkat(dir, spool->name, 0);
    }
    close(fd);
    errno = EBUSY;
    return -1;
}

static void *map_file(int fd) {
    void *map = mmap(NULL, REC_SPOOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    /* Children of a fork may outlive this process. */
    rec_spool_keep_from_children(map, REC_SPOOL_SIZE);
    return map;
}

/* Stores bytes at an offset of the file. False: the store failed, or an earlier one did, after
 * which nothing is stored any more. */
static bool spool_store_slot(struct rec_spool *spool, size_t at, const unsigned char *bytes,
                             size_t len) {
    if (!rec_spool_works(spool)) {
        return false;
    }
    bool ok = rec_spool_store(spool->map + at, bytes, len);
    if (!ok) {
        atomic_store(&spool->broken, true);
    }
    return ok;
}

bool rec_spool_works(const struct rec_spool *spool) {
    return spool->map != NULL && !atomic_load(&spool->broken);
}

static bool store_header(struct rec_spool *spool, const struct rec_spool_header *header) {
    unsigned char bytes[REC_SPOOL_HEADER];
    rec_spool_header_write(header, bytes);
    return spool_store_slot(spool, 0, bytes, sizeof bytes);
}

bool rec_spool_open(struct rec_spool *spool, int dir, const struct rec_spool_header *header) {
    spool->map = NULL;
    atomic_store(&spool->broken, false);
    memset(spool->slots, 0,
           sizeof spool->slots); /* does not clear body, whose untouched pages take no memory */
    rec_spool_name(spool->name, header->session, header->start_ms, header->pid);
    int fd = make_file(spool, dir);
    if (fd < 0) {
        return false;
    }
    spool->map = allocate(fd) ? map_file(fd) : NULL;
    int why = errno;
    bool ok = spool->map != NULL && store_header(spool, header);
    close(fd);
    if (!ok) {
        unlinkat(dir, spool->name, 0);
        rec_spool_close(spool, -1);
        errno = why;
    }
    return ok;
}

void rec_spool_close(struct rec_spool *spool, int dir) {
    if (spool->map == NULL) {
        return;
    }
    if (dir >= 0) {
        unlinkat(dir, spool->name, 0); /* the mapping must still hold the lock at this point */
    }
    munmap(spool->map, REC_SPOOL_SIZE);
    spool->map = NULL;
}

/* ---- slots ---- */

static size_t spool_slot(uint32_t slot) {
    return REC_SPOOL_HEADER + (size_t)slot * REC_SPOOL_SLOT;
}

/* Writes a slot's head, which must be stored last: no earlier store may be moved past it. */
static void commit(struct rec_spool *spool, uint32_t slot, const struct rec_slot_head *head) {
    unsigned char bytes[REC_SPOOL_HEAD];
    rec_slot_head_write(head, bytes);
    atomic_thread_fence(memory_order_seq_cst);
    spool_store_slot(spool, spool_slot(slot) + rec_slot_head_at(head->sequence), bytes,
                     sizeof bytes);
    atomic_thread_fence(memory_order_seq_cst);
}

void rec_spool_grow(struct rec_spool *spool, uint32_t slot, const struct rec_dump *dump,
                    bool closed) {
    if (slot >= REC_RECORDS || !spool->slots[slot].used) {
        return;
    }
    struct rec_spool_slot *held = &spool->slots[slot];
    const struct rec_stall *stall = &dump->stall;
    commit(spool, slot,
           &(struct rec_slot_head){.state = closed ? REC_SLOT_CLOSED : REC_SLOT_OPEN,
                                   .sequence = ++held->sequence,
                                   .body_len = held->body_len,
                                   .body_crc = held->body_crc,
                                   .number = stall->number,
                                   .duration_ms = stall->duration_ms,
                                   .span_ms = stall->span_ms,
                                   .gap_ms = stall->gap_ms,
                                   .suppressed = stall->suppressed,
                                   .monitor_cpu_us = dump->meter.monitor_cpu_us,
                                   .main_cpu_ns = dump->thread_count > 0 ? dump->threads[0].cpu_ns
                                                                         : UINT64_MAX,
                                   .cpu_permille = stall->cpu_permille,
                                   .ended = stall->ended});
}

void rec_spool_keep(struct rec_spool *spool, uint32_t slot, const struct rec_dump *dump,
                    const char *loop_at) {
    if (!rec_spool_works(spool) || slot >= REC_RECORDS) {
        return;
    }
    struct rec_spool_slot *held = &spool->slots[slot];
    if (!held->used) {
        held->body_len = held->body_crc = 0;
    }
    size_t at = spool_slot(slot) + 2 * REC_SPOOL_HEAD + held->body_len;
    size_t added =
        rec_spool_encode(dump, loop_at, !held->used, spool->body, REC_SPOOL_BODY - held->body_len);
    if ((!held->used && added == 0) || !spool_store_slot(spool, at, spool->body, added)) {
        return;
    }
    held->body_crc = (uint32_t)crc32(held->body_crc, spool->body, (uInt)added);
    held->body_len += (uint32_t)added;
    held->used = true;
    rec_spool_grow(spool, slot, dump, false);
}

void rec_spool_drop(struct rec_spool *spool, uint32_t slot) {
    if (slot >= REC_RECORDS || !spool->slots[slot].used) {
        return;
    }
    spool->slots[slot].used = false;
    commit(
        spool, slot,
        &(struct rec_slot_head){.state = REC_SLOT_FREE, .sequence = ++spool->slots[slot].sequence});
}

void rec_spool_suspend(struct rec_spool *spool, bool suspended) {
    unsigned char bytes[4];
    rec_store_u32(bytes, suspended ? REC_SPOOL_SUSPENDED : 0);
    spool_store_slot(spool, REC_SPOOL_MARK, bytes, sizeof bytes);
}
