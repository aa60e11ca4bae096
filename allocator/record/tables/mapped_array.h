// Growable array in its own mapping: no malloc, no copy on growth, pointers stay valid. It reserves
// address space for the capacity once; the kernel adds pages as they are touched. Used by the
// recorder inside the program and by replay. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

#include "mapped_memory.h"

namespace peakline::record {

template <class T>
class MappedArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    MappedArray() = default;
    ~MappedArray() { release(); }
    MappedArray(const MappedArray&) = delete;
    MappedArray& operator=(const MappedArray&) = delete;

    // Reserves room for `capacity` elements. False when the kernel refuses; the array stays empty.
    bool reserve(size_t capacity) {
        release();
        void* const memory = map_zeroed(capacity * sizeof(T));
        if (memory == nullptr) {
            return false;
        }
        data_ = static_cast<T*>(memory);
        capacity_ = capacity;
        return true;
    }

    // Empties the array and ensures room for `capacity` elements; elements that were used are not
    // zero. False if the kernel refuses.
    bool clear_with_room(size_t capacity) {
        clear();
        return capacity_ >= capacity || reserve(capacity);
    }

    // False when full: the caller counts the lost element.
    bool push(const T& value) {
        if (size_ == capacity_) {
            return false;
        }
        data_[size_++] = value;
        return true;
    }

    void clear() { size_ = 0; }
    // Keeps the first `size` elements, or appends zeroed ones. False when over the capacity.
    bool resize(size_t size) {
        if (size > capacity_) {
            return false;
        }
        for (size_t i = size_; i < size; ++i) {
            data_[i] = T{};
        }
        size_ = size;
        return true;
    }

    // Sets the size without touching memory: fresh pages of the kernel are zero.
    bool resize_untouched(size_t size) {
        if (size > capacity_) {
            return false;
        }
        size_ = size;
        return true;
    }
    void swap(MappedArray& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    T& operator[](size_t index) { return data_[index]; }
    const T& operator[](size_t index) const { return data_[index]; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }

private:
    void release() {
        if (data_ != nullptr) {
            munmap(data_, capacity_ * sizeof(T));
        }
        data_ = nullptr;
        size_ = capacity_ = 0;
    }

    T* data_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

}  // namespace peakline::record
