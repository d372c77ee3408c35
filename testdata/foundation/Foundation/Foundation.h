/* Declarations of Apple's Foundation and of libdispatch, as far as stallkit-guide(7) uses them. */
#ifndef FOUNDATION_STANDIN_H
#define FOUNDATION_STANDIN_H

#include <stdbool.h>

typedef long NSInteger;
typedef unsigned long NSUInteger;
typedef double NSTimeInterval;
typedef signed char BOOL;
#define YES ((BOOL)1)
#define NO  ((BOOL)0)
#define nil ((id)0)

@protocol NSObject
@end
__attribute__((objc_root_class))
@interface NSObject <NSObject>
+ (instancetype)alloc;
- (instancetype)init;
@end

@interface NSString : NSObject
@property(readonly) const char *UTF8String;
@property(readonly) int intValue;
+ (instancetype)stringWithUTF8String:(const char *)bytes;
+ (instancetype)stringWithFormat:(NSString *)format, ... __attribute__((format(__NSString__, 1, 2)));
- (id)componentsSeparatedByString:(NSString *)separator;
@end

@interface NSArray<ObjectType> : NSObject
@property(readonly) NSUInteger count;
@property(readonly) ObjectType firstObject;
@property(readonly) ObjectType lastObject;
@end

@interface NSError : NSObject
@end

@interface NSDate : NSObject
+ (instancetype)dateWithTimeIntervalSinceNow:(NSTimeInterval)seconds;
@end

@interface NSURL : NSObject
+ (instancetype)URLWithString:(NSString *)text;
+ (NSURL *)fileURLWithPath:(NSString *)path;
@end

@interface NSURLRequest : NSObject
+ (instancetype)requestWithURL:(NSURL *)url;
@end
@interface NSMutableURLRequest : NSURLRequest
@property(copy) NSString *HTTPMethod;
- (void)setValue:(NSString *)value forHTTPHeaderField:(NSString *)field;
@end

@interface NSURLResponse : NSObject
@end
@interface NSHTTPURLResponse : NSURLResponse
@property(readonly) NSInteger statusCode;
@end

@interface NSOperationQueue : NSObject
@property NSInteger maxConcurrentOperationCount;
- (void)addOperationWithBlock:(void (^)(void))block;
@end

@interface NSURLSessionTask : NSObject
@property(readonly, copy) NSURLResponse *response;
@property(copy) NSString *taskDescription;
@property(copy) NSDate *earliestBeginDate;
- (void)resume;
@end
@interface NSURLSessionUploadTask : NSURLSessionTask
@end

@class NSURLSession;
@protocol NSURLSessionDelegate <NSObject>
@optional
- (void)URLSessionDidFinishEventsForBackgroundURLSession:(NSURLSession *)session;
@end
@protocol NSURLSessionTaskDelegate <NSURLSessionDelegate>
@optional
- (void)URLSession:(NSURLSession *)session
                    task:(NSURLSessionTask *)task
    didCompleteWithError:(NSError *)error;
@end
@protocol NSURLSessionDataDelegate <NSURLSessionTaskDelegate>
@end

@interface NSURLSessionConfiguration : NSObject
@property(getter=isDiscretionary) BOOL discretionary;
@property BOOL sessionSendsLaunchEvents;
+ (NSURLSessionConfiguration *)backgroundSessionConfigurationWithIdentifier:(NSString *)identifier;
@end

@interface NSURLSession : NSObject
+ (NSURLSession *)sessionWithConfiguration:(NSURLSessionConfiguration *)configuration
                                  delegate:(id<NSURLSessionDelegate>)delegate
                             delegateQueue:(NSOperationQueue *)queue;
- (NSURLSessionUploadTask *)uploadTaskWithRequest:(NSURLRequest *)request fromFile:(NSURL *)file;
- (void)getAllTasksWithCompletionHandler:(void (^)(NSArray<NSURLSessionTask *> *tasks))handler;
@end

/* libdispatch */
typedef long dispatch_once_t;
typedef struct dispatch_queue_s *dispatch_queue_t;
void dispatch_once(dispatch_once_t *once, void (^block)(void));
void dispatch_async(dispatch_queue_t queue, void (^block)(void));
dispatch_queue_t dispatch_get_main_queue(void);

#endif
