// Outputs of kernels by their types, and where they are.
#include "backends/imagined/writes.h"

#include <algorithm>
#include <cstring>

#include <pthread.h>

#include "backends/imagined/names.h"

namespace tidemark::imagined {
namespace {

constexpr std::size_t kLargestStructure = 1024;

std::string_view without_restrict(std::string_view type) {
    constexpr std::string_view kRestrict = " __restrict__";
    return type.substr(0, type.size() - (type.ends_with(kRestrict) ? kRestrict.size() : 0));
}

bool may_write(std::string_view type) {
    if (type.ends_with('*'))
        return !type.ends_with("const*");
    if (type.ends_with('}'))  // a lambda
        return true;
    for (const std::string_view tensor :
         {"TensorInfo<", "TensorAccessor", "Array<char*", "array<char*"})
        if (const std::size_t found = type.find(tensor); found != std::string_view::npos)
            // "TensorInfo<float const, int>": the elements are only read.
            return !holds(type.substr(found, type.find_first_of(",>", found) - found), " const");
    return false;
}

// A lambda holds what it uses in the order of first uses: those of scatter() start with the index.
std::size_t pointers_before_output(std::string_view type) {
    return holds(type, "scatter_gather_internal_kernel<true") ||
                   holds(type, "scatter_fill_internal_kernel")
               ? 1
               : 0;
}

const std::byte* end_of_stack() {
    static thread_local const std::byte* const end = [] {
        pthread_attr_t attributes;
        void* begin = nullptr;
        std::size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            pthread_attr_getstack(&attributes, &begin, &size);
            pthread_attr_destroy(&attributes);
        }
        return static_cast<const std::byte*>(begin) + size;
    }();
    return end;
}

// The latest possible end of what begins at `at`: the next argument, or the end of the stack.
const std::byte* end_of(const std::byte* at, void** arguments, std::size_t count) {
    const auto* const here = reinterpret_cast<const std::byte*>(__builtin_frame_address(0));
    if (at < here || at >= end_of_stack())
        return at;
    const std::byte* end = std::min(at + kLargestStructure, end_of_stack());
    for (std::size_t index = 0; index < count; ++index)
        if (const auto* const other = static_cast<const std::byte*>(arguments[index]); other > at)
            end = std::min(end, other);
    return end;
}

}  // namespace

std::vector<Output> outputs_of(const std::vector<std::string_view>& parameters) {
    std::vector<Output> found;
    for (std::size_t index = 0; index < parameters.size(); ++index) {
        const std::string_view type = without_restrict(parameters[index]);
        if (may_write(type))
            found.push_back({index, type.ends_with('*'), pointers_before_output(type)});
    }
    return found;
}

void forget_outputs(const std::vector<Output>& outputs, void** arguments, std::size_t count,
                    Contents& contents) {
    for (const Output& output : outputs) {
        if (output.parameter >= count)
            continue;
        const auto* at = static_cast<const std::byte*>(arguments[output.parameter]);
        const std::byte* const end =
            output.is_pointer ? at + sizeof(std::uint64_t) : end_of(at, arguments, count);
        for (std::size_t seen = 0;
             at + sizeof(std::uint64_t) <= end && seen <= output.pointers_before;
             at += sizeof(std::uint64_t)) {
            std::uint64_t pointer = 0;
            std::memcpy(&pointer, at, sizeof pointer);
            const auto owner = contents.owner_of(pointer);
            if (owner && seen++ == output.pointers_before)
                contents.forget(owner->begin, owner->size);
        }
    }
}

}  // namespace tidemark::imagined
