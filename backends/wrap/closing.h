// ClosingAllocator: an Allocator over an Allocator that remembers what is live, so that a program
// that ended without freeing everything can be cleaned up. What is left on the device then is a
// leak, and the next program can use all of it.
//
// Not thread-safe. Costs a look-up by address a call; memory O(live allocations).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "backends/wrap/wrapped_allocator.h"

namespace tidemark {

class ClosingAllocator final : public WrappedAllocator {
  public:
    explicit ClosingAllocator(std::unique_ptr<Allocator> inner)
        : WrappedAllocator(std::move(inner)) {}

    // Frees everything that is live, in the order in which it was granted, ends and closes all
    // private pools and trims everything. O(live allocations log live allocations) plus the cost of
    // these calls.
    void close();

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void begin_pool(PoolId pool, PoolTraits traits) override;
    void end_pool(PoolId pool) override;
    void close_pool(PoolId pool) override;

  private:
    struct Live {
        Allocation allocation;
        StreamId stream = StreamId::default_stream;
        std::uint64_t number = 0;  // of the grant
    };

    std::uint64_t grants_ = 0;
    std::unordered_map<std::uint64_t, Live> live_;  // by address
    std::map<PoolId, std::uint64_t> pools_;  // private ones that nobody has closed: open scopes
};

}  // namespace tidemark
