/* Declarations that the files of the preloaded library share. */
#ifndef STALLREC_PRELOAD_PRIVATE_H
#define STALLREC_PRELOAD_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <poll.h>
#include <sys/select.h>

#include "core/event.h"
#include "loop/loop_finder.h"
#include "linux/modules_linux.h"
#include "monitor.h"
#include "preload/preload.h"
#include "stallrec.h"

enum { PRELOAD_PATH = 4096, PRELOAD_CONTEXT = 4096 };

/* The settings from stallrec(1). */
struct preload_config {
    char directory[PRELOAD_PATH];
    int folder; /* descriptor of `directory`; -1: none */
    char names[PRELOAD_LOOP_AT_MAX +
               2]; /* values of --loop-at, each NUL-terminated, with an empty one after the last */
    char preset[PRELOAD_TEXT];          /* "": the preset "default" */
    uint32_t threshold_ms;              /* 0: the preset's */
    uint32_t sample_ms, ring, check_ms; /* 0: the preset's */
    uint32_t max_threads;               /* 0: the preset's */
    uint32_t detectors;                 /* 0: the preset's */
    uint32_t cpu_limit_permille;        /* 0: the preset's */
    char trace[PRELOAD_PATH];           /* file to which a trace is written; "": none */
    uint32_t keep_days, keep_files;     /* 0: no limit */
    uint64_t keep_bytes;
    uint32_t file_mode;         /* see struct stallrec_config */
    char threads[PRELOAD_TEXT]; /* a glob on names of threads to watch; "": only the main thread */
    char context[PRELOAD_CONTEXT]; /* values "KEY=VALUE", each NUL-terminated, with an empty one
                                      after the last */
    bool follow;
    struct preload_report *report; /* never NULL */
};

/* ---- preload_places.c ---- */

struct code_place;

/* Finds the library and function of a code address. False: the address is in no module, as in code
 * generated at run time. */
bool preload_find_place(const char *program, uint64_t address, struct code_place *place,
                        const char **library);
/* Writes an address as "libuv.so.1+0x1f30 (uv__io_poll)", or as "0x…" if it is in no module.
 * program: the program's path. */
void preload_name_place(const char *program, uint64_t address, char text[PRELOAD_TEXT]);

/* ---- preload_recorder.c ---- */

/* Starts the recorder for the calling thread, which is watched since begin_ns, and returns the
 * process's entry in the report. After an exec, the entry keeps the counts of the program before.
 * If the recorder does not start, the failure is in the report, and thread->loop becomes NULL.
 * program: the program's path. goes_on: as in struct monitor_finding. `from` is borrowed for
 * ever. */
struct preload_process *preload_start_recorder(const struct preload_config *from,
                                               const char *program, uint64_t begin_ns,
                                               bool (*goes_on)(void *ctx),
                                               struct monitor_thread *thread);
/* Watches the calling thread as well (monitor_add_thread). False: it is not watched, and the
 * report counts it. */
bool preload_add_thread(struct monitor_thread *thread, uint64_t begin_ns);
/* Returns the time since which this process runs its program: that of the last exec of a recorded
 * program, or else of the process's start. */
uint64_t preload_begin_ns(const struct preload_config *config);
/* Report that the process, which is watched, is about to replace its program, and that it could
 * not. Async-signal-safe; errno is kept. */
void preload_exec_begins(void);
void preload_exec_fails(void);
/* Counts a wanted thread that is not watched, in the report, if a recorder was started. */
void preload_tell_left(void);
/* Stops the recorder, which writes open dumps; waits at most 2 s for that. If it stops in time, the
 * process's entry gets `ended`. */
void preload_stop_recorder(void);
/* Reports that no recorder runs in this process, or soon none, because a filter kills the system
 * call `call`. program: the program's path. */
void preload_tell_aside(const struct preload_config *config, const char *program, const char *call);
/* Has preload_tell_aside reported this process, perhaps before an exec? Filters survive an exec. */
bool preload_is_aside(const struct preload_config *config);
/* Returns the threshold in ns: the length of the shortest stall. */
uint64_t preload_threshold_ns(const struct preload_config *config);

/* ---- preload_entry.c ---- */

struct preload_caller;
struct thread_watch;

enum { PRELOAD_ENTRIES = 64 };

/* The rule of a place that waits. */
struct preload_entry {
    uint64_t place; /* 0: the entry is not used */
    struct modules_entry rule;
};

/* Returns the stack pointer before the call of the function that waits at caller->place; if that is
 * not known, as in code without call frame information, or while another thread holds the lock of
 * modules_try_hold, that before its call of the waiting function. The rule is looked up at the
 * first wait of the place, under the dynamic linker's lock (modules_iterate_async). */
uint64_t preload_entry(struct thread_watch *w, const struct preload_caller *caller);

/* ---- preload_waits.c ---- */

void preload_resolve_waits(void);

/* ---- preload_threads.c ---- */

enum {
    PRELOAD_LOOPS = 4, /* number of loops of a thread, one after another, that are named */
    /* Maximum number of idle intervals that are reported at once, for which an empty inbox has
     * room. */
    PRELOAD_INTERVALS = 96
};

/* The calling thread waits while its recording starts, too: the start sleeps until a lock is free,
 * and a signal handler may poll. Such waits are passed on, as the watch is not complete. */
enum preload_recording { RECORDING_NONE, RECORDING_STARTS, RECORDING_RUNS };

/* A watched thread. Only that thread uses it, except for `taken`, `shared`, `loop`, `inbox` and
 * `loop_at`. */
struct thread_watch {
    atomic_bool taken;
    struct monitor_thread shared;
    enum preload_recording recording;
    struct stallrec_loop loop; /* the loop of this thread, used unless `first` is true */
    struct rec_inbox inbox;    /* the inbox of this thread, used unless `first` is true */
    uint64_t stack_top, stack_size;
    uint64_t begin_ns; /* of the main thread, preload_begin_ns; of another thread, the time at which
                          its watching began */
    uint64_t waited_ns; /* time at which the last blocking wait ended; 0 = there was none yet */
    bool first;         /* the recorder was started for this thread */
    bool waits;         /* the thread is in a blocking wait, which the finder knows */
    bool idle;          /* it was reported to the recorder that the loop is idle in this wait */
    uint64_t wait_sp;   /* stack pointer before the call of the outermost wait */
    /* The wait within which a signal handler called functions that wait; `waits` and `idle` are
     * those of the handler's calls until that wait has ended. */
    struct {
        bool waits, idle;
        unsigned calls; /* number of the calls of handlers */
        struct finder_interrupted finder;
    } outer;
    bool untold; /* the loop was found, but could not be reported yet */
    struct loop_finder finder;
    const struct preload_config *config;
    const char *program; /* path of the program */
    struct preload_process *process;
    char loop_at[2][PRELOAD_TEXT]; /* the loop's name; both buffers are used by turns, because the
                                      monitor may still read the previous name */
    unsigned named; /* number of names written; the latest one is in loop_at[named % 2] */
    uint64_t places[PRELOAD_LOOPS]; /* places of loops that followed one another; the last place is
                                       the current loop's */
    unsigned place_count;
    struct preload_entry entries[PRELOAD_ENTRIES];       /* by a hash of the place */
    struct finder_interval intervals[PRELOAD_INTERVALS]; /* buffers of tell_found */
    struct rec_event events[PRELOAD_INTERVALS + 3];
};

/* Count, in the report, the watched threads that may be in a system call of the recorder. A filter
 * that the program installed without libc may end the process in that call; the report outlives
 * the process. */
static inline void preload_call_begins(const struct thread_watch *w) {
    __atomic_fetch_add(&w->process->calling, 1, __ATOMIC_RELAXED);
}
static inline void preload_call_ends(const struct thread_watch *w) {
    __atomic_fetch_sub(&w->process->calling, 1, __ATOMIC_RELAXED);
}

/* Watches the process from now on. It is called by the process's only thread; frame: an address on
 * that thread's stack. config is borrowed for ever; *program is copied. */
void preload_watch_process(const struct preload_config *config, const char *program,
                           uint64_t frame);
/* Reports, if `replaced`, that the program is about to be replaced by another one, else that this
 * has failed. */
void preload_watch_replaced(bool replaced);
/* Starts the recorder at once, rather than with the first wait, if the main thread is watched. */
void preload_watch_from_start(void);
/* Ends watching the process, and judges the remaining time of the calling thread. True: the caller
 * has to stop the recorder. False: there is no recorder, its start or the addition of a thread to
 * it lasted too long (2 s), or watching had ended before. */
bool preload_watch_ends(void);
/* Ends watching in the child of a fork, which has neither the other threads nor the recorder. */
void preload_watch_forked(void);
/* Returns the calling thread's watch; NULL: the thread is not recorded. begins: a blocking wait
 * begins, at which a thread can be chosen by its name, and its recording starts. errno is kept. */
struct thread_watch *preload_own_watch(bool begins);
/* Is the calling thread watched? */
bool preload_watches(void);
/* Is the calling thread the one for which the recorder was started? */
bool preload_watches_first(void);
/* Stops watching the calling thread for good, as its filter would kill a system call of the
 * recorder, or there is no room for it. */
void preload_leave_thread(void);
/* Does the user choose threads by their names (--thread)? It may be called in a watched process
 * only. */
bool preload_chooses_threads(void);
/* Is the calling process watched, even if none of its threads is yet? False in the child of a
 * vfork, although it has its parent's memory. */
bool preload_watches_process(void);
/* Stops the recorder, if there is one, for good, because a filter would kill the system call
 * `call`, and reports that; if call is NULL, it was reported before. */
void preload_step_aside(const char *call);

/* ---- preload_loop.c ---- */

struct preload_caller;

/* Initialises *w for a thread of which no wait is known yet. config and program are borrowed. */
void preload_watch_begin(struct thread_watch *w, const struct preload_config *config,
                         const char *program);
/* Notes that the calling thread calls a function that waits. True: it seems to do so in a signal
 * handler that runs within another wait, which goes on until its own preload_wait_ends. The stack
 * pointer tells: a wait that was left by longjmp is forgotten once the thread waits no further in
 * than that. After many calls further in it may have been left so: false then, too. */
bool preload_wait_interrupts(struct thread_watch *w, const struct preload_caller *caller);
/* Does another wait, in which a handler made the call that waits and ends now, go on? frame: as in
 * struct preload_caller, of the call that ends. False, too, if the other wait may have been left by
 * longjmp. */
bool preload_wait_goes_on(const struct thread_watch *w, const void *frame);
/* Reports that a wait of the calling thread, which is recorded, begins. The caller sets
 * wait->object; the other members of *wait are set by this function. errno is kept. */
void preload_wait_begins(struct thread_watch *w, const struct preload_caller *caller,
                         struct finder_wait *wait);
/* Reports that the call that waits with this frame (struct preload_caller) ends, and its wait, if
 * it was a blocking one, even if handlers waited in it. errno is kept. */
void preload_wait_ends(struct thread_watch *w, const void *frame);
/* Judges the remaining time of the calling thread, because it or the process ends. */
void preload_watch_finish(struct thread_watch *w);

/* ---- preload_objects.c ---- */

/* The call of a function that waits. */
struct preload_caller {
    const void *place;      /* return address of the call */
    const void *frame;      /* the called function's canonical frame address: sp before the call */
    uint64_t frame_pointer; /* the caller's */
    bool blocks;            /* the timeout is not 0 */
    bool endless;           /* as in finder_wait */
};

/* Each of these functions reports that a wait of the calling thread begins; they differ in the
 * object of the wait. One to which no array or set is given is a sleep (preload_begin_sleep). From
 * true on until preload_end_wait the thread is not signalled. False: preload_end_wait must not be
 * called. errno is kept. */
bool preload_begin_poll(const struct preload_caller *caller, const struct pollfd *fds, nfds_t n);
bool preload_begin_select(const struct preload_caller *caller, int n, const fd_set *in,
                          const fd_set *out, const fd_set *except);
bool preload_begin_epoll(const struct preload_caller *caller, int fd);
/* Reports that the process has made an epoll instance, whose number another one may have had
 * before; -1: it could not. It may be called on any thread, and in a signal handler. */
void preload_epoll_is_born(int fd);
bool preload_begin_condition(const struct preload_caller *caller, const void *condition);
bool preload_begin_signals(const struct preload_caller *caller);
/* Reports a wait for a lock, or a sleep, which is no loop's by itself; one that does not block, or
 * that is within another wait, as in a signal handler, is not reported. From true on until
 * preload_end_wait the thread is not signalled. False: preload_end_wait must not be called. errno
 * is kept. */
bool preload_begin_lock(const struct preload_caller *caller);
/* Is the loop of the calling thread one on a lock? Each wait for a lock then counts, also one for
 * a semaphore that is free, as it is where the next item of a queue is there already. */
bool preload_loops_on_lock(void);
bool preload_begin_sleep(const struct preload_caller *caller);
/* Reports that the call that waits with this frame (struct preload_caller) has ended. errno is
 * kept. */
void preload_end_wait(const void *frame);

/* ---- preload_filter.c ---- */

void preload_resolve_filter(void);

/* ---- preload_env.c, preload_exec.c ---- */

/* Reads the environment and, unless --follow, removes our variables from it, so that the program's
 * children are not recorded. config->report becomes the memory that the command shares, or one that
 * nobody reads. False: this process is not to be recorded. It is called once, by the main
 * thread. */
bool preload_read_environment(struct preload_config *config);

/* Stores the next function of this name after ours into the atomic function pointer at `slot`, with
 * release order; NULL if there is none. It may take the dynamic linker's lock. */
void preload_resolve(const char *name, void *slot);

/* Looks up the real functions of the exec and spawn families. The main thread calls it as early as
 * possible. */
void preload_resolve_exec(void);

/* Are all programs that the program starts recorded, too (--follow)? */
bool preload_follows(void);

enum { PRELOAD_FEW = 128 };

/* An array for exec, and room for a text. It uses no malloc, as exec may be called where malloc may
 * not, and for a short list no mmap, as a vfork'ed child that execs would leave the mapping behind
 * in its parent. */
struct preload_vector {
    char **list;
    size_t size; /* size of the mapping; 0: list is `few` */
    char *text;
    char *few[PRELOAD_FEW];
};

/* Makes room for `count` pointers in v->list, and for `text` bytes at v->text. False: out of
 * memory. */
bool preload_vector_open(struct preload_vector *v, size_t count, size_t text);
/* Frees the vector's memory. errno is kept. */
void preload_vector_close(struct preload_vector *v);

/* Returns the environment for an exec: a list in v that has our variables, too, if the program is
 * to be recorded, envp lacks them and there is memory; else envp. With a new list and without
 * --follow, the report's descriptor survives the exec. If exec returns, v and the list must be
 * passed to preload_environment_close. Any process and thread; async-signal-safe. */
char *const *preload_environment_open(struct preload_vector *v, char *const envp[]);
void preload_environment_close(struct preload_vector *v, char *const *list, char *const envp[]);

#endif
