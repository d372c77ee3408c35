/* Passes to the finder of a watched thread's loop the object on which the thread waits:
 * descriptors, a condition variable, signals, a lock, or time. Nothing is read for a thread that is
 * not watched. */
#include <errno.h>
#include <sys/stat.h>

#include "loop/guard.h"
#include "loop/loop_finder.h"
#include "preload/preload_private.h"

/* Returns the inode number of the file of the object's lowest descriptor; 0 = not known, not
 * needed, or the file has no type in st_mode, as the files of eventfd(2), which share one
 * number. */
static uint64_t file_number(const struct thread_watch *w, const struct finder_object *object) {
    struct stat sb;
    int saved_errno = errno;
    bool known = false;
    if (finder_wants_file(&w->finder, object)) {
        preload_call_begins(w);
        known = fstat((int)object->lowest, &sb) == 0 && (sb.st_mode & S_IFMT) != 0;
        preload_call_ends(w);
    }
    errno = saved_errno;
    return known ? (uint64_t)sb.st_ino : 0;
}

/* Keeps the recorder's signal away from the thread, which is about to wait. */
static bool guard_wait(struct thread_watch *w) {
    guard_wait_begins(&w->shared.latest.guard);
    return true;
}

/* Reports that a wait begins that is no loop's by itself. w: the calling thread's watch; NULL: it
 * is not recorded. */
static bool begin_aside(struct thread_watch *w, const struct preload_caller *caller,
                        enum finder_kind kind) {
    if (!w) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = kind}};
    if (!preload_wait_interrupts(w, caller) && caller->blocks) {
        preload_wait_begins(w, caller, &wait);
    }
    return guard_wait(w);
}

/* Reports that a wait for the descriptors of wait->object, or for none, begins. `given`: the call
 * has an array or set, which may be empty because a loop has no descriptors for now; it is then
 * taken to hold all descriptors, so that waits at the same place are for the same object. */
static bool begin_set(struct thread_watch *w, const struct preload_caller *caller, bool given,
                      struct finder_wait *wait) {
    if (!given) {
        return begin_aside(w, caller, FINDER_SLEEP);
    }
    if (wait->object.lowest == UINT32_MAX) {
        finder_set_unread(&wait->object);
    } else {
        wait->object.file = file_number(w, &wait->object);
    }
    preload_wait_begins(w, caller, wait);
    return guard_wait(w);
}

bool preload_begin_poll(const struct preload_caller *caller, const struct pollfd *fds, nfds_t n) {
    struct thread_watch *w = preload_own_watch(caller->blocks);
    if (!w) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_SET, .lowest = UINT32_MAX}};
    for (nfds_t i = 0; fds && i < n; i++) {
        if (fds[i].fd >= 0) {
            uint32_t fd = (uint32_t)fds[i].fd;
            finder_set_add(&wait.object, fd);
            wait.object.lowest = fd < wait.object.lowest ? fd : wait.object.lowest;
        }
    }
    return begin_set(w, caller, fds != NULL, &wait);
}

static void add_set(struct finder_object *object, int n, const fd_set *set) {
    for (int fd = 0; set && fd < n; fd++) {
        const unsigned char *bytes = (const unsigned char *)set;
        /* FD_ISSET is not used, as it checks FD_SETSIZE; this code assumes little-endian words. */
        if ((bytes[fd / 8] >> fd % 8 & 1) != 0) {
            finder_set_add(object, (uint32_t)fd);
            object->lowest = (uint32_t)fd < object->lowest ? (uint32_t)fd : object->lowest;
        }
    }
}

bool preload_begin_select(const struct preload_caller *caller, int n, const fd_set *in,
                          const fd_set *out, const fd_set *except) {
    struct thread_watch *w = preload_own_watch(caller->blocks);
    if (!w) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_SET, .lowest = UINT32_MAX}};
    add_set(&wait.object, n, in);
    add_set(&wait.object, n, out);
    add_set(&wait.object, n, except);
    return begin_set(w, caller, in || out || except, &wait);
}

/* For each number of a descriptor, the number of the latest epoll instance that had it, counted
 * from 1; 0 = none is known. */
static struct { _Atomic uint32_t latest[1024], count; } births;

enum { BIRTHS = sizeof births.latest / sizeof *births.latest };

void preload_epoll_is_born(int fd) {
    if (fd >= 0 && fd < BIRTHS) {
        atomic_store(&births.latest[fd], atomic_fetch_add(&births.count, 1) + 1);
    }
}

bool preload_begin_epoll(const struct preload_caller *caller, int fd) {
    struct thread_watch *w = preload_own_watch(caller->blocks);
    if (!w) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_EPOLL, .id = (uint64_t)fd}};
    wait.object.file = fd >= 0 && fd < BIRTHS ? atomic_load(&births.latest[fd]) : 0;
    preload_wait_begins(w, caller, &wait);
    return guard_wait(w);
}

bool preload_begin_condition(const struct preload_caller *caller, const void *condition) {
    struct thread_watch *w = preload_own_watch(caller->blocks);
    if (!w) {
        return false;
    }
    struct finder_wait wait = {
        .object = {.kind = FINDER_CONDITION, .id = (uint64_t)(uintptr_t)condition}};
    preload_wait_begins(w, caller, &wait);
    return guard_wait(w);
}

bool preload_begin_signals(const struct preload_caller *caller) {
    struct thread_watch *w = preload_own_watch(caller->blocks);
    if (!w) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_SIGNALS}};
    preload_wait_begins(w, caller, &wait);
    return guard_wait(w);
}

bool preload_begin_lock(const struct preload_caller *caller) {
    return begin_aside(preload_own_watch(false), caller, FINDER_LOCK);
}

bool preload_loops_on_lock(void) {
    struct thread_watch *w = preload_own_watch(false);
    const struct finder_candidate *loop = w ? finder_loop(&w->finder) : NULL;
    return loop && loop->object.kind == FINDER_LOCK;
}

bool preload_begin_sleep(const struct preload_caller *caller) {
    return begin_aside(preload_own_watch(false), caller, FINDER_SLEEP);
}

void preload_end_wait(const void *frame) {
    struct thread_watch *w = preload_own_watch(false);
    if (!w) {
        return;
    }
    bool goes_on = preload_wait_goes_on(w, frame);
    preload_wait_ends(w, frame);
    if (!goes_on) {
        guard_wait_ends(&w->shared.latest.guard);
    }
}
