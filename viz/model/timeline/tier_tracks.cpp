// Sorts a replay's spans and levels into tracks.
#include "viz/model/timeline/tier_tracks.h"

#include <algorithm>
#include <utility>

namespace tidemark::viz {
namespace {

constexpr std::size_t kSpansBetweenChecks = 1U << 16U;  // spans, at the request to stop
constexpr std::size_t kMostTracks = 4096;               // of a kind: larger numbers don't belong to
                                                        // a track

std::pair<Passage, Direction> way_of(const TierLinkUse& link) {
    const Tier source = link.source.tier;
    const Tier target = link.target.tier;
    const Direction direction = source <= target ? Direction::down : Direction::up;
    const auto [upper, lower] = std::minmax(source, target);
    if (source == target)
        return {Passage::sideways, direction};
    if (upper == Tier::gpu)
        return {lower == Tier::host ? Passage::gpu_host : Passage::gpu_disk, direction};
    return {Passage::host_disk, direction};
}

void add_to(std::vector<BusyTime>& tracks, const TierSpan& span) {
    if (span.track >= kMostTracks)
        return;
    if (span.track >= tracks.size())
        tracks.resize(span.track + 1);
    tracks[span.track].add(span.begin, span.end);
}

// The levels of one space, by time.
std::pair<LevelPyramid, LevelPyramid> levels_of(const TierRun& run, std::size_t space) {
    std::vector<LevelPyramid::Change> used;
    std::vector<LevelPyramid::Change> reserved;
    for (const TierLevel& level : run.levels) {
        if (level.space != space)
            continue;
        used.push_back({level.time, level.used});
        if (reserved.empty() || reserved.back().value != level.reserved)
            reserved.push_back({level.time, level.reserved});
    }
    return {LevelPyramid(std::move(used)), LevelPyramid(std::move(reserved))};
}

// The sum of a tier's spaces, by time.
LevelPyramid held_by(const TierRun& run, Tier tier) {
    std::vector<LevelPyramid::Change> changes;
    std::vector<Bytes> used(run.spaces.size());
    Bytes sum = 0;
    for (const TierLevel& level : run.levels) {
        if (level.space >= used.size() || run.spaces[level.space].space.tier != tier)
            continue;
        sum = sum - used[level.space] + level.used;
        used[level.space] = level.used;
        changes.push_back({level.time, sum});
    }
    return LevelPyramid(std::move(changes));
}

}  // namespace

std::string_view to_text(StallCause cause) {
    switch (cause) {
        case StallCause::fetch:
            return "fetch";
        case StallCause::room:
            return "room";
        case StallCause::reservation:
            return "reservation";
    }
    return "";
}

Nanoseconds peak_time(const TierRun& run, Tier tier) {
    return held_by(run, tier).peak_time();
}

std::shared_ptr<const TierTracks> TierTracks::build(const TierRun& run,
                                                    const Cancelled& cancelled) {
    auto tracks = std::make_shared<TierTracks>();
    for (std::size_t space = 0; space < run.spaces.size() && !cancelled; ++space) {
        auto [used, reserved] = levels_of(run, space);
        tracks->used_.push_back(std::move(used));
        tracks->reserved_.push_back(std::move(reserved));
    }
    for (const Tier tier : {Tier::gpu, Tier::host, Tier::disk})
        tracks->held_[static_cast<std::size_t>(tier)] = held_by(run, tier);
    tracks->links_.resize(run.links.size());
    std::vector<const TierSpan*> order;
    order.reserve(run.timeline.size());
    for (const TierSpan& span : run.timeline)
        order.push_back(&span);
    std::stable_sort(order.begin(), order.end(), [](const TierSpan* left, const TierSpan* right) {
        return left->begin < right->begin;
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % kSpansBetweenChecks == 0 && cancelled)
            return nullptr;
        tracks->take(run, *order[i]);
    }
    for (auto& passage : tracks->moves_)
        for (MoveRow& row : passage)
            sum_up(row);
    return cancelled ? nullptr : tracks;
}

void TierTracks::take(const TierRun& run, const TierSpan& span) {
    switch (span.kind) {
        case SpanKind::kernel:
            return add_to(kernels_, span);
        case SpanKind::fetch_stall:
            return add_to(stalls_[static_cast<std::size_t>(StallCause::fetch)], span);
        case SpanKind::room_stall:
            return add_to(stalls_[static_cast<std::size_t>(StallCause::room)], span);
        case SpanKind::reservation_stall:
            return add_to(stalls_[static_cast<std::size_t>(StallCause::reservation)], span);
        case SpanKind::drop:
            return;  // without a copy: nothing moves
        case SpanKind::copy:
            if (span.track >= run.links.size())
                return;
            links_[span.track].add(span.begin, span.end);
            const auto [passage, direction] = way_of(run.links[span.track]);
            moves_[static_cast<std::size_t>(passage)][static_cast<std::size_t>(direction)]
                .spans.push_back(span);
            return;
    }
}

void TierTracks::sum_up(MoveRow& moves) {
    Bytes sum = 0;
    moves.before.reserve(moves.spans.size() + 1);
    for (const TierSpan& span : moves.spans) {
        moves.before.push_back(sum);
        sum += span.bytes;
    }
    moves.before.push_back(sum);
}

std::vector<MoveGroup> TierTracks::moves(Passage passage, Direction direction, const Window& window,
                                         Position cell) const {
    const auto& [spans, before] = row(passage, direction);
    const auto begin = [&spans = spans](std::size_t i) -> Position { return spans[i].begin; };
    std::vector<MoveGroup> groups;
    for (const MergedRange& range : merge_ranges(spans.size(), begin, begin, window, cell)) {
        const std::size_t beyond = range.first + range.count;
        groups.push_back({range.begin, spans[beyond - 1].end, range.first, range.count,
                          before[beyond] - before[range.first]});
    }
    return groups;
}

}  // namespace tidemark::viz
