/* The table of waiting system calls, and the meaning of their arguments. */
#include "attach/wait_call.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* the number is the same on every processor */
#endif

static const struct wait_call calls[] = {
#ifdef SYS_epoll_wait
    {"epoll_wait", SYS_epoll_wait, WAIT_ON_EPOLL, WAIT_TIMEOUT_MS, 3},
#endif
    {"epoll_pwait", SYS_epoll_pwait, WAIT_ON_EPOLL, WAIT_TIMEOUT_MS, 3},
    {"epoll_pwait2", SYS_epoll_pwait2, WAIT_ON_EPOLL, WAIT_TIMEOUT_STRUCT, 3},
#ifdef SYS_poll
    {"poll", SYS_poll, WAIT_ON_POLL, WAIT_TIMEOUT_MS, 2},
#endif
    {"ppoll", SYS_ppoll, WAIT_ON_POLL, WAIT_TIMEOUT_STRUCT, 2},
#ifdef SYS_select
    {"select", SYS_select, WAIT_ON_SELECT, WAIT_TIMEOUT_STRUCT, 4},
#endif
    {"pselect6", SYS_pselect6, WAIT_ON_SELECT, WAIT_TIMEOUT_STRUCT, 4},
    {"futex", SYS_futex, WAIT_ON_CONDITION, WAIT_TIMEOUT_STRUCT, 3},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait, WAIT_ON_SIGNALS, WAIT_TIMEOUT_STRUCT, 2},
    {"clock_nanosleep", SYS_clock_nanosleep, WAIT_ON_SLEEP, WAIT_TIMEOUT_STRUCT, 2},
};

_Static_assert(sizeof calls / sizeof *calls <= WAIT_CALLS_MAX, "the table has room");

const struct wait_call *wait_call_at(size_t i) {
    return i < sizeof calls / sizeof *calls ? &calls[i] : NULL;
}

const struct wait_call *wait_call_numbered(int64_t number) {
    const struct wait_call *call;
    for (size_t i = 0; (call = wait_call_at(i)) != NULL; i++) {
        if (call->number == number) {
            return call;
        }
    }
    return NULL;
}

bool wait_call_blocks(const struct wait_call *call, const uint64_t args[6], wait_read_fn *read,
                      void *arg) {
    uint64_t value = args[call->timeout_arg], time[2];
    if (call->timeout == WAIT_TIMEOUT_MS) {
        return (int32_t)(uint32_t)value != 0;
    }
    return value == 0 || !read(arg, value, time, sizeof time) || time[0] != 0 || time[1] != 0;
}

bool wait_call_is_endless(const struct wait_call *call, const uint64_t args[6]) {
    uint64_t value = args[call->timeout_arg];
    return call->timeout == WAIT_TIMEOUT_MS ? (int32_t)(uint32_t)value < 0 : value == 0;
}

/* Does a call of futex(2) wait for a condition variable? A wait of FUTEX_WAIT for the value 2 does
 * not, as this is how glibc's mutexes wait. */
static bool waits_for_condition(const uint64_t args[6]) {
    switch (args[1] & (uint64_t)FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return (uint32_t)args[2] != 2;
    case FUTEX_WAIT_BITSET:
        return true;
    default:
        return false;
    }
}

/* Returns a filter that passes waits for condition variables, NULL for any other call. It lists
 * each command with and without FUTEX_PRIVATE_FLAG (128) and FUTEX_CLOCK_REALTIME (256), as the
 * kernel's filters cannot mask bits. */
const char *wait_call_filter(const struct wait_call *call) {
    if (call->on != WAIT_ON_CONDITION) {
        return NULL;
    }
    return "((op == 0 || op == 128 || op == 256 || op == 384) && val != 2) || "
           "op == 9 || op == 137 || op == 265 || op == 393";
}

bool wait_call_is_other(const struct wait_call *call, const uint64_t args[6]) {
    return call->on == WAIT_ON_CONDITION && !waits_for_condition(args);
}

bool wait_call_is_sleep(const struct wait_call *call, const uint64_t args[6]) {
    switch (call->on) {
    case WAIT_ON_POLL:
        return args[0] == 0;
    case WAIT_ON_SELECT:
        return args[1] == 0 && args[2] == 0 && args[3] == 0;
    default:
        return call->on == WAIT_ON_SLEEP;
    }
}

bool wait_call_is_loops(int64_t number, const uint64_t args[6]) {
    const struct wait_call *call = wait_call_numbered(number);
    return call && call->on <= WAIT_ON_SELECT && !wait_call_is_sleep(call, args);
}

void wait_call_arguments(const uint8_t *trace, size_t size, uint64_t args[6]) {
    enum { ARGUMENTS_AT = 16 };
    memset(args, 0, 6 * sizeof *args);
    for (size_t i = 0; i < 6 && size >= ARGUMENTS_AT + 8 * (i + 1); i++) {
        memcpy(&args[i], trace + ARGUMENTS_AT + 8 * i, sizeof args[i]);
    }
}
