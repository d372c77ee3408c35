/* Functions that the files of a watch from outside share. */
#ifndef STALLREC_ATTACH_WATCH_PRIVATE_H
#define STALLREC_ATTACH_WATCH_PRIVATE_H

#include "attach/attach_watch.h"

enum {
    /* Ms of processor time between two copies of the stack: about six copies between two looks,
     * which are ATTACH_LOOK_MS apart. */
    ATTACH_COPY_MS = 8
};

/* Is the thread in one of the calls of wait_call.c, whatever it waits for? A wait that a stop
 * interrupted continues as restart_syscall(2). False also if the call cannot be read. */
bool attach_watch_waits(const struct attach_watch *w);
/* Reads the events of waits, and reports them to w->edges. */
void attach_watch_take_edges(struct attach_watch *w);
/* Reads the stacks that the kernel has copied, and keeps only the newest. */
void attach_watch_take_stacks(struct attach_watch *w);
/* Lets the thread continue, if it was asked to stop for a copy and has stopped only now, after the
 * time for the copy was over. */
void attach_watch_let_go(struct attach_watch *w);

#endif
