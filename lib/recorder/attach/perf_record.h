/* The records of a perf ring, as bytes (perf_event_open(2), MMAP layout; linux/perf_event.h). Pure:
 * every length is checked, because a ring that wraps while it is read holds anything. */
#ifndef STALLREC_PERF_RECORD_H
#define STALLREC_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* What the samples of an event have: no more than is of use, since the thread pays some 40 ns for
 * each register. All have the event's id and the time. */
enum perf_layout {
    PERF_LAYOUT_TIME,   /* no more than that */
    PERF_LAYOUT_CALLER, /* the tracepoint's record, the registers that lead to the caller, stack */
    PERF_LAYOUT_KEPT,   /* the registers that functions keep for their callers */
    PERF_LAYOUT_WHOLE   /* all registers, and stack */
};

enum { PERF_LAYOUTS_MAX = 24 };

/* The layouts of the events of a ring. */
struct perf_layouts {
    uint64_t event[PERF_LAYOUTS_MAX]; /* their ids */
    enum perf_layout layout[PERF_LAYOUTS_MAX];
    size_t count;
};

enum {
    PERF_RECORD_HEADER = 8, /* u32 type, u16 flags, u16 size */
    PERF_RECORD_LEAST = PERF_RECORD_HEADER
};

enum perf_record_kind {
    PERF_RECORD_IS_SAMPLE,
    PERF_RECORD_IS_LOST, /* the ring was full */
    PERF_RECORD_IS_EXEC, /* the thread runs another program from here on */
    PERF_RECORD_IS_OTHER
};

struct perf_record {
    enum perf_record_kind kind;
    uint64_t lost; /* how many records were, if they were */
    /* The rest is of a sample. */
    uint64_t event;       /* the event's id */
    uint64_t time_ns;     /* CLOCK_MONOTONIC */
    const uint8_t *trace; /* the tracepoint's record; borrowed from the bytes */
    uint32_t trace_size;
    struct cfi_registers regs; /* nothing known: the thread was not in user mode, ever */
    const uint8_t *stack;      /* from sp on; borrowed from the bytes */
    uint64_t stack_size;
};

/* The registers to ask for: perf_event_attr.sample_regs_user; 0: none. */
uint64_t perf_record_registers(enum perf_layout layout);
/* The members to ask for: perf_event_attr.sample_type. */
uint64_t perf_record_members(enum perf_layout layout);

/* The size of the record that begins with these bytes, PERF_RECORD_HEADER of them; 0: they are no
 * record's. */
size_t perf_record_size(const uint8_t header[PERF_RECORD_HEADER]);

/* Reads the record of `size` bytes. False: damaged. *out is written on true only. A sample of an
 * event that is not among the layouts is PERF_RECORD_IS_OTHER. */
bool perf_record_read(const uint8_t *bytes, size_t size, const struct perf_layouts *layouts,
                      struct perf_record *out);

#endif
