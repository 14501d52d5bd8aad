// Operator shapes: which factors a request's size has, if the recording has the operators that
// requested memory and the shapes of their arguments (`tidemark.torch.record(shapes=True)`).
//
// The first dimension of an argument that isn't a weight is the batch, or the batch times
// something; the second of three is the length. Only sizes that are products with these dimensions
// are explained.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

// The arguments of an operator, in order; ints are one-dimensional and not tensors.
struct OperatorShapes {
    struct Argument {
        bool is_tensor = false;
        std::vector<std::int64_t> dims;
    };

    std::string name;
    std::vector<Argument> arguments;
};

// Of "aten::addmm [768] [8192, 3072] [3072, 768]" (docs/format-live.md); nothing of another text.
OperatorShapes parse_operator(std::string_view text);

// What a program's steps work on; 0 = not known.
struct BatchShape {
    std::int64_t batch = 0;
    std::int64_t length = 0;
};

// Powers of batch and length that a size has.
struct AxisPowers {
    std::uint8_t batch = 0, length = 0;

    friend bool operator==(const AxisPowers&, const AxisPowers&) = default;
};

struct ShapedRequest {
    Bytes size = 0;
    const OperatorShapes* shapes = nullptr;
};

// Whether it is the size of something that lasts, perhaps in another precision: of a weight, of its
// gradient or a copy. O(log n).
bool is_as_large_as_lasting(std::span<const Bytes> lasting, Bytes size);

// Whether all tensors among the arguments are as large as something that lasts, and there are some.
bool works_on_weights(const OperatorShapes& shapes, std::span<const Bytes> lasting);

// The batch and the length of a step of these requests: the largest first dimension that nearly
// all bytes' first dimensions are multiples of, and the second that most bytes have of three.
// `lasting` are the sizes of weights, rising. O(requests).
BatchShape find_batch(std::span<const ShapedRequest> requests, std::span<const Bytes> lasting);

// How `request` grows, in a step of that batch; none: its size isn't a product of its operator's
// dimensions. O(its arguments).
std::optional<AxisPowers> powers_of(const ShapedRequest& request, const BatchShape& step,
                                    std::span<const Bytes> lasting);

}  // namespace tidemark
