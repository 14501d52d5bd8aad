// Recording: the order of steps as a vector clock, and the place of each piece of memory.
#include "backends/sim/graphs.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

std::uint64_t Recording::at(const Clock& clock, std::size_t lane) {
    return lane < clock.size() ? clock[lane] : 0;
}

const Recording::Lane* Recording::find(StreamId stream) const {
    const auto found = std::ranges::find(lanes_, stream, &Lane::stream);
    return found == lanes_.end() ? nullptr : &*found;
}

std::size_t Recording::lane_of(StreamId stream) {
    if (const Lane* lane = find(stream))
        return static_cast<std::size_t>(lane - lanes_.data());
    lanes_.push_back({.stream = stream, .known = Clock(lanes_.size() + 1, 0)});
    return lanes_.size() - 1;
}

void Recording::add(StreamId stream, const GraphStep& step, Nanoseconds duration) {
    const std::size_t index = lane_of(stream);
    Lane& lane = lanes_[index];
    ++lane.known[index];
    lane.busy += duration;
    graph_.duration = std::max(graph_.duration, lane.busy);
    graph_.steps.push_back(step);
}

void Recording::record(StreamId stream, EventId event) {
    const Lane& lane = lanes_[lane_of(stream)];
    points_.insert_or_assign(to_integer(event), Point{lane.known, lane.busy});
}

void Recording::wait(StreamId stream, EventId event) {
    const auto point = points_.find(to_integer(event));
    TM_CHECK(point != points_.end());
    Lane& lane = lanes_[lane_of(stream)];
    lane.busy = std::max(lane.busy, point->second.busy);
    const Clock& known = point->second.known;
    lane.known.resize(std::max(lane.known.size(), known.size()), 0);
    for (std::size_t i = 0; i < known.size(); ++i)
        lane.known[i] = std::max(lane.known[i], known[i]);
}

// The lowest hole that is large enough and free for what comes next on `lane`; else new bytes.
Bytes Recording::place(const Lane& lane, Bytes size) {
    const auto usable = std::ranges::find_if(holes_, [&](const auto& entry) {
        const Hole& hole = entry.second;
        return hole.size >= size && at(lane.known, hole.lane) >= hole.step;
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
    const Bytes offset = place(lanes_[lane_of(stream)], range.size);
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
    const std::size_t lane = lane_of(stream);
    Hole hole{.size = size, .lane = lane, .step = lanes_[lane].known[lane]};
    // Neighbours that the same lane gave back are one hole from the later moment on.
    auto next = holes_.lower_bound(piece->second.offset);
    Bytes offset = piece->second.offset;
    if (next != holes_.end() && next->first == offset + size && next->second.lane == lane) {
        hole.size += next->second.size;
        next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.size == offset && before->second.lane == lane) {
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
    const Clock& known = lanes_.front().known;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (at(known, i) < lanes_[i].known[i])
            return false;
    }
    return true;
}

Graph Recording::finish() {
    return std::move(graph_);
}

}  // namespace tidemark
