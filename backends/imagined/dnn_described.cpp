// What descriptors were given, and the three operations that are convolutions.
#include "backends/imagined/dnn_described.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "backends/imagined/dnn_book.h"
#include "backends/imagined/dnn_names.h"

namespace tidemark::imagined {
namespace {

constexpr std::int64_t kAttentionWorkspace = 256;

bool is_attention(int operation) {
    return operation == kMatmul || operation >= kFirstAttention;
}

// Which attributes of an operation are its convolution and its tensors.
struct Roles {
    int type;
    const char* kind;
    int convolution, image, filter, output;
};

constexpr std::array<Roles, 3> kRoles{
    {{kConvolutionForward, "FORWARD", kForwardConvolution, kForwardX, kForwardW, kForwardY},
     {kConvolutionBackwardData, "BACKWARD_DATA", kDataConvolution, kDataDx, kDataW, kDataDy},
     {kConvolutionBackwardFilter, "BACKWARD_FILTER", kFilterConvolution, kFilterX, kFilterDw,
      kFilterDy}}};

// Of cudnnDataType_t.
const std::map<std::int64_t, const char*> kDataTypes{
    {0, "FLOAT"}, {1, "DOUBLE"}, {2, "HALF"}, {9, "BFLOAT16"}};

// Programs destroy a descriptor as soon as another has taken it: its contents are shared.
struct Known {
    int type = 0;
    std::map<int, DnnSizes> numbers;
    std::map<int, std::shared_ptr<const Known>> parts;

    DnnSizes number(int name) const {
        const auto found = numbers.find(name);
        return found == numbers.end() ? DnnSizes{} : found->second;
    }

    const Known& part(int name) const {
        static const Known none;
        const auto found = parts.find(name);
        return found == parts.end() ? none : *found->second;
    }
};

DnnTensor tensor(const Known& known) {
    const DnnSizes type = known.number(kTensorType);
    const auto name = kDataTypes.find(type.empty() ? -1 : type.front());
    return {name == kDataTypes.end() ? "" : name->second, known.number(kTensorDimensions),
            known.number(kTensorStrides)};
}

std::int64_t workspace(const Known& operation) {
    if (is_attention(operation.type))
        return kAttentionWorkspace;
    const auto roles = std::find_if(kRoles.begin(), kRoles.end(),
                                    [&](const Roles& one) { return one.type == operation.type; });
    if (roles == kRoles.end())
        return 0;
    const Known& convolution = operation.part(roles->convolution);
    const Convolution whole{roles->kind,
                            tensor(operation.part(roles->image)),
                            tensor(operation.part(roles->filter)),
                            tensor(operation.part(roles->output)),
                            convolution.number(kPaddings),
                            convolution.number(kStrides),
                            convolution.number(kDilations)};
    return measured_convolution(whole).value_or(0);
}

}  // namespace

struct DescribedDnn {
    std::shared_ptr<Known> known = std::make_shared<Known>();
    std::shared_ptr<const Known> operation;  // which this is for
};

DescribedDnn* describe(int type) {
    auto* const descriptor = new DescribedDnn;
    descriptor->known->type = type;
    return descriptor;
}

void forget(DescribedDnn* descriptor) {
    delete descriptor;
}

void set_described(DescribedDnn& to, int name, int type, std::int64_t count, const void* values) {
    if (count <= 0 || values == nullptr)
        return;
    if (type == kTypeInt64) {
        const auto* const numbers = static_cast<const std::int64_t*>(values);
        to.known->numbers[name].assign(numbers, numbers + count);
    } else if (type == kTypeDataType) {
        to.known->numbers[name] = {*static_cast<const int*>(values)};
    } else if (type == kTypeDescriptor) {
        auto* const* const given = static_cast<DescribedDnn* const*>(values);
        if (name == kGraphOperations) {
            for (std::int64_t index = 0; index < count; ++index)
                if (to.operation == nullptr || is_attention(given[index]->known->type))
                    to.operation = given[index]->known;
        } else if (name == kHeuristicsGraph || name == kEngineGraph || name == kConfigEngine ||
                   name == kPlanConfig) {
            to.operation = given[0]->operation;
        } else {
            to.known->parts[name] = given[0]->known;
        }
    }
}

int get_described(const DescribedDnn& from, int name, bool wanted, void* out) {
    switch (name) {
        case kHeuristicsResults:
        case kConfigEngine:
            if (wanted)
                (*static_cast<DescribedDnn**>(out))->operation = from.operation;
            return 1;
        case kGraphEngineCount:
            if (wanted)
                *static_cast<std::int64_t*>(out) = 1;
            return 1;
        case kPlanWorkspace:
            if (wanted)
                *static_cast<std::int64_t*>(out) =
                    from.operation == nullptr ? 0 : workspace(*from.operation);
            return 1;
        case kEngineIndex:
        case kConfigWorkspace:
            if (wanted)
                *static_cast<std::int64_t*>(out) = 0;
            return 1;
        case kConfigSharedMemory:
            if (wanted)
                *static_cast<int*>(out) = 0;
            return 1;
        default:
            return 0;
    }
}

}  // namespace tidemark::imagined
