/* layout.cpp: inlines nested several levels, lambdas, a template's member defined out of class,
 * methods through abstract origin and specification, a recursion, an anonymous namespace. */
#include "layout.hpp"

namespace shop {

namespace {
volatile unsigned passes;

inline unsigned clamp(unsigned value, unsigned most) {
    return value > most ? most : value;
}

inline unsigned margin(unsigned value) {
    return clamp(value * 3 + passes, 4096);
}

struct Cache {
    volatile unsigned hits = 0;
    unsigned lookup(unsigned key);
} cache;

__attribute__((noinline)) unsigned Cache::lookup(unsigned key) {
    hits = hits + 1;
    return margin(key) ^ hits;
}
} // namespace

namespace layout {

Node::Node(unsigned level) : depth(clamp(level, 32)) {
    passes = passes + 1;
}

Node::~Node() {
    passes = passes - 1;
}

unsigned Node::measured() {
    return passes;
}

__attribute__((noinline)) Size Node::measure(unsigned available) const {
    if (depth == 0 || available == 0) {
        return Size{round_to_pixel(available), cache.lookup(available)};
    }
    Node child(depth - 1);
    Size one = child.measure(available - 1);
    return one + Size{margin(one.width), 1};
}

Size RowNode::measure(unsigned available) const {
    auto width = [this](unsigned level) {
        auto padded = [level](unsigned value) { return margin(value + level); };
        return padded(depth) + round_to_pixel(level);
    };
    return Size{each_level(clamp(available, 8), width), 1};
}

} // namespace layout
} // namespace shop

extern "C" unsigned layout_pass(unsigned rows) {
    shop::Stack<shop::Size, 8> sizes;
    shop::Stack<unsigned char, 4> flags;
    shop::layout::Node root(rows);
    shop::layout::RowNode row(rows);
    sizes.push(root.measure(rows));
    sizes.push(row.measure(rows));
    flags.push(static_cast<unsigned char>(rows));
    unsigned total = flags.pop();
    while (!sizes.empty()) {
        shop::Size one = sizes.pop();
        total += one.width + one.height;
    }
    return total + shop::layout::Node::measured();
}
