// SteadyArray: an array that grows at its end while others read the existing elements, which never
// move. One thread adds; any number of threads read below the size() that they have seen.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

namespace tidemark {

template <class T>
class SteadyArray {
  public:
    SteadyArray() = default;

    SteadyArray(const SteadyArray& other) {
        for (std::size_t i = 0; i < other.size(); ++i)
            push_back(other[i]);
    }

    SteadyArray(SteadyArray&& other) noexcept
        : chunks_(std::move(other.chunks_)), size_(other.size_.exchange(0)) {}

    SteadyArray& operator=(SteadyArray other) noexcept {
        chunks_ = std::move(other.chunks_);
        size_.store(other.size_.exchange(0), std::memory_order_release);
        return *this;
    }

    // Amortised O(1).
    void push_back(T value) {
        const std::size_t index = size_.load(std::memory_order_relaxed);
        const Position position = position_of(index);
        if (!chunks_[position.chunk])
            chunks_[position.chunk] = std::make_unique<T[]>(kFirst << position.chunk);
        chunks_[position.chunk][position.offset] = std::move(value);
        size_.store(index + 1, std::memory_order_release);
    }

    const T& operator[](std::size_t index) const {
        const Position position = position_of(index);
        return chunks_[position.chunk][position.offset];
    }

    std::size_t size() const { return size_.load(std::memory_order_acquire); }

  private:
    struct Position {
        std::size_t chunk;
        std::size_t offset;
    };

    static constexpr std::size_t kFirst = 16;  // elements of the first chunk; each next has twice
    static constexpr std::size_t kChunks = 40;

    static constexpr Position position_of(std::size_t index) {
        const auto chunk = static_cast<std::size_t>(std::bit_width(index / kFirst + 1)) - 1;
        return {chunk, index - kFirst * ((std::size_t{1} << chunk) - 1)};
    }

    std::array<std::unique_ptr<T[]>, kChunks> chunks_;
    std::atomic<std::size_t> size_ = 0;
};

}  // namespace tidemark
