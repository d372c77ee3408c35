/* price.cpp: a second C++ unit. round_to_pixel is defined here and called in layout.cpp, so that
 * link-time optimisation inlines it across units. */
#include "layout.hpp"

namespace shop {

namespace {
class Money {
  public:
    constexpr Money(long cents) : cents(cents) {
    }
    Money operator*(unsigned count) const {
        return Money(cents * static_cast<long>(count));
    }
    Money &operator+=(Money other) {
        cents += other.cents;
        return *this;
    }
    long value() const {
        return cents;
    }

  private:
    long cents;
};

template <class Rule> __attribute__((noinline)) Money apply(Money price, Rule rule) {
    return rule(price);
}

volatile long rate = 19;
} // namespace

unsigned round_to_pixel(unsigned value) {
    unsigned pixel = value + static_cast<unsigned>(rate);
    return pixel & ~1u;
}

} // namespace shop

extern "C" long price_total(unsigned rows) {
    shop::Money sum(0);
    for (unsigned i = 0; i < rows; i++) {
        sum += shop::apply(shop::Money(250), [i](shop::Money price) { return price * (i + 1); });
    }
    auto tax = [](shop::Money price) {
        price += shop::Money(price.value() * shop::rate / 100);
        return price;
    };
    return shop::apply(sum, tax).value();
}
