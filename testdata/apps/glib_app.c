/* A GLib program with the recorder attached to its context: `glib_app DIRECTORY WHAT`, see
 * recorded.h. */
#include <glib-unix.h>
#include <glib.h>
#include <unistd.h>

#include "recorded.h"
#include "stallrec_glib.h"

static GMainLoop *main_loop;
static struct stallrec *rec;
static int wake_fds[2];

/* ---- what stalls ---- */

STALL(stall_in_timer)
STALL(stall_in_idle)
STALL(stall_in_source)
STALL(stall_in_nested)
STALL(stall_after_nested)
STALL(stall_unseen)

static gboolean on_timer(gpointer data) {
    (void)data;
    stall_in_timer();
    return G_SOURCE_REMOVE;
}

static gboolean on_idle(gpointer data) {
    (void)data;
    stall_in_idle();
    return G_SOURCE_REMOVE;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data) {
    char byte;
    (void)condition, (void)data;
    if (read(fd, &byte, 1) == 1) {
        stall_in_source();
    }
    return G_SOURCE_CONTINUE;
}

static gboolean on_nested(gpointer data) {
    (void)data;
    stall_in_nested();
    return G_SOURCE_REMOVE;
}

static gboolean quit(gpointer loop) {
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

/* A dialog that waits for longer than the threshold, twice. */
static void run_nested(void) {
    GMainLoop *nested = g_main_loop_new(NULL, FALSE);
    g_timeout_add(2 * THRESHOLD_MS, quit, nested);
    g_main_loop_run(nested);
    g_main_loop_unref(nested);
}

/* ---- the steps ---- */

static void step_timer(void) {
    g_timeout_add(1, on_timer, NULL);
}
static void step_idle(void) {
    g_idle_add(on_idle, NULL);
}
static void step_source(void) {
    if (write(wake_fds[1], "", 1) != 1) {
        die("pipe");
    }
}
static void step_nested(void) {
    g_timeout_add(THRESHOLD_MS, on_nested, NULL);
    run_nested();
}
static void step_after_nested(void) {
    run_nested();
    stall_after_nested();
}

/* Idle handlers that never let the loop sleep. */
static gboolean keep_busy(gpointer end) {
    sleep_ms(2);
    return now_ms() < *(int64_t *)end;
}
static void step_idle_handlers(void) {
    static int64_t end;
    end = now_ms() + 2 * THRESHOLD_MS;
    g_idle_add(keep_busy, &end);
}

/* A source of another thread's context, which may take its time. */
static gboolean on_worker(gpointer loop) {
    sleep_ms(2 * THRESHOLD_MS);
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}
static gpointer worker(gpointer data) {
    GMainContext *context = g_main_context_new();
    GMainLoop *loop = g_main_loop_new(context, FALSE);
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, on_worker, loop, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    g_main_context_unref(context);
    return data;
}
static void step_worker(void) {
    g_thread_unref(g_thread_new("worker", worker, NULL));
}

static void step_wait(void) {
    sleep_ms(1); /* and then nothing until the next step */
}

static void step_detached(void) {
    stallrec_detach_glib();
    stall_unseen();
}
static void step_attach(void) {
    attached(stallrec_attach_glib(rec, NULL));
}

static void (*const healthy[])(void) = {step_wait, step_idle_handlers, step_worker, run_nested,
                                        NULL};
static void (*const stalls[])(void) = {step_timer,  step_idle,         step_source,
                                       step_nested, step_after_nested, NULL};
static void (*const ping[])(void) = {step_wait, run_nested, step_timer, NULL};
static void (*const detach[])(void) = {step_detached, step_attach, step_timer, NULL};

static gboolean next_step(gpointer data) {
    void (*const **step)(void) = data;
    if (**step == NULL) {
        g_timeout_add(3 * THRESHOLD_MS, quit, main_loop);
        return G_SOURCE_REMOVE;
    }
    (*(*step)++)();
    g_timeout_add(STALL_MS + STEP_MS, next_step,
                  data); /* by then everything that the step began has ended */
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv) {
    const char *what = argc == 3 ? argv[2] : "";
    void (*const *steps)(void) = strcmp(what, "healthy") == 0  ? healthy
                                 : strcmp(what, "stalls") == 0 ? stalls
                                 : strcmp(what, "ping") == 0   ? ping
                                 : strcmp(what, "detach") == 0 ? detach
                                                               : NULL;
    if (steps == NULL || pipe(wake_fds) != 0) {
        fprintf(stderr, "usage: glib_app DIRECTORY healthy|stalls|ping|detach\n");
        return 2;
    }
    main_loop = g_main_loop_new(NULL, FALSE);
    rec = start_recorder(argv[1], what);
    attached(stallrec_attach_glib(rec, NULL));
    g_unix_fd_add(wake_fds[0], G_IO_IN, on_readable, NULL);
    g_timeout_add(STEP_MS, next_step, &steps);
    g_main_loop_run(main_loop);
    stallrec_detach_glib();
    stallrec_stop(rec);
    g_main_loop_unref(main_loop);
    return 0;
}
