/* The GLib adapter: hooks in the poll function of a GMainContext. */
#include "stallrec_glib.h"

#include <glib-unix.h>
#include <glib.h>
#include <pthread.h>

#include "loop/adapter_wait.h"
#include "stallrec_poll.h"

/* State of the adapter, which is global because a GPollFunc has no context argument; only one
 * context is watched. */
static struct {
    bool on; /* false: watched_poll only calls `next` */
    pthread_t thread;
    struct stallrec_loop *loop;
    GMainContext *context; /* the context whose poll function is watched_poll, or was when another
                              function replaced it */
    GPollFunc
        next; /* the poll function that watched_poll calls; set before watched_poll is installed */
    GSource *ping;
} hook;

REC_WAITS static gint watched_poll(GPollFD *fds, guint count, gint timeout_ms) {
    GPollFunc next = __atomic_load_n(&hook.next, __ATOMIC_ACQUIRE);
    if (!__atomic_load_n(&hook.on, __ATOMIC_ACQUIRE) ||
        !pthread_equal(pthread_self(), hook.thread)) {
        return next(fds, count, timeout_ms);
    }
    rec_wait_begin(hook.loop, timeout_ms != 0);
    gint result = next(fds, count, timeout_ms);
    if (__atomic_load_n(&hook.on,
                        __ATOMIC_RELAXED)) { /* the adapter was not detached during the poll */
        stallrec_loop_wake(hook.loop);
    }
    return result;
}

static gboolean glib_on_ping(gint fd, GIOCondition condition, gpointer data) {
    (void)fd, (void)condition, (void)data;
    stallrec_ping_fd_answer();
    return G_SOURCE_CONTINUE;
}

/* Adds the source of pings before the first ping: making one later, as g_main_context_invoke does,
 * would allocate and lock the context on the monitor thread, while the stalled thread may hold
 * either lock. */
static enum stallrec_error add_ping(struct stallrec *rec, GMainContext *context) {
    int fd = -1;
    enum stallrec_error st = stallrec_attach_ping_fd(rec, &fd);
    if (st != STALLREC_OK) {
        return st;
    }
    hook.ping = g_unix_fd_source_new(fd, G_IO_IN);
    /* The cast is safe, as GLib calls the callback of a descriptor's source with that callback's
     * own type. */
    g_source_set_callback(hook.ping, (GSourceFunc)(void (*)(void))glib_on_ping, NULL, NULL);
    g_source_set_name(hook.ping, "stallrec ping");
    g_source_attach(hook.ping, context);
    return STALLREC_OK;
}

enum stallrec_error stallrec_attach_glib(struct stallrec *rec, GMainContext *context) {
    if (rec == NULL) {
        return STALLREC_OK;
    }
    if (context == NULL) {
        context = g_main_context_default();
    }
    if (hook.on || (hook.context != NULL && hook.context != context)) {
        return STALLREC_ERR_RUNNING;
    }
    enum stallrec_error st = add_ping(rec, context);
    if (st != STALLREC_OK) {
        return st;
    }
    hook.thread = pthread_self();
    hook.loop = stallrec_main_loop(rec);
    if (hook.context == NULL) {
        hook.context = g_main_context_ref(context);
        __atomic_store_n(&hook.next, g_main_context_get_poll_func(context), __ATOMIC_RELEASE);
        g_main_context_set_poll_func(context, watched_poll);
    }
    __atomic_store_n(&hook.on, true, __ATOMIC_RELEASE);
    if (g_main_depth() > 0) { /* the attach runs in a callback, so the loop is busy */
        stallrec_loop_wake(hook.loop);
    }
    return STALLREC_OK;
}

void stallrec_detach_glib(void) {
    if (!hook.on) {
        return;
    }
    __atomic_store_n(&hook.on, false, __ATOMIC_RELEASE);
    g_source_destroy(hook.ping);
    g_source_unref(hook.ping);
    hook.ping = NULL;
    stallrec_detach_ping_fd();
    if (g_main_context_get_poll_func(hook.context) == watched_poll) {
        g_main_context_set_poll_func(hook.context, hook.next);
        g_main_context_unref(hook.context);
        hook.context = NULL;
    }
    stallrec_loop_sleep(hook.loop); /* no hook will report another edge, so the loop is left idle */
}
