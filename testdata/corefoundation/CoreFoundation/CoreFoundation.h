/* A stand-in for the part of CoreFoundation that run loop observers need: see ../README.md. */
#ifndef STANDIN_COREFOUNDATION_H
#define STANDIN_COREFOUNDATION_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const void *CFTypeRef;
typedef const struct standin_string *CFStringRef;
typedef const struct standin_allocator *CFAllocatorRef;
typedef struct standin_bundle *CFBundleRef;
typedef struct standin_loop *CFRunLoopRef;
typedef struct standin_item *CFRunLoopObserverRef;
typedef struct standin_item *CFRunLoopSourceRef;
typedef struct standin_item *CFRunLoopTimerRef;
typedef unsigned char Boolean;
typedef long CFIndex;
typedef unsigned long CFOptionFlags;
typedef unsigned long CFHashCode;
typedef double CFTimeInterval, CFAbsoluteTime;
typedef CFStringRef CFRunLoopMode;

#define kCFAllocatorDefault ((CFAllocatorRef)0)
#define CFSTR(text)         standin_string_of("" text "")

CFStringRef standin_string_of(const char *text); /* the same for the same text; lives for ever */

typedef uint32_t CFStringEncoding;
enum { kCFStringEncodingUTF8 = 0x08000100 };
Boolean CFStringGetCString(CFStringRef string, char *out, CFIndex size, CFStringEncoding encoding);

CFTypeRef CFRetain(CFTypeRef object);
void CFRelease(CFTypeRef object);
CFAbsoluteTime CFAbsoluteTimeGetCurrent(void);

CFBundleRef CFBundleGetMainBundle(void);
CFTypeRef CFBundleGetValueForInfoDictionaryKey(CFBundleRef bundle, CFStringRef key);
/* For tests: what the main bundle says for a key; NULL = nothing. One key at a time. */
void standin_set_info(CFStringRef key, CFTypeRef value);

/* ---- run loops ---- */

typedef CFOptionFlags CFRunLoopActivity;
enum {
    kCFRunLoopEntry = 1 << 0,
    kCFRunLoopBeforeTimers = 1 << 1,
    kCFRunLoopBeforeSources = 1 << 2,
    kCFRunLoopBeforeWaiting = 1 << 5,
    kCFRunLoopAfterWaiting = 1 << 6,
    kCFRunLoopExit = 1 << 7,
    kCFRunLoopAllActivities = 0x0FFFFFFF
};

typedef int32_t CFRunLoopRunResult;
enum {
    kCFRunLoopRunFinished = 1,
    kCFRunLoopRunStopped = 2,
    kCFRunLoopRunTimedOut = 3,
    kCFRunLoopRunHandledSource = 4
};

#define kCFRunLoopDefaultMode CFSTR("kCFRunLoopDefaultMode")
#define kCFRunLoopCommonModes CFSTR("kCFRunLoopCommonModes")

CFRunLoopRef CFRunLoopGetCurrent(void);
CFRunLoopRef CFRunLoopGetMain(void);
CFRunLoopMode CFRunLoopCopyCurrentMode(CFRunLoopRef loop);
void CFRunLoopAddCommonMode(CFRunLoopRef loop, CFRunLoopMode mode);
void CFRunLoopRun(void);
CFRunLoopRunResult CFRunLoopRunInMode(CFRunLoopMode mode, CFTimeInterval seconds,
                                      Boolean return_after_source);
Boolean CFRunLoopIsWaiting(CFRunLoopRef loop);
void CFRunLoopWakeUp(CFRunLoopRef loop);
void CFRunLoopStop(CFRunLoopRef loop);

/* ---- observers ---- */

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFRunLoopObserverContext, CFRunLoopTimerContext;
typedef void (*CFRunLoopObserverCallBack)(CFRunLoopObserverRef observer, CFRunLoopActivity activity,
                                          void *info);

CFRunLoopObserverRef CFRunLoopObserverCreate(CFAllocatorRef allocator, CFOptionFlags activities,
                                             Boolean repeats, CFIndex order,
                                             CFRunLoopObserverCallBack callout,
                                             CFRunLoopObserverContext *context);
void CFRunLoopObserverInvalidate(CFRunLoopObserverRef observer);
Boolean CFRunLoopObserverIsValid(CFRunLoopObserverRef observer);
void CFRunLoopAddObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer, CFRunLoopMode mode);
void CFRunLoopRemoveObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer, CFRunLoopMode mode);
Boolean CFRunLoopContainsObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer,
                                  CFRunLoopMode mode);

/* ---- sources, version 0 ---- */

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
    Boolean (*equal)(const void *info1, const void *info2);
    CFHashCode (*hash)(const void *info);
    void (*schedule)(void *info, CFRunLoopRef loop, CFRunLoopMode mode);
    void (*cancel)(void *info, CFRunLoopRef loop, CFRunLoopMode mode);
    void (*perform)(void *info);
} CFRunLoopSourceContext;

CFRunLoopSourceRef CFRunLoopSourceCreate(CFAllocatorRef allocator, CFIndex order,
                                         CFRunLoopSourceContext *context);
void CFRunLoopSourceSignal(CFRunLoopSourceRef source);
void CFRunLoopSourceInvalidate(CFRunLoopSourceRef source);
void CFRunLoopAddSource(CFRunLoopRef loop, CFRunLoopSourceRef source, CFRunLoopMode mode);
void CFRunLoopRemoveSource(CFRunLoopRef loop, CFRunLoopSourceRef source, CFRunLoopMode mode);

/* ---- timers ---- */

typedef void (*CFRunLoopTimerCallBack)(CFRunLoopTimerRef timer, void *info);

/* interval 0: fires once. */
CFRunLoopTimerRef CFRunLoopTimerCreate(CFAllocatorRef allocator, CFAbsoluteTime fire_date,
                                       CFTimeInterval interval, CFOptionFlags flags, CFIndex order,
                                       CFRunLoopTimerCallBack callout,
                                       CFRunLoopTimerContext *context);
void CFRunLoopTimerInvalidate(CFRunLoopTimerRef timer);
void CFRunLoopAddTimer(CFRunLoopRef loop, CFRunLoopTimerRef timer, CFRunLoopMode mode);
void CFRunLoopRemoveTimer(CFRunLoopRef loop, CFRunLoopTimerRef timer, CFRunLoopMode mode);

#ifdef __cplusplus
}
#endif

#endif
