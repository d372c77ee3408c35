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

struct _GMainContext; /* declares GMainContext, so that no header of GLib is needed */

/* Watches a context (NULL: the default one). Its poll function is wrapped, so that each wait is
 * idle and the time between waits is busy, also in nested loops (gtk_dialog_run, g_main_loop_run in
 * a callback); a poll that does not wait (idle handlers) is a turn. A poll function that was set
 * before is called. Pings are answered through a source of default priority, by
 * stallrec_attach_ping_fd.
 *
 * It must be called by the watched thread, which need not own the context yet; polls of other
 * threads that run the context are only passed on. Waits for another context within a callback (a
 * synchronous call of GIO) are part of the turn. The time from this call to the program's first
 * poll is not watched, unless the call is made in a callback.
 *
 * Only one context can be watched at a time: STALLREC_ERR_RUNNING while one is watched, while a
 * poll function that was set later still calls ours for another context, or while a descriptor of
 * stallrec_attach_ping_fd is attached. STALLREC_ERR_UNSUPPORTED: no descriptor is free, see errno.
 * rec NULL (this user is not recorded): no effect, STALLREC_OK. */
STALLREC_API enum stallrec_error stallrec_attach_glib(struct stallrec *rec,
                                                      struct _GMainContext *context);

/* Restores the context's poll function, detaches the descriptor of pings, and leaves the loop idle.
 * If the program has set another poll function since the attach, that one stays, because it may
 * call ours; ours then only passes calls on, and a later attach of the same context uses it again.
 * It must be called by the watched thread, also in a callback, before stallrec_stop. No effect if
 * no context is attached. */
STALLREC_API void stallrec_detach_glib(void);

#ifdef __cplusplus
}
#endif

#endif
