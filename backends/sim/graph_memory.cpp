// Slabs, and what is bound to them.
#include "backends/sim/graph_memory.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

std::optional<GraphMemory::SlabId> GraphMemory::find_slab(Bytes size, GraphId graph,
                                                          StreamId stream, Nanoseconds now) const {
    std::optional<SlabId> best;
    for (const auto& [id, slab] : slabs_) {
        if (slab.live != 0 || slab.size < size)
            continue;
        // Launches of one graph come one after another, whatever their streams.
        if (slab.graph == graph)
            return id;
        const bool usable = slab.stream == stream || slab.ready <= now;
        if (usable && (!best || slab.size < slabs_.at(*best).size))
            best = id;
    }
    return best;
}

std::optional<GraphMemory::SlabId> GraphMemory::first_done(Bytes size) const {
    std::optional<SlabId> best;
    for (const auto& [id, slab] : slabs_) {
        if (slab.live == 0 && slab.size >= size && (!best || slab.ready < ready(*best)))
            best = id;
    }
    return best;
}

GraphMemory::SlabId GraphMemory::add_slab(Bytes size) {
    const Bytes whole = slab_size(size);
    slabs_.emplace(++next_slab_, Slab{.physical = Address{next_physical_}, .size = whole});
    next_physical_ += whole;
    held_ += whole;
    return next_slab_;
}

void GraphMemory::use(SlabId slab, GraphId graph, StreamId stream, Nanoseconds ready) {
    Slab& one = slabs_.at(slab);
    one.graph = graph;
    one.stream = stream;
    one.ready = ready;
}

Range GraphMemory::bind(Range range, SlabId slab, Bytes offset, GraphId graph) {
    Slab& one = slabs_.at(slab);
    const Address physical = one.physical + offset;
    const bool is_new = live_.emplace(range.begin, Live{range.size, physical, slab, graph}).second;
    TM_CHECK(is_new);
    ++one.live;
    return {physical, range.size};
}

const GraphMemory::Live* GraphMemory::live_at(Address address) const {
    const auto found = live_.find(address);
    return found == live_.end() ? nullptr : &found->second;
}

std::optional<GraphMemory::Live> GraphMemory::unbind(Address address) {
    const auto found = live_.find(address);
    if (found == live_.end())
        return std::nullopt;
    const Live live = found->second;
    live_.erase(found);
    --slabs_.at(live.slab).live;
    return live;
}

void GraphMemory::given_back(SlabId slab, StreamId stream, Nanoseconds ready) {
    Slab& one = slabs_.at(slab);
    one.stream = stream;
    one.ready = std::max(one.ready, ready);
}

Range GraphMemory::translate(Address address, Bytes size) const {
    auto next = live_.upper_bound(address);
    if (next == live_.begin())
        return {};
    --next;
    const Bytes offset = address - next->first;
    const Live& live = next->second;
    if (offset >= live.size)
        return {};
    return {live.physical + offset, std::min(size, live.size - offset)};
}

}  // namespace tidemark
