/* The stand-in's run loop: see README.md. */
#include "CoreFoundation/CoreFoundation.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MODES_MAX = 16, ITEMS_MAX = 64 };

enum kind { KIND_OBSERVER, KIND_SOURCE, KIND_TIMER, KIND_LOOP, KIND_STRING };

/* The first member of each object, with the references that CFRetain and CFRelease count. */
struct object {
    enum kind kind;
    unsigned references;
};

struct standin_string {
    struct object object;
    const char *text;
    struct standin_string *next;
};

/* An observer, a source or a timer. The run loop's lock guards all members that change. */
struct standin_item {
    struct object object;
    CFIndex order;
    Boolean repeats, invalid;
    Boolean firing;
    Boolean signalled;
    CFOptionFlags activities;
    CFAbsoluteTime fire_date;
    CFTimeInterval interval;
    CFRunLoopObserverCallBack observe;
    CFRunLoopTimerCallBack fire;
    void (*perform)(void *info);
    void *info;
};

/* An item and a mode in which it is. */
struct entry {
    struct standin_item *item;
    CFRunLoopMode mode;
};

struct standin_loop {
    struct object object;
    pthread_mutex_t lock;
    pthread_cond_t woken_up;
    struct entry entries[ITEMS_MAX];
    size_t count;
    CFRunLoopMode common[MODES_MAX];
    size_t commons;
    CFRunLoopMode mode; /* mode of the innermost run; NULL = the loop does not run */
    Boolean woken, waiting, stopped;
};

/* ---- objects ---- */

static void fail(const char *what) {
    fprintf(stderr, "corefoundation: %s\n", what);
    abort();
}

CFTypeRef CFRetain(CFTypeRef object) {
    __atomic_add_fetch(&((struct object *)(uintptr_t)object)->references, 1, __ATOMIC_RELAXED);
    return object;
}

void CFRelease(CFTypeRef reference) {
    struct object *object = (struct object *)(uintptr_t)reference;
    unsigned left = __atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL);
    if (left == (unsigned)-1) {
        fail("released more often than retained");
    }
    if (left == 0) {
        free(object);
    }
}

CFStringRef standin_string_of(const char *text) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct standin_string *all;
    pthread_mutex_lock(&lock);
    struct standin_string *string = all;
    while (string != NULL && strcmp(string->text, text) != 0) {
        string = string->next;
    }
    if (string == NULL) {
        string = calloc(1, sizeof *string);
        if (string == NULL) {
            fail("out of memory");
        }
        *string = (struct standin_string){{KIND_STRING, 1}, text, all};
        all = string;
    }
    pthread_mutex_unlock(&lock);
    return string;
}

Boolean CFStringGetCString(CFStringRef string, char *out, CFIndex size, CFStringEncoding encoding) {
    size_t length = strlen(string->text);
    if (encoding != kCFStringEncodingUTF8 || size <= 0 || length >= (size_t)size) {
        return false;
    }
    memcpy(out, string->text, length + 1);
    return true;
}

/* This clock is monotonic, unlike Apple's, so that tests survive a clock that is set. */
CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct {
    CFStringRef key;
    CFTypeRef value;
} bundle_info;

CFBundleRef CFBundleGetMainBundle(void) {
    return (CFBundleRef)&bundle_info;
}

CFTypeRef CFBundleGetValueForInfoDictionaryKey(CFBundleRef bundle, CFStringRef key) {
    (void)bundle;
    return bundle_info.key == key ? bundle_info.value : NULL;
}

void standin_set_info(CFStringRef key, CFTypeRef value) {
    bundle_info.key = key;
    bundle_info.value = value;
}

/* ---- loops ---- */

static pthread_key_t loop_key;
static CFRunLoopRef main_loop;

static void loop_free(void *arg) {
    struct standin_loop *loop = arg;
    for (size_t i = 0; i < loop->count; i++) {
        CFRelease(loop->entries[i].item);
    }
    pthread_mutex_destroy(&loop->lock);
    pthread_cond_destroy(&loop->woken_up);
    free(loop);
}

static CFRunLoopRef loop_new(void) {
    struct standin_loop *loop = calloc(1, sizeof *loop);
    pthread_condattr_t attr;
    if (loop == NULL) {
        fail("out of memory");
    }
    loop->object = (struct object){KIND_LOOP, 1};
    pthread_mutex_init(&loop->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->woken_up, &attr);
    pthread_condattr_destroy(&attr);
    loop->common[loop->commons++] = kCFRunLoopDefaultMode;
    return loop;
}

__attribute__((constructor)) static void make_main_loop(void) {
    pthread_key_create(&loop_key, loop_free);
    main_loop = loop_new();
    pthread_setspecific(loop_key, main_loop);
}

/* Frees the main thread's loop, which the end of the process does not free otherwise. */
__attribute__((destructor)) static void free_main_loop(void) {
    if (pthread_getspecific(loop_key) == main_loop) {
        pthread_setspecific(loop_key, NULL);
        loop_free(main_loop);
    }
}

CFRunLoopRef CFRunLoopGetMain(void) {
    return main_loop;
}

CFRunLoopRef CFRunLoopGetCurrent(void) {
    CFRunLoopRef loop = pthread_getspecific(loop_key);
    if (loop == NULL) {
        loop = loop_new();
        pthread_setspecific(loop_key, loop);
    }
    return loop;
}

CFRunLoopMode CFRunLoopCopyCurrentMode(CFRunLoopRef loop) {
    pthread_mutex_lock(&loop->lock);
    CFRunLoopMode mode = loop->mode;
    pthread_mutex_unlock(&loop->lock);
    return mode != NULL ? CFRetain(mode) : NULL;
}

void CFRunLoopAddCommonMode(CFRunLoopRef loop, CFRunLoopMode mode) {
    pthread_mutex_lock(&loop->lock);
    if (loop->commons == MODES_MAX) {
        fail("too many common modes");
    }
    loop->common[loop->commons++] = mode;
    pthread_mutex_unlock(&loop->lock);
}

Boolean CFRunLoopIsWaiting(CFRunLoopRef loop) {
    pthread_mutex_lock(&loop->lock);
    Boolean waiting = loop->waiting;
    pthread_mutex_unlock(&loop->lock);
    return waiting;
}

void CFRunLoopWakeUp(CFRunLoopRef loop) {
    pthread_mutex_lock(&loop->lock);
    loop->woken = true;
    pthread_cond_broadcast(&loop->woken_up);
    pthread_mutex_unlock(&loop->lock);
}

void CFRunLoopStop(CFRunLoopRef loop) {
    pthread_mutex_lock(&loop->lock);
    loop->stopped = true;
    loop->woken = true;
    pthread_cond_broadcast(&loop->woken_up);
    pthread_mutex_unlock(&loop->lock);
}

/* ---- items in modes ---- */

static Boolean is_common(const struct standin_loop *loop, CFRunLoopMode mode) {
    for (size_t i = 0; i < loop->commons; i++) {
        if (loop->common[i] == mode) {
            return true;
        }
    }
    return false;
}

static Boolean is_in(const struct standin_loop *loop, const struct entry *entry,
                     CFRunLoopMode mode) {
    return !__atomic_load_n(&entry->item->invalid, __ATOMIC_ACQUIRE) &&
           (entry->mode == mode || (entry->mode == kCFRunLoopCommonModes && is_common(loop, mode)));
}

/* Sets `out` to the items of the mode, each once, sorted by their order and then by the time at
 * which they were added, and retains them. Returns their number. */
static size_t items_of(struct standin_loop *loop, enum kind kind, CFRunLoopMode mode,
                       struct standin_item **out) {
    size_t count = 0;
    for (size_t i = 0; i < loop->count; i++) {
        struct standin_item *item = loop->entries[i].item;
        Boolean known = item->object.kind != kind || !is_in(loop, &loop->entries[i], mode);
        for (size_t k = 0; k < count && !known; k++) {
            known = out[k] == item;
        }
        if (known) {
            continue;
        }
        size_t place = count++;
        while (place > 0 && out[place - 1]->order > item->order) {
            out[place] = out[place - 1];
            place--;
        }
        out[place] = (struct standin_item *)(uintptr_t)CFRetain(item);
    }
    return count;
}

static void add(CFRunLoopRef loop, struct standin_item *item, CFRunLoopMode mode) {
    pthread_mutex_lock(&loop->lock);
    size_t i = 0;
    /* The place of an item that is no longer valid is used again. */
    while (i < loop->count && !loop->entries[i].item->invalid) {
        i++;
    }
    if (i == ITEMS_MAX) {
        fail("too many items");
    }
    if (i < loop->count) {
        CFRelease(loop->entries[i].item);
        memmove(&loop->entries[i], &loop->entries[i + 1],
                (loop->count - i - 1) * sizeof *loop->entries);
        loop->count--;
    }
    CFRetain(item);
    loop->entries[loop->count++] = (struct entry){item, mode};
    pthread_mutex_unlock(&loop->lock);
}

static void take_out(CFRunLoopRef loop, struct standin_item *item, CFRunLoopMode mode) {
    pthread_mutex_lock(&loop->lock);
    for (size_t i = 0; i < loop->count; i++) {
        if (loop->entries[i].item == item && loop->entries[i].mode == mode) {
            CFRelease(item);
            memmove(&loop->entries[i], &loop->entries[i + 1],
                    (loop->count - i - 1) * sizeof *loop->entries);
            loop->count--;
            break;
        }
    }
    pthread_mutex_unlock(&loop->lock);
}

static struct standin_item *item_new(enum kind kind, CFIndex order, void *info) {
    struct standin_item *item = calloc(1, sizeof *item);
    if (item != NULL) {
        item->object = (struct object){kind, 1};
        item->order = order;
        item->info = info;
    }
    return item;
}

static void invalidate(struct standin_item *item) {
    __atomic_store_n(&item->invalid, true, __ATOMIC_RELEASE);
}

CFRunLoopObserverRef CFRunLoopObserverCreate(CFAllocatorRef allocator, CFOptionFlags activities,
                                             Boolean repeats, CFIndex order,
                                             CFRunLoopObserverCallBack callout,
                                             CFRunLoopObserverContext *context) {
    struct standin_item *item = item_new(KIND_OBSERVER, order, context ? context->info : NULL);
    (void)allocator;
    if (item != NULL) {
        item->activities = activities;
        item->repeats = repeats;
        item->observe = callout;
    }
    return item;
}

CFRunLoopSourceRef CFRunLoopSourceCreate(CFAllocatorRef allocator, CFIndex order,
                                         CFRunLoopSourceContext *context) {
    struct standin_item *item = item_new(KIND_SOURCE, order, context->info);
    (void)allocator;
    if (context->version != 0) {
        fail("only sources of version 0");
    }
    if (item != NULL) {
        item->perform = context->perform;
    }
    return item;
}

CFRunLoopTimerRef CFRunLoopTimerCreate(CFAllocatorRef allocator, CFAbsoluteTime fire_date,
                                       CFTimeInterval interval, CFOptionFlags flags, CFIndex order,
                                       CFRunLoopTimerCallBack callout,
                                       CFRunLoopTimerContext *context) {
    struct standin_item *item = item_new(KIND_TIMER, order, context ? context->info : NULL);
    (void)allocator, (void)flags;
    if (item != NULL) {
        item->fire_date = fire_date;
        item->interval = interval;
        item->repeats = interval > 0;
        item->fire = callout;
    }
    return item;
}

void CFRunLoopObserverInvalidate(CFRunLoopObserverRef observer) {
    invalidate(observer);
}
void CFRunLoopSourceInvalidate(CFRunLoopSourceRef source) {
    invalidate(source);
}
void CFRunLoopTimerInvalidate(CFRunLoopTimerRef timer) {
    invalidate(timer);
}
Boolean CFRunLoopObserverIsValid(CFRunLoopObserverRef observer) {
    return !observer->invalid;
}
void CFRunLoopSourceSignal(CFRunLoopSourceRef source) {
    __atomic_store_n(&source->signalled, true, __ATOMIC_SEQ_CST);
}
void CFRunLoopAddObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer, CFRunLoopMode mode) {
    add(loop, observer, mode);
}
void CFRunLoopAddSource(CFRunLoopRef loop, CFRunLoopSourceRef source, CFRunLoopMode mode) {
    add(loop, source, mode);
}
void CFRunLoopAddTimer(CFRunLoopRef loop, CFRunLoopTimerRef timer, CFRunLoopMode mode) {
    add(loop, timer, mode);
}
void CFRunLoopRemoveObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer, CFRunLoopMode mode) {
    take_out(loop, observer, mode);
}
void CFRunLoopRemoveSource(CFRunLoopRef loop, CFRunLoopSourceRef source, CFRunLoopMode mode) {
    take_out(loop, source, mode);
}
void CFRunLoopRemoveTimer(CFRunLoopRef loop, CFRunLoopTimerRef timer, CFRunLoopMode mode) {
    take_out(loop, timer, mode);
}

Boolean CFRunLoopContainsObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer,
                                  CFRunLoopMode mode) {
    Boolean found = false;
    pthread_mutex_lock(&loop->lock);
    for (size_t i = 0; i < loop->count; i++) {
        const struct entry *entry = &loop->entries[i];
        found = found || (entry->item == observer && !entry->item->invalid && entry->mode == mode);
    }
    pthread_mutex_unlock(&loop->lock);
    return found;
}

/* ---- a run ---- */

static void notify(struct standin_loop *loop, CFRunLoopMode mode, CFRunLoopActivity activity) {
    struct standin_item *observers[ITEMS_MAX];
    pthread_mutex_lock(&loop->lock);
    size_t count = items_of(loop, KIND_OBSERVER, mode, observers);
    pthread_mutex_unlock(&loop->lock);
    for (size_t i = 0; i < count; i++) {
        struct standin_item *observer = observers[i];
        if ((observer->activities & activity) != 0 && !observer->invalid && !observer->firing) {
            observer->firing = true;
            observer->observe(observer, activity, observer->info);
            observer->firing = false;
            if (!observer->repeats) {
                invalidate(observer);
            }
        }
        CFRelease(observer);
    }
}

static Boolean perform_sources(struct standin_loop *loop, CFRunLoopMode mode, Boolean only_one) {
    struct standin_item *sources[ITEMS_MAX];
    Boolean performed = false;
    pthread_mutex_lock(&loop->lock);
    size_t count = items_of(loop, KIND_SOURCE, mode, sources);
    pthread_mutex_unlock(&loop->lock);
    for (size_t i = 0; i < count; i++) {
        struct standin_item *source = sources[i];
        Boolean enough = performed && only_one;
        if (!enough && !source->invalid &&
            __atomic_exchange_n(&source->signalled, false, __ATOMIC_SEQ_CST)) {
            source->perform(source->info);
            performed = true;
        }
        CFRelease(source);
    }
    return performed;
}

/* Fires the timers that are due. A timer that is late by several intervals fires once, and next at
 * a multiple of its interval. */
static void fire_timers(struct standin_loop *loop, CFRunLoopMode mode) {
    struct standin_item *timers[ITEMS_MAX];
    CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    pthread_mutex_lock(&loop->lock);
    size_t count = items_of(loop, KIND_TIMER, mode, timers);
    pthread_mutex_unlock(&loop->lock);
    for (size_t i = 0; i < count; i++) {
        struct standin_item *timer = timers[i];
        if (!timer->invalid && !timer->firing && timer->fire_date <= now) {
            timer->firing = true;
            timer->fire(timer, timer->info);
            timer->firing = false;
            if (timer->repeats) {
                now = CFAbsoluteTimeGetCurrent();
                CFTimeInterval late = now - timer->fire_date;
                timer->fire_date += (double)((long)(late / timer->interval) + 1) * timer->interval;
            } else {
                invalidate(timer);
            }
        }
        CFRelease(timer);
    }
}

/* Has the mode a source or a timer? Sets *due to the time of the next timer if that is earlier. The
 * caller holds the lock. */
static Boolean look(struct standin_loop *loop, CFRunLoopMode mode, CFAbsoluteTime *due) {
    Boolean any = false;
    for (size_t i = 0; i < loop->count; i++) {
        const struct standin_item *item = loop->entries[i].item;
        if (item->object.kind == KIND_OBSERVER || !is_in(loop, &loop->entries[i], mode)) {
            continue;
        }
        any = true;
        if (item->object.kind == KIND_TIMER && !item->firing && item->fire_date < *due) {
            *due = item->fire_date;
        }
    }
    return any;
}

static void wait_for_events(struct standin_loop *loop, CFRunLoopMode mode, CFAbsoluteTime until) {
    pthread_mutex_lock(&loop->lock);
    look(loop, mode, &until);
    struct timespec t = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    loop->waiting = true;
    while (!loop->woken && pthread_cond_timedwait(&loop->woken_up, &loop->lock, &t) == 0) {
    }
    loop->waiting = false;
    loop->woken = false;
    pthread_mutex_unlock(&loop->lock);
}

/* Returns why the run is over; 0: it is not. */
static CFRunLoopRunResult verdict(struct standin_loop *loop, CFRunLoopMode mode,
                                  CFAbsoluteTime until, Boolean returns_now) {
    CFAbsoluteTime due = until;
    CFRunLoopRunResult result = 0;
    pthread_mutex_lock(&loop->lock);
    if (returns_now) {
        result = kCFRunLoopRunHandledSource;
    } else if (CFAbsoluteTimeGetCurrent() >= until) {
        result = kCFRunLoopRunTimedOut;
    } else if (loop->stopped) {
        loop->stopped = false;
        result = kCFRunLoopRunStopped;
    } else if (!look(loop, mode, &due)) {
        result = kCFRunLoopRunFinished;
    }
    pthread_mutex_unlock(&loop->lock);
    return result;
}

static CFRunLoopRunResult run(struct standin_loop *loop, CFRunLoopMode mode, CFAbsoluteTime until,
                              Boolean polls, Boolean return_after_source) {
    CFRunLoopRunResult result = 0;
    notify(loop, mode, kCFRunLoopEntry);
    while (result == 0) {
        notify(loop, mode, kCFRunLoopBeforeTimers);
        notify(loop, mode, kCFRunLoopBeforeSources);
        Boolean performed = perform_sources(loop, mode, return_after_source);
        if (!performed && !polls) {
            notify(loop, mode, kCFRunLoopBeforeWaiting);
            wait_for_events(loop, mode, until);
            notify(loop, mode, kCFRunLoopAfterWaiting);
        }
        fire_timers(loop, mode);
        result = verdict(loop, mode, until, performed && return_after_source);
    }
    notify(loop, mode, kCFRunLoopExit);
    return result;
}

CFRunLoopRunResult CFRunLoopRunInMode(CFRunLoopMode mode, CFTimeInterval seconds,
                                      Boolean return_after_source) {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFAbsoluteTime due = 0, until = CFAbsoluteTimeGetCurrent() + (seconds < 1e9 ? seconds : 1e9);
    pthread_mutex_lock(&loop->lock);
    CFRunLoopMode outer = loop->mode;
    if (mode == kCFRunLoopCommonModes || !look(loop, mode, &due)) {
        pthread_mutex_unlock(&loop->lock);
        return kCFRunLoopRunFinished;
    }
    loop->mode = mode;
    Boolean outer_stopped = loop->stopped; /* CFRunLoopStop is for the innermost run */
    loop->stopped = false;
    pthread_mutex_unlock(&loop->lock);
    CFRunLoopRunResult result = run(loop, mode, until, seconds <= 0, return_after_source);
    pthread_mutex_lock(&loop->lock);
    loop->mode = outer;
    loop->stopped = outer_stopped;
    pthread_mutex_unlock(&loop->lock);
    return result;
}

void CFRunLoopRun(void) {
    CFRunLoopRunResult result;
    do {
        result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, false);
    } while (result != kCFRunLoopRunStopped && result != kCFRunLoopRunFinished);
}
