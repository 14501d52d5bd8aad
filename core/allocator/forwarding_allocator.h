// ForwardingAllocator: an Allocator over an Allocator that passes every call on and keeps the
// counters of both the same. Classes that watch, count or charge allocations derive from it and
// override the calls that they need.
//
// A derived class may have nodes of its own instead of the inner allocator's (it keeps entries of
// its own, see NodeTable). It then overrides allocate, deallocate, record_use and restore, and
// passes the inner allocator's allocation on, with the flag `retired` of the one it got.
//
// Not thread-safe. Costs a virtual call and a copy of the counters.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/base/vacant_ids.h"

namespace tidemark {

class ForwardingAllocator : public Allocator {
  public:
    // `inner` must outlive it.
    explicit ForwardingAllocator(Allocator& inner);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    void begin_pool(PoolId pool, PoolTraits traits) override;
    void end_pool(PoolId pool) override;
    void close_pool(PoolId pool) override;
    void trim_pool(PoolId pool) override;
    void plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) override;
    Result<void> reconfigure(const Options& options) override;
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    void for_each_address(const std::function<void(const AddressSpan&)>& visit) const override;
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

  protected:
    Allocator& inner() const { return inner_; }

    // A clone of the inner allocator that knows of every retirement; null if it can't be cloned.
    std::unique_ptr<Allocator> clone_inner(Device& device) const;

    // Counts a request that failed here, without reaching the inner allocator.
    void count_refusal() {
        ++own_.out_of_memory;
        ++stats_.out_of_memory;
    }

    // Counts bytes whose free is delayed here; and resets that count. `granted`: the inner
    // allocator does not know yet that they were freed.
    void count_deferred(Bytes size, bool granted) {
        own_.deferred += size;
        let_go(granted ? size : 0);
        own_.deferred_peak = std::max(own_.deferred_peak, own_.deferred);
        note_deferred();
    }

    void count_flush() {
        own_.flushes += own_.deferred != 0 ? 1 : 0;
        own_.deferred = 0;
        let_go(-let_go_);
        note_deferred();
    }

    // Counts a request that is repeated, after the memory that was kept here has been freed.
    void count_retry() {
        ++own_.retries;
        ++stats_.retries;
    }

    // The counters of the allocator that this is a clone of.
    void take_counts(const ForwardingAllocator& other) {
        own_ = other.own_;
        let_go(other.let_go_ - let_go_);
        note_deferred();
    }

    // Bytes that are granted for the inner allocator but free for the program: `more` of them now,
    // or fewer (it wraps).
    void hold_back(Bytes more) {
        held_back_ += more;
        for (Usage* usage : {&usage_, &reported_}) {
            usage->allocated -= more;
            usage->active -= more;
        }
    }

    // Runs `call`, which calls the inner allocator, and brings the counters of both sides in line
    // before and after.
    template <class Call>
    auto forward(Call call) -> decltype(call()) {
        before_call();
        if constexpr (std::is_void_v<decltype(call())>) {
            call();
            after_call();
        } else {
            auto result = call();
            after_call();
            return result;
        }
    }

  private:
    Bytes retired_since_last_call() const { return reported_.allocated - usage_.allocated; }

    void before_call();
    void after_call();

    // Of what the inner allocator has granted, `more` is no longer allocated, but active.
    void let_go(Bytes more) {
        let_go_ += more;
        usage_.allocated -= more;
        reported_.allocated -= more;
    }

    void note_deferred() {
        stats_.deferred = own_.deferred;
        stats_.deferred_peak = own_.deferred_peak;
        stats_.flushes = own_.flushes;
    }

    Allocator& inner_;
    Usage reported_;  // usage_ as the last call left it
    Bytes held_back_ = 0;
    Bytes let_go_ = 0;
    AllocatorStats own_;  // counted here, on top of the inner one's counts
};

// Entries of a wrapper by Allocation::node; vacated entries are reused. O(1).
template <class Entry>
class NodeTable {
  public:
    std::uint32_t put(Entry entry) { return vacant_.put_into(entries_, std::move(entry)); }

    Entry& at(std::uint32_t node) {
        TM_CHECK(node < entries_.size());
        return entries_[node];
    }

    const Entry& at(std::uint32_t node) const {
        TM_CHECK(node < entries_.size());
        return entries_[node];
    }

    // Vacated ones too: those are Entry{}.
    template <class Visit>
    void for_each(Visit visit) {
        for (Entry& entry : entries_)
            visit(entry);
    }

    Entry take(std::uint32_t node) {
        TM_CHECK(node < entries_.size());
        vacant_.give_back(node);
        return std::exchange(entries_[node], {});
    }

  private:
    std::vector<Entry> entries_;
    VacantIds vacant_;
};

}  // namespace tidemark
