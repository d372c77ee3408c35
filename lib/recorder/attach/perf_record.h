/* Decodes the records of a perf ring (perf_event_open(2), MMAP layout; linux/perf_event.h) from
 * bytes. The functions access no other memory, and check every length, because a ring that wraps
 * while it is read may hold any bytes. */
#ifndef STALLREC_PERF_RECORD_H
#define STALLREC_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* The content of the samples of an event. A layout has no more than is needed, because each
 * register costs the thread about 40 ns. All layouts have the event's id and the time. */
enum perf_layout {
    PERF_LAYOUT_TIME,   /* the id and the time alone */
    PERF_LAYOUT_CALLER, /* the tracepoint's record, the registers that lead to the caller, and stack
                         */
    PERF_LAYOUT_KEPT,   /* the registers that lead to the caller, and those that functions preserve
                           (callee-saved) */
    PERF_LAYOUT_WHOLE   /* all registers, and the stack */
};

enum { PERF_LAYOUTS_MAX = 24 };

/* The layouts of the events of a ring. */
struct perf_layouts {
    uint64_t event[PERF_LAYOUTS_MAX]; /* the ids of the events */
    enum perf_layout layout[PERF_LAYOUTS_MAX];
    size_t count;
};

enum {
    PERF_RECORD_HEADER = 8, /* bytes of a header: u32 type, u16 flags, u16 size */
    PERF_RECORD_LEAST = PERF_RECORD_HEADER
};

enum perf_record_kind {
    PERF_RECORD_IS_SAMPLE,
    PERF_RECORD_IS_LOST, /* the ring was full */
    PERF_RECORD_IS_EXEC, /* the thread runs another program from this record on */
    PERF_RECORD_IS_END,  /* the thread ends, at time_ns */
    PERF_RECORD_IS_OTHER
};

struct perf_record {
    enum perf_record_kind kind;
    uint64_t lost;    /* number of lost records, in PERF_RECORD_IS_LOST */
    uint64_t time_ns; /* CLOCK_MONOTONIC; only in a sample and in a thread's end */
    /* The members from here on are set in a sample only. */
    uint64_t event;       /* the event's id */
    const uint8_t *trace; /* the tracepoint's record; borrowed from the bytes */
    uint32_t trace_size;
    /* regs.known 0: the layout has no registers, the thread has never been in user mode, or it runs
     * 32-bit code. */
    struct cfi_registers regs;
    const uint8_t *stack; /* the stack from sp on; borrowed from the bytes */
    uint64_t stack_size;
};

/* Returns the registers of the layout as perf_event_attr.sample_regs_user; 0: none. */
uint64_t perf_record_registers(enum perf_layout layout);
/* Returns the members of the layout as perf_event_attr.sample_type. */
uint64_t perf_record_members(enum perf_layout layout);

/* Returns the size of the record that begins with these bytes; 0: no record begins so. */
size_t perf_record_size(const uint8_t header[PERF_RECORD_HEADER]);

/* Reads the record of `size` bytes into *out. False: it is damaged, and *out is not written. A
 * sample of an event that is not among the layouts becomes PERF_RECORD_IS_OTHER. */
bool perf_record_read(const uint8_t *bytes, size_t size, const struct perf_layouts *layouts,
                      struct perf_record *out);

#endif
