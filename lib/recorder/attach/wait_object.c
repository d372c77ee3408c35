/* Reads the object for which a blocked call waits: an epoll instance, sets of descriptors, a
 * condition variable, signals, or time. */
#include "attach/wait_object.h"

#include <poll.h>
#include <string.h>

enum { SET_MAX = 1024, DESCRIPTOR_MAX = 1 << 20 };

static void add_descriptor(struct finder_object *out, uint32_t descriptor, bool *any) {
    if (!*any || descriptor < out->lowest) {
        out->lowest = descriptor;
    }
    *any = true;
    finder_set_add(out, descriptor);
}

/* Reads the descriptors of poll into *out. The array may belong to another function by the time
 * that it is read; events that no program requests, or a descriptor too high, show this. False: the
 * array cannot be read, is no longer the call's, has no descriptor, or has more than SET_MAX
 * entries. */
static bool read_poll(const uint64_t args[6], wait_read_fn *read, void *arg,
                      struct finder_object *out) {
    struct pollfd fds[SET_MAX];
    uint64_t count = args[1];
    bool any = false;
    if (count == 0 || count > SET_MAX || !read(arg, args[0], fds, (size_t)count * sizeof *fds)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (fds[i].fd >= DESCRIPTOR_MAX || (fds[i].fd >= 0 && (fds[i].events & ~0x3fff) != 0)) {
            return false;
        }
        if (fds[i].fd >= 0) {
            add_descriptor(out, (uint32_t)fds[i].fd, &any);
        }
    }
    return any;
}

/* Reads the sets of select into *out. The kernel overwrites the sets with the answer, so they are
 * whole only if the wait continues, or if they were copied when it began; after a wait in which
 * nothing became ready they are empty. False: one of the given sets cannot be read, all are empty,
 * or the number of descriptors is above SET_MAX. */
static bool read_select(const uint64_t args[6], wait_read_fn *read, void *arg,
                        struct finder_object *out) {
    uint64_t words[SET_MAX / 64], count = args[0];
    bool any = false;
    if (count == 0 || count > SET_MAX) {
        return false;
    }
    for (unsigned set = 1; set <= 3; set++) {
        size_t size = (size_t)((count + 63) / 64) * 8;
        if (args[set] == 0) {
            continue;
        }
        if (!read(arg, args[set], words, size)) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++) {
            if (words[i / 64] >> i % 64 & 1) {
                add_descriptor(out, i, &any);
            }
        }
    }
    return any;
}

bool wait_object_read(const struct wait_call *call, const uint64_t args[6], wait_read_fn *read,
                      void *arg, struct finder_object *out) {
    *out = (struct finder_object){.kind = FINDER_SET};
    bool ok = true;
    if (wait_call_is_sleep(call, args)) {
        out->kind = FINDER_SLEEP;
        return true;
    }
    switch (call->on) {
    case WAIT_ON_EPOLL:
        out->kind = FINDER_EPOLL;
        out->id = (uint32_t)args[0];
        break;
    case WAIT_ON_POLL:
        ok = read_poll(args, read, arg, out);
        break;
    case WAIT_ON_SELECT:
        ok = read_select(args, read, arg, out);
        break;
    case WAIT_ON_CONDITION:
        out->kind = FINDER_CONDITION;
        out->id = args[0] & ~UINT64_C(7); /* glibc's condition variables use two words by turns */
        break;
    case WAIT_ON_SIGNALS:
        out->kind = FINDER_SIGNALS;
        break;
    default:
        break;
    }
    if (!ok) {
        finder_set_unread(out);
    }
    return ok;
}

bool wait_arrays_recall(struct wait_arrays *arrays, const struct wait_call *call,
                        const uint64_t args[6], bool ok, struct finder_object *object) {
    struct wait_array *array = &arrays->at[args[0] / 16 % WAIT_ARRAYS];
    if (call->on != WAIT_ON_POLL || args[0] == 0) {
        return ok;
    }
    if (ok) {
        *array = (struct wait_array){args[0], args[1], *object};
        return true;
    }
    if (array->address != args[0] || array->count != args[1]) {
        return false;
    }
    *object = array->object;
    return true;
}

uint32_t wait_object_calls(enum finder_kind kind) {
    const struct wait_call *call;
    uint32_t calls = 0;
    for (unsigned i = 0; (call = wait_call_at(i)) != NULL; i++) {
        bool set = call->on == WAIT_ON_POLL || call->on == WAIT_ON_SELECT;
        bool is_on = (kind == FINDER_EPOLL && call->on == WAIT_ON_EPOLL) ||
                     (kind == FINDER_SET && set) ||
                     (kind == FINDER_CONDITION && call->on == WAIT_ON_CONDITION);
        calls |= (uint32_t)is_on << i;
    }
    return calls;
}
