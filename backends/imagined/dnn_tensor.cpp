// Setting and getting.
#include "backends/imagined/dnn_tensor.h"

#include <algorithm>

#include "backends/imagined/api.h"

using namespace tidemark::imagined;

IMAGINED(int, cudnnSetTensorNdDescriptor)

(TensorDescriptor* tensor, int type, int dims, const int* sizes, const int* strides) {
    *tensor = {type, std::min(dims, static_cast<int>(TensorDescriptor::kMostDims)), {}, {}};
    std::copy_n(sizes, tensor->dims, tensor->sizes.begin());
    std::copy_n(strides, tensor->dims, tensor->strides.begin());
    return kSuccess;
}

IMAGINED(int, cudnnGetTensorNdDescriptor)

(const TensorDescriptor* tensor, int wanted, int* type, int* dims, int* sizes, int* strides) {
    *type = tensor->type;
    *dims = tensor->dims;
    const int count = std::min(wanted, tensor->dims);
    std::copy_n(tensor->sizes.begin(), count, sizes);
    if (strides != nullptr)
        std::copy_n(tensor->strides.begin(), count, strides);
    return kSuccess;
}
