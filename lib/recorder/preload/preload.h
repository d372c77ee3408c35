/* What the command stallrec hands to the library that it preloads, and gets back. */
#ifndef STALLREC_PRELOAD_H
#define STALLREC_PRELOAD_H

#include <stdint.h>

#define PRELOAD_LIBRARY "libstallrec-preload.so"

/* Environment variables. Without the first the library does nothing. */
#define PRELOAD_ENV_DIRECTORY  "STALLREC_DIRECTORY"
#define PRELOAD_ENV_THRESHOLD  "STALLREC_THRESHOLD_MS"
#define PRELOAD_ENV_SAMPLE     "STALLREC_SAMPLE_MS"
#define PRELOAD_ENV_RING       "STALLREC_RING"
#define PRELOAD_ENV_CHECK      "STALLREC_CHECK_MS"
#define PRELOAD_ENV_PRESET     "STALLREC_PRESET"
#define PRELOAD_ENV_DETECTORS  "STALLREC_DETECTORS" /* bits; 0 = the preset's */
#define PRELOAD_ENV_CPU_LIMIT  "STALLREC_CPU_LIMIT" /* permille; 0 = the preset's */
#define PRELOAD_ENV_TRACE      "STALLREC_TRACE"
#define PRELOAD_ENV_LOOP_AT    "STALLREC_LOOP_AT" /* LIB, SYMBOL or LIB+0xOFFSET, one a line */
#define PRELOAD_ENV_KEEP_DAYS  "STALLREC_KEEP_DAYS"
#define PRELOAD_ENV_KEEP_BYTES "STALLREC_KEEP_BYTES"
#define PRELOAD_ENV_KEEP_FILES "STALLREC_KEEP_FILES"
#define PRELOAD_ENV_CONTEXT    "STALLREC_CONTEXT" /* KEY=VALUE, one a line */
#define PRELOAD_ENV_FOLLOW     "STALLREC_FOLLOW"
#define PRELOAD_ENV_REPORT     "STALLREC_REPORT_FD"

enum {
    PRELOAD_TEXT = 256,
    PRELOAD_LOOP_AT_MAX = 4094 /* bytes of PRELOAD_ENV_LOOP_AT */
};

/* Shared memory behind the report descriptor; zeroed at first, counters are only added to. */
struct preload_report {
    uint32_t size;      /* sizeof(struct preload_report), set by the command */
    uint32_t processes; /* that loaded the library */
    uint32_t loops;     /* processes in which an event loop was found and is watched */
    int32_t error;      /* enum stallrec_error of the last recorder that did not start */
    uint64_t stalls, dumps, lost;
    uint32_t trace_failed;      /* not all of the trace could be written */
    char loop_at[PRELOAD_TEXT]; /* the first loop that was found */
};

#endif
