/* DB.m: the store of the fixture app. Class methods, instance methods, a category, a property
 * whose accessors the compiler writes, and blocks, nested once. */
#include "Shop.h"
#include "page.h"

static unsigned char file[16 * PAGE_SIZE];
static DB *sharedDB;

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
    if (!sharedDB) {
        sharedDB = [[DB alloc] init];
    }
    return sharedDB;
}

- (NSUInteger)write:(const unsigned char *)bytes {
    NSUInteger written = 0;
    while (written < pages) {
        unsigned char *page = file + (written % 16) * PAGE_SIZE;
        page_copy(page, bytes + written * PAGE_SIZE);
        page_seal(page);
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
