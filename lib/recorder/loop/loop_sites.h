/* Which waits of a program that does not know us are those of its event loop.
 *
 * A wait is known by its return address. One of the main thread counts as the event loop's, a "loop
 * site", when it was seen in SITES_SEEN blocking waits at the shallowest stack depth so far: the
 * loop is what the program always comes back to. From then on it is one at any depth, because modal
 * loops nest. A wait elsewhere (for a reply, in a library) is part of what the loop is busy with.
 * Sites accepted during start-up at a greater depth lose the title when a shallower one gets it.
 *
 * Pure: no OS, no globals. Used by one thread. */
#ifndef STALLREC_LOOP_SITES_H
#define STALLREC_LOOP_SITES_H

#include <stdbool.h>
#include <stdint.h>

enum { SITES_SEEN = 3, SITES_MAX = 64 };

enum site_verdict {
    SITE_NO,       /* another wait, or not yet known */
    SITE_ACCEPTED, /* it has just become a loop site */
    SITE_LOOP
};

struct site {
    uint64_t address; /* return address of the wait */
    uint64_t depth;   /* stack address of its shallowest wait */
    uint32_t seen;
    bool accepted;
};

/* Zero-initialised = nothing seen. */
struct sites {
    struct site site[SITES_MAX];
    uint32_t count;
    uint64_t shallowest; /* highest stack address of a blocking wait */
    /* Set when the user has named loop sites: then only those are. Asked once per address. */
    bool (*named)(void *arg, uint64_t address);
    void *named_arg;
};

/* A wait at return address `address`, made from a frame at stack address `depth` (stacks grow down,
 * so higher is shallower). blocking: with a timeout other than 0. */
enum site_verdict sites_judge(struct sites *s, uint64_t address, uint64_t depth, bool blocking);

#endif
