// cuDNN's recurrent networks: how much memory they request. They compute nothing.
//
// The sizes are ours, from what cuDNN 9.19 reported on an H100 for 1,347 networks: the weights of
// all of them to the byte, and the reserved and working memory of the standard algorithm (505 of
// 656 to the byte, the others to 22 %). The persistent ones are assumed to need the same. A part of
// the measurement is in tests/python/rnn_sizes.json.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/imagined/api.h"
#include "backends/imagined/dnn_tensor.h"
#include "core/base/units.h"

namespace tidemark::imagined {
namespace {

constexpr int kLstm = 2, kGru = 3;                                            // cudnnRNNMode_t
constexpr int kNoBias = 0, kOneInput = 1, kTwoBiases = 2, kOneRecurrent = 3;  // cudnnRNNBiasMode_t

constexpr std::size_t kStreamBytes = std::size_t{8} << 20;  // of each layer and direction
constexpr std::size_t kHeader = 256, kUnit = 32;

// What descriptors contain; they are in what `unknown` hands out for cudnnCreate...Descriptor.
struct Network {
    int cell, bias, bidirectional, type;
    std::size_t input, hidden, projected, layers;
    bool padded;

    std::size_t directions() const { return bidirectional != 0 ? 2 : 1; }

    std::size_t gates() const { return cell == kLstm ? 4 : cell == kGru ? 3 : 1; }

    std::size_t element() const {
        constexpr int kDouble = 1, kHalf = 2, kBfloat16 = 9;
        return type == kDouble ? 8 : type == kHalf || type == kBfloat16 ? 2 : 4;
    }

    std::size_t inputs(std::size_t layer) const {
        return layer == 0 ? input : projected * directions();
    }

    std::size_t matrices(std::size_t layer) const {
        const std::size_t projection = projected != hidden ? projected * hidden : 0;
        return gates() * hidden * (inputs(layer) + projected) + projection;
    }

    std::size_t biases() const {
        const std::size_t kinds = bias == kNoBias ? 0 : bias == kTwoBiases ? 2 : 1;
        return kinds * gates() * hidden;
    }

    std::size_t all_matrices() const {
        std::size_t sum = 0;
        for (std::size_t layer = 0; layer < layers; ++layer)
            sum += matrices(layer) * directions();
        return sum;
    }

    std::size_t weights() const {
        return (all_matrices() + biases() * layers * directions()) * element();
    }
};

struct Batch {
    std::size_t steps, rows, elements;  // steps x rows, or fewer for sequences that end earlier
};

struct Sizes {
    std::size_t work = 0, reserve = 0;
};

Sizes sizes_of(const Network& net, const Batch& batch, bool training) {
    const std::size_t state = batch.rows * net.hidden * net.element();
    const std::size_t all = batch.elements * net.hidden * net.element();
    const std::size_t input = batch.elements * net.input * net.element();
    const std::size_t layers = net.layers, both = net.directions();
    const bool twice = both == 2;
    const std::size_t around = twice ? 4 : 0;  // what two directions together need
    const std::size_t kept = net.cell == kLstm ? 6 : net.cell == kGru ? 3 : 1;
    const std::size_t forward =
        (both * net.gates() + around) * all + (both * kept + around) * layers * state;
    const std::size_t kept_back = net.cell == kLstm ? 3 : 1;
    const std::size_t copies = twice ? 4 : 1;
    const std::size_t most = std::max(input, all);
    const std::size_t backward = copies * most + (twice && layers > 1 ? 4 : both) * all +
                                 (both * kept_back + around) * layers * state;
    Sizes sizes;
    sizes.work = kStreamBytes * layers * both +
                 align_up(net.all_matrices() * net.element(), kUnit) + kHeader +
                 (training ? std::max(forward, backward) : forward);
    if (net.padded) {
        const std::size_t states = net.cell == kLstm ? 4 : 2;
        sizes.work += input + both * all + states * layers * both * state +
                      align_up(2 * batch.rows * sizeof(std::int32_t), kUnit);
    }
    if (training) {
        const std::size_t of_cell = net.cell == kLstm ? 5 : net.cell == kGru ? 6 : 1;
        sizes.reserve = align_up(both * (of_cell * layers + layers - 1) * all, kUnit) + kHeader;
    }
    return sizes;
}

// A tensor of a layer's weights, whose elements are contiguous.
TensorDescriptor dense(int type, std::size_t rows, std::size_t columns) {
    const auto height = static_cast<int>(rows), width = static_cast<int>(columns);
    return {type, 3, {1, height, width}, {height * width, width, 1}};
}

// Callers that don't need one pass null.
void say(const TensorDescriptor& tensor, char* address, TensorDescriptor* to, char** address_to) {
    if (to != nullptr)
        *to = tensor;
    if (address_to != nullptr)
        *address_to = address;
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cudnnSetRNNDescriptor_v8)

(Network* net, int, int cell, int bias, int direction, int, int type, int, int, int input,
 int hidden, int projected, int layers, void*, unsigned flags) {
    constexpr unsigned kPadded = 1;
    *net = {cell,
            bias,
            direction,
            type,
            static_cast<std::size_t>(input),
            static_cast<std::size_t>(hidden),
            static_cast<std::size_t>(projected),
            static_cast<std::size_t>(layers),
            (flags & kPadded) != 0};
    return kSuccess;
}

IMAGINED(int, cudnnSetRNNDataDescriptor)

(Batch* batch, int, int, int steps, int rows, int, const int* lengths, void*) {
    *batch = {static_cast<std::size_t>(steps), static_cast<std::size_t>(rows), 0};
    for (int row = 0; row < rows; ++row)
        batch->elements += static_cast<std::size_t>(lengths[row]);
    return kSuccess;
}

IMAGINED(int, cudnnGetRNNWeightSpaceSize)(void*, const Network* net, std::size_t* bytes) {
    *bytes = net->weights();
    return kSuccess;
}

IMAGINED(int, cudnnGetRNNTempSpaceSizes)

(void*, const Network* net, int mode, const Batch* batch, std::size_t* work, std::size_t* reserve) {
    const Sizes sizes = sizes_of(*net, *batch, mode != 0);
    *work = sizes.work;
    if (reserve != nullptr)
        *reserve = sizes.reserve;
    return kSuccess;
}

// Matrices of all layers, one after another, then their biases; of a layer first those of the
// input, then those of the state, then the projection.
IMAGINED(int, cudnnGetRNNWeightParams)

(void*, const Network* net, int layer, std::size_t, char* weights, int number,
 TensorDescriptor* matrix, char** matrix_at, TensorDescriptor* bias, char** bias_at) {
    const auto which = static_cast<std::size_t>(number);
    const auto pseudo = static_cast<std::size_t>(layer);
    const std::size_t gates = net->gates();
    const std::size_t level = pseudo / net->directions();
    std::size_t at = 0;
    for (std::size_t before = 0; before < pseudo; ++before)
        at += net->matrices(before / net->directions());
    const std::size_t inputs = net->inputs(level);
    const bool projection = which == 2 * gates;
    at += net->hidden *
          (std::min(which, gates) * inputs + (which > gates ? which - gates : 0) * net->projected);
    const std::size_t columns = projection ? net->hidden : which < gates ? inputs : net->projected;
    const std::size_t rows = projection ? net->projected : net->hidden;
    say(dense(net->type, rows, columns), weights + at * net->element(), matrix, matrix_at);
    const bool has_bias =
        !projection && (net->bias == kTwoBiases || (net->bias == kOneInput && which < gates) ||
                        (net->bias == kOneRecurrent && which >= gates));
    const std::size_t first = net->bias == kTwoBiases || which < gates ? which : which - gates;
    const std::size_t bias_at_element =
        net->all_matrices() + pseudo * net->biases() + first * net->hidden;
    say(dense(net->type, net->hidden, 1),
        has_bias ? weights + bias_at_element * net->element() : nullptr, bias, bias_at);
    return kSuccess;
}
