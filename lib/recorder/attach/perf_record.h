/* The records of a perf ring, as bytes (perf_event_open(2), MMAP layout; linux/perf_event.h). Pure:
 * every length is checked, because a ring that wraps while it is read holds anything. */
#ifndef STALLREC_PERF_RECORD_H
#define STALLREC_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* All events ask for the same members, so that one layout holds for all of them. What an event does
 * not have (a trace record, a stack) is empty. */
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
    uint64_t event;   /* the event's id */
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint32_t tid;
    const uint8_t *trace; /* the tracepoint's record; borrowed from the bytes */
    uint32_t trace_size;
    struct cfi_registers regs; /* nothing known: the thread was not in user mode, ever */
    const uint8_t *stack;      /* from sp on; borrowed from the bytes */
    uint64_t stack_size;
};

/* The registers to ask for: perf_event_attr.sample_regs_user. */
uint64_t perf_record_registers(void);
/* The members to ask for: perf_event_attr.sample_type. */
uint64_t perf_record_members(void);

/* The size of the record that begins with these bytes, PERF_RECORD_HEADER of them; 0: they are no
 * record's. */
size_t perf_record_size(const uint8_t header[PERF_RECORD_HEADER]);

/* Reads the record of `size` bytes. False: damaged. *out is written on true only. */
bool perf_record_read(const uint8_t *bytes, size_t size, struct perf_record *out);

#endif
