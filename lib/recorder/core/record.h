/* One dump in memory, between detection and file: all its content, in memory reserved at start. The
 * core makes it, and the JSON writer reads it. */
#ifndef STALLREC_RECORD_H
#define STALLREC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"
#include "core/context.h"

enum {
    REC_IMAGES_MAX = 96,
    REC_TEXT_MAX = 12 * 1024, /* bytes for paths and architectures of images */
    REC_CODE_NAMES_MAX = 256,
    REC_CODE_TEXT_MAX = 16 * 1024 /* bytes for names and files of code in no image */
};

/* A distinct stack of the ring. */
struct rec_record_stack {
    struct rec_stack stack; /* the arrays belong to the record */
    uint32_t count;         /* number of samples with this stack */
    uint64_t function;      /* first byte of the innermost frame's function; 0 = not known */
};

/* A transition of the loop. */
struct rec_loop_state {
    int64_t at_ms; /* ms after the stall's start; negative = before the start */
    uint32_t what; /* enum stallrec_activity, or REC_WENT_… */
};

/* Identity and times of a stall. Ages and durations are without gaps. */
struct rec_stall {
    uint8_t id[REC_UUID_SIZE];
    uint64_t since_ns; /* time in ns at which the stall's track began: the busy stretch, ping,
                          action or CPU use */
    uint32_t seq;      /* this dump's number in its stall, from 1 */
    uint32_t activity; /* activity of the loop: enum stallrec_activity */
    uint64_t threshold_ms;
    uint64_t at_ms;       /* age of the stall when this dump was captured */
    uint64_t span_ms;     /* this dump's share of the stall; the spans of a stall's dumps add up to
                             duration_ms */
    uint64_t duration_ms; /* duration of the whole stall; while the stall continues, its duration up
                             to this dump's close */
    uint64_t gap_ms;
    uint64_t suppressed;  /* number of later detections that had the same stack and made no dump of
                             their own */
    int32_t cpu_permille; /* CPU use of the process, in thousandths of one processor, from the
                             stall's start to the dump's close; -1 = not known */
    bool ended, fatal;
    bool sampled_edges;        /* a sample showed the begin or the end of the stall */
    const char *detector;      /* name of the detector: "runloop" … */
    const char *kind;          /* kind of the stall: "hang" … */
    uint64_t number;           /* the stall's number in this process, from 1 */
    bool prewarmed;            /* the stall is a launch that the system began before the user did */
    char action[REC_NAME_MAX]; /* name of a slow action; "" for other stalls */
    int64_t top_thread; /* id of the thread that used most of the processor, of a CPU stall; -1 =
                           not known, or another stall */
    char top_thread_name[REC_NAME_MAX];
    char mode[REC_NAME_MAX]; /* mode in which the loop runs; "" = not known */
    uint32_t state_count;
    struct rec_loop_state states[REC_TRANSITIONS]; /* the loop's last transitions, oldest first */
};

struct rec_meter {
    uint32_t samples,
        unavailable; /* number of samples in the ring; number of those without a stack */
    uint32_t pause_p50_us, pause_max_us;
    uint64_t monitor_cpu_us; /* CPU time of the monitor from the stall's start to the dump's close;
                                0 also if it is not known */
};

struct rec_dump {
    uint8_t id[REC_UUID_SIZE];
    int64_t wall_ms; /* Unix time of the capture in ms */
    struct rec_stall stall;

    struct rec_thread *threads; /* [0] is the watched thread */
    uint32_t thread_count;
    uint32_t threads_left_out; /* number of threads for which there was no room */

    struct rec_record_stack *stacks; /* distinct stacks, in order of first appearance in the ring */
    uint32_t stack_count;
    int32_t *ring; /* for each sample, oldest first, its index in stacks; -1 = no stack */
    uint32_t ring_count;
    uint32_t interval_ms;
    int32_t heaviest; /* index into stacks of the heaviest stack, -1 = none */
    uint32_t heaviest_repeats;

    struct rec_image *images; /* the images to which frames refer, sorted by load address; their
                                 texts belong to the record */
    uint32_t image_count;
    struct rec_code_name
        *names; /* names of code in no image, by address; their texts belong to the record */
    uint32_t name_count;
    bool images_lost; /* there was no room for an image or its path */

    struct rec_context_copy context; /* the app's context at the capture */
    char lack[REC_NAME_MAX]; /* the data of the process that could not be read, as text; "" = all
                                could be read */
    struct rec_meter meter;
};

#endif
