/* Finds owners of glibc's locks, from the futex on which a thread is blocked.
 *
 * The arguments of the futex system call hold the futex's address, and the value at which the
 * thread sleeps. The value is particular to the kind of lock, and the words around the address must
 * then be those of such a lock with a living owner; otherwise no owner is reported. The layouts
 * (glibc 2.25 to 2.41 on x86-64 and AArch64):
 *
 *     pthread_mutex_t     0 lock  4 count  8 owner  12 users  16 kind
 *                         waited on: lock, while it is 2; robust: owner | FUTEX_WAITERS
 *     pthread_rwlock_t    0 readers  8 writer phase  12 writers  24 current writer
 *                         waited on: writer phase by readers, writers by writers, while it is 3
 *     struct pthread      tid_offset: id, cleared by the kernel at its end; waited on by
 *                         pthread_join, while it is the id. On x86-64 its own address is at 0 and
 *                         16; elsewhere it is known by its links in the list of all threads, next
 *                         and previous, right before the id
 *
 * A mutex with priority inheritance holds its owner's id in the futex word itself: futex(2). */
#include "linux/lockowner_linux.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/proc_linux.h"

enum {
    MUTEX_LOCK = 0,
    MUTEX_OWNER = 8,
    MUTEX_USERS = 12,
    MUTEX_KIND = 16,
    MUTEX_SIZE = 20,
    KIND_ROBUST = 0x10,
    KIND_KNOWN = 0x393, /* type, robust, process-shared, lock elision */

    RWLOCK_READERS = 0,
    RWLOCK_PHASE = 8,
    RWLOCK_WRITERS = 12,
    RWLOCK_WRITER = 24,
    RWLOCK_SIZE = 28,
    READERS_WRITING = 3, /* bits 0 and 1 of readers: writer phase, and write-locked */
    READERS_LOCKED = 2,  /* bit 1 of readers: write-locked */
    WAITED_FOR_BY_SOME =
        3, /* value of a rwlock's futex word while threads wait: 1, and a bit for waiters */

    SELF = 16,
    LINKS_SIZE = 16,
    DESCRIPTOR_SIZE = 2048
};

static uint32_t word_at_async(const uint8_t *bytes, size_t offset) {
    uint32_t v;
    memcpy(&v, bytes + offset, sizeof v);
    return v;
}

/* ---- reading locks ---- */

struct waiter {
    const struct lock_layout *layout;
    pid_t pid, tid;
    uint64_t address; /* address of the futex */
    uint32_t value;   /* value that the futex had when the thread went to sleep */
};

static const struct rec_wait nothing = {.kind = REC_WAIT_NONE, .owner = -1};

/* Is `tid` another living thread of the process? */
static bool can_own_async(const struct waiter *w, uint32_t tid) {
    return tid > 0 && tid <= INT32_MAX && (pid_t)tid != w->tid &&
           syscall(SYS_tgkill, w->pid, (pid_t)tid, 0) == 0;
}

static struct rec_wait found_async(const struct waiter *w, enum rec_wait_kind kind,
                                   uint64_t address, uint32_t owner) {
    return can_own_async(w, owner) ? (struct rec_wait){kind, address, owner} : nothing;
}

static struct rec_wait mutex_async(const struct waiter *w) {
    uint8_t m[MUTEX_SIZE];
    if (!w->layout->mutex || !proc_read_memory_async(w->pid, w->address, m, sizeof m)) {
        return nothing;
    }
    uint32_t lock = word_at_async(m, MUTEX_LOCK), owner = word_at_async(m, MUTEX_OWNER);
    uint32_t users = word_at_async(m, MUTEX_USERS), kind = word_at_async(m, MUTEX_KIND);
    bool robust = (kind & KIND_ROBUST) != 0;
    if (lock != w->value || users == 0 || users > INT32_MAX || (kind & ~(uint32_t)KIND_KNOWN)) {
        return nothing;
    }
    if (robust ? (lock & FUTEX_TID_MASK) != owner : lock != 2) {
        return nothing;
    }
    return found_async(w, REC_WAIT_MUTEX, w->address, owner);
}

/* Finds the writer that holds a rwlock. Readers wait for the end of the writer phase, writers for
 * the lock that the writers share. Both may also be held up by a reader, whose id is not in the
 * rwlock. */
static struct rec_wait rwlock_async(const struct waiter *w) {
    uint8_t l[RWLOCK_SIZE];
    bool reader = w->address % 8 == RWLOCK_PHASE % 8;
    uint64_t base = w->address - (reader ? RWLOCK_PHASE : RWLOCK_WRITERS);
    if (!w->layout->rwlock || base % 8 != 0 || !proc_read_memory_async(w->pid, base, l, sizeof l)) {
        return nothing;
    }
    uint32_t want = reader ? READERS_WRITING : READERS_LOCKED;
    if (word_at_async(l, reader ? RWLOCK_PHASE : RWLOCK_WRITERS) != w->value ||
        (word_at_async(l, RWLOCK_READERS) & want) != want) {
        return nothing;
    }
    return found_async(w, REC_WAIT_RWLOCK, base, word_at_async(l, RWLOCK_WRITER));
}

/* Does the thread descriptor at `base` hold its own address, as on x86-64? */
static bool names_itself_async(pid_t pid, uint64_t base) {
    uint64_t self[SELF / 8 + 1];
    return proc_read_memory_async(pid, base, self, sizeof self) && self[0] == base &&
           self[SELF / 8] == base;
}

/* Are the words before the thread id at `address` list links whose neighbours link back to them? */
static bool is_listed_async(pid_t pid, uint64_t address) {
    uint64_t at = address - LINKS_SIZE, link[2], back[2];
    return at % 8 == 0 && proc_read_memory_async(pid, at, link, sizeof link) && link[0] != at &&
           proc_read_memory_async(pid, link[0] + 8, &back[0], 8) && back[0] == at &&
           proc_read_memory_async(pid, link[1], &back[1], 8) && back[1] == at;
}

static bool is_descriptor_async(const struct lock_layout *layout, pid_t pid, uint64_t id_at) {
    return layout->self ? names_itself_async(pid, id_at - layout->tid_offset)
                        : is_listed_async(pid, id_at);
}

static struct rec_wait join_async(const struct waiter *w) {
    uint32_t tid;
    if (!w->layout->join || !is_descriptor_async(w->layout, w->pid, w->address) ||
        !proc_read_memory_async(w->pid, w->address, &tid, sizeof tid) || tid != w->value) {
        return nothing;
    }
    return found_async(w, REC_WAIT_THREAD, 0, tid);
}

static struct rec_wait priority_async(const struct waiter *w) {
    uint32_t word;
    if (!proc_read_memory_async(w->pid, w->address, &word, sizeof word)) {
        return nothing;
    }
    return found_async(w, REC_WAIT_MUTEX, w->address, word & FUTEX_TID_MASK);
}

struct rec_wait lock_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                const struct proc_syscall *call) {
    struct waiter w = {layout, pid, waiter, call->args[0], (uint32_t)call->args[2]};
    if (call->number != SYS_futex || w.address % 4 != 0) {
        return nothing;
    }
    switch (call->args[1] & (uint64_t)FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI:
    case 13: /* FUTEX_LOCK_PI2, since Linux 5.14 */
        return priority_async(&w);
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        break;
    default:
        return nothing;
    }
    if (w.value == 2 || (w.value & FUTEX_WAITERS)) {
        return mutex_async(&w);
    }
    return w.value == WAITED_FOR_BY_SOME ? rwlock_async(&w) : join_async(&w);
}

/* ---- trying layouts ---- */

static bool mutex_is(const pthread_mutex_t *mutex, uint32_t lock, uint32_t count, uint32_t owner,
                     uint32_t users, uint32_t kind) {
    uint8_t m[sizeof *mutex];
    memcpy(m, mutex, sizeof m);
    return word_at_async(m, MUTEX_LOCK) == lock && word_at_async(m, 4) == count &&
           word_at_async(m, MUTEX_OWNER) == owner && word_at_async(m, MUTEX_USERS) == users &&
           word_at_async(m, MUTEX_KIND) == kind;
}

static bool try_mutex(uint32_t tid) {
    pthread_mutexattr_t attr;
    pthread_mutex_t mutex;
    bool ok = sizeof mutex >= MUTEX_SIZE;
    if (!ok || pthread_mutexattr_init(&attr) != 0) {
        return false;
    }
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    memset(&mutex, 0xff, sizeof mutex);
    if (pthread_mutex_init(&mutex, &attr) == 0) {
        ok = mutex_is(&mutex, 0, 0, 0, 0, PTHREAD_MUTEX_RECURSIVE);
        /* NOLINTNEXTLINE(misc-redundant-expression): a recursive mutex is locked twice */
        ok = pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0 && ok;
        ok = ok && mutex_is(&mutex, 1, 2, tid, 1, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_unlock(&mutex);
        ok = ok && mutex_is(&mutex, 0, 0, 0, 0, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_destroy(&mutex);
    }
    pthread_mutexattr_destroy(&attr);
    return ok;
}

static bool rwlock_is(const pthread_rwlock_t *lock, uint32_t readers, uint32_t futex,
                      uint32_t writer) {
    uint8_t l[sizeof *lock];
    memcpy(l, lock, sizeof l);
    return word_at_async(l, RWLOCK_READERS) == readers && word_at_async(l, RWLOCK_PHASE) == futex &&
           word_at_async(l, RWLOCK_WRITERS) == futex && word_at_async(l, RWLOCK_WRITER) == writer;
}

static bool try_rwlock(uint32_t tid) {
    pthread_rwlock_t lock;
    if (sizeof lock < RWLOCK_SIZE || pthread_rwlock_init(&lock, NULL) != 0) {
        return false;
    }
    bool ok = rwlock_is(&lock, 0, 0, 0) && pthread_rwlock_wrlock(&lock) == 0;
    if (ok) {
        ok = rwlock_is(&lock, READERS_WRITING, 1, tid);
        pthread_rwlock_unlock(&lock);
    }
    pthread_rwlock_destroy(&lock);
    return ok;
}

/* Finds the offset of the thread's id in the caller's descriptor. It is not guaranteed that
 * pthread_self() is the descriptor's address, so the memory is read through the kernel. */
static void try_join(uint32_t tid, struct lock_layout *out) {
    uint8_t bytes[DESCRIPTOR_SIZE];
    uint64_t base = (uint64_t)pthread_self();
    out->self = names_itself_async(getpid(), base);
    if (!proc_read_memory_async(getpid(), base, bytes, sizeof bytes)) {
        return;
    }
    for (uint32_t at = SELF + 8; at < sizeof bytes && !out->join; at += 4) {
        if (word_at_async(bytes, at) == tid) {
            out->tid_offset = at;
            out->join = is_descriptor_async(out, getpid(), base + at);
        }
    }
}

void lock_layout_probe(struct lock_layout *out) {
    uint32_t tid = (uint32_t)gettid();
    *out = (struct lock_layout){0};
    out->mutex = try_mutex(tid);
    out->rwlock = try_rwlock(tid);
    try_join(tid, out);
}
