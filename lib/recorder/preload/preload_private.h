/* What the files of the preloaded library share. */
#ifndef STALLREC_PRELOAD_PRIVATE_H
#define STALLREC_PRELOAD_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/preload.h"

enum { PRELOAD_PATH = 4096, PRELOAD_CONTEXT = 4096 };

/* The settings from stallrec(1). */
struct preload_config {
    char directory[PRELOAD_PATH];
    char names[PRELOAD_LOOP_AT_MAX + 2]; /* --loop-at: NUL-terminated each, then an empty one */
    char preset[PRELOAD_TEXT];           /* "": the default */
    uint32_t threshold_ms;               /* 0: the preset's */
    uint32_t sample_ms, ring, check_ms;  /* 0: the preset's */
    uint32_t detectors;                  /* 0: the preset's */
    uint32_t cpu_limit_permille;         /* 0: the preset's */
    char trace[PRELOAD_PATH];            /* "": none */
    uint32_t keep_days, keep_files;      /* 0: no limit */
    uint64_t keep_bytes;
    char context[PRELOAD_CONTEXT]; /* "KEY=VALUE", NUL-terminated each, then an empty one */
    bool follow;
    struct preload_report *report; /* never NULL */
};

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
