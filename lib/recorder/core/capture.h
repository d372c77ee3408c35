/* The interface between the recorder's core and a platform: stacks, images, threads, CPU time, wall
 * time and random bytes, behind one table of functions. Tests have a table of scripted functions.
 *
 * The functions are called from within the rec_core_ functions of core.h: on the monitor thread,
 * or, within rec_core_init, on the thread that starts the recorder. None may allocate, and none may
 * take a lock that the watched thread can hold while it stalls. ctx is rec_capture.ctx. A member of
 * the table may be NULL only where its comment says so. Times are ns of one monotonic clock that
 * stands still while the system is suspended; only wall_ms is civil time. */
#ifndef STALLREC_CAPTURE_H
#define STALLREC_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REC_EXACT_MAX = 8, REC_NAME_MAX = 64, REC_IMAGE_ID_MAX = 20, REC_UUID_SIZE = 16 };

/* The kinds of wait in which a thread counts as idle although it is not its loop's wait. Such a
 * wait is called a rest. */
enum rec_rest {
    REC_REST_NONE,
    REC_REST_INPUT,  /* the thread waits for input of a terminal, standard input or a FIFO, for a
                        client that has to send a request or to connect, for a signal, or for changes
                        of files */
    REC_REST_UNCLEAR /* the thread waits for data of a pipe or socket, or is parked in a lock,
                        further out on its stack than its loop waits; it is not known whether it
                        idles there, or is held up */
};

/* One stack, innermost frame first. The caller owns the arrays, and sets frames, starts and cap;
 * the capture sets the other members. */
struct rec_stack {
    uint64_t *frames; /* [cap] frame 0 is the exact program counter, the others are return
                         addresses, except for those in `exact` */
    uint64_t *starts; /* [cap] address of the first byte of each frame's function; 0 = not known;
                         NULL = not wanted */
    uint32_t cap;
    uint32_t count;                /* frames filled in, <= cap */
    uint32_t exact[REC_EXACT_MAX]; /* ascending indexes of the frames that are exact program
                                      counters, if exact_count > 0 */
    uint32_t exact_count;          /* 0: only frame 0 is exact */
    bool truncated;  /* there are more frames than cap, or more than the copy of the stack holds */
    bool incomplete; /* frames[count - 1] is not the thread's outermost frame, because the stack is
                        truncated or no unwind rule led further */
    bool idle;       /* the stack is the loop's own wait, which never counts as a stall of the loop
                        or of a ping */
    enum rec_rest rest; /* the kind of rest that the stack shows; unless it is REC_REST_NONE, the
                           stack never counts as a stall of the loop or of a ping */
    uint32_t pause_ns;  /* time in ns for which the thread was held up while the sample was taken */
};

/* A transition of the loop: its kind and its time. */
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
        *path; /* path as loaded; the main program's full path; "[vdso]" and the like are allowed */
    const char *arch; /* architecture; NULL = the process's */
    uint64_t load;    /* run-time address of its first mapped byte: stall-dump(5) */
    uint64_t size;    /* bytes from load to the end of its last mapping */
    bool in_app;      /* the image is a part of the app, not of the system */
};

/* A name for code that is in no image: made at run time, or run by an interpreter. */
struct rec_code_name {
    uint64_t address; /* the frame's address */
    bool exact;       /* false: `address` is a return address, and the name is that of the code just
                         before it */
    const char *symbol; /* name of the function; NULL = not known */
    uint64_t offset;    /* bytes from the symbol's start */
    const char *file;   /* source file; NULL = not known */
    uint32_t line;      /* line in `file`; 0 = not known */
    bool in_app;        /* the code is the app's own, by its file */
};

enum rec_thread_state {
    REC_STATE_UNKNOWN = 0,
    REC_STATE_RUNNING, /* the thread runs on a processor, or is ready to run */
    REC_STATE_WAITING, /* the thread sleeps interruptibly */
    REC_STATE_BLOCKED, /* the thread sleeps uninterruptibly, mostly for a disk */
    REC_STATE_STOPPED  /* the thread is stopped by a signal or a debugger */
};

enum rec_wait_kind {
    REC_WAIT_NONE = 0, /* the thread waits for nothing that is known */
    REC_WAIT_MUTEX,
    REC_WAIT_RWLOCK,
    REC_WAIT_THREAD,   /* the thread waits for another thread's end */
    REC_WAIT_TERMINAL, /* the thread reads or polls a terminal */
    REC_WAIT_STDIN     /* the thread reads or polls standard input, which is a pipe or a socket */
};

struct rec_wait {
    enum rec_wait_kind kind;
    uint64_t address; /* the lock's address; 0 = none */
    int64_t owner;    /* id of the thread for which this one waits: the holder of the lock, or the
                         thread that has to end; -1 = not known */
};

struct rec_thread {
    int64_t id;
    char name[REC_NAME_MAX]; /* NUL-terminated; holds any bytes */
    enum rec_thread_state state;
    bool main;
    uint64_t cpu_ns; /* ns of CPU time used since the thread began; UINT64_MAX = not known */
    /* Share of one processor that the thread used between the last two calls of top_thread, in
     * thousandths; 0: none, or not known. */
    uint32_t cpu_permille;
    struct rec_wait waits_for;
    struct rec_stack stack;
};

/* CPU times in ns of the process, its main thread and the monitor thread, each since it began;
 * UINT64_MAX = not known. */
struct rec_cpu {
    uint64_t process_ns, main_ns, monitor_ns;
};

struct rec_context;

struct rec_capture {
    void *ctx;

    /* Takes the watched thread's stack. may_repeat: the result REC_SAMPLE_SAME is allowed. *out is
     * written only on REC_SAMPLE_OK. */
    enum rec_sample (*sample)(void *ctx, bool may_repeat, struct rec_stack *out);
    /* Has the loop been busy since since_ns, the time of the last edge that the core got? False:
     * the loop had a later edge. The core calls it after a sample, before a detection counts, and
     * after `threads`. A NULL member = always true. */
    bool (*still_busy)(void *ctx, uint64_t since_ns);
    /* Sets out[0 … result) to the loop's last transitions, oldest first, and returns their number.
     * A NULL member = not known. */
    uint32_t (*transitions)(void *ctx, struct rec_transition out[REC_TRANSITIONS]);
    /* Returns the name of the mode in which the loop runs, valid until the process ends; NULL =
     * not known. A NULL member = not known. */
    const char *(*mode)(void *ctx);
    /* Sets *out to the image that holds the address; false: no image does. */
    bool (*image_at)(void *ctx, uint64_t address, struct rec_image *out);
    /* Sets the names of addresses that are in no image; a name that is not known stays unchanged.
     * Strings are valid until the next call. A NULL member = no names. */
    void (*name_code)(void *ctx, struct rec_code_name *names, uint32_t count);
    /* Returns, in a few words, which data of the process cannot be read, as a text that is valid
     * until the process ends; NULL = all can be read. A NULL member = all can be read. */
    const char *(*lack)(void *ctx);
    /* Describes the watched thread, except for its stack, which is not changed. False or a NULL
     * member = not known. */
    bool (*main_thread)(void *ctx, struct rec_thread *out);
    /* Fills out[0 … result) with the threads other than the watched one and the monitor, and their
     * stacks, whose arrays the caller has set; returns the number of threads. *left_out: number of
     * threads for which there was no room. A NULL member = not possible. */
    uint32_t (*threads)(void *ctx, struct rec_thread *out, uint32_t max, uint32_t *left_out);
    /* Reads the CPU times. A NULL member = not known. */
    void (*cpu)(void *ctx, struct rec_cpu *out);
    /* Asks the loop to run a task that leads to rec_core_ping_done(number). False: it cannot now.
     * A NULL member = it never can, and the ping detector is off. */
    bool (*post)(void *ctx, uint64_t number);
    /* Reads the CPU time of all threads, for their cpu_permille. *out becomes the thread that used
     * most since the last call, without its stack. The first call only begins to measure. False or
     * a NULL member = not known. */
    bool (*top_thread)(void *ctx, struct rec_thread *out);
    /* Returns the Unix time in ms. */
    int64_t (*wall_ms)(void *ctx);
    /* Fills out[len] with random bytes, for ids. */
    void (*random)(void *ctx, uint8_t *out, size_t len);
    /* The context that the app has set, copied into each dump (context.h). NULL = none. */
    const struct rec_context *context;
};

#endif
