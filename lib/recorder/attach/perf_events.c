/* Opens perf events: perf_event_open(2). */
#include "attach/perf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/remote_process.h"

enum {
    EDGE_PAGES = 128, /* 512 KiB: room for about 400 waits between two readings */
    STACK_PAGES = 128 /* 512 KiB: room for 8 copies of stacks */
};

/* ---- tracefs ---- */

/* Copies the n-th word of a line, counted from 0, as a string into `word`. False: there is no such
 * word, or it does not fit into `room` bytes. */
static bool nth_word(const char *line, unsigned n, char *word, size_t room) {
    for (; n > 0; n--) {
        line += strcspn(line, " ");
        line += *line == ' ';
    }
    size_t size = strcspn(line, " \n");
    if (size == 0 || size >= room) {
        return false;
    }
    memcpy(word, line, size);
    word[size] = '\0';
    return true;
}

/* Finds tracefs in /proc/mounts. A mount whose path has a space or a backslash is skipped, as the
 * file writes these with escapes. */
bool perf_tracing_find(struct perf_tracing *tracing) {
    char line[1024], kind[64];
    FILE *mounts = fopen("/proc/mounts", "re");
    bool found = false;
    while (mounts && !found && fgets(line, sizeof line, mounts)) {
        found = nth_word(line, 2, kind, sizeof kind) && strcmp(kind, "tracefs") == 0 &&
                nth_word(line, 1, tracing->path, sizeof tracing->path) &&
                !strchr(tracing->path, '\\');
    }
    if (mounts) {
        fclose(mounts);
    }
    errno = ENOENT;
    return found;
}

/* Reads the number of a tracepoint; false: see errno. */
static bool tracepoint_id(const struct perf_tracing *tracing, const char *group, const char *prefix,
                          const char *name, uint64_t *id) {
    char path[512], text[32];
    snprintf(path, sizeof path, "%s/events/%s/%s%s/id", tracing->path, group, prefix, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    remote_text(fd, text, sizeof text);
    close(fd);
    errno = EINVAL;
    return remote_number(text, id);
}

/* ---- events ---- */

static struct perf_event_attr base_attributes(enum perf_layout layout) {
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .sample_type = perf_record_members(layout),
        .sample_regs_user = perf_record_registers(layout),
        .disabled = 1,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX, /* nobody waits for the ring */
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

/* Opens one event. Its records go into the ring of the event `into`; -1: the event will get a ring
 * of its own. `like` has the other members of its source. */
static bool open_event(struct perf_events *events, struct perf_event_attr *attributes,
                       enum perf_layout layout, pid_t tid, int into,
                       const struct perf_event_source *like) {
    struct perf_event_source source = *like;
    source.fd = (int)syscall(SYS_perf_event_open, attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (source.fd < 0) {
        return false;
    }
    if (ioctl(source.fd, PERF_EVENT_IOC_ID, &source.id) != 0 ||
        (into >= 0 && ioctl(source.fd, PERF_EVENT_IOC_SET_OUTPUT, into) != 0)) {
        int why = errno;
        close(source.fd);
        errno = why;
        return false;
    }
    events->layouts.event[events->count] = source.id;
    events->layouts.layout[events->count] = layout;
    events->source[events->count++] = source;
    events->layouts.count = events->count;
    return true;
}

static enum perf_layout sample_layout(enum perf_event_kind kind) {
    switch (kind) {
    case PERF_EVENT_ENTER:
        return PERF_LAYOUT_CALLER;
    case PERF_EVENT_SLEEP:
        return PERF_LAYOUT_KEPT;
    default:
        return PERF_LAYOUT_TIME;
    }
}

/* Opens the first event, whose ring gets all records but those of PERF_EVENT_RUNS. Its own records
 * report an exec and the thread's end; it is never turned off, as the kernel writes neither record
 * for an event that is off. */
static bool open_life(struct perf_events *events, pid_t tid) {
    struct perf_event_attr attributes = base_attributes(PERF_LAYOUT_TIME);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.disabled = 0;
    attributes.comm = 1;
    attributes.comm_exec = 1;
    attributes.task = 1;
    struct perf_event_source source = {.kind = PERF_EVENT_LIFE};
    return open_event(events, &attributes, PERF_LAYOUT_TIME, tid, -1, &source) &&
           perf_ring_open(&events->edges, events->source[0].fd, EDGE_PAGES);
}

/* Opens a tracepoint's event, whose records go into the ring of the first event. */
static bool open_edge(struct perf_events *events, uint64_t id, pid_t tid, enum perf_event_kind kind,
                      const struct wait_call *call) {
    enum perf_layout layout = sample_layout(kind);
    struct perf_event_attr attributes = base_attributes(layout);
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.sample_period = 1;
    attributes.sample_stack_user = layout == PERF_LAYOUT_CALLER ? PERF_TOP_BYTES : 0;
    struct perf_event_source source = {.kind = kind, .call = call};
    return open_event(events, &attributes, layout, tid, events->source[0].fd, &source);
}

/* Opens the events of a call's begin and end; a call that this kernel does not have is skipped. */
static bool open_wait(struct perf_events *events, const struct perf_tracing *tracing, pid_t tid,
                      const struct wait_call *call) {
    uint64_t enter, leave;
    if (!tracepoint_id(tracing, "syscalls", "sys_enter_", call->name, &enter) ||
        !tracepoint_id(tracing, "syscalls", "sys_exit_", call->name, &leave)) {
        return errno == ENOENT;
    }
    const char *filter = wait_call_filter(call);
    if (!open_edge(events, enter, tid, PERF_EVENT_ENTER, call)) {
        return false;
    }
    /* a kernel that refuses the filter records all calls, which costs the thread more */
    if (filter) {
        ioctl(events->source[events->count - 1].fd, PERF_EVENT_IOC_SET_FILTER, filter);
    }
    return open_edge(events, leave, tid, PERF_EVENT_EXIT, call);
}

static bool open_clock(struct perf_events *events, pid_t tid) {
    struct perf_event_attr attributes = base_attributes(PERF_LAYOUT_WHOLE);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = UINT32_MAX;
    attributes.sample_stack_user = PERF_STACK_BYTES;
    struct perf_event_source source = {.kind = PERF_EVENT_RUNS};
    return open_event(events, &attributes, PERF_LAYOUT_WHOLE, tid, -1, &source) &&
           perf_ring_open(&events->stacks, events->source[events->count - 1].fd, STACK_PAGES);
}

static bool open_all(struct perf_events *events, const struct perf_tracing *tracing, pid_t tid,
                     const char **what) {
    const struct wait_call *call;
    uint64_t id;
    *what = "the event dummy";
    if (!open_life(events, tid)) {
        return false;
    }
    *what = "the tracepoints of tracefs (events/syscalls)";
    for (size_t i = 0; (call = wait_call_at(i)) != NULL; i++) {
        if (!open_wait(events, tracing, tid, call)) {
            return false;
        }
    }
    *what = "the tracepoint sched:sched_switch";
    if (!tracepoint_id(tracing, "sched", "", "sched_switch", &id) ||
        !open_edge(events, id, tid, PERF_EVENT_SLEEP, NULL)) {
        return false;
    }
    *what = "the event cpu-clock";
    return open_clock(events, tid);
}

bool perf_events_open(struct perf_events *events, const struct perf_tracing *tracing, pid_t tid,
                      const char **what) {
    *events = (struct perf_events){0};
    if (open_all(events, tracing, tid, what)) {
        return true;
    }
    int why = errno;
    perf_events_close(events);
    errno = why;
    return false;
}

bool perf_events_open_stacks(struct perf_events *events, pid_t tid) {
    *events = (struct perf_events){0};
    if (open_clock(events, tid)) {
        return true;
    }
    int why = errno;
    perf_events_close(events);
    errno = why;
    return false;
}

void perf_events_close(struct perf_events *events) {
    perf_ring_close(&events->edges);
    perf_ring_close(&events->stacks);
    while (events->count > 0) {
        close(events->source[--events->count].fd);
    }
}

const struct perf_event_source *perf_events_source(const struct perf_events *events,
                                                   const struct perf_record *record) {
    for (size_t i = 0; record->kind == PERF_RECORD_IS_SAMPLE && i < events->count; i++) {
        if (events->source[i].id == record->event) {
            return &events->source[i];
        }
    }
    return NULL;
}

void perf_events_switch(struct perf_events *events, const struct wait_call *call, bool on) {
    for (size_t i = 0; i < events->count; i++) {
        const struct perf_event_source *source = &events->source[i];
        bool of_sleep = !call && source->kind == PERF_EVENT_SLEEP;
        if (of_sleep || (call && source->call == call)) {
            ioctl(source->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
        }
    }
}

void perf_events_sample(struct perf_events *events, uint64_t period_ns) {
    for (size_t i = 0; i < events->count; i++) {
        int fd = events->source[i].fd;
        if (events->source[i].kind != PERF_EVENT_RUNS) {
            continue;
        }
        if (period_ns == 0) {
            ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        } else if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &period_ns) == 0) {
            ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        }
    }
}

bool perf_events_gone(const struct perf_events *events) {
    struct pollfd poll_fd = {.fd = events->count > 0 ? events->source[0].fd : -1, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLHUP) != 0;
}
