/* libstallrec in a program whose main thread runs a GMainContext: GLib, GTK, GIO servers.
 *
 *     if (stallrec_start(&rec, &config) == STALLREC_OK) {
 *         stallrec_attach_glib(rec, NULL);
 *         gtk_main();
 *         stallrec_detach_glib();
 *         stallrec_stop(rec);
 *     }
 *
 * It is part of libstallrec.a if GLib's headers were there when that was built, and taken from it
 * only by programs that call it: link with `pkg-config --libs glib-2.0` as well. */
#ifndef STALLREC_GLIB_H
#define STALLREC_GLIB_H

#include "stallrec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _GMainContext; /* GMainContext, so that this header needs no other */

/* Watches a context (NULL: the default one): wraps its poll function, so that each wait is idle and
 * what lies between is busy, in nested loops (gtk_dialog_run, g_main_loop_run in a callback) too; a
 * poll that does not wait (idle handlers) is a turn. A poll function set before is called. Answers
 * pings through a source of default priority.
 *
 * Called by the watched thread, which need not own the context yet; other threads that run the
 * context are passed through. Waits for another context within a callback (a synchronous call of
 * GIO) are part of the turn. What the program does between this call and its first poll is not
 * watched, unless the call is made in a callback.
 *
 * One context at a time: STALLREC_ERR_RUNNING while one is watched, or while a poll function set
 * later still calls ours for another. STALLREC_ERR_UNSUPPORTED: no descriptor is free, see errno.
 * rec NULL (this user is not recorded): no effect, STALLREC_OK. */
STALLREC_API enum stallrec_error stallrec_attach_glib(struct stallrec *rec,
                                                      struct _GMainContext *context);

/* Puts the poll function back. One that was set after the attach, and so may call ours, stays and
 * ours passes everything on; a later attach of the same context uses it again. By the watched
 * thread, also in a callback, before stallrec_stop. Not attached: no effect. */
STALLREC_API void stallrec_detach_glib(void);

#ifdef __cplusplus
}
#endif

#endif
