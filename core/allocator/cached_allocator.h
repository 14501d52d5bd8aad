// CachedAllocator: what a policy becomes behind the caches of SharedAllocator in a program with
// this many threads, as an Allocator of one thread. Replays use it to show what caches cost in
// memory.
//
// A recording does not say which thread made a request. Requests are dealt to the threads in turn,
// which spreads equal sizes over all caches and so shows the highest cost. All else is as in
// SharedAllocator: the same BlockCache, emptied for the same reasons.
//
// Not thread-safe, like any allocator.
#pragma once

#include <memory>
#include <vector>

#include "core/allocator/block_cache.h"
#include "core/allocator/forwarding_allocator.h"

namespace tidemark {

class CachedAllocator final : public ForwardingAllocator {
  public:
    // At least one thread.
    CachedAllocator(std::unique_ptr<Allocator> policy, ThreadCaches caches, unsigned threads);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

    // Memory in caches counts as free.
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    struct Entry {
        Allocation inner;
        Request request;  // as the policy got it
        std::uint32_t thread = 0;
        bool used_elsewhere = false;
    };

    using Cache = BlockCache<std::uint32_t>;  // of nodes

    Allocation entered(const Allocation& inner, const Request& padded, std::uint32_t thread);
    tl::expected<Allocation, OutOfMemory> ask_policy(const Request& padded, std::uint32_t thread);
    void give_back(const std::vector<std::uint32_t>& nodes);
    void empty_caches();
    bool may_help(const Request& request) const;

    std::unique_ptr<Allocator> policy_;
    CacheBudget budget_;
    std::vector<Cache> caches_;  // of each thread
    std::uint32_t turn_ = 0;     // the thread of the next request
    std::uint64_t grants_ = 0;
    Emptying emptying_;
    NodeTable<Entry> entries_;
};

}  // namespace tidemark
