// GrowingArray: a vector for tens of millions of small records that are only ever appended.
//
// Grows by remapping pages instead of copying them, so the peak is the array itself and not the old
// and the new one together. Trivially copyable elements only; pointers into it are valid until the
// next push_back. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "traces/io/growing_block.h"

namespace tidemark {

template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    GrowingArray() = default;

    GrowingArray(GrowingArray&& other) noexcept { swap(other); }

    GrowingArray& operator=(GrowingArray&& other) noexcept {
        GrowingArray moved(std::move(other));
        swap(moved);
        return *this;
    }

    GrowingArray(const GrowingArray&) = delete;
    GrowingArray& operator=(const GrowingArray&) = delete;

    ~GrowingArray() { resize_block(data_, capacity_ * sizeof(T), 0); }

    // Amortised O(1).
    void push_back(const T& value) {
        if (size_ == capacity_) [[unlikely]] {
            const T kept = value;  // may be an element of this very array
            reserve(capacity_ == 0 ? 64 : capacity_ * 2);
            data_[size_++] = kept;
            return;
        }
        data_[size_++] = value;
    }

    // `values` may not be elements of this array. Amortised O(values).
    void append(std::span<const T> values) {
        if (values.size() > capacity_ - size_)
            reserve(std::max(size_ + values.size(), capacity_ * 2));
        std::copy(values.begin(), values.end(), data_ + size_);
        size_ += values.size();
    }

    // Grows or shrinks to `count`; new elements are `value`.
    void resize(std::size_t count, const T& value) {
        if (count > capacity_)
            reserve(count > capacity_ * 2 ? count : capacity_ * 2);
        for (std::size_t i = size_; i < count; ++i)
            data_[i] = value;
        size_ = count;
    }

    // `count` <= size(). O(1).
    void truncate(std::size_t count) { size_ = count; }

    T& operator[](std::size_t i) { return data_[i]; }

    const T& operator[](std::size_t i) const { return data_[i]; }

    T* data() { return data_; }

    const T* data() const { return data_; }

    std::size_t size() const { return size_; }

    bool empty() const { return size_ == 0; }

    std::span<T> view(std::size_t begin, std::size_t count) { return {data_ + begin, count}; }

    std::span<const T> view(std::size_t begin, std::size_t count) const {
        return {data_ + begin, count};
    }

    // Makes room for `capacity` elements in total.
    void reserve(std::size_t capacity) {
        if (capacity <= capacity_)
            return;
        TM_CHECK(capacity <= static_cast<std::size_t>(-1) / sizeof(T) / 2);
        data_ = static_cast<T*>(resize_block(data_, capacity_ * sizeof(T), capacity * sizeof(T)));
        capacity_ = capacity;
    }

  private:
    void swap(GrowingArray& other) {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace tidemark
