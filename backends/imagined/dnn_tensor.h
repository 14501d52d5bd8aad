// cudnnTensorDescriptor_t: its contents, kept in the memory that its handle points to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tidemark::imagined {

struct TensorDescriptor {
    static constexpr std::size_t kMostDims = 8;

    int type = 0, dims = 0;  // cudnnDataType_t
    std::array<int, kMostDims> sizes{}, strides{};
};

}  // namespace tidemark::imagined
