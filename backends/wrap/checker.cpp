// Grants, deallocations, hazards: the allocator's side of the checker. The device's side is in
// checker_device.cpp.
#include "backends/wrap/checker.h"

#include <algorithm>

#include <fmt/format.h>

namespace tidemark {
void Checker::check_backing(const Request& request, const Allocation& allocation,
                            const Backing& backing) {
    const Range range{allocation.address, allocation.size};
    if (request.alignment > 1 && to_integer(range.begin) % request.alignment != 0)
        log_.report(HazardKind::misaligned, log_.event(),
                    fmt::format("{} granted for a request aligned to {}", range_text(range),
                                request.alignment));
    if (range.size < request.size)
        log_.report(
            HazardKind::out_of_bounds, log_.event(),
            fmt::format("{} granted for a request of {} bytes", range_text(range), request.size));
    if (backing.access == Access::outside)
        log_.report(HazardKind::out_of_bounds, log_.event(),
                    fmt::format("{} granted, but not all of it is memory from the device",
                                range_text(range)));
    else if (backing.access != Access::write)
        log_.report(
            HazardKind::out_of_bounds, log_.event(),
            fmt::format("{} granted, which is mapped without access to write", range_text(range)));
}

void Checker::check_owners(const Request& request, Range range, const Backing& backing) {
    const bool in_capture = capture_of(request.stream) != nullptr;
    bool overlaps = false;
    bool in_use = false;
    for (const Range& extent : backing.extents) {
        live_.for_each(extent, [&](Range part, const Live& live) {
            if (!std::exchange(overlaps, true))
                log_.report(HazardKind::overlap, live.event,
                            fmt::format("{} granted, of which {} bytes belong to a live allocation",
                                        range_text(range), part.size));
        });
        past_.for_each(extent, [&](Range part, const SharedPast& past) {
            for (const StreamOrder::Work& work : past->work) {
                if (in_use || order_.before(work, request.stream))
                    continue;
                in_use = true;
                log_.report(HazardKind::reuse_before_completion, past->event,
                            fmt::format("{} granted to stream {}, of which {} bytes may still be "
                                        "used by queued work of stream {}",
                                        range_text(range), to_integer(request.stream), part.size,
                                        to_integer(work.stream)));
            }
        });
        // Memory that is granted in a capture is used when the graph is launched.
        if (in_capture)
            continue;
        launched_.for_each(extent, [&](Range part, const Launches& launches) {
            for (const LaunchWork& launch : *launches) {
                if (in_use || order_.before(launch.work, request.stream))
                    continue;
                in_use = true;
                log_.report(
                    HazardKind::reuse_before_completion, launch.event,
                    fmt::format("{} granted to stream {}, of which {} bytes may still be used "
                                "by graph {} on stream {}",
                                range_text(range), to_integer(request.stream), part.size,
                                launch.graph, to_integer(launch.work.stream)));
            }
        });
    }
}

void Checker::granted(const Request& request, const Allocation& allocation) {
    // What the program may touch. The allocation's size may include padding before its address.
    const Range range{allocation.address, std::max<Bytes>(request.size, 1)};
    Backing backing = device_.backing_of(range);
    check_backing(request, allocation, backing);
    check_owners(request, range, backing);
    const std::uint64_t id = ++grant_count_;
    Capture* capture = capture_of(request.stream);
    for (const Range& extent : backing.extents) {
        past_.erase(extent);
        if (capture == nullptr)
            launched_.erase(extent);
        live_.assign(extent, {id, log_.event(), capture != nullptr});
    }
    if (capture != nullptr)
        capture->uses.add(range, {.grant = id,
                                  .begin = range.begin,
                                  .event = log_.event(),
                                  .own = true,
                                  .writes = true});
    grants_.emplace(range.begin, Grant{.id = id,
                                       .event = log_.event(),
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
        log_.report(kind, freed ? *freed : log_.event(),
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
    freed_.add(to_integer(allocation.address), log_.event());
    grants_.erase(grant);
}

void Checker::remember_past(const Grant& grant, Address address) {
    std::vector<StreamOrder::Work> work;
    for (const StreamId stream : grant.streams)
        work.push_back(order_.work_of(stream));
    std::uint64_t at = to_integer(address);
    for (const Range& extent : grant.extents) {
        const std::uint64_t offset = at - to_integer(extent.begin);  // may wrap, and back again
        past_.assign(extent, std::make_shared<const Past>(Past{log_.event(), offset, work}));
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
        log_.report(
            HazardKind::out_of_bounds, freed ? *freed : log_.event(),
            fmt::format("use of {} on stream {}, which is not a live allocation",
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
    device_.report_leaks();
}

}  // namespace tidemark
