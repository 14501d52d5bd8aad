// The numbers from cudnn_backend.h that are used here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tidemark::imagined {

enum DnnType : int {
    kEngine = 2,
    kHeuristics = 4,
    kPlan = 5,
    kConvolutionForward = 10,
    kConvolutionBackwardFilter = 11,
    kConvolutionBackwardData = 12,
    kMatmul = 19,
    kDeviceProperties = 38,
    kFirstAttention = 41,
};

enum DnnAttribute : int {
    kDilations = 102,
    kStrides = 103,
    kPaddings = 105,
    kHeuristicsGraph = 201,
    kHeuristicsResults = 202,
    kHeuristicsDevice = 204,
    kConfigEngine = 300,
    kConfigWorkspace = 303,
    kConfigSharedMemory = 304,
    kPlanConfig = 401,
    kPlanWorkspace = 402,
    kPlanJson = 405,
    kPlanDevice = 407,
    kForwardConvolution = 702,  // of each operation: the convolution, W, X, Y in the order below
    kForwardW = 703,
    kForwardX = 704,
    kForwardY = 705,
    kDataConvolution = 708,
    kDataW = 709,
    kDataDx = 710,
    kDataDy = 711,
    kFilterConvolution = 714,
    kFilterDw = 715,
    kFilterX = 716,
    kFilterDy = 717,
    kGraphOperations = 801,
    kGraphEngineCount = 802,
    kTensorType = 901,
    kTensorDimensions = 902,
    kTensorStrides = 903,
    kEngineGraph = 1300,
    kEngineIndex = 1301,
    kEngineDevice = 1307,
    kJsonOfDevice = 2702,
};

constexpr int kTypeHandle = 0, kTypeDataType = 1, kTypeInt64 = 3, kTypeDescriptor = 15,
              kTypeCharacters = 24;

// A plan's own description, by cuDNN's `get` (cudnnBackendGetAttribute); "" if it has none.
template <class Get>
std::string plan_json(Get& get, void* plan) {
    constexpr std::size_t kLongest = std::size_t{1} << 18;
    std::string text(kLongest, '\0');
    std::int64_t size = 0;
    if (get(plan, kPlanJson, kTypeCharacters, kLongest - 1, &size, text.data()) != 0)
        return "";
    return text.c_str();
}

}  // namespace tidemark::imagined
