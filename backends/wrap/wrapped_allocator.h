// WrappedAllocator: a ForwardingAllocator that owns what it forwards to. What watches allocators
// derives from it and overrides the calls it watches.
//
// Not thread-safe.
#pragma once

#include <memory>

#include "core/allocator/forwarding_allocator.h"

namespace tidemark {

class WrappedAllocator : public ForwardingAllocator {
  public:
    explicit WrappedAllocator(std::unique_ptr<Allocator> inner);

    // Of the inner allocator, not wrapped: it talks to a device that nobody watches.
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    std::unique_ptr<Allocator> owned_;
};

}  // namespace tidemark
