/* What the files of the preloaded library share. */
#ifndef STALLREC_PRELOAD_PRIVATE_H
#define STALLREC_PRELOAD_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <poll.h>
#include <sys/select.h>

#include "preload/preload.h"
#include "stallrec.h"

enum { PRELOAD_PATH = 4096, PRELOAD_CONTEXT = 4096 };

/* The settings from stallrec(1). */
struct preload_config {
    char directory[PRELOAD_PATH];
    int folder;                          /* the same, open; -1: it is not */
    char names[PRELOAD_LOOP_AT_MAX + 2]; /* --loop-at: NUL-terminated each, then an empty one */
    char preset[PRELOAD_TEXT];           /* "": the default */
    uint32_t threshold_ms;               /* 0: the preset's */
    uint32_t sample_ms, ring, check_ms;  /* 0: the preset's */
    uint32_t max_threads;                /* 0: the preset's */
    uint32_t detectors;                  /* 0: the preset's */
    uint32_t cpu_limit_permille;         /* 0: the preset's */
    char trace[PRELOAD_PATH];            /* "": none */
    uint32_t keep_days, keep_files;      /* 0: no limit */
    uint64_t keep_bytes;
    char context[PRELOAD_CONTEXT]; /* "KEY=VALUE", NUL-terminated each, then an empty one */
    bool follow;
    struct preload_report *report; /* never NULL */
};

/* ---- preload_recorder.c ---- */

/* Starts the recorder and sets *loop, whose edges it is to be told, and returns where the process
 * tells of itself. program: its path. *loop NULL: it could not be started, which the report says.
 * from: borrowed for ever. */
struct preload_process *preload_start_recorder(const struct preload_config *from,
                                               const char *program, struct stallrec_loop **loop);
/* Writes what is open, as far as that can be done in a moment. */
void preload_stop_recorder(void);
/* Tells that the recorder does not run any more, since a filter kills this call. program: its path.
 */
void preload_tell_aside(const struct preload_config *config, const char *program, const char *call);
/* Was that told of this process? By the program, too, that it was before exec: filters stay. */
bool preload_is_aside(const struct preload_config *config);
/* Names the place that is believed to be the loop. The text lives until the next but one. */
void preload_name_loop(const char *loop_at);
/* Returns the duration of the shortest stall that is looked for. */
uint64_t preload_threshold_ns(const struct preload_config *config);

/* ---- preload_waits.c ---- */

void preload_resolve_waits(void);

/* ---- preload_loop.c ---- */

/* The calling thread, the process's only one, is watched from now on. frame: one of its. Borrowed
 * for ever. */
void preload_watch_this_thread(const struct preload_config *config, const char *program,
                               uint64_t frame);
/* Starts the recorder at once, not with the first wait. */
void preload_watch_from_start(void);
/* The process is about to end: judges what is left. False: it was not watched, or never waited. */
bool preload_watch_ends(void);
/* Ends watching in the child of a fork, which is not watched. */
void preload_watch_forked(void);
/* Is this the thread that is watched? */
bool preload_watches(void);
/* Is a thread of the calling process watched? The child of a vfork has its parent's memory, but is
 * not. */
bool preload_watches_process(void);
/* The recorder stops, if there is one, for good: a filter would kill the system call of this name;
 * NULL: that was told before. */
void preload_step_aside(const char *call);

/* The call of a function that waits. */
struct preload_caller {
    const void *place; /* its return address */
    const void *frame;
    bool blocks; /* the timeout is not 0 */
};

/* A wait of the calling thread begins. False: its end is not to be told. errno is kept. */
bool preload_begin_poll(const struct preload_caller *caller, const struct pollfd *fds, nfds_t n);
bool preload_begin_select(const struct preload_caller *caller, int n, const fd_set *in,
                          const fd_set *out, const fd_set *except);
bool preload_begin_epoll(const struct preload_caller *caller, int fd);
bool preload_begin_condition(const struct preload_caller *caller, const void *condition);
bool preload_begin_signals(const struct preload_caller *caller);
void preload_end_wait(void);

/* ---- preload_filter.c ---- */

void preload_resolve_filter(void);

/* ---- preload_env.c, preload_exec.c ---- */

/* Reads the environment and, unless --follow, removes our variables from it, so that the program's
 * children are not recorded. False when this process is not to be recorded. Main thread, once. */
bool preload_read_environment(struct preload_config *config);

/* Stores the next function of this name, after ours, into the atomic function pointer at `slot`,
 * with release order; NULL if there is none. May take the dynamic linker's lock. */
void preload_resolve(const char *name, void *slot);

/* Finds the functions that exec is passed on to. Main thread, as early as can be. */
void preload_resolve_exec(void);

/* Is everything that the program starts recorded, too (--follow)? */
bool preload_follows(void);

enum { PRELOAD_FEW = 128 };

/* An array for exec, and room for a text. It avoids malloc, since exec may be called where that is
 * not allowed, and for a short list mmap, since a vfork'ed child that execs leaves a mapping behind
 * in its parent. */
struct preload_vector {
    char **list;
    size_t size; /* of the mapping; 0: list is `few` */
    char *text;
    char *few[PRELOAD_FEW];
};

/* Room for `count` pointers, and for `text` bytes at v->text. False: there is no memory. */
bool preload_vector_open(struct preload_vector *v, size_t count, size_t text);
/* errno is kept. */
void preload_vector_close(struct preload_vector *v);

/* The environment to exec a program with: envp, or a list in v that has ours, too, if what is
 * started is to be recorded. v and list go to preload_environment_close when exec returns. Any
 * process and thread; async-signal-safe. */
char *const *preload_environment_open(struct preload_vector *v, char *const envp[]);
void preload_environment_close(struct preload_vector *v, char *const *list, char *const envp[]);

#endif
