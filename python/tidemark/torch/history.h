// PyTorch's history of memory: allocations, frees and mappings, with the stacks that PyTorch
// gathers, for its snapshots and for trackers of its allocator.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/ApproximateClock.h>

#include "devices.h"

namespace tidemark::pytorch {

using c10::CachingDeviceAllocator::RecordContext;
using c10::CachingDeviceAllocator::SegmentInfo;
using c10::CachingDeviceAllocator::TraceEntry;

// Thread-safe. It costs only the test of a flag while nobody uses it.
class History {
  public:
    using Stack = std::shared_ptr<c10::GatheredContext>;

    bool wanted() const { return wanted_.load(std::memory_order_relaxed); }

    bool recording() const { return recording_.load(std::memory_order_relaxed); }

    // As CUDAAllocator::recordHistory.
    void record(bool enabled, c10::CachingDeviceAllocator::CreateContextFn gather, std::size_t most,
                RecordContext when, bool clear, const std::vector<std::string>& skipped) {
        const std::lock_guard lock(mutex_);
        recording_ = enabled;
        gather_ = enabled ? gather : nullptr;
        when_ = enabled ? when : RecordContext::NEVER;
        most_ = std::max<std::size_t>(most, 1);
        skipped_.clear();
        for (const std::string& action : skipped)
            skipped_.insert(static_cast<int>(c10::CachingDeviceAllocator::parseTraceEntryAction(
                action)));
        if (!enabled || clear)
            entries_.clear();
        if (!enabled)
            stacks_.clear();
        while (entries_.size() > most_)
            entries_.pop_front();
        wanted_ = enabled || !trackers_.empty();
    }

    void attach(c10::CachingDeviceAllocator::AllocatorTraceTracker tracker) {
        const std::lock_guard lock(mutex_);
        trackers_.push_back(std::move(tracker));
        wanted_ = true;
    }

    // Gathered before a request, with no lock held; null unless stacks are enabled from `least` on.
    Stack gather(RecordContext least) const {
        const auto function = gather_.load();
        return function != nullptr && when_.load() >= least ? function() : nullptr;
    }

    void granted(int index, Context context, const Block& block, Stack stack) {
        const std::lock_guard lock(mutex_);
        note_segments(index, context, stack);
        add(TraceEntry::ALLOC, index, block.address, block.requested, block.stream,
            when_ >= RecordContext::ALLOC ? stack : nullptr);
        if (stack)
            stacks_[block.address] = std::move(stack);
    }

    // Called before the free, so that nobody gets the address before it is noted.
    void freed(int index, const Block& block, Stack stack) {
        const std::lock_guard lock(mutex_);
        const auto before = stacks_.find(block.address);
        if (!stack && before != stacks_.end() && when_ >= RecordContext::ALLOC)
            stack = before->second;
        if (before != stacks_.end())
            stacks_.erase(before);
        add(TraceEntry::FREE_REQUESTED, index, block.address, block.requested, block.stream, stack);
        add(TraceEntry::FREE_COMPLETED, index, block.address, block.requested, block.stream, stack);
    }

    // Notes segments that were reserved or released since the last time.
    void looked_at(int index, Context context) {
        const std::lock_guard lock(mutex_);
        note_segments(index, context, nullptr);
    }

    void out_of_memory(int index, std::uint64_t free, std::uint64_t size, const void* stream,
                       Stack stack) {
        const std::lock_guard lock(mutex_);
        add(TraceEntry::OOM, index, free, size, number_of(stream), std::move(stack));
    }

    void push_compile_context(std::string name) {
        const std::lock_guard lock(mutex_);
        compiled_.push_back(std::move(name));
    }

    void pop_compile_context() {
        const std::lock_guard lock(mutex_);
        if (!compiled_.empty())
            compiled_.pop_back();
    }

    void set_metadata(const std::string& text) {
        const std::lock_guard lock(mutex_);
        metadata_ = text;
    }

    // Adds the segments of a device's context, and the history of the device.
    void add_to(c10::cuda::CUDACachingAllocator::SnapshotInfo& all, int index, Context context,
                bool with_entries) {
        const std::vector<Region> regions = regions_of(context);
        const std::lock_guard lock(mutex_);
        for (const Region& region : regions)
            add_region(all.segments, index, region);
        if (!with_entries || entries_.empty())
            return;
        const auto at = static_cast<std::size_t>(index);
        all.device_traces.resize(std::max(all.device_traces.size(), at + 1));
        std::vector<TraceEntry>& entries = all.device_traces[at];
        const auto in_nanoseconds = clock_.makeConverter();
        for (const TraceEntry& entry : entries_) {
            if (entry.device_ != index)
                continue;
            entries.push_back(entry);
            entries.back().time_.t_ = in_nanoseconds(entry.time_.approx_t_) / 1000;
        }
        std::stable_sort(entries.begin(), entries.end(),
                         [](const TraceEntry& one, const TraceEntry& other) {
                             return one.time_.t_ < other.time_.t_;
                         });
    }

  private:
    // What is mapped or reserved from the driver: the end of each piece by its start.
    struct Held {
        std::uint64_t created = 0;
        std::uint64_t released = 0;
        std::map<std::uint64_t, Region> segments;
    };

    void add(TraceEntry::Action action, int index, std::uint64_t address, std::uint64_t bytes,
             std::uint64_t stream, Stack stack) {
        if (skipped_.count(static_cast<int>(action)) != 0)
            return;
        TraceEntry entry(action, static_cast<c10::DeviceIndex>(index), address, bytes,
                         pointer_of(stream), {0, 0}, c10::getApproximateTime(), std::move(stack),
                         compiled_.empty() ? std::string() : compiled_.back(), metadata_);
        for (const auto& tracker : trackers_)
            tracker(entry);
        if (!recording_)
            return;
        if (entries_.size() == most_)
            entries_.pop_front();
        entries_.push_back(std::move(entry));
    }

    // Notes pages that were mapped or unmapped: expandable segments grow and shrink anywhere.
    void note_segments(int index, Context context, const Stack& stack) {
        Held& held = held_[index];
        Statistics now{sizeof(Statistics)};
        if (library.statistics_of(context, &now) != 0 ||
            (now.segments_created == held.created && now.segments_released == held.released))
            return;
        held.created = now.segments_created;
        held.released = now.segments_released;
        std::map<std::uint64_t, Region> segments;
        for (const Region& region : regions_of(context))
            segments.emplace(region.segment, region);
        note_difference(index, held.segments, segments, false, stack);
        note_difference(index, segments, held.segments, true, stack);
        held.segments = std::move(segments);
    }

    // Notes what the segments of `these` cover and those of `others` don't.
    void note_difference(int index, const std::map<std::uint64_t, Region>& these,
                         const std::map<std::uint64_t, Region>& others, bool came,
                         const Stack& stack) {
        for (const auto& [begin, segment] : these) {
            const bool pages = segment.expandable != 0;
            const auto action = pages ? (came ? TraceEntry::SEGMENT_MAP : TraceEntry::SEGMENT_UNMAP)
                                      : (came ? TraceEntry::SEGMENT_ALLOC
                                              : TraceEntry::SEGMENT_FREE);
            std::uint64_t at = begin;
            const std::uint64_t end = begin + segment.segment_bytes;
            auto other = others.upper_bound(begin);
            if (other != others.begin())
                --other;
            for (; at < end && other != others.end() && other->first < end; ++other) {
                const std::uint64_t other_end = other->first + other->second.segment_bytes;
                if (other_end <= at)
                    continue;
                if (other->first > at)
                    add(action, index, at, other->first - at, segment.stream, stack);
                at = other_end;
            }
            if (at < end)
                add(action, index, at, end - at, segment.stream, stack);
        }
    }

    // Regions of one segment follow each other.
    void add_region(std::vector<SegmentInfo>& segments, int index, const Region& region) {
        if (segments.empty() || segments.back().address != region.segment ||
            segments.back().device != index) {
            SegmentInfo segment;
            segment.device = static_cast<c10::DeviceIndex>(index);
            segment.address = region.segment;
            segment.total_size = region.segment_bytes;
            segment.stream = pointer_of(region.stream);
            segment.is_large = region.segment_bytes > kSmallSegment;
            segment.is_expandable = region.expandable != 0;
            segments.push_back(std::move(segment));
        }
        SegmentInfo& segment = segments.back();
        c10::CachingDeviceAllocator::BlockInfo block;
        block.size = region.bytes;
        block.requested_size = region.requested;
        block.allocated = region.is_allocated();
        block.active = region.is_active();
        if (const auto stack = stacks_.find(region.address);
            block.allocated && stack != stacks_.end())
            block.context_when_allocated = stack->second;
        segment.requested_size += block.requested_size;
        segment.allocated_size += block.allocated ? block.size : 0;
        segment.active_size += block.active ? block.size : 0;
        segment.blocks.push_back(std::move(block));
    }

    std::atomic<bool> wanted_ = false;
    std::atomic<bool> recording_ = false;
    std::atomic<c10::CachingDeviceAllocator::CreateContextFn> gather_ = nullptr;
    std::atomic<RecordContext> when_ = RecordContext::NEVER;
    std::mutex mutex_;  // guards everything below
    c10::ApproximateClockToUnixTimeConverter clock_;
    std::size_t most_ = 1;
    std::unordered_set<int> skipped_;  // actions
    std::deque<TraceEntry> entries_;
    std::vector<c10::CachingDeviceAllocator::AllocatorTraceTracker> trackers_;
    std::unordered_map<std::uint64_t, Stack> stacks_;  // of live blocks, by address
    std::unordered_map<int, Held> held_;               // by device
    std::vector<std::string> compiled_;
    std::string metadata_;
};

}  // namespace tidemark::pytorch
