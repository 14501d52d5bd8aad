// Grants, deallocations, hazards: what the checker makes of an allocator's side. The device's side
// is in checker_device.cpp.
#include "backends/wrap/checker.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

namespace tidemark {
std::string_view to_text(HazardKind kind) {
    constexpr std::string_view kNames[] = {
        "overlap",
        "reuse_before_completion",
        "unmap_in_flight",
        "double_free",
        "unknown_free",
        "out_of_bounds",
        "misaligned",
        "leak",
        "illegal_in_capture",
        "graph_memory_reused",
        "graph_memory_freed",
        "graph_race",
    };
    static_assert(std::size(kNames) == kHazardKindCount);
    return kNames[static_cast<std::size_t>(kind)];
}

void Checker::FreedLog::add(std::uint64_t key, std::uint64_t event) {
    if (events_.insert_or_assign(key, event).second)
        order_.push_back(key);
    while (order_.size() > kMostFreed) {
        events_.erase(order_.front());
        order_.pop_front();
    }
}

const std::uint64_t* Checker::FreedLog::find(std::uint64_t key) const {
    const auto found = events_.find(key);
    return found == events_.end() ? nullptr : &found->second;
}

std::uint64_t Checker::count() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

void Checker::report(HazardKind kind, std::uint64_t first_event, std::string what) {
    ++counts_[static_cast<std::size_t>(kind)];
    if (hazards_.size() < kMostKept)
        hazards_.push_back({kind, first_event, event_, std::move(what)});
}

const Checker::Loan* Checker::loan_at(Range range) const {
    auto next = loans_.upper_bound(range.begin);
    if (next == loans_.begin())
        return nullptr;
    --next;
    const Bytes offset = range.begin - next->first;
    const Bytes size = next->second.size;
    return offset < size && range.size <= size - offset ? &next->second : nullptr;
}

Checker::Backing Checker::backing_of(Range range) const {
    Backing backing;
    const Loan* loan = loan_at(range);
    if (loan == nullptr || loan->kind != LoanKind::reservation) {
        backing.extents.push_back(range);
        backing.access = loan == nullptr ? Access::outside : Access::write;
        return backing;
    }
    const Address end = range.begin + range.size;
    auto mapping = mappings_.upper_bound(range.begin);
    if (mapping != mappings_.begin())
        --mapping;
    for (Address at = range.begin; at < end;) {
        while (mapping != mappings_.end() && mapping->first + mapping->second.size <= at)
            ++mapping;
        const bool is_mapped = mapping != mappings_.end() && mapping->first <= at;
        Address to = end;
        Address physical = at;
        if (is_mapped) {
            to = std::min(end, mapping->first + mapping->second.size);
            physical = mapping->second.physical + (at - mapping->first);
            backing.access = std::min(backing.access, mapping->second.access);
        } else {
            if (mapping != mappings_.end())
                to = std::min(end, mapping->first);
            backing.access = Access::outside;
        }
        std::vector<Range>& extents = backing.extents;
        if (!extents.empty() && extents.back().begin + extents.back().size == physical)
            extents.back().size += to - at;
        else
            extents.push_back({physical, to - at});
        at = to;
    }
    return backing;
}

void Checker::check_backing(const Request& request, const Allocation& allocation,
                            const Backing& backing) {
    const Range range{allocation.address, allocation.size};
    if (request.alignment > 1 && to_integer(range.begin) % request.alignment != 0)
        report(HazardKind::misaligned, event_,
               fmt::format("{} granted for a request aligned to {}", range_text(range),
                           request.alignment));
    if (range.size < request.size)
        report(
            HazardKind::out_of_bounds, event_,
            fmt::format("{} granted for a request of {} bytes", range_text(range), request.size));
    if (backing.access == Access::outside)
        report(HazardKind::out_of_bounds, event_,
               fmt::format("{} granted, which is not all memory that the device gave out",
                           range_text(range)));
    else if (backing.access != Access::write)
        report(
            HazardKind::out_of_bounds, event_,
            fmt::format("{} granted, which is mapped without access to write", range_text(range)));
}

void Checker::check_owners(const Request& request, Range range, const Backing& backing) {
    const bool in_capture = capture_of(request.stream) != nullptr;
    bool overlaps = false;
    bool in_use = false;
    for (const Range& extent : backing.extents) {
        live_.for_each(extent, [&](Range part, const Live& live) {
            if (!std::exchange(overlaps, true))
                report(HazardKind::overlap, live.event,
                       fmt::format("{} granted, of which {} bytes belong to a live allocation",
                                   range_text(range), part.size));
        });
        past_.for_each(extent, [&](Range part, const SharedPast& past) {
            for (const StreamOrder::Work& work : past->work) {
                if (in_use || order_.before(work, request.stream))
                    continue;
                in_use = true;
                report(HazardKind::reuse_before_completion, past->event,
                       fmt::format("{} granted to stream {}, of which {} bytes may still be used "
                                   "by what stream {} had queued",
                                   range_text(range), to_integer(request.stream), part.size,
                                   to_integer(work.stream)));
            }
        });
        // What is granted in a capture is used when that is launched.
        if (in_capture)
            continue;
        launched_.for_each(extent, [&](Range part, const Launches& launches) {
            for (const LaunchWork& launch : *launches) {
                if (in_use || order_.before(launch.work, request.stream))
                    continue;
                in_use = true;
                report(HazardKind::reuse_before_completion, launch.event,
                       fmt::format("{} granted to stream {}, of which {} bytes may still be used "
                                   "by graph {} on stream {}",
                                   range_text(range), to_integer(request.stream), part.size,
                                   launch.graph, to_integer(launch.work.stream)));
            }
        });
    }
}

void Checker::granted(const Request& request, const Allocation& allocation) {
    // What the program may touch. The allocation's size may also count padding before its address.
    const Range range{allocation.address, std::max<Bytes>(request.size, 1)};
    Backing backing = backing_of(range);
    check_backing(request, allocation, backing);
    check_owners(request, range, backing);
    const std::uint64_t id = ++grant_count_;
    Capture* capture = capture_of(request.stream);
    for (const Range& extent : backing.extents) {
        past_.erase(extent);
        if (capture == nullptr)
            launched_.erase(extent);
        live_.assign(extent, {id, event_, capture != nullptr});
    }
    if (capture != nullptr)
        capture->uses.add(
            range,
            {.grant = id, .begin = range.begin, .event = event_, .own = true, .writes = true});
    grants_.emplace(range.begin, Grant{.id = id,
                                       .event = event_,
                                       .size = allocation.size,
                                       .captured = capture != nullptr,
                                       .node = allocation.node,
                                       .streams = {request.stream},
                                       .extents = std::move(backing.extents)});
}

void Checker::deallocating(const Allocation& allocation) {
    const auto [first, last] = grants_.equal_range(allocation.address);
    auto grant = std::find_if(first, last, [&](const auto& entry) {
        return entry.second.node == allocation.node && entry.second.size == allocation.size;
    });
    if (grant == last && first != last)
        grant = first;
    if (grant == last) {
        const std::uint64_t* freed = freed_.find(to_integer(allocation.address));
        const HazardKind kind = freed ? HazardKind::double_free : HazardKind::unknown_free;
        report(kind, freed ? *freed : event_,
               fmt::format("deallocate of {}, which {}",
                           range_text({allocation.address, allocation.size}),
                           freed ? "was deallocated before" : "was never granted"));
        return;
    }
    for (const Range& extent : grant->second.extents)
        live_.erase_if(extent,
                       [&](Range, const Live& live) { return live.grant == grant->second.id; });
    if (!allocation.retired) {
        remember_past(grant->second, allocation.address);
    } else {
        for (const Range& extent : grant->second.extents)
            launched_.erase(extent);
    }
    freed_.add(to_integer(allocation.address), event_);
    grants_.erase(grant);
}

void Checker::remember_past(const Grant& grant, Address address) {
    std::vector<StreamOrder::Work> work;
    for (const StreamId stream : grant.streams)
        work.push_back(order_.work_of(stream));
    std::uint64_t at = to_integer(address);
    for (const Range& extent : grant.extents) {
        const std::uint64_t offset = at - to_integer(extent.begin);  // may wrap, and back again
        past_.assign(extent, std::make_shared<const Past>(Past{event_, offset, work}));
        at += extent.size;
    }
    limit_past();
}

void Checker::limit_past() {
    if (past_.count() <= past_limit_)
        return;
    past_.sweep(
        [&](const SharedPast& past) {
            return std::ranges::all_of(past->work, [&](const StreamOrder::Work& work) {
                return order_.seen_by_host(work);
            });
        },
        [](const SharedPast& a, const SharedPast& b) {
            return a->offset == b->offset && a->work == b->work;
        });
    past_limit_ = std::max(past_limit_, 2 * past_.count());
}

void Checker::used_on(const Allocation& allocation, StreamId stream) {
    const auto [first, last] = grants_.equal_range(allocation.address);
    if (first == last) {
        const std::uint64_t* freed = freed_.find(to_integer(allocation.address));
        report(HazardKind::out_of_bounds, freed ? *freed : event_,
               fmt::format("use of {} on stream {}, which is no live allocation",
                           range_text({allocation.address, allocation.size}), to_integer(stream)));
        return;
    }
    for (auto grant = first; grant != last; ++grant) {
        std::vector<StreamId>& streams = grant->second.streams;
        if (std::ranges::find(streams, stream) == streams.end())
            streams.push_back(stream);
    }
    if (Capture* capture = capture_of(stream))
        name_use(*capture, {allocation.address, allocation.size}, true);
}

void Checker::tearing_down() {
    live_at_end_ += grants_.size();
    grants_.clear();
    live_.clear();
    past_.clear();
    launched_.clear();
    captures_.clear();
    graphs_.clear();
    order_.synchronized_all();
}

void Checker::finish() {
    tearing_down();
    constexpr std::string_view kKinds[] = {"plain memory",  "stream-ordered memory",
                                           "host memory",   "registered host memory",
                                           "a reservation", "graph memory"};
    for (const auto& [begin, loan] : loans_)
        report(HazardKind::leak, loan.event,
               fmt::format("{} {} was not given back", kKinds[static_cast<std::size_t>(loan.kind)],
                           range_text({begin, loan.size})));
    for (const auto& [begin, mapping] : mappings_)
        report(HazardKind::leak, mapping.event,
               fmt::format("{} was not unmapped", range_text({begin, mapping.size})));
    for (const auto& [id, handle] : handles_) {
        if (!handle.released)
            report(HazardKind::leak, handle.event,
                   fmt::format("handle {} of {} bytes was not released", id, handle.size));
    }
    loans_.clear();
    mappings_.clear();
    handles_.clear();
}

}  // namespace tidemark
