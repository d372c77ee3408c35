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
 * The thread that calls stallrec_start is the one that is watched. A monitor thread samples the
 * watched thread's stack while its event loop is busy and writes a stall-dump/1 file, see
 * stall-dump(5), when the loop was busy for too long. While the loop is idle the monitor sleeps and
 * costs nothing.
 *
 * The hooks may be called from the watched thread only; all other functions from any thread, but
 * not from two threads at once unless their comments allow it. Nothing here may be called from a
 * signal handler. Works from C11 and from C++ with gcc and clang. All names begin with stallrec_;
 * stallrec_attach_* and names that end in an underscore are reserved. */
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
    STALLREC_ERR_RUNNING,     /* this process has a recorder, or an attached adapter, already */
    STALLREC_ERR_DIRECTORY,   /* the directory cannot be made, opened or written to (see errno) */
    STALLREC_ERR_THREAD,      /* the monitor thread cannot be started (see errno) */
    STALLREC_ERR_UNSUPPORTED, /* this platform or processor has no capture, or it refused to work */
    STALLREC_ERR_WRITE,       /* a file could not be written (see errno) */
    STALLREC_ERR_NOT_SAMPLED, /* this user is not in the share of users that is recorded: nothing
                                 runs */
    STALLREC_ERR_CONTEXT,     /* a context key that is not allowed, or no slot is free */
    STALLREC_ERR_NOTHING      /* there is nothing to send */
};

/* Describes an error in one English line without a full stop; any value is allowed. */
STALLREC_API const char *stallrec_error_text(enum stallrec_error error);

/* The work that is slowed down when the same stack is detected repeatedly. */
enum stallrec_backoff {
    /* Dumps of the same stack are slowed down: their interval grows to backoff_cap checks. Checks
     * continue every check_ms, so that another stack is dumped at once; after the eighth dump of a
     * stall, dumps of other stacks are slowed down, too. */
    STALLREC_BACKOFF_DUMPS = 0,
    /* Checks are slowed down, as published: nothing is detected until the next check, and the
     * interval has no cap. */
    STALLREC_BACKOFF_CHECKS = 1,
    /* Nothing is slowed down: every detection is a dump. */
    STALLREC_BACKOFF_NONE = 2
};

/* The detectors, which are bits of stallrec_config.detectors. `stallrec --list-detectors`
 * describes them. */
enum stallrec_detector {
    STALLREC_DETECT_RUNLOOP = 1,    /* the loop is busy for threshold_ms */
    STALLREC_DETECT_SEMAPHORE = 2,  /* sem_count waits of sem_ms in a row without a notification */
    STALLREC_DETECT_PING = 4,       /* a task posted to the loop has not run after ping_ms */
    STALLREC_DETECT_FRAME_RATE = 8, /* in some second the loop was too busy to draw enough frames;
                                       such seconds are only counted */
    STALLREC_DETECT_CPU = 16,       /* the process uses more than cpu_limit_permille */
    STALLREC_DETECT_LAUNCH = 32,    /* the loop is not idle launch_ms after the start */
    STALLREC_DETECT_SPAN = 64       /* an action has not ended within its limit */
};

/* The events that restart the clock of a busy stretch. */
enum stallrec_restart {
    STALLREC_RESTART_IDLE = 0, /* the end of an idle wait, or a turn */
    /* All events of STALLREC_RESTART_IDLE, and each notification before timers, before sources and
     * after waiting, as in ARMS. */
    STALLREC_RESTART_ACTIVITY = 1
};

/* The times at which the monitor checks whether the loop has stalled. */
enum stallrec_check {
    STALLREC_CHECK_STALL = 0, /* at threshold_ms of each busy stretch, then every check_ms */
    STALLREC_CHECK_PERIODIC =
        1 /* every check_ms from start, whatever the loop does, as published */
};

/* The activity that the loop began last, for loops that report more than busy and idle. */
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
    STALLREC_WHITELISTED =
        2 /* record this user whatever the share, and send all dumps, without a quota */
};

/* The time at which the share of users that are recorded is drawn again. */
enum stallrec_epoch {
    STALLREC_EPOCH_DAY = 0,    /* each day (UTC) */
    STALLREC_EPOCH_RELEASE = 1 /* each app_version and app_build */
};

/* A stall, as it is passed to the callbacks. The struct may grow at its end. */
struct stallrec_stall {
    const char *id;        /* UUID, as in the dump's stall.id; valid during the call */
    uint64_t at_ms;        /* age of the stall now in ms, without gaps */
    uint64_t gap_ms;       /* ms of suspension, which at_ms leaves out */
    uint64_t threshold_ms; /* the threshold that the stall passed */
    uint32_t dumps;        /* number of dumps of the stall that were begun so far */
    const char *kind;      /* "hang", "launch", "cpu" or "slow-action" */
    const char *detector;  /* the detector that found the stall: "runloop" … */
};

/* The callbacks run on the monitor thread, which watches nothing until they return, so they should
 * be short. They must not call stallrec_stop. A NULL callback is not called. */
struct stallrec_callbacks {
    /* Called at the stall's first detection. From then on the stall is not lost if the process is
     * killed, unless the disk has no room for it (meter.spooled is false in its dump, see
     * stall-dump(5)). */
    void (*stall_begin)(void *user, const struct stallrec_stall *stall);
    /* Called when a stall has ended, or is no longer watched, as when the recorder stops; at_ms is
     * the duration of the stall up to then. */
    void (*stall_end)(void *user, const struct stallrec_stall *stall);
    /* Called when a dump was written, also for dumps that a killed process had left in the
     * directory. */
    void (*dump_written)(void *user, const char *path);
    /* Called when a dump was lost: it could not be written (to path), neither then nor later, or
     * there was no memory for it (path is NULL). A dump that the next start can write is not
     * lost. */
    void (*dump_lost)(void *user, const char *path, enum stallrec_error why);
};

/* The recorder's settings; stallrec_start copies them, their strings too. Members are only ever
 * added at the end, and zero in an added member means the earlier behaviour. Strings may be NULL
 * unless their comments say otherwise. */
struct stallrec_config {
    size_t size; /* sizeof(struct stallrec_config) of the caller, set by stallrec_config_init */

    const char
        *directory; /* folder to which dumps are written; made (one level) if missing; required */
    const char *app_id, *app_version, *app_build;
    const char *user;   /* an opaque hash, written as it is */
    const char *preset; /* name of the preset from which these values came; set by the library */

    uint32_t threshold_ms;    /* ms of busy time that make a stall: 1 … 3600000 */
    uint32_t check_ms;        /* ms between two checks: 10 … 3600000 */
    uint32_t sample_ms;       /* ms between two samples of the stack while busy: 1 … 60000 */
    uint32_t first_sample_ms; /* ms of busy time before the first sample; 0 = at once; <= 3600000 */
    uint32_t ring;            /* number of newest samples that are kept: 1 … 256 */
    /* Maximum number of frames of a stack: 8 … 1024; deeper stacks lose their outermost frames. */
    uint32_t max_frames;
    /* Maximum number of threads in one dump, the main thread included: 1 … 256. */
    uint32_t max_threads;
    uint32_t threads_after_ms; /* age of a stall in ms at which other threads than the main one are
                                  captured */
    uint32_t backoff;          /* enum stallrec_backoff */
    uint32_t backoff_cap; /* largest interval of STALLREC_BACKOFF_DUMPS, in checks: 1 … 1000 */
    uint32_t check;       /* enum stallrec_check */
    /* Maximum number of ms that a closed dump waits for an idle loop; <= 3600000. */
    uint32_t write_deadline_ms;
    uint32_t flags; /* STALLREC_PLAIN_JSON … */
    /* Signal that interrupts running threads for their stacks (Linux); 0 = SIGURG, or SIGWINCH if
     * the program handles SIGURG. If it handles both, SIGURG if its handler takes a siginfo_t, else
     * none: stalls of threads that run then have no stacks. */
    int32_t signal_number;

    struct stallrec_callbacks callbacks;
    void *user_data; /* first argument of the callbacks */

    /* The settings of a detector have an effect only if its bit in `detectors` is set. */
    uint32_t detectors;          /* enum stallrec_detector, or-ed; 0 = STALLREC_DETECT_RUNLOOP */
    uint32_t restart;            /* enum stallrec_restart */
    uint32_t sem_ms;             /* ms of one wait of the semaphore detector: 1 … 60000 */
    uint32_t sem_count;          /* number of waits in a row that must time out: 1 … 1000 */
    uint32_t ping_ms;            /* ms within which a posted task must have run: 1 … 3600000 */
    uint32_t ping_every_ms;      /* ms from an answer to the next task: 10 … 3600000 */
    uint32_t frame_hz;           /* frames a second of the display: 1 … 1000 */
    uint32_t frame_percent;      /* a second with fewer frames than this percentage of frame_hz is
                                  * counted: 1 … 100 */
    uint32_t cpu_limit_permille; /* thousandths of one processor, over check_ms: 1 … 1000000 */
    uint32_t launch_ms;          /* ms from the start to the first idle loop: 1 … 3600000 */
    uint32_t span_ms; /* limit in ms of an action that has none of its own: 1 … 3600000 */
    /* Duration in ms from which on a stall counts as severe; 0 = no stall does; <= 3600000. */
    uint32_t severe_ms;

    /* Policy: who is recorded, what is sent, what is kept. 0 = no limit. */
    uint32_t user_share_ppm; /* millionths of the users that are recorded; 0 = all; <= 1000000 */
    uint32_t epoch;          /* enum stallrec_epoch */
    uint32_t upload_per_day; /* number of dumps of a day, the first ones, that stallrec_batch_next
                                takes */
    uint32_t keep_days; /* age in days beyond which dumps, session files and batches are removed; <=
                           36500 */
    uint64_t
        keep_bytes; /* maximum number of bytes of all dumps and session files in the directory */
    uint32_t keep_files; /* maximum number of dumps and session files in the directory */
    /* Mode of dumps and session files: 0600 with bits of 0066; 0 = 0600. Whoever may read the
     * files may search a folder that the recorder makes; an existing folder keeps its mode. */
    uint32_t file_mode;
    const char *context_keys; /* keys that may be set, separated by commas; NULL = all */
    const char *home;         /* this directory is written as "~"; NULL = none */

    /* The file to which a trace of the recorder's events is written, for `stallrec --replay`. The
     * file is replaced, and does not get larger than trace_bytes (0 = 64 MiB). NULL = no trace. */
    const char *trace_path;
    uint64_t trace_bytes;
};

/* Sets *config to the preset "default". size is the caller's sizeof *config, past which nothing
 * is written. */
STALLREC_API void stallrec_config_init(struct stallrec_config *config, size_t size);

/* Sets all timing and policy values to those of a preset: "default", "wechat", "arms", "dewu" or
 * "qilagmonitor"; `stallrec --list-presets` prints the values with their sources. Strings that the
 * app set, flags, file_mode, signal_number, callbacks, user_data and trace_bytes stay.
 * STALLREC_ERR_PRESET: the name is unknown, and nothing is changed. */
STALLREC_API enum stallrec_error stallrec_config_preset(struct stallrec_config *config,
                                                        const char *name);

/* Each of these functions sets the values of the preset in its name, as stallrec_config_preset
 * does. */
STALLREC_API void stallrec_config_default(struct stallrec_config *config);
STALLREC_API void stallrec_config_wechat(struct stallrec_config *config);
STALLREC_API void stallrec_config_arms(struct stallrec_config *config);
STALLREC_API void stallrec_config_dewu(struct stallrec_config *config);
STALLREC_API void stallrec_config_qilagmonitor(struct stallrec_config *config);

struct stallrec; /* a running recorder */

/* Starts watching the calling thread. *out is written only on STALLREC_OK. A process has at most
 * one recorder. The child of a fork has none, and may start its own, which the hooks then use; its
 * parent's recorder continues. */
STALLREC_API enum stallrec_error stallrec_start(struct stallrec **out,
                                                const struct stallrec_config *config);

/* Stops the monitor, writes all dumps (a stall that still continues is written as not ended), joins
 * the monitor thread, and frees all but the loop. A dump that cannot be written is left to the next
 * start, or, without a spool, lost. rec may be NULL. It may be called from any thread but the
 * monitor, and has no effect in a forked child. */
STALLREC_API void stallrec_stop(struct stallrec *rec);

/* ---- batches ---- */

enum { STALLREC_BATCH_ID = 33, STALLREC_BATCH_PATH = 4200 };

/* A file of dumps and sessions to send. The struct may grow at its end. */
struct stallrec_batch {
    size_t size;                /* sizeof of the caller's struct, set by the caller */
    char id[STALLREC_BATCH_ID]; /* batches of the same files have the same id, by which a receiver
                                   recognises a repeated batch */
    char path[STALLREC_BATCH_PATH]; /* path of the file: gzip of JSON Lines, sessions first, then
                                       dumps by time */
    uint64_t bytes;
    uint32_t dumps, sessions;
    uint32_t left_out; /* number of files that are damaged, or larger than a batch by themselves; 0
                          for a batch that was gathered before */
};

/* Gathers the sessions and dumps in a recorder's directory that may be sent, sessions first, each
 * kind oldest first, at most 4096 in all, into one file of at most max_bytes (1024 or more), or
 * returns the batch that was gathered before and is not done, whatever its size. The gathered files
 * stay, and nothing is sent twice under another id, whenever the process is killed. *out is written
 * on STALLREC_OK only. A recorder may run meanwhile, but need not. It takes memory and time, so it
 * must not be called on the main thread, and only once at a time for a directory.
 * STALLREC_ERR_NOTHING: there is nothing to send, or only files that are left out.
 * STALLREC_ERR_CONFIG: size or max_bytes is out of range. STALLREC_ERR_DIRECTORY, _WRITE: see
 * errno. STALLREC_ERR_MEMORY: out of memory. */
STALLREC_API enum stallrec_error stallrec_batch_next(const char *directory, uint64_t max_bytes,
                                                     struct stallrec_batch *out);
/* Confirms that the batch arrived: removes it, and the dumps and sessions in it. The call may be
 * repeated after a failure or a kill. STALLREC_ERR_NOTHING: no batch has this id, or its content is
 * removed already. STALLREC_ERR_DIRECTORY: the directory cannot be opened, see errno.
 * STALLREC_ERR_WRITE: a file could not be removed, see errno; the batch stays, unless only its list
 * is left. */
STALLREC_API enum stallrec_error stallrec_batch_done(const char *directory, const char *id);

/* ---- context ---- */

enum {
    STALLREC_CONTEXT_SLOTS = 16,  /* maximum number of keys at one time */
    STALLREC_CONTEXT_KEY = 32,    /* bytes of a key with its NUL */
    STALLREC_CONTEXT_VALUE = 160, /* bytes of a value with its NUL; longer values are cut */
};

/* Sets a key about the app's state that later dumps show: {"screen":"Checkout"}. Both texts are
 * copied; value NULL or "" removes the key. The monitor reads the keys at each detection without a
 * lock. config.home becomes "~" in values. STALLREC_ERR_CONTEXT: the key is not in
 * config.context_keys, is empty or too long, or no slot is free for a new key. rec NULL, or a
 * forked child: no effect, STALLREC_OK. Any thread may call it, also several at once. */
STALLREC_API enum stallrec_error stallrec_context_set(struct stallrec *rec, const char *key,
                                                      const char *value);
/* Records that the app came to the foreground (1) or left it (0). In the background the system may
 * end the app at any time, so no stall is fatal there. Until the first call the app counts as in
 * the foreground, and dumps do not mention it. rec NULL, or a forked child: no effect. Any thread
 * may call it, also several at once. */
STALLREC_API void stallrec_foreground(struct stallrec *rec, int foreground);

/* ---- what the app tells: frames, launches, actions, posted tasks ----
 *
 * These functions may be called by any thread, also by several at once, unless their comments say
 * otherwise. They neither lock, allocate nor wait, and do nothing if rec is NULL, if their detector
 * is off, after stallrec_stop (rec is then not read) and in a forked child. Each sends a message,
 * which the monitor reads when it next polls its inbox; a message wakes the monitor only if the
 * message begins something with a limit or the inbox is half full, and of several such messages
 * that come while the monitor sleeps only the first does. While 256 messages wait in the inbox,
 * further ones are dropped, and while 128 wait, those that begin an action; the session's record
 * counts the dropped ones (events_dropped). Frames are not messages: the monitor reads the last
 * 1024. */

/* Records that the display drew a frame, or asked the loop to draw one. It costs an atomic
 * addition, a few atomic loads and stores and a clock reading, so that it may be called for each
 * frame, also at 120 Hz. */
STALLREC_API void stallrec_frame(struct stallrec *rec);

enum stallrec_launch {
    STALLREC_LAUNCH_BEGIN = 0, /* the user started the process */
    STALLREC_LAUNCH_PREWARMED, /* the process was started ahead of any user, so that its time does
                                  not count yet */
    STALLREC_LAUNCH_ACTIVE,    /* the user came to a prewarmed process, whose launch begins now */
    STALLREC_LAUNCH_DONE /* the launch is over; without this mark, the loop's first idle wait ends
                            it */
};

/* Marks a step of the launch, at at_ns of stallrec_clock_ns, which may lie before stallrec_start; a
 * time after the call counts as that of the call. Without any mark, a launch is taken to have begun
 * with the process, if that was less than a minute before stallrec_start; BEGIN and PREWARMED
 * replace that launch. The launch without a mark is given up after a minute (or after 2 times
 * launch_ms, if that is longer), as the program may have no loop. A mark that cannot follow the
 * earlier ones, such as ACTIVE without PREWARMED, is ignored. */
STALLREC_API void stallrec_launch(struct stallrec *rec, enum stallrec_launch mark, uint64_t at_ns);
/* Returns the time of stallrec_clock_ns at which this process began, as exactly as the system gives
 * it (Linux: 10 ms); 0 = not known. */
STALLREC_API uint64_t stallrec_process_start_ns(void);

/* Records that an action (the answer to a tap, a page) begins, which should end within limit_ms
 * from now (0: config.span_ms). name is copied, cut to 63 bytes; it may be NULL. Returns the
 * action's id, 0 if the detector is off or the message was dropped. Of the actions that run, the
 * first 16 are watched, and one at a time gets a dump. */
STALLREC_API uint64_t stallrec_span_begin(struct stallrec *rec, const char *name,
                                          uint32_t limit_ms);
/* Records that the action ended, on any thread. id 0: no effect. */
STALLREC_API void stallrec_span_end(struct stallrec *rec, uint64_t id);

/* A poster: it posts a task to the watched thread's loop, and the task calls
 * stallrec_ping_done(rec, number). The poster is called on the monitor thread, and must not wait
 * for the watched thread, which may hang: it must take no lock that the watched thread can hold,
 * and so must not allocate; it may write to an eventfd or a pipe. Returns 1, or 0 if the task
 * cannot be posted now. */
typedef int (*stallrec_poster)(void *ctx, uint64_t number);
/* Sets the poster by which the ping detector reaches the loop; without a poster that detector is
 * off. post NULL removes the poster. Once this returns, the earlier poster is no longer called,
 * and its ctx may be freed; so it takes a lock, and waits while the monitor calls that poster. It
 * must not be called from within a poster. */
STALLREC_API void stallrec_set_poster(struct stallrec *rec, stallrec_poster post, void *ctx);
/* Records that the task of the ping with this number ran; the task calls it on the watched thread.
 */
STALLREC_API void stallrec_ping_done(struct stallrec *rec, uint64_t number);

/* ---- loop hooks ---- */

enum { STALLREC_TRAIL_ = 32 };

/* The state of a loop, which the watched thread (state, activity) and the monitor (notify) share.
 * Zeroed = idle, and nobody watches. Private to the hooks below. */
struct stallrec_loop {
    uint64_t
        state_; /* time of the last edge in ns, with the lowest bit replaced: 1 = busy, 0 = idle */
    uint64_t end_;   /* time of the first edge since notify_ got STALLREC_NOTIFY_END_ or _KEEP_; 0 =
                      * none yet */
    uint64_t event_; /* time of the last stallrec_loop_activity */
    uint32_t activity_; /* enum stallrec_activity */
    uint32_t notify_; /* bits of STALLREC_NOTIFY_…, for which the monitor waits; it sleeps on this
                         word */
    uint64_t idle_;   /* time at which the loop first waited; 0 = it has not yet */
    uint64_t busy_;   /* sum in ns of all busy stretches that have ended */
    uint64_t trailed_;                /* number of transitions so far */
    const char *mode_;                /* set by stallrec_loop_mode; NULL = not known */
    uint64_t trail_[STALLREC_TRAIL_]; /* the last transitions: time in ns, with the lowest four bits
                                         replaced by an activity or STALLREC_TRAIL_WAKE_ … */
};

enum { STALLREC_TRAIL_WAKE_ = 7, STALLREC_TRAIL_SLEEP_ = 8, STALLREC_TRAIL_TURN_ = 9 };

enum {
    STALLREC_NOTIFY_BUSY_ = 1, /* the monitor is parked until the loop becomes busy */
    STALLREC_NOTIFY_END_ = 2,  /* a stall is open, and the first edge ends it */
    STALLREC_NOTIFY_STOP_ = 4, /* the monitor must wake up, for a stop or a message */
    STALLREC_NOTIFY_KEEP_ = 8, /* the first edge is stored in end_, and does not wake the monitor */
    STALLREC_NOTIFY_BESIDE_ = 16 /* the monitor sleeps on stallrec_main_loop's word */
};

/* Returns the loop of the thread that started the recorder. rec may be NULL: its hooks then only
 * store times that nobody reads. The loop is valid until the process ends, also after
 * stallrec_stop, so that hooks need no check. */
STALLREC_API struct stallrec_loop *stallrec_main_loop(struct stallrec *rec);

/* Returns the time of the recorder's clock: monotonic, in ns, without time of system suspension. */
STALLREC_API uint64_t stallrec_clock_ns(void);
/* Wakes the monitor, or stores the edge at `now` for it. It is the hooks' slow path, for edges for
 * which the monitor waits. */
STALLREC_API void stallrec_loop_notify_(struct stallrec_loop *loop, uint64_t now);

static inline void stallrec_loop_edge_(struct stallrec_loop *loop, uint64_t now, uint64_t busy) {
    uint64_t was = __atomic_load_n(&loop->state_, __ATOMIC_RELAXED);
    if ((was & 1) != 0) {
        uint64_t sum = __atomic_load_n(&loop->busy_, __ATOMIC_RELAXED);
        __atomic_store_n(&loop->busy_, sum + ((now | 1) - was), __ATOMIC_RELAXED);
    }
    /* The store and the load are sequentially consistent: the monitor sets notify_ and then reads
     * state_, this function sets state_ and then reads notify_, so at least one of the two sees the
     * other's store. */
    __atomic_store_n(&loop->state_, (now & ~(uint64_t)1) | busy, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&loop->notify_, __ATOMIC_SEQ_CST) != 0) {
        stallrec_loop_notify_(loop, now);
    }
}

/* Stores the time at which the loop first waited; that wait ends the launch. The edge that follows
 * publishes the time. */
static inline void stallrec_loop_idle_(struct stallrec_loop *loop, uint64_t now) {
    if (__atomic_load_n(&loop->idle_, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&loop->idle_, now, __ATOMIC_RELAXED);
    }
}

/* Stores a transition for the dumps. Only the watched thread may call it. */
static inline void stallrec_loop_trail_(struct stallrec_loop *loop, uint64_t now, uint64_t which) {
    uint64_t n = __atomic_load_n(&loop->trailed_, __ATOMIC_RELAXED);
    __atomic_store_n(&loop->trail_[n % STALLREC_TRAIL_], (now & ~(uint64_t)15) | which,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&loop->trailed_, n + 1, __ATOMIC_RELEASE);
}

/* Records that the loop left its wait and begins to handle events. No effect if the loop is busy
 * already. */
static inline void stallrec_loop_wake(struct stallrec_loop *loop) {
    if ((__atomic_load_n(&loop->state_, __ATOMIC_RELAXED) & 1) == 0) {
        uint64_t now = stallrec_clock_ns();
        stallrec_loop_idle_(loop, now);
        stallrec_loop_trail_(loop, now, STALLREC_TRAIL_WAKE_);
        stallrec_loop_edge_(loop, now, 1);
    }
}

/* Records that the loop is about to wait for events (with a timeout other than 0). */
static inline void stallrec_loop_sleep(struct stallrec_loop *loop) {
    uint64_t now = stallrec_clock_ns();
    stallrec_loop_idle_(loop, now);
    stallrec_loop_trail_(loop, now, STALLREC_TRAIL_SLEEP_);
    stallrec_loop_edge_(loop, now, 0);
}

/* Records that the loop begins another turn without a wait (a poll with timeout 0, idle handlers):
 * one busy stretch ends and another begins. */
static inline void stallrec_loop_turn(struct stallrec_loop *loop) {
    uint64_t now = stallrec_clock_ns();
    stallrec_loop_trail_(loop, now, STALLREC_TRAIL_TURN_);
    stallrec_loop_edge_(loop, now, 1);
}

/* Records the loop's present activity, for loops that have activities; it is not an edge. */
static inline void stallrec_loop_activity(struct stallrec_loop *loop,
                                          enum stallrec_activity activity) {
    uint64_t now = stallrec_clock_ns();
    stallrec_loop_trail_(loop, now, (uint64_t)activity);
    __atomic_store_n(&loop->event_, now, __ATOMIC_RELAXED);
    __atomic_store_n(&loop->activity_, (uint32_t)activity, __ATOMIC_RELEASE);
}

/* Records the mode in which the loop runs, for loops that have modes, so that stalls while the user
 * scrolls can be distinguished from others. mode: 1 to 63 bytes that stay unchanged until the
 * process ends; NULL = not known. */
static inline void stallrec_loop_mode(struct stallrec_loop *loop, const char *mode) {
    __atomic_store_n(&loop->mode_, mode, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif
