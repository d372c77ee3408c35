/* A program around a CFRunLoop, with the recorder attached: `cfrunloop_app DIRECTORY WHAT`, see
 * recorded.h. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>

#include "recorded.h"
#include "stallrec_cfrunloop.h"

static struct stallrec *rec;
static CFRunLoopSourceRef source;
static bool commit; /* the observer has something to draw */

/* ---- what stalls ---- */

STALL(stall_in_timer)
STALL(stall_in_source)
STALL(stall_in_observer)
STALL(stall_in_modal)
STALL(stall_after_modal)
STALL(stall_in_tracking)
STALL(stall_unseen)

static void after(long ms, void (*callback)(CFRunLoopTimerRef timer, void *info), void *info) {
    CFRunLoopTimerContext context = {.info = info};
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + (double)ms / 1000, 0,
                             0, 0, callback, &context);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopCommonModes);
    CFRelease(timer);
}

static void on_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    stall_in_timer();
}

static void on_source(void *info) {
    (void)info;
    stall_in_source();
}

/* An observer as Core Animation has one: it is called before the loop waits, after most other
 * observers. */
static void on_before_waiting(CFRunLoopObserverRef observer, CFRunLoopActivity activity,
                              void *info) {
    (void)observer, (void)activity, (void)info;
    if (commit) {
        commit = false;
        stall_in_observer();
    }
}

static void on_modal(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    stall_in_modal();
}

static void on_tracking(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    stall_in_tracking();
}

/* A modal panel that waits for longer than the threshold. */
static void run_modal(void) {
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 2.0 * THRESHOLD_MS / 1000, false);
}

/* ---- the steps ---- */

static void step_timer(void) {
    after(1, on_timer, NULL);
}
static void step_source(void) {
    CFRunLoopSourceSignal(source);
    CFRunLoopWakeUp(CFRunLoopGetCurrent());
}
static void step_observer(void) {
    commit = true;
}
static void step_modal(void) {
    after(THRESHOLD_MS, on_modal, NULL);
    run_modal();
}
static void step_after_modal(void) {
    run_modal();
    stall_after_modal();
}
static void step_tracking(void) {
    after(STEP_MS, on_tracking, NULL);
    CFRunLoopRunInMode(CFSTR("UITrackingRunLoopMode"), 2.0 * THRESHOLD_MS / 1000, false);
}
static void step_wait(void) {
    sleep_ms(1);
}
static void step_track(void) {
    CFRunLoopRunInMode(CFSTR("UITrackingRunLoopMode"), 2.0 * THRESHOLD_MS / 1000, false);
}

/* A timer on the run loop of another thread, which may take its time. */
static void on_worker(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    sleep_ms(2 * THRESHOLD_MS);
}
static void *worker(void *unused) {
    after(1, on_worker, NULL);
    CFRunLoopRun();
    return unused;
}
static void step_worker(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL) != 0) {
        die("pthread_create");
    }
    pthread_detach(thread);
}

static void step_detached(void) {
    stallrec_detach_cfrunloop();
    stall_unseen();
}
static void step_attach(void) {
    attached(stallrec_attach_cfrunloop(rec, 0));
}

static void (*const healthy[])(void) = {step_wait, step_worker, run_modal, step_track, NULL};
static void (*const stalls[])(void) = {step_timer,       step_source,   step_observer, step_modal,
                                       step_after_modal, step_tracking, NULL};
static void (*const ping[])(void) = {step_wait, run_modal, step_timer, NULL};
static void (*const detach[])(void) = {step_detached, step_attach, step_timer, NULL};

static void stop(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void next_step(CFRunLoopTimerRef timer, void *info) {
    void (*const **step)(void) = info;
    (void)timer;
    if (**step == NULL) {
        after(3 * THRESHOLD_MS, stop, NULL);
        return;
    }
    (*(*step)++)();
    /* By then everything that the step began has ended. */
    after(STALL_MS + STEP_MS, next_step, info);
}

int main(int argc, char **argv) {
    const char *what = argc == 3 ? argv[2] : "";
    void (*const *steps)(void) = strcmp(what, "healthy") == 0  ? healthy
                                 : strcmp(what, "stalls") == 0 ? stalls
                                 : strcmp(what, "ping") == 0   ? ping
                                 : strcmp(what, "detach") == 0 ? detach
                                                               : NULL;
    if (steps == NULL) {
        fprintf(stderr, "usage: cfrunloop_app DIRECTORY healthy|stalls|ping|detach\n");
        return 2;
    }
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopAddCommonMode(loop, CFSTR("UITrackingRunLoopMode"));
    rec = start_recorder(argv[1], what);
    attached(stallrec_attach_cfrunloop(rec, 0));
    CFRunLoopSourceContext context = {.perform = on_source};
    source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    CFRunLoopAddSource(loop, source, kCFRunLoopCommonModes);
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(
        kCFAllocatorDefault, kCFRunLoopBeforeWaiting, true, 2000000, on_before_waiting, NULL);
    CFRunLoopAddObserver(loop, observer, kCFRunLoopCommonModes);
    after(STEP_MS, next_step, &steps);
    CFRunLoopRun();
    stallrec_detach_cfrunloop();
    stallrec_stop(rec);
    CFRunLoopObserverInvalidate(observer);
    CFRelease(observer);
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
    return 0;
}
