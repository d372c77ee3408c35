/* libstallrec for an app whose main thread runs a CFRunLoop: iOS, macOS.
 *
 *     if (stallrec_start(&rec, &config) == STALLREC_OK) {
 *         stallrec_attach_cfrunloop(rec, 0);
 *     }
 *
 * It uses plain C and public functions of CoreFoundation only. */
#ifndef STALLREC_CFRUNLOOP_H
#define STALLREC_CFRUNLOOP_H

#include "stallrec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of stallrec_attach_cfrunloop. */
enum {
    STALLREC_CFRUNLOOP_IN_EXTENSION = 1 /* attach even if this process is an app extension */
};

/* Watches the calling thread's run loop, in the common modes and in the mode of an app's launch:
 * from an observer that is called before all others (order LONG_MIN) to one that is called after
 * all others (LONG_MAX), so that the work of observers, Core Animation's commit included, counts.
 * Tells the activities, for the semaphore detector and STALLREC_RESTART_ACTIVITY. Answers pings
 * through a run loop source, and replaces the poster of stallrec_set_poster; as the run loop of a
 * thread other than the main one then has a source, its CFRunLoopRun does not return before the
 * detach or a stop. The end of a nested run loop (a modal panel) is a turn, as its caller is busy
 * afterwards.
 *
 * It must be called by the watched thread, once. STALLREC_ERR_UNSUPPORTED: the process is an app
 * extension, which lives too shortly and has too little memory, and the flag is not set.
 * STALLREC_ERR_RUNNING: a run loop is attached already. STALLREC_ERR_MEMORY: out of memory. rec
 * NULL (this user is not recorded): no effect, STALLREC_OK. */
STALLREC_API enum stallrec_error stallrec_attach_cfrunloop(struct stallrec *rec, uint32_t flags);

/* Stops watching the run loop, removes the poster, and leaves the loop idle; no effect if none is
 * attached. It must be called by the watched thread, also in a callback of the run loop, before
 * stallrec_stop. */
STALLREC_API void stallrec_detach_cfrunloop(void);

#ifdef __cplusplus
}
#endif

#endif
