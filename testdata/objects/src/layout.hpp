/* layout.hpp: namespaces, class templates and members that are defined in another file. */
#ifndef LAYOUT_HPP
#define LAYOUT_HPP

namespace shop {

struct Size {
    unsigned width, height;
    Size operator+(const Size &other) const {
        return Size{width + other.width, height + other.height};
    }
};

template <class Unit, unsigned Limit> class Stack {
  public:
    void push(Unit unit) {
        if (count < Limit) {
            units[count++] = unit;
        }
    }
    Unit pop();
    bool empty() const {
        return count == 0;
    }

  private:
    Unit units[Limit] = {};
    unsigned count = 0;
};

template <class Unit, unsigned Limit> __attribute__((noinline)) Unit Stack<Unit, Limit>::pop() {
    return count ? units[--count] : Unit{};
}

namespace layout {

class Node {
  public:
    explicit Node(unsigned depth);
    virtual ~Node();
    virtual Size measure(unsigned available) const;
    static unsigned measured();

  protected:
    unsigned depth;
};

class RowNode final : public Node {
  public:
    explicit RowNode(unsigned depth) : Node(depth) {
    }
    Size measure(unsigned available) const override;
};

/* Applies visit to every level; the lambdas of the callers are inlined through it. */
template <class Visit> inline unsigned each_level(unsigned levels, Visit visit) {
    unsigned sum = 0;
    for (unsigned i = 0; i < levels; i++) {
        sum += visit(i);
    }
    return sum;
}

} // namespace layout

unsigned round_to_pixel(unsigned value);

} // namespace shop

#endif
