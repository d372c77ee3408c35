/* DB.m: the store of the fixture app. Class methods, instance methods, a category, a property
 * whose accessors the compiler writes, and blocks, nested once. */
#include "Shop.h"
#include "page.h"

/* Declared here: there is no SDK. */
extern long write(int fd, const void *bytes, NSUInteger size);
extern int fsync(int fd);
extern int pthread_mutex_lock(void *mutex);
extern int pthread_mutex_unlock(void *mutex);

static unsigned char file[16 * PAGE_SIZE];
static long sharedLock[8];
static DB *sharedDB;
static int fd = 3;

@implementation ShopObject
+ (id)alloc {
    extern id class_createInstance(id, NSUInteger);
    return class_createInstance((id)self, 0);
}

- (id)init {
    return self;
}
@end

@implementation DB
@synthesize generation;

+ (DB *)shared {
    pthread_mutex_lock(sharedLock);
    if (!sharedDB) {
        sharedDB = [[DB alloc] init];
    }
    pthread_mutex_unlock(sharedLock);
    return sharedDB;
}

- (NSUInteger)write:(const unsigned char *)bytes {
    NSUInteger written = 0;
    while (written < pages) {
        unsigned char *page = file + (written % 16) * PAGE_SIZE;
        page_copy(page, bytes + written * PAGE_SIZE);
        page_seal(page);
        if (write(fd, page, PAGE_SIZE) != PAGE_SIZE) {
            break;
        }
        dirty++;
        written++;
    }
    self.generation = self.generation + 1;
    return written;
}

- (void)flush:(void (^)(NSUInteger done))completion {
    NSUInteger (^syncPages)(NSUInteger) = ^NSUInteger(NSUInteger from) {
        void (^syncOne)(NSUInteger) = ^(NSUInteger at) {
            page_seal(file + (at % 16) * PAGE_SIZE);
            fsync(fd);
            self->dirty--;
        };
        for (NSUInteger i = from; i < self->pages; i++) {
            syncOne(i);
        }
        return self->pages - from;
    };
    completion(syncPages(0));
}
@end

@implementation DB (Maintenance)
- (NSUInteger)vacuum {
    NSUInteger freed = 0;
    for (NSUInteger i = 0; i < pages; i++) {
        if (!page_is_sealed(file + (i % 16) * PAGE_SIZE)) {
            freed++;
        }
    }
    pages -= freed;
    return freed;
}
@end
