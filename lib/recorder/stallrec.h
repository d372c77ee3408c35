/* libstallrec: records why the main thread of this process stalled.
 *
 *     struct stallrec_config config;
 *     struct stallrec *rec;
 *     stallrec_config_init(&config, sizeof config);
 *     config.directory = "/var/tmp/stalls";
 *     if (stallrec_start(&rec, &config) == STALLREC_OK) {
 *         struct stallrec_loop *loop = stallrec_main_loop(rec);
 *         for (;;) {
 *             stallrec_loop_sleep(loop);
 *             int n = epoll_wait(fd, events, max, timeout);
 *             stallrec_loop_wake(loop);
 *             …                                   // handle the events
 *         }
 *     }
 *
 * The thread that calls stallrec_start is the one that is watched. A monitor thread samples its
 * stack while its event loop is busy and writes a stall-dump/1 file, see stall-dump(5), when it was
 * busy for too long. While the loop is idle the monitor sleeps and costs nothing.
 *
 * The hooks may be called from the watched thread only; everything else from any thread, but, where
 * it does not say so, not from two at once. Nothing here may be called from a signal handler. Works
 * from C11 and from C++ with gcc and clang. All names begin with stallrec_; stallrec_attach_* and
 * names that end in an underscore are reserved. */
#ifndef STALLREC_H
#define STALLREC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STALLREC_API __attribute__((visibility("default")))
#else
#error "stallrec.h needs gcc or clang"
#endif

enum stallrec_error {
    STALLREC_OK = 0,
    STALLREC_ERR_CONFIG,      /* a value out of its range, or a config newer than the library */
    STALLREC_ERR_PRESET,      /* no preset of this name */
    STALLREC_ERR_MEMORY,      /* out of memory */
    STALLREC_ERR_RUNNING,     /* a recorder runs in this process already */
    STALLREC_ERR_DIRECTORY,   /* the directory cannot be made or written to (see errno) */
    STALLREC_ERR_THREAD,      /* the monitor thread cannot be started (see errno) */
    STALLREC_ERR_UNSUPPORTED, /* this platform or processor has no capture, or it refused to work */
    STALLREC_ERR_WRITE,       /* a file could not be written (see errno) */
    STALLREC_ERR_NOT_SAMPLED, /* this user is not in the share that is recorded: nothing runs */
    STALLREC_ERR_CONTEXT,     /* a context key that is not allowed, or no slot is free */
    STALLREC_ERR_NOTHING      /* there is nothing to send */
};

/* One English line without a full stop, for any value. */
STALLREC_API const char *stallrec_error_text(enum stallrec_error error);

/* What a repeated detection of the same stack slows down. */
enum stallrec_backoff {
    /* Only detections that say nothing new: checks go on every check_ms, so that another stack is
     * dumped at once. The interval stops growing at backoff_cap. */
    STALLREC_BACKOFF_DUMPS = 0,
    /* The checks themselves, as published: blind until the next one, without a cap. */
    STALLREC_BACKOFF_CHECKS = 1,
    /* Nothing: every detection is a dump. */
    STALLREC_BACKOFF_NONE = 2
};

/* What is watched: bits of stallrec_config.detectors. stallrec --list-detectors describes them. */
enum stallrec_detector {
    STALLREC_DETECT_RUNLOOP = 1,    /* the loop is busy for threshold_ms */
    STALLREC_DETECT_SEMAPHORE = 2,  /* sem_count waits of sem_ms in a row without a notification */
    STALLREC_DETECT_PING = 4,       /* a task posted to the loop has not run after ping_ms */
    STALLREC_DETECT_FRAME_RATE = 8, /* the loop was too busy to draw; counted, captures nothing */
    STALLREC_DETECT_CPU = 16,       /* the process uses more than cpu_limit_permille */
    STALLREC_DETECT_LAUNCH = 32,    /* the loop is not idle launch_ms after the start */
    STALLREC_DETECT_SPAN = 64       /* an action has not ended within its limit */
};

/* What begins the clock of a busy stretch. */
enum stallrec_restart {
    STALLREC_RESTART_IDLE = 0, /* the end of an idle wait, or a turn */
    /* Also each notification before timers, before sources and after waiting, as ARMS does it. */
    STALLREC_RESTART_ACTIVITY = 1
};

/* When the loop is looked at. */
enum stallrec_check {
    STALLREC_CHECK_STALL = 0, /* at threshold_ms of each busy stretch, then every check_ms */
    STALLREC_CHECK_PERIODIC =
        1 /* every check_ms from start, whatever the loop does, as published */
};

/* What began last in the loop, for loops that tell more than busy and idle. */
enum stallrec_activity {
    STALLREC_ACTIVITY_NONE = 0,
    STALLREC_ACTIVITY_ENTRY,
    STALLREC_ACTIVITY_BEFORE_TIMERS,
    STALLREC_ACTIVITY_BEFORE_SOURCES,
    STALLREC_ACTIVITY_BEFORE_WAITING,
    STALLREC_ACTIVITY_AFTER_WAITING,
    STALLREC_ACTIVITY_EXIT
};

/* Flags of stallrec_config.flags. */
enum {
    STALLREC_PLAIN_JSON = 1, /* write x.json instead of x.json.gz */
    STALLREC_WHITELISTED = 2 /* record this user whatever the share, and send all: no quota */
};

/* What draws the share of users anew. */
enum stallrec_epoch {
    STALLREC_EPOCH_DAY = 0,    /* each day (UTC) */
    STALLREC_EPOCH_RELEASE = 1 /* each app_version and app_build */
};

/* What the callbacks are told about a stall. The struct may grow at its end. */
struct stallrec_stall {
    const char *id;        /* UUID, as in the dump's stall.id; valid during the call */
    uint64_t at_ms;        /* its age now, without gaps */
    uint64_t gap_ms;       /* time taken out of it: suspension */
    uint64_t threshold_ms; /* the threshold it passed */
    uint32_t dumps;        /* dumps begun so far */
    const char *kind;      /* "hang", "launch", "cpu" or "slow-action" */
    const char *detector;  /* that found it: "runloop" … */
};

/* Run on the monitor thread, so they should be short; a stall is watched on when they return. They
 * may not call stallrec_stop. Any may be NULL. */
struct stallrec_callbacks {
    /* First detection. From now on the stall is not lost, if the process is killed. */
    void (*stall_begin)(void *user, const struct stallrec_stall *stall);
    void (*stall_end)(void *user, const struct stallrec_stall *stall); /* at_ms is its duration */
    /* Also for dumps that a process that was killed had left in the directory. */
    void (*dump_written)(void *user, const char *path);
    /* A dump was lost: it could not be written (path), neither then nor later, or no memory was
     * left to keep it (NULL). One that the next start can write is not lost. */
    void (*dump_lost)(void *user, const char *path, enum stallrec_error why);
};

/* All of it is copied by stallrec_start; strings too. Fields are only ever added at the end, and
 * zero means "as before" for an added one. Strings may be NULL unless said otherwise. */
struct stallrec_config {
    size_t size; /* sizeof(struct stallrec_config) of the caller: set by stallrec_config_init */

    const char *directory; /* where dumps are written; made (one level) if missing; required */
    const char *app_id, *app_version, *app_build;
    const char *user;   /* an opaque hash, written as it is */
    const char *preset; /* name of the preset these values came from; set by the library */

    uint32_t threshold_ms;    /* busy this long = a stall: 1 … 3600000 */
    uint32_t check_ms;        /* unit of the checks: 10 … 3600000 */
    uint32_t sample_ms;       /* stack sampling interval while busy: 1 … 60000 */
    uint32_t first_sample_ms; /* busy this long before the first sample; 0 = at once; <= 3600000 */
    uint32_t ring;            /* newest samples kept: 1 … 256 */
    uint32_t max_frames;      /* per stack, 8 … 1024; deeper stacks lose their outermost frames */
    uint32_t max_threads;     /* threads in one dump, the main thread among them: 1 … 256 */
    uint32_t threads_after_ms; /* stall's age at which threads other than the main are captured */
    uint32_t backoff;          /* enum stallrec_backoff */
    uint32_t backoff_cap;      /* checks: largest interval of STALLREC_BACKOFF_DUMPS: 1 … 1000 */
    uint32_t check;            /* enum stallrec_check */
    uint32_t
        write_deadline_ms; /* a closed dump waits for an idle loop at most this long; <= 3600000 */
    uint32_t flags;        /* STALLREC_PLAIN_JSON … */
    int32_t signal_number; /* signal for stacks of running threads (Linux); 0 = a quiet one */

    struct stallrec_callbacks callbacks;
    void *user_data; /* first argument of the callbacks */

    /* Those of a detector count only if it is on. */
    uint32_t detectors;          /* enum stallrec_detector, or-ed; 0 = STALLREC_DETECT_RUNLOOP */
    uint32_t restart;            /* enum stallrec_restart */
    uint32_t sem_ms;             /* one wait of the semaphore detector: 1 … 60000 */
    uint32_t sem_count;          /* waits in a row that must time out: 1 … 1000 */
    uint32_t ping_ms;            /* a posted task must have run after this long: 1 … 3600000 */
    uint32_t ping_every_ms;      /* from an answer to the next task: 10 … 3600000 */
    uint32_t frame_hz;           /* the display's own rate: 1 … 1000 */
    uint32_t frame_percent;      /* of it: fewer frames in a second are counted: 1 … 100 */
    uint32_t cpu_limit_permille; /* of one processor, over check_ms: 1 … 1000000 */
    uint32_t launch_ms;          /* from the start to the first idle loop: 1 … 3600000 */
    uint32_t span_ms;            /* limit of an action that names none: 1 … 3600000 */
    uint32_t severe_ms;          /* a stall of this length counts as severe; 0 = none does */

    /* Policy: who is recorded, what is sent, what is kept. 0 = no limit. */
    uint32_t user_share_ppm;  /* millionths of the users that are recorded; 0 = all; <= 1000000 */
    uint32_t epoch;           /* enum stallrec_epoch */
    uint32_t upload_per_day;  /* the first dumps of a day that stallrec_batch_next takes */
    uint32_t keep_days;       /* dumps older than this are removed; <= 36500 */
    uint64_t keep_bytes;      /* of all dumps in the directory */
    uint32_t keep_files;      /* dumps in the directory */
    uint32_t reserved_;       /* 0 */
    const char *context_keys; /* that may be set, separated by commas; NULL = all */
    const char *home;         /* this directory is written as "~"; NULL = none */

    /* What the recorder saw, for `stallrec --replay`: this file is written anew, and not larger
     * than trace_bytes, 0 = 64 MiB. NULL = none. */
    const char *trace_path;
    uint64_t trace_bytes;
};

/* Fills in the preset "default". size is sizeof *config of the caller: no byte past it is touched.
 */
STALLREC_API void stallrec_config_init(struct stallrec_config *config, size_t size);

/* Sets every timing and policy value to those of a preset: "default", "wechat", "arms", "dewu" or
 * "qilagmonitor"; `stallrec --list-presets` prints the values with their sources.
 * Strings that the app set, flags, signal_number and callbacks stay. STALLREC_ERR_PRESET: unknown
 * name, nothing changed. */
STALLREC_API enum stallrec_error stallrec_config_preset(struct stallrec_config *config,
                                                        const char *name);

/* The same, for each. */
STALLREC_API void stallrec_config_default(struct stallrec_config *config);
STALLREC_API void stallrec_config_wechat(struct stallrec_config *config);
STALLREC_API void stallrec_config_arms(struct stallrec_config *config);
STALLREC_API void stallrec_config_dewu(struct stallrec_config *config);
STALLREC_API void stallrec_config_qilagmonitor(struct stallrec_config *config);

struct stallrec; /* a running recorder */

/* Starts watching the calling thread. *out is written only on STALLREC_OK. One recorder per
 * process. The child of a fork has none, and may start its own, after which the hooks are that
 * one's; its parent's goes on. */
STALLREC_API enum stallrec_error stallrec_start(struct stallrec **out,
                                                const struct stallrec_config *config);

/* Stops the monitor, writes what is closed or open (a stall that still goes on is written as not
 * ended), joins the thread, frees everything but the loop. NULL is allowed. May be called from any
 * thread but the monitor. */
STALLREC_API void stallrec_stop(struct stallrec *rec);

/* ---- batches ---- */

enum { STALLREC_BATCH_ID = 33, STALLREC_BATCH_PATH = 4200 };

/* Dumps and sessions to send as one file. The struct may grow at its end. */
struct stallrec_batch {
    size_t size;                /* sizeof of the caller's struct, set by it */
    char id[STALLREC_BATCH_ID]; /* the same for the same content: who receives it twice can tell */
    char path[STALLREC_BATCH_PATH]; /* gzip, JSON Lines: sessions first, then dumps by time */
    uint64_t bytes;
    uint32_t dumps, sessions;
    uint32_t left_out; /* files that are damaged, or larger than a batch alone */
};

/* Gathers what may be sent of a recorder's directory, oldest first, into one file of at most
 * max_bytes (1024 or more), or returns the batch that was gathered before and is not done. The
 * files stay, and nothing is sent twice under another id, whenever the process is killed. *out is
 * written on STALLREC_OK only. Needs no recorder to run; one may. Takes memory and time: not for
 * the main thread. One at a time per directory. STALLREC_ERR_NOTHING: there is nothing to send.
 * STALLREC_ERR_CONFIG: size or max_bytes. STALLREC_ERR_DIRECTORY, _WRITE: see errno. _MEMORY. */
STALLREC_API enum stallrec_error stallrec_batch_next(const char *directory, uint64_t max_bytes,
                                                     struct stallrec_batch *out);
/* The batch arrived: removes it, and the dumps and sessions in it. Again after a failure or a kill:
 * STALLREC_OK. STALLREC_ERR_NOTHING: no batch has this id. STALLREC_ERR_WRITE: a file could not be
 * removed, see errno; the batch stays. */
STALLREC_API enum stallrec_error stallrec_batch_done(const char *directory, const char *id);

/* ---- context ---- */

enum {
    STALLREC_CONTEXT_SLOTS = 16,  /* keys at one time */
    STALLREC_CONTEXT_KEY = 32,    /* bytes of a key with its NUL */
    STALLREC_CONTEXT_VALUE = 160, /* bytes of a value with its NUL: longer ones are cut */
};

/* What later dumps say about the app's state: {"screen":"Checkout"}. Copied; value NULL removes the
 * key. The monitor reads it at each detection without a lock. config.home becomes "~" in values.
 * STALLREC_ERR_CONTEXT: the key is not in config.context_keys, empty or too long, or no slot is
 * free. rec NULL: no effect, STALLREC_OK. Any thread, also several at once. */
STALLREC_API enum stallrec_error stallrec_context_set(struct stallrec *rec, const char *key,
                                                      const char *value);
/* The app came to the foreground (1) or left it (0), where the system may end it at any time: then
 * no stall was fatal. Until the first call it counts as in the
 * foreground, and dumps say nothing about it. rec NULL: no effect. Any thread, also several at
 * once. */
STALLREC_API void stallrec_foreground(struct stallrec *rec, int foreground);

/* ---- what the app tells: frames, launches, actions, posted tasks ----
 *
 * Any thread, also several at once, unless said otherwise. They neither lock, allocate nor wait,
 * and do nothing if rec is NULL, if their detector is off, after stallrec_stop (rec is not looked
 * into) and in a forked child. The monitor learns of it when it looks the next time; at most one of
 * many calls wakes it, one that begins something with a limit. More than 256 messages before that,
 * or 128 where one begins an action, are dropped and counted in the session's record
 * (events_dropped); the recorder goes on without them. */

/* The display drew a frame, or asked the loop to. Two atomic operations and a clock reading: to be
 * called for each frame, also at 120 Hz. */
STALLREC_API void stallrec_frame(struct stallrec *rec);

enum stallrec_launch {
    STALLREC_LAUNCH_BEGIN = 0, /* the process started, for its user */
    STALLREC_LAUNCH_PREWARMED, /* it started ahead of any user: its time is nobody's yet */
    STALLREC_LAUNCH_ACTIVE,    /* the user came to a prewarmed process: its launch begins */
    STALLREC_LAUNCH_DONE       /* it is over; without it, the loop's first idle wait ends it */
};

/* A mark of the launch, at at_ns of stallrec_clock_ns, which may lie before stallrec_start. Without
 * any, a launch began when the process did, if that was at most a minute before stallrec_start;
 * BEGIN and PREWARMED replace that. Such a launch is given up after a minute (or 2 launch_ms), for
 * the program may have no loop. Marks that do not follow are ignored. */
STALLREC_API void stallrec_launch(struct stallrec *rec, enum stallrec_launch mark, uint64_t at_ns);
/* When this process began, by stallrec_clock_ns, as exactly as the system tells (Linux: 10 ms); 0 =
 * not known. */
STALLREC_API uint64_t stallrec_process_start_ns(void);

/* An action begins that should end within limit_ms (0: config.span_ms) of now: a tap's answer, a
 * page. name is copied, 63 bytes of it; may be NULL. Returns its id, 0 if the detector is off or
 * the message was dropped. Of those that run, the first 16 are watched, and one is dumped at a
 * time. */
STALLREC_API uint64_t stallrec_span_begin(struct stallrec *rec, const char *name,
                                          uint32_t limit_ms);
/* Tells that the action ended, on any thread. id 0: no effect. */
STALLREC_API void stallrec_span_end(struct stallrec *rec, uint64_t id);

/* Posts a task to the loop of the watched thread that calls stallrec_ping_done(rec, number). Called
 * on the monitor thread. It must not wait for the watched thread, which may hang: no lock that it
 * can hold, thus no allocation; a write to an eventfd or a pipe is good. Returns 1, or 0 if it
 * cannot now.
 */
typedef int (*stallrec_poster)(void *ctx, uint64_t number);
/* How the ping detector reaches the loop; without one it is off. post NULL: no more. When this
 * returns, the poster that was set before is not called any more, and ctx may go. Not from within a
 * poster. */
STALLREC_API void stallrec_set_poster(struct stallrec *rec, stallrec_poster post, void *ctx);
/* Tells that the ping with this number ran; the task calls it on the watched thread. */
STALLREC_API void stallrec_ping_done(struct stallrec *rec, uint64_t number);

/* ---- loop hooks ---- */

enum { STALLREC_TRAIL_ = 32 };

/* Shared by the watched thread (writes state, activity) and the monitor (writes notify). Zeroed =
 * idle, nobody watching. Private to the hooks below. */
struct stallrec_loop {
    uint64_t state_; /* time of the last edge in ns, its lowest bit replaced: 1 = busy, 0 = idle */
    uint64_t end_;   /* first edge after notify_ got STALLREC_NOTIFY_END_ or _KEEP_; 0 = none yet */
    uint64_t event_; /* time of the last stallrec_loop_activity */
    uint32_t activity_;               /* enum stallrec_activity */
    uint32_t notify_;                 /* what the monitor waits for; the word it sleeps on */
    uint64_t idle_;                   /* when the loop first waited; 0 = none yet */
    uint64_t busy_;                   /* ns of all busy stretches that have ended */
    uint64_t trailed_;                /* transitions so far */
    const char *mode_;                /* stallrec_loop_mode; NULL = not known */
    uint64_t trail_[STALLREC_TRAIL_]; /* the last of them: time, its lowest four bits replaced by
                                         which: an activity, or STALLREC_TRAIL_WAKE_ … */
};

enum { STALLREC_TRAIL_WAKE_ = 7, STALLREC_TRAIL_SLEEP_ = 8, STALLREC_TRAIL_TURN_ = 9 };

enum {
    STALLREC_NOTIFY_BUSY_ = 1, /* the monitor is parked until the loop gets busy */
    STALLREC_NOTIFY_END_ = 2,  /* a stall is open: the first edge ends it */
    STALLREC_NOTIFY_STOP_ = 4, /* the monitor shall look: stop, or a message */
    STALLREC_NOTIFY_KEEP_ =
        8 /* the first edge is kept for when the monitor looks, and wakes it not */
};

/* The loop of the watched thread; rec may be NULL: its hooks then do nothing. Valid until the
 * process ends, also after stallrec_stop, so that hooks need no check. */
STALLREC_API struct stallrec_loop *stallrec_main_loop(struct stallrec *rec);

/* The recorder's clock: monotonic, in ns, without the time the system was suspended. */
STALLREC_API uint64_t stallrec_clock_ns(void);
/* The hooks' slow path: an edge at `now` that the monitor waits for. */
STALLREC_API void stallrec_loop_notify_(struct stallrec_loop *loop, uint64_t now);

static inline void stallrec_loop_edge_(struct stallrec_loop *loop, uint64_t now, uint64_t busy) {
    uint64_t was = __atomic_load_n(&loop->state_, __ATOMIC_RELAXED);
    if ((was & 1) != 0) {
        uint64_t sum = __atomic_load_n(&loop->busy_, __ATOMIC_RELAXED);
        __atomic_store_n(&loop->busy_, sum + ((now | 1) - was), __ATOMIC_RELAXED);
    }
    /* Sequentially consistent on both: the monitor sets notify_ and then reads state_, this sets
     * state_ and then reads notify_, so at least one of the two sees the other. */
    __atomic_store_n(&loop->state_, (now & ~(uint64_t)1) | busy, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&loop->notify_, __ATOMIC_SEQ_CST) != 0) {
        stallrec_loop_notify_(loop, now);
    }
}

/* It waits, or has waited, at `now`: the launch is over. The edge that follows publishes it. */
static inline void stallrec_loop_idle_(struct stallrec_loop *loop, uint64_t now) {
    if (__atomic_load_n(&loop->idle_, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&loop->idle_, now, __ATOMIC_RELAXED);
    }
}

/* Keeps a transition for the dumps. Only the watched thread writes. */
static inline void stallrec_loop_trail_(struct stallrec_loop *loop, uint64_t now, uint64_t which) {
    uint64_t n = __atomic_load_n(&loop->trailed_, __ATOMIC_RELAXED);
    __atomic_store_n(&loop->trail_[n % STALLREC_TRAIL_], (now & ~(uint64_t)15) | which,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&loop->trailed_, n + 1, __ATOMIC_RELEASE);
}

/* The loop left its wait and begins to handle events. When it is busy already: no effect. */
static inline void stallrec_loop_wake(struct stallrec_loop *loop) {
    if ((__atomic_load_n(&loop->state_, __ATOMIC_RELAXED) & 1) == 0) {
        uint64_t now = stallrec_clock_ns();
        stallrec_loop_idle_(loop, now);
        stallrec_loop_trail_(loop, now, STALLREC_TRAIL_WAKE_);
        stallrec_loop_edge_(loop, now, 1);
    }
}

/* The loop is about to wait for events (with a timeout other than 0). */
static inline void stallrec_loop_sleep(struct stallrec_loop *loop) {
    uint64_t now = stallrec_clock_ns();
    stallrec_loop_idle_(loop, now);
    stallrec_loop_trail_(loop, now, STALLREC_TRAIL_SLEEP_);
    stallrec_loop_edge_(loop, now, 0);
}

/* The loop begins another turn without a wait (a poll with timeout 0, idle handlers): one busy
 * stretch ends and another begins. */
static inline void stallrec_loop_turn(struct stallrec_loop *loop) {
    uint64_t now = stallrec_clock_ns();
    stallrec_loop_trail_(loop, now, STALLREC_TRAIL_TURN_);
    stallrec_loop_edge_(loop, now, 1);
}

/* What the loop does now, for loops that tell; not an edge. */
static inline void stallrec_loop_activity(struct stallrec_loop *loop,
                                          enum stallrec_activity activity) {
    uint64_t now = stallrec_clock_ns();
    stallrec_loop_trail_(loop, now, (uint64_t)activity);
    __atomic_store_n(&loop->event_, now, __ATOMIC_RELAXED);
    __atomic_store_n(&loop->activity_, (uint32_t)activity, __ATOMIC_RELEASE);
}

/* The mode that the loop runs in, for loops that have modes: stalls while the user scrolls can then
 * be told from others. `mode`: 1 to 63 bytes that stay as they are until the process ends; NULL =
 * not known. */
static inline void stallrec_loop_mode(struct stallrec_loop *loop, const char *mode) {
    __atomic_store_n(&loop->mode_, mode, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif
