// WrappedAllocator: a ForwardingAllocator that owns what it forwards to. Classes that observe
// allocators derive from it and override the calls that they observe.
//
// Not thread-safe.
#pragma once

#include <memory>

#include "core/allocator/forwarding_allocator.h"

namespace tidemark {

class WrappedAllocator : public ForwardingAllocator {
  public:
    explicit WrappedAllocator(std::unique_ptr<Allocator> inner);

    // A clone of the inner allocator, not wrapped: it uses a device that nobody observes.
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    std::unique_ptr<Allocator> owned_;
};

}  // namespace tidemark
