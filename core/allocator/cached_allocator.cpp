// Its own nodes; a cached block stays allocated for the policy.
#include "core/allocator/cached_allocator.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

CachedAllocator::CachedAllocator(std::unique_ptr<Allocator> policy, ThreadCaches caches,
                                 unsigned threads)
    : ForwardingAllocator(*policy),
      policy_(std::move(policy)),
      budget_(caches),
      caches_(threads, Cache(caches)) {
    TM_CHECK(threads != 0);
}

tl::expected<Allocation, OutOfMemory> CachedAllocator::allocate(const Request& request) {
    const std::uint32_t thread = turn_;
    turn_ = (turn_ + 1) % static_cast<std::uint32_t>(caches_.size());
    Request padded = request;
    if (budget_.now().serve(request)) {
        padded.size = ThreadCaches::rounded(request.size);
        if (const auto node = caches_[thread].take(padded.size, padded.stream)) {
            const Entry& entry = entries_.at(*node);
            ++grants_;
            hold_back(0 - entry.inner.size);
            return Allocation{
                .address = entry.inner.address, .size = entry.inner.size, .node = *node};
        }
    }
    if (may_help(padded) && padded.size > largest_free()) {
        std::size_t blocks = 0;
        for (const Cache& cache : caches_)
            blocks += cache.blocks();
        if (emptying_.pays(grants_, blocks))
            empty_caches();
    }
    auto granted = ask_policy(padded, thread);
    if (!granted && may_help(padded)) {
        empty_caches();
        granted = ask_policy(padded, thread);
    }
    return granted;
}

tl::expected<Allocation, OutOfMemory> CachedAllocator::ask_policy(const Request& padded,
                                                                  std::uint32_t thread) {
    const auto granted = ForwardingAllocator::allocate(padded);
    if (!granted)
        return tl::make_unexpected(granted.error());
    ++grants_;
    budget_.note(usage_.allocated);
    return entered(*granted, padded, thread);
}

Allocation CachedAllocator::entered(const Allocation& inner, const Request& padded,
                                    std::uint32_t thread) {
    const std::uint32_t node = entries_.put({.inner = inner, .request = padded, .thread = thread});
    return {.address = inner.address, .size = inner.size, .node = node, .retired = inner.retired};
}

void CachedAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    const Entry& entry = entries_.at(allocation.node);
    const ThreadCaches now = budget_.now();
    if (entry.used_elsewhere || stream != entry.request.stream ||
        !now.keep(entry.request, allocation)) {
        Allocation inner = entries_.take(allocation.node).inner;
        inner.retired = allocation.retired;
        ForwardingAllocator::deallocate(inner, stream);
        return;
    }
    if (allocation.retired)  // for the policy the program never freed it
        usage_.allocated += allocation.size;
    hold_back(allocation.size);
    Cache& cache = caches_[entry.thread];
    cache.set_budget(now.budget);
    if (cache.put(allocation.node, entry.request.size, allocation.size, stream)) {
        std::vector<std::uint32_t> given_up;
        cache.give_up(given_up);
        give_back(given_up);
    }
}

void CachedAllocator::give_back(const std::vector<std::uint32_t>& nodes) {
    for (const std::uint32_t node : nodes) {
        const Entry entry = entries_.take(node);
        hold_back(0 - entry.inner.size);
        ForwardingAllocator::deallocate(entry.inner, entry.request.stream);
    }
}

void CachedAllocator::empty_caches() {
    std::vector<std::uint32_t> given_up;
    for (Cache& cache : caches_)
        cache.empty(given_up);
    give_back(given_up);
}

// Whether the memory in caches may help a request.
bool CachedAllocator::may_help(const Request& request) const {
    return request.size < kLargestRequest &&
           std::any_of(caches_.begin(), caches_.end(),
                       [](const Cache& cache) { return cache.bytes() != 0; });
}

void CachedAllocator::record_use(const Allocation& allocation, StreamId stream) {
    Entry& entry = entries_.at(allocation.node);
    entry.used_elsewhere |= stream != entry.request.stream;
    ForwardingAllocator::record_use(entry.inner, stream);
}

void CachedAllocator::trim(TrimLevel level) {
    empty_caches();
    ForwardingAllocator::trim(level);
}

Result<std::vector<Allocation>> CachedAllocator::restore(std::span<const SeedSegment> segments) {
    TM_ASSIGN(std::vector<Allocation> restored, ForwardingAllocator::restore(segments));
    std::size_t next = 0;
    for (const SeedSegment& segment : segments) {
        for (const SeedBlock& block : segment.blocks) {
            const Request padded{.size = ThreadCaches::rounded(block.requested),
                                 .stream = segment.stream,
                                 .pool = segment.pool};
            restored[next] = entered(restored[next], padded, 0);
            ++next;
        }
    }
    return restored;
}

void CachedAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    std::vector<Address> cached;
    for (const Cache& cache : caches_)
        cache.for_each(
            [&](std::uint32_t node) { cached.push_back(entries_.at(node).inner.address); });
    std::sort(cached.begin(), cached.end());
    ForwardingAllocator::for_each_region([&](const Region& region) {
        Region shown = region;
        if (region.state == Region::State::allocated &&
            std::binary_search(cached.begin(), cached.end(), region.range.begin))
            shown.state = Region::State::free;
        visit(shown);
    });
}

std::unique_ptr<Allocator> CachedAllocator::clone(Device& device) const {
    std::unique_ptr<Allocator> policy = clone_inner(device);
    if (policy == nullptr)
        return nullptr;
    auto copy = std::make_unique<CachedAllocator>(std::move(policy), budget_.now(),
                                                  static_cast<unsigned>(caches_.size()));
    copy->budget_ = budget_;
    copy->caches_ = caches_;
    copy->turn_ = turn_;
    copy->grants_ = grants_;
    copy->emptying_ = emptying_;
    copy->entries_ = entries_;
    for (const Cache& cache : caches_)
        copy->hold_back(cache.bytes());
    return copy;
}

}  // namespace tidemark
