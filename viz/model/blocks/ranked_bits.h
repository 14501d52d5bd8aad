// RankedBits: marks some of many numbered things, at a bit each, and finds the n-th marked one, or
// the rank of a number, in O(log n). It may be read while it is filled: readers see the part that
// is published, so that the first rows of a long list show immediately.
//
// One writer, any number of readers.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemark::viz {

class RankedBits {
  public:
    // Room for things numbered below `size`, none of them marked.
    explicit RankedBits(std::size_t size)
        : size_(size), bits_(size / 64 + 1), ranks_(size / kStride + 2) {}

    // --- the writer's ---------------------------------------------------------------------------
    // Numbers come in ascending order, each below size().

    void add(std::size_t number) { bits_[number / 64] |= std::uint64_t{1} << number % 64; }

    // All numbers below `end` have been decided; amortised O(end / 64). A multiple of kStride, or
    // size().
    void publish(std::size_t end) {
        std::size_t stride = published_.load(std::memory_order_relaxed) / kStride;
        for (; (stride + 1) * kStride <= end; ++stride)
            ranks_[stride + 1] = ranks_[stride] + ones(stride * kUnits, (stride + 1) * kUnits);
        published_.store(end, std::memory_order_release);
    }

    // --- the readers' ---------------------------------------------------------------------------

    std::size_t size() const { return size_; }

    // How many are decided.
    std::size_t published() const { return published_.load(std::memory_order_acquire); }

    bool complete() const { return published() == size_; }

    // The decided part of all: 0 to 1.
    double share() const {
        return size_ == 0 ? 1 : static_cast<double>(published()) / static_cast<double>(size_);
    }

    // There are `count` things by now, enough more to be worth deciding all of them again. `whole`:
    // there will be no others.
    bool outgrown(std::size_t count, bool whole) const {
        return count > size_ && (whole || count - size_ > size_ / 8 + kStride);
    }

    // How many of the decided ones are marked. O(1).
    std::size_t count() const { return rank(published()); }

    bool contains(std::size_t number) const {
        return number < published() && (bits_[number / 64] >> number % 64 & 1) != 0;
    }

    // How many marked ones are below `number`, of those that are decided. O(1).
    std::size_t rank(std::size_t number) const {
        const std::size_t end = published();
        number = number < end ? number : end;
        const std::size_t word = number / 64;
        std::size_t rank = ranks_[number / kStride] + ones(number / kStride * kUnits, word);
        if (number % 64 != 0)
            rank += static_cast<std::size_t>(
                std::popcount(bits_[word] & ((std::uint64_t{1} << number % 64) - 1)));
        return rank;
    }

    // The number of the `nth` marked one, from 0 on; size() if there are fewer. O(log).
    std::size_t select(std::size_t nth) const {
        if (nth >= count())
            return size_;
        std::size_t low = 0;  // a stride whose rank is not above nth
        std::size_t high = published() / kStride + 1;
        while (low + 1 < high) {
            const std::size_t middle = (low + high) / 2;
            (ranks_[middle] <= nth ? low : high) = middle;
        }
        std::size_t left = nth - ranks_[low];
        std::size_t word = low * kUnits;
        for (;; ++word) {
            const auto inside = static_cast<std::size_t>(std::popcount(bits_[word]));
            if (left < inside)
                break;
            left -= inside;
        }
        std::uint64_t bits = bits_[word];
        for (; left > 0; --left)
            bits &= bits - 1;
        return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    }

    static constexpr std::size_t kStride = 4096;  // numbers for each rank that is kept

  private:
    static constexpr std::size_t kUnits = kStride / 64;

    std::size_t ones(std::size_t begin, std::size_t end) const {
        std::size_t sum = 0;
        for (std::size_t word = begin; word < end; ++word)
            sum += static_cast<std::size_t>(std::popcount(bits_[word]));
        return sum;
    }

    std::size_t size_;
    std::vector<std::uint64_t> bits_;
    std::vector<std::size_t> ranks_;  // ranks_[i]: how many below i * kStride
    std::atomic<std::size_t> published_ = 0;
};

}  // namespace tidemark::viz
