/* What the recorder's core needs from a platform: stacks, images, threads, CPU time, wall time and
 * random bytes, behind one table of functions. A test gives scripted ones.
 *
 * Every function runs on the monitor thread, from within rec_core_step, rec_core_loop_event or
 * rec_core_finish. None may allocate, and none may take a lock that the watched thread can hold
 * while it stalls. ctx is rec_capture.ctx. Times are ns of one monotonic clock that stands still
 * while the system is suspended; only wall_ms is civil time. */
#ifndef STALLREC_CAPTURE_H
#define STALLREC_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REC_EXACT_MAX = 8, REC_NAME_MAX = 64, REC_IMAGE_ID_MAX = 20, REC_UUID_SIZE = 16 };

/* One stack, innermost frame first. The caller owns both arrays and sets them and cap; the capture
 * fills in the rest. */
struct rec_stack {
    uint64_t *frames; /* [cap] frame 0: the exact program counter; the others: return addresses */
    uint64_t
        *starts; /* [cap] first byte of each frame's function; 0 = not known; NULL = not wanted */
    uint32_t cap;
    uint32_t count;                /* <= cap */
    uint32_t exact[REC_EXACT_MAX]; /* ascending indexes of exact frames, if not just frame 0 */
    uint32_t exact_count;          /* 0: only frame 0 is exact */
    bool truncated;  /* there are more frames than cap, or than fit the copy of the stack */
    bool incomplete; /* frames[count - 1] is not the thread's first: truncated, or no rule led on */
    bool idle;       /* the stack is the loop's own wait, which never counts as a stall */
    uint32_t pause_ns; /* how long the thread was held up for the sample */
};

/* What the loop did, and when. */
struct rec_transition {
    uint64_t at_ns;
    uint32_t what; /* enum stallrec_activity, or REC_WENT_… */
};
enum { REC_TRANSITIONS = 32, REC_WENT_WAKE = 7, REC_WENT_SLEEP = 8, REC_WENT_TURN = 9 };

enum rec_sample {
    REC_SAMPLE_OK,
    REC_SAMPLE_SAME, /* the thread has not run since the last sample, so its stack is the same */
    REC_SAMPLE_NONE  /* no stack could be taken this time */
};

enum rec_id_kind { REC_ID_NONE = 0, REC_ID_UUID, REC_ID_BUILD };

/* A loaded binary. Strings are valid until the next call of the capture. */
struct rec_image {
    enum rec_id_kind id_kind;
    uint8_t id_len; /* bytes of id: 16 for a UUID, 1 … 20 for a build-id */
    uint8_t id[REC_IMAGE_ID_MAX];
    const char
        *path; /* as loaded; the main program's full path; "[vdso]" and the like are allowed */
    const char *arch; /* NULL = the process's */
    uint64_t load;    /* run-time address of its first mapped byte: stall-dump(5) */
    uint64_t size;    /* bytes from load to the end of its last mapping */
    bool in_app;      /* part of the app, not of the system */
};

/* A name for code that is in no image: made at run time, or run by an interpreter. */
struct rec_code_name {
    uint64_t address;   /* a frame's */
    bool exact;         /* else it is a return address, and what is before it counts */
    const char *symbol; /* NULL = not known */
    uint64_t offset;    /* from the symbol's start */
    const char *file;   /* NULL = not known */
    uint32_t line;      /* 0 = not known */
    bool in_app;        /* the app's own, by its file */
};

enum rec_thread_state {
    REC_STATE_UNKNOWN = 0,
    REC_STATE_RUNNING, /* on a processor, or ready to be */
    REC_STATE_WAITING, /* in an interruptible wait */
    REC_STATE_BLOCKED, /* in an uninterruptible wait: disk */
    REC_STATE_STOPPED  /* by a signal or a debugger */
};

enum rec_wait_kind {
    REC_WAIT_NONE = 0, /* for nothing known */
    REC_WAIT_MUTEX,
    REC_WAIT_RWLOCK,
    REC_WAIT_THREAD /* for another thread's end */
};

struct rec_wait {
    enum rec_wait_kind kind;
    uint64_t address; /* of the lock; 0 = none */
    int64_t owner;    /* thread id; -1 = not known */
};

struct rec_thread {
    int64_t id;
    char name[REC_NAME_MAX]; /* NUL-terminated; any bytes */
    enum rec_thread_state state;
    bool main;
    uint64_t cpu_ns; /* used since the thread began; UINT64_MAX = not known */
    /* The thread's use of one processor between the last two calls of top_thread; 0: none, or not
     * known. */
    uint32_t cpu_permille;
    struct rec_wait waits_for;
    struct rec_stack stack;
};

/* CPU time used since each began; UINT64_MAX = not known. */
struct rec_cpu {
    uint64_t process_ns, main_ns, monitor_ns;
};

struct rec_context;

struct rec_capture {
    void *ctx;

    /* The watched thread's stack. may_repeat: the answer REC_SAMPLE_SAME is allowed. Out is written
     * only on REC_SAMPLE_OK. */
    enum rec_sample (*sample)(void *ctx, bool may_repeat, struct rec_stack *out);
    /* False if the loop had an edge since the one at since_ns, which was the last that the core was
     * told of: asked after the last sample and before a detection counts, and after threads. NULL =
     * always true. */
    bool (*still_busy)(void *ctx, uint64_t since_ns);
    /* The loop's last transitions, oldest first; returns how many. NULL = not known. */
    uint32_t (*transitions)(void *ctx, struct rec_transition out[REC_TRANSITIONS]);
    /* The mode that the loop runs in, NULL = not known; valid until the process ends. NULL = the
     * same. */
    const char *(*mode)(void *ctx);
    /* The image that holds the address; false if there is none. */
    bool (*image_at)(void *ctx, uint64_t address, struct rec_image *out);
    /* Fills in the symbols of addresses that no image holds; those that are not known stay. Strings
     * are valid until the next call. NULL = cannot. */
    void (*name_code)(void *ctx, struct rec_code_name *names, uint32_t count);
    /* What of the process cannot be read, in a few words; valid until the process ends. NULL:
     * nothing to say. NULL = the same. */
    const char *(*lack)(void *ctx);
    /* The watched thread without its stack (out->stack is left alone). NULL or false = not known.
     */
    bool (*main_thread)(void *ctx, struct rec_thread *out);
    /* Other threads, with their stacks, whose arrays the caller has set: fills out[0 … max) and
     * returns how many; *left_out: those for which there was no room. The monitor itself is
     * neither. NULL = cannot. */
    uint32_t (*threads)(void *ctx, struct rec_thread *out, uint32_t max, uint32_t *left_out);
    /* NULL = not known. */
    void (*cpu)(void *ctx, struct rec_cpu *out);
    /* Asks the loop to run a task that leads to rec_core_ping_done(number). False: it cannot now.
     * NULL = never: the ping detector is then off. */
    bool (*post)(void *ctx, uint64_t number);
    /* Reads the processor time of all threads, for their cpu_permille. *out: the thread that used
     * most since the last call, without its stack. The first call only begins to count. NULL or
     * false = not known. */
    bool (*top_thread)(void *ctx, struct rec_thread *out);
    /* Unix time in ms, UTC. */
    int64_t (*wall_ms)(void *ctx);
    /* Random bytes for ids. */
    void (*random)(void *ctx, uint8_t *out, size_t len);
    /* What the app says about itself, copied into each dump (context.h). NULL = nothing. */
    const struct rec_context *context;
};

#endif
