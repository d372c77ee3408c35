/* One dump in memory, between detection and file: everything it will say, in memory reserved at
 * start. Made by the core, read by the JSON writer. */
#ifndef STALLREC_RECORD_H
#define STALLREC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"
#include "core/context.h"

enum {
    REC_IMAGES_MAX = 96,
    REC_TEXT_MAX = 12 * 1024, /* of images' paths */
    REC_CODE_NAMES_MAX = 256,
    REC_CODE_TEXT_MAX = 16 * 1024 /* of the names of code in no image */
};

/* A distinct stack of the ring. */
struct rec_record_stack {
    struct rec_stack stack; /* arrays are the record's */
    uint32_t count;         /* samples of it */
    uint64_t function;      /* first byte of the innermost frame's function; 0 = not known */
};

/* A transition of the loop. */
struct rec_loop_state {
    int64_t at_ms; /* after the stall's start; negative: before */
    uint32_t what; /* as of struct rec_transition */
};

/* Identity and times of a stall. Ages are without gaps. */
struct rec_stall {
    uint8_t id[REC_UUID_SIZE];
    uint64_t since_ns; /* begin of the busy stretch */
    uint32_t seq;      /* of this dump: 1 … */
    uint32_t activity; /* enum stallrec_activity */
    uint64_t threshold_ms;
    uint64_t at_ms;       /* age when this dump was captured */
    uint64_t span_ms;     /* this dump's share; the spans of a stall add up to duration_ms */
    uint64_t duration_ms; /* the whole stall's; while it goes on, up to this dump's close */
    uint64_t gap_ms;
    uint64_t suppressed;  /* later detections folded into this dump */
    int32_t cpu_permille; /* of one processor, by the process, from its start to the close; -1
                             unknown */
    bool ended, fatal;
    const char *detector;      /* "runloop" … */
    const char *kind;          /* "hang" … */
    uint64_t number;           /* of the stall in this process: 1 … */
    bool prewarmed;            /* a launch that the system began before the user did */
    char action[REC_NAME_MAX]; /* of a slow action: its name; else "" */
    int64_t top_thread;        /* that used most of the processor; -1 = not known */
    char top_thread_name[REC_NAME_MAX];
    char mode[REC_NAME_MAX]; /* of the loop; "" = not known */
    uint32_t state_count;
    struct rec_loop_state states[REC_TRANSITIONS]; /* the loop's last transitions, oldest first */
};

struct rec_meter {
    uint32_t samples, unavailable; /* in the ring */
    uint32_t pause_p50_us, pause_max_us;
    uint64_t monitor_cpu_us; /* from the stall's start to the dump */
};

struct rec_dump {
    uint8_t id[REC_UUID_SIZE];
    int64_t wall_ms; /* Unix time of the capture */
    struct rec_stall stall;

    struct rec_thread *threads; /* [0] is the main thread */
    uint32_t thread_count;
    uint32_t threads_left_out; /* there was no room for them */

    struct rec_record_stack *stacks; /* distinct, in order of first appearance in the ring */
    uint32_t stack_count;
    int32_t *ring; /* oldest first: index into stacks, -1 = no stack */
    uint32_t ring_count;
    uint32_t interval_ms;
    int32_t heaviest; /* index into stacks, -1 = none */
    uint32_t heaviest_repeats;

    struct rec_image *images; /* those that a frame refers to, by load; paths are the record's */
    uint32_t image_count;
    struct rec_code_name *names; /* of frames in no image, by address; strings are the record's */
    uint32_t name_count;
    bool images_lost; /* more images or longer paths than there was room for */

    struct rec_context_copy context; /* at the capture */
    char lack[REC_NAME_MAX];         /* what could not be read; "" = nothing to say */
    struct rec_meter meter;
};

#endif
