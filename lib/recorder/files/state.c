/* Stores the state that outlives a process, which is one line of text,
 *
 *     stallrec-state/1 install=<32 hex digits> day=20778 dumps=3 sum=<16 hex digits>
 *
 * written to another file, flushed to the disk and renamed. */
#include "files/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/rec_text.h"
#include "support/share.h"

#define STATE_NAME ".stallrec-state"
#define PART_NAME  ".stallrec-state.part"
#define LOCK_NAME  ".stallrec-lock"

/* Times in ms: the longest wait for the lock, that at a start, and the time between two tries. A
 * holder of the lock flushes to a disk, which may be busy. At a start the holder is, as a rule,
 * another start, which flushes nothing, so the lock is late only if no processor is free or that
 * process is stopped. */
enum { LOCK_MS = 2000, LOCK_AT_START_MS = 500, LOCK_LOOK_MS = 2 };

/* ---- text ---- */

uint32_t rec_state_format(const struct rec_state *state, char text[REC_STATE_TEXT]) {
    uint8_t sum[8];
    char *at = rec_put_text(text, "stallrec-state/1 install=");
    rec_hex_text(state->install, REC_INSTALL_SIZE, at);
    at = rec_put_text(at + 2 * REC_INSTALL_SIZE, " day=");
    at = rec_put_text(rec_put_number(at, state->day > 0 ? (uint64_t)state->day : 0), " dumps=");
    at = rec_put_text(rec_put_number(at, state->dumps), " sum=");
    uint64_t hash = rec_hash(REC_HASH_START, text, (size_t)(at - text));
    for (unsigned i = 0; i < sizeof sum; i++) {
        sum[i] = (uint8_t)(hash >> (56 - 8 * i));
    }
    rec_hex_text(sum, sizeof sum, at);
    at = rec_put_text(at + 2 * sizeof sum, "\n");
    return (uint32_t)(at - text);
}

static const char *state_skip_number(const char *at, uint64_t max, uint64_t *value) {
    const char *begin = at;
    *value = 0;
    while (at != NULL && *at >= '0' && *at <= '9') {
        uint64_t digit = (uint64_t)(*at++ - '0');
        if (*value > (max - digit) / 10) {
            return NULL;
        }
        *value = *value * 10 + digit;
    }
    return at != begin ? at : NULL;
}

static const char *state_skip_hex(const char *at, uint8_t *bytes, size_t len) {
    for (size_t i = 0; at != NULL && i < len; i++) {
        int high = rec_hex_digit(at[0]), low = high >= 0 ? rec_hex_digit(at[1]) : -1;
        if (low < 0) {
            return NULL;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    return at;
}

bool rec_state_parse(const char *text, uint32_t len, struct rec_state *out) {
    struct rec_state state;
    char copy[REC_STATE_TEXT], again[REC_STATE_TEXT];
    uint64_t day, dumps;
    if (len >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    const char *at = rec_skip_text(copy, "stallrec-state/1 install=");
    at = rec_skip_text(state_skip_hex(at, state.install, sizeof state.install), " day=");
    at = rec_skip_text(state_skip_number(at, INT32_MAX, &day), " dumps=");
    at = state_skip_number(at, UINT32_MAX, &dumps);
    if (at == NULL) {
        return false;
    }
    state.day = (int64_t)day;
    state.dumps = (uint32_t)dumps;
    /* One comparison checks the sum, the end, and that each number has its canonical form. */
    if (rec_state_format(&state, again) != len || memcmp(copy, again, len) != 0) {
        return false;
    }
    *out = state;
    return true;
}

/* ---- files ---- */

/* Opens a file of the folder. The folder may be shared with other users, so links are not
 * followed. Returns -1, with errno set, if it cannot be opened. */
static int open_own(int dir, const char *name, int flags) {
    return openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

bool rec_state_load(int dir, struct rec_state *out) {
    char text[REC_STATE_TEXT];
    int fd = open_own(dir, STATE_NAME, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t len = read(fd, text, sizeof text);
    close(fd);
    return len > 0 && rec_state_parse(text, (uint32_t)len, out);
}

static bool state_store(int dir, const struct rec_state *state, bool wait_for_disk) {
    char text[REC_STATE_TEXT];
    uint32_t len = rec_state_format(state, text);
    int fd = open_own(dir, PART_NAME, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = write(fd, text, len);
    bool ok = n == (ssize_t)len && (!wait_for_disk || fsync(fd) == 0);
    int why = n >= 0 && n < (ssize_t)len ? ENOSPC : errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && renameat(dir, PART_NAME, dir, STATE_NAME) != 0) {
        ok = false;
        why = errno;
    }
    if (!ok) {
        unlinkat(dir, PART_NAME, 0);
        errno = why;
    }
    return ok;
}

bool rec_state_store(int dir, const struct rec_state *state) {
    return state_store(dir, state, true);
}

static uint64_t clock_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Locks the folder and returns the lock's descriptor; -1: see errno. As a holder may be stopped
 * for ever, the wait ends without the lock after limit_ms. */
static int lock_folder(int dir, uint64_t limit_ms) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    uint64_t begin = clock_ms();
    int fd = open_own(dir, LOCK_NAME, O_RDWR | O_CREAT);
    while (fd >= 0 && fcntl(fd, F_SETLK, &lock) != 0) {
        int why = errno;
        if ((why != EACCES && why != EAGAIN) || clock_ms() - begin >= limit_ms) {
            close(fd);
            errno = why;
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = LOCK_LOOK_MS * 1000000}, NULL);
    }
    return fd;
}

static void unlock_folder(int lock) {
    int why = errno;
    if (lock >= 0) {
        close(lock);
    }
    errno = why;
}

bool rec_state_open(int dir, struct rec_state *state, const uint8_t install[REC_INSTALL_SIZE]) {
    if (rec_state_load(dir, state)) {
        return true;
    }
    int lock = lock_folder(dir, LOCK_AT_START_MS);
    bool ok =
        lock >= 0 && rec_state_load(dir, state); /* another process has made the state first */
    if (!ok) {
        *state = (struct rec_state){0};
        memcpy(state->install, install, REC_INSTALL_SIZE);
        ok = lock >= 0 && state_store(dir, state, false);
    }
    unlock_folder(lock);
    return ok;
}

bool rec_state_count(int dir, struct rec_state *state, int64_t wall_ms) {
    struct rec_state stored;
    int lock = lock_folder(dir, LOCK_MS);
    if (rec_state_load(dir, &stored) &&
        (stored.day > state->day || (stored.day == state->day && stored.dumps > state->dumps))) {
        state->day = stored.day;
        state->dumps = stored.dumps;
    }
    int64_t day = wall_ms / 86400000;
    if (day > state->day) {
        state->day = day;
        state->dumps = 0;
    }
    if (state->dumps < UINT32_MAX) {
        state->dumps++;
    }
    bool ok = lock >= 0 && rec_state_store(dir, state);
    unlock_folder(lock);
    return ok;
}
