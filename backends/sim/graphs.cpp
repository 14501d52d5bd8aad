// Recording: the order of steps as a vector clock, and the location of each piece of memory.
#include "backends/sim/graphs.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

std::uint64_t Recording::at(const Clock& clock, std::size_t index) {
    return index < clock.size() ? clock[index] : 0;
}

const Recording::StreamState* Recording::find(StreamId stream) const {
    const auto found = std::ranges::find(streams_, stream, &StreamState::stream);
    return found == streams_.end() ? nullptr : &*found;
}

std::size_t Recording::stream_index(StreamId stream) {
    if (const StreamState* state = find(stream))
        return static_cast<std::size_t>(state - streams_.data());
    streams_.push_back({.stream = stream, .known = Clock(streams_.size() + 1, 0)});
    return streams_.size() - 1;
}

void Recording::add(StreamId stream, const GraphStep& step, Nanoseconds duration) {
    const std::size_t index = stream_index(stream);
    StreamState& state = streams_[index];
    ++state.known[index];
    state.busy += duration;
    graph_.duration = std::max(graph_.duration, state.busy);
    graph_.steps.push_back(step);
}

void Recording::record(StreamId stream, EventId event) {
    const StreamState& state = streams_[stream_index(stream)];
    points_.insert_or_assign(to_integer(event), Point{state.known, state.busy});
}

void Recording::wait(StreamId stream, EventId event) {
    const auto point = points_.find(to_integer(event));
    TM_CHECK(point != points_.end());
    StreamState& state = streams_[stream_index(stream)];
    state.busy = std::max(state.busy, point->second.busy);
    const Clock& known = point->second.known;
    state.known.resize(std::max(state.known.size(), known.size()), 0);
    for (std::size_t i = 0; i < known.size(); ++i)
        state.known[i] = std::max(state.known[i], known[i]);
}

// The lowest hole that is large enough and free for what comes next on the stream; otherwise new
// bytes.
Bytes Recording::position(const StreamState& state, Bytes size) {
    const auto usable = std::ranges::find_if(holes_, [&](const auto& entry) {
        const Hole& hole = entry.second;
        return hole.size >= size && at(state.known, hole.index) >= hole.step;
    });
    if (usable == holes_.end()) {
        graph_.footprint += size;
        return graph_.footprint - size;
    }
    const Bytes offset = usable->first;
    Hole rest = usable->second;
    rest.size -= size;
    holes_.erase(usable);
    if (rest.size != 0)
        holes_.emplace(offset + size, rest);
    return offset;
}

void Recording::take(StreamId stream, Range range) {
    const Bytes offset = position(streams_[stream_index(stream)], range.size);
    graph_.pieces.emplace(range.begin, GraphPiece{.range = range, .offset = offset});
    add(stream, {.kind = GraphStep::Kind::take, .target = range.begin, .size = range.size}, 0);
}

bool Recording::give(StreamId stream, Address address) {
    const auto piece = graph_.pieces.find(address);
    if (piece == graph_.pieces.end() || piece->second.given_back)
        return false;
    piece->second.given_back = true;
    const Bytes size = piece->second.range.size;
    add(stream, {.kind = GraphStep::Kind::give, .target = address, .size = size}, 0);
    const std::size_t index = stream_index(stream);
    Hole hole{.size = size, .index = index, .step = streams_[index].known[index]};
    // Adjacent holes that the same stream freed are one hole from the later moment on.
    auto next = holes_.lower_bound(piece->second.offset);
    Bytes offset = piece->second.offset;
    if (next != holes_.end() && next->first == offset + size && next->second.index == index) {
        hole.size += next->second.size;
        next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.size == offset && before->second.index == index) {
            offset = before->first;
            hole.size += before->second.size;
            holes_.erase(before);
        }
    }
    holes_.emplace(offset, hole);
    return true;
}

bool Recording::holds(Range range) const {
    auto piece = graph_.pieces.upper_bound(range.begin);
    if (piece == graph_.pieces.begin())
        return false;
    --piece;
    const Range& whole = piece->second.range;
    const Bytes offset = range.begin - whole.begin;
    return !piece->second.given_back && offset < whole.size && range.size <= whole.size - offset;
}

bool Recording::joined() const {
    const Clock& known = streams_.front().known;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        if (at(known, i) < streams_[i].known[i])
            return false;
    }
    return true;
}

Graph Recording::finish() {
    return std::move(graph_);
}

}  // namespace tidemark
