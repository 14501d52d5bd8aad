// Size laws: how the size of each request of a program's step grows with the step's input.
//
// Steps are distinguished by their axes: the factors of all their sizes, relative to one step (the
// reference). With one axis ("tokens") the sizes that grow are its multiples, powers, or a constant
// more than that. With two, some grow with one of them alone: `length` is the one in which a size
// is quadratic, `batch` the other. If there is none, they have no names, and sizes that grow with
// one of them alone have an unknown law.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/scale/step_requests.h"

namespace tidemark {

// How much more of each axis: 2 = twice as much.
struct ScaleFactors {
    double batch = 1;
    double length = 1;
};

enum class LawKind : std::uint8_t {
    constant,
    multiple,  // of a product of the axes' powers
    shifted,   // of such, and a constant more
    rounded,   // near such, as sizes that kernels round up
    unknown,   // fits none, or grows with an axis without a name
};

struct SizeLaw {
    LawKind kind = LawKind::unknown;
    std::uint8_t batch = 1, length = 1;  // powers
    double slope = 0;  // of shifted: bytes that the reference step has of the part that grows
    Bytes most = kLargestRequest;  // of multiple: it grows up to that
};

// A step's position in the axes, relative to the reference.
struct StepAxes {
    double batch = 1, length = 1;
    bool alike = true;  // most of its requests are the reference's, and what it leaves too
};

struct SizeLaws {
    std::vector<SizeLaw> laws;
    std::vector<std::uint32_t> of_request;  // StepRequests::requests -> laws
    std::vector<std::uint32_t> of_step;     // -> steps; requests behind the last step: steps.size()
    std::vector<std::uint32_t> positions;   // -> requests of the reference step, or kUnaligned
    std::size_t reference = 0;              // the largest step, but for the first
    std::vector<StepAxes> steps;
    bool has_sizes = false;   // steps of different sizes; else laws are by shapes, or guessed
    bool by_chance = false;   // which differ little, and not because of the program's input
    bool has_length = false;  // the recording tells two axes apart
    BatchShape reference_shape = {};  // if the recording has shapes
    double guessed = 0;               // the share of the steps' bytes that no shape explains
    // Requests of steps by their law's kind, and bytes.
    std::array<std::uint64_t, 5> counts{};
    std::array<Bytes, 5> bytes{};

    // The size of that request after the growth, of which sizes without a law take the power
    // `unknown`: 0 = they stay as recorded, 1 = they grow as most of a step does. O(1).
    Bytes grown(const StepRequest& request, std::size_t index, const ScaleFactors& growth,
                double unknown = 1) const;
};

// If all steps have the same size, a size that is a product of the shapes recorded with it grows as
// these do. An allocation as large as something that lasts (a gradient, a copy of a weight in
// another precision) is assumed to be constant, and everything else to grow as most of a step does.
// Nothing is learned from the step `kept_back`, if there is one: its axes follow from the other
// steps' laws. Errors (unsupported): there are fewer than two steps. O(requests x what align_steps
// costs for steps of different orders).
Result<SizeLaws> find_size_laws(const StepRequests& requests,
                                std::optional<std::size_t> kept_back = {});

}  // namespace tidemark
