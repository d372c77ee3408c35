/* The lines of a log that a Seastar program's reactors write their stalls to. */
#ifndef STALLKIT_DUMP_REPORT_SEASTAR_PRIVATE_H
#define STALLKIT_DUMP_REPORT_SEASTAR_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "dump/json/span_private.h"

enum seastar_kind {
    SEASTAR_STALL,   /* "Reactor stalled for …" with a backtrace on the same line */
    SEASTAR_OPEN,    /* "Reactor stalled for …" whose backtrace, if any, follows on later lines */
    SEASTAR_HEADING, /* "Backtrace:" */
    SEASTAR_ADDRESS, /* an address by itself */
    SEASTAR_KERNEL,  /* "kernel callstack:", whose addresses have no names */
    SEASTAR_TASKS,   /* "--------", after which the chain of tasks follows instead of frames */
    SEASTAR_DECODED, /* an address that cannot be read, or that other words follow, such as a
                        decoder's output */
    SEASTAR_UNRELATED /* any other line of the log */
};

struct seastar_line {
    enum seastar_kind kind;
    struct span line;
    /* The text that the logger wrote in front of the words or the address by which the line has its
     * kind: who wrote the line, and when. Empty for SEASTAR_KERNEL. */
    struct span source;
    struct span addresses; /* SEASTAR_STALL and SEASTAR_ADDRESS: the part of the line with the
                              addresses */
    uint64_t ms, shard;    /* of a stall's line: the stall's duration in ms, and its shard */
    bool headed;           /* SEASTAR_OPEN: the line ends with "Backtrace:" */
};

/* Finds the role of a line of a log in a report; the result borrows the line. */
struct seastar_line seastar_line_of(struct span line);
/* Is the line that of a stall? The test is quick, because it is made for every line of a text. */
bool seastar_is_stall(struct span line);

/* May this line have the same writer as a stall's line, and belong to that stall? The logger's
 * prefixes are compared: the host, the program and its process id, without the time and the
 * severity, which differ from line to line. A line without a prefix may have any writer. A line
 * with the prefix of Seastar's own logger begins a stall, and so belongs to no earlier one. */
bool seastar_may_belong(const struct seastar_line *stall, const struct seastar_line *line);
/* Have both stalls been written by the same program? */
bool seastar_same_source(const struct seastar_line *a, const struct seastar_line *b);

struct seastar_address {
    struct span file; /* file of the address; empty: the executable */
    uint64_t address;
    bool unread; /* the word looks like an address, but cannot be read; the other members then have
                    no meaning */
};
/* Takes the next address "0x45d0e2e" or "/lib64/libc.so.6+0x3d1ef" of a line's `addresses`,
 * skipping other words; false: there is none. */
bool seastar_take_address(struct span *addresses, struct seastar_address *out);
/* Takes the next word of a line. At the end of the line the result is empty. */
struct span seastar_word(struct span *s);

/* Is this word of a line's prefix, such as "scylla:", the name of a program? Names of months, days
 * and severities, such as "INFO:", are not. */
bool seastar_is_program(struct span word);

#endif
