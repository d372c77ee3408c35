/* The CFRunLoop adapter: two observers and a source of the watched thread's run loop.
 *
 *            Entry  BeforeTimers  BeforeSources  BeforeWaiting  (wait)  AfterWaiting  Exit
 *     first         busy          busy                                  busy
 *     last                                       idle                                 idle
 *
 * The first observer's edges come before the work of other observers, the last observer's after it.
 * At the exit of a nested run loop the edge is a turn, not idle.
 *
 * The start of another iteration does not count as a turn, although timers and sources are served,
 * as Core Animation commits nothing, and the user sees nothing new, until the run loop waits.
 * (Matrix does the same: its clock does not stop before BeforeWaiting.) */
#include "stallrec_cfrunloop.h"

#include <CoreFoundation/CoreFoundation.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { MODES = 8, MODE_TEXT = 64 };

/* State of the attached run loop. The recorder is one per process, and so is its run loop. The
 * watched thread owns the state; cfrunloop_post, on the monitor thread, only writes `asked`, and
 * reads source and run_loop, which change only while nobody posts. */
static struct {
    struct stallrec *rec; /* the recorder to which the run loop is attached; NULL: none */
    struct stallrec_loop *loop;
    CFRunLoopRef run_loop;
    CFRunLoopObserverRef first, last;
    CFRunLoopSourceRef source;
    uint64_t asked; /* number of the ping to answer */
    unsigned depth; /* number of nested run loops that run; 0 = none runs */
    bool returned;  /* a run loop has ended, so that the mode last reported to the recorder is no
                       longer the loop's */
    char modes[MODES][MODE_TEXT]; /* names of the modes that were seen, which are never removed; ""
                                     = free */
} hook;

/* ---- observers ---- */

static enum stallrec_activity activity_of(CFRunLoopActivity activity) {
    switch (activity) {
    case kCFRunLoopEntry:
        return STALLREC_ACTIVITY_ENTRY;
    case kCFRunLoopBeforeTimers:
        return STALLREC_ACTIVITY_BEFORE_TIMERS;
    case kCFRunLoopBeforeSources:
        return STALLREC_ACTIVITY_BEFORE_SOURCES;
    case kCFRunLoopBeforeWaiting:
        return STALLREC_ACTIVITY_BEFORE_WAITING;
    case kCFRunLoopAfterWaiting:
        return STALLREC_ACTIVITY_AFTER_WAITING;
    case kCFRunLoopExit:
        return STALLREC_ACTIVITY_EXIT;
    default:
        return STALLREC_ACTIVITY_NONE;
    }
}

/* Returns the stored copy of the mode's name; NULL if it is too long, or there are too many
 * modes. */
static const char *keep_mode(CFStringRef mode) {
    char name[MODE_TEXT];
    if (!CFStringGetCString(mode, name, sizeof name, kCFStringEncodingUTF8)) {
        return NULL;
    }
    for (size_t i = 0; i < MODES; i++) {
        if (hook.modes[i][0] == '\0') {
            memcpy(hook.modes[i], name, sizeof name);
        }
        if (strcmp(hook.modes[i], name) == 0) {
            return hook.modes[i];
        }
    }
    return NULL;
}

/* Reports the loop's mode to the recorder. The mode stays the same from the run loop's entry to its
 * exit. */
static void tell_mode(void) {
    CFStringRef mode = CFRunLoopCopyCurrentMode(hook.run_loop);
    stallrec_loop_mode(hook.loop, mode != NULL ? keep_mode(mode) : NULL);
    if (mode != NULL) {
        CFRelease(mode);
    }
    hook.returned = false;
}

static void on_first(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer, (void)info;
    if (activity == kCFRunLoopEntry) {
        hook.depth++;
    } else if (hook.depth == 0) {
        hook.depth = 1; /* the run loop had been entered before stallrec_attach_cfrunloop */
    }
    if (activity == kCFRunLoopEntry || hook.returned) {
        tell_mode();
    }
    if (activity == kCFRunLoopBeforeTimers || activity == kCFRunLoopBeforeSources ||
        activity == kCFRunLoopAfterWaiting) {
        stallrec_loop_wake(hook.loop);
    }
    stallrec_loop_activity(hook.loop, activity_of(activity));
}

static void on_last(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer, (void)info;
    if (activity == kCFRunLoopBeforeWaiting) {
        stallrec_loop_sleep(hook.loop);
    } else if (activity == kCFRunLoopExit) {
        hook.depth -= hook.depth > 0;
        hook.returned = true;
        if (hook.depth > 0) {
            stallrec_loop_turn(
                hook.loop); /* control is back in the callback that ran the nested loop */
        } else {
            stallrec_loop_sleep(hook.loop);
        }
    }
}

/* ---- pings ---- */

/* Posts a ping from the monitor thread by signalling a source that exists already.
 * CFRunLoopPerformBlock would allocate, and the stalled thread may hold the allocator's lock. The
 * locks of the source and of the run loop, which the two calls take, are held for a few
 * instructions only and never while a callback runs. */
static int cfrunloop_post(void *ctx, uint64_t number) {
    (void)ctx;
    __atomic_store_n(&hook.asked, number, __ATOMIC_SEQ_CST);
    CFRunLoopSourceSignal(hook.source);
    CFRunLoopWakeUp(hook.run_loop);
    return 1;
}

static void cfrunloop_on_ping(void *info) {
    (void)info;
    if (hook.rec != NULL) {
        stallrec_ping_done(hook.rec, __atomic_load_n(&hook.asked, __ATOMIC_SEQ_CST));
    }
}

/* ---- attach and detach ---- */

static bool in_extension(void) {
    CFBundleRef bundle = CFBundleGetMainBundle();
    return bundle != NULL &&
           CFBundleGetValueForInfoDictionaryKey(bundle, CFSTR("NSExtension")) != NULL;
}

/* Is this called from a callback of the run loop, so that the run loop runs? */
static bool is_running(CFRunLoopRef run_loop) {
    CFStringRef mode = CFRunLoopCopyCurrentMode(run_loop);
    if (mode != NULL) {
        CFRelease(mode);
    }
    return mode != NULL;
}

/* Adds the observers and the source to the common modes, and to the mode in which an app's launch
 * runs its loop, which is not a common mode. */
static void add_to_modes(CFRunLoopRef run_loop) {
    const CFStringRef modes[] = {kCFRunLoopCommonModes, CFSTR("UIInitializationRunLoopMode")};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CFRunLoopAddObserver(run_loop, hook.first, modes[i]);
        CFRunLoopAddObserver(run_loop, hook.last, modes[i]);
        CFRunLoopAddSource(run_loop, hook.source, modes[i]);
    }
}

/* Invalidates the observers and the source, as far as they were made, so that they leave all
 * modes. */
static void drop_all(void) {
    if (hook.first != NULL) {
        CFRunLoopObserverInvalidate(hook.first);
        CFRelease(hook.first);
    }
    if (hook.last != NULL) {
        CFRunLoopObserverInvalidate(hook.last);
        CFRelease(hook.last);
    }
    if (hook.source != NULL) {
        CFRunLoopSourceInvalidate(hook.source);
        CFRelease(hook.source);
    }
    hook.first = hook.last = NULL;
    hook.source = NULL;
}

enum stallrec_error stallrec_attach_cfrunloop(struct stallrec *rec, uint32_t flags) {
    CFRunLoopSourceContext source = {.perform = cfrunloop_on_ping};
    CFRunLoopRef run_loop = CFRunLoopGetCurrent();
    if (rec == NULL) {
        return STALLREC_OK;
    }
    if (hook.rec != NULL) {
        return STALLREC_ERR_RUNNING;
    }
    if ((flags & STALLREC_CFRUNLOOP_IN_EXTENSION) == 0 && in_extension()) {
        return STALLREC_ERR_UNSUPPORTED;
    }
    hook.first = CFRunLoopObserverCreate(kCFAllocatorDefault, kCFRunLoopAllActivities, true,
                                         LONG_MIN, on_first, NULL);
    hook.last =
        CFRunLoopObserverCreate(kCFAllocatorDefault, kCFRunLoopBeforeWaiting | kCFRunLoopExit, true,
                                LONG_MAX, on_last, NULL);
    hook.source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &source);
    if (hook.first == NULL || hook.last == NULL || hook.source == NULL) {
        drop_all();
        return STALLREC_ERR_MEMORY;
    }
    hook.rec = rec;
    hook.run_loop = run_loop;
    hook.loop = stallrec_main_loop(rec);
    hook.depth = is_running(run_loop);
    if (hook.depth > 0) {
        stallrec_loop_wake(hook.loop);
        tell_mode();
    }
    add_to_modes(run_loop);
    stallrec_set_poster(rec, cfrunloop_post, NULL);
    return STALLREC_OK;
}

void stallrec_detach_cfrunloop(void) {
    if (hook.rec == NULL) {
        return;
    }
    stallrec_set_poster(hook.rec, NULL, NULL); /* from here on nobody posts pings */
    drop_all();
    hook.rec = NULL;
    stallrec_loop_sleep(hook.loop); /* the loop is left idle, as no further edge will be reported */
}
