/* CartViewController.m: the screen that stalls in the README's examples. */
#include "Shop.h"

extern unsigned image_decode(const unsigned char *bytes, unsigned length);
extern unsigned layout_pass(unsigned rows);
extern long price_total(unsigned rows);

static const unsigned char thumbnail[256] = {3, 1, 4, 1, 5};

@implementation CartViewController
- (void)viewDidLoad {
    db = [DB shared];
    rows = image_decode(thumbnail, sizeof thumbnail) % 100;
    [self layoutSubviews];
}

- (void)layoutSubviews {
    rows = layout_pass((unsigned)rows);
}

- (void)checkout:(id)sender {
    (void)sender;
    __block long total = price_total((unsigned)rows);
    [db write:thumbnail];
    [db flush:^(NSUInteger done) {
      total += (long)done;
    }];
    rows = (NSUInteger)total;
}
@end

int main(void) {
    CartViewController *cart = [[CartViewController alloc] init];
    for (;;) {
        [cart viewDidLoad];
        [cart checkout:(id)0];
    }
}
