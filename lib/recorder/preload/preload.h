/* What the command stallrec hands to the library that it preloads, and gets back. */
#ifndef STALLREC_PRELOAD_H
#define STALLREC_PRELOAD_H

#include <stdint.h>

#define PRELOAD_LIBRARY "libstallrec-preload.so"

/* Environment variables. Without the first the library does nothing. */
#define PRELOAD_ENV_DIRECTORY "STALLREC_DIRECTORY"
/* The same folder, open: for processes of other users, and in another root. With FOLLOW only. */
#define PRELOAD_ENV_FOLDER      "STALLREC_DIRECTORY_FD"
#define PRELOAD_ENV_THRESHOLD   "STALLREC_THRESHOLD_MS"
#define PRELOAD_ENV_SAMPLE      "STALLREC_SAMPLE_MS"
#define PRELOAD_ENV_RING        "STALLREC_RING"
#define PRELOAD_ENV_CHECK       "STALLREC_CHECK_MS"
#define PRELOAD_ENV_MAX_THREADS "STALLREC_MAX_THREADS"
#define PRELOAD_ENV_PRESET      "STALLREC_PRESET"
#define PRELOAD_ENV_DETECTORS   "STALLREC_DETECTORS" /* bits; 0 = the preset's */
#define PRELOAD_ENV_CPU_LIMIT   "STALLREC_CPU_LIMIT" /* permille; 0 = the preset's */
#define PRELOAD_ENV_TRACE       "STALLREC_TRACE"
#define PRELOAD_ENV_LOOP_AT     "STALLREC_LOOP_AT" /* LIB, SYMBOL or LIB+0xOFFSET, one a line */
#define PRELOAD_ENV_KEEP_DAYS   "STALLREC_KEEP_DAYS"
#define PRELOAD_ENV_KEEP_BYTES  "STALLREC_KEEP_BYTES"
#define PRELOAD_ENV_KEEP_FILES  "STALLREC_KEEP_FILES"
#define PRELOAD_ENV_CONTEXT     "STALLREC_CONTEXT" /* KEY=VALUE, one a line */
#define PRELOAD_ENV_FOLLOW      "STALLREC_FOLLOW"
#define PRELOAD_ENV_REPORT      "STALLREC_REPORT_FD"

/* A path to the same memory, for programs whose descriptors were closed before they began. */
#define PRELOAD_ENV_REPORT_AT "STALLREC_REPORT_AT"

enum {
    PRELOAD_TEXT = 256,
    PRELOAD_LOOP_AT_MAX = 4094 /* bytes of PRELOAD_ENV_LOOP_AT */
};

/* Processes of which more than their number is told. */
enum {
    PRELOAD_PROCESSES = 128,
    PRELOAD_LONGEST = 3,
    PRELOAD_UNWATCHED = 5,
    PRELOAD_FAILURES = 8, /* recorders that did not start of which more is told */
    PRELOAD_NAME = 64,    /* bytes of a program's name, with its NUL */
    PRELOAD_NEWS = 64     /* of the latest stalls, for -v */
};

/* A time in which the main thread did not wait. */
struct preload_stretch {
    uint64_t length_ms;
    uint64_t at_ms; /* its begin, since that of the process */
};

/* What a process with a recorder tells: written by its monitor when that goes to sleep. */
struct preload_process {
    uint32_t pid;          /* 0: none */
    uint32_t ended;        /* it ran to its end, and all is told */
    uint32_t loop_kind;    /* enum finder_kind + 1 of the loop that is believed; 0 = none */
    int32_t lost_error;    /* errno of the last dump that was lost; 0 = none was, or it has none */
    uint32_t threads_left; /* the most that a dump had no room for */
    uint32_t reserved;
    uint64_t stalls, dumps, lost;
    uint64_t told_ns; /* by the clock of the recorder, when the rest was counted */
    uint64_t wall_ms, watched_ms;
    uint64_t unwatched_ms[PRELOAD_UNWATCHED];        /* as enum rec_unwatched */
    struct preload_stretch longest[PRELOAD_LONGEST]; /* before a loop was believed */
    char loop_at[PRELOAD_TEXT];
    char program[PRELOAD_NAME]; /* its file's name */
    char killed[PRELOAD_NAME];  /* a system call for which the recorder stepped aside; "": none */
};

/* A recorder that did not start. */
struct preload_failure {
    uint32_t pid, user; /* of the process; its effective user id */
    int32_t error;      /* enum stallrec_error; 0 = not told yet */
    int32_t number;     /* errno, for those errors that have one; else 0 */
    char program[PRELOAD_NAME];
};

enum preload_news_kind { PRELOAD_STALL_BEGINS, PRELOAD_STALL_ENDS, PRELOAD_STALL_TAKEN_BACK };

/* What is told of a stall as it happens. */
struct preload_news {
    uint64_t number; /* of it, from 1, written last; 0 while it is written */
    uint32_t kind;   /* enum preload_news_kind */
    uint32_t pid;
    uint64_t age_ms; /* of the stall; at its end, its length */
    char what[16];   /* "hang" */
};

/* Shared memory behind the report descriptor; zeroed at first, counters are only added to. */
struct preload_report {
    uint32_t size;         /* sizeof(struct preload_report), set by the command */
    uint32_t processes;    /* that loaded the library */
    uint32_t recorded;     /* of them, that have a recorder: entries in use, if there are as many */
    uint32_t failed;       /* of them, whose recorder did not start: the same of failures */
    uint32_t trace_failed; /* not all of the trace could be written */
    uint32_t reserved;
    uint64_t told; /* news; number n is at (n - 1) % PRELOAD_NEWS, until another one is */
    struct preload_news news[PRELOAD_NEWS];
    struct preload_failure failure[PRELOAD_FAILURES];
    struct preload_process process[PRELOAD_PROCESSES];
};

#endif
