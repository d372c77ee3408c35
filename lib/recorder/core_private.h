/* The core's state, shared by the files that make it up: core.c (loop, time, sampling), stall.c
 * (detection, annealing, spans), record.c (filling a dump). */
#ifndef STALLREC_CORE_PRIVATE_H
#define STALLREC_CORE_PRIVATE_H

#include "anneal.h"
#include "core.h"
#include "heaviest.h"
#include "ring.h"

/* Dumps in memory: one open, the others waiting to be written. */
enum { REC_RECORDS = 4 };

#define REC_NS_PER_MS UINT64_C(1000000)

enum rec_record_state { REC_RECORD_FREE = 0, REC_RECORD_OPEN, REC_RECORD_CLOSED };

/* A dump and the memory behind its pointers. */
struct rec_record {
    struct rec_dump dump;
    enum rec_record_state state;
    uint64_t closed_ns;
    uint64_t order; /* of closing: the oldest is written first */
    uint64_t stall; /* number of its stall */
    bool threads;   /* the other threads were asked for */
    char *text;     /* [REC_TEXT_MAX] */
    uint32_t text_len;
};

/* The busy stretch that runs now. */
struct rec_stretch {
    bool busy;
    uint64_t since_ns;
    uint64_t gap_ns; /* taken out of it so far */
    bool cpu_known;
    uint64_t cpu_ns; /* when the CPU times were read first */
    struct rec_cpu cpu;
};

/* The stall that runs now: begins with the first detection in a stretch, ends with the stretch. */
struct rec_open_stall {
    bool active;
    uint64_t number;
    uint8_t id[REC_UUID_SIZE];
    uint32_t dumps;            /* begun */
    uint64_t told_ms;          /* age at the last dump's detection: what spans were counted up to */
    uint32_t quiet;            /* checks left in which the same stack is not a detection */
    struct rec_record *record; /* the open dump, or NULL */
};

struct rec_core {
    struct stallrec_config config;
    struct rec_capture capture;
    struct rec_stretch stretch;
    struct rec_open_stall stall;
    struct rec_ring ring;
    struct rec_anneal anneal;
    struct rec_record records[REC_RECORDS];
    struct rec_totals totals;
    uint64_t stall_count, close_count;

    uint64_t next_sample_ns, next_check_ns;
    uint64_t told_ns;    /* when the monitor promised to call, REC_NEVER = parked */
    uint64_t stepped_ns; /* when it began to wait for that */
    uint32_t activity;
    bool finished;
};

/* Age of the busy stretch at t, without gaps. */
uint64_t rec_core_age(const struct rec_core *core, uint64_t t);

/* --- stall.c
 * -------------------------------------------------------------------------------------- */

/* The stretch begins at t: when its first check is due. */
void rec_stall_schedule(struct rec_core *core, uint64_t t);
/* The check that is due at now. */
void rec_stall_check(struct rec_core *core, uint64_t now);
/* The other threads, into the open dump, once the stall lasts for that long. */
void rec_stall_threads(struct rec_core *core, uint64_t now);
/* The stretch ends at t: closes what is open. */
void rec_stall_end(struct rec_core *core, uint64_t t, bool ended);

/* --- record.c
 * ------------------------------------------------------------------------------------- */

/* Copies ring, threads and images of the moment into a free record's dump; its stall member is the
 * caller's to fill. */
void rec_record_fill(struct rec_core *core, struct rec_record *record,
                     const struct rec_heaviest *heaviest);
/* Adds the other threads to a dump, and brings the main thread's state up to them; not its stack.
 */
void rec_record_threads(struct rec_core *core, struct rec_record *record);
/* CPU used since the stretch began, brought up to date at t: into the stall and the main thread. */
void rec_record_cpu(struct rec_core *core, struct rec_record *record, uint64_t t);

#endif
