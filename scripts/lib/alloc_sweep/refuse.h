/* The two halves of the library that scripts/test/out-of-memory preloads: refuse.c stands in for
 * the allocator of libc and refuses one call of it, or all from one call on; sweep.c runs the
 * command once for each call that can be refused, and judges what it printed. */
#ifndef STALLKIT_ALLOC_SWEEP_REFUSE_H
#define STALLKIT_ALLOC_SWEEP_REFUSE_H

#include <stdbool.h>
#include <stdint.h>

enum { SITES_MAX = 1 << 22, REFUSED_FRAMES = 14, MODULE_SIZE = 200 };

/* A return address: the file that holds it, and the offset from where that is mapped. The process
 * that runs names it, as it may have loaded libraries that its parent has not. */
struct return_address {
    char module[MODULE_SIZE]; /* "": no file */
    uint64_t offset;
};

/* Memory that the parent and the process that it observes share. */
struct refusals {
    uint64_t calls;  /* number of allocations so far */
    uint64_t refuse; /* number of the allocation that is refused, from 1; 0: none */
    bool all_later;  /* those behind it are refused, too */
    bool note_sites; /* fill `sites` */
    bool refused;    /* has an allocation been refused? */
    int frames;      /* the stack of the first that was */
    struct return_address stack[REFUSED_FRAMES];
    /* Hash of the innermost return addresses, by allocation, the same wherever things are loaded.
     */
    uint32_t sites[SITES_MAX];
};

/* The state of this process; NULL: nothing is counted and nothing refused. */
extern struct refusals *refusals;

#endif
