// Workspaces of cuDNN's batch normalisation.
//
// From what cuDNN 9.19 reported on an H200 for 2,664 shapes of three types, all of which these
// rules reproduce to the byte: for tensors that are channels-last, in the persistent mode that
// PyTorch uses then, blocks of channels have partial sums of tiles of rows. Other modes take none,
// and nothing is kept for the backward pass.
#include <cstddef>
#include <cstdint>

#include "backends/imagined/api.h"
#include "backends/imagined/dnn_tensor.h"

namespace tidemark::imagined {
namespace {

constexpr int kPersistent = 2;  // CUDNN_BATCHNORM_SPATIAL_PERSISTENT
constexpr int kFloat = 0;       // CUDNN_DATA_FLOAT

std::size_t in_tiles(std::size_t size, std::size_t tile) {
    return (size + tile - 1) / tile;
}

// Channels that are computed together, and how many more rows a tile has for them.
struct Block {
    std::size_t channels = 64, longer = 1;
};

Block block_of(std::size_t channels) {
    if (channels % 4 == 0)
        return {};
    return channels < 4 ? Block{4, 4} : Block{16, 1};
}

bool persistent(int mode, const TensorDescriptor& tensor) {
    return mode == kPersistent && tensor.dims > 2 && tensor.strides[1] == 1;
}

std::size_t rows_of(const TensorDescriptor& tensor) {
    std::size_t rows = static_cast<std::size_t>(tensor.sizes[0]);
    for (std::size_t dim = 2; dim < static_cast<std::size_t>(tensor.dims); ++dim)
        rows *= static_cast<std::size_t>(tensor.sizes[dim]);
    return rows;
}

std::size_t forward_bytes(const TensorDescriptor& tensor) {
    const auto channels = static_cast<std::size_t>(tensor.sizes[1]);
    const Block block = block_of(channels);
    const std::size_t rows = (tensor.type == kFloat ? 64 : 160) * block.longer;
    const std::size_t sums = (2 * block.channels + 1) * in_tiles(rows_of(tensor), rows) + 1;
    return 1072 + in_tiles(channels, block.channels) * sums * sizeof(float);
}

std::size_t backward_bytes(const TensorDescriptor& tensor) {
    const auto channels = static_cast<std::size_t>(tensor.sizes[1]);
    const Block block = block_of(channels);
    const std::size_t sums = 2 * block.channels * in_tiles(rows_of(tensor), 96 * block.longer) + 1;
    return 1056 + in_tiles(channels, block.channels) * sums * sizeof(float);
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize)

(void*, int mode, int, const TensorDescriptor* x, void*, void*, void*, void*, std::size_t* size) {
    *size = persistent(mode, *x) ? forward_bytes(*x) : 0;
    return kSuccess;
}

IMAGINED(int, cudnnGetBatchNormalizationBackwardExWorkspaceSize)

(void*, int mode, int, const TensorDescriptor* x, void*, void*, void*, void*, void*, void*,
 std::size_t* size) {
    *size = persistent(mode, *x) ? backward_bytes(*x) : 0;
    return kSuccess;
}

IMAGINED(int, cudnnGetBatchNormalizationTrainingExReserveSpaceSize)

(void*, int, int, void*, void*, std::size_t* size) {
    *size = 0;
    return kSuccess;
}
