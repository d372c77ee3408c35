/* What the Objective-C sources of the fixture app share: a root class, since there is no SDK. */
#ifndef SHOP_H
#define SHOP_H

typedef unsigned long NSUInteger;

__attribute__((objc_root_class))
@interface ShopObject {
    void *isa;
}
+ (id)alloc;
- (id)init;
@end

@interface DB : ShopObject {
    NSUInteger pages;
    NSUInteger dirty;
}
@property(nonatomic) NSUInteger generation;
+ (DB *)shared;
- (NSUInteger)write:(const unsigned char *)bytes;
- (void)flush:(void (^)(NSUInteger done))completion;
@end

@interface DB (Maintenance)
- (NSUInteger)vacuum;
@end

@interface CartViewController : ShopObject {
    DB *db;
    NSUInteger rows;
}
- (void)viewDidLoad;
- (void)layoutSubviews;
- (void)checkout:(id)sender;
@end

#endif
