// Counting what streams do.
#include "viz/model/timeline/stream_density.h"

#include <algorithm>
#include <bit>

namespace tidemark::viz {
namespace {

constexpr std::size_t kEventsBetweenChecks = 1U << 14U;  // of whether it was cancelled
constexpr std::size_t kLeastPerBucket = 64;

// Counts `event` for the stream of its block, in the last of `counts` if there are fewer.
template <class Counts>
void count_event(const History& history, EventIndex event, std::span<Counts> counts) {
    const BlockIndex index = history.block_at(event);
    if (index == kNoBlock)
        return;
    const Block block = history.block(index);
    const std::size_t stream = to_integer(history.site(block.site).stream);
    Counts& sum = counts[std::min(stream, counts.size() - 1)];
    if (block.born == event) {
        ++sum.allocations;
    } else if (block.freed == event) {
        ++sum.frees;
        if (block.reused > event)
            ++sum.waiting;
    }
}

}  // namespace

std::shared_ptr<const StreamDensity> StreamDensity::build(const History& history,
                                                          std::size_t events,
                                                          const Cancelled& cancelled) {
    auto density = std::make_shared<StreamDensity>();
    density->events_ = events;
    density->streams_ = std::clamp<std::size_t>(history.streams().size(), 1, kStreams);
    density->per_bucket_ = std::bit_ceil(std::max(kLeastPerBucket, events / kBuckets));
    std::vector<Counts> sums(density->streams_);
    for (std::size_t event = 0; event < events; ++event) {
        if (event % kEventsBetweenChecks == 0 && cancelled)
            return nullptr;
        if (event % density->per_bucket_ == 0)
            density->sums_.insert(density->sums_.end(), sums.begin(), sums.end());
        count_event(history, static_cast<EventIndex>(event), std::span(sums));
    }
    density->sums_.insert(density->sums_.end(), sums.begin(), sums.end());
    return density;
}

StreamCounts StreamDensity::before(EventIndex event, std::size_t stream) const {
    const std::size_t position = std::min<std::size_t>(event, events_);
    const std::size_t bucket = position / per_bucket_;
    const std::size_t last = sums_.size() / streams_ - 1;
    const Counts& low = sums_[std::min(bucket, last) * streams_ + stream];
    if (bucket >= last)
        return {double(low.allocations), double(low.frees), double(low.waiting)};
    const Counts& high = sums_[(bucket + 1) * streams_ + stream];
    const std::size_t width = std::min(per_bucket_, events_ - bucket * per_bucket_);
    const double share = double(position - bucket * per_bucket_) / double(width);
    const auto between = [share](std::uint32_t from, std::uint32_t to) {
        return double(from) + share * double(to - from);
    };
    return {between(low.allocations, high.allocations), between(low.frees, high.frees),
            between(low.waiting, high.waiting)};
}

void StreamDensity::between(EventIndex first, EventIndex last,
                            std::span<StreamCounts> counts) const {
    for (std::size_t stream = 0; stream < counts.size() && stream < streams_; ++stream) {
        const StreamCounts from = before(first, stream);
        const StreamCounts to = before(last, stream);
        counts[stream] = {to.allocations - from.allocations, to.frees - from.frees,
                          to.waiting - from.waiting};
    }
}

void StreamDensity::count(const History& history, EventIndex first, EventIndex last,
                          std::span<StreamCounts> counts) {
    std::fill(counts.begin(), counts.end(), StreamCounts{});
    for (EventIndex event = first; event < last; ++event)
        count_event(history, event, counts);
}

}  // namespace tidemark::viz
