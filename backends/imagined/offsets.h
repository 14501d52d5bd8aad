// How PyTorch's kernels find the elements of tensors that aren't contiguous.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tidemark::imagined {

// OffsetCalculator<N>: dimensions, a divider and N strides of each.
class Offsets {
  public:
    static constexpr std::size_t kMostDims = 25;

    Offsets() = default;

    Offsets(const std::byte* at, std::size_t tensors) {
        std::memcpy(&dims_, at, sizeof dims_);
        const std::byte* const dividers = at + sizeof dims_;
        for (std::size_t dim = 0; dim < std::min<std::size_t>(dims_, kMostDims); ++dim) {
            std::memcpy(&sizes_[dim], dividers + dim * kDivider, sizeof sizes_[dim]);
            for (std::size_t one = 0; one < tensors; ++one)
                std::memcpy(
                    &strides_[dim][one],
                    dividers + kMostDims * kDivider + (dim * tensors + one) * sizeof(std::uint32_t),
                    sizeof(std::uint32_t));
        }
    }

    static std::size_t bytes(std::size_t tensors) {
        return sizeof(int) + kMostDims * (kDivider + tensors * sizeof(std::uint32_t));
    }

    // Does this look like one that PyTorch made, for this many elements?
    bool plausible(std::uint64_t elements) const {
        if (dims_ > kMostDims)
            return false;
        std::uint64_t product = 1;
        for (std::size_t dim = 0; dim < dims_; ++dim)
            product *= std::max<std::uint64_t>(sizes_[dim], 1);
        return product == elements;
    }

    // In bytes.
    std::uint64_t offset(std::uint64_t index, std::size_t tensor) const {
        std::uint64_t sum = 0;
        for (std::size_t dim = 0; dim < dims_; ++dim) {
            sum += index % sizes_[dim] * strides_[dim][tensor];
            index /= sizes_[dim];
        }
        return sum;
    }

  private:
    static constexpr std::size_t kDivider = 12;

    unsigned dims_ = 0;
    std::array<std::uint32_t, kMostDims> sizes_{};
    std::array<std::array<std::uint32_t, 3>, kMostDims> strides_{};
};

template <class T>
T read_as(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

}  // namespace tidemark::imagined
