// A member of a global that threads still use while the process ends.
#pragma once

namespace peakline::record {

template <class T>
class NeverDestroyed {
public:
    constexpr NeverDestroyed() : value_() {}
    constexpr ~NeverDestroyed() {}
    NeverDestroyed(const NeverDestroyed&) = delete;
    NeverDestroyed& operator=(const NeverDestroyed&) = delete;

    T* operator->() { return &value_; }

private:
    union {
        T value_;
    };
};

}  // namespace peakline::record
