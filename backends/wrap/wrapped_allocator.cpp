// A clone is the inner allocator's.
#include "backends/wrap/wrapped_allocator.h"

#include <utility>

namespace tidemark {

WrappedAllocator::WrappedAllocator(std::unique_ptr<Allocator> inner)
    : ForwardingAllocator(*inner), owned_(std::move(inner)) {}

std::unique_ptr<Allocator> WrappedAllocator::clone(Device& device) const {
    return clone_inner(device);
}

}  // namespace tidemark
