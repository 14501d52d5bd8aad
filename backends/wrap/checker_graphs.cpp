// Captures and launches in the checker.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "backends/wrap/checker.h"

namespace tidemark {
// Captures.

Checker::Capture* Checker::capture_of(StreamId stream) {
    for (Capture& capture : captures_) {
        if (std::ranges::find(capture.streams, stream) != capture.streams.end())
            return &capture;
    }
    return nullptr;
}

void Checker::follow_capture(const CallArguments& call, const CallOutcome& outcome) {
    if (call.call == DeviceCall::end_capture) {
        capture_ended(call, outcome);
        return;
    }
    if (call.call == DeviceCall::launch) {
        launching(call, outcome);
        return;
    }
    if (!outcome.ok)
        return;
    if (call.call == DeviceCall::begin_capture) {
        captures_.emplace_back().streams = {call.stream};
        return;
    }
    if (call.call == DeviceCall::destroy_graph) {
        graphs_.erase(call.handle);
        return;
    }
    if (call.call == DeviceCall::wait) {
        const auto joined = std::ranges::find_if(
            captures_, [&](const Capture& one) { return one.events.contains(call.handle); });
        if (joined != captures_.end() && capture_of(call.stream) == nullptr)
            joined->streams.push_back(call.stream);
        return;
    }
    Capture* capture = captures_.empty() ? nullptr : capture_of(call.stream);
    if (capture == nullptr)
        return;
    if (call.call == DeviceCall::record)
        capture->events.insert(outcome.handle);
    else
        name_movement(*capture, call);
}

void Checker::name_movement(Capture& capture, const CallArguments& call) {
    switch (call.call) {
        case DeviceCall::copy:
            name_use(capture, {call.source, call.size}, false);
            name_use(capture, call.range(), true);
            return;
        case DeviceCall::fill:
        case DeviceCall::write_pattern:
            name_use(capture, call.range(), true);
            return;
        default:
            return;
    }
}

// A range may be in several allocations, and partly in none.
void Checker::name_use(Capture& capture, Range range, bool writes) {
    const Address end = range.begin + range.size;
    for (Address at = range.begin; at < end;) {
        GraphUse use{.event = log_.event(), .writes = writes};
        auto next = grants_.upper_bound(at);
        Address to = next == grants_.end() ? end : std::min(end, next->first);
        if (next != grants_.begin()) {
            const auto& [begin, grant] = *std::prev(next);
            if (at - begin < grant.size) {
                use.grant = grant.id;
                use.begin = begin;
                use.event = grant.event;
                use.own = grant.captured;
                to = std::min(to, begin + grant.size);
            }
        }
        capture.uses.add({at, to - at}, use);
        at = to;
    }
}

void Checker::capture_ended(const CallArguments& call, const CallOutcome& outcome) {
    const auto capture = std::ranges::find_if(
        captures_, [&](const Capture& one) { return one.streams.front() == call.stream; });
    if (capture == captures_.end())
        return;
    // Whether it succeeded or not, the stream is no longer captured.
    Graph graph{.uses = std::move(capture->uses)};
    for (const Range& own : capture->own) {
        graph.uses.erase(own);
        if (device_.suspend_loan(own.begin))
            graph.left.push_back(own);
    }
    captures_.erase(capture);
    forget_captured_work(graph);
    if (outcome.ok)
        graphs_.insert_or_assign(outcome.handle, std::move(graph));
}

// Only captured work used what was deallocated in the capture, and none of that runs yet.
void Checker::forget_captured_work(const Graph& graph) {
    graph.uses.for_each([&](Range range, const GraphUse& use) {
        if (!use.own)
            return;
        for (const Range& extent : device_.backing_of(range).extents)
            past_.erase(extent);
    });
}

// Launches.

bool Checker::is_granted(const GraphUse& use) const {
    const auto [first, last] = grants_.equal_range(use.begin);
    return std::any_of(first, last,
                       [&](const auto& entry) { return entry.second.id == use.grant; });
}

void Checker::launching(const CallArguments& call, const CallOutcome& outcome) {
    const auto found = graphs_.find(call.handle);
    if (found == graphs_.end() || (!outcome.ok && outcome.status != DeviceStatus::fault))
        return;
    const Graph& graph = found->second;
    check_launch(call.handle, graph);
    if (!outcome.ok)
        return;
    launched(call, graph);
    for (const Range& left : graph.left)
        device_.resume_loan(left);
}

// Does everything that the graph uses still exist, still belong to the program if it did before,
// and belong to nobody else? One report of each kind.
void Checker::check_launch(std::uint64_t id, const Graph& graph) {
    bool reused = false;
    bool lost = false;
    graph.uses.for_each([&](Range range, const GraphUse& use) {
        const Backing backing = device_.backing_of(range);
        bool taken = false;
        for (const Range& extent : backing.extents) {
            live_.for_each(extent, [&](Range part, const Live& live) {
                // Graphs that never run together may share memory.
                if (taken || live.grant == use.grant || live.captured)
                    return;
                taken = true;
                if (!std::exchange(reused, true))
                    log_.report(
                        HazardKind::graph_memory_reused, live.event,
                        fmt::format("launch of graph {}, which uses {}, of which {} bytes belong "
                                    "to an allocation that the capture did not know",
                                    id, range_text(range), part.size));
            });
        }
        const bool gone = backing.access == Access::outside;
        const bool freed = use.grant != 0 && !use.own && !is_granted(use);
        if (!taken && (gone || freed) && !std::exchange(lost, true))
            log_.report(HazardKind::graph_memory_freed, use.event,
                        fmt::format("launch of graph {}, which uses {}, {}", id, range_text(range),
                                    gone ? "which is no longer memory of the device"
                                         : "of an allocation that was freed after the capture"));
    });
}

// Remembers the launch for everything that it uses.
void Checker::launched(const CallArguments& call, const Graph& graph) {
    LaunchWork mine{
        .work = order_.work_of(call.stream), .graph = call.handle, .event = log_.event()};
    bool races = false;
    graph.uses.for_each([&](Range range, const GraphUse& use) {
        std::uint64_t at = to_integer(range.begin);
        for (const Range& extent : device_.backing_of(range).extents) {
            mine.offset = at - to_integer(extent.begin);  // may wrap, and back again
            mine.writes = use.writes;
            add_launch(extent, mine, races);
            at += extent.size;
        }
    });
    limit_launched();
}

// Looks for others that may run at the same time, and keeps them with this one; launches that have
// ended before it begins are dropped. The first race is reported.
void Checker::add_launch(Range extent, const LaunchWork& mine, bool& races) {
    std::vector<std::pair<Range, std::vector<LaunchWork>>> shared;
    launched_.for_each(extent, [&](Range part, const Launches& launches) {
        std::vector<LaunchWork> works{mine};
        for (const LaunchWork& other : *launches) {
            // Launches of one graph come one after another, whatever their streams.
            if (other.graph == mine.graph || order_.before(other.work, mine.work.stream))
                continue;
            works.push_back(other);
            if ((mine.writes || other.writes) && !std::exchange(races, true))
                log_.report(
                    HazardKind::graph_race, other.event,
                    fmt::format("launch of graph {} on stream {} while graph {} on stream {} "
                                "may still use {}",
                                mine.graph, to_integer(mine.work.stream), other.graph,
                                to_integer(other.work.stream), range_text(part)));
        }
        if (works.size() > 1)
            shared.emplace_back(part, std::move(works));
    });
    launched_.assign(extent, std::make_shared<std::vector<LaunchWork>>(1, mine));
    for (auto& [part, works] : shared)
        launched_.assign(part, std::make_shared<std::vector<LaunchWork>>(std::move(works)));
}

void Checker::limit_launched() {
    if (launched_.count() <= launched_limit_)
        return;
    launched_.sweep(
        [&](const Launches& launches) {
            return std::ranges::all_of(*launches, [&](const LaunchWork& launch) {
                return order_.seen_by_host(launch.work);
            });
        },
        [](const Launches& a, const Launches& b) { return a == b; });
    launched_limit_ = std::max(launched_limit_, 2 * launched_.count());
}

// Memory is about to be released: launches that may still use it through these addresses.
void Checker::check_launched(const CallArguments& call, Range physical, std::uint64_t offset) {
    const bool in_stream_order = call.call == DeviceCall::free_async;
    bool found = false;
    launched_.erase_if(physical, [&](Range part, const Launches& launches) {
        if (launches->front().offset != offset)
            return false;
        for (const LaunchWork& launch : *launches) {
            const bool done = in_stream_order ? order_.before(launch.work, call.stream)
                                              : order_.seen_by_host(launch.work);
            if (found || done)
                continue;
            found = true;
            log_.report(
                HazardKind::unmap_in_flight, launch.event,
                fmt::format("{} of {} while graph {} on stream {} may still use it",
                            to_text(call.call), range_text({part.begin + offset, part.size}),
                            launch.graph, to_integer(launch.work.stream)));
        }
        return true;
    });
}

}  // namespace tidemark
