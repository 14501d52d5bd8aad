// cuDNN's workspaces as reported on a GPU: measured there (dnn_measure.cpp), and used where there
// is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::imagined {

// A plan's name: a hash of its JSON (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) without the
// device and the alignment of pointers, which differ between a GPU and its description.
// Hexadecimal; "" if it isn't JSON.
std::string plan_key(const std::string& json);

using DnnSizes = std::vector<std::int64_t>;

struct DnnTensor {
    std::string type;  // "FLOAT", as cuDNN's names end
    DnnSizes sizes, strides;
};

// A convolution, as described also by a program that has no cuDNN to make a plan.
struct Convolution {
    std::string kind;  // "FORWARD", "BACKWARD_DATA", "BACKWARD_FILTER"
    DnnTensor image, filter, output;
    DnnSizes paddings, strides, dilations;
};

// Its name: "FORWARD FLOAT 5,3,8,8:192,64,8,1 FLOAT ... pad 1,1 stride 1,1 dilation 1,1".
std::string convolution_name(const Convolution& one);

// The name of the convolution that a plan computes; "" if it computes anything else.
std::string convolution_of_plan(const std::string& json);

// Workspaces in bytes, by either name.
struct DnnBook {
    std::map<std::string, std::int64_t> plans;
    std::map<std::string, std::int64_t> convolutions;
};

// The run's entry for a plan, by its JSON. Thread-safe, like the next; both count how many
// different ones it has and hasn't, for workspaces_measured().
std::optional<std::int64_t> measured_plan(const std::string& json);

// The same for a convolution, by the plan that was chosen for it.
std::optional<std::int64_t> measured_convolution(const Convolution& one);

}  // namespace tidemark::imagined
