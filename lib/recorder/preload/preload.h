/* The data that the command stallrec and the library that it preloads exchange. */
#ifndef STALLREC_PRELOAD_H
#define STALLREC_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#define PRELOAD_LIBRARY "libstallrec-preload.so"

/* Environment variables. Without STALLREC_DIRECTORY the library does nothing. */
#define PRELOAD_ENV_DIRECTORY "STALLREC_DIRECTORY"
/* A descriptor of the folder in STALLREC_DIRECTORY, for processes of other users and in another
 * root; set with STALLREC_FOLLOW only. */
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
#define PRELOAD_ENV_LOOP_AT     "STALLREC_LOOP_AT" /* LIB, SYMBOL or LIB+0xOFFSET, one on each line */
#define PRELOAD_ENV_KEEP_DAYS   "STALLREC_KEEP_DAYS"
#define PRELOAD_ENV_KEEP_BYTES  "STALLREC_KEEP_BYTES"
#define PRELOAD_ENV_KEEP_FILES  "STALLREC_KEEP_FILES"
#define PRELOAD_ENV_FILE_MODE   "STALLREC_FILE_MODE"
#define PRELOAD_ENV_CONTEXT     "STALLREC_CONTEXT" /* KEY=VALUE, one on each line */
#define PRELOAD_ENV_THREADS     "STALLREC_THREADS" /* a glob on names of threads */
#define PRELOAD_ENV_FOLLOW      "STALLREC_FOLLOW"
#define PRELOAD_ENV_REPORT      "STALLREC_REPORT_FD"

/* A path to the memory behind STALLREC_REPORT_FD, for programs whose descriptors were closed
 * before they began. */
#define PRELOAD_ENV_REPORT_AT "STALLREC_REPORT_AT"

enum {
    PRELOAD_IDS = 1 << 18, /* number of ids that struct preload_report.watched tells apart */
    PRELOAD_TEXT = 256,
    PRELOAD_LOOP_AT_MAX = 4094 /* maximum number of bytes of PRELOAD_ENV_LOOP_AT */
};

/* Sizes of the report's arrays. Processes and failures beyond these sizes are only counted. */
enum {
    PRELOAD_PROCESSES = 128,
    PRELOAD_LONGEST = 3,
    PRELOAD_UNWATCHED = 6,
    PRELOAD_NO_LOOP = 1,  /* REC_UNWATCHED_NO_LOOP */
    PRELOAD_UNCLEAR = 5,  /* REC_UNWATCHED_UNCLEAR */
    PRELOAD_FAILURES = 8, /* failures to start that are described */
    PRELOAD_NAME = 64,    /* bytes of a program's name, with its NUL */
    PRELOAD_NEWS = 64     /* number of the latest messages about stalls that are kept, for -v */
};

/* A stretch of time in which the thread for which the recorder was started was in no blocking
 * wait. */
struct preload_stretch {
    uint64_t length_ms;
    uint64_t at_ms; /* start of the stretch, in ms since the program began (preload_begin_ns), or,
                       of a thread other than the main thread, since its watching began */
};

/* The report of a process with a recorder, whose monitor writes the counts each time before it
 * sleeps. */
struct preload_process {
    uint32_t pid;          /* 0: the entry has no data */
    uint32_t ended;        /* 1: the recorder was stopped in time, and the counts are complete */
    uint32_t loop_kind;    /* enum finder_kind, + 1, of the last loop in loop_at; 0 = none */
    int32_t lost_error;    /* errno of the last lost dump; 0 = none lost, or not known */
    uint32_t threads_left; /* the largest number of threads for which a dump had no room */
    uint32_t threads;      /* number of threads that were watched */
    uint32_t loops;        /* number of watched threads with an event loop */
    uint32_t unwatched;    /* number of wanted threads that could not be watched */
    uint32_t speaker;      /* id of the thread whose loop is named in loop_at; 0: none is known */
    uint32_t calling; /* number of watched threads that may be in a system call of the recorder */
    uint64_t stalls, dumps, lost;
    uint64_t earlier; /* number of dumps, not in `dumps`, of recorders that started before
                         preload_report.began_ms and whose processes have died */
    uint64_t told_ns; /* time at which the counts were taken, on the recorder's clock */
    uint64_t exec_ns; /* time at which the program was replaced by another one, whose recorder has
                         not started; 0: it was not */
    uint64_t start_ticks; /* result of rec_process_start, which tells the process from an earlier
                             one that had its id; 0: not known */
    uint64_t wall_ms, watched_ms;
    uint64_t input_ms; /* ms of watched_ms in which the threads waited for input */
    uint64_t unwatched_ms[PRELOAD_UNWATCHED]; /* ms that were not watched, by enum rec_unwatched */
    /* The longest stretches, longest first, of those that ended with a wait while no loop was
     * believed, and of the one that ended with the thread or with its watching. */
    struct preload_stretch longest[PRELOAD_LONGEST];
    char loop_at[PRELOAD_TEXT];
    uint64_t unclear_at;        /* struct rec_watched.unclear_at */
    char unclear[PRELOAD_TEXT]; /* the place of unclear_at; "": there is none */
    /* The place of a sleep that brought the loop into doubt (loop_finder.unseen_at), written by the
     * watched thread; "": there was none. */
    char unseen[PRELOAD_TEXT];
    char program[PRELOAD_NAME]; /* file name of the program */
    char killed[PRELOAD_NAME];  /* system call that a filter would kill, so that the recorder
                                   stopped or did not start; "": none */
};

/* A recorder that could not start. */
struct preload_failure {
    uint32_t pid, user; /* id of the process; its effective user id */
    int32_t error;      /* enum stallrec_error; 0 = the entry is not written yet */
    int32_t number;     /* errno, if the error has one; else 0 */
    char program[PRELOAD_NAME];
};

enum preload_news_kind { PRELOAD_STALL_BEGINS, PRELOAD_STALL_ENDS, PRELOAD_STALL_TAKEN_BACK };

/* A message about a stall, sent as it happens. */
struct preload_news {
    uint64_t number; /* number of the message, from 1, which is written last; 0 while the other
                        members are written */
    uint32_t kind;   /* enum preload_news_kind */
    uint32_t pid;
    uint64_t age_ms; /* the stall's age; at its end its length; of a stall that is taken back, as in
                        monitor_finding.taken_back */
    char what[16];   /* the stall's kind: "hang" … */
};

/* The memory behind STALLREC_REPORT_FD, which the command and the recorded processes share. It is
 * zeroed at first. */
struct preload_report {
    uint32_t size;      /* sizeof(struct preload_report), set by the command */
    int64_t began_ms;   /* Unix time at which the program was started, set by the command */
    uint32_t processes; /* number of programs that were watched: one for each process, each exec
                           and, with --follow, each fork */
    uint32_t recorded;  /* number of entries that processes have taken: a process takes one when it
                           first starts a recorder, or when a filter keeps it from starting one; the
                           first ones are in `process` */
    uint32_t failed;    /* number of failed starts of a recorder; the first ones are in `failure` */
    uint32_t trace_failed; /* 1: not all of the trace could be written */
    uint32_t cloned; /* with --follow: number of processes made by clone(2) past the C library,
                        which are not recorded */
    uint64_t told; /* number of messages so far; message n is news[(n - 1) % PRELOAD_NEWS] until it
                      is overwritten */
    struct preload_news news[PRELOAD_NEWS];
    struct preload_failure failure[PRELOAD_FAILURES];
    struct preload_process process[PRELOAD_PROCESSES];
    uint32_t watched[PRELOAD_IDS / 32]; /* a bit for each process in which the library watches, by
                                           the id that its /proc has, modulo PRELOAD_IDS; it stays
                                           set after the process has ended */
};

/* Marks the process `pid`, its id in its /proc, as one in which the library watches, or,
 * when it is replaced by another program, does not. */
static inline void preload_mark_watched(struct preload_report *report, uint32_t pid, bool watched) {
    uint32_t *word = &report->watched[pid % PRELOAD_IDS / 32], bit = UINT32_C(1) << pid % 32;
    if (watched) {
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    } else {
        __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
    }
}
static inline bool preload_is_watched(const struct preload_report *report, uint32_t pid) {
    uint32_t word = __atomic_load_n(&report->watched[pid % PRELOAD_IDS / 32], __ATOMIC_RELAXED);
    return (word >> pid % 32 & 1) != 0;
}

#endif
