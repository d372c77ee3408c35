/* Watches the main thread through its waits: the recorder starts with the first that blocks, and is
 * told which of them are the event loop's as that becomes known. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/place_linux.h"
#include "loop/hooks.h"
#include "loop/loop.h"
#include "loop/loop_finder.h"
#include "monitor.h"
#include "preload/preload_private.h"
#include "preload/preload_probe.h"
#include "stallrec.h"

enum {
    MAIN_STACK_MAX = 128 << 20,
    LOOPS = 4,     /* that are told of, if one follows another */
    INTERVALS = 96 /* told at once: with some more events they fit into the empty inbox */
};

/* The interposed functions have no context argument, so their state is global. Only the main thread
 * touches it after the constructor. */
static struct {
    atomic_bool on; /* false: pass everything through */
    pid_t pid;
    pthread_t main;
    uint64_t stack_top;
    uint64_t begin_ns;  /* when the process began */
    uint64_t waited_ns; /* end of the last wait, 0 = none yet */
    bool waits;         /* a wait that blocks goes on, which the finder knows */
    bool idle;          /* it was told as idle */
    bool untold;        /* what the finder found could not be told yet */
    struct loop_finder finder;
    struct stallrec_loop *loop; /* NULL: there is no recorder */
    struct preload_process *process;
    const struct preload_config *config;
    char program[PRELOAD_PATH];
    char loop_at[2][PRELOAD_TEXT]; /* the monitor may still read the last one */
    unsigned named;
    uint64_t places[LOOPS]; /* of the loops that followed one another, the last is believed now */
    unsigned place_count;
} watch;

static const char *program_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- places ---- */

/* False: the address is in no module, for instance in code generated at run time. */
static bool find_place(uint64_t address, struct code_place *place, const char **library) {
    if (!place_find_async(address, place)) {
        return false;
    }
    *library = *place->library ? place->library : program_base_name(watch.program);
    return true;
}

/* "libuv.so.1+0x1f30 (uv__io_poll)" */
static void name_place(uint64_t address, char text[PRELOAD_TEXT]) {
    struct code_place place;
    const char *library;
    if (!find_place(address, &place, &library)) {
        snprintf(text, PRELOAD_TEXT, "0x%llx", (unsigned long long)address);
        return;
    }
    snprintf(text, PRELOAD_TEXT, "%.120s+0x%llx%s%.100s%s", library,
             (unsigned long long)place.offset, *place.symbol ? " (" : "", place.symbol,
             *place.symbol ? ")" : "");
}

/* The loop at the place follows those before, or replaces them. */
static void add_place(uint64_t place, enum rec_past past) {
    if (past != REC_PAST_CONTINUES) {
        watch.place_count = 0;
    }
    for (unsigned i = 0; i < watch.place_count; i++) {
        if (watch.places[i] == place) { /* it went on: what followed it was part of its turn */
            watch.place_count = i;
        }
    }
    if (watch.place_count == LOOPS) {
        memmove(watch.places, watch.places + 1, sizeof watch.places - sizeof *watch.places);
        watch.place_count--;
    }
    watch.places[watch.place_count++] = place;
}

/* "app+0x1234, then libuv.so.1+0x1f30 (uv__io_poll)" */
static void tell_places(char text[PRELOAD_TEXT]) {
    size_t used = 0;
    for (unsigned i = 0; i < watch.place_count && used < PRELOAD_TEXT; i++) {
        char name[PRELOAD_TEXT];
        name_place(watch.places[i], name);
        int n = snprintf(text + used, PRELOAD_TEXT - used, "%s%s", i > 0 ? ", then " : "", name);
        used += n > 0 ? (size_t)n : 0;
    }
}

static bool place_is_named(void *ctx, uint64_t address) {
    struct code_place place;
    const char *library;
    (void)ctx;
    if (!find_place(address, &place, &library)) {
        return false;
    }
    for (const char *name = watch.config->names; *name; name += strlen(name) + 1) {
        if (place_is_called(name, library, place.symbol, place.offset)) {
            return true;
        }
    }
    return false;
}

/* ---- telling ---- */

/* The loop that is believed now, and what was idle before. waits: its wait begins now. */
static void tell_found(uint64_t now, bool waits) {
    static struct finder_interval idle[INTERVALS];
    static struct rec_event events[INTERVALS + 3];
    const struct finder_candidate *found = finder_loop(&watch.finder);
    uint64_t from;
    enum rec_past past;
    uint32_t count = finder_idle(&watch.finder, idle, INTERVALS, &from, &past), n = 0;
    from = from > watch.begin_ns ? from : watch.begin_ns;
    events[n++] = (struct rec_event){
        .kind = REC_EVENT_ATTRIBUTE, .at_ns = now, .value = past, .mark_ns = from};
    for (uint32_t i = 0; i < count; i++) {
        events[n++] = (struct rec_event){.kind = REC_EVENT_PAST_IDLE,
                                         .at_ns = now,
                                         .value = idle[i].begin_ns,
                                         .mark_ns = idle[i].end_ns};
    }
    events[n++] = (struct rec_event){.kind = REC_EVENT_ATTRIBUTED,
                                     .at_ns = now,
                                     .mark_ns = finder_young_until(&watch.finder, now)};
    if (waits) { /* told here, lest a monitor that looks late sees only a later edge */
        events[n++] =
            (struct rec_event){.kind = REC_EVENT_EDGE, .at_ns = now, .value = REC_LOOP_SLEEP};
    }
    char *name = watch.loop_at[++watch.named % 2];
    name_place(found->place, name);
    preload_name_loop(name);
    add_place(found->place, past);
    watch.untold = !rec_hooks_tell(events, n);
    watch.process->loop_kind = 1 + (uint32_t)found->object.kind;
    tell_places(watch.process->loop_at);
}

/* Nothing is believed any more. */
static void tell_doubt(uint64_t now) {
    const struct rec_event event = {
        .kind = REC_EVENT_DOUBT, .at_ns = now, .mark_ns = watch.begin_ns};
    rec_hooks_tell(&event, 1);
}

static void tell_news(uint64_t now, bool waits) {
    enum finder_news news = finder_take_news(&watch.finder);
    if (news == FINDER_DOUBTS && !watch.untold) {
        tell_doubt(now);
    } else if (news == FINDER_FOUND || (watch.untold && watch.finder.believed != 0)) {
        tell_found(now, waits);
    }
}

/* Keeps the longest times without a wait, for a program in which no loop is found. */
static void note_stretch(uint64_t until) {
    struct preload_process *p = watch.process;
    uint64_t from = watch.waited_ns ? watch.waited_ns : watch.begin_ns;
    struct preload_stretch new = {(until - from) / 1000000, (from - watch.begin_ns) / 1000000};
    for (unsigned i = 0; i < PRELOAD_LONGEST; i++) {
        if (new.length_ms > p->longest[i].length_ms) {
            struct preload_stretch shorter = p->longest[i];
            p->longest[i] = new;
            new = shorter;
        }
    }
}

/* ---- waits ---- */

/* Without a recorder nothing is watched. */
static void start_recorder_once(void) {
    const char *killed = preload_killed_call();
    if (killed || preload_is_aside(watch.config)) {
        preload_step_aside(killed);
        return;
    }
    watch.process = preload_start_recorder(watch.config, watch.program, &watch.loop);
    if (!watch.loop) {
        atomic_store(&watch.on, false);
    }
}

/* A wait of the main thread begins. False: it is not to be told of its end. errno is kept. */
static bool begin(const struct preload_caller *caller, struct finder_wait *wait) {
    int saved_errno = errno;
    uint64_t now = stallrec_clock_ns() & ~(uint64_t)1; /* as the loop's edges are kept */
    uint64_t depth = (uint64_t)(uintptr_t)caller->frame;
    wait->place = (uint64_t)(uintptr_t)caller->place;
    wait->blocking = caller->blocks;
    /* The stack of a coroutine has no depth in the main one: 0 counts as deeper than all others. */
    wait->depth = depth < watch.stack_top && watch.stack_top - depth <= MAIN_STACK_MAX ? depth : 0;
    if (!watch.loop && caller->blocks) {
        start_recorder_once();
    }
    if (!watch.loop) {
        errno = saved_errno;
        return false;
    }
    enum finder_verdict verdict = finder_begin(&watch.finder, wait, now);
    tell_news(now, verdict == FINDER_IDLE);
    watch.waits = caller->blocks;
    watch.idle = caller->blocks && verdict == FINDER_IDLE;
    if (caller->blocks && watch.finder.believed == 0) {
        note_stretch(now);
    }
    if (watch.idle) {
        rec_loop_edge(watch.loop, REC_LOOP_SLEEP, now);
    } else if (verdict == FINDER_TURN) {
        rec_loop_edge(watch.loop, REC_LOOP_TURN, now);
    }
    errno = saved_errno;
    return watch.waits;
}

void preload_end_wait(void) {
    if (!watch.waits) {
        return;
    }
    int saved_errno = errno;
    uint64_t now = stallrec_clock_ns() & ~(uint64_t)1;
    finder_end(&watch.finder, now);
    watch.waits = false;
    watch.waited_ns = now;
    if (watch.idle) {
        rec_loop_edge(watch.loop, REC_LOOP_WAKE, now);
    }
    errno = saved_errno;
}

bool preload_watches(void) {
    return atomic_load_explicit(&watch.on, memory_order_relaxed) &&
           pthread_equal(pthread_self(), watch.main);
}

/* What tells the file of a descriptor from another that had its number before: sockets and pipes
 * have numbers of their own. */
static uint64_t file_number(uint32_t fd) {
    struct stat sb;
    int saved_errno = errno;
    bool known = finder_wants_file(&watch.finder) && fstat((int)fd, &sb) == 0;
    errno = saved_errno;
    return known ? (uint64_t)sb.st_ino : 0;
}

bool preload_begin_poll(const struct preload_caller *caller, const struct pollfd *fds, nfds_t n) {
    if (!preload_watches() || !fds) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_SET, .lowest = UINT32_MAX}};
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd >= 0) {
            uint32_t fd = (uint32_t)fds[i].fd;
            finder_set_add(&wait.object, fd);
            wait.object.lowest = fd < wait.object.lowest ? fd : wait.object.lowest;
        }
    }
    if (wait.object.lowest == UINT32_MAX) {
        return false; /* as a wait for none */
    }
    wait.object.file = file_number(wait.object.lowest);
    return begin(caller, &wait);
}

static void add_set(struct finder_object *object, int n, const fd_set *set) {
    for (int fd = 0; set && fd < n; fd++) {
        const unsigned char *bytes = (const unsigned char *)set;
        if ((bytes[fd / 8] >> fd % 8 & 1) != 0) { /* little-endian: FD_ISSET checks FD_SETSIZE */
            finder_set_add(object, (uint32_t)fd);
            object->lowest = (uint32_t)fd < object->lowest ? (uint32_t)fd : object->lowest;
        }
    }
}

bool preload_begin_select(const struct preload_caller *caller, int n, const fd_set *in,
                          const fd_set *out, const fd_set *except) {
    if (!preload_watches()) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_SET, .lowest = UINT32_MAX}};
    add_set(&wait.object, n, in);
    add_set(&wait.object, n, out);
    add_set(&wait.object, n, except);
    if (wait.object.lowest == UINT32_MAX) {
        return false;
    }
    wait.object.file = file_number(wait.object.lowest);
    return begin(caller, &wait);
}

bool preload_begin_epoll(const struct preload_caller *caller, int fd) {
    if (!preload_watches()) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_EPOLL, .id = (uint64_t)fd}};
    return begin(caller, &wait);
}

bool preload_begin_condition(const struct preload_caller *caller, const void *condition) {
    if (!preload_watches()) {
        return false;
    }
    struct finder_wait wait = {
        .object = {.kind = FINDER_CONDITION, .id = (uint64_t)(uintptr_t)condition}};
    return begin(caller, &wait);
}

bool preload_begin_signals(const struct preload_caller *caller) {
    if (!preload_watches()) {
        return false;
    }
    struct finder_wait wait = {.object = {.kind = FINDER_SIGNALS}};
    return begin(caller, &wait);
}

/* ---- begin and end ---- */

void preload_watch_this_thread(const struct preload_config *config, const char *program,
                               uint64_t frame) {
    finder_init(&watch.finder, preload_threshold_ns(config), *config->names ? place_is_named : NULL,
                NULL);
    watch.config = config;
    snprintf(watch.program, sizeof watch.program, "%s", program);
    watch.loop = NULL;
    watch.process = NULL;
    watch.waits = watch.idle = watch.untold = false;
    watch.waited_ns = 0;
    watch.place_count = 0;
    watch.begin_ns = stallrec_process_start_ns();
    watch.pid = getpid();
    watch.main = pthread_self();
    watch.stack_top = frame + (8 << 20);
    atomic_store(&watch.on, true);
}

void preload_watch_from_start(void) {
    start_recorder_once();
}

bool preload_watch_ends(void) {
    bool mine = preload_watches();
    if (!atomic_exchange(&watch.on, false) || !watch.loop) {
        return false;
    }
    uint64_t now = stallrec_clock_ns() & ~(uint64_t)1;
    if (mine) {
        note_stretch(now);
        finder_finish(&watch.finder, now);
        tell_news(now, false);
    }
    return true;
}

void preload_step_aside(const char *call) {
    if (preload_watch_ends()) {
        preload_stop_recorder();
    }
    if (call) {
        preload_tell_aside(watch.config, watch.program, call);
    }
}

bool preload_watches_process(void) {
    return atomic_load(&watch.on) && getpid() == watch.pid;
}

void preload_watch_forked(void) {
    atomic_store(&watch.on, false);
}
